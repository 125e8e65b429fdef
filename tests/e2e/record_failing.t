#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Allocations and writes of the recorder fail, each once: the trace is complete, or says that it is not. PTL_SOAK tries all.
import json
import os
import random
import re
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from failing_test import CASES, Recorder
from record_test import BIN, SCRATCH, dump, expect, expect_equal, main, path, run, start, DUMP

TRIES = 60  # of each case and kind
SEED = int(os.environ.get("PTL_FAILING_SEED") or random.SystemRandom().randrange(1 << 32))


def numbers(generator, count):
    """Which calls are to fail: the last ones write the end of the trace, and are few."""
    if os.environ.get("PTL_SOAK") or count <= TRIES:
        return range(1, count + 2)
    return sorted(generator.sample(range(1, count - 20), TRIES - 20)) + list(range(count - 20, count + 1))


def one_of(case):
    def test():
        recorder, generator = Recorder(BIN, SCRATCH), random.Random(SEED)
        counts, done = recorder.count(case)
        expect(counts, done.stderr)
        expect(counts["ALLOCATION"] > 100 and counts["WRITE"] > 5, counts)
        for kind, in_a_row in (("ALLOCATION", 1), ("WRITE", 1), ("WRITE", 2), ("ALLOCATION", 1 << 30)):
            for number in numbers(generator, counts[kind])[::3 if in_a_row > 2 else 1]:
                what = recorder.attempt(case, kind, number, in_a_row)
                expect(not what, f"PTL_FAILING_SEED={SEED}", what)
    test.__doc__ = f"each allocation and each write fails once: {case}"
    return test


def limited_memory():
    """a recorder that gets no more memory says that the trace is not complete, whatever the status of the command"""
    os.mkfifo(path("gate"))
    process = start("-o", "n.ptl", "--source=none", "--", "sh", "-c",
                    "echo go; read line <gate; i=0; while [ $i -lt 40 ]; do i=$((i+1)); perl -e '$0 = \"x\" x 100; fork for 1..6' & done; wait; exit 3")
    expect_equal(process.stdout.readline(), "go\n")
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.prlimit(process.pid, resource.RLIMIT_AS, (size, size))
    # Opened for both, so that nothing waits if the command is gone.
    with open(path("gate"), "r+b", buffering=0) as gate:
        gate.write(b"\n")
        _, err = process.communicate(timeout=120)
    if process.returncode == 3:
        expect("no losses" in err, err)
        return
    expect_equal(process.returncode, 4, err)
    expect("error: no memory for" in err and "no losses" not in err and "sh ended with status 3" in err, err)
    about = json.loads(dump("info", "--json", "n.ptl", statuses=(0, 3)).splitlines()[0])
    expect_equal(about["complete"], False)
    shown = run(DUMP, "info", "n.ptl").stdout
    expect(re.search("an error ended the recording: no memory", shown), shown)


sys.exit(main([*map(one_of, CASES), limited_memory]))
