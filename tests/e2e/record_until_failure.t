#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --until-failure: runs, names of traces, files of the user, signals, exit statuses.
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, check, output, path, plan, read, run, scratch, write

write("flaky.sh", "n=$(cat \"$1\" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > \"$1\"; [ $n -lt 4 ] || exit 3\n")


def traces():
    return sorted(name for name in os.listdir(scratch) if name.endswith(".ptl"))


def statuses(name):
    return [json.loads(line)["exit_status"] for line in output(DUMP, "processes", "--json", name).splitlines()]


def clear():
    for name in traces():
        os.unlink(path(name))


got = run(RECORD, "--until-failure", "-o", "a.ptl", "--", "sh", "flaky.sh", "count")
check("the exit status is that of the run that failed", got.returncode == 3, got)
check("the command ran until it failed", int(read("count")) == 4)
check("two traces are kept", traces() == ["a.passed.ptl", "a.ptl"], traces())
check("the trace has the failure", statuses("a.ptl")[0] == 3 and statuses("a.passed.ptl")[0] == 0, statuses("a.ptl"))
check("the message names run and traces", "run 4 failed with status 3" in got.stderr and "a.passed.ptl" in got.stderr and
      "ptl-dump crash a.ptl" in got.stderr, got)

for name in "a.ptl", "a.passed.ptl":
    before = os.stat(path(name)).st_mtime_ns
    got = run(RECORD, "--until-failure", "-o", "a.ptl", "--", "sh", "flaky.sh", "again")
    check(f"{name} of the user is not replaced", got.returncode == 4 and "exists" in got.stderr and
          os.stat(path(name)).st_mtime_ns == before and not os.path.exists(path("again")), got)
    os.unlink(path(name))
clear()
write("a.ptl", "mine")
write("a.passed.ptl", "mine")
got = run(RECORD, "--until-failure", "--force", "-o", "a.ptl", "--", "sh", "flaky.sh", "forced")
check("--force replaces both", got.returncode == 3 and statuses("a.ptl")[0] == 3 and statuses("a.passed.ptl")[0] == 0, got)
clear()

got = run(RECORD, "--until-failure", "--runs", "2", "--", "true")
check("--runs ends without a failure", got.returncode == 0 and "no failure in 2 runs" in got.stderr and traces() == ["true.passed.ptl"], got, traces())
clear()
got = run(RECORD, "--until-failure", "-o", "a.ptl", "--", "sh", "-c", "kill -SEGV $$")
check("a signal is a failure", got.returncode == 128 + signal.SIGSEGV and traces() == ["a.ptl"], got, traces())
clear()
got = run(RECORD, "--until-failure", "-o", "a.ptl", "--", "no-such-program")
check("a command that is not found ends the runs", got.returncode == 127 and not traces(), got)
got = run(RECORD, "--until-failure", "-o", "a.ptl", "--", "timeout", "1", "sleep", "60")
check("a run that hangs fails by timeout", got.returncode == 124 and traces() == ["a.ptl"], got, traces())
clear()


def stopped(number, group):
    """Sends the signal in the second run: to the group as a terminal does, or to the recorder alone."""
    child = subprocess.Popen([RECORD, "--until-failure", "-o", "a.ptl", "--", "sleep", "2"], cwd=scratch, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, text=True, start_new_session=True)
    for _ in range(600):
        if os.path.exists(path("a.passed.ptl")) and os.path.exists(path("a.run.ptl")):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    (os.killpg if group else os.kill)(child.pid, number)
    _, errors = child.communicate(timeout=120)
    return child.returncode, errors


for number, group, label in (signal.SIGINT, True, "Ctrl-C"), (signal.SIGTERM, False, "SIGTERM"):
    status, errors = stopped(number, group)
    check(f"{label}: the exit status tells the signal", status == 128 + number, status, errors)
    check(f"{label}: the traces have their names", traces() == ["a.interrupted.ptl", "a.passed.ptl"], traces(), errors)
    check(f"{label}: both traces are whole", all(json.loads(output(DUMP, "info", "--json", name))["complete"] for name in traces()), errors)
    clear()

for options in (["--runs", "3"], ["--until-failure", "--duration", "1s"], ["--until-failure", "--append", "-o", "a.ptl"],
                ["--until-failure", "--mode", "newfile", "--max-size", "1M"], ["--until-failure", "-o", "-"], ["--until-failure", "--runs", "0"]):
    got = run(RECORD, *options, "--", "true")
    check(f"{' '.join(options)} is refused", got.returncode == 2 and not traces(), got)
got = run(RECORD, "--until-failure")
check("--until-failure needs a command", got.returncode == 2, got)
plan()
