#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A trace tells which thread a fatal signal hit, recorded by either source, and rewritten.
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, scratch, write

SOURCE = os.path.join(os.environ["PTL_TESTDATA"], "programs", "fatal_signal.c")
os.environ["TMPDIR"] = scratch
# Signals with their number, si_code, and whether the address is known to the software source.
SIGNALS = {"segv": ("SIGSEGV", 1, "0x1238"), "general": ("SIGSEGV", 0x80, None), "abort": ("SIGABRT", -6, None), "trap": ("SIGTRAP", 0x80, None),
           "term": ("SIGTERM", -6, None)}

got = run("gcc", "-g", "-O1", "-pthread", "-o", "fatal_signal", SOURCE)
check("the program is built", got.returncode == 0, got)


def process_of(name, *options):
    return json.loads(output(DUMP, "processes", "--json", *options, name).splitlines()[0])


def expect(label, process, how, tid, has_more):
    signal, code, address = SIGNALS[how]
    check(f"{label}: signal and thread", (process["signal"], process["signal_thread"]) == (signal, tid), process)
    check(f"{label}: si_code", process["signal_code"] == code, process)
    if has_more:
        check(f"{label}: address", process.get("signal_address") == address, process)
        check(f"{label}: sender", process.get("signal_sender") == (process["pid"] if code < 0 else None), process)


def record(how, name, *options):
    """The id of the thread that the signal hit, as the program printed the id."""
    return int(run(RECORD, "-q", "-o", name, *options, "--", path("fatal_signal"), how).stdout)


for how in SIGNALS:
    tid = record(how, how + ".ptl")
    process = process_of(how + ".ptl")
    expect(how, process, how, tid, True)
    check(f"{how}: another thread", tid != process["pid"], process)
    text = output(DUMP, "processes", "--threads", how + ".ptl")
    lines = [line for line in text.splitlines() if SIGNALS[how][0] in line and "thread" in line]
    check(f"{how}: the list of threads", len(lines) == 1 and f"thread {tid}" in lines[0], text)
    text = output(DUMP, "events", "--event", "Signal/Fatal", "--json", how + ".ptl")
    events = [json.loads(line) for line in text.splitlines()]
    check(f"{how}: one event of the thread", [(event["pid"], event["tid"]) for event in events] == [(process["pid"], tid)], text)

# Rewritten traces.
tid = process_of("segv.ptl")["signal_thread"]
run(RELOG, "-q", "-o", "cut.ptl", "--last", "1ms", "segv.ptl")
expect("cut", process_of("cut.ptl"), "segv", tid, True)
run(RELOG, "-q", "-o", "thread.ptl", "--tid", str(tid), "segv.ptl")
expect("cut to the thread", process_of("thread.ptl"), "segv", tid, True)
run(RELOG, "-q", "-o", "merged.ptl", "abort.ptl", "segv.ptl")
merged = [json.loads(line) for line in output(DUMP, "processes", "--json", "merged.ptl").splitlines()]
check("merged", {process["signal"]: process["signal_thread"] for process in merged} ==
      {"SIGABRT": process_of("abort.ptl")["signal_thread"], "SIGSEGV": tid}, merged)
write("rules", "on signal opcode fatal { drop; }\n")
got = run(RELOG, "-q", "-o", "dropped.ptl", "--rules", "rules", "segv.ptl")
check("a rule can name the event", "signal_thread" not in process_of("dropped.ptl"), got)

# The kernel reports signals that dump core, to users who may read its tracepoints.
if os.access("/sys/kernel/tracing/events/signal/signal_deliver/format", os.R_OK) and os.geteuid() == 0:
    for how in "segv", "abort", "trap", "general":
        tid = record(how, how + "-native.ptl", "--source", "none")
        expect(how + " natively", process_of(how + "-native.ptl"), how, tid, False)
plan()
