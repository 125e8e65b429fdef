#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump timeline: slices, names, times and rows are those of calls, in Perfetto's format and in Chrome's.
import collections
import json
import os
import pty
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import perfetto_file
from export_test import hostile, record
from scratch_test import DUMP, RELOG, check, output, path, plan, read, run, skip, write

PROGRAMS = os.environ["PTL_PROGRAMS"]


def timeline(name, *arguments):
    got = run(DUMP, "timeline", *arguments, name, text=False)
    check("timeline %s is written" % " ".join((*arguments, name)), got.returncode == 0, got.stderr)
    return perfetto_file.read(got.stdout), got.stderr.decode()


def calls(*arguments):
    """{(pid, tid): [call]}, without those of other stacks than the first"""
    found = collections.defaultdict(list)
    for line in output(DUMP, "calls", "--json", "--no-fold", *arguments).splitlines():
        one = json.loads(line)
        if one["type"] == "call":
            found[one["pid"], one["tid"]].append(one)
    return found


def name_of(call):
    if call["function"] is not None:
        return call["function"]
    return os.path.basename(call["image"] or "") + ("+" if call["image"] else "") + call["address"]


def threads(tracks):
    return {(track.pid, track.tid): track for track in tracks.values() if track.is_thread}


def differs(slices, expected):
    """What is not as calls has it; None"""
    if len(slices) != len(expected):
        return len(slices), len(expected)
    # A frame that is found below others begins where it is found, so that those have no other depth before.
    found_below = any(call["depth"] == 0 and "inferred" in call["marks"] for call in expected)
    names = collections.Counter(slice_[0] for slice_ in slices) - collections.Counter(map(name_of, expected))
    # A stub that first has to look its function up keeps its own name, which is so once for each function of each file.
    if any(number > 10 for number in names.values()) or sum(names.values()) > 40:
        return names
    if found_below:
        return None
    return next(((slice_, call) for slice_, call in zip(slices, expected)
                 if (slice_[1], slice_[2] - slice_[1], slice_[3]) != (call["time"], call["duration"], call["depth"]) or
                 (slice_[0] != name_of(call) and not names[slice_[0]])), None)


def same_as_calls(name):
    tracks, errors = timeline(name)
    rows, all_calls = threads(tracks), calls(name)
    check(f"{name}: every thread with calls is there", set(all_calls) <= set(rows), all_calls.keys(), rows.keys())
    wrong = {key: differs(rows[key].slices, expected) for key, expected in all_calls.items()}
    wrong = {key: why for key, why in wrong.items() if why}
    check(f"{name}: names, times, durations and depths are those of calls", not wrong, *wrong.items())
    check(f"{name}: nothing is left out", "left out" not in errors, errors)
    return tracks


def chrome(name):
    events = json.loads(output(DUMP, "timeline", "--format", "chrome", name))["traceEvents"]
    tracks, _ = timeline(name)
    stacks, found = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        key = event["pid"], event["tid"]
        if event["ph"] == "B":
            stacks[key].append([event["name"], event["ts"], None, len(stacks[key])])
            found[key].append(stacks[key][-1])
        elif event["ph"] == "E":
            stacks[key].pop()[2] = event["ts"]
    wrong = [(key, track.slices[:3], found.get(key)) for key, track in threads(tracks).items()
             if [[what, round(start, 3), round(end, 3), depth] for what, start, end, depth in found.get(key, [])] !=
             [[what, round(start / 1000, 3), round(end / 1000, 3), depth] for what, start, end, depth in track.slices]]
    check(f"{name}: Chrome's JSON has the same slices", not wrong and not any(stacks.values()), *wrong)
    names = {(event["pid"], event["args"]["name"]) for event in events if event.get("name") == "process_name"}
    check(f"{name}: and the same processes", names == {(track.pid, track.name) for track in tracks.values()
                                                      if track.is_process}, names)
    instants = sum(event["ph"] in "iX" for event in events)
    check(f"{name}: and as many events", instants == sum(len(track.instants) for track in tracks.values()), instants)


def processes():
    tracks = same_as_calls("processes.ptl")
    known = {one["pid"]: one["name"] for one in map(json.loads, output(DUMP, "processes", "--json", "processes.ptl").splitlines())}
    shown = {track.pid: track.name for track in tracks.values() if track.is_process}
    check("processes have their names", len(shown) > 1 and all(known[pid] == name for pid, name in shown.items()), shown, known)
    check("threads lie in their processes", all(tracks[track.parent].pid == track.pid
                                                for track in tracks.values() if track.is_thread))
    chrome("processes.ptl")


def events():
    tracks = same_as_calls("events.ptl")
    expected = collections.Counter()
    for line in output(DUMP, "events", "--json", "events.ptl").splitlines():
        expected[json.loads(line)["time"]] += 1
    shown = collections.Counter(time for track in tracks.values() for time, name, _ in track.instants
                                if not name.startswith("exec "))
    check("events are instants at their times", shown == expected, shown - expected, expected - shown)
    flows = collections.Counter(flow for track in tracks.values() for _, _, its in track.instants for flow in its)
    activities = collections.Counter(one["activity"] for one in map(json.loads, output(DUMP, "events", "--json", "events.ptl").splitlines())
                                     if one.get("activity"))
    check("events of an activity are joined", sorted(flows.values()) == sorted(activities.values()) and
          max(flows.values(), default=0) > 1, flows, activities)
    chrome("events.ptl")


def counters():
    tracks, _ = timeline("gzip.ptl")
    stats = json.loads(output(DUMP, "stats", "--json", "gzip.ptl"))
    rates = [track for track in tracks.values() if track.name == "instructions/us"]
    sum_ = 0
    end = max(slice_[2] for track in threads(tracks).values() for slice_ in track.slices)
    for track in rates:
        times = [time for time, _ in track.values] + [end]
        sum_ += sum(value * (times[i + 1] - time) / 1000 for i, (time, value) in enumerate(track.values))
    # A rate is rounded down to a whole number.
    check("instructions per microsecond add up to all", rates and 0.9 * stats["instructions"] < sum_ <= stats["instructions"] * 1.01,
          sum_, stats["instructions"])
    packets = [track for track in tracks.values() if track.name == "PT bytes/ms"]
    check("there is Intel PT over time", packets and any(value for _, value in packets[0].values), packets)


def as_long(rows, least):
    """
    Slices of those that took so long, each with the names that it may have. A stub that first has to look its function up has
    that function's name where the lookup is over before the slice is long enough to be written.
    """
    return [[(slice_[1:], {slice_[0], name_of(call)}) for slice_, call in zip(rows[key].slices, expected, strict=True)
             if slice_[2] - slice_[1] >= least] for key, expected in calls("gzip.ptl").items()]


def limits():
    whole, _ = timeline("gzip.ptl")
    all_slices = [slice_ for track in threads(whole).values() for slice_ in track.slices]
    # So long that few are left, and so short that there are stubs that take longer than their lookup.
    for place in (-300, -20):
        middle = sorted(slice_[2] - slice_[1] for slice_ in all_slices)[place]
        tracks, errors = timeline("gzip.ptl", "--min-time", f"{middle}ns")
        expected = [slice_ for row in as_long(threads(whole), middle) for slice_ in row]
        shown = [slice_ for track in threads(tracks).values() for slice_ in track.slices]
        wrong = [(slice_, wanted) for slice_, wanted in zip(shown, expected) if slice_[1:] != wanted[0] or slice_[0] not in wanted[1]]
        check(f"--min-time leaves what took as long as the {-place} longest", len(shown) == len(expected) and not wrong,
              len(shown), len(expected), *wrong)
    left = len(all_slices) - len(expected)
    said = "%s calls shorter than --min-time" % f"{left:,}"
    inside = [name for track in tracks.values() if track.name == "left out" for _, name, _ in track.instants]
    check("a message and the file say what is left out", said in errors and any(said in name for name in inside), errors, inside)
    tracks, errors = timeline("gzip.ptl", "--max-slices", "100")
    shown = [slice_ for track in threads(tracks).values() for slice_ in track.slices]
    check("--max-slices", len(shown) == 100 and "calls beyond --max-slices" in errors, len(shown), errors)
    tracks, _ = timeline("gzip.ptl", "--by", "instructions")
    rows, expected = threads(tracks), calls("gzip.ptl")
    wrong = [(slice_, call) for key in expected for slice_, call in zip(rows[key].slices, expected[key], strict=True)
             if slice_[2] - slice_[1] != call["instructions"]]
    check("by instructions, slices are as long as what they executed", not wrong, wrong[:3])
    same = {run(DUMP, "timeline", "-j", jobs, "gzip.ptl", text=False).stdout for jobs in "123"}
    check("any number of threads gives the same", len(same) == 1)


def stacks():
    tracks, _ = timeline("fibres.ptl")
    lines = [json.loads(line) for line in output(DUMP, "calls", "--json", "--no-fold", "fibres.ptl").splitlines()]
    rows = [track for track in tracks.values() if track.name.startswith("stack ")]
    shown = sum(len(track.slices) for track in tracks.values() if track.is_thread or track in rows)
    check("each stack of a thread is a row", rows and shown == sum(line["type"] == "call" for line in lines), len(rows), shown)


def terminal():
    master, slave = pty.openpty()
    for command in ("timeline", "flamegraph", "speedscope", "html", "pprof"):
        process = subprocess.run([DUMP, command, path("gzip.ptl")], stdout=slave, stderr=subprocess.PIPE, text=True, check=False)
        check(f"{command} writes nothing to a terminal", process.returncode == 2 and "-o FILE" in process.stderr, process)
    os.close(slave)
    os.close(master)


def nothing():
    output(RELOG, "-q", "gzip.ptl", "--time", "100000s..100001s", "-o", "nothing.ptl")
    tracks, _ = timeline("nothing.ptl")
    inside = [name for track in tracks.values() for _, name, _ in track.instants]
    check("of an empty trace there is a packet, without which viewers refuse a file", inside == ["nothing ran"], inside)


def hostile_names():
    hostile("hostile.ptl")
    tracks, _ = timeline("hostile.ptl")
    check("a hostile name is text", any("alert('x')" in slice_[0] for track in tracks.values() for slice_ in track.slices))
    chrome("hostile.ptl")


write("text", "".join("line %d of a text that is packed\n" % i for i in range(200)))
record("gzip.ptl", "gzip", "-kc", path("text"))
record("processes.ptl", os.path.join(PROGRAMS, "processes"))
record("fibres.ptl", os.path.join(PROGRAMS, "fibres"))
record("events.ptl", os.path.join(PROGRAMS, "events_cxx"), options=("-p", "*"))
same_as_calls("gzip.ptl")
for test in (processes, events, counters, limits, stacks, terminal, nothing, hostile_names):
    test()
plan()
