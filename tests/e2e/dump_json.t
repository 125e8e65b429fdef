#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/json has a schema of every command's --json, and no command writes a member that its schema does not name.
import itertools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from usage_test import Made  # noqa: E402
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, read, run, scratch, skip, write  # noqa: E402

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
PROGRAMS = os.environ["PTL_PROGRAMS"]
# Commands that take --json for another reason, or write a format of another program.
WITHOUT = {"browse": "shows a screen", "gdb": "starts gdb", "serve": "JSON-RPC", "ctf": "metadata of CTF"}
LINES = 100  # of each output

try:
    from json_schema import Validators
except ImportError:
    skip("schemas", "there is no python3-jsonschema")
    plan()
    raise SystemExit(0)

schemas = Validators(os.path.join(ROOT, "docs/json"))
check("every schema is a schema", len(schemas) > 20)
for name, schema in schemas.schemas.items():
    check(f"{name}: head", schema["$schema"] == "https://json-schema.org/draft/2020-12/schema" and
          schema["$id"] == f"{name}.schema.json" and schema["title"], schema)

commands = output(DUMP, "--list-commands").split()
with_json = [name for name in commands if "--json" in output(DUMP, name, "--completion-words").split()]
check("every command with --json has a schema", {name for name in with_json if name not in schemas} == set(WITHOUT),
      {name for name in with_json if name not in schemas})

# ---- names in the sources ----------------------------------------------------------------------------------------------

# Members of answers of the server, of pictures, of tables and of reports for CI are no output of --json.
OTHER = re.compile(r"dump/(serve|export|browse)/|dump/command/(serve|export/.*)\.c|dump/run/partial|dump/print/lint_ci")
KEY = re.compile(r'(?:common_json|dump_json)_\w+\([^;"]*?, "([a-z_0-9.]+)"')
used = {}
for folder, _, files in os.walk(os.path.join(ROOT, "dump")):
    for file in files:
        name = os.path.relpath(os.path.join(folder, file), ROOT)
        if name.endswith(".c") and not OTHER.match(name):
            with open(os.path.join(ROOT, name), encoding="utf-8") as source:
                for key in KEY.findall(source.read()):
                    used.setdefault(key, name)
members = schemas.members()
unknown = {key: name for key, name in used.items() if key not in members}
check("each name of a member in the sources is in a schema", len(used) > 200 and not unknown, unknown)

# ---- outputs -----------------------------------------------------------------------------------------------------------

write("fails.c", """
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
int main(void) { for (unsigned i = 1; i <= 40; i++) work(i % 10 == 0 ? 5000 : 100); abort(); }
""")
output("gcc", "-g", "-O1", "-o", "fails", path("fails.c"))
for name, command in (("fails", ["./fails"]), ("threads", [f"{PROGRAMS}/threads"]), ("forks", [f"{PROGRAMS}/fork_no_exec"]),
                      ("signals", [f"{PROGRAMS}/signals"])):
    run(RECORD, "-q", "--source", "software", "-o", f"{name}.ptl", "--", *command)
output(RECORD, "-q", "--source", "software", "-p", "PTL-Test-*", "-o", "events.ptl", "--", f"{PROGRAMS}/provider_writer", "levels",
       "count=20", "threads=2,3", "redefine=made")
output(RELOG, "-q", "threads.ptl", "--time", "1ms..2ms", "-o", "cut.ptl")
output(RELOG, "-q", "forks.ptl", "events.ptl", "--machine", "events=other", "-o", "merged.ptl")
made = Made(100000)
for pid in (7, 8):
    made.process(pid, f"p{pid}")
for start in range(0, 90000, 10000):
    made.switch(start + 1000, 0, 0, 0, 7)
    made.wake(start + 3000, 0, 7, 8)
    made.switch(start + 5000, 0, 7, 1, 8)
    made.wake(start + 6000, 0, 8, 7)
    made.switch(start + 8000, 0, 8, 0, 7)
    made.switch(start + 9000, 0, 7, 2, 0)
made.write("made.ptl")
data = bytearray(read("threads.ptl"))
middle = len(data) * 3 // 4
data[middle:middle + 500] = bytes(byte ^ 0x5a for byte in data[middle:middle + 500])
write("damaged.ptl", bytes(data))
TRACES = ("fails", "events", "cut", "merged", "damaged", "made")
VIEWS = (
    ("info", "info"), ("info", "info", "--check"), ("crash", "crash"), ("processes", "processes", "--threads"), ("images", "images"),
    ("images-unmapped", "images", "--unmapped"), ("events", "events"), ("events", "events", "--stacks", "-v", "--absolute"),
    ("events-count", "events", "--count"), ("events-tree", "events", "--tree"), ("cpu", "cpu"), ("io", "io"), ("packets", "packets"),
    ("flow", "flow"), ("flow", "flow", "--source", "--events", "--bounds"), ("flow", "flow", "--level", "insn"),
    ("flow", "flow", "--level", "branch", "--merge"), ("stats", "stats", "--branches", "--hash"), ("calls", "calls", "--events"),
    *(("report", "report", "--by", what) for what in ("function", "image", "line", "inline", "process", "thread")),
    ("coverage", "coverage"), ("coverage-uncovered", "coverage", "--uncovered"), ("verify", "verify"), ("lint", "lint"))
OF_FUNCTION = (("graph", "graph"), ("latency", "latency"), ("latency", "latency", "--instructions"), ("annotate", "annotate"),
               ("why", "why", "--slowest", "10%", "--instructions"))
seen = {}


def validate(schema, *arguments):
    """The first lines: the command ends when nobody reads on."""
    wrong, count, line = None, 0, ""
    with subprocess.Popen([DUMP, *arguments], cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as command:
        for line in itertools.islice(command.stdout, LINES):
            count += 1
            wrong = wrong or schemas.wrong(schema, json.loads(line))
            if wrong:
                break
        command.stdout.close()
    seen[schema] = seen.get(schema, 0) + count
    check(f"{' '.join(arguments)}: {schema}.schema.json", wrong is None, wrong, line if wrong else "")


for trace in TRACES:
    for schema, command, *options in VIEWS:
        validate(schema, command, "--json", *options, f"{trace}.ptl")
for trace, function in (("fails", "work"), ("threads", "main"), ("forks", "main")):
    for schema, command, *options in OF_FUNCTION:
        validate(schema, command, "--json", *options, function, f"{trace}.ptl")
# Members that only some traces and options have: shares as limits, lines without times, threads that nobody knows.
validate("lint", "lint", "--json", "--limit", "decoded=99.5", "threads.ptl")
run(RECORD, "-q", "-f", "--source", "software", "--timing", "none", "-o", "untimed.ptl", "--", "./fails")
validate("why", "why", "--json", "--slowest", "10%", "--instructions", "work", "untimed.ptl")
check("a call of an unknown thread has its CPU", schemas.wrong("calls", {
    "type": "stack", "pid": None, "tid": None, "cpu": 1, "time": None, "stack": 1}) is None)
validate("diff", "diff", "--json", "threads.ptl", "forks.ptl")
validate("diff", "diff", "--json", "--slower", "threads.ptl", "fails.ptl")
validate("diff-first", "diff", "--json", "--first", "threads.ptl", "signals.ptl")
validate("cpu", "cpu", "--json", "--by", "slice", "made.ptl")
# open needs a browser.
check("every schema has seen output", set(schemas) - set(seen) <= {"open"} and
      all(count or name in ("events-tree", "io", "images-unmapped") for name, count in seen.items()), seen)
for wrong in ({"time": "1"}, {"function": "f"}, {}):
    check(f"a wrong line is refused: {wrong}", schemas.wrong("calls", {"type": "call", **wrong}) is not None)
plan()
