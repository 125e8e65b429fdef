#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: processes and threads that take turns on few virtual CPUs, as on those of hardware.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

# cpus NAME MOST: the trace has packets of CPUs alone, of MOST at most.
cpus() {
	"$dump" info --json "$scratch/recorded/trace.ptl" | "$python" -c '
import json, sys
streams = [one for one in json.load(sys.stdin)["streams"] if one["kind"] == "pt"]
print(streams)
sys.exit(not (0 < len(streams) <= int(sys.argv[1]) and {one["cpu"] for one in streams} == set(range(len(streams)))))
' "$2" >"$scratch/streams" 2>&1
	got=$?
	result $got "$1: streams of CPUs"
	[ $got -eq 0 ] || show "$scratch/streams"
}

# on_cpus NAME MOST OPTIONS COMMAND...: the stepped command on MOST virtual CPUs.
on_cpus() {
	what=$1 cpus_most=$2 options=$3
	shift 3
	truth "$what" "--per-cpu=$cpus_most $options" "$@"
	cpus "$what" "$cpus_most"
}

# 8 processes on 2 CPUs.
step '8 processes' "$programs/tasks" 3000 7
on_cpus '8 processes' 2 '--timing=tsc' "$programs/tasks" 3000 7
on_cpus '8 processes, PSBs close together' 2 '--timing=cyc --clock=virtual --psb-period=1K' "$programs/tasks" 3000 7
step 'processes that execute others' "$programs/processes"
on_cpus 'processes that execute others' 2 '--timing=tsc' "$programs/processes"
step 'dies of SIGKILL' "$programs/deaths" kill
on_cpus 'dies of SIGKILL' 2 '--timing=tsc' "$programs/deaths" kill

# decoded NAME MOST OPTIONS COMMAND...: the same of threads that wait more or less often in each run.
decoded() {
	what=$1 cpus_most=$2 options=$3
	shift 3
	run_natively "$@"
	record_with "--per-cpu=$cpus_most $options" "$@"
	same_outcome && without_gaps
	result $? "$what (--per-cpu=$cpus_most $options): decoded" || keep "$what"
	cpus "$what" "$cpus_most"
}
decoded threads 2 '--timing=mtc --no-retcomp' "$programs/threads"
# How the program's end meets a thread that computes differs in each run.
for run in 1 2 3 4 5 6 7 8 9 10; do
	decoded "threads, virtual clock, run $run" 3 '--timing=tsc --clock=virtual' "$programs/threads"
done

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
