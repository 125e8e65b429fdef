#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/tour.md: its commands are run as they stand there, and print what stands there, but for numbers and what "..." stands for.
import os
import re

from scratch_test import BIN, check, path, plan, run

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
FAILS = {"./sum 1 14 3": 1, "diff --first": 1}  # commands that end with another status than 0


def steps(text):
    """Commands, with the lines that they print."""
    found = []
    for line in re.findall(r"^ {4}(.*)$", text, re.M):
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith(">") and found and "<<" in found[-1][0]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        elif found:
            found[-1][1].append(line)
    return found


def plain(line):
    """Without numbers and widths of columns: offsets in functions are the compiler's."""
    line = re.sub(r"\b[0-9a-f]*\d[0-9a-f,.]*(?: (?:ns|us|ms|s)\b)?|\+0x[0-9a-f]+", "N", line)
    return re.sub(r"(?:N ?)+", "N", " ".join(line.split()))


def as_written(written, printed):
    """Whether the lines are there in this order, with others only where there is a "..."."""
    printed = [plain(line) for line in printed if line.strip()]
    at, free = 0, False
    for line in map(plain, written):
        if line == "...":
            free = True
            continue
        found = next((i for i in range(at, len(printed)) if printed[i] == line), None)
        if found is None or found != at and not free:
            return False
        at, free = found + 1, False
    return free or at == len(printed)


with open(os.path.join(ROOT, "docs", "tour.md"), encoding="utf-8") as file:
    tour = steps(file.read())
check("the tour has commands", len(tour) > 10)
os.mkdir(path("tour"))
environment = {**os.environ, "PATH": BIN + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}
for command, written in tour:
    got = run("/bin/sh", "-c", command, cwd=path("tour"), env=environment)
    wanted = next((status for part, status in FAILS.items() if part in command), 0)
    title = command.splitlines()[0]
    check(f"$ {title}", got.returncode == wanted and as_written(written, (got.stdout + got.stderr).splitlines()), got.returncode,
          *written, "printed:", got.stdout[-1500:], got.stderr[-500:])
plan()
