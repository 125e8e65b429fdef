#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: processes and threads that take turns on few virtual CPUs, as on those of hardware.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

# cpus NAME MOST: the trace has packets of CPUs alone, of MOST at most.
cpus() {
	"$dump" info --json "$scratch/trace.ptl" | "$python" -c '
import json, sys
streams = [one for one in json.load(sys.stdin)["streams"] if one["kind"] == "pt"]
print(streams)
sys.exit(not (0 < len(streams) <= int(sys.argv[1]) and {one["cpu"] for one in streams} == set(range(len(streams)))))
' "$2" >"$scratch/streams" 2>&1
	got=$?
	result $got "$1: streams of CPUs"
	[ $got -eq 0 ] || show "$scratch/streams"
}

# A child that has computed waits for the end of standard input. 8 processes on 2 CPUs.
truth '8 processes' 40 '--per-cpu=2 --timing=tsc' "$programs/tasks" 3000 7 </dev/null
cpus '8 processes' 2
truth '8 processes' 40 '--per-cpu=2 --timing=cyc --clock=virtual --psb-period=1K' "$programs/tasks" 3000 7 </dev/null
cpus '8 processes, PSBs close together' 2
truth 'threads' 0 '--per-cpu=2 --timing=mtc --no-retcomp' "$programs/threads"
truth 'threads, virtual clock' 0 '--per-cpu=3 --timing=tsc --clock=virtual' "$programs/threads"
truth 'processes that execute others' 0 '--per-cpu=2 --timing=tsc' "$programs/processes"
truth 'dies of SIGKILL' 137 '--per-cpu=2 --timing=tsc' "$programs/deaths" kill

# refused NAME TEXT OPTION...: an error of use that says so.
refused() {
	name=$1 text=$2
	shift 2
	rm -f "$scratch/trace.ptl"
	"$record" -o "$scratch/trace.ptl" "$@" -- true >"$scratch/stdout" 2>"$scratch/stderr"
	got=$?
	[ $got -eq 2 ] && grep -q "$text" "$scratch/stderr" && [ ! -e "$scratch/trace.ptl" ]
	result $? "$name is refused"
}
refused 'another source' 'made by software' --per-cpu=2 --source=none
refused 'no time' 'packets of time' --per-cpu=2 --timing=none
refused 'no CPU' 'per-cpu' --per-cpu=0
finish
