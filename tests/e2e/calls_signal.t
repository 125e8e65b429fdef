#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Handlers of signals that make the kernel go on elsewhere: what follows is not inside of the handler.
import json
import os

from scratch_test import DUMP as dump, RECORD as record, check, plan, run

done = run(record, "-q", "-o", "signal.ptl", "--", os.path.join(os.environ["PTL_PROGRAMS"], "signal_elsewhere"))
check("the program is recorded", done.returncode == 0 and done.stdout == "225\n", done.stdout + done.stderr)
lines = [json.loads(line) for line in run(dump, "calls", "--json", "--no-fold", "signal.ptl").stdout.splitlines()]
lines = [line for line in lines if line["type"] == "call"]
handlers = [line for line in lines if line["function"] == "on_invalid"]
check("each handler ends", len(handlers) == 3 and all(line["marks"] == ["signal"] for line in handlers), handlers)
check("handlers call nothing but the code that goes back", all(line["instructions"] == line["self_instructions"] for line in handlers),
      handlers)
names = ("main", "probe", "probe_by_call", "on_invalid", "stand_in", "printf")
start = next(line["depth"] for line in lines if line["function"] == "main")
tree = [(line["depth"] - start, line["function"]) for line in lines if line["function"] in names]
check("calls lie in who made them", tree == [(0, "main"), (1, "probe"), (2, "on_invalid"), (1, "probe"), (2, "on_invalid"),
                                             (1, "probe_by_call"), (2, "on_invalid"), (2, "stand_in"), (1, "printf")], tree)
check("only what the program ended in is unfinished",
      not any("unfinished" in line["marks"] for line in lines if line["function"] in names[1:]), lines[-9:])
plan()
