#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Windows by events and calls: which windows, each window against the same span of time of the whole trace, and all windows
# in one trace. The judges: times that the events and calls themselves have, and the cut by --time.
import glob
import json
import os
import shlex
import re

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, scratch

CANONICAL = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_canonical")
PROGRAMS = os.environ["PTL_PROGRAMS"]


def rows(*arguments):
    return [json.loads(line) for line in output(DUMP, *arguments).splitlines()]


def start_of(name):
    return json.loads(output(DUMP, "info", "--json", name))["clock"]["start_time"]


def content(name):
    """All but the file's own name, how the content lies in buffers, and the history."""
    lines = []
    for line in output(CANONICAL, name).splitlines():
        words = line.split(" ")
        if words[0] == "stream":
            # A recorder on a busy machine writes more buffers. Bytes of packets have no heads.
            line = " ".join([*words[:6], words[7], words[8] if words[2] == "3" else "", *words[9:]])
        if not line.startswith(("file ", "provenance", "  input", "stream 0 ")):
            lines.append(line)
    return sorted(lines)


def windows_of(prefix):
    names = glob.glob(path(prefix + ".*.ptl"))
    return [os.path.basename(name) for name in sorted(names, key=lambda name: int(name.split(".")[-2]))]


def shown(view, name, span):
    """A view of a span of time, without offsets of packets and names of processes."""
    lines = output(DUMP, *view, "--time", f"@{span[0]}ns..@{span[1]}ns", name).splitlines()
    return [LEFT_OUT.sub("", line) for line in lines]


def differences(found, wanted):
    return [f"{len(found)} and {len(wanted)} lines", *[pair for pair in zip(found, wanted) if pair[0] != pair[1]][:2]]


# A process has the name of its last program, which a window that ends before the execve does not have.
LEFT_OUT = re.compile(r'"stream_offset":[0-9]+,?|"process":"[^"]*",?')
VIEWS = (("flow", "--json"), ("flow", "--json", "--level", "insn"), ("events", "--json"))


def same_windows(title, whole, names, spans):
    """Each window is the cut of its span of time, and shows within the span what the whole trace shows."""
    check(f"{title}: {len(spans)} windows", len(names) == len(spans) > 0, names, spans)
    for name, (first, last) in zip(names, spans):
        output(RELOG, "-q", "-f", whole, "--time", f"@{first}ns..@{last}ns", "-o", "cut.ptl")
        check(f"{title}: {name} is the cut by its times", content(name) == content("cut.ptl"), name, (first, last))
        check(f"{title}: {name} has no damage", run(DUMP, "info", "--check", name).returncode == 0)
        for view in VIEWS:
            found, wanted = shown(view, name, (first, last)), shown(view, whole, (first, last))
            check(f"{title}: {name}: {' '.join(view)}", found == wanted, differences(found, wanted))


def same_together(title, whole, spans, *arguments):
    got = run(RELOG, "-q", "-f", whole, *arguments, "--together", "-o", "together.ptl")
    check(f"{title}: together", got.returncode == 0 and not got.stderr, got)
    check(f"{title}: together has no damage", run(DUMP, "info", "--check", "together.ptl").returncode == 0)
    check(f"{title}: together writes one file", not windows_of("together"))
    for span in spans:
        for view in VIEWS:
            found, wanted = shown(view, "together.ptl", span), shown(view, whole, span)
            check(f"{title}: together: {' '.join(view)} of {span}", found == wanted, differences(found, wanted))


# ---- events of a program ---------------------------------------------------------------------------------------------

output(RECORD, "-q", "--psb-period", "4K", "--source", "software", "-p", "PTL-Test-Writer", "-o", "events.ptl", "--",
       os.path.join(PROGRAMS, "provider_writer"), "count=400")
START = start_of("events.ptl")
BY_INDEX = {event["fields"]["index"]: START + event["time"] for event in rows("events", "--json", "events.ptl")
            if event["provider"] == "PTL-Test-Writer" and event["event"] == "Number"}
check("the program's events", sorted(BY_INDEX) == list(range(400)), BY_INDEX)

AROUND = ("--around", "index == 50 or index == 51 or index == 333", "--before", "20us", "--after", "5us")
SPANS = [(BY_INDEX[index] - 20000, BY_INDEX[index] + 5000) for index in (50, 51, 333)]
output(RELOG, "-q", "events.ptl", *AROUND, "-o", "around.ptl")
same_windows("around", "events.ptl", windows_of("around"), SPANS)
same_together("around", "events.ptl", SPANS, *AROUND)
rules = "printf 'on any where index >= 0 { set event.level = 7; }'"
got = run("sh", "-c", f"{rules} | '{RELOG}' -q events.ptl --rules /dev/stdin {shlex.join(AROUND)} -o piped.ptl")
levels = [{event["level"] for event in rows("events", "--json", f"piped.{number}.ptl") if event["event"] == "Number"} for number in (1, 2, 3)]
check("rules of a pipe apply to each window", got.returncode == 0 and levels == [{7}] * 3, got, levels)

BETWEEN = ("--between", "index % 100 == 10", "--and", "index % 100 == 14 or index == 311")
SPANS = [(BY_INDEX[a], BY_INDEX[b]) for a, b in ((10, 14), (110, 114), (210, 214), (310, 311))]
output(RELOG, "-q", "events.ptl", *BETWEEN, "-o", "between.ptl")
same_windows("between", "events.ptl", windows_of("between"), SPANS)
same_together("between", "events.ptl", SPANS, *BETWEEN)
for name, first, last in zip(windows_of("between"), (10, 110, 210, 310), (14, 114, 214, 311)):
    found = [event["fields"]["index"] for event in rows("events", "--json", "-e", "Number", name)]
    check(f"between: {name} has exactly the events", found == list(range(first, last + 1)), found)

got = run(RELOG, "events.ptl", "--between", "index == 390", "--and", "index == 5", "-o", "open.ptl")
check("notes name the files", "window 1, " in got.stderr and re.search(r"wrote \S+\.1\.ptl", got.stderr), got.stderr)
check("a window that no event ends", got.returncode == 0 and "no event of --and ends window 1: it ends with the trace" in got.stderr,
      got)
found = [event["fields"]["index"] for event in rows("events", "--json", "-e", "Number", "open.1.ptl")]
check("the window ends with the trace", found == list(range(390, 400)), found)

# ---- processes of a shell --------------------------------------------------------------------------------------------

output(RECORD, "-q", "--psb-period", "4K", "--source", "software", "-o", "shell.ptl", "--", "/bin/sh", "-c",
       "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; ls / >/dev/null; expr 1 + 1 >/dev/null; (ls / | cat) >/dev/null")
START = start_of("shell.ptl")
STARTS = [START + event["time"] for event in rows("events", "--json", "-e", "Process/Start", "shell.ptl")]
AROUND = ("--around", "has(UniqueProcessKey) and event.opcode == 1", "--before", "100us", "--after", "200us")
SPANS = [(time - 100000, time + 200000) for time in sorted(STARTS)]
output(RELOG, "-q", "shell.ptl", *AROUND, "-o", "starts.ptl")
same_windows("processes", "shell.ptl", windows_of("starts"), SPANS)
same_together("processes", "shell.ptl", SPANS, *AROUND)
output(RELOG, "-q", "-f", "shell.ptl", "-o", "whole.ptl")
output(RELOG, "-q", "-f", "shell.ptl", *windows_of("starts"), "-o", "again.ptl")
check("windows add nothing to the whole trace", content("again.ptl") == content("whole.ptl"))

# ---- calls -----------------------------------------------------------------------------------------------------------

SOURCE = """
#include <stdint.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void serve(unsigned n) { work(n); (void)getppid(); usleep(n == 20000 ? 6000 : 50); (void)getppid(); }
int main(void) { for (unsigned i = 1; i <= 12; i++) serve(i % 5 == 0 ? 20000 : 300 * i); return 0; }
"""
with open(path("serve.c"), "w", encoding="utf-8") as file:
    file.write(SOURCE)
output(os.environ.get("PTL_TEST_CC", "gcc"), "-g", "-O1", "-o", "serve", "serve.c")
output(RECORD, "-q", "--psb-period", "4K", "--source", "software", "-o", "calls.ptl", "--", "./serve")
START = start_of("calls.ptl")


def calls(name, *more):
    return [call for call in rows("calls", "--json", "--calls", "serve", *more, name) if call.get("function") == "serve"]


def called(name, call):
    """The slow call and all calls within it."""
    return [(row["function"], row["instructions"], row["depth"])
            for row in rows("calls", "--json", "--calls", "serve: duration > 3ms", name)
            if row["type"] == "call" and call["time"] <= row["time"] <= call["time"] + call["duration"]]


ALL = calls("calls.ptl")
check("twelve calls", len(ALL) == 12, ALL)
SLOW = sorted(ALL, key=lambda call: -call["duration"])[:2]
check("the slow calls are slow", all(call["duration"] > 3e6 for call in SLOW), SLOW)
SPANS = [(START + call["time"], START + call["time"] + call["duration"]) for call in SLOW]
output(RELOG, "-q", "calls.ptl", "--calls", "serve", "--slowest", "2", "-o", "slow.ptl")
same_windows("slowest", "calls.ptl", windows_of("slow"), SPANS)
same_together("slowest", "calls.ptl", SPANS, "--calls", "serve", "--slowest", "2")
for number, call in enumerate(SLOW, 1):
    found = [other for other in calls(f"slow.{number}.ptl") if START + other["time"] == START + call["time"]]
    MEMBERS = ("duration", "instructions", "self_instructions", "calls", "tid", "depth")
    check(f"slow.{number}.ptl has the call", len(found) == 1 and all(found[0][key] == call[key] for key in MEMBERS),
          call, found)
    listed = rows("calls", "--json", f"slow.{number}.ptl")
    at = [place for place, row in enumerate(listed) if row.get("function") == "serve" and row["time"] == call["time"]]
    callers = [row for row in listed[:at[0]] if at and row.get("depth", -1) == listed[at[0]]["depth"] - 1]
    check(f"slow.{number}.ptl has the caller of the call", callers and callers[-1]["function"] == "main", callers, at)
    whole, part = (called(name, call) for name in ("calls.ptl", f"slow.{number}.ptl"))
    check(f"slow.{number}.ptl: what the call called", whole == part and len(whole) >= 3, whole, part)
output(RELOG, "-q", "calls.ptl", "--calls", "serve: duration > 3ms", "--before", "10us", "-o", "long.ptl")
SPANS = [(START + call["time"] - 10000, START + call["time"] + call["duration"]) for call in ALL if call["duration"] > 3e6]
same_windows("long calls", "calls.ptl", windows_of("long"), SPANS)

# ---- several machines, and other stages ------------------------------------------------------------------------------

output(RELOG, "-q", "-f", "events.ptl", "shell.ptl", "-o", "both.ptl")
output(RELOG, "-q", "-f", "both.ptl", "--around", "index == 7", "--after", "1us", "--before", "1ms", "--redact", "paths", "-o",
       "redacted.ptl")
check("windows are redacted", "redacted" in output(DUMP, "info", "redacted.1.ptl"))

# ---- mistakes --------------------------------------------------------------------------------------------------------

for title, arguments, text in (
        ("no such event", ("--around", "index == 4000", "--after", "1ms"), "no window: no event matches"),
        ("no such function", ("--calls", "nothing"), "--calls: no function that ran is called 'nothing'"),
        ("no such call", ("--calls", "serve: duration > 5s"), "no window: no call matches"),
        ("an event without a duration", ("--around", "index == 4"), "--around needs --before TIME or --after TIME"),
        ("--between alone", ("--between", "index == 4"), "--between 'FIRST' needs --and 'LAST'"),
        ("--and alone", ("--and", "index == 4"), "--between 'FIRST' needs --and 'LAST'"),
        ("--slowest alone", ("--slowest", "3"), "--slowest needs --calls FUNCTION"),
        ("--before alone", ("--before", "3ms"), "--before, --after and --together need"),
        ("two kinds", ("--calls", "serve", "--around", "index == 4", "--after", "1us"), "only one of"),
        ("a wrong expression", ("--around", "index == ", "--after", "1us"), "--around:1:"),
        ("a wrong last expression", ("--between", "index == 1", "--and", "(index"), "--and:1:"),
        ("a wrong expression of calls", ("--calls", "serve: duration >"), "--calls:1:"),
        ("with --time", ("--calls", "serve", "--time", "1ms.."), "they go neither with --time"),
        ("with --check", ("--calls", "serve", "--check"), "they go neither with --check")):
    got = run(RELOG, "calls.ptl", *arguments, "-o", "wrong.ptl")
    check(f"{title}: status and text", got.returncode == 2 and text in got.stderr, got)
    check(f"{title}: no output", not glob.glob(path("*wrong*")) and not glob.glob(path(".*tmp*")), os.listdir(scratch))
got = run(RELOG, "-q", "events.ptl", "--around", "index == 50", "--after", "1us", "-o", "around.ptl")
check("outputs are not replaced", got.returncode == 4 and "around.1.ptl exists; -f replaces it" in got.stderr, got)
plan()
