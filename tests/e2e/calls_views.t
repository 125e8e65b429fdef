#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump calls, report, graph and latency: they agree with each other, with stats, and with what programs are known to do.
import collections
import json
import math
import os
import re
import shutil
import sys

from dump_test import dump, objects, record
from scratch_test import BIN, DUMP, check, path, plan, run, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]


def calls_of(*arguments):
    return [line for line in objects("calls", "--json", *arguments) if line["type"] == "call"]


def key(line):
    return line["function"], line["image"], line["address"]


def lines_of(text):
    """(depth, name, rest) of what calls shows as text."""
    found = []
    for line in text.splitlines():
        match = re.match(r"^.{70}(?P<calls>.{7})  (?P<indent> *)(?P<name>\S+)(?P<rest>.*)$", line)
        if match and match["calls"].strip().isdigit():
            found.append((len(match["indent"]) // 2, match["name"], match["rest"].strip()))
    return found


# ---- tail calls, and calls that are folded --------------------------------------------------------------

record("kinds.ptl", os.path.join(PROGRAMS, "call_kinds"))
shown = [line for line in lines_of(dump("calls", "-F", "main", "-d", "3", "kinds.ptl")) if line[1] != "_dl_fixup"]
until = [at for at, line in enumerate(shown) if line[1].endswith("printf")]
check("tail calls stand in place of their callers, and calls that are alike are one line", until and shown[:until[0]] == [
    (0, "main", "(call_kinds)"),
    (1, "counted", "x 5"),
    (1, "start_of_chain", ""),
    (1, "middle_of_chain", "[tail-call]"),
    (1, "last_of_chain", "[tail-call]"),
    (2, "counted", ""),
    (1, "with_condition", "x 2"),
    (1, "last_of_chain", "[tail-call]"),
    (2, "counted", ""),
    (1, "by_pointer", ""),
    (1, "last_of_chain", "[tail-call]"),
    (2, "counted", ""),
], *shown)
check("a PLT entry is its function, found by the dynamic linker or not", until and shown[until[0]][0] == 1 and
      shown[until[0]][2] == "(libc.so.6)" and not any("plt" in line[1] for line in shown), shown[-3:])

# ---- another judge -----------------------------------------------------------------------------------------


def read_callgrind(name):
    """Calls and instructions of their own, by function."""
    names, calls, own = {}, collections.Counter(), collections.Counter()
    function = called = None

    def named(text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?", text).groups()
        return names.setdefault(number, name)

    with open(path(name)) as file:
        costs_of_call = False
        for line in file:
            key_, _, value = line.strip().partition("=")
            if key_ == "fn":
                function = named(value)
            elif key_ == "cfn":
                called = named(value)
            elif key_ == "calls":
                calls[called] += int(value.split()[0])
                costs_of_call = True
            elif re.match(r"[0-9+*-]", line) and costs_of_call:
                costs_of_call = False
            elif re.match(r"[0-9+*-]", line):
                own[function] += int(line.split()[1])
    return calls, own


if shutil.which("valgrind"):
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={path('callgrind')}", os.path.join(PROGRAMS, "call_kinds"))
    calls, own = read_callgrind("callgrind")
    rows = {row["function"]: row for row in objects("report", "--json", "--image", "call_kinds", "kinds.ptl")}
    for name in "counted", "last_of_chain", "middle_of_chain", "start_of_chain", "with_condition", "by_pointer":
        check(f"{name}: calls and instructions are those that callgrind counts", (calls[name], own[name]) == (
            rows[name]["calls"], rows[name]["self_instructions"]), calls[name], own[name], rows[name])
else:
    skip("calls and instructions against callgrind", "there is no valgrind")

# ---- the same sums everywhere ------------------------------------------------------------------------------


def folds(name, trace, every):
    """A line stands for as many calls as it says, and so does what lies in it."""
    folded = collections.Counter()
    above = {}
    for line in calls_of(trace):
        stack = above.setdefault((line["pid"], line["tid"], line.get("stack", 0)), [])
        del stack[line["depth"]:]
        stack.append(line["repeats"])
        folded[key(line)] += math.prod(stack)
    check(f"{name}: lines of calls that are alike stand for all of them", folded == collections.Counter(map(key, every)),
          (folded - collections.Counter(map(key, every))).most_common(3), (collections.Counter(map(key, every)) - folded).most_common(3))


def agree(name, trace):
    instructions = json.loads(dump("stats", "--json", trace))["instructions"]
    every = calls_of("--no-fold", trace)
    rows = objects("report", "--json", trace)
    for by in "function", "image", "process", "thread":
        got = sum(row["self_instructions"] for row in (rows if by == "function" else objects(
            "report", "--by", by, "--json", trace)))
        check(f"{name}: by {by}, instructions add up to those of stats", got == instructions, got, instructions)
    for by in "function", "image", "process", "thread":
        sums = objects("report", "--by", by, "--json", trace)
        for amount in "instructions", "time":
            ran = sum(row.get("self_" + amount) or 0 for row in sums)
            taken = [(row.get("total_" + amount) or 0, row.get("self_" + amount) or 0) for row in sums]
            check(f"{name}: report by {by}: totals of {amount} are at most all, and at least their own",
                  all(own <= whole <= ran for whole, own in taken), taken, ran)
            check(f"{name}: report by {by}: what a process or thread took is the sum of its calls' own {amount}",
                  by in ("function", "image") or all(own == whole for whole, own in taken), taken)
    got = sum(row["self_instructions"] for row in objects("report", "--by", "line", "--json", trace))
    check(f"{name}: by line too", got == instructions, got, instructions)
    got = sum(line["self_instructions"] for line in every)
    check(f"{name}: so do those of calls", got == instructions, got, instructions)

    calls, own, total = collections.Counter(), collections.Counter(), collections.Counter()
    above = {}
    for line in every:
        stack = above.setdefault((line["pid"], line["tid"], line.get("stack", 0)), [])
        del stack[line["depth"]:]
        calls[key(line)] += "inferred" not in line["marks"]
        own[key(line)] += line["self_instructions"]
        if key(line) not in stack:
            total[key(line)] += line["instructions"]
        stack.append(key(line))
    report = {key(row): row for row in rows}
    check(f"{name}: report counts the calls that calls shows", all(
        calls[k] == row["calls"] for k, row in report.items()) and set(calls) == set(report))
    folds(name, trace, every)
    check(f"{name}: and their own instructions", all(own[k] == row["self_instructions"] for k, row in report.items()))
    check(f"{name}: and what they took with their calls", all(total[k] == row["total_instructions"] for k, row in report.items()),
          [(k, total[k], row["total_instructions"]) for k, row in report.items() if total[k] != row["total_instructions"]][:9])
    roots = sum(line["instructions"] for line in every if line["depth"] == 0)
    check(f"{name}: instructions of the outermost calls are those of all calls", roots == instructions, roots, instructions)
    return every, report, total


record("fibres.ptl", os.path.join(PROGRAMS, "fibres"))
folds("fibres", "fibres.ptl", calls_of("--no-fold", "fibres.ptl"))
record("calls.ptl", os.path.join(PROGRAMS, "calls"), "calls.log", os.path.join(PROGRAMS, "libcalls.so"))
every, report, total = agree("calls", "calls.ptl")
with open(path("calls.log")) as log:
    logged = collections.Counter(int(line.rsplit(maxsplit=1)[1], 16) for line in log if "libcalls" not in line)
got = {int(row["address"], 16): row["calls"] for row in report.values() if row["image"].endswith("/calls")}
check("report counts the calls that a program logs of itself", all(
    got.get(address) == count for address, count in logged.items()), logged, got)
names = {row["function"]: row for row in report.values() if row["image"].endswith("/calls")}
check("recursion is counted once", names["fibonacci"]["total_instructions"] == total[key(names["fibonacci"])] <
      names["everything"]["total_instructions"], names["fibonacci"])

for jobs in "1", "2", "8":
    for command in (["report"], ["report", "--by", "line"], ["graph", "fibonacci"], ["latency", "fibonacci"],
                    ["calls"], ["calls", "--min-instructions", "100"]):
        check(f"{' '.join(command)} -j{jobs} gives the same bytes",
              dump(*command, "-j", jobs, "calls.ptl") == dump(*command, "calls.ptl"))

folded = calls_of("calls.ptl")
# Functions that a call in a shared line makes. A selection must show all of their calls, not those of the shared line's first call.
inside, shared = collections.Counter(), {}
for line in folded:
    shared[line["depth"]] = line["repeats"] > 1
    inside[line["function"]] += line["depth"] > 0 and shared[line["depth"] - 1]
recursive = {key(line)[0] for row, line in zip(every, every[1:]) if key(row) == key(line) and line["depth"] > row["depth"]}
inside = [name for name, count in inside.most_common() if count and name and name not in recursive and
          sum(row["function"] == name for row in report.values()) == 1][:4]
check("some calls in a shared line make calls", inside)
for name in inside:
    want = [line for line in every if line["function"] == name]
    for options in ["-F", name], ["--where", f"function == {name}"]:
        got = [line for line in calls_of(*options, "calls.ptl") if line["function"] == name]
        sums = [(sum(line["repeats"] for line in lines), sum(line["self_instructions"] for line in lines)) for lines in (got, want)]
        check(f"{options[0]} shows all calls of {name}, also in callers that are alike", sums[0] == sums[1], *sums)
    least = sorted(line["instructions"] for line in want)[len(want) // 2]
    check(f"--where compares the numbers of each call of {name}", sum(line["repeats"] for line in calls_of(
        "--where", f"function == {name} and instructions <= {least}", "calls.ptl")) == sum(
            line["instructions"] <= least for line in want))
images = {os.path.basename(line["image"] or "") for line in every} - {""}
for image in images:
    tops = [sum(line["instructions"] for line in calls_of(*options, "--image", image, "calls.ptl") if line["depth"] == 0)
            for options in ([], ["--no-fold"])]
    check(f"--image {image} shows all outermost calls", tops[0] == tops[1], tops)
check("a condition on repeats selects shared lines", any(
    line["repeats"] > 1 for line in calls_of("--where", "repeats > 1", "calls.ptl")))

check("folding loses no instructions", sum(line["instructions"] for line in folded if line["depth"] == 0) ==
      sum(line["instructions"] for line in every if line["depth"] == 0) and len(folded) < len(every))

# ---- which calls are shown -----------------------------------------------------------------------------------

check("--depth", calls_of("--no-fold", "--depth", "3", "calls.ptl") == [line for line in every if line["depth"] < 3])
check("--min-instructions", [
    key(line) for line in calls_of("--no-fold", "--min-instructions", "5000", "calls.ptl")] == [
        key(line) for line in every if line["instructions"] >= 5000])
check("--min-time", [
    key(line) for line in calls_of("--no-fold", "--min-time", "50us", "calls.ptl")] == [
        key(line) for line in every if line.get("duration", 0) >= 50000])
main = calls_of("--no-fold", "--function", "sort", "calls.ptl")
check("--function shows its subtree", main[0]["function"] == "sort" and main[0]["depth"] == 0 and
      all(line["depth"] > 0 for line in main[1:]) and sum(line["function"] == "compare" for line in main) > 100, main[:3])
first = next(i for i, line in enumerate(every) if line["function"] == "catcher")
last = next(i for i, line in enumerate(every) if line["function"] == "signals")
thread = [line for line in every if line["tid"] == every[first]["tid"]]
between = calls_of("--no-fold", "--from", "catcher", "--until", "signals", "--tid", str(every[first]["tid"]), "calls.ptl")
first = next(i for i, line in enumerate(thread) if line["function"] == "catcher")
last = next(i for i, line in enumerate(thread) if line["function"] == "signals")
check("--from and --until", between == thread[first:last], len(between), last - first)
tail = calls_of("--no-fold", "--tail", "5", "--tid", str(every[0]["tid"]), "calls.ptl")
check("--tail shows the last lines and what they lie in", tail[-5:] == thread[-5:] and len(tail) < 40 and
      tail[0]["depth"] == 0, len(tail))


def asked(expression):
    return calls_of("--no-fold", "--where", expression, "calls.ptl")


def no_depth(lines):
    return [{name: value for name, value in line.items() if name != "depth"} for line in lines]


for expression, wanted in {
        "duration > 20us and function != main": lambda line: line.get("duration", 0) > 20000 and line["function"] != "main",
        "image == libcalls.so or function ~ fib*": lambda line: os.path.basename(line["image"] or "") == "libcalls.so" or (
            line["function"] or "").startswith("fib"),
        "instructions - self_instructions > 500 and not calls == 1": lambda line: line["instructions"] - line[
            "self_instructions"] > 500 and line["calls"] != 1,
        "self_instructions < `calls`": lambda line: line["self_instructions"] < line["calls"],
        "depth == 3 and marks ~ *tail-call*": lambda line: line["depth"] == 3 and "tail-call" in line["marks"],
        f"tid == {every[0]['tid']} and process == calls and len(function) > 12 and time > 1us": lambda line: line[
            "tid"] == every[0]["tid"] and len((line["function"] or "").encode()) > 12 and (line["time"] or 0) > 1000,
}.items():
    expected = [line for line in every if wanted(line)]
    got = asked(expression)
    check(f"--where {expression.replace(str(every[0]['tid']), 'TID')}: {len(expected)} calls",
          no_depth(got) == no_depth(expected), len(got), len(expected))
for expression, said in {
        "durations > 1": "did you mean 'duration'", "event.pid == 1": "no event.pid", "self > often": "a number",
        "nonsense == 1": "there are function, image", "image & 3": "expected =="}.items():
    wrong = run(DUMP, "calls", "--where", expression, "calls.ptl")
    check(f"--where {expression} is an error that says what to do", wrong.returncode == 2 and said in wrong.stderr and
          not wrong.stdout, wrong.stderr)
wrong = run(DUMP, "calls", "--where", "instructions / calls > 1000", "calls.ptl")
check("what cannot be computed is left out, and reported", wrong.returncode == 0 and "divide" in wrong.stderr and
      "fibonacci" in wrong.stdout, wrong.stderr)
for command in "calls", "flow":
    nothing = run(DUMP, command, "--where", "instructions > 1000000000", "calls.ptl")
    check(f"{command} says that nothing is as --where asks", nothing.returncode == 0 and not nothing.stdout and
          "asked for" in nothing.stderr or "--where asks for" in nothing.stderr, nothing)
blocks = [line for line in objects("flow", "--json", "calls.ptl") if line["type"] == "block"]
for expression, wanted in {
        "function == fibonacci and branch == call": lambda line: line.get("symbol") == "fibonacci" and line.get(
            "branch") == "call",
        "instructions > 20 and path ~ */libc.so*": lambda line: line["instructions"] > 20 and "/libc.so" in line["image"],
        "size / instructions > 6": lambda line: line["size"] // line["instructions"] > 6,
        f"time < {blocks[len(blocks) // 2]['time']} and offset == 0": lambda line: line["time"] < blocks[
            len(blocks) // 2]["time"] and line.get("offset") == 0,
}.items():
    expected = [line for line in blocks if wanted(line)]
    for jobs in "1", "4":
        check(f"flow --where {re.sub('[0-9]{5,}', 'TIME', expression)} -j{jobs}", expected and objects(
            "flow", "--json", "-j", jobs, "--where", expression, "calls.ptl") == expected, len(expected))
check("flow --where with branches", {line["from"]["symbol"] for line in objects(
    "flow", "--json", "-l", "branch", "--where", "function == fibonacci", "calls.ptl")} == {"fibonacci"})
images = {line["image"] for line in calls_of("--image", "libcalls.so", "calls.ptl")}
check("--image", len(images) == 1 and images.pop().endswith("libcalls.so"), images)
wrong = run(DUMP, "calls", "--function", "no_such_function", "calls.ptl")
check("a function that is not there is an error that says what to do", wrong.returncode == 2 and
      "ptl-dump report" in wrong.stderr, wrong.stderr)

# ---- graph and latency ---------------------------------------------------------------------------------------

rows = objects("graph", "--json", "--depth", "0", "main", "calls.ptl")
check("graph shows no stub of the PLT whose calls belong to other functions", rows and all(
    row["calls"] or row["total_instructions"] for row in rows), [row for row in rows if not row["calls"]][:3])
rows = objects("graph", "--json", "--depth", "0", "fibonacci", "calls.ptl")
callers = [row for row in rows if row["type"] == "caller"]
callees = [row for row in rows if row["type"] == "callee"]
direct = collections.Counter()
above = {}
for line in every:
    stack = above.setdefault((line["tid"], line.get("stack", 0)), [])
    del stack[line["depth"]:]
    if line["function"] == "fibonacci" and stack:
        direct[stack[-1]] += 1
    stack.append(line["function"])
check("graph: callers are those of calls", {row["function"]: row["calls"] for row in callers if row["depth"] == 1} ==
      direct, callers[:4], direct)
check("graph: both trees begin with the function", callers[0]["calls"] == callees[0]["calls"] ==
      names["fibonacci"]["calls"] and callers[0]["total_instructions"] == callees[0]["total_instructions"] ==
      names["fibonacci"]["total_instructions"], callers[0], callees[0])
check("graph: instructions of all callees add up", sum(row["self_instructions"] for row in callees) ==
      callees[0]["total_instructions"], callees[:5])

whole = sorted(line["instructions"] for line in every if line["function"] == "fibonacci")
got = json.loads(dump("latency", "--json", "--instructions", "--slowest", "4", "fibonacci", "calls.ptl"))
check("latency counts the calls", got["calls"] == len(whole) and got["sum"] == sum(whole) and
      got["least"] == whole[0] and got["most"] == whole[-1], got)
for name, share in ("p50", 0.5), ("p90", 0.9), ("p99", 0.99):
    exact = whole[max(int(len(whole) * share + 0.999999) - 1, 0)]
    check(f"latency: {name} is right to within a 128th", exact <= got[name] <= exact * (1 + 1 / 128), exact, got[name])
check("latency: the histogram has all calls", sum(row["calls"] for row in got["histogram"]) == len(whole))
check("latency: the slowest are the slowest", [call["instructions"] for call in got["slowest"]] == whole[-1:-5:-1], got)
check("latency: callers have all calls", sum(row["calls"] for row in got["callers"]) == len(whole))


def times_of(lines, name):
    """What all measured calls of a function took, those within no other one, and how many are not measured."""
    measured = outermost = others = 0
    above = {}
    for line in lines:
        stack = above.setdefault((line["tid"], line.get("stack", 0)), [])
        del stack[line["depth"]:]
        is_one = line["function"] == name and not {"inferred", "unfinished"} & set(line["marks"])
        if is_one:
            measured += line["duration"]
            outermost += 0 if True in stack else line["duration"]
        others += line["function"] == name and not is_one
        stack.append(is_one)
    return measured, outermost, others


# fibonacci calls itself: time within its outermost calls is spent once. Where those go on when the flow ends, it is that of those within them.
longest = max((line for line in every if line["function"] == "fibonacci"), key=lambda line: line["duration"])
for times in [], ["--time", f"..{longest['time'] + longest['duration'] * 2 // 3}ns"]:
    measured, outermost, others = times_of(calls_of("--no-fold", *times, "calls.ptl"), "fibonacci")
    timed = json.loads(dump("latency", "--json", *times, "fibonacci", "calls.ptl"))
    check(f"latency {' '.join(times[:1])}: what time went to adds up", sum(timed["spent"].values()) == outermost < measured and all(
        sum(call["spent"].values()) == call["duration"] for call in timed["slowest"]), timed["spent"], outermost, measured)
    check(f"latency {' '.join(times[:1])}: times are those of all calls", (timed["sum"], timed["not_measured"]) == (measured, others),
          timed["sum"], timed["not_measured"], measured, others)
check("latency: some calls go on at the end of the flow", others > 0, others)

# ---- without times ---------------------------------------------------------------------------------------------

record("untimed.ptl", os.path.join(PROGRAMS, "call_kinds"), options=["--timing=none"])
untimed = run(DUMP, "latency", "counted", "untimed.ptl")
check("without times latency says what to do", "--instructions" in untimed.stderr or
      "CALLS" in untimed.stdout, untimed.stderr)

# ---- events in their places ------------------------------------------------------------------------------------

text = dump("calls", "--events", "--depth", "2", "kinds.ptl")
check("--events shows events between calls", "** " in text, text[:500])
check("with --json as objects of the same list", any(
    line["type"] == "event" for line in objects("calls", "--events", "--json", "--depth", "2", "kinds.ptl")))

# ---- real programs ---------------------------------------------------------------------------------------------

for name, command in {
        "gzip": ["gzip", "-c", "calls.log"],
        "sh": ["sh", "-c", "for i in 1 2 3; do echo $i; done | cat; (exit 3); :"],
        "perl": ["perl", "-e", "print join ' ', sort map { $_ * 7 % 31 } 1..200"],
        "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t;"],
}.items():
    if not shutil.which(command[0]):
        skip(f"{name}: calls balance", f"there is no {name}")
        continue
    record("real.ptl", *command)
    lines, _, _ = agree(name, "real.ptl")
    marks = collections.Counter(mark for line in lines for mark in line["marks"])
    check(f"{name}: calls balance", marks["lost"] == 0 and marks["new-stack"] == 0 and
          marks["unfinished"] < 50 * len({line["pid"] for line in lines}), marks)

# ---- memory ----------------------------------------------------------------------------------------------------


# A small process, since what it had in memory before counts for the command that it becomes.
RESIDENT = """
import resource, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as process:
    lines = sum(chunk.count(b"\\n") for chunk in iter(lambda: process.stdout.read(1 << 16), b""))
print(process.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, lines)
"""


def resident(*arguments):
    """The most that the command has in memory, in MiB, and its lines."""
    status, most, lines = map(int, run(sys.executable, "-c", RESIDENT, DUMP, *arguments).stdout.split())
    if status:
        raise SystemExit(f"Bail out! {arguments}: {status}")
    return most, lines


if shutil.which("gzip"):
    with open(path("text"), "w") as file:
        file.writelines(f"{i * 7919 % 100003} {i * i % 10007} lines of text {i}\n" for i in range(35000))
    record("long.ptl", "gzip", "-1", "text")
    (most, lines), (least, _) = resident("calls", "--no-fold", "long.ptl"), resident("report", "long.ptl")
    # A record takes 112 bytes. The list of calls and returns of a segment is what the report does not have, either.
    check(f"calls wait in a file: {lines} take {most - least} MiB", lines * 112 > 80 << 20 and most - least < 60, least)
    most, _ = resident("table", "calls", "--format", "rowbinary", "long.ptl")
    check(f"so they do where they become rows: {most - least} MiB", most - least < 60, least)
else:
    skip("calls wait in a file", "there is no gzip")

# ---- real hardware ---------------------------------------------------------------------------------------------

traces = os.environ.get("PTL_SHARED_TRACES", "")
for name in sorted(os.listdir(traces)) if os.path.isdir(traces) else []:
    folder = os.path.join(traces, name)
    if not os.path.exists(os.path.join(folder, "expected.txt")):
        continue
    done = run(os.path.join(BIN, "ptl-relog"), "-q", "-f", "--pt", os.path.join(folder, "trace.pt"), "--memory",
               os.path.join(folder, "memory.raw"), "--memory-map", os.path.join(folder, "memory.map"), "-o", "hardware.ptl")
    check(f"{name}: a hardware trace", done.returncode == 0, done.stderr)
    agree(name, "hardware.ptl")
if not os.path.isdir(traces):
    skip("hardware traces", "there are none")

plan()
