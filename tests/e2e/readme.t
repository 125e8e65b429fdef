#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# README.md: its examples print what stands there, but for numbers, and the command for each question works.
import os
import re
import shutil
import subprocess

from document_test import run_document
from scratch_test import BIN, check, path, plan, run, skip

with open(os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "README.md"), encoding="utf-8") as file:
    text = file.read()
os.mkdir(path("readme"))
folder = path("readme")
os.mkdir(path("sessions"), 0o700)
os.environ.update(PTL_SESSION_DIR=path("sessions"), XDG_RUNTIME_DIR=path("sessions"))
for name in ("authentication",):
    shutil.copy(os.path.join(os.environ["PTL_PROGRAMS"], name), folder)
gdb = shutil.which("gdb")
if not gdb:
    skip("$ ptl-dump gdb", "there is no gdb")
    text = re.sub(r"^    \$ ptl-dump gdb.*\n(    .*\n)*", "", text, flags=re.M)
run_document(text, folder, (("-- ./crash", 139),))
# ---- from question to command -----------------------------------------------------------------------------------------------

examples = os.path.join(os.path.dirname(BIN), "examples")
shutil.copy(os.path.join(os.environ["PTL_TESTDATA"], "examples", "jit.rules"), folder)
run("gcc", "-g", "-o", "crash", "crash.c", cwd=folder)
environment = {**os.environ, "PATH": BIN + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8", "BROWSER": "true"}
got = run("ptl-record", "-q", "--source=software", "-p", "Example-JIT", "-o", "events.ptl", "--", os.path.join(examples, "jit"), "events",
          cwd=folder, env=environment)
check("the example compiler is recorded", got.returncode == 0, got.stderr)
perf = shutil.which("perf") and run("perf", "record", "-q", "-o", "perf.data", "-e", "cpu-clock", "--", "true", cwd=folder).returncode == 0
kernel = run("ptl-record", "-q", "--source=none", "--flags=process", "-o", "probe.ptl", "--", "true", cwd=folder, env=environment).returncode == 0
NEEDS = ((" gdb ", gdb, "there is no gdb"), ("perf.data", perf, "perf cannot record"),
         ("all.ptl", kernel, "events of the kernel cannot be recorded here"))
FAILS = (("until-failure", 139), ("ptl-dump crash", 1))  # the status of the program; there was a crash
rows = re.findall(r"^\| ([^|]*\?[^|]*) \| (`.*) \|$", text, re.M)
check("the table has questions", len(rows) > 15, rows)
for question, right in rows:
    for command in re.findall(r"`(ptl-[^`]*)`", right):
        missing = next((why for part, there, why in NEEDS if part in command and not there), None)
        if missing:
            skip(f"$ {command}", missing)
            continue
        endless = None
        if "4711" in command:
            endless = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"], cwd=folder)
            command = command.replace("4711", str(endless.pid)).replace("5s", "200ms")
        got = run("/bin/sh", "-c", command, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
        if endless:
            endless.kill()
            endless.wait()
            check("the trace has the name of the process", os.path.exists(os.path.join(folder, "sh.ptl")), os.listdir(folder))
        check(f"{question} $ {command}", got.returncode == next((status for part, status in FAILS if part in command), 0), got.returncode, got.stdout[-500:],
              got.stderr[-500:])
plan()
