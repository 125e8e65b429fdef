#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A program changes the protection of its code between writing and executing: images that rules name stay.
import json
import os

from scratch_test import DUMP as dump, RECORD as record, RELOG as relog, check, plan, run, write

done = run(record, "-q", "-o", "wx.ptl", "--", os.path.join(os.environ["PTL_PROGRAMS"], "write_execute"))
check("the program is recorded", done.returncode == 0 and done.stdout.splitlines()[1:] == ["1000"], done.stdout + done.stderr)
base = int(done.stdout.split()[0], 16)


def lines(command, trace, *options):
    return [json.loads(line) for line in run(dump, command, "--json", *options, trace).stdout.splitlines()]


def code_events(trace):
    """What the recorder reports about the memory, in order."""
    return [one["event"] for one in lines("events", trace) if int(one.get("fields", {}).get("ImageBase", "0"), 0) == base]


found = code_events("wx.ptl")
check("mprotect is a change of protection, not an end of the mapping",
      found == ["Image/Load"] + ["Image/Protect"] * 8 + ["Image/Unload"], found)
done = run(dump, "verify", "wx.ptl")
check("both engines decode all of it", done.returncode == 0 and "agree" in done.stdout, done.stdout + done.stderr)

write("name.rules", f'image process "write_execute" {{ base = {base:#x}; size = 0x1000; path = "/jit/code"; load = mapped; }}\n'.encode())
done = run(relog, "-f", "-q", "-o", "named.ptl", "--rules", "name.rules", "wx.ptl")
check("a rule names the memory", done.returncode == 0, done.stderr)
rows = {row["image"]: row["self_instructions"] for row in lines("report", "named.ptl", "--by", "image")}
check("all that ran there is of the image of the rule", rows.get("/jit/code") == 5 * 100 * 2 and "//anon" not in rows, rows)
check("nothing is missing", "gap" not in run(dump, "stats", "-q", "named.ptl").stderr and
      all(one.get("gaps", 0) == 0 for one in lines("stats", "named.ptl")), lines("stats", "named.ptl"))
images = [(one["path"], one["unloaded"] is not None) for one in lines("images", "named.ptl") if one["base"] == hex(base)]
check("the image ends with the mapping", images == [("/jit/code", True)], images)
plan()
