#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Traces without code: it is taken from the files that were mapped, and from no others.
import json
import os
import shutil

from scratch_test import DUMP as dump, RECORD as record, RELOG as relog, check, plan, run, scratch, skip, without_randomisation


def stats(trace):
    return json.loads(run(dump, "stats", "--json", "--hash", trace).stdout)


def flow(trace):
    """What was executed; process and thread have other numbers each time."""
    return run(dump, "flow", trace).stdout.splitlines()[1:]


program = os.path.join(scratch, "program")
shutil.copy(os.path.join(os.environ["PTL_PROGRAMS"], "branches"), program)
for embed in ("none", "symbols"):
    run(record, "-q", "--clock=virtual", "--embed=" + embed, "-o", embed + ".ptl", "--", program)
whole = stats("symbols.ptl")
check("a trace with its code decodes", whole["instructions"] > 1000 and not whole["gaps"], whole)
sizes = [os.path.getsize(os.path.join(scratch, name + ".ptl")) for name in ("none", "symbols")]
check("--embed=none: the trace is small", sizes[0] * 4 < sizes[1], sizes)
check("--embed=none: the flow is that of a trace with its code, names and all",
      flow("none.ptl") == flow("symbols.ptl") and any("main" in line for line in flow("none.ptl")),
      *flow("none.ptl")[:5])
images = [json.loads(line) for line in run(dump, "images", "--json", "none.ptl").stdout.splitlines()]
check("--embed=none: images have the hash of their code, and say that it is elsewhere",
      images and all(image["code"] and not image["code_stored"] for image in images if image["path"] == program), images)
done = run(relog, "-q", "--drop-code", "symbols.ptl", "-o", "dropped.ptl")
check("ptl-relog --drop-code: the same", done.returncode == 0 and flow("dropped.ptl") == flow("symbols.ptl"),
      done.stderr, *flow("dropped.ptl")[:5])
# The vdso's code is in no file, and elsewhere in each process.
with open(os.path.join(scratch, "vdso.c"), "w", encoding="ascii") as file:
    file.write("#define _GNU_SOURCE\n#include <sched.h>\nint main(void) { unsigned cpu, node; return getcpu(&cpu, &node); }\n")
run("gcc", "-o", "vdso", "vdso.c")
still = without_randomisation()
for name, before, options in (("kept", still, ()), ("again", (), ()), ("bare", still, ("--embed=none",))):
    run(*before, record, "-q", *options, "-o", name + ".ptl", "--", "./vdso")
run(relog, "-q", "--drop-code", "kept.ptl", "-o", "bared.ptl")
images = [json.loads(line) for line in run(dump, "images", "--json", "kept.ptl").stdout.splitlines()]
if any(image["path"] == "[vdso]" for image in images):
    check("the vdso's code is kept without the code of files", all(
        stats(name + ".ptl")["instructions"] == stats("kept.ptl")["instructions"] and not stats(name + ".ptl")["gaps"] for name in ("bare", "bared")),
          stats("bare.ptl"), stats("bared.ptl"))
    done = run(dump, "diff", "--ignore", "str*", "kept.ptl", "again.ptl")
    check("the vdso has the same addresses in all processes", done.returncode == 0 and "[vdso]" in run(dump, "flow", "kept.ptl").stdout, done)
else:
    skip("the vdso", "this kernel maps none")

with open(program, "r+b") as file:
    file.seek(0x1100)
    byte = file.read(1)
    file.seek(0x1100)
    file.write(bytes([byte[0] ^ 1]))
changed = stats("none.ptl")
check("a file that was changed is not taken: its code is missing, and said to be",
      changed["gaps"] and changed["instructions"] < whole["instructions"], changed["gaps"])
os.unlink(program)
check("a file that is gone: the same", stats("none.ptl")["gaps"] == changed["gaps"])
check("a trace with its code does not care", stats("symbols.ptl") == whole)
plan()
