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
from scratch_test import DUMP, RECORD, check, output, path, plan, run, scratch, skip, write

SOURCES = os.path.join(os.environ["PTL_TESTDATA"], "programs")
os.environ["TMPDIR"] = scratch
os.environ["HOME"] = scratch
os.environ.pop("DEBUGINFOD_URLS", None)


def gdb(name, *commands, options=()):
    words = [word for command in ("set pagination off", *commands) for word in ("--ex", command)]
    got = run(DUMP, "gdb", "-q", "--batch", *words, *options, name)
    # Errors, and the output of monitor, are in a stream of their own.
    got.stdout += got.stderr
    return got


def flow(name, *options):
    """The address, function and image of the instructions of each thread."""
    threads = {}
    for line in output(DUMP, "flow", "--level", "insn", "--json", *options, name).splitlines():
        item = json.loads(line)
        if item["type"] == "instruction":
            threads.setdefault(item["tid"], []).append((int(item["ip"], 16), item.get("symbol"), item.get("image")))
    return threads


def build(name, *options, source=None):
    got = run("gcc", "-g", "-O1", "-pthread", "-o", name, os.path.join(SOURCES, source or name + ".c"), *options)
    check(f"{name} is built", got.returncode == 0, got)
    return path(name)


def record(name, program, *arguments):
    run(RECORD, "-q", "--embed", "debug", "-o", name, "--", program, *arguments)
    check(f"{name} is recorded", os.path.exists(path(name)))
    return name


def collapsed(names):
    """Without names that follow themselves."""
    return [name for i, name in enumerate(names) if not i or names[i - 1] != name]


HISTORIES = ["record goto end", "set record instruction-history-size 0", "set record function-call-history-size 0", "set print asm-demangle off",
             "thread apply all -s -ascending -q python print('THREAD', gdb.selected_thread().ptid[1]); "
             "print(gdb.execute('record instruction-history', to_string=True)); print('FUNCTIONS'); "
             "print(gdb.execute('record function-call-history', to_string=True))"]


def histories(name, *options):
    """Of each thread the addresses of instructions, and the functions."""
    got = gdb(name, *HISTORIES, options=options)
    threads = {}
    addresses = functions = []
    in_functions = False
    for line in got.stdout.splitlines():
        if line.startswith("THREAD "):
            addresses, functions = threads[int(line.split()[1])] = [], []
            in_functions = False
        elif line == "FUNCTIONS":
            in_functions = True
        elif in_functions and re.match(r"\d+\t", line):
            functions.append(line.split("\t")[1])
        elif match := re.match(r"\d+\t[ =>]*(0x[0-9a-f]+)", line):
            addresses.append(int(match[1], 16))
    return got, threads


def same_history(name, program, most=10**6):
    """gdb has the last instructions of flow. Behind them is an instruction that did not complete, if flow knows one."""
    want = {tid: instructions[-most:] for tid, instructions in flow(name).items()}
    got, threads = histories(name, "--instructions", str(most))
    check(f"{name}: gdb has the threads of flow", set(threads) == set(want) and want, got, sorted(want))
    wrong, wrong_functions, all_names = [], [], set()
    for tid, instructions in want.items():
        addresses, functions = threads.get(tid, ([], []))
        here = [one[0] for one in instructions]
        # A window begins with a whole block.
        if len(here) == most:
            here = here[-(len(addresses) - 1):] if addresses[-1] != here[-1] else here[-len(addresses):]
            instructions = instructions[-len(here):]
        if addresses[:len(here)] != here or len(addresses) > len(here) + 1 or len(here) < min(len(want[tid]), most - 1000):
            wrong.append((tid, len(here), len(addresses)))
        names = {one[1] for one in instructions if one[2] == program and one[1] and "@" not in one[1] and one[1][0] != "_"}
        all_names |= names
        # Code without a name, and entries of the PLT, have other names in gdb.
        seen = collapsed([one for one in functions if one in names])
        flow_names = collapsed([one[1] for one in instructions if one[1] in names and one[2] == program])
        if seen != flow_names and seen[:-1] != flow_names:
            wrong_functions.append((tid, seen[-20:], flow_names[-20:]))
    check(f"{name}: gdb has the {sum(map(len, want.values()))} instructions of flow", not wrong, wrong, got.stderr)
    check(f"{name}: gdb's history of calls has the {len(all_names)} functions of flow", all_names and not wrong_functions,
          *wrong_functions)


def steps(name, tid, count=40):
    addresses = [one[0] for one in flow(name)[tid]]
    got = gdb(name, *["output/x $pc", "echo \\n", "reverse-stepi"] * count)
    seen = [int(line, 16) for line in got.stdout.splitlines() if re.fullmatch("0x[0-9a-f]+", line)]
    check(f"{name}: reverse-stepi goes back instruction by instruction",
          len(seen) == count and seen in (addresses[::-1][:count], [seen[0], *addresses[::-1][:count - 1]]), got)


def hits(name, function):
    """A breakpoint stops at each call, backwards, the last call first."""
    calls = [json.loads(line) for line in output(DUMP, "calls", "--json", "--no-fold", name).splitlines()]
    calls = [one for one in calls if one["type"] == "call" and one["function"] == function]
    entries = [one for instructions in flow(name).values() for one in instructions]
    first = min(one[0] for one in entries if one[1] == function)
    got = gdb(name, f"break *{first:#x}", *["reverse-continue"] * (len(calls) + 1))
    stops = len(re.findall(r"^Breakpoint 1, .*\b%s\b" % function, got.stdout, re.M))
    check(f"{name}: a breakpoint stops at the {len(calls)} calls of {function}, backwards",
          calls and stops == len(calls) and re.search("No more reverse-execution history|Reached end of recorded history", got.stdout), stops, got)


def crash(name, *options):
    got = gdb(name, "backtrace", "reverse-step", "info program", "print nothing", "info registers rax", "ptl-where", options=options)
    check("the trace ends with the signal", "stopped by SIGSEGV" in got.stdout, got)
    check("gdb shows the line of the crash", "*nothing = 1;" in got.stdout, got)
    check("gdb shows the caller of the crash", re.search(r"#1 .* main \(argc=<unavailable>", got.stdout), got)
    check("reverse-step goes to the line before", re.search(r"^21\s+for", got.stdout, re.M), got)
    check("registers are unavailable", re.search(r"^rax +<unavailable>", got.stdout, re.M), got)
    check("ptl-where shows the time", re.search(r"^thread \d+: [\d.]+ ms, instruction [\d,]+$", got.stdout, re.M), got)


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
            got = run("gdb", "-nx", "-q", "-batch", "-ex", target, "-ex", "reverse-step", "-ex", "monitor where")
            got.stdout += got.stderr
            check("gdb reads symbols from the server", "*nothing = 1;" in got.stdout and "stopped by SIGSEGV" in got.stdout, got)
        server.terminate()


def machine_interface(name):
    """What editors do."""
    commands = [f"-interpreter-exec console \"target remote | {DUMP} gdb --stdio {path(name)}\"", "-exec-step-instruction --reverse",
                "-exec-step --reverse", "-break-insert --qualified main", "-exec-continue --reverse", "-gdb-exit"]
    got = run("gdb", "-nx", "-q", "-i=mi3", input="".join(one + "\n" for one in commands))
    check("the machine interface steps backwards", re.search(r'\*stopped,reason="end-stepping-range".*func="die_of_fault"', got.stdout), got)
    check("and stops at breakpoints, backwards", re.search(r'\*stopped,reason="breakpoint-hit".*func="main"', got.stdout), got)


SPINNER = """#include <pthread.h>
static volatile int sum;
static int *volatile nothing;
static void *spin(void *unused) { for (;;) sum++; return unused; }
static void *crash(void *unused) { for (int i = 0; i < 10000; i++) sum += i; *nothing = 1; return unused; }
int main(void)
{
	pthread_t one, other;
	pthread_create(&one, NULL, spin, NULL);
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


if not shutil.which("gdb"):
    skip("gdb steps backwards", "there is no gdb")
else:
    build("counted", "-no-pie", "-O0")
    same_history(record("counted.ptl", path("counted"), "50"), path("counted"))
    hits("counted.ptl", "is_third")
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
    build("threads")
    same_history(record("threads.ptl", path("threads")), path("threads"), 5000)
    # Code, symbols and debug information of the trace stand for files that are gone.
    os.rename(path("deaths"), path("gone"))
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
