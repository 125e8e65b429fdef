#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump flamegraph: folded stacks hold all that ran, by path; and where exports write.
import json
import os
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, check, output, path, plan, read, run, write

COUNTED = os.path.join(os.environ["PTL_PROGRAMS"], "counted")


def folded(*arguments):
    """{path: number}"""
    found = {}
    for line in output(DUMP, "flamegraph", "--folded", *arguments).splitlines():
        names, number = line.rsplit(" ", 1)
        found[tuple(names.split(";"))] = int(number)
    return found


def report(*arguments):
    return [json.loads(line) for line in output(DUMP, "report", "--json", *arguments).splitlines()]


def paths():
    stacks = folded("a.ptl")
    stats = json.loads(output(DUMP, "stats", "--json", "a.ptl"))
    check("every instruction is in one path", sum(stacks.values()) == stats["instructions"], stats, stacks)
    ran = {}
    for names, number in stacks.items():
        ran[names[-1]] = ran.get(names[-1], 0) + number
    for row in report("a.ptl"):
        if row["function"] and "@" not in row["function"]:
            same = sum(other["self_instructions"] for other in report_rows if other["function"] == row["function"])
            if ran.get(row["function"], 0) != same:
                check(f"{row['function']} has what report says", False, row, ran.get(row["function"]))
                break
    else:
        check("functions have what report says", True)
    check("paths begin with the program", {names[0] for names in stacks} == {"counted"}, stacks)
    check("main calls thrice", any(names[-2:] == ("main", "thrice") for names in stacks), stacks)
    by_time = folded("--by", "time", "a.ptl")
    rows = report("--by", "process", "a.ptl")
    check("times are those of report", sum(by_time.values()) == sum(row["self_time"] for row in rows), by_time, rows)
    reverse = folded("--reverse", "a.ptl")
    turned = {(names[0], *reversed(names[1:])): number for names, number in stacks.items() if number}
    check("reversed, paths are the same the other way round", reverse == turned, set(reverse) ^ set(turned))
    flat = folded("--depth", "1", "a.ptl")
    check("a limited depth loses nothing", sum(flat.values()) == stats["instructions"] and
          all(len(names) <= 2 for names in flat), flat)
    got = run(DUMP, "flamegraph", "--folded", "--depth", "1", "a.ptl")
    check("what is too deep is named", "left out" in got.stderr and "calls too deep" in got.stderr, got.stderr)
    per_thread = folded("--per", "thread", "a.ptl")
    check("a path for each thread", sum(per_thread.values()) == stats["instructions"] and
          all("/" in names[0] for names in per_thread), per_thread)
    same = {run(DUMP, "flamegraph", "--folded", "-j", jobs, "a.ptl").stdout for jobs in "123"}
    check("any number of threads gives the same", len(same) == 1)


def two_traces():
    lines = output(DUMP, "flamegraph", "--folded", "a.ptl", "b.ptl").splitlines()
    first, second = folded("a.ptl"), folded("b.ptl")
    both = {tuple(line.rsplit(" ", 2)[0].split(";")): tuple(map(int, line.rsplit(" ", 2)[1:])) for line in lines}
    wrong = [names for names in set(first) | set(second)
             if both.get(names, (0, 0)) != (first.get(names, 0), second.get(names, 0))]
    check("two traces have a number each", not wrong, wrong[:5])
    got = run(DUMP, "flamegraph", "--folded", "a.ptl", "b.ptl", "a.ptl")
    check("three are too many", got.returncode == 2 and "two traces" in got.stderr, got)


def output_files():
    whole = output(DUMP, "flamegraph", "--folded", "a.ptl")
    got = run(DUMP, "flamegraph", "--folded", "-o", "out.txt", "a.ptl")
    check("-o writes the same to a file", got.returncode == 0 and not got.stdout and read("out.txt").decode() == whole, got)
    check("which only its owner can read", stat.S_IMODE(os.stat(path("out.txt")).st_mode) == 0o600)
    write("out.txt", "mine")
    got = run(DUMP, "flamegraph", "--folded", "-o", "out.txt", "a.ptl")
    check("a file that exists stays", got.returncode == 4 and read("out.txt") == b"mine" and "--force" in got.stderr, got)
    got = run(DUMP, "flamegraph", "--folded", "-f", "-o", "out.txt", "a.ptl")
    check("--force replaces it", got.returncode == 0 and read("out.txt").decode() == whole, got)
    before = read("a.ptl")
    os.link(path("a.ptl"), path("same.ptl"))
    for name in ("a.ptl", "same.ptl"):
        got = run(DUMP, "flamegraph", "--folded", "-f", "-o", name, "a.ptl")
        check(f"the trace is no output: {name}", got.returncode == 2 and read("a.ptl") == before, got)
    got = run(DUMP, "flamegraph", "--folded", "-f", "-o", "b.ptl", "a.ptl", "b.ptl")
    check("nor is the second one", got.returncode == 2, got)
    got = run(DUMP, "flamegraph", "--folded", "-o", "none.txt", "--pid", "1", "a.ptl")
    check("a failure leaves no file", got.returncode == 2 and not os.path.exists(path("none.txt")), got)
    got = run(DUMP, "flamegraph", "--folded", "-o", "none/none.txt", "a.ptl")
    check("a folder that is not there is reported", got.returncode == 4 and "none/none.txt" in got.stderr, got)
    check("nothing temporary is left", not [name for name in os.listdir(path("")) if ".tmp-" in name], os.listdir(path("")))
    got = run(DUMP, "flamegraph", "--folded", "-o", "-", "a.ptl")
    check("- is standard output", got.stdout == whole and not os.path.exists(path("-")), got)


def interrupted():
    os.mkfifo(path("in"))
    out = path("stopped.txt")
    # The second trace never comes, so that the command waits with its output open.
    process = subprocess.Popen([DUMP, "flamegraph", "--folded", "-o", out, path("a.ptl"), path("in")])
    while process.poll() is None and not any(name.startswith("stopped.txt.tmp-") for name in os.listdir(path(""))):
        pass
    process.send_signal(signal.SIGTERM)
    check("an interrupt ends it", process.wait(60) == -signal.SIGTERM)
    check("and leaves nothing", not [name for name in os.listdir(path("")) if name.startswith("stopped")],
          os.listdir(path("")))


for name, rounds in (("a.ptl", "300"), ("b.ptl", "500")):
    got = run(RECORD, "-q", "-o", name, "--", COUNTED, rounds, "9999")
    check(f"{name} is recorded", got.returncode == 0, got)
report_rows = report("a.ptl")
for test in (paths, two_traces, output_files, interrupted):
    test()
plan()
