#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The Python module. The judge is what ptl-dump says of the same trace.
import collections
import json
import os
import sys
import uuid

from scratch_test import DUMP, RECORD, check, output, path, plan, run, skip

BUILT = os.path.join(os.path.dirname(os.environ["PTL_BIN"]), "python")
EXAMPLES = os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "bindings", "python", "examples")
sys.path.insert(0, BUILT)
sys.dont_write_bytecode = True
import ptl  # noqa: E402


def lines(*arguments):
    return [json.loads(line) for line in output(DUMP, *arguments).splitlines()]


def as_json(value):
    """As ptl-dump writes it, as far as that is without names of numbers."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, uuid.UUID):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def same(ours, theirs):
    """Numbers that are shown in hexadecimal are strings there."""
    if isinstance(theirs, str) and isinstance(ours, int) and not isinstance(ours, bool):
        return theirs.startswith("0x") and ours == int(theirs, 16)
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in theirs)
    return ours == theirs


TRACE = path("trace.ptl")
got = run(RECORD, "-q", "--clock=virtual", "-o", TRACE, "--", "/bin/sh", "-c", '"$0" & wait',
          os.path.join(os.environ["PTL_PROGRAMS"], "branches"))
check("two processes are recorded", got.returncode == 0, got.stderr)

# ---- reading -------------------------------------------------------------------------------------------------------------

trace = ptl.Trace(TRACE)
info = json.loads(output(DUMP, "info", "--json", TRACE))
start = trace.machine.start_time
check("size, machine and clock", (trace.size, trace.complete, trace.machine.hostname, trace.machine.clock) ==
      (info["size"], info["complete"], info["machine"]["hostname"], info["clock"]["name"]), trace.machine, info)
theirs = lines("events", "--json", TRACE)
ours = list(trace.events())
wrong = [(event, dump) for event, dump in zip(ours, theirs)
         if (event.time - start if event.time else 0, str(event.provider_guid), event.id, event.version, event.opcode, event.pid,
             event.tid) != tuple(dump.get(name) for name in ("time", "provider_guid", "id", "version", "opcode", "pid", "tid")) or
         event.provider != dump["provider"] or event.name != dump["event"]]
check("all events, with times and names", len(ours) == len(theirs) > 10 and not wrong, len(ours), len(theirs), *wrong[:2])
wrong = [(event.fields, dump["fields"]) for event, dump in zip(ours, theirs) if not same(as_json(event.fields), dump["fields"])]
check("the fields of all events", not wrong, *wrong[:2])
half = trace.machine.start_time + trace.machine.end_time >> 1
check("events of some times", [event.time for event in trace.events(first_time=half)] ==
      [event.time for event in ours if event.time >= half])
theirs = lines("processes", "--json", TRACE)
check("processes", [(one.pid, one.parent, one.start - start, one.end - start, one.command_line, one.wait_status)
                    for one in trace.processes()] ==
      [(one["pid"], one["parent_pid"], one["start"], one["end"], one["command_line"], one["wait_status"]) for one in theirs],
      trace.processes(), theirs)

# ---- flow ----------------------------------------------------------------------------------------------------------------

flow = trace.flow()
theirs = lines("flow", "--json", TRACE)
blocks = [(one["pid"], one["tid"], int(one["ip"], 16), one["instructions"], one["size"], one.get("image", "")) for one in theirs
          if one["type"] == "block"]
ours = list(flow.blocks())
check("all blocks in order", len(blocks) > 1000 and blocks ==
      [(one.pid, one.tid, one.ip, one.instructions, one.size, flow.image(one.image)) for one in ours], len(blocks), len(ours))
items = list(flow)
check("events between them", [(one["type"], one["tid"]) for one in theirs] ==
      [("block" if isinstance(one, ptl.Block) else one.kind, one.tid) for one in items], len(theirs), len(items))
check("blocks of one thread", list(trace.flow(tids=[ours[-1].tid]).blocks()) == [one for one in ours if one.tid == ours[-1].tid])
branches = [(one["tid"], int(one["from"]["ip"], 16), int(one["to"]["ip"], 16), one["branch"] == "indirect-call")
            for one in lines("flow", "--json", "--level", "branch", TRACE)
            if one["type"] == "branch" and one["branch"] in ("call", "indirect-call")]
calls = list(flow.call_instructions())
check("call instructions", len(branches) > 100 and branches == [(one.tid, one.from_ip, one.to_ip, one.indirect) for one in calls],
      len(branches), len(calls), [pair for pair in zip(branches, calls)][:2])
want = collections.Counter()
for one in lines("calls", "--json", "--no-fold", TRACE):
    if one["type"] == "call":
        want[(one["function"] or "", one["image"] or "", one["tid"], one["duration"], one["instructions"], one["self_instructions"], one["calls"])] += 1
functions = list(flow.calls())
have = collections.Counter((one.function, one.image, one.tid, one.duration, one.instructions, one.self_instructions, one.calls) for one in functions)
check("calls of functions are those of ptl-dump calls", len(want) > 20 and want == have, list((want - have).items())[:3], list((have - want).items())[:3])
early = flow.calls()
next(early)
early.close()
check("a loop over calls may end early", len(list(flow.calls())) == len(functions))
try:
    import numpy
except ImportError:
    numpy = None
    skip("arrays", "there is no numpy")
if numpy:
    parts = list(flow.arrays(rows=1000))
    whole = {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0] if name != "gaps"}
    check("blocks as arrays are the same blocks", len(parts) > 1 and all(
        whole[name].tolist() == [getattr(one, name) for one in ours] for name in whole), len(parts))
    check("gaps are counted", sum(part["gaps"] for part in parts) ==
          sum(isinstance(one, ptl.FlowEvent) and one.kind == "gap" for one in items))
    check("some of the columns", set(next(flow.arrays("ip", "tid"))) == {"ip", "tid", "gaps"})
    part = next(flow.call_instruction_arrays())
    check("call instructions as arrays", part["from_ip"].tolist() == [one.from_ip for one in calls], len(part["from_ip"]))
    got = run("/usr/bin/python3", os.path.join(EXAMPLES, "hot.py"), TRACE, "3", env={**os.environ, "PYTHONPATH": BUILT})
    check("the example with arrays", got.returncode == 0 and len(got.stdout.splitlines()) == 3 and got.stdout.count(" /") == 3,
          got.stdout, got.stderr)

# ---- what is wrong -------------------------------------------------------------------------------------------------------


def raises(what, kind, text, function, *arguments, **more):
    try:
        function(*arguments, **more)
        check(what, False, "nothing was raised")
    except kind as error:
        check(what, text in str(error), error)


raises("a file that is not there", ptl.Error, "No such file", ptl.Trace, path("none.ptl"))
raises("an engine that is not there", ptl.Error, "engine", lambda: list(trace.flow(engine="none").blocks()))
raises("a column that is not there", ValueError, "no column colour", lambda: list(flow.arrays("colour")))
events, blocks = trace.events(), flow.blocks()
next(events), next(blocks)
trace.close()
raises("a loop over events goes no further when the trace is closed", ValueError, "closed", lambda: [None for _ in iter(
    ptl.Trace.events(trace))])
raises("nor does one over blocks", ValueError, "closed", lambda: list(flow.blocks()))
for loop in (events, blocks):
    loop.close()

# ---- writing and relogging -----------------------------------------------------------------------------------------------

FIELDS = [("Customer", "utf8"), ("Pieces", "u32"), ("Delta", "i16"), ("Price", "f64"), ("Id", "guid"), ("Wide", "utf16"),
          ("Paid", "bool")]
VALUES = {"Customer": "Zoë", "Delta": -4, "Price": 1.5, "Id": uuid.UUID(int=5), "Wide": "naïve 𝄞", "Paid": True}
with ptl.Writer(path("made.ptl")) as writer:
    order = writer.schema("Example-Shop", "Order", 7, FIELDS)
    for number in range(9000):
        writer.event(order, time=1000 + number, pid=4, tid=5, Pieces=number, **VALUES)
    raises("a field that is missing", ValueError, "needs Customer", writer.event, order, time=1)
    raises("a number that does not fit", ptl.Error, "", writer.event, order, time=1, **{**VALUES, "Pieces": 1 << 40})
theirs = lines("events", "--json", path("made.ptl"))
check("ptl-dump reads what was written", len(theirs) == 9000 and theirs[-1]["fields"] == {
    **VALUES, "Pieces": 8999, "Id": str(VALUES["Id"])} and theirs[0]["event"] == "Order" and theirs[0]["pid"] == 4, theirs[-1:])
with ptl.Trace(path("made.ptl")) as made:
    check("and so does the module, over several chunks", [event.fields for event in made.events()] ==
          [{**VALUES, "Pieces": number} for number in range(9000)])
check("a file is not overwritten", raises("the writer says so", FileExistsError, "exists", ptl.Writer, path("made.ptl")) is None)

seen = []


def every_other(event):
    if event.fields["Pieces"] % 2:
        return False
    seen.append(event)
    event.tid = 6
    if event.fields["Pieces"] == 10:
        event.inject()  # twice
    return True


relogger = ptl.Relogger(path("half.ptl"), path("made.ptl"))
relogger.stage(event=every_other)
counts = relogger.process()
theirs = lines("events", "--json", path("half.ptl"))
check("a callback drops, changes and adds events", counts["events_read"] == 9000 and counts["events_written"] == len(theirs) == 4501
      and {one["tid"] for one in theirs} == {6} and [one["fields"]["Pieces"] for one in theirs[:8]] == [0, 2, 4, 6, 8, 10, 10, 12],
      counts, theirs[:2])
raises("an event is not used behind its callback", ValueError, "returned", lambda: seen[0].time)
relogger = ptl.Relogger(path("fails.ptl"), path("made.ptl"))
relogger.stage(event=lambda event: event.fields["Colour"])
raises("what a callback raises is raised", KeyError, "Colour", relogger.process)
check("and there is no output then", not os.path.exists(path("fails.ptl")))
got = run("/usr/bin/python3", os.path.join(EXAMPLES, "keep.py"), path("made.ptl"), path("kept.ptl"), "Order",
          env={**os.environ, "PYTHONPATH": BUILT})
check("the example of relogging", got.returncode == 0 and "'events_written': 9000" in got.stdout, got.stdout, got.stderr)

plan()
