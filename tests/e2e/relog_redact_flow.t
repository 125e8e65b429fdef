#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Redaction leaves the flow of real programs as it was: the hash of every thread's instructions, and what is missing.
import json
import os
import subprocess

from real_programs import COMMANDS, prepare
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, skip, write
from trace_content import survivors

CHECKED = {"ls", "sh", "perl"}


def flow(name):
    """What ran and what is missing, by thread: everything but names."""
    got = run(DUMP, "stats", "--hash", "--json", name)
    if got.returncode:
        raise RuntimeError(got.stderr)
    stats = json.loads(got.stdout)
    for process in stats["processes"]:
        del process["name"]
    return stats


missing = prepare(COMMANDS)
for program, command in COMMANDS.items():
    if program in missing:
        skip(f"{program}: the flow stays", missing[program])
        continue
    recorded = run(RECORD, "-q", "-o", f"{program}.ptl", "--", *command, text=False)
    redacted = run(RELOG, "-q", f"{program}.ptl", "--redact", "all", "--redact", "regex:/home/[a-z]+", "--redact",
                   "text:annabelle", *(["--check"] if program in CHECKED else []), "-o", f"{program}.r.ptl")
    if not check(f"{program}: is recorded and redacted", recorded.returncode == 0 and redacted.returncode == 0,
                 recorded.stderr, redacted.stderr):
        continue
    before, after = flow(f"{program}.ptl"), flow(f"{program}.r.ptl")
    check(f"{program}: the flow stays", before == after and before["instructions"] > 10000,
          {key: (before[key], after[key]) for key in before if before[key] != after[key]})
    os.unlink(path(f"{program}.ptl"))
    os.unlink(path(f"{program}.r.ptl"))

# Code whose data nobody tells from instructions stays as it is, and that is said.
write("data.c", 'const char where[] = "/home/annabelle/secret-project/data.c"; int main(void) { return where[0] != 47; }\n')
compiler = os.environ.get("CC", "gcc").split()
subprocess.run([*compiler, "-O1", "-g", "-Wl,-z,noseparate-code", "-o", path("data"), path("data.c")], check=True)
SECRET = "secret-project"

for embed in ("symbols", "debug"):
    run(RECORD, "-q", "-f", "-o", "data.ptl", "--embed", embed, "--", "./data")
    redacted = run(RELOG, "-f", "data.ptl", "--redact", "paths", "-o", "data.r.ptl")
    check(f"--embed {embed}: the flow stays", flow("data.ptl") == flow("data.r.ptl"), redacted.stderr)
    check(f"--embed {embed}: what stays among instructions is reported, what are data goes",
          survivors("data.ptl", [SECRET]) and bool(survivors("data.r.ptl", [SECRET])) == (embed == "symbols") and
          ("may be instructions" in redacted.stderr) == (embed == "symbols"), redacted.stderr)

# What no engine could decode is counted: engines agree on all of a trace without code, because there is nothing.
run(RELOG, "-q", "-f", "data.ptl", "--drop-code", "-o", "code.ptl")
run(RELOG, "-q", "-f", "code.ptl", "--redact", "path:*", "-o", "none.ptl")
for name, some in (("data", False), ("none", True)):
    verified = json.loads(run(DUMP, "verify", "--json", f"{name}.ptl").stdout)
    stats = flow(f"{name}.ptl")
    check(f"verify of {name}.ptl counts what is not decoded", verified["equal"] and
          verified["pt_bytes"] == stats["pt_bytes"] and (verified["undecoded_bytes"] > 1000) == some and
          verified["undecoded_bytes"] == stats["pt_bytes"] - stats["decoded_bytes"] and
          ("no engine could decode" in run(DUMP, "verify", f"{name}.ptl").stdout) == some, verified, stats)
plan()
