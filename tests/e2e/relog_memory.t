#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog stays within its memory whatever it reads: each run may allocate 256 MiB, stacks of threads included.
import os
import resource

from scratch_test import DUMP, RELOG, check, path, plan, run, write

LIMIT = 256 << 20
BLOB = 300 << 20


def bounded(*arguments):
    return run(RELOG, *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT)))



# Code that is larger than the bound: a sparse file, which takes no place and no time on the disk.
with open(path("code.raw"), "wb") as file:
    file.truncate(BLOB)
write("code.map", f"0x10000000 {BLOB} 0\n")
write("code.pt", bytes([0x02, 0x82] * 8 + [0x02, 0x23]) + bytes(4096))
got = bounded("--pt", "code.pt", "--memory", "code.raw", "--memory-map", "code.map", "-o", "code.ptl")
check("raw code is taken that is larger than memory may be", got.returncode == 0 and
      os.path.getsize(path("code.ptl")) < BLOB // 8, got)
for name, arguments in (("copied", ["code.ptl"]), ("compressed anew", ["code.ptl", "--recompress", "1"]),
                        ("merged, where both inputs have it", ["code.ptl", "code.ptl"]),
                        ("redacted", ["code.ptl", "--redact", "all"])):
    got = bounded("-q", *arguments, "-f", "-o", "out.ptl")
    check(f"so it is {name}", got.returncode == 0 and os.path.getsize(path("out.ptl")) > 0, got)

# Many inputs at once, each a machine of its own.
write("all.rules", "on any { set event.level = 3; }\n")
got = bounded("-q", *(["code.ptl"] * 64), "--rules", "all.rules", "--drop-code", "-f", "-o", "out.ptl")
check("64 inputs are merged, every event rewritten", got.returncode == 0, got)
shown = run(DUMP, "info", "--json", "out.ptl").stdout
check("all of them are there", shown.count('"xxh128"') >= 64, shown[:2000])

plan()
