# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the truth tests: compares every instruction address of every recorded thread with single steps of ptrace.
#
# A command is stepped once, up to PTL_STEPS instructions (200,000; 3,000,000 with PTL_SOAK=1), and recorded in several configurations
# (options_of). A small command takes the next third of the configurations: every timing mode, and both values of the other options.
# A big command takes the next configuration. Neighbours in a test together cover all configurations. PTL_SOAK=1 runs all commands
# in all configurations. PTL_STEPPED=REGEX selects commands by name.
# shellcheck shell=sh
# shellcheck source=tests/e2e/software.sh
. "$PTL_TESTS/e2e/software.sh"

need_source
# The source refuses the registration of restartable sequences, which would change the flow of the C library.
export GLIBC_TUNABLES=glibc.pthread.rseq=0
most=${PTL_STEPS:-${PTL_SOAK:+3000000}}
most=${most:-200000}
all='0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16'

is_wanted() {
	[ -z "${PTL_STEPPED:-}" ] || printf '%s\n' "$1" | grep -Eq "$PTL_STEPPED"
}

# Checks that the stepped run equals the native run. A truncated command has no status of its own.
same_stepped() {
	stepped_status=$(cat "$scratch/stepped/status")
	[ "$stepped_status" -eq 124 ] && return
	cmp -s "$scratch/native/status" "$scratch/stepped/status" && cmp -s "$scratch/native/out" "$scratch/stepped/out" && return
	note "stepped: status $stepped_status instead of $(cat "$scratch/native/status")"
	show "$scratch/stepped/out"
	show "$scratch/stepped/err"
	return 1
}

# truth NAME OPTIONS COMMAND...: records the stepped command with OPTIONS (words) and compares outcome and flow.
truth() {
	name=$1 words=$2
	shift 2
	record_with "$words" "$@"
	same_outcome && same_flow
	result $? "$name ($words)" || keep "$name"
}

# step NAME COMMAND...: runs a command natively, and steps through it.
step() {
	name=$1
	shift
	run_natively "$@"
	step_through "$most" "$@"
	same_stepped && return
	result 1 "$name: stepped"
}

# in_configurations NUMBERS NAME COMMAND...
in_configurations() {
	numbers=$1 name=$2
	shift 2
	is_wanted "$name" || return 0
	step "$name" "$@" || return
	[ -z "${PTL_SOAK:-}" ] || numbers=$all
	for configuration in $numbers; do
		truth "$name" "$(options_of "$configuration")" "$@"
	done
}

# First configuration for `big` in this test; a test may set the number before its first `big`.
turn=${turn:-0}

# big NAME COMMAND...: one configuration, a different one each time.
big() {
	in_configurations $((turn % 16)) "$@"
	# 5 and 16 have no common divisor: all configurations occur, and successive ones differ in several options.
	turn=$((turn + 5))
}

# Prints instructions and the hash of addresses of each thread of the recorded trace. Fails for gaps.
flow_hashes() {
	"$dump" stats --json --hash "$scratch/recorded/trace.ptl" | "$python" -c '
import json, sys
stats = json.load(sys.stdin)
threads = [thread for process in stats["processes"] for thread in process["threads"]]
print(sorted((thread["instructions"], thread["ip_sha256"]) for thread in threads if thread["instructions"]))
sys.exit(stats["gaps"] != 0)'
}

# long NAME COMMAND...: as `big`, and beyond the steps: the whole flow is equal in two configurations that differ in every option.
# The command must execute identically in every run.
long() {
	pair="$((turn % 16)) $((15 - turn % 16))"
	big "$@"
	is_wanted "$1" || return 0
	name=$1
	shift
	rm -f "$scratch/hashes"
	for configuration in $pair; do
		words=$(options_of "$configuration")
		record_with "$words" "$@"
		same_outcome && flow_hashes >"$scratch/hashes.now" &&
			{ [ ! -e "$scratch/hashes" ] || cmp -s "$scratch/hashes" "$scratch/hashes.now"; }
		result $? "$name ($words): all of it" || {
			[ -e "$scratch/hashes" ] && show "$scratch/hashes"
			show "$scratch/hashes.now"
			keep "$name"
		}
		mv "$scratch/hashes.now" "$scratch/hashes"
	done
}

# some NAME COMMAND...: four configurations, with every timing mode, and both values of the other options.
some() {
	in_configurations '0 5 10 15' "$@"
}

# Each third has every timing mode, and both values of the other options. A test may set the first third before its first `every`.
third=${third:-0}
next_third() {
	case $((third % 3)) in
	0) numbers='0 3 12 15 16' ;;
	1) numbers='1 2 4 7 13 14' ;;
	2) numbers='5 6 8 9 10 11' ;;
	esac
	[ -z "${PTL_SOAK:-}" ] || numbers=$all
	third=$((third + 1))
}

# every NAME COMMAND...: the next third of the configurations.
every() {
	next_third
	in_configurations "$numbers" "$@"
}

# unstepped_every NAME COMMAND...
unstepped_every() {
	next_third
	unstepped "$numbers" "$@"
}

# program NAME: a program of testdata/programs in the next third of the configurations.
program() {
	every "$1" "$programs/$1"
}

# main_threads COMMAND...: runs a function above. Only the first threads of processes are compared: further threads execute
# other instructions in each run.
main_threads() {
	compare_options=--main
	"$@"
	compare_options=
}

# unstepped NUMBERS NAME COMMAND...: for commands that execute other instructions in each run because of threads, timers or
# external signals. Their results equal the native run, and all of their flow is decoded.
unstepped() {
	numbers=$1 name=$2
	shift 2
	is_wanted "$name" || return 0
	run_natively "$@"
	for configuration in $numbers; do
		words=$(options_of "$configuration")
		record_with "$words" "$@"
		same_outcome && without_gaps
		result $? "$name ($words): decoded" || keep "$name"
	done
}
