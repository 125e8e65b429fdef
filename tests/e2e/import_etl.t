#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog reads .etl files of Windows: every event of real ones is there, with what others read in them.
import collections
import glob
import json
import os
import re

from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, run, skip

FOLDER = os.environ.get("PTL_SHARED_ETL", "")
OWN_VERSION = 131  # of image events that are not Windows' own
# Groups of the kernel's hooks, and the classes that they are.
GROUPS = {
    0x00: "68fdd900-4a3e-11d1-84f4-0000f80464e3", 0x01: "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
    0x02: "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", 0x03: "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
    0x04: "90cbdc39-4a3e-11d1-84f4-0000f80464e3", 0x05: "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",
    0x06: "9a280ac0-c8e0-11d1-84e2-00c04fb998a2", 0x08: "bf3a50c5-a9c9-4988-a005-2df0b7c80f80",
    0x0b: "01853a65-418f-4f36-aefc-dc0f1d2fd235", 0x0f: "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",
    0x14: "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 0x18: "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",
}


def expected_counts(name):
    """(provider, id or opcode, version): count; of TraceLogging, whose events have no ids, the provider's sum."""
    counts = collections.Counter()
    with open(name, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            kind, provider, number, version, count = line.rstrip("\n").split("\t")
            number = int(number)
            if kind == "system":
                provider = GROUPS[int(provider.split()[1], 16)]
                if (provider, number) == (GROUPS[3], 10):
                    provider = GROUPS[0x14]
            key = (provider,) if kind == "event" and number == 0 else (provider, number, int(version))
            counts[key] += int(count)
    return counts


def shown_counts(trace, expected):
    counts = collections.Counter()
    done = run(dump, "events", "--count", "--json", trace)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        provider = row["provider_guid"]
        if row["version"] == OWN_VERSION:
            continue  # stretches of compiled code, which the import makes
        number = row["id"] or row["opcode"]
        key = (provider,) if (provider,) in expected else (provider, number, row["version"])
        counts[key] += row["count"]
    return counts, done


def real_file(name):
    base = os.path.splitext(os.path.basename(name))[0]
    trace = path(base + ".ptl")
    done = run(relog, name, "-q", "-o", trace)
    check(f"{base}: is read", done.returncode == 0, done.stderr)
    expected = expected_counts(os.path.splitext(name)[0] + ".events.tsv")
    counts, done = shown_counts(trace, expected)
    check(f"{base}: as many events of each kind as its headers tell", counts == expected,
          "missing", expected - counts, "more", counts - expected, done.stderr)
    check(f"{base}: the trace is sound", run(dump, "info", trace).returncode == 0)


# ---- fields, as PerfView shows them ------------------------------------------------------------------------------

LINE = re.compile(r"EVENT ([\d,.]+): (.*?) PID=(-?\d+); TID=(-?\d+); PName=.*?; ProceNum=(\d+); DataLen=\d+;(.*)$")
# What PerfView makes something else of: names of flags, sockets, names without ".exe";
# and numbers of characters.
OTHERWISE = {"Flags", "IrpFlags", "ShareAccess", "CreateOptions", "AssemblyFlags", "keywords", "stacks", "Address",
             "ProcessName", "LogFileName", "PhysicalAddr", "char_type"}


def is_same(shown, value):
    """None: a date, or another form that is not compared."""
    cut = shown.endswith("...")
    if isinstance(value, dict) and "value" in value:
        if shown == "None":
            return value["value"] == 0
        return is_same(shown, value["value"]) or shown.replace(", ", "|") == value.get("name") or (
            cut and value.get("name", "").replace("|", ", ").startswith(shown[:-3]))
    if isinstance(value, bool):
        return shown == str(value)
    if isinstance(value, str) and value.startswith("\\Device\\") and shown[1:3] == ":\\":
        return None
    if isinstance(value, str) and not value.startswith("0x"):
        return value.startswith(shown[:-3]) if cut else shown == value.rstrip()
    if not isinstance(value, (int, str)):
        return None
    try:
        number = int(shown.replace(",", ""), 0)
    except ValueError:
        return None
    value = int(value, 16) if isinstance(value, str) else value
    # Signed there, unsigned here; addresses of 32 bits.
    return (number - value) % (1 << 32) == 0


def compare(line, at_time, differing):
    """How many fields of a line of PerfView's are those of the event of that time that fits best."""
    time, name, _, tid, cpu, rest = LINE.match(line).groups()
    shown = dict(part.split("=", 1) for part in re.split(r"; (?=\w+=)|;\s*$", rest.strip()) if "=" in part)
    best = None
    for one in at_time[round(float(time.replace(",", "")) * 1000)]:
        if one.get("cpu") != int(cpu) or (int(tid) != -1 and one.get("tid") not in (int(tid), None)):
            continue
        fields = {key.lower(): value for key, value in (one.get("fields") or {}).items()}
        same = {key: is_same(value, fields[key.lower()]) for key, value in shown.items() if key.lower() in fields}
        wrong = [key for key, equal in same.items() if equal is False and key not in OTHERWISE]
        score = (-len(wrong), sum(equal is True for equal in same.values()))
        if best is None or score > best[0]:
            best = (score, wrong, one)
    if best and best[1]:
        differing.append((line, best[2]))
    return best[0][1] if best else 0


def real_stacks(name):
    """Every stack that is an event of its own belongs to another one, which has it."""
    base = os.path.splitext(os.path.basename(name))[0]
    at_time, walks = collections.defaultdict(int), []
    for line in run(dump, "events", "-v", "--json", path(base + ".ptl")).stdout.splitlines():
        one = json.loads(line)
        at_time[one["time"]] += sum(item["type"] == 6 for item in one.get("extended", []))
        if one.get("event") in ("StackWalk/Stack", "StackWalk/KeyUser", "StackWalk/KeyKernel"):
            walks.append(one["fields"]["EventTimeStamp"])
    alone = [time for time in walks if not at_time[time]]
    check(f"{base}: every one of its stacks is with an event", len(walks) == 12401 and not alone, len(walks), alone[:5])


def real_fields(name, least):
    base = os.path.splitext(os.path.basename(name))[0]
    at_time, differing, equal = collections.defaultdict(list), [], 0
    for line in run(dump, "events", "--json", path(base + ".ptl")).stdout.splitlines():
        one = json.loads(line)
        for time in {one["time"] // 1000, -(-one["time"] // 1000)}:
            at_time[time].append(one)
    with open(os.path.splitext(name)[0] + ".decoded.txt", encoding="utf-8-sig") as file:
        for line in file:
            if LINE.match(line):
                equal += compare(line.rstrip("\n"), at_time, differing)
    check(f"{base}: at least {least} fields are as PerfView shows them", equal >= least, equal)
    check(f"{base}: none differs", not differing, *differing[:5])


def file_names(name):
    """Every read of a disk and every hard fault has the name of its file; nearly all frames have an image, or a method of .NET."""
    base = os.path.splitext(os.path.basename(name))[0]
    nameless, reads, frames, outside = [], 0, 0, 0
    for line in run(dump, "events", "--stacks", "--json", path(base + ".ptl")).stdout.splitlines():
        one = json.loads(line)
        if one.get("event") in ("DiskIO/Read", "Memory/HardFault"):
            reads += 1
            nameless += [] if one["fields"]["FileName"] else [line]
        frames += len(one.get("stack", []))
        outside += sum("image" not in frame for frame in one.get("stack", []))
    check(f"{base}: files have names", reads == 2733 and not nameless, reads, nameless[:3])
    check(f"{base}: frames are in images or methods", frames > 300000 and outside < 1000, frames, outside)


def runtime_names(name):
    """The events of .NET's runtime that nothing in a file explains have the names that PerfView gives them."""
    base = os.path.splitext(os.path.basename(name))[0]
    counts, expected, lost = collections.Counter(), {}, []
    for line in run(dump, "events", "-v", "--json", path(base + ".ptl")).stdout.splitlines():
        one = json.loads(line)
        counts[f"{one.get('provider')}/{one.get('event')}"] += 1
        if "DotNETRuntime" in one.get("provider", "") and any(item["type"] == 0x5745 for item in one.get("extended", [])):
            lost.append(line)
    with open(os.path.splitext(name)[0] + ".decoded.txt", encoding="utf-8-sig") as file:
        for line in file:
            found = re.match(r"COUNT (Microsoft-Windows-DotNETRuntime.*):(\d+)$", line)
            if found and (base == "gcevents" or "RuntimePrivate" in found[1]):
                expected[found[1]] = int(found[2])
    check(f"{base}: PerfView names events of the runtime", expected)
    check(f"{base}: so many of each name", all(counts[key] == expected[key] for key in expected),
          {key: (counts[key], expected[key]) for key in expected if counts[key] != expected[key]})
    check(f"{base}: the payloads of the runtime's events are as the table has them", not lost, *lost[:3])


files = sorted(glob.glob(os.path.join(FOLDER, "*.etl")))
for one in files:
    real_file(one)
for title, number in (("primitive-types", 50), ("gcevents", 235), ("net.4.5.2.x86", 2150)):
    if os.path.exists(os.path.join(FOLDER, title + ".decoded.txt")):
        real_fields(os.path.join(FOLDER, title + ".etl"), number)
    if title == "net.4.5.2.x86" and os.path.exists(os.path.join(FOLDER, title + ".etl")):
        file_names(os.path.join(FOLDER, title + ".etl"))
    if title != "primitive-types" and os.path.exists(os.path.join(FOLDER, title + ".decoded.txt")):
        runtime_names(os.path.join(FOLDER, title + ".etl"))
for one in files:
    if "net.4.5.2.x86" in one:
        real_stacks(one)
if not files:
    skip("real .etl files", f"none in {FOLDER or 'PTL_SHARED_ETL, which is not set'}")
plan()
