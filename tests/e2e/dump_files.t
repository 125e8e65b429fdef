#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Traces without code: it is taken from the files that were mapped, and from no others.
import json
import os
import shutil

from scratch_test import DUMP as dump, RECORD as record, RELOG as relog, check, plan, run, scratch


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
