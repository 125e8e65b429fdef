#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A program with uprobes, of the recording or of other sessions, runs under the software source as without the uprobes. A loss says
# that they did not fire. Breakpoints that a program writes itself stay.
import json
import os

from scratch_test import DUMP as dump, RECORD as record, check, path, plan, run, skip

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "uprobed")
SUM = str(sum(3 * i + 1 + i + 5 for i in range(100))) + "\n"
WORDS = "uprobes do not fire in code that the software source translates"
HOW = ("-f", "-o", path("u.ptl"), "--source=software")


def traced(name, done, uprobes, said=SUM):
    """The program ended well, all its calls are in the flow, and uprobes are a loss."""
    check(f"{name}: the program runs as without", done.returncode == 0 and done.stdout == said, done)
    counts = {row["function"]: row["calls"] for row in
              map(json.loads, run(dump, "report", "-q", "--json", "u.ptl").stdout.splitlines()) if row.get("image") == PROGRAM}
    check(f"{name}: all calls are in the flow", counts.get("probed") == 100 and counts.get("across", 100) == 100, counts)
    losses = json.loads(run(dump, "info", "--json", "u.ptl").stdout).get("losses", [])
    hidden = [loss for loss in losses if loss["cause"] == WORDS]
    check(f"{name}: the uprobes are a loss", bool(hidden) == uprobes and len(losses) == len(hidden) and (WORDS in done.stderr) == uprobes,
          done, losses)
    check(f"{name}: engines agree", run(dump, "verify", "u.ptl").returncode == 0)


probes = [f"uprobe:{PROGRAM}:probed", f"uprobe:{PROGRAM}:across", f"uretprobe:{PROGRAM}:probed"]
works = run(record, "-f", "-o", "n.ptl", "--source=none", *(f"-e{probe}" for probe in probes), "--", PROGRAM)
if "software" not in run(record, "--help").stdout or run(record, *HOW, "--", "true").returncode:
    skip("uprobes under the software source", "the software source does not work here")
elif works.returncode:
    skip("uprobes under the software source", "this kernel has no uprobes, or this user may not use them")
else:
    count = sum(json.loads(line).get("provider") != "Kernel" for line in
                run(dump, "events", "--json", "n.ptl").stdout.splitlines())
    check("without translation, the uprobes fire", works.stdout == SUM and count == 300, works, count)
    traced("uprobes of the recording", run(record, *HOW, *(f"-e{probe}" for probe in probes), "--", PROGRAM), True)
    # The kernel writes breakpoints into every process that maps the file while anybody has the uprobe.
    traced("uprobes of another session", run(record, "-q", "-f", "-o", "other.ptl", "--source=none", *(f"-e{probe}" for probe in probes),
                                             "--", record, *HOW, "--", PROGRAM), True)
    traced("an int3 of the program's own", run(record, *HOW, f"-e{probes[0]}", "--", PROGRAM, "own"), False, "100\n")
    traced("no uprobes", run(record, *HOW, "--", PROGRAM), False)
plan()
