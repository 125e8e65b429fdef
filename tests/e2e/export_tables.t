#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump table and sqlite: Python's csv, json and sqlite3 read what the other commands show; docs/tables.md has every column.
import csv
import io
import json
import os
import re
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, read, run, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
TESTDATA = os.environ["PTL_TESTDATA"]
TABLES = ("traces", "processes", "threads", "images", "events", "calls", "gaps", "losses", "profile", "coverage")
HOSTILE = b"a\tb\nc\\d\"e'f,g\xff\x7fh;--"


def document():
    """Tables of docs/tables.md: (column, type, can be null, where it is not) by table."""
    with open(os.path.join(os.path.dirname(TESTDATA), "docs", "tables.md"), encoding="utf-8") as file:
        text = file.read()
    tables = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        name = section.split("\n", 1)[0]
        rows = re.findall(r"^- `(\w+)` (text|unsigned|signed|address|boolean|wall|json)(, null)?(?:: (.*))?$", section, re.M)
        tables[name] = [(column, kind, bool(null), what) for column, kind, null, what in rows]
    return tables, re.findall(r"^```sql\n(.*?)^```", text, re.M | re.S)


DOCUMENT, QUERIES = document()
IDENTITY = DOCUMENT["Whose a row is"]


def flat_columns(table):
    return IDENTITY + [column for column in DOCUMENT[table] if "only in SQLite" not in column[3]]


def from_tsv(data):
    def unescape(cell):
        return None if cell == "\\N" else re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[m[1]], cell)
    lines = data.decode().split("\n")
    return lines[0].split("\t"), [[unescape(cell) for cell in line.split("\t")] for line in lines[1:-1]]


def as_text(kind, value):
    if value is None or kind in ("text", "wall"):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) if kind == "json" else str(int(value))


def binary_rows(data, columns):
    """ClickHouse's RowBinary, by the types of the document."""
    at, rows = 0, []
    while at < len(data):
        row = []
        for _, kind, null, _ in columns:
            if null:
                at += 1
                if data[at - 1]:
                    row.append(None)
                    continue
            if kind in ("text", "json"):
                size = shift = 0
                while True:
                    size |= (data[at] & 127) << shift
                    at, shift = at + 1, shift + 7
                    if not data[at - 1] & 128:
                        break
                row.append(data[at:at + size].decode("utf-8", "replace"))
                at += size
            elif kind == "boolean":
                row.append(data[at])
                at += 1
            else:
                row.append(struct.unpack_from("<q" if kind in ("signed", "wall") else "<Q", data, at)[0])
                at += 8
        rows.append(row)
    return rows


def table(name, *arguments, **more):
    return output(DUMP, "table", name, *arguments, text=False, **more)


def same_in_all_formats(name, *traces):
    columns = flat_columns(name)
    head, tsv = from_tsv(table(name, *traces))
    check(f"{name}: docs/tables.md has its columns", head == [column[0] for column in columns], head)
    rows = list(csv.reader(io.StringIO(table(name, "--format", "csv", *traces).decode(), newline="")))
    check(f"{name}: CSV is the same", rows[0] == head and rows[1:] == [[cell or "" for cell in row] for row in tsv], rows[:3], tsv[:2])
    objects = [json.loads(line) for line in table(name, "--format", "json", *traces).decode().splitlines()]
    as_json = [[as_text(kind, one[column]) for column, kind, _, _ in columns] for one in objects]
    normal = [[as_text("json", json.loads(cell)) if kind == "json" else cell for cell, (_, kind, _, _) in zip(row, columns)]
              for row in tsv]
    check(f"{name}: JSON is the same", as_json == normal, as_json[:2], normal[:2])
    binary = binary_rows(table(name, "--format", "rowbinary", *traces), columns)
    kinds = [kind for _, kind, _, _ in columns]
    numbers = [[cell for cell, kind in zip(row, kinds) if kind not in ("wall", "text", "json")] for row in binary]
    check(f"{name}: RowBinary is the same", len(binary) == len(tsv) and numbers == [
        [None if cell is None else int(cell) for cell, kind in zip(row, kinds) if kind not in ("wall", "text", "json")] for row in tsv] and
          [row[0] for row in binary] == [row[0] for row in tsv], binary[:2], tsv[:2])
    outputs = {table(name, "-j1", *traces), table(name, "-j2", *traces)}
    check(f"{name}: the same for all threads", len(outputs) == 1)
    return [dict(zip(head, row)) for row in tsv]


def json_lines(*command):
    return [json.loads(line) for line in output(DUMP, *command, text=False).splitlines()]


def number(text):
    return None if text is None else int(text)


def named(one):
    """What stands for a function without a name: where it is in its image, or its address."""
    return one["function"] or ("+" if one["image"] else "") + one["address"]


def rows_are_right(trace):
    """What rows say is what the other commands say."""
    events = same_in_all_formats("events", trace)
    want = json_lines("events", "--json", trace)
    check("events are those of `events`", [(number(row["time"]), row["provider"], int(row["id"]), number(row["pid"]),
                                            json.loads(row["payload"])["fields"]) for row in events] ==
          [(one["time"], one["provider"], one["id"], one.get("pid"), one["fields"]) for one in want], events[:1], want[:1])
    calls = same_in_all_formats("calls", trace)
    want = [one for one in json_lines("calls", "--json", "--no-fold", trace) if one["type"] == "call"]
    check("calls are those of `calls`", [(int(row["tid"]), int(row["depth"]), row["function"], row["image"], number(row["time"]),
                                          number(row["duration"]), int(row["instructions"]), row["marks"]) for row in calls] ==
          [(one["tid"], one["depth"], named(one), one["image"] or "", one["time"], one.get("duration"), one["instructions"],
            ",".join(one["marks"])) for one in want] and len(calls) > 100, calls[:1], want[:1])
    images = same_in_all_formats("images", trace)
    ids = {row["path"]: row["build_id"] for row in images}
    check("calls have the build id of their image", all(ids[row["image"]] == row["build_id"] for row in calls if row["image"]))
    profile = same_in_all_formats("profile", trace)
    want = json_lines("report", "--json", trace)
    check("the profile is that of `report`", sorted((row["function"], int(row["calls"]), int(row["self_instructions"]))
                                                    for row in profile if not row["function"].startswith(("0x", "+"))) ==
          sorted((one["function"], one["calls"], one["self_instructions"]) for one in want if one["function"]), profile[:2])
    for name in ("traces", "processes", "threads", "losses", "coverage"):
        same_in_all_formats(name, trace)


def hostile_names(name):
    """A program whose name is anything but a name."""
    program = os.path.join(os.fsencode(path("")), HOSTILE)
    with open(os.path.join(PROGRAMS, "bare"), "rb") as source, open(program, "wb") as target:
        target.write(source.read())
    os.chmod(program, 0o755)
    run(RECORD, "-q", "-o", name, "--", program)
    wanted = HOSTILE.decode("utf-8", "replace")
    for kind in ("processes", "images", "events", "calls"):
        same_in_all_formats(kind, name)
    rows = [dict(zip(flat_names("processes"), row)) for row in from_tsv(table("processes", name))[1]]
    check("a hostile name is a value", [row["name"] for row in rows] == [wanted], rows)


def flat_names(name):
    return [column[0] for column in flat_columns(name)]


def database(*traces):
    got = run(DUMP, "sqlite", "-o", "all.db", *traces)
    if got.returncode and "without SQLite" in got.stderr:
        skip("a database", "ptl-dump was built without SQLite")
        return
    check("a database is made", got.returncode == 0, got)
    base = sqlite3.connect(path("all.db"))
    check("SQLite finds nothing wrong", base.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    for name, columns in DOCUMENT.items():
        if name in ("Whose a row is", "profile", "coverage") or not columns:
            continue
        want = ["trace"] + [column[0] for column in (IDENTITY if name == "traces" else []) + columns if "not in SQLite" not in column[3]]
        want = ["guid" if i == 1 and name == "traces" else one for i, one in enumerate(want)]
        found = [row[1] for row in base.execute(f"PRAGMA table_info({name})")]
        check(f"{name}: docs/tables.md has the columns of the database", found == want, found, want)
    for name in ("processes", "threads", "images", "events", "gaps", "losses"):
        rows = [dict(zip(flat_names(name), row)) for row in from_tsv(table(name, *traces))[1]]
        keys = [column for column, kind, _, what in DOCUMENT[name] if kind not in ("wall", "json") and "SQLite" not in what]
        found = [[None if cell is None else str(cell) for cell in row] for row in
                 base.execute("SELECT %s FROM %s ORDER BY rowid" % (", ".join(f'"{key}"' for key in keys), name))]
        check(f"{name}: the database has the rows of `table`", found == [[row[key] for key in keys] for row in rows], found[:2], rows[:2])
    keys = ("tid", "depth", "function", "image", "build_id", "address", "time", "duration", "self", "instructions", "marks")
    rows = [dict(zip(flat_names("calls"), row)) for row in from_tsv(table("calls", *traces))[1]]
    found = sorted(tuple(str(cell) for cell in row) for row in base.execute("SELECT %s FROM call_list" % ", ".join(keys)))
    check("calls: the view has the rows of `table`", found == sorted(tuple(str(row[key]) for key in keys) for row in rows), found[:2])
    for query in QUERIES:
        check("docs/tables.md: " + " ".join(query.split())[:60], base.execute(query).fetchall() is not None)
    check("a query finds the calls of main", base.execute(QUERIES[1]).fetchall())
    base.close()
    first = read("all.db")
    got = run(DUMP, "sqlite", "-j1", "-o", "all.db", *traces)
    check("a database is not replaced without --force", got.returncode == 4 and "exists; -f replaces it, -o names another" in got.stderr, got)
    got = run(DUMP, "sqlite", "-j1", "--force", "-o", "all.db", *traces)
    check("the same bytes for all threads", got.returncode == 0 and read("all.db") == first, got)
    got = run(DUMP, "sqlite", traces[0])
    check("a database needs a file", got.returncode == 2 and "-o FILE" in got.stderr, got)


def without_code(name):
    """A trace whose program is in none of it and nowhere else: its flow has gaps."""
    with open(os.path.join(PROGRAMS, "bare"), "rb") as source, open(path("gone"), "wb") as target:
        target.write(source.read())
    os.chmod(path("gone"), 0o755)
    run(RECORD, "-q", "--embed=none", "-o", name, "--", path("gone"))
    os.unlink(path("gone"))


def trace_of(name):
    got = run(RECORD, "-q", "-o", name + ".ptl", "--", os.path.join(PROGRAMS, name))
    check(f"{name} is recorded", got.returncode == 0, got)
    return name + ".ptl"


def labels(trace):
    """What is given, and what CI says, only when asked."""
    def said(*options, **environment):
        got = run(DUMP, "table", "traces", "--format", "json", *options, trace, env={**os.environ, **environment})
        return json.loads(got.stdout)["labels"] if got.returncode == 0 else got
    hostile = os.fsdecode(HOSTILE)
    check("labels are those that are given", said("--label", "commit=a=b", "--label", "x.y-Z_1=" + hostile, "--label", "job=") ==
          {"commit": "a=b", "x.y-Z_1": HOSTILE.decode("utf-8", "replace"), "job": ""})
    github = {"GITHUB_ACTIONS": "true", "GITHUB_SHA": "abc", "GITHUB_REF_NAME": "b\"r", "GITHUB_JOB": "j", "CI_COMMIT_SHA": "no"}
    gitlab = {"GITLAB_CI": "true", "CI_COMMIT_SHA": "def", "CI_JOB_NAME": "k", "CI_PIPELINE_ID": "7", "CI_PROJECT_PATH": "a/b"}
    for name in "GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_RUN_ID", "GITHUB_REPOSITORY":
        os.environ.pop(name, None)
    check("nothing is taken from the environment", said(**github) == {})
    check("--label-ci takes GitHub's", said("--label-ci", **github) == {"commit": "abc", "branch": "b\"r", "job": "j"})
    check("--label-ci takes GitLab's; what is given goes before", said("--label-ci", "--label", "job=mine", **gitlab) ==
          {"job": "mine", "commit": "def", "run": "7", "repository": "a/b"})
    for wrong in ("--label-ci",), ("--label", "novalue"), ("--label", "=x"), ("--label", "a b=x"), ("--label", "a=1", "--label", "a=2"):
        got = said(*wrong)
        check(f"{' '.join(wrong)} is a mistake", not isinstance(got, dict) and got.returncode == 2 and "--label" in got.stderr, got)


def names_and_types(name, trace):
    """RowBinaryWithNamesAndTypes: the types are those of the definition."""
    data, at, words = table(name, "--format", "rowbinary-names", trace), 1, []
    for _ in range(2 * data[0]):
        words.append(data[at + 1:at + 1 + data[at]].decode())
        at += 1 + data[at]
    names, types = words[:data[0]], words[data[0]:]
    ddl = re.findall(r'^  "(\w+)" (\S+?),$', output(DUMP, "table", "--ddl", "clickhouse", name), re.M)
    check(f"{name}: RowBinary has names and types before it", names == flat_names(name) and list(zip(names, types)) == ddl and
          data[at:] == table(name, "--format", "rowbinary", trace), names, types, ddl)


def definitions(trace):
    for database in "clickhouse", "postgresql":
        every = output(DUMP, "table", "--ddl", database)
        check(f"--ddl {database} makes all tables", re.findall(r"^CREATE TABLE IF NOT EXISTS \"(\w+)\" \(", every, re.M) == list(TABLES), every)
    got = run(DUMP, "table", "--ddl", "postgresql", "nothing")
    check("no definition of a table that is none", got.returncode == 2 and "profile" in got.stderr, got)
    with open("/dev/full", "wb") as full:
        got = run(DUMP, "table", "--ddl", "postgresql", stdout=full, stderr=-1, capture_output=False)
    check("a definition that cannot be written is a failure", got.returncode == 4, got)
    script = table("images", "--format", "postgresql", trace).decode()
    rows = table("images", "--no-header", trace).decode()
    check("the script for psql has the rows of TSV", f"stdin;\n{rows}\\.\nCOMMIT;\n" in script and script.count("COPY") == 1, script)


def filters(trace):
    tid = int(json_lines("calls", "--json", trace)[-1]["tid"])
    rows = [dict(zip(flat_names("calls"), row)) for row in from_tsv(table("calls", "--tid", str(tid), trace))[1]]
    check("--tid is heeded", rows and {int(row["tid"]) for row in rows} == {tid}, rows[:1])
    rows = [dict(zip(flat_names("images"), row)) for row in from_tsv(table("images", "--image", "libc*", trace))[1]]
    check("--image is heeded", rows and all("libc" in row["path"] for row in rows), rows[:1])
    got = run(DUMP, "table", "nothing", trace)
    check("a table that is none is a mistake", got.returncode == 2 and "profile" in got.stderr, got)


THREADS = trace_of("call_kinds")
BARE = trace_of("bare")
rows_are_right(THREADS)
same_in_all_formats("processes", THREADS, BARE)
filters(THREADS)
labels(BARE)
names_and_types("events", BARE)
names_and_types("images", BARE)
definitions(BARE)
hostile_names("hostile.ptl")
without_code("nocode.ptl")
run(RELOG, "-q", THREADS, "--time", "..1ms", "-o", "part.ptl")
for kind in ("losses", "gaps"):
    check(f"there are {kind}", same_in_all_formats(kind, "part.ptl", "nocode.ptl"))
database(THREADS, "nocode.ptl", "hostile.ptl", "part.ptl")
plan()
