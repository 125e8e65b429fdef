# SPDX-License-Identifier: BSD-2-Clause
# Completes ptl-record in bash; the program itself says which options and words there are.

_ptl_record()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} option= i first=1
	COMPREPLY=()

	if [[ ${COMP_WORDS[1]-} == check ]] && ((COMP_CWORD > 1)); then
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(ptl-record check --completion-words)" -- "$current")
			[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		else
			mapfile -t COMPREPLY < <(compgen -d -- "${current#=}")
			compopt -o filenames
		fi
		return
	fi

	case ${COMP_WORDS[1]-} in
	list | query | update | flush | snapshot | stop)
		if ((COMP_CWORD > 1)); then
			_ptl_record_session "${COMP_WORDS[1]}" "$current"
			return
		fi
		;;
	start)
		((COMP_CWORD == 2)) && return
		((COMP_CWORD > 2)) && first=3
		;;
	esac

	# Behind the command everything is the command's own.
	for ((i = first; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			_ptl_record_command $((i + 1))
			return
			;;
		-o | --output | --embed | --debug-path | --list-probes | --compress | --compress-threads | --flush-interval | --flags | -e | --event | --stack | --event-buffer | --mode | --max-size | --part-time | --keep | --write-buffer | --write-buffers | --timing | --clock | --psb-period | --per-cpu | --source | \
			--buffer | --threads | -p | --provider | --provider-buffer | --duration | --runs | --pid | --tid | --process | --max-cpus | \
			--cpus | --code | --pt | --filter | --only-between | --and | --max-rate | --aux-buffer | --aux-queue | --drain-threads | --snapshot-at | --snapshot-when | --over | --snapshot-depth | --snapshots | --start-at | --stop-at | --values)
			[[ ${COMP_WORDS[i + 1]-} == = ]] && ((i++))
			((i++))
			;;
		-*) ;;
		*)
			_ptl_record_command "$i"
			return
			;;
		esac
	done

	# --name=value arrives as three words.
	if [[ $current == = ]]; then
		option=$previous current=
	elif [[ $previous == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $previous == -?* ]]; then
		option=$previous
	fi

	case $option in
	--embed | --mode | --timing | --clock | --source | --code)
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record --completion-words="${option#--}")" -- "$current")
		return
		;;
	-o | --output | --debug-path | --list-probes)
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		compopt -o filenames
		return
		;;
	-p | --provider)
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record --list-providers --json 2>/dev/null |
			grep -oE '"name":"[^" ]*","guid"' | sed 's/^"name":"//; s/","guid"$//' | sort -u)" -- "$current")
		return
		;;
	--flags)
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record --list-flags 2>/dev/null | cut -d ' ' -f 1)" -- "$current")
		return
		;;
	--compress | --compress-threads | --flush-interval | -e | --event | --stack | --event-buffer | --max-size | --part-time | --keep | --write-buffer | --write-buffers | --psb-period | --per-cpu | --buffer | --threads | --provider-buffer | --duration | --runs | --pid | --tid | --process | --max-cpus | \
		--cpus | --pt | --filter | --only-between | --and | --max-rate | --aux-buffer | --aux-queue | --drain-threads | --snapshot-at | --snapshot-when | --over | --snapshot-depth | --snapshots | --start-at | --stop-at | --values)
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record --completion-words)" -- "$current")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
		return
	fi
	_ptl_record_command "$COMP_CWORD"
	((COMP_CWORD == 1)) && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
		compgen -W 'check start list query update flush snapshot stop' -- "$current")
}

# Completes options and the name of a session.
_ptl_record_session()
{
	if [[ $2 == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record "$1" --completion-words)" -- "$2")
		[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
	elif [[ $1 == snapshot && ${COMP_WORDS[COMP_CWORD - 1]} != snapshot && ${COMP_WORDS[COMP_CWORD - 1]} != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		compopt -o filenames
	elif [[ $1 != list ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ptl-record list 2>/dev/null | sed '1d; s/ .*//')" -- "$2")
	fi
}

# Completes the command that begins at word $1, as bash-completion would by itself, or by names alone.
_ptl_record_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		compopt -o filenames
	fi
}

complete -F _ptl_record ptl-record
