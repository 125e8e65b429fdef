#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/from-etw.md: its commands work in their order; and the unit that records from boot does.
import json
import os
import re
import shutil
import subprocess
import sys

from scratch_test import BIN, DUMP, RECORD, check, output, path, plan, run, skip

DOCS = os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "docs")
ENVIRONMENT = {**os.environ, "PATH": BIN + ":/usr/bin:/bin", "PTL_SESSION_DIR": path("sessions"), "XDG_RUNTIME_DIR": path("sessions")}


def shell(command):
    return run("/bin/sh", "-c", command, cwd=path(""), env=ENVIRONMENT)


os.makedirs(path("sessions"), mode=0o700, exist_ok=True)
shutil.copy("/bin/true", path("app"))
got = shell("ptl-record -q --flags process --source none -o probe.ptl -- true")
if got.returncode:
    skip("the commands of docs/from-etw.md", "events of the kernel cannot be recorded here: " + " ".join(got.stderr.split())[:100])
    plan()
    sys.exit()

# ---- the table ------------------------------------------------------------------------------------------------------------

with open(os.path.join(DOCS, "from-etw.md"), encoding="utf-8") as file:
    rows = re.findall(r"^\| (.*) \| (.*) \|$", file.read(), re.M)
commands = [command for _, right in rows for command in re.findall(r"`(ptl-[^`]*)`", right)]
check("the table has commands", len(commands) > 20, commands)
for command in commands:
    got = shell(command)
    check(f"$ {command}", got.returncode == 0, got.stdout[-300:], got.stderr[-500:])
events = {json.loads(line)["event"] for line in output(DUMP, "events", "--json", path("a.ptl")).splitlines()}
check("--flags Latency records switches, samples and processes", {"sched_switch", "Sample", "Process/DCStart"} <= events, sorted(events))
check("the snapshot and both rings are traces", all(os.path.getsize(path(name)) for name in ("now.ptl", "cut.ptl", "ab.ptl")))

# ---- from boot ------------------------------------------------------------------------------------------------------------

with open(os.path.join(DOCS, "systemd", "ptl-boot.service"), encoding="utf-8") as file:
    unit = file.read()
if shutil.which("systemd-analyze"):
    os.mkdir(path("unit"))
    with open(path("unit/ptl-boot.service"), "w", encoding="utf-8") as file:
        file.write(unit.replace("=ptl-record ", f"={RECORD} "))
    got = run("systemd-analyze", "--man=no", "verify", path("unit/ptl-boot.service"))
    about = [line for line in (got.stdout + got.stderr).splitlines() if "ptl-boot" in line]
    check("systemd takes the unit", not about, about)
start, stop = (re.search(rf"^{name}=(.*)$", unit, re.M).group(1).replace("/var/log/ptl", path("log")) for name in ("ExecStart", "ExecStop"))
os.mkdir(path("log"))
got = shell(start)
check("the unit's command starts a session and returns", got.returncode == 0 and '"kernel"' in shell("ptl-record list --json").stdout, got.stderr)
child = subprocess.run(["/bin/true"], check=True)
got = shell(stop)
files = [name for name in os.listdir(path("log")) if name.endswith(".ptl")]
check("the other one ends it", got.returncode == 0 and len(files) == 1, got.stderr, files)
names = [json.loads(line)["name"] for line in output(DUMP, "processes", "--json", os.path.join(path("log"), files[0])).splitlines()]
check("the trace has what ran", "true" in names, names[-20:])
plan()
