#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# perf.data with damaged or hostile records and packets: the time stays bounded, the rest is read, and each loss is told.
import json
import os
import resource
import sys

from scratch_test import DUMP, RELOG, check, plan, run, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402


def converted(name, data, status=0):
    """Converts a file. Returns the run, the losses, and the events without those of processes."""
    write(name + ".data", data)
    done = run(RELOG, "-f", "--embed=none", name + ".data", "-o", name + ".ptl")
    check(f"{name}: is read", done.returncode == status, done)
    losses = json.loads(run(DUMP, "info", "--json", name + ".ptl").stdout)["losses"]
    events = [json.loads(line) for line in run(DUMP, "events", "--json", name + ".ptl").stdout.splitlines()]
    return done, losses, events


def unfinished_psbs():
    """A PSB+ has an end: packets without PSBEND are not read again for each PSB."""
    file = perf_file.File()
    file.packets((b"\x02\x82" * 8 + b"\0") * 65536, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    converted("psbs", file.bytes())
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check("PSBs without PSBEND: 1 MiB takes less than 10 s", spent < 10, spent)


unfinished_psbs()
plan()
