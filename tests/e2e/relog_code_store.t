#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Code stores: --detach-code, --attach-code and --code-store. The files that ran are gone, so code comes from nowhere else.
import hashlib
import json
import os
import shutil

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run

PROGRAMS = os.environ["PTL_PROGRAMS"]


def record(program, to):
    """A recording of a program whose file is gone then."""
    shutil.copy(os.path.join(PROGRAMS, program), path("gone-" + program))
    output(RECORD, "-q", "-o", to, "--", path("gone-" + program))
    os.unlink(path("gone-" + program))


def stats(trace, *options, **more):
    """Of all threads: instructions, gaps and a hash of the flow, in its order."""
    return json.loads(run(DUMP, "stats", "--json", "--hash", *options, trace, **more).stdout)


def gaps(trace, *options):
    return sum(thread["gaps"] for process in stats(trace, *options)["processes"] for thread in process["threads"])


def stored():
    return {os.path.join(folder, name) for folder, _, names in os.walk(path("store")) for name in names}


# A JIT's code is in no file at all.
record("jit", "a.ptl")
record("static_pie", "b.ptl")
for name in "a", "b":
    output(RELOG, "-q", f"{name}.ptl", "--detach-code", "store", "-o", f"{name}-less.ptl")
wrong = [file for file in stored()
         if hashlib.sha256(open(file, "rb").read()).hexdigest() != "".join(file.split(os.sep)[-2:])]
check("each piece is a file with the name of its hash", stored() and not wrong, wrong)
for name in "a", "b":
    whole = stats(f"{name}.ptl")
    small = os.path.getsize(path(f"{name}-less.ptl"))
    check(f"{name}: the output is smaller, and says where it has gaps", small < os.path.getsize(path(f"{name}.ptl")) and
          gaps(f"{name}-less.ptl") > gaps(f"{name}.ptl"), small)
    check(f"{name}: with the store, the flow is the same", stats(f"{name}-less.ptl", "--code-store", "store") == whole)
    check(f"{name}: and with the environment's",
          stats(f"{name}-less.ptl", env={**os.environ, "PTL_CODE_STORE": path("store")}) == whole)
    output(RELOG, "-q", f"{name}-less.ptl", "--attach-code", "store", "-o", f"{name}-again.ptl")
    check(f"{name}: brought back, it needs no store", stats(f"{name}-again.ptl") == whole)
    for words in ["stats"], ["report"]:
        got = run(DUMP, *words, f"{name}-less.ptl")
        check(f"{name}: {words[0]} says where code and names may be", "try: --code-store FOLDER" in got.stderr, got.stderr)
        got = run(DUMP, *words, f"{name}-less.ptl", "--code-store", "store")
        check(f"{name}: and not where it was told", "--code-store" not in got.stderr, got.stderr)
    report = run(DUMP, "report", f"{name}-less.ptl", "--code-store", "store").stdout
    check(f"{name}: names come from there too", report == run(DUMP, "report", f"{name}.ptl").stdout, report)
before = stored()
got = run(RELOG, "a.ptl", "--detach-code", "store", "-o", "twice.ptl")
check("the same once more adds nothing", stored() == before and f"it had {got.stderr.split()[1]} of them" in got.stderr, got)

# What is in the store is what its name says, or is not used.
kept = {file: open(file, "rb").read() for file in stored()}
for file, data in kept.items():
    with open(file, "wb") as changed:
        changed.write(bytes([data[0] ^ 1]) + data[1:])
check("changed pieces are not used", gaps("a-less.ptl", "--code-store", "store") == gaps("a-less.ptl") > gaps("a.ptl"))
got = run(RELOG, "a-less.ptl", "--attach-code", "store", "-o", "bad.ptl")
check("nor brought back", got.returncode == 3 and "not what its name says" in got.stderr and
      not os.path.exists(path("bad.ptl")), got)
for file, data in kept.items():
    with open(file, "wb") as changed:
        changed.write(data)
run(RELOG, "a.ptl", "--detach-code", "other", "-o", "other.ptl")
victim = next(os.path.join(folder, name) for folder, _, names in os.walk(path("other")) for name in names)
victim = victim.replace(path("other"), path("store"))
os.unlink(victim)
got = run(RELOG, "a-less.ptl", "--attach-code", "store", "-o", "part.ptl")
check("what is not there is counted", got.returncode == 0 and "1 piece of code" in got.stderr, got)
got = run(DUMP, "flow", "--code-store", "none", "a.ptl")
check("a folder that is not there is a mistake", got.returncode == 2 and "none" in got.stderr, got)
for name in "a.ptl", "a-less.ptl":
    got = run(RELOG, name, "--attach-code", "nowhere", "-o", "no.ptl")
    check(f"so it is for {name} written again", got.returncode == 2 and "--attach-code: there is no folder nowhere" in got.stderr and
          not os.path.exists(path("no.ptl")), got)
got = run(RELOG, "a.ptl", "--detach-code", "store", "--redact", "all", "-o", "no.ptl")
check("redaction comes first", got.returncode == 2 and "second run" in got.stderr, got)

plan()
