# SPDX-License-Identifier: BSD-2-Clause
# Completes ptl-dump in bash; the program itself says which commands, options and words there are.

_ptl_dump()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} option=
	COMPREPLY=()

	if ((COMP_CWORD == 1)); then
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "--help --version" -- "$current")
		else
			mapfile -t COMPREPLY < <(compgen -W "$(ptl-dump --list-commands) help" -- "$current")
		fi
		return
	fi

	if [[ $command == help ]]; then
		((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W "$(ptl-dump --list-commands)" -- "$current")
		return
	fi

	# --name=value arrives as three words.
	if [[ $current == = ]]; then
		option=$previous current=
	elif [[ $previous == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $previous == -?* ]]; then
		option=$previous
	fi

	case $option in
	-l)
		option=--level
		;;&
	-b)
		option=--by
		;;&
	-l | --level | --engine | --against | --color | --format | --ddl | -b | --by | --of | --per | --sort | --widths | --change)
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-dump "$command" --completion-words="${option#--}")" -- "$current")
		return
		;;
	--slowest | --slower | --slower-than | --slow | --calls | --with-calls | -d | --depth | --function | --from | --until | -n | --tail | --min-time | --min-instructions | --max-functions | \
		--max-paths | --max-events | --max-sources | --max-slices | --max-size | --timeout | --source-map)
		return
		;;
	--shard | --shards | --partition | --account | --time-limit | --memory | --pid | --process | -t | --tid | -c | --cpu | --time | --last | -i | --image | -j | --jobs | -g | --gaps | --max-expansion | -p | --provider | \
		-e | --event | -k | --keyword | --task | --opcode | -a | --activity | -w | --where | --kind | --limit | -n | -I | --ignore | -C | --context)
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-dump "$command" --completion-words)" -- "$current")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		return
	fi
	mapfile -t COMPREPLY < <(compgen -f -- "$current")
	compopt -o filenames
}

complete -F _ptl_dump ptl-dump
