#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --pid of the software source: a running process is recorded, and goes on natively. Its output and exit status are those of a run
# without the recorder, its calls end as they would have ended, and its flow has no gaps.
# shellcheck source=tests/e2e/software.sh
. "$PTL_TESTS/e2e/software.sh"

need_source
[ "$source" = software ] || { echo "1..0 # SKIP source $source does not attach"; exit 0; }

# begin COMMAND...: starts a command in the background, in $child.
begin() {
	"$@" >"$scratch/recorded/out" 2>"$scratch/recorded/err" </dev/null &
	child=$!
}

# attach OPTIONS...: records $child.
attach() {
	rm -f "$scratch/recorded/trace.ptl"
	timeout -k 5 1500 "$record" -q --source software -o "$scratch/recorded/trace.ptl" --pid "$child" "$@" \
		>"$scratch/said" 2>&1
}

# Whether no thread of the process is in the runtime, whose code is mapped above this address, or has a tracer.
is_native() {
	! grep -qs 'TracerPid:.*[1-9]' "/proc/$1/task"/*/status &&
		! sed 's/.* //' "/proc/$1/task"/*/syscall 2>/dev/null | grep -q '^0x7e[a-f]'
}

# Waits for the command's end.
end() {
	wait "$child"
	echo $? >"$scratch/recorded/status"
}

run_natively_in_background() {
	"$@" >"$scratch/native/out" 2>"$scratch/native/err" </dev/null
	echo $? >"$scratch/native/status"
}

# judge NAME DELAY DURATION COMMAND...: attaches after DELAY for DURATION.
judge() {
	name=$1 delay=$2 duration=$3
	shift 3
	begin "$@"
	sleep "$delay"
	attach --duration "$duration"
	attached=$?
	native=1
	for _ in $(seq 100); do
		is_native "$child" && native=0 && break
		sleep 0.05
	done
	end
	[ $attached -eq 0 ] || show "$scratch/said"
	[ $attached -eq 0 ] && same_outcome && without_gaps
	result $? "$name is recorded, and goes on as natively" || keep "$name"
	result $native "$name: no thread is in the runtime when the recording has ended"
}

# ---- what runs -----------------------------------------------------------------------------------

run_natively_in_background "$programs/attached" calls 1
judge 'threads in system calls' 0.4 300ms "$programs/attached" calls 3
"$dump" stats --json "$scratch/recorded/trace.ptl" | grep -o '"tid"' | wc -l >"$scratch/threads"
[ "$(cat "$scratch/threads")" -gt 14 ]
result $? 'all threads that were there are in the trace'
"$dump" events "$scratch/recorded/trace.ptl" >"$scratch/events" 2>&1
grep -q 'Kernel/Process/DCStart.*attached' "$scratch/events" && grep -q 'Kernel/Image/DCStart.*libc' "$scratch/events"
result $? 'process and images are reported as there before' || show "$scratch/events"

run_natively_in_background sleep 1
judge 'a process that only waits' 0.4 200ms sleep 2
run_natively_in_background sh -c 'sleep 0.1; echo end'
judge 'a shell that waits for its child' 0.4 200ms sh -c 'sleep 1.5; echo end'

run_natively_in_background "$programs/attached" signals 1
judge 'a program with a signal a millisecond' 0.3 300ms "$programs/attached" signals 2

cat >"$scratch/loop.sh" <<'END'
trap 'trapped=yes' USR1
n=0 i=0
while [ "$i" -lt 800000 ]; do i=$((i + 1)) n=$((n + i % 7)); done
kill -USR1 $$
for i in 1 2 3 4 5 6 7 8 9; do echo "$i" | tr 1-9 a-i; done
sleep 0.3
echo "$n $trapped"
exit 9
END
run_natively_in_background sh "$scratch/loop.sh"
judge 'a shell' 0.05 1500s sh "$scratch/loop.sh"
grep -aq 'tr 1-9 a-i' "$scratch/recorded/trace.ptl" ||
	"$dump" events "$scratch/recorded/trace.ptl" | grep -q 'Kernel/Process/Start.*'
result $? 'what an attached process starts is recorded'

# ---- twice, and two at once ----------------------------------------------------------------------

run_natively_in_background "$programs/attached" calls 1
begin "$programs/attached" calls 4
sleep 0.3
attach --duration 200ms
first=$?
sleep 0.2
attach --duration 200ms && [ $first -eq 0 ]
again=$?
without_gaps || again=1
end
[ $again -eq 0 ] && same_outcome
result $? 'a process is recorded a second time'

"$programs/attached" signals 2 >"$scratch/other" &
other=$!
begin "$programs/attached" signals 2
sleep 0.2
attach --pid "$other" --duration 200ms
both=$?
end
wait $other
"$dump" stats "$scratch/recorded/trace.ptl" >"$scratch/stats" 2>&1
[ $both -eq 0 ] && cmp -s "$scratch/other" "$scratch/recorded/out" && grep -q "^ *$other " "$scratch/stats" &&
	grep -q "^ *$child " "$scratch/stats"
result $? 'two processes are recorded at once' || show "$scratch/said"

# ---- the recorder is killed ----------------------------------------------------------------------

run_natively_in_background "$programs/attached" calls 1
failed=0
for delay in 0.005 0.01 0.02 0.04 0.08 0.6; do
	begin "$programs/attached" calls 2
	sleep 0.3
	"$record" -q -f --source software -o "$scratch/killed.ptl" --pid "$child" >/dev/null 2>&1 &
	recorder=$!
	sleep $delay
	kill -9 $recorder
	wait $recorder 2>/dev/null
	end
	same_outcome || failed=1
done
result $failed 'a program goes on when the recorder is killed at any time'

# ---- what cannot be attached to ------------------------------------------------------------------

# refused NAME TEXT PID: the recorder says why, and what to do.
refused() {
	timeout -k 5 60 "$record" -q -f --source software -o "$scratch/refused.ptl" --pid "$3" --duration 100ms \
		>"$scratch/said" 2>&1
	refusal=$?
	[ "$refusal" -ne 0 ] && grep -q "$2" "$scratch/said"
	result $? "$1" || show "$scratch/said"
}

refused 'a process that is not there' 'there is no process' 4194303
sh -c 'sleep 0.1 & echo $!; exec sleep 2' >"$scratch/zombie" &
sleep 0.3
refused 'a zombie' 'has ended' "$(cat "$scratch/zombie")"
begin "$programs/attached" calls 3
# Until the threads that wait in calls are there. The second one; the last ones live a moment only.
for _ in $(seq 100); do
	[ "$(find "/proc/$child/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 12 ] && break
	sleep 0.05
done
thread=$(find "/proc/$child/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | sed -n 2p)
refused 'a thread' "is a thread of process $child" "$thread"
"$record" -q -f --source software -o "$scratch/held.ptl" --pid "$child" >/dev/null 2>&1 &
recorder=$!
sleep 0.7
refused 'a process that is recorded already' 'is being recorded already' "$child"
kill $recorder
wait $recorder
end
same_outcome
result $? 'such a process goes on'
"$step" --most 100000000 -o "$scratch/stepped/steps" -- "$programs/endless" >/dev/null 2>&1 &
stepper=$!
sleep 0.4
stepped=$(pgrep -P $stepper | head -n 1)
refused 'a process that a debugger traces' 'is traced by process' "${stepped:-0}"
kill $stepper ${stepped:+"$stepped"} 2>/dev/null
wait $stepper 2>/dev/null

# A tracer of one thread that is not the main thread.
begin "$programs/attached" calls 4
for _ in $(seq 100); do
	[ "$(find "/proc/$child/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 12 ] && break
	sleep 0.05
done
thread=$(find "/proc/$child/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | sed -n 2p)
"$python" -c 'import ctypes, sys, time
print(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None), flush=True)
time.sleep(60)' "$thread" >"$scratch/seized" &
tracer=$!
for _ in $(seq 100); do
	[ -s "$scratch/seized" ] && break
	sleep 0.05
done
refused 'a process of which a debugger traces one thread' "thread $thread of process $child is traced by process $tracer" "$child"
kill $tracer
wait $tracer 2>/dev/null
end

# A process without address space for the cache, and its memory after the refusal.
sh -c 'ulimit -v 60000; exec "$0" 20' "$(command -v sleep)" &
child=$!
sleep 0.3
refused 'a process with too little address space' 'it has too little address space (ulimit -v)' "$child"
! grep -q ptl-arena "/proc/$child/maps" && ! find "/proc/$child/fd" -lname '*ptl-arena*' | grep -q .
result $? 'a process that is not attached to keeps neither memory nor descriptor of the recorder' || show "/proc/$child/maps"
kill $child
wait $child 2>/dev/null

# A process whose main thread has ended.
"$python" -c 'import ctypes, threading, time
threading.Thread(target=time.sleep, args=(30,)).start()
ctypes.CDLL(None).syscall(60, 0)' &
child=$!
for _ in $(seq 100); do
	grep -q 'State:.*Z' "/proc/$child/status" && break
	sleep 0.05
done
refused 'a process without its main thread' "the main thread of process $child has ended, and other threads run on" "$child"
kill -9 $child
wait $child 2>/dev/null

# A file's name that looks like a line of /proc/PID/maps, if lines are read in pieces of 511 bytes.
cat >"$scratch/maps.py" <<'END'
import mmap, os, sys, time
os.chdir(sys.argv[1])
name, left = "", 511 - 73 - len(os.getcwd()) - 1
while left > 0:
    size = min(left, 200)
    name += "a" * (size - 1) + "/"
    left -= size
os.makedirs(name[:-1], exist_ok=True)
with open(name + "0-ffffffffffffffff r-x [vdso]", "w+b") as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
print("ready", flush=True)
time.sleep(30)
END
mkdir "$scratch/maps"
"$python" "$scratch/maps.py" "$scratch/maps" >"$scratch/ready" &
child=$!
for _ in $(seq 100); do
	[ -s "$scratch/ready" ] && break
	sleep 0.05
done
timeout -k 5 20 "$record" -q -f --source software -o "$scratch/maps.ptl" --pid $child --duration 100ms >"$scratch/said" 2>&1
result $? "a process with a file whose name looks like a mapping is recorded" || show "$scratch/said"
kill $child
wait $child 2>/dev/null

# A process that forbids tracing, and a recorder without root's rights.
become=
[ "$(id -u)" -ne 0 ] || become='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
if $become "$record" --version >/dev/null 2>&1; then
	$become /usr/bin/python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print(1, flush=True); time.sleep(60)' >"$scratch/closed" &
	closed=$!
	for _ in $(seq 100); do
		[ -s "$scratch/closed" ] && break
		sleep 0.05
	done
	# shellcheck disable=SC2086 # a command of several words, or none
	timeout -k 5 60 $become "$record" -q -f --source software -o /dev/null --pid $closed --duration 100ms >"$scratch/said" 2>&1
	[ $? -eq 4 ] && grep -q "process $closed may not be traced, because it forbids access by its own user (PR_SET_DUMPABLE 0" "$scratch/said" &&
		grep -q 'without read permission): record the program from its start' "$scratch/said"
	result $? 'a process that may not be traced is refused with the remedy' || show "$scratch/said"
	if [ "$(id -u)" -eq 0 ]; then
		refused 'root is told that such a process cannot be attached to' \
			'and forbids access by its own user (PR_SET_DUMPABLE 0, a change of its user or group): record the program' $closed
	fi
	kill $closed
	wait $closed 2>/dev/null
	# shellcheck disable=SC2086 # a command of several words, or none
	timeout -k 5 60 $become "$record" -f --source software -o /dev/null -- /usr/bin/python3 -c 'import ctypes, os
library = ctypes.CDLL(None)
library.prctl(4, 0)
try:
    os.execv("/nonexistent", ["x"])
except OSError:
    print("dumpable", library.prctl(3), flush=True)
os.execv("/bin/echo", ["echo", "next"])' >"$scratch/out" 2>"$scratch/said" &&
		printf 'dumpable 0\nnext\n' | cmp -s - "$scratch/out" && grep -q 'no losses' "$scratch/said"
	result $? 'programs that such a process executes are recorded' || show "$scratch/said" "$scratch/out"
fi

# ---- a stopped process ---------------------------------------------------------------------------

sleep 60 &
child=$!
kill -STOP $child
sleep 0.1
timeout -k 5 60 "$record" -f --source software -o "$scratch/stopped.ptl" --pid $child --duration 100ms >"$scratch/said" 2>&1
grep -q "process $child is stopped by a signal" "$scratch/said" && grep -q "try: kill -CONT $child" "$scratch/said"
result $? 'a process that a signal has stopped is told' || show "$scratch/said"
kill -CONT $child
kill $child
wait $child 2>/dev/null

finish
