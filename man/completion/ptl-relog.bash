# SPDX-License-Identifier: BSD-2-Clause
# Completes ptl-relog in bash; the program itself says which options and words there are.

_ptl_relog()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} option=
	COMPREPLY=()

	# --name=value arrives as three words.
	if [[ $current == = ]]; then
		option=$previous current=
	elif [[ $previous == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $previous == -?* ]]; then
		option=$previous
	fi

	case $option in
	--mode | --embed | --hash)
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-relog --completion-words="${option#--}")" -- "$current")
		return
		;;
	--redact)
		mapfile -t COMPREPLY < <(compgen -W "paths users host commands threads all" -- "$current")
		return
		;;
	--cpu | --pid | --process | --time | --last | --tid | --recompress | --split | --memory-limit | --max-expansion | \
		--around | --between | --and | --calls | --slowest | --before | --after | \
		--offset | --anchor | --order | --then | --machine)
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-relog --completion-words)" -- "$current")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		return
	fi
	mapfile -t COMPREPLY < <(compgen -f -- "$current")
	compopt -o filenames
}

complete -F _ptl_relog ptl-relog
