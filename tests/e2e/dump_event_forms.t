#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump events as CSV, as XML, with times of day, counted with rates, and as a tree of activities.
import csv
import glob
import io
import json
import os
import struct
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import etl_file as etl
from etl_file import START_TICKS, event, guid
from scratch_test import DUMP, RELOG, check, path, plan, run, skip, write

PROVIDER = "11223344-5566-7788-99aa-bbccddeeff00"
SPACES = {"e": "http://schemas.microsoft.com/win/2004/08/events/event",
          "t": "http://schemas.microsoft.com/win/2004/08/events/trace"}
ETL = os.environ.get("PTL_SHARED_ETL", "")
# The order that Windows' schema of events asks for.
SYSTEM = ["Provider", "EventID", "Version", "Level", "Task", "Opcode", "Keywords", "TimeCreated", "Correlation", "Execution",
          "Channel", "Computer"]


def events(*arguments, status=0):
    got = run(DUMP, "events", *arguments)
    check("events %s: status %d" % (" ".join(arguments), status), got.returncode == status, got)
    return got.stdout


def json_lines(*arguments):
    return [json.loads(line) for line in events("--json", *arguments).splitlines()]


def convert(name, made):
    write(name + ".etl", bytes(etl.File().buffer(made)))
    got = run(RELOG, "-q", "-o", name + ".ptl", name + ".etl")
    check(f"{name} becomes a trace", got.returncode == 0, got)


def xml_events(*arguments):
    return ElementTree.fromstring(events("--xml", *arguments)).findall("e:Event", SPACES)


# ---- fields --------------------------------------------------------------------------------------------

def fields():
    described = [("text", 2), ("flag", 13, 0), ("odd", 13, 0), ("id", 15), ("box", 24 | 0x40, 2, b""), ("x", 8),
                 ("inner", 24, 1, b""), ("y", 4)]
    payload = b'say "hi", \xff<&>\r\n\1\0' + struct.pack("<II", 1, 7) + guid(PROVIDER) + struct.pack("<HIBIB", 2, 1, 2, 3, 4)
    convert("fields", [
        event(PROVIDER, payload=payload, ticks=START_TICKS + 5, activity=PROVIDER,
              items=[(12, etl.traits("My, <Provider>")), (11, etl.tracelogging("Name", *described))]),
        event(PROVIDER, 9, payload=b"\1\2\3", ticks=START_TICKS + 6),
    ])
    one = json_lines("-p", PROVIDER, "fields.ptl")[0]
    check("JSON has the bytes of a boolean that is neither 0 nor 1", one["fields"]["odd"] is True and
          one["fields"]["flag"] is True and one["raw"]["odd"] == "07000000" and "flag" not in one["raw"], one)
    check("text has its number", "odd=true(7)" in events("-p", PROVIDER, "fields.ptl"))
    node, bare = xml_events("-p", PROVIDER, "fields.ptl")
    data = {child.get("Name"): child.text for child in node.find("e:EventData", SPACES).findall("e:Data", SPACES)}
    check("XML has what it can of a text", data["text"] == 'say "hi", \ufffd<&>\r\n\ufffd', data)
    check("XML has the exact number", (data["flag"], data["odd"], data["id"]) == ("true", "7", "{%s}" % PROVIDER), data)
    boxes = [[(child.get("Name"), child.text) for child in box] for box in node.iter("{%s}ComplexData" % SPACES["e"])]
    check("XML has structures", boxes == [[("x", "1"), ("inner.y", "2")], [("x", "3"), ("inner.y", "4")]], boxes)
    check("XML has bytes that nothing explains", bare.find("e:BinaryEventData", SPACES).text == "010203")
    rows = list(csv.DictReader(io.StringIO(events("--csv", "-p", PROVIDER, "fields.ptl"), newline="")))
    check("CSV has the same events", [row["provider"] for row in rows] == ["My, <Provider>"] * 2 and
          rows[0]["activity"] == PROVIDER and "odd=true(7)" in rows[0]["fields"], rows)
    names = (" first", "last ", "with in")
    convert("blanks", [event(f"{i}{PROVIDER[1:]}", payload=b"", ticks=START_TICKS + i, items=[
        (12, etl.traits(name)), (11, etl.tracelogging("Name"))]) for i, name in enumerate(names, 1)])
    rows = [line.split(",")[1] for line in events("--csv", "blanks.ptl").splitlines() if PROVIDER[1:] in line]
    check("CSV has quotes around what begins or ends with a blank", rows == ['" first"', '"last "', "with in"], rows)


# ---- recordings of Windows ---------------------------------------------------------------------------------

def same_in_all_forms(name):
    """Every event in three forms: what each says of it has to agree."""
    want = json_lines("--absolute", name)
    rows = list(csv.DictReader(io.StringIO(events("--csv", "--absolute", name), newline="")))
    nodes = xml_events(name)
    check(f"{name}: as many events", len(want) == len(rows) == len(nodes) > 0, len(want), len(rows), len(nodes))
    wrong = []
    for one, row, node in zip(want, rows, nodes):
        system = node.find("e:System", SPACES)
        number = {key: system.find("e:" + tag, SPACES).text for key, tag in
                  (("id", "EventID"), ("version", "Version"), ("level", "Level"), ("task", "Task"), ("opcode", "Opcode"),
                   ("keyword", "Keywords"))}
        execution = system.find("e:Execution", SPACES)
        reported = {key: str(one[key]) for key in number}
        order = [child.tag.split("}")[1] for child in system]
        good = reported == number and reported == {key: row[key] for key in number} and \
            system.find("e:Provider", SPACES).get("Guid") == "{%s}" % one["provider_guid"] == "{%s}" % row["provider_guid"] and \
            system.find("e:TimeCreated", SPACES).get("SystemTime") == one["system_time"] == row["time"] and \
            execution.get("ProcessorID", "") == row["cpu"] == str(one.get("cpu", "")) and row["pid"] == str(one.get("pid", "")) and \
            (row["pid"] == "" or execution.get("ProcessID") == row["pid"]) and \
            row["message"] == one.get("message", "") and order == [tag for tag in SYSTEM if tag in order]
        names = {child.get("Name") for child in node.iter("{%s}Data" % SPACES["e"])}
        good &= not one.get("fields") or {key.split("#")[0] for key, value in one["fields"].items()
                                          if not isinstance(value, (list, dict)) or "name" in value} <= names
        if not good:
            wrong.append((one, row, ElementTree.tostring(node)))
    check(f"{name}: the three forms agree", not wrong, len(wrong), *wrong[:2])


def windows():
    files = sorted(glob.glob(ETL + "/*.etl")) if ETL else []
    if not files:
        skip("recordings of Windows", "there are none")
    for file in files:
        if os.path.getsize(file) > 1 << 20:
            continue
        name = os.path.basename(file)[:-4] + ".ptl"
        run(RELOG, "-q", "-o", name, file)
        same_in_all_forms(name)


# ---- counts ------------------------------------------------------------------------------------------------

def counts():
    # From the start to the last event: 2 ms.
    convert("rates", [event(PROVIDER, 1, ticks=START_TICKS + 10 * i) for i in range(5)] +
            [event(PROVIDER, 2, ticks=START_TICKS + 20000)])
    rates = {one["id"]: (one["count"], one["per_second"]) for one in json_lines("--count", "-p", PROVIDER, "rates.ptl")}
    check("rates are of the whole trace", rates == {1: (5, 2500.0), 2: (1, 500.0)}, rates)
    rates = {one["id"]: (one["count"], one["per_second"])
             for one in json_lines("--count", "-p", PROVIDER, "--time", "0..10us", "rates.ptl")}
    check("rates are of the span of --time", rates == {1: (5, 500000.0)}, rates)
    table = events("--count", "-p", PROVIDER, "rates.ptl").splitlines()
    check("the table has them", table[0].split()[:3] == ["EVENTS", "PER", "SECOND"] and table[1].split()[:2] == ["5", "2500"] and
          table[-1].split()[:2] == ["6", "3000"], table)


# ---- activities ----------------------------------------------------------------------------------------------

def activity(number):
    return "%08d-0000-0000-0000-000000000001" % number


def act(number, opcode, tick, task=1, related=None):
    items = [(1, guid(activity(related)))] if related else []
    return event(PROVIDER, task, opcode=opcode, task=task, ticks=START_TICKS + tick, activity=activity(number), items=items)


def activities():
    convert("tree", [
        act(1, 1, 10),              # 1 starts
        act(2, 1, 20, 2, related=1),  # 2 within it
        act(3, 1, 25, 5, related=2),  # 3 within 2, never stopped
        act(1, 1, 30, 3),           # a second pair of 1
        act(1, 0, 31), act(1, 0, 32),  # events within that
        act(9, 2, 33),              # a stop of nothing
        act(1, 2, 40, 3),
        act(2, 2, 50, 2),
        act(1, 0, 51),
        act(1, 2, 60),
        act(4, 1, 70), act(4, 2, 75),  # another root
    ])
    reported = [(one["depth"], one["name"].split("/")[-1][:12] and one["activity"], one["start"], one["duration"], one["events"])
            for one in json_lines("--tree", "tree.ptl")]
    want = [(0, activity(1), 1000, 5000, 1), (1, activity(2), 2000, 3000, 0), (2, activity(3), 2500, None, 0),
            (1, activity(1), 3000, 1000, 2), (0, activity(4), 7000, 500, 0)]
    check("pairs make a tree", reported == want, reported, want)
    got = run(DUMP, "events", "--tree", "tree.ptl")
    check("a stop without a start is reported", "start is not there: 1" in got.stderr, got)
    lines = got.stdout.splitlines()
    check("text has a line a pair", len(lines) == 6 and "5.000 us" in lines[1] and lines[3].split()[1] == "-", lines)
    reported = [one["activity"] for one in json_lines("--tree", "-a", activity(3), "tree.ptl")]
    check("--activity has its whole tree, and nothing else", reported == [activity(1), activity(2), activity(3), activity(1)], reported)
    convert("named", [event(PROVIDER, opcode=opcode, payload=b"", ticks=START_TICKS + opcode, activity=activity(1), items=[
        (12, etl.traits("Server")), (11, etl.tracelogging("Request/Start" if opcode == 1 else "Request/Stop"))]) for opcode in (1, 2)])
    names = [one["name"] for one in json_lines("--tree", "named.ptl")]
    check("an activity has no /Start in its name", names == ["Server/Request"], names)
    convert("deep", [act(i, 1, i, related=i - 1 if i > 1 else None) for i in range(1, 61)])
    depths = [one["depth"] for one in json_lines("--tree", "deep.ptl")]
    check("what is deep is deep", depths == list(range(60)), depths)


def times_of_day():
    one, *_ = json_lines("--absolute", "-p", PROVIDER, "rates.ptl")
    line = events("--absolute", "-p", PROVIDER, "rates.ptl").splitlines()[1]
    check("text and JSON have the same time of day", one["system_time"] == line[:29].replace(" ", "T") + "Z", one, line)


def mistakes():
    for arguments in (("--csv", "--xml"), ("--csv", "--json"), ("--count", "--tree"), ("--xml", "--count")):
        got = run(DUMP, "events", *arguments, "rates.ptl")
        check("%s %s is a mistake" % arguments, got.returncode == 2 and "ptl-dump: error" in got.stderr, got)
    check("no events are a document, too", len(xml_events("-e", "none", "rates.ptl")) == 0)


fields()
windows()
counts()
activities()
times_of_day()
mistakes()
plan()
