#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump browse in a terminal of tmux: what it shows is what the other commands say.
import json
import os
import re
import shlex
import shutil
import subprocess
import time

from scratch_test import DUMP, RECORD, check, output, path, plan, run, skip, write

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "calls")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
ENVIRONMENT["LC_ALL"] = "C.UTF-8"


def tmux(*arguments):
    # By a short name: the path of a socket may not be long.
    return run("tmux", "-f", "tmux.conf", "-S", "socket", *arguments, env=ENVIRONMENT)


def screen():
    return tmux("capture-pane", "-p").stdout.rstrip("\n").split("\n")


def press(*keys, until):
    """Presses keys, and gives the screen as soon as it is as expected and drawn to its end, or what it is then."""
    for key in keys:
        tmux("send-keys", *([key] if len(key) > 1 else ["-l", key]))
    end = time.monotonic() + 120
    before = None
    while not (until(lines := screen()) and lines == before) and time.monotonic() < end:
        before = lines
        time.sleep(0.05)
    return lines


def head(words):
    return lambda lines: words in lines[0]


def cursor_line(lines, name):
    return next((line for line in lines[2:] if re.search(rf"[-+ ] {re.escape(name)}  \(", line)), "")


def last(words):
    return lambda lines: words in lines[-1]


done = run(DUMP, "browse", "none.ptl")
check("a missing file is reported", done.returncode == 3 or "none.ptl" in done.stderr, done)
output(RECORD, "-q", "-f", "--clock=virtual", "-o", "calls.ptl", "--", PROGRAM, "calls.log", os.path.join(os.environ["PTL_PROGRAMS"], "libcalls.so"))
if "browse" not in output(DUMP, "--list-commands").split():
    skip("browse", "ptl-dump was built without ncurses")
    plan()
    raise SystemExit
done = run(DUMP, "browse", "calls.ptl")
check("without a terminal it says what to do", done.returncode == 2 and "needs a terminal" in done.stderr and
      not done.stdout, done)
master, slave = os.openpty()
try:
    done = subprocess.run([DUMP, "browse", path("calls.ptl")], stdin=slave, stdout=slave, stderr=subprocess.PIPE, text=True, timeout=120,
                          env=ENVIRONMENT | {"TERM": "dumb"})
except subprocess.TimeoutExpired as error:
    done = error
check("a terminal that cannot move its cursor is refused", getattr(done, "returncode", None) == 2 and "move its cursor" in done.stderr, done)
os.close(slave)
os.close(master)
if not shutil.which("tmux"):
    skip("browse in a terminal", "there is no tmux")
    plan()
    raise SystemExit

write("tmux.conf", "set -g default-terminal screen\nset -g remain-on-exit on\nset -g status off\n")
report = [json.loads(line) for line in output(DUMP, "report", "--json", "calls.ptl").splitlines()]
command = f"{shlex.quote(DUMP)} browse {shlex.quote(path('calls.ptl'))}; echo status $?"
done = tmux("new-session", "-d", "-x", "160", "-y", "40", command)
try:
    lines = press(until=head("processes and threads"))
    threads = {row["tid"] for row in map(json.loads, output(
        DUMP, "report", "--by", "thread", "--json", "calls.ptl").splitlines())}
    check("it begins with processes and threads", all(any(re.search(rf"\b{tid}\b", line) for line in lines)
                                                      for tid in threads), done, *lines)

    lines = press("r", until=head("report of all"))
    top = [line for line in lines[2:-1] if line.strip()]
    check("the report has the rows of report, in its order", top and all(
        f"  {row['function'] or '+' + row['address']}  (" in line and f"{row['self_instructions']:,}" in line
        for row, line in zip(report, top)), *lines)
    calls = sorted(report, key=lambda row: -row["calls"])
    lines = press("o", "o", "o", "o", "o", "o", until=lambda lines: "order: calls" in lines[1])
    check("o changes the order", f"{calls[0]['calls']:,}" in lines[2], *lines[:4])

    lines = press("/", *"fibonacci", "Enter", until=last("Enter slowest"))
    lines = press("Enter", until=lambda lines: "calls of all" in lines[0] and "slowest" in lines[-1])
    slowest = json.loads(output(DUMP, "latency", "--slowest", "1", "--json", "fibonacci", "calls.ptl"))["slowest"][0]
    shown = cursor_line(lines, "fibonacci")
    check("Enter goes to the slowest call", f"{slowest['time'] / 1e6:.6f}" in shown and
          f" {slowest['instructions']} " in shown, slowest, *lines)
    check("with its callers around it", any("+ fibonacci" in line or "- fibonacci" in line for line in lines) and
          any("- main" in line or "- start_thread" in line or "- __libc_start" in line for line in lines), *lines)

    tree = [row for row in map(json.loads, output(
        DUMP, "calls", "--json", "--depth", "2", "calls.ptl").splitlines()) if row["type"] == "call" and row["depth"] == 1]
    lines = press("g", until=lambda lines: lines[2].startswith(("- ", "+ ")))
    before = lines
    lines = press("Left", until=lambda lines: lines[2].startswith("+ "))
    check("Left closes", lines[2].startswith("+ ") and lines[3] != before[3], *lines[:6])
    lines = press("Right", until=lambda lines: lines[2].startswith("- "))
    check("Right opens", lines[2].startswith("- ") and len(lines) > 3 and "(" in lines[3], *lines[:6])
    lines = press("/", *"sort", "Enter", until=lambda lines: cursor_line(lines, "sort"))
    check("a search opens what the function lies in", cursor_line(lines, "sort"), tree[:1], *lines)
    lines = press("/", *"nothing_like_it", "Enter", until=last("no further"))
    check("a function that is not there is reported", "nothing_like_it" in lines[-1], lines[-1])
    lines = press("s", until=lambda lines: any(line.startswith("--- ") for line in lines))
    pane = next((line for line in lines if line.startswith("--- ")), "")
    check("source lines stand beside it", "sort" in pane and ("calls.c:" not in pane or any(
        re.match(r" *\d+ > ", line) for line in lines)), *lines)
    tmux("resize-window", "-x", "70", "-y", "12")
    lines = press(until=lambda lines: len(lines) <= 12 and "calls of all" in lines[0] and "arrows open" in lines[-1])
    check("it fits into another size", all(len(line) <= 70 for line in lines) and "calls of all" in lines[0], *lines)
    lines = press("?", until=head("keys"))
    check("? tells keys", any("source" in line for line in lines), *lines)
    press("x", until=head("calls of all"))
    press("t", until=head("processes and threads"))
    lines = press("q", until=lambda lines: any("status 0" in line for line in lines))
    check("q ends it, with the terminal as it was", any("status 0" in line for line in lines), *lines)
finally:
    tmux("kill-server")
plan()
