#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Names, lines and inlined functions are read when a thread first asks for them: whatever the number of threads, every byte of output
# is the same. make check-threads runs this under ThreadSanitizer.
import os

from scratch_test import DUMP, RECORD, check, path, plan, run

PROGRAMS = os.environ["PTL_PROGRAMS"]
PRINTED = (("report",), ("report", "--by", "line"), ("report", "--by", "inline"), ("graph", "main"), ("annotate", "main"),
           ("coverage", "--format", "lcov"), ("flow", "--level", "insn", "--source"))
EXPORTED = (("flamegraph",), ("speedscope",), ("callgrind",), ("pprof",), ("autofdo",), ("bolt",), ("html",))


def content(command, jobs):
    """Exit status, errors and output, of which some is no text."""
    out = path("out")
    exported = command in EXPORTED
    done = run(DUMP, *command, "-q", f"-j{jobs}", *(("-f", "-o", out) if exported else ()), "names.ptl")
    if not exported:
        return done.returncode, done.stderr, done.stdout.encode()
    with open(out, "rb") as file:
        return done.returncode, done.stderr, file.read()


for program in ("inlined", "overloads"):
    # Many segments, so that several threads ask for the same names at once.
    run(RECORD, "-q", "-f", "-o", "names.ptl", "--psb-period", "2K", "--", os.path.join(PROGRAMS, program))
    for command in PRINTED + EXPORTED:
        one, four = content(command, 1), content(command, 4)
        check(f"{program}: {' '.join(command)}", one == four and one[0] == 0 and len(one[2]) > 0, one[:2], four[:2], len(one[2]),
              len(four[2]))
plan()
