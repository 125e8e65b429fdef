#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump gdb: gdb's instructions, functions and breakpoints are those of ptl-dump flow and calls.
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from gdb_test import GDB, build, flow, gdb, histories, hits, record, same_history
from scratch_test import DUMP, RECORD, check, output, path, plan, run, scratch, skip, write


def steps(name, tid, count=40):
    addresses = [one[0] for one in flow(name)[tid]]
    got = gdb(name, *["output/x $pc", "echo \\n", "reverse-stepi"] * count)
    seen = [int(line, 16) for line in got.stdout.splitlines() if re.fullmatch("0x[0-9a-f]+", line)]
    check(f"{name}: reverse-stepi goes back instruction by instruction",
          len(seen) == count and seen in (addresses[::-1][:count], [seen[0], *addresses[::-1][:count - 1]]), got)


def crash(name, *options):
    got = gdb(name, "backtrace", "reverse-step", 'printf "$1 = %d, %d, (void *) %p\\n", $_siginfo.si_signo, $_siginfo.si_code, $_siginfo._sifields._sigfault.si_addr', "info program", "print nothing", "info registers rax", "ptl-where", options=options)
    got_format = gdb(name, "info record", options=options).stdout
    check("gdb gets packets if it can decode packets", "Recording format: Intel Processor Trace." in got_format, got_format)
    check("the trace ends with the signal", "stopped by SIGSEGV at 0x0" in got.stdout, got)
    check("gdb knows the signal's address", re.search(r"^\$\d+ = 11, 1, \(void \*\) \(nil\)$", got.stdout, re.M), got)
    check("gdb shows the line of the crash", "*nothing = 1;" in got.stdout, got)
    check("gdb shows the caller of the crash", re.search(r"#1 .* main \(argc=<unavailable>", got.stdout), got)
    check("reverse-step goes to the line before", re.search(r"^21\s+for", got.stdout, re.M), got)
    check("registers are unavailable", re.search(r"^rax +<unavailable>", got.stdout, re.M), got)
    check("ptl-where shows the time", re.search(r"^thread \d+: [\d.]+ ms, instruction [\d,]+$", got.stdout, re.M), got)


def begins(name, function):
    """--from begins at the first call of the function."""
    (tid, instructions), = flow(name).items()
    at = next(i for i, one in enumerate(instructions) if one[1] == function)
    _, threads = histories(name, "--from", function)
    wanted = [one[0] for one in instructions[at:]]
    check(f"--from {function} begins at its first call", threads[tid][0][:len(wanted)] == wanted and len(threads[tid][0]) <= len(wanted) + 1,
          len(threads[tid][0]), len(wanted))
    got = gdb(name, f"ptl-from {function}", "record goto begin", "backtrace", "ptl-from no_such_function", "ptl-from",
              "ptl-from main", "record goto begin", "info symbol $pc", options=("--instructions", "500"))
    check("ptl-from moves the window to the function", re.search(rf"^#0  {function} \(.*\n#1 .* main \(", got.stdout, re.M), got)
    check("a function that nobody calls is told", "no thread of process" in got.stdout and "calls 'no_such_function'" in got.stdout, got)
    check("ptl-from needs a name", "from needs the name of a function" in got.stdout, got)
    check("a later ptl-from moves the window again", re.search(r"^main in section", got.stdout, re.M), got)
    got = run(DUMP, "gdb", "--from", "no_such_function", "--batch", name)
    check("--from of no function ends with a message", got.returncode == 2 and "no_such_function" in got.stderr, got)


def scripts(name):
    """A debug file of a stranger may have scripts."""
    got = gdb(name, "show auto-load python-scripts", "show auto-load gdb-scripts")
    check("gdb runs no scripts of files in the trace", len(re.findall(r"^Auto-loading of .* scripts is off\.", got.stdout, re.M)) == 2, got)


def windows(name):
    whole = sum(map(len, flow(name).values()))
    got = gdb(name, "info record", "ptl-earlier", "info record", "ptl-later", "info record", "ptl-goto 0s",
              options=("--instructions", "1000"))
    counts = [int(one) for one in re.findall(r"Recorded (\d+) instructions", got.stdout)]
    check("--instructions bounds the window", len(counts) == 3 and 0 < counts[0] <= 1002, got)
    parts = re.findall(r"instructions ([\d,]+) to ([\d,]+) of ([\d,]+)", got.stdout)
    parts = [[int(number.replace(",", "")) for number in part] for part in parts]
    check("the window ends with the last instruction", parts and parts[0][1] == parts[0][2] == whole, parts, whole)
    check("earlier moves the window to earlier instructions", len(parts) > 1 and parts[1][1] < parts[0][1], parts)


def listening(name):
    with subprocess.Popen([DUMP, "gdb", "--listen", "0", name], cwd=scratch, stdout=subprocess.PIPE, text=True) as server:
        target = server.stdout.readline().strip()
        check("--listen is for this machine alone", target.startswith("target remote 127.0.0.1:"), target)
        for _ in range(2):
            got = run(GDB, "-nx", "-q", "-batch", "-ex", target, "-ex", "reverse-step", "-ex", "monitor where")
            got.stdout += got.stderr
            check("gdb reads symbols from the server", "*nothing = 1;" in got.stdout and "stopped by SIGSEGV" in got.stdout, got)
        server.terminate()


def machine_interface(name):
    """What editors do."""
    commands = [f"-interpreter-exec console \"target remote | {DUMP} gdb --stdio {path(name)}\"", "-exec-step-instruction --reverse",
                "-exec-step --reverse", "-break-insert --qualified main", "-exec-continue --reverse", "-gdb-exit"]
    got = run(GDB, "-nx", "-q", "-i=mi3", input="".join(one + "\n" for one in commands))
    check("the machine interface steps backwards", re.search(r'\*stopped,reason="end-stepping-range".*func="die_of_fault"', got.stdout), got)
    check("and stops at breakpoints, backwards", re.search(r'\*stopped,reason="breakpoint-hit".*func="main"', got.stdout), got)


SPINNER = """#include <pthread.h>
#include <sched.h>
static volatile int sum;
static int *volatile nothing;
static void *spin(void *unused) { for (;;) sum++; return unused; }
static void *crash(void *unused) { for (int i = 0; i < 10000; i++) sum += i; *nothing = 1; return unused; }
int main(void)
{
	pthread_t one, other;
	pthread_create(&one, NULL, spin, NULL);
	while (!sum)
		sched_yield();
	pthread_create(&other, NULL, crash, NULL);
	return pthread_join(other, NULL);
}
"""


def crash_of_thread():
    """gdb shows the thread that crashed. A window before the thread has its other threads alone."""
    write("spinner.c", SPINNER)
    run("gcc", "-g", "-pthread", "-o", "spinner", "spinner.c")
    record("spinner.ptl", path("spinner"))
    start = min(json.loads(line)["time"] for line in output(DUMP, "flow", "--json", "spinner.ptl").splitlines())
    got = gdb("spinner.ptl", "info threads", f"ptl-goto {start + 1000000}ns", "info threads", "ptl-later", "monitor events", "monitor gaps",
              "thread apply all info record")
    check("gdb shows the thread that crashed", re.search(r"^\* \d+ .* crash \(", got.stdout, re.M), got)
    shown = re.findall(r"^[ *] \d+ +Thread", got.stdout, re.M)
    check("a window without a thread does not show it", len(shown) in (3, 4), shown, got)
    recorded = [int(number) for number in re.findall(r"^Recorded (\d+) instructions", got.stdout, re.M)]
    check("a thread that a later window has again has its instructions", len(recorded) == 3 and all(recorded), recorded, got)
    check("monitor lists events and gaps", re.search(r"^\d+ events$", got.stdout, re.M) and "\n0 gaps\n" in got.stdout, got)


def events(name):
    """Events have gdb's number of the next instruction; monitor event moves the window to an event."""
    text = [json.loads(line) for line in output(DUMP, "flow", "--json", "--level", "insn", "--events", name).splitlines()]
    fatal = json.loads(output(DUMP, "events", "--json", "--event", "Signal/Fatal", name).splitlines()[0])
    counts = {}
    for item in text:
        if item["type"] == "instruction":
            counts[item["tid"]] = counts.get(item["tid"], 0) + 1
    got = gdb(name, "monitor events", "monitor events Signal/Fatal", "ptl-event Thread/Start", "ptl-event Thread/Start", "monitor event", "monitor event No/Such")
    line = re.search(r"^ *([\d.]+)  (\d+) +(\d+|-)  Kernel/Signal/Fatal  .*Signal=11", got.stdout, re.M)
    check("the fatal signal stands behind the last instruction of its thread", line and int(line[2]) == fatal["tid"] and
          int(line[3]) == counts[fatal["tid"]] + 1, counts, got)
    check("monitor events NAME lists these events alone", "\n1 event\n" in got.stdout, got)
    starts = [json.loads(one)["time"] for one in output(DUMP, "events", "--json", "--event", "Thread/Start", name).splitlines()]
    ends = re.findall(r"^thread \d+[^:]*: [\d.]+ ms to ([\d.]+) ms", got.stdout.split("1 event\n", 1)[-1], re.M)
    check("monitor event moves the window before the event", len(starts) >= 2 and ends and
          all(float(end) * 1e6 <= starts[-1] + 1 for end in ends), starts, ends, got)
    check("monitor event needs a name", "event needs the name of an event" in got.stdout, got)
    check("monitor event tells a missing event", "no such event before the end of the window" in got.stdout or "no event is like that" in got.stdout, got)


def jit():
    """Code that the program made has the names of a perf map."""
    record("jit.ptl", os.path.join(os.environ["PTL_PROGRAMS"], "call_jit"), "jit.log")
    images = [json.loads(line) for line in output(DUMP, "images", "--json", "jit.ptl").splitlines()]
    base = next(one["base"] for one in images if "anon" in one["path"])
    write("perf.map", f"{int(base, 16):x} 1000 made_code\n")
    # The program goes on for a million instructions.
    end = next(item["time"] for item in map(json.loads, output(DUMP, "flow", "--json", "jit.ptl").splitlines())
               if item["type"] == "block" and item["ip"] == base) + 1000
    got = gdb("jit.ptl", "break *made_code", "reverse-continue", "backtrace",
              options=("--jit", "perf.map", "--time", f"..{end}ns", "--instructions", "100000"))
    check("a breakpoint stops in code of a JIT compiler", re.search(r"^Breakpoint 1, .*made_code", got.stdout, re.M), got)
    check("which has callers with lines", "call_jit.c:" in got.stdout, got)


def mistakes(name):
    for options in (("--stdio", "--listen", "1"), ("--stdio", "--batch"), ("--listen", "x"), ("--instructions", "0")):
        got = run(DUMP, "gdb", *options, name)
        check(f"{options} is a mistake", got.returncode == 2 and got.stderr, got)
    got = run(DUMP, "gdb", "--gdb", "/nothing/gdb", name)
    check("a missing gdb is an error", got.returncode == 4 and "/nothing/gdb" in got.stderr, got)
    got = run(DUMP, "gdb", "--stdio", name, input="$g#00$\x7f#zz++++" * 200)
    check("bytes that are no packets end the connection", got.returncode == 3, got)


if not shutil.which(GDB):
    skip("gdb steps backwards", "there is no gdb")
else:
    build("counted", "-no-pie", "-O0")
    same_history(record("counted.ptl", path("counted"), "50"), path("counted"))
    hits("counted.ptl", "is_third")
    begins("counted.ptl", "is_third")
    build("deaths", "-O0")
    record("deaths.ptl", path("deaths"), "segv")
    same_history("deaths.ptl", path("deaths"))
    steps("deaths.ptl", list(flow("deaths.ptl"))[0])
    crash("deaths.ptl")
    scripts("deaths.ptl")
    windows("deaths.ptl")
    listening("deaths.ptl")
    machine_interface("deaths.ptl")
    mistakes("deaths.ptl")
    jit()
    crash_of_thread()
    events("spinner.ptl")
    build("threads")
    same_history(record("threads.ptl", path("threads")), path("threads"), 5000)
    # Code, symbols and debug information of the trace stand for files that are gone.
    os.rename(path("deaths"), path("gone"))
    flow.cache_clear()
    same_history("deaths.ptl", path("deaths"))
    crash("deaths.ptl")
    os.mkdir(path("debug"))
    # Debug files elsewhere: the program is stripped, and gone.
    build("deaths", "-O0")
    run("objcopy", "--only-keep-debug", "deaths", "debug/deaths.debug")
    run("strip", "deaths")
    run(RECORD, "-q", "--embed", "code", "-o", "stripped.ptl", "--", path("deaths"), "segv")
    crash("stripped.ptl", "--debug-path", path("debug"))
    os.remove(path("deaths"))
    crash("stripped.ptl", "--debug-path", path("debug"))
    left = [one for one in os.listdir(scratch) if one.startswith("ptl-gdb-")]
    check("no folder is left", not left, left)
plan()
