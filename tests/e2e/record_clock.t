#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The wall clock is set while ptl-record records: the times of the trace go on, in order, and it says what happened. Not the
# machine's clock is set, but that of ptl-record, by a library.
import datetime
import json
import os
import subprocess
import time

from scratch_test import DUMP, RECORD, check, output, path, plan, scratch

PROGRAMS = os.environ["PTL_PROGRAMS"]
HOUR = 3600


def set_clock(seconds):
    """From now on, at once: a reader finds the one or the other."""
    with open(path("new"), "w", encoding="ascii") as file:
        file.write(str(seconds))
    os.rename(path("new"), path("clock"))


def record(clock, name):
    """Three events; before the second one the clock is set forth by an hour, and before the third one back by three."""
    words = ["count=1", "say=first", "line", "count=1", "say=second", "line", "count=1"]
    environment = {**os.environ, "PTL_TEST_CLOCK": path("clock"), "LD_PRELOAD": "libclock.so", "LD_LIBRARY_PATH": PROGRAMS,
                   "PTL_SESSION_DIR": path("providers")}
    process = subprocess.Popen([RECORD, "-o", name, "--source=none", f"--clock={clock}", "-p", "PTL-Test-Writer", "--",
                                os.path.join(PROGRAMS, "provider_writer"), *words], cwd=scratch, env=environment, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = []
    for word, seconds in (("first", HOUR), ("second", -2 * HOUR)):
        check(f"--clock={clock}: the program has written the {word} event", process.stdout.readline() == word + "\n")
        set_clock(seconds)
        said.append(process.stderr.readline())
        process.stdin.write("\n")
        process.stdin.flush()
    _, rest = process.communicate()
    check(f"--clock={clock}: it ends as it should", process.returncode == 0 and "wall clock" not in rest, process.returncode, rest)
    return said


def seconds_of(text):
    """By how many seconds the clock went, as the text says; both clocks were not read at the same moment."""
    words = text.split()
    return round(float(words[words.index("by") + 1])) * (-1 if "back" in words else 1) if "wall clock went" in text else None


for clock in ("wall", "real"):
    set_clock(0)
    begin = time.time()
    trace = f"{clock}.ptl"
    said = record(clock, trace)
    check(f"--clock={clock}: each step is said", [seconds_of(line) for line in said] == [HOUR, -3 * HOUR], *said)
    events = [json.loads(line) for line in output(DUMP, "events", "--json", trace).splitlines()]
    notes = [event for event in events if event["provider"] == "PTL-Record"]
    check(f"--clock={clock}: and is in the trace", [seconds_of(json.dumps(note["fields"])) for note in notes] == [HOUR, -3 * HOUR],
          *notes)
    order = [event["event"] if event["event"] == "Number" else "step" for event in events
             if event in notes or event["event"] == "Number"]
    check(f"--clock={clock}: between the events that it was between", order == ["Number", "step", "Number", "step", "Number"], order)
    times = [event["time"] for event in events]
    check(f"--clock={clock}: times go on", times == sorted(times), times)
    shown = [line for line in output(DUMP, "events", "--absolute", trace).splitlines() if "Number" in line]
    days = [datetime.datetime.fromisoformat(line[:26] + "+00:00").timestamp() for line in shown]
    check(f"--clock={clock}: times of day are by the clock of the start", len(days) == 3 and
          abs(days[0] - begin) < HOUR and days[2] - days[0] < HOUR, begin, *shown)
plan()
