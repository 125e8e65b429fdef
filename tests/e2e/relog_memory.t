#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog stays within its memory whatever it reads: each run may allocate 256 MiB, stacks of threads included.
import os
import re
import resource

from scratch_test import DUMP, RELOG, check, path, plan, run, write

MANY = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_many")

LIMIT = 256 << 20
BLOB = 300 << 20


def bounded(*arguments, limit=LIMIT):
    return run(RELOG, *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))


# Code that is larger than the bound: a sparse file, which takes no place and no time on the disk.
with open(path("code.raw"), "wb") as file:
    file.truncate(BLOB)
write("code.map", f"0x10000000 {BLOB} 0\n")
write("code.pt", bytes([0x02, 0x82] * 8 + [0x02, 0x23]) + bytes(4096))
got = bounded("--pt", "code.pt", "--memory", "code.raw", "--memory-map", "code.map", "-o", "code.ptl")
check("raw code is taken that is larger than memory may be", got.returncode == 0 and
      os.path.getsize(path("code.ptl")) < BLOB // 8, got)
for name, arguments in (("copied", ["code.ptl"]), ("compressed again", ["code.ptl", "--recompress", "1"]),
                        ("merged, where both inputs have it", ["code.ptl", "code.ptl"]),
                        ("redacted", ["code.ptl", "--redact", "all"])):
    got = bounded("-q", *arguments, "-f", "-o", "out.ptl")
    check(f"so it is {name}", got.returncode == 0 and os.path.getsize(path("out.ptl")) > 0, got)

# Many inputs at once, each a machine of its own: together they take no more than two.
write("all.rules", "on any { set event.level = 3; }\n")
got = bounded("-q", *(["code.ptl"] * 64), "--rules", "all.rules", "--drop-code", "-f", "-o", "out.ptl", limit=64 << 20)
check("64 inputs are merged, every event rewritten", got.returncode == 0, got)
shown = run(DUMP, "info", "--json", "out.ptl").stdout
check("all of them are there", shown.count('"xxh128"') >= 64, shown[:2000])

# Very many things of a kind: a million of each with PTL_SOAK, or as many as passed the bound before they were few bytes.
# Buffers of the output wait in a queue of their own: the bound is that of the issue, and honest inputs are not refused.
HALF = ["--time", "0.0002s.."]
ALL = [["--rules", "all.rules"], ["--pid", "1"], HALF]
for kind, few, runs in (("images", 400000, [["--pid", "1"], HALF]), ("trees", 200000, [["--pid", "1"]]),
                        ("threads", 300000, [["--pid", "1"]]), ("blobs", 400000, [["many.ptl"]]),
                        ("plugins", 150000, [["--pid", "1"]]), ("buffers", 300000, [["many.ptl"], HALF]),
                        ("event-streams", 3000, [["many.ptl", "--rules", "all.rules"]]),
                        ("streams", 50000, [["many.ptl"]])):
    soak = "PTL_SOAK" in os.environ
    count = few if not soak else 20000 if kind.endswith("streams") else 1000000
    made = run(MANY, kind, str(count), "many.ptl")
    for arguments in [[], *ALL, ["--redact", "all"], ["--recompress", "1"], *runs] if soak else runs:
        got = bounded("-q", "many.ptl", *arguments, "-f", "-o", "out.ptl")
        refused = got.returncode == 4 and "there are too many" in got.stderr
        check(f"{count} {kind}: {' '.join(arguments) or 'copied'}", made.returncode == 0 and
              (got.returncode == 0 or (soak and refused)), made, got)

# What cannot be kept is refused in time, and the message says what there are too many of, of which file, and what to do.
run(MANY, "schemas", "100000", "many.ptl")
got = bounded("-q", "many.ptl", "many.ptl", "-o", "none.ptl")
found = re.search(r"many\.ptl: there are too many schemas: to remember more than (\d+) of them, and all else that the "
                  r"input has, would take more than 192 MiB\n  try: a larger --memory-limit, or", got.stderr)
check("more than is kept is refused", got.returncode == 4 and found and int(found[1]) > 1000 and
      not os.path.exists(path("none.ptl")), got)
got = run(RELOG, "-q", "many.ptl", "many.ptl", "--memory-limit", "1G", "-o", "all.ptl")
check("with a larger bound it is not", got.returncode == 0, got)
got = run(RELOG, "many.ptl", "--memory-limit", "64M", "-o", "none.ptl")
check("a smaller bound is none", got.returncode == 2 and "at least 256M" in got.stderr, got)

plan()
