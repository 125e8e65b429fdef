#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A recorded command does what it does natively: output, errors, exit status. And its flow decodes without gaps.
#
# software_commands.txt has the commands, programs of testdata come first. PTL_COMMANDS=REGEX takes those whose name it matches.
# shellcheck source=tests/e2e/software.sh
# shellcheck source=tests/e2e/software_inputs.sh
. "$PTL_TESTS/e2e/software.sh"
. "$PTL_TESTS/e2e/software_inputs.sh"

need_source
export IN="$scratch/in" PTL_PROGRAMS
mkdir "$IN"
chmod 755 "$scratch" # some commands are another user's

turn=0
# compare_command NAME COMMAND...
compare_command() {
	name=$1
	shift
	run_natively "$@"
	if [ "$(cat "$scratch/native/status")" -ge 124 ] && [ "$(cat "$scratch/native/status")" -lt 127 ]; then
		skip "$name" 'does not work natively here'
		return
	fi
	# All timing modes, with and without return compression, in turn.
	words=$(options_of $((turn * 3 % 8)))
	turn=$((turn + 1))
	record_with "$words" "$@"
	same_outcome
	status=$?
	if [ $status -eq 0 ]; then
		without_gaps
		status=$?
	fi
	result $status "$name ($words)" || keep "$name"
}

# Programs of testdata whose output is the same each time.
plain_programs='bare branches static static_pie signals faults rep_string exceptions fibres dlopen_reuse jit_rounds memfd_rewrite recursion
inlined thread_pool fork_no_exec illegal_instruction deep_calls processes fork_in_threads deaths'

wanted() {
	[ -z "${PTL_COMMANDS:-}" ] || printf '%s\n' "$1" | grep -Eq "$PTL_COMMANDS"
}

# Whether every program of $1 is installed.
have_programs() {
	for needed in $1; do
		command -v "$needed" >/dev/null || return 1
	done
}

make_inputs
for program in $plain_programs; do
	! wanted "$program" || compare_command "$program" "$programs/$program"
done
while IFS= read -r line; do
	case $line in
	'#'* | '') continue ;;
	esac
	title=${line%% | *}
	rest=${line#* | }
	command=${rest#* | }
	wanted "$title" || continue
	if have_programs "${rest%% | *}"; then
		compare_command "$title" sh -c "$command"
	else
		skip "$title" "${rest%% | *}: not all are installed"
	fi
done <"$PTL_TESTS/e2e/software_commands.txt"
if wanted 'parent of a debugged child'; then
	record_with '' "$programs/system_corners" traced_vfork_child
	"$dump" calls -F usleep "$scratch/recorded/trace.ptl" >"$scratch/calls" 2>&1
	grep -q clock_nanosleep "$scratch/calls"
	result $? 'a child of vfork that asks for a debugger goes on natively, its parent does not' || show "$scratch/calls"
fi
finish
