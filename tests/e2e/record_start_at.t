#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --start-at and --stop-at of the software source: what is recorded is what a whole recording has between the two functions.
# shellcheck source=tests/e2e/software.sh
. "$PTL_TESTS/e2e/software.sh"

need_source
[ "$source" = software ] || { echo "1..0 # SKIP source $source has no --start-at"; exit 0; }
export GLIBC_TUNABLES=glibc.pthread.rseq=0
# count OPTIONS: the instructions of the recorded program.
count() {
	record_with "$1" "$programs/attached" phases
	same_outcome && without_gaps && sed 's/^{"instructions":\([0-9]*\),.*/\1/' "$scratch/stats"
}

run_natively "$programs/attached" phases

whole=$(count '')
to_second=$(count '--stop-at phase_second')
to_third=$(count '--stop-at phase_third')
from_second=$(count '--start-at phase_second')
between=$(count '--start-at attached:phase_second --stop-at phase_third')
note "instructions: whole $whole, to the second phase $to_second, to the third $to_third, from the second $from_second, between $between"
[ "$between" -gt 6000 ] && [ $((to_second + between)) -eq "$to_third" ]
result $? 'exactly the code between the two functions is recorded'
[ "$from_second" -gt "$between" ] && [ $((to_second + from_second)) -eq "$whole" ]
result $? 'with --start-at alone, all code from the function on'

record_with '--start-at libc.so.6:qsort' "$programs/attached" phases
same_outcome && without_gaps && "$dump" calls "$scratch/recorded/trace.ptl" >"$scratch/functions" 2>&1 &&
	grep -q compare "$scratch/functions" && ! grep -q phase_third "$scratch/functions"
result $? 'a function of a library' || show "$scratch/functions"

# shellcheck disable=SC2016 # the recorded shell expands
record_with '--start-at phase_third' sh -c '"$0" phases; "$0" phases' "$programs/attached"
{ cat "$scratch/native/out" "$scratch/native/out"; } >"$scratch/twice"
[ "$(cat "$scratch/recorded/status")" -eq 7 ] && cmp -s "$scratch/twice" "$scratch/recorded/out" && without_gaps &&
	[ "$("$dump" stats "$scratch/recorded/trace.ptl" | grep -c 'attached$')" -ge 2 ]
result $? 'each process that reaches the function is recorded' || show "$scratch/recorded/err"

native_phases=$scratch/phases
cp "$scratch/native/out" "$native_phases"
run_natively "$programs/dlopen_reuse" "$programs/libreuse_a.so" "$programs/libreuse_b.so"
for function in $(nm -D --defined-only "$programs/libreuse_b.so" 2>/dev/null | sed -n 's/.* T //p' | head -n 1); do
	record_with "--start-at libreuse_b.so:$function" "$programs/dlopen_reuse" "$programs/libreuse_a.so" "$programs/libreuse_b.so"
	same_outcome && without_gaps
	result $? 'a function of a library that is loaded later' || show "$scratch/recorded/err"
done

run_natively "$programs/reached_at_once"
# A thread may be interrupted between the breakpoint and its SIGTRAP, in one of a hundred runs.
every_run() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		record_with '--start-at reached' "$programs/reached_at_once"
		same_outcome && without_gaps && "$dump" stats --json "$scratch/recorded/trace.ptl" >"$scratch/stats" 2>&1 &&
			grep -q 'reached_at_once' "$scratch/stats" || return
	done
}
every_run
result $? 'forked children, several threads at once and a vfork child' || show "$scratch/recorded/err"

"$programs/attached" signals 3 >"$scratch/out" 2>&1 &
child=$!
sleep 0.3
timeout -k 5 60 "$record" -q -f --source software -o "$scratch/recorded/trace.ptl" --start-at on_signal --pid $child \
	--duration 300ms >"$scratch/said" 2>&1
status=$?
wait $child
[ $? -eq 6 ] && [ $status -eq 0 ] && without_gaps && grep -q 'with signals' "$scratch/out"
result $? 'a running process is recorded from a function on' || show "$scratch/said"

run_natively "$programs/spawns_in_threads"
# A run that waits for a thread in vfork takes more than 10 seconds.
every_spawning_run() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		saved_limit=$limit limit=9
		record_with '--start-at reached_by_main' "$programs/spawns_in_threads"
		limit=$saved_limit
		same_outcome && without_gaps || return
	done
}
every_spawning_run
result $? 'a function that is reached while other threads are in vfork' || show "$scratch/recorded/err"

# ---- several running processes ---------------------------------------------------------------------

cat >"$scratch/late.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void function_of_late(void) { __asm__ volatile(""); }
int main(int count, char **arguments)
{
	usleep(1000 * (unsigned)atoi(arguments[1]));
	if (count > 2)
		function_of_late();
	return 0;
}
END
if ${CC:-cc} -g -O1 -o "$scratch/late" "$scratch/late.c" 2>"$scratch/said"; then
	"$scratch/late" 500 &
	child=$!
	timeout -k 5 20 "$record" -q -f --source software -o "$scratch/late.ptl" --start-at function_of_late --pid $child \
		>"$scratch/said" 2>&1
	[ $? -eq 4 ] && grep -q 'no process has reached function_of_late' "$scratch/said"
	result $? 'the recording ends if the process ends before the function' || show "$scratch/said"
	wait $child
	"$scratch/late" 500 x &
	child=$!
	"$scratch/late" 1500 x &
	other=$!
	timeout -k 5 20 "$record" -q -f --source software -o "$scratch/late.ptl" --start-at function_of_late --pid $child \
		--pid $other >"$scratch/said" 2>&1 &&
		"$dump" stats "$scratch/late.ptl" >"$scratch/stats" 2>&1 &&
		grep -q "^ *$child " "$scratch/stats" && grep -q "^ *$other " "$scratch/stats"
	result $? 'the recording lasts until the last process has reached the function and ended' || show "$scratch/said" "$scratch/stats"
	wait $child $other
else
	skip 'the end of recordings of running processes: no compiler'
fi

# ---- what does not work --------------------------------------------------------------------------

record_with '--start-at phase_thirt' "$programs/attached" phases
[ "$(cat "$scratch/recorded/status")" -ne 7 ] && grep -q 'no process has reached phase_thirt:' "$scratch/recorded/err" &&
	grep -q 'try: --start-at phase_third' "$scratch/recorded/err" && cmp -s "$native_phases" "$scratch/recorded/out"
result $? 'a function that is not reached' || show "$scratch/recorded/err"
record_with '--start-at attached:phase_thirt' "$programs/attached" phases
grep -q "has no function of this name (did you mean 'phase_third'?)" "$scratch/recorded/err" && ! [ -s "$scratch/recorded/out" ]
result $? 'a function that the program does not have' || show "$scratch/recorded/err"

for delay in 0.1 0.3 0.6; do
	"$programs/attached" signals 2 >"$scratch/native/out"
	"$record" -q -f --source software -o "$scratch/killed.ptl" --start-at phase_third -- "$programs/attached" signals 2 \
		>"$scratch/recorded/out" 2>/dev/null &
	recorder=$!
	sleep $delay
	kill -9 $recorder
	wait $recorder 2>/dev/null
	sleep 2.3
	cmp -s "$scratch/native/out" "$scratch/recorded/out"
	result $? "the program goes on when the recorder is killed before the function is reached ($delay s)"
done

finish
