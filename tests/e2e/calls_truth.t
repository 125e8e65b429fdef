#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump calls against what programs themselves log of their calls: the same calls, in the same order, as deep.
import collections
import json
import os
import shutil

from scratch_test import BIN, DUMP, check, path, plan, run, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]


def record(output, *command, options=()):
    done = run(os.path.join(BIN, "ptl-record"), "-q", "-f", "-o", output, *options, "--", *command)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr}")


def calls(*arguments):
    done = run(DUMP, "calls", "--json", *arguments)
    if done.returncode or done.stderr:
        raise SystemExit(f"Bail out! {arguments}: {done.stderr}")
    return done.stdout


def report(engine, name):
    """Rows without times, which blocks of the engines have at other places."""
    done = run(DUMP, "report", "--json", "--engine", engine, name)
    if done.returncode or done.stderr:
        raise SystemExit(f"Bail out! report {engine}: {done.stderr}")
    return sorted([str(row.get(key)) for key in ("image", "address", "calls", "total_instructions", "self_instructions")]
                  for row in map(json.loads, done.stdout.splitlines()))


def read_log(name):
    """Of each thread (file, address, depth), in order."""
    threads = collections.defaultdict(list)
    with open(path(name)) as file:
        for line in file:
            tid, _, depth, rest = line.split(maxsplit=3)
            image, address = rest.rsplit(maxsplit=1)
            threads[int(tid)].append((os.path.basename(image), int(address, 16), int(depth)))
    return threads


def logged_calls(text, functions):
    """The same of what ptl-dump shows: depth counts logged functions alone."""
    threads, paths = collections.defaultdict(list), collections.defaultdict(list)
    for line in map(json.loads, text.splitlines()):
        if line["type"] != "call":
            continue
        function = os.path.basename(line["image"] or ""), int(line["address"], 16)
        above = paths[line["tid"], line.get("stack", 0)]
        del above[line["depth"]:]
        above.extend([False] * (line["depth"] - len(above)))
        if function in functions:
            threads[line["tid"]].append((*function, sum(above)))
        above.append(function in functions)
    return threads


def compare(name, log, text):
    truth = read_log(log)
    functions = {call[:2] for thread in truth.values() for call in thread}
    got = logged_calls(text, functions)
    same = True
    for tid, thread in truth.items():
        first = next((i for i, pair in enumerate(zip(thread, got[tid])) if pair[0] != pair[1]), None)
        if first is not None or len(thread) != len(got[tid]):
            same = False
            at = min(len(thread), len(got[tid])) if first is None else first
            print(f"# thread {tid}: {len(thread)} calls logged, {len(got[tid])} shown, the same up to {at}")
            for label, calls_ in ("logged", thread), ("shown", got[tid]):
                for call in calls_[max(at - 3, 0):at + 4]:
                    print(f"#   {label} {call[0]} {call[1]:x} {call[2]}")
    check(f"{name}: calls are those that the program logs, {sum(map(len, truth.values()))} of them", same)


PLUGIN = os.path.join(PROGRAMS, "libcalls.so")
for options in ([], ["--timing=tsc", "--psb-period=256"], ["--timing=none"], ["--no-retcomp"], ["--clock=virtual"]):
    record("calls.ptl", os.path.join(PROGRAMS, "calls"), "calls.log", PLUGIN, options=options)
    text = calls("--no-fold", "calls.ptl")
    compare(f"calls {options}", "calls.log", text)
    for jobs in "1", "2", "8":
        check(f"calls {options} -j{jobs} gives the same bytes", calls("--no-fold", "-j", jobs, "calls.ptl") == text)
    check(f"calls {options} --engine libipt gives the same calls", [
        (line.get("function"), line.get("depth")) for line in map(json.loads, calls(
            "--no-fold", "--engine", "libipt", "calls.ptl").splitlines())] == [
                (line.get("function"), line.get("depth")) for line in map(json.loads, text.splitlines())])
    rows = report("native", "calls.ptl")
    check(f"report {options} --engine libipt gives the same sums", len(rows) > 1 and
          rows == report("libipt", "calls.ptl"))
    record("exceptions.ptl", os.path.join(PROGRAMS, "call_exceptions"), "exceptions.log", options=options)
    compare(f"call_exceptions {options}", "exceptions.log", calls("--no-fold", "exceptions.ptl"))
    # What comes next tells stacks apart, in the next segment, too.
    record("contexts.ptl", os.path.join(PROGRAMS, "call_contexts"), "contexts.log", options=options)
    text = calls("--no-fold", "contexts.ptl")
    compare(f"call_contexts {options}", "contexts.log", text)
    check(f"call_contexts {options}: a stack that is one of several which fit is marked", '"stack-guessed"' in text)
    check(f"call_contexts {options} -j2 gives the same bytes", calls("--no-fold", "-j2", "contexts.ptl") == text)
record("jit.ptl", os.path.join(PROGRAMS, "call_jit"), "jit.log")
compare("call_jit", "jit.log", calls("--no-fold", "jit.ptl"))

# ---- deep recursion ----------------------------------------------------------------------------------------

# The return stack forgets its oldest calls, time and again, and what the decoder remembers of steps must be of what is left.
for options in ([], ["--timing=tsc", "--psb-period=4K"], ["--no-retcomp"]):
    record("deep.ptl", os.path.join(PROGRAMS, "deep_calls"), options=options)
    made = int(run(os.path.join(PROGRAMS, "deep_calls")).stdout)
    text = calls("--no-fold", "deep.ptl")
    descents = [line for line in map(json.loads, text.splitlines()) if line.get("function") == "descend"]
    check(f"deep_calls {options}: calls are as many as the program makes", len(descents) == made)
    check(f"deep_calls {options}: no call is said to end by something else than its return",
          not any("unwound" in line["marks"] for line in descents))
    check(f"deep_calls {options}: no stack is guessed where there is one alone", "stack-guessed" not in text)
    rows = report("native", "deep.ptl")
    check(f"deep_calls {options}: report --engine libipt gives the same sums", rows == report("libipt", "deep.ptl"))
    for jobs in "1", "2", "4":
        check(f"deep_calls {options} -j{jobs} gives the same bytes", calls("--no-fold", "-j", jobs, "deep.ptl") == text)

# ---- backtraces --------------------------------------------------------------------------------------------

# The frames of calls that have not returned, and were not left by a jump, the outermost first.
BACKTRACE = """
import gdb
frame, names = gdb.newest_frame(), []
while frame:
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        names.append(frame.name() or "?")
    frame = frame.older()
print("frames", *reversed(names))
"""


def backtrace(function, *command):
    """Where gdb is when the function is first called; None: it cannot tell."""
    with open(path("backtrace.py"), "w") as file:
        file.write(BACKTRACE)
    done = run("gdb", "-batch", "-nx", "-ex", "set startup-with-shell off", "-ex", "set breakpoint pending on", "-ex",
               f"break {function}", "-ex", "run", "-x", "backtrace.py", "--args", *command)
    found = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("frames ")]
    return found[0] if found else None


def open_calls(text, function):
    """What the first call of the function lies in, and itself."""
    stack = []
    for line in map(json.loads, text.splitlines()):
        if line["type"] != "call":
            continue
        del stack[line["depth"]:]
        stack.append(line["function"] or "?")
        if line["function"] and line["function"].endswith(function):
            return stack
    return []


write_input = ["gzip", "-c", "jit.log"]
for function, command in (("compare", [os.path.join(PROGRAMS, "calls"), "gdb.log", PLUGIN]), ("write", write_input)):
    name = os.path.basename(command[0])
    program = shutil.which(command[0])
    truth = backtrace(function, program, *command[1:]) if program and shutil.which("gdb") else None
    if not truth:
        skip(f"{name}: what {function} lies in", "there is no gdb that runs it")
        continue
    record("gdb.ptl", program, *command[1:])
    got = open_calls(calls("--no-fold", "gdb.ptl"), function)
    # gdb goes no further than main, where it knows that; and both know functions by one of several names.
    got = got[got.index("main"):] if truth[0] == "main" and "main" in got else got
    own = {"main", "everything", "sort", "compare"}
    check(f"{name}: {function} lies in {len(truth)} frames, as gdb says", len(got) == len(truth) and
          [one in own for one in got] == [one in own for one in truth], truth, got)

# ---- goroutines --------------------------------------------------------------------------------------------


def go_calls(text, names):
    """(goroutine, depth, function) of those functions: a goroutine is a stack, by the order in which its first call was."""
    found, stacks, paths = [], {}, collections.defaultdict(list)
    for line in map(json.loads, text.splitlines()):
        if line["type"] != "call":
            continue
        stack = line["tid"], line.get("stack", 0)
        above = paths[stack]
        del above[line["depth"]:]
        above.extend([False] * (line["depth"] - len(above)))
        if line["function"] in names:
            found.append((stacks.setdefault(stack, len(stacks) + 1), sum(above), line["function"]))
        above.append(line["function"] in names)
    return found


if shutil.which("go"):
    source = os.path.join(os.environ["PTL_TESTDATA"], "go", "goroutines.go")
    done = run("go", "build", "-o", "goroutines", source, env={
        **os.environ, "GOCACHE": path("gocache"), "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""})
    os.environ.update(GOMAXPROCS="1", GOGC="off", GODEBUG="asyncpreemptoff=1")
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr}")
    record("go.ptl", "./goroutines", "go.log")
    with open(path("go.log")) as file:
        truth = [(int(line.split()[0]), int(line.split()[1]), line.split()[2]) for line in file]
    got = go_calls(calls("--no-fold", "go.ptl"), {call[2] for call in truth})
    at = next((i for i, pair in enumerate(zip(truth, got)) if pair[0] != pair[1]), min(len(truth), len(got)))
    check(f"goroutines: calls are those that the program logs, {len(truth)} of them", truth == got, len(truth), len(got), at,
          "logged", *truth[max(at - 3, 0):at + 4], "shown", *got[max(at - 3, 0):at + 4])
else:
    skip("goroutines", "there is no go")
plan()
