#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# testdata/examples/executor: decoders of ptl/decoder.h as a fuzzer uses them, with recorded packets and with ptl-record.
import glob
import os
import re

from scratch_test import BIN, RECORD, check, path, plan, run, skip, write

EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
EXECUTOR = os.path.join(EXAMPLES, "executor")
EDGES = os.path.join(EXAMPLES, "edges")


def loop():
    """A loop of DEC, JNE and RET, whose branch is taken three times, and not the fourth time."""
    write("loop.txt", "psb\nmode.exec 64\npsbend\ntip.pge 0x1000\ntnt tttn\ntip.pgd -\n")
    write("loop.code", bytes.fromhex("48ffc9 75fb c3"))
    got = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "-o", "loop.pt", "loop.txt")
    check("packets of a loop are made", got.returncode == 0, got.stderr)
    for pieces in ("1", "7", "1000"):
        got = run(EXECUTOR, "--exact", "--rounds", "3", "--pieces", pieces, "loop.pt", "0x1000", "loop.code")
        check(f"edges of a loop in pieces of {pieces} bytes", sorted(got.stdout.splitlines()) == ["1000 1000 3", "1000 1005 1"] and
              "new" not in got.stderr and " 0 gaps" in got.stderr, got)
    got = run(EXECUTOR, "--rounds", "3", "loop.pt", "0x1000", "loop.code")
    check("edges of a loop in a bitmap", got.stdout == "2\n", got)
    got = run(EXECUTOR, "loop.pt", "0x1000", "none.code")
    check("code that is not there is a failure", got.returncode == 1 and got.stderr, got)
    for wrong in ((), ("--rounds", "0", "a", "b", "c"), ("--source", "software")):
        got = run(EXECUTOR, *wrong)
        check(f"usage: {' '.join(wrong) or 'no arguments'}", got.returncode == 2 and "usage" in got.stderr, got)


def real_traces():
    traces = sorted(glob.glob(os.environ.get("PTL_SHARED_TRACES", "") + "/*/expected.txt"))
    if not traces:
        skip("traces of real CPUs", "there are none")
    for expected in traces:
        folder = os.path.dirname(expected)
        name = os.path.basename(folder)
        with open(expected, encoding="ascii") as file:
            want = dict(line.split() for line in file if line.strip())
        with open(folder + "/memory.map", encoding="ascii") as file:
            ranges = [line.split() for line in file if line.strip() and line[0] != "#"]
        if len(ranges) != 1 or int(ranges[0][2], 0):
            continue
        files = (folder + "/trace.pt", ranges[0][0], folder + "/memory.raw")
        edges = sorted(run(EDGES, *files).stdout.splitlines())
        for options in (("--rounds", "20"), ("--pieces", "777"), ("--rounds", "5", "--pieces", "65536")):
            got = run(EXECUTOR, "--exact", *options, *files)
            check(f"{name}, {' '.join(options)}: the edges of ptl_flow, and libipt's number of instructions",
                  len(edges) > 1000 and sorted(got.stdout.splitlines()) == edges and
                  got.stderr.startswith(want["instructions"] + " instructions") and "new" not in got.stderr, got.stderr)


def recorded():
    os.environ["PATH"] = os.path.dirname(RECORD) + ":" + os.environ["PATH"]
    got = run(EXECUTOR, "--exact", "--rounds", "3", "--source", "software", "--", "/bin/true")
    found = re.match(r"(?:round .*\n)*(\d+) instructions, (\d+) blocks, 0 gaps", got.stderr)
    check("a program under ptl-record: all flow is decoded", got.returncode == 0 and found and int(found[1]) > 10000 and
          len(got.stdout.splitlines()) > 500, got.stderr)
    check("no trace is left behind", not glob.glob(path("executor-*.ptl")))
    got = run(EXECUTOR, "--source", "steam", "--", "/bin/true")
    check("a source that is not there", got.returncode == 1, got)


loop()
real_traces()
recorded()
plan()
