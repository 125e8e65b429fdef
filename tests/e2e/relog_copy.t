#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog copies traces: the content stays, provenance is added; whole, truncated, damaged, live, through pipes.
import functools
import hashlib
import json
import os
import shlex
import subprocess
import time

import xxhash

from scratch_test import DUMP, RECORD, RELOG, check, plan, path, read, scratch, write, run as run_text

run = functools.partial(run_text, text=False)
PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "fork_no_exec")


def shown(name, *arguments):
    got = run(DUMP, *arguments, name)
    return got.stdout if got.returncode in (0, 1) else got.stderr + b"(failed)"


def content(name):
    """What ptl-dump shows of everything a trace holds, but for its history."""
    return {" ".join(view): hashlib.sha256(shown(name, *view)).hexdigest()
            for view in (("events", "--json"), ("packets", "--json"), ("images", "--json"), ("processes", "--json"),
                         ("stats", "--hash", "--json"), ("flow",))}


def losses(name):
    info = json.loads(run(DUMP, "info", "--json", name).stdout or "{}")
    return info.get("losses", [])


def is_reported(got, name):
    """Exit status 3 and loss records if parts are damaged, 0 if at most the index is missing; and always a word."""
    kinds = [loss.get("kind") for loss in losses(name)]
    return got.returncode == (3 if set(kinds) - {"recording ended early"} else 0) and \
        bool(kinds) == (b"warning" in got.stderr)


got = run(RECORD, "-q", "-o", "first.ptl", "--", PROGRAM)
check("a trace is recorded", got.returncode == 0, got)
first = read("first.ptl")

got = run(RELOG, "first.ptl", "-o", "second.ptl")
check("it is copied, without a word", got.returncode == 0 and got.stdout == got.stderr == b"", got)
want = content("first.ptl")
check("the content is the same", content("second.ptl") == want, want, content("second.ptl"))
check("the input is as it was", read("first.ptl") == first)
info = json.loads(run(DUMP, "info", "--json", "second.ptl").stdout or "{}")
steps = info.get("provenance", [])
check("a step is added to its history, with the input's hash", [s.get("tool") for s in steps] ==
      ["ptl-record", "ptl-relog"] and steps[-1]["inputs"] ==
      [{"name": "first.ptl", "size": len(first), "xxh128": xxhash.xxh3_128(first).hexdigest()}] and
      shlex.split(steps[-1]["command"])[1:] == ["first.ptl", "-o", "second.ptl"], steps)

for option, wanted in ((("--hash=sha256",), {"sha256": hashlib.sha256(first).hexdigest()}), (("--no-hash",), {})):
    run(RELOG, "-f", "first.ptl", "-o", "hashed.ptl", *option)
    steps = json.loads(run(DUMP, "info", "--json", "hashed.ptl").stdout or "{}").get("provenance", [])
    check(f"the hash is as {option[0]} says", steps and steps[-1]["inputs"] ==
          [{"name": "first.ptl", "size": len(first), **wanted}] and content("hashed.ptl") == want, steps[-1:])

run(RELOG, "second.ptl", "-o", "third.ptl")
check("so it is for a copy of the copy", content("third.ptl") == want)

with open(path("first.ptl"), "rb") as file:
    cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
    with open(path("piped.ptl"), "wb") as out:
        piped = subprocess.run([RELOG, "-", "-o", "-"], stdin=cat.stdout, stdout=out, stderr=subprocess.PIPE, timeout=120)
check("through pipes too", piped.returncode == 0 and content("piped.ptl") == want, piped)

got = run(RELOG, "first.ptl", "-o", "first.ptl", "--force")
check("the input is not the output, not even with --force", got.returncode == 2 and
      b"first.ptl is an input and the output" in got.stderr and read("first.ptl") == first, got)

def hashed(name, data):
    """Whether the history of a trace names its input by the right hash."""
    step = json.loads(run(DUMP, "info", "--json", name).stdout or "{}").get("provenance", [{}])[-1]
    wanted = {"size": len(data), "xxh128": xxhash.xxh3_128(data).hexdigest()}
    return [{key: value for key, value in one.items() if key != "name"} for one in step.get("inputs", [])] == [wanted]


# Truncated anywhere: a complete trace comes out, or none where not even the header is there.
cuts = sorted({0, 1, 7, 15, 63, *range(100, len(first), max(1, len(first) // 40)), len(first) - 1})
wrong = []
for cut in cuts:
    write("cut.ptl", first[:cut])
    got = run(RELOG, "cut.ptl", "-o", "out.ptl", "--force")
    if got.returncode == 3 and cut < 200 and got.stderr.startswith(b"ptl-relog: error: cut.ptl"):
        wrong += [(cut, got)] if os.path.exists(path("out.ptl")) else []
        continue
    again = run(RELOG, "out.ptl", "-o", "again.ptl", "--force")
    if not is_reported(got, "out.ptl") or again.returncode != 0 or not hashed("out.ptl", first[:cut]):
        wrong.append((cut, got, again, losses("out.ptl")))
check(f"truncated in {len(cuts)} places: a complete trace that says what is missing", not wrong, wrong[:2])

# A flipped bit costs at most one buffer, and is reported.
wrong, reported = [], 0
for i in range(60):
    at = (i * 7919 + 100) % len(first)
    write("flipped.ptl", first[:at] + bytes([first[at] ^ 1 << i % 8]) + first[at + 1:])
    got = run(RELOG, "flipped.ptl", "-o", "out.ptl", "--force")
    again = run(RELOG, "out.ptl", "-o", "again.ptl", "--force")
    reported += got.returncode == 3
    if not is_reported(got, "out.ptl") or again.returncode != 0 or not hashed("out.ptl", read("flipped.ptl")):
        wrong.append((at, got, again, losses("out.ptl")))
check("a flipped bit in 60 places: reported, and the rest is kept", not wrong and reported > 30, reported, wrong[:2])

# A trace that is being written, until there is a file of this name.
spin = subprocess.Popen([RECORD, "-q", "-o", "live.ptl", "--flush-interval=50ms", "--", "/bin/sh", "-c",
                         "until [ -e enough ]; do :; done"], cwd=scratch)
got, instructions, until = None, 0, time.monotonic() + 120
while not instructions and (got is None or got.returncode in (0, 3)) and time.monotonic() < until:
    time.sleep(0.05)
    if os.path.exists(path("live.ptl")):
        got = run(RELOG, "-f", "live.ptl", "-o", "snapshot.ptl")
        instructions = json.loads(run(DUMP, "stats", "--json", "snapshot.ptl").stdout or "{}").get("instructions", 0)
write("enough", b"")
spin.wait(timeout=120)
check("a trace that is still being written gives a snapshot", got is not None and got.returncode in (0, 3) and instructions > 0, got)

plan()
