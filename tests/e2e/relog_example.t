#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The example of libptl's relogger: built from public headers and the shared library alone, it does what it says.
import collections
import json
import os

from scratch_test import BIN, DUMP, RECORD, check, plan, run

EXAMPLE = os.path.join(os.path.dirname(BIN), "examples", "relogger")
PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "fork_no_exec")


def events(name):
    found = collections.Counter()
    for line in run(DUMP, "events", "--json", name).stdout.splitlines():
        event = json.loads(line)
        found[event.get("name") or event.get("event")] += 1
    return found


got = run(RECORD, "-q", "-o", "in.ptl", "--", PROGRAM)
check("a trace is recorded", got.returncode == 0, got)
before = events("in.ptl")
got = run(EXAMPLE, "in.ptl", "out.ptl")
threads = sum(number for name, number in before.items() if name.startswith("Thread/"))
starts = before["Process/Start"]
check("the example runs", got.returncode == 0 and
      got.stdout == f"{threads} events of threads dropped, {starts} starts of processes marked\n" and threads and starts,
      got, before)
after = events("out.ptl")
want = +collections.Counter({name: number for name, number in before.items() if not name.startswith("Thread/")})
want["ProcessSeen"] = starts
check("events of threads are gone, and its own are there", after == want, after, want)
flow = [run(DUMP, "stats", "--hash", "--json", name).stdout for name in ("in.ptl", "out.ptl")]
check("all else is as it was: the same flow", flow[0] == flow[1] and '"instructions"' in flow[0], *flow)
info = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout or "{}")
check("the history names it", [step.get("tool") for step in info.get("provenance", [])] == ["ptl-record", "example"], info)
got = run(EXAMPLE, "in.ptl", "out.ptl")
check("an existing file is not replaced", got.returncode == 1 and "exists" in got.stderr, got)

plan()
