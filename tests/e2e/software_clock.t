#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The runtime of the software source reads the clock in the vdso, without system calls, also in a program that unmaps memory beside
# the vdso, as the loader of glibc does.
import json
from pathlib import Path

from scratch_test import DUMP as dump, RECORD as record, check, plan, run, skip

EVENT = "syscalls:sys_enter_clock_gettime"
SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
HOW = (record, "-f", "-o", "c.ptl", "--source=software", "--timing=mtc", f"-e{EVENT}", "--")

source = SOURCE.read_text(encoding="ascii").strip() if SOURCE.exists() else ""
if source not in ("tsc", "kvm-clock"):
    skip("the clock", f"the vdso may not read the clock source {source!r}")
elif run(*HOW, "true").returncode:
    skip("the clock", "this user may not record system calls, or the software source does not work here")
else:
    done = run(*HOW, "ls", "-l", "/usr")
    clocks = [line for line in run(dump, "events", "--json", "c.ptl").stdout.splitlines()
              if json.loads(line).get("event") == "sys_enter_clock_gettime"]
    check("no system call reads the clock", done.returncode == 0 and not clocks, done, len(clocks))
plan()
