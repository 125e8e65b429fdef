#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Clocks that a user relates: machines made of namespaces, whose monotonic clocks are days apart, which is the truth. Offsets,
# anchors, the check of causes and effects, and names of machines.
import json
import os

from scratch_test import DUMP, RECORD, RELOG, check, output, plan, run, scratch, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
APART = {"north": 0, "south": 500000, "west": 900}


def record(machine, count, boot=None):
    """As a machine of this name would."""
    boot_file = f"{scratch}/boot-{machine}"
    with open(boot_file, "w", encoding="ascii") as file:
        file.write(boot or f"{len(machine)}aaaaaa{list(APART).index(machine)}-1111-2222-3333-444444444444\\n".replace("\\n", "\n"))
    script = (f"hostname {machine} && mount --bind {boot_file} /proc/sys/kernel/random/boot_id && exec {RECORD} -q -f --source none "
              f"-p PTL-Test-Writer -o {machine}.ptl -- {os.path.join(PROGRAMS, 'provider_writer')} count={count}")
    return run("unshare", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--time", "--monotonic",
               str(APART[machine]), "/bin/sh", "-c", script)


for machine, count in (("north", 20), ("south", 20), ("west", 30)):
    got = record(machine, count)
    if got.returncode and machine == "north":
        skip("machines", f"they cannot be made of namespaces here: {got.stderr.strip()[:100]}")
        plan()
        raise SystemExit(0)
    check(f"{machine} records", got.returncode == 0, got)


def info(name):
    return json.loads(output(DUMP, "info", "--json", name))


def times(name):
    """Times of the clock, by machine and number of the event, and all numbers in order."""
    start = info(name)["clock"]["start_time"]
    events = [json.loads(line) for line in output(DUMP, "events", "--json", "-e", "Number", name).splitlines()]
    return {(event["pid"] // 10000000, event["fields"]["index"]): start + event["time"] for event in events}


NORTH, SOUTH, WEST = (times(f"{machine}.ptl") for machine in APART)


def shift(name, machine=1):
    return info(name)["other_machines"][machine - 1]["time_shift"]


output(RELOG, "-q", "north.ptl", "south.ptl", "-o", "wall.ptl")
WALL = shift("wall.ptl")

# ---- offsets -----------------------------------------------------------------------------------------------------------

for text, nanoseconds in (("+1.234s", 1234000000), ("-20ms", -20000000), ("7us", 7000), ("+0s", 0)):
    for name in ("south.ptl", "south"):
        got = run(RELOG, "-f", "north.ptl", "south.ptl", "--offset", f"{name}={text}", "-o", "offset.ptl")
        machine = info("offset.ptl")["other_machines"][0]
        check(f"--offset {name}={text}", got.returncode == 0 and machine["time_shift"] == WALL + nanoseconds and
              machine["shift_uncertainty"] == 0 and "south.ptl: its clock is related to that of north.ptl by hand" in got.stderr,
              got, machine)
        found = times("offset.ptl")
        check(f"--offset {name}={text}: times of the first machine stay", {key: found[0, key[1]] for key in NORTH} == NORTH)
        check(f"--offset {name}={text}: times of the second machine", all(found[1, number] == SOUTH[0, number] + WALL + nanoseconds
                                                                       for _, number in SOUTH))
shown = output(DUMP, "info", "offset.ptl")
check("info shows the shift and the command line", "times shifted by" in shown and "--offset south=+0s" in shown, shown)
output(RELOG, "-q", "-f", "north.ptl", "south.ptl", "west.ptl", "--offset", "south=-1s", "--offset", f"{scratch}/west.ptl=+1s".replace(scratch + "/", ""),
       "-o", "three.ptl")
output(RELOG, "-q", "-f", "north.ptl", "south.ptl", "west.ptl", "-o", "three-wall.ptl")
check("two offsets", [shift("three.ptl", n) - shift("three-wall.ptl", n) for n in (1, 2)] == [-10**9, 10**9])

# ---- anchors -----------------------------------------------------------------------------------------------------------

got = run(RELOG, "-f", "north.ptl", "south.ptl", "--anchor", "index == 7", "-o", "anchor.ptl")
machine = info("anchor.ptl")["other_machines"][0]
found = times("anchor.ptl")
check("an anchor", got.returncode == 0 and found[0, 7] == found[1, 7] and machine["time_shift"] == NORTH[0, 7] - SOUTH[0, 7] and
      "south.ptl: 1 anchor; the largest deviation is 0.000000000 s" in got.stderr, got, machine)
check("the anchor is exact", machine["shift_uncertainty"] == 0)
got = run(RELOG, "-f", "north.ptl", "south.ptl", "--anchor", "index < 20", "-o", "anchors.ptl")
machine = info("anchors.ptl")["other_machines"][0]
differences = sorted(NORTH[0, n] - SOUTH[0, n] for n in range(20))
check("many anchors: the median, and the largest deviation", machine["time_shift"] == differences[10] and
      machine["shift_uncertainty"] == max(abs(value - differences[10]) for value in differences), got, machine, differences)
check("many anchors: info shows the uncertainty", "+/-" in output(DUMP, "info", "anchors.ptl") or machine["shift_uncertainty"] == 0)
got = run(RELOG, "-q", "-f", "north.ptl", "south.ptl", "--anchor", "index == 7", "--offset", "south=+1s", "-o", "both.ptl")
check("an offset replaces an anchor", shift("both.ptl") == WALL + 10**9, got)

# ---- the order of causes and effects -----------------------------------------------------------------------------------

got = run(RELOG, "-f", "north.ptl", "south.ptl", "--offset", "south=-3600s", "--order", "index < 5", "--then", "index >= 15", "-o",
          "order.ptl")
found = times("order.ptl")
causes, effects = (sorted(found[key] for key in found if chosen(key[1])) for chosen in (lambda n: n < 5, lambda n: n >= 15))
wrong = [number for number, pair in enumerate(zip(causes, effects), 1) if pair[1] < pair[0]]
check("the check counts the pairs of the output", got.returncode == 0 and len(wrong) == 0 and
      "all 10 pairs of events are in order" in got.stderr, got, wrong)
got = run(RELOG, "-f", "north.ptl", "south.ptl", "--order", "index == 19", "--then", "index == 3", "-o", "order.ptl")
found = times("order.ptl")
most = max(found[machine, 19] - found[machine, 3] for machine in (0, 1))
check("effects before causes are said", "2 of 2 pairs of events are out of order, the first is pair 1: "
      f"the effect comes up to {most / 1e9:.9f} s before the cause" in got.stderr, got, most)
got = run(RELOG, "-f", "north.ptl", "south.ptl", "--order", "index < 3", "--then", "index == 19", "-o", "order.ptl")
check("effects without causes are said", "6 events, and 2 of --then: the last 4 have no partner" in got.stderr, got)

# ---- names of machines -------------------------------------------------------------------------------------------------

output(RELOG, "-q", "-f", "north.ptl", "south.ptl", "--machine", "north=front", "--machine", "south.ptl=back end", "-o", "named.ptl")
named = info("named.ptl")
check("names of machines", named["machine"]["hostname"] == "front" and named["other_machines"][0]["hostname"] == "back end", named)
output(RELOG, "-q", "-f", "south.ptl", "--machine", "south=lonely", "-o", "lonely.ptl")
check("the name of one machine", info("lonely.ptl")["machine"]["hostname"] == "lonely")
check("a name changes nothing else", times("lonely.ptl") == SOUTH)

# ---- windows use the relation ------------------------------------------------------------------------------------------

output(RELOG, "-q", "-f", "north.ptl", "south.ptl", "--anchor", "index == 7", "--around", "index == 7", "--before", "1ns", "-o", "window.ptl",
       "--together")
check("a window of both machines", sorted(times("window.ptl")) == [(0, 7), (1, 7)], times("window.ptl"))

# ---- mistakes ----------------------------------------------------------------------------------------------------------

for title, arguments, text in (
        ("no such input", ("--offset", "east=1s"), "--offset: no input is called east"),
        ("the first input", ("--offset", "north=1s"), "north.ptl is the first input"),
        ("no time", ("--offset", "south"), "expected FILE=TIME"),
        ("an empty time", ("--offset", "south="), "expected FILE=TIME"),
        ("a time that is none", ("--offset", "south=soon"), "expected a time such as +1.5s"),
        ("two signs", ("--offset", "south=+-1s"), "expected a time such as +1.5s"),
        ("a thousand years", ("--offset", "south=8760000h"), "expected a time such as +1.5s"),
        ("no file", ("--offset", "=1s"), "expected FILE=TIME"),
        ("an anchor that no event is", ("--anchor", "index == 4000"), "0 events of south.ptl match, and 0 of north.ptl"),
        ("anchors without pairs", ("--anchor", "index > 10"), "they make no pairs"),
        ("a wrong anchor", ("--anchor", "index =="), "--anchor:1:"),
        ("--order alone", ("--order", "index == 1"), "--order 'CAUSE' needs --then"),
        ("--then alone", ("--then", "index == 1"), "--order 'CAUSE' needs --then"),
        ("a wrong effect", ("--order", "index == 1", "--then", "("), "--then:1:"),
        ("a long name", ("--machine", "south=" + "x" * 65), "at most 64 bytes"),
        ("a name for nothing", ("--machine", "east=x"), "--machine: no input is called east"),
        ("--follow", ("--follow", "--machine", "south=x"), "do not go with --follow")):
    got = run(RELOG, "north.ptl", "west.ptl" if "pairs" in title else "south.ptl", *arguments, "-o", "wrong.ptl")
    check(title, got.returncode == 2 and text in got.stderr and not os.path.exists(f"{scratch}/wrong.ptl"), got)
got = run(RELOG, "north.ptl", "--offset", "north=1s", "-o", "wrong.ptl")
check("an offset of one input", got.returncode == 2 and "relate several inputs, and there is one" in got.stderr, got)
output(RELOG, "-q", "-f", "north.ptl", "--time", "..1s", "-o", "part.ptl")
got = run(RELOG, "north.ptl", "part.ptl", "--offset", "part=1s", "-o", "wrong.ptl")
check("inputs with one clock", got.returncode == 2 and "part.ptl: its clock is that of north.ptl" in got.stderr, got)
plan()
