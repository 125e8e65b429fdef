#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump annotate: counts of instructions and branches that are known, counts of lines as gcov has them.
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, skip

SOURCE = os.path.join(os.environ["PTL_TESTDATA"], "programs", "counted.c")
TRACES = os.environ.get("PTL_SHARED_TRACES", "")
EVERYTHING = "0x0..0xffffffffffff"
ROUNDS = 1000


def annotate(*arguments):
    got = run(DUMP, "annotate", "--json", *arguments)
    check("annotate %s" % " ".join(arguments), got.returncode == 0 and not got.stderr, got.stderr)
    return [json.loads(line) for line in got.stdout.splitlines()]


def build(name, *options):
    got = run("gcc", "-g", "-o", path(name), *options, SOURCE)
    check(f"{name} is built", got.returncode == 0, got.stderr)
    return path(name)


def record(program, *arguments):
    name = os.path.basename(program) + ".ptl"
    got = run(RECORD, "-q", "-o", name, "--", program, *arguments)
    check(f"{name} is recorded", got.returncode == 0, got)
    return name


def known_counts(name):
    """Of the functions of counted.c, which is_third calls for 334 of 1000 numbers."""
    functions = {one["function"]: one for one in annotate("--image", "plain", "*", name)}
    calls = {key: functions[key]["instructions"][0]["count"] for key in ("main", "is_third", "step", "twice", "thrice", "choose")}
    third = (ROUNDS + 2) // 3
    twelfth = (ROUNDS + 11) // 12
    want = {"main": 1, "is_third": ROUNDS, "step": third, "twice": third - twelfth, "thrice": twelfth, "choose": ROUNDS}
    check("functions ran as often as they were called", calls == want, calls, want)
    branches = {(one["taken"], one["not_taken"]) for one in functions["is_third"]["instructions"] if "taken" in one}
    check("a branch was taken as often as the condition says",
          branches == {(ROUNDS - third, third)} or branches == {(third, ROUNDS - third)}, branches)
    targets = [one["targets"] for one in functions["step"]["instructions"] if "targets" in one]
    check("an indirect call led to both functions", [[(one["symbol"], one["count"]) for one in targets[0]]] ==
          [[("twice", third - twelfth), ("thrice", twelfth)]], targets)
    unexecuted = [one for one in functions["choose"]["instructions"] if not one["count"]]
    check("what did not run is there, too", unexecuted, functions["choose"])
    for one in functions.values():
        if one["function"].startswith("_"):
            continue
        at = int(one["address"], 16)
        for instruction in one["instructions"]:
            if int(instruction["address"], 16) != at:
                break
            at += instruction["size"]
        check(f"{one['function']}: every byte is in an instruction", at == int(one["address"], 16) + one["size"], one)


def as_gcov(name):
    if not shutil.which("gcov"):
        skip("lines as gcov counts them", "gcov is not installed")
        return
    covered = build("covered", "-O0", "--coverage")
    run(covered, str(ROUNDS))
    got = run("gcov", "covered-counted.gcda")
    check("gcov shows its counts", got.returncode == 0, got)
    want = {}
    for line in read("counted.c.gcov").decode().splitlines():
        count, number, _ = line.split(":", 2)
        if count.strip("* -"):
            want[int(number)] = 0 if "#" in count else int(count.strip("* "))
    lines = {}
    for function in annotate("--image", "plain", "*", name):
        for one in function["lines"]:
            if one["file"] == SOURCE:
                lines[one["line"]] = lines.get(one["line"], 0) + one["count"]
    # gcov counts a function at its name, the debug information at its bracket; labels have no code.
    both = set(lines) & set(want)
    wrong = {number: (lines[number], want[number]) for number in both if lines[number] != want[number]}
    check("lines have gcov's counts", len(both) > 25 and not wrong, wrong)


def marks(function, name, expected):
    """Colours, by how often an instruction ran."""
    names = {"\x1b[31m": "red", "\x1b[1m": "bold", "\x1b[2m": "dim", None: ""}
    lines = run(DUMP, "annotate", "--color", "always", "--image", "plain", function, name).stdout.splitlines()
    instructions = annotate("--image", "plain", function, name)[0]["instructions"]
    most, found, wrong = max(one["count"] for one in instructions), set(), []
    for one in instructions:
        count, address = one["count"], one["address"].removeprefix("0x").lstrip("0")
        line = [line for line in lines if re.match(rf"(\x1b\[\d+m)? *[\d,]* +{address}  ", line)][0]
        mark = names[re.match(r"(\x1b\[\d+m)?", line).group(1)]
        found.add(mark)
        if mark != ("dim" if not count else "" if most == 1 else "red" if 2 * count >= most else "bold" if 10 * count >= most else ""):
            wrong.append((line, count, most))
    check(f"{function} is marked by how often its instructions ran", not wrong and expected <= found <= expected | {"dim"}, wrong, found)


def in_text(name):
    got = run(DUMP, "annotate", "is_third", name)
    lines = got.stdout.splitlines()
    check("text begins with the function", lines[0].startswith("is_third (plain): ") and lines[0].endswith(" instructions"), got)
    check("text has the source", any("counted.c:" in line and "if (number % 3 == 0)" in line for line in lines), got)
    check("text has the branch", any("; taken 666, not taken 334" in line or "; taken 334, not taken 666" in line
                                     for line in lines), got)
    got = run(DUMP, "annotate", "--color", "always", "is_third", name)
    for function, expected in (("is_third", {"red", "bold"}), ("choose", {"red", "bold", "dim"}), ("main", {"red", "bold", ""}),
                               ("_start", {""})):
        marks(function, name, expected)
    got = run(DUMP, "annotate", "nothing_at_all", name)
    check("a name that nothing has is a mistake", got.returncode != 0 and "nothing_at_all" in got.stderr, got)
    for arguments in ((), ("main",), ("main", name, name), ("0x10..0x5", name), ("0x..", name)):
        got = run(DUMP, "annotate", *arguments)
        check("annotate %s is a mistake" % " ".join(arguments), got.returncode in (2, 3, 4) and got.stderr, got)


def shown_names(name):
    """What report calls a function is what annotate finds it by, though the linker's name may have a version."""
    rows = [json.loads(line) for line in run(DUMP, "report", "--json", name).stdout.splitlines()]
    names = sorted({row["function"] for row in rows if row["function"] and row["self_instructions"] and "libc" in row["image"]})
    missing = [one for one in names if run(DUMP, "annotate", "--executed", one, name).returncode]
    check("annotate finds functions of libc by the names that report shows", names and not missing, missing)


def sums(name, *parts):
    """All that ran, function or not, is what stats counts; for any number of threads, engine, and part of the trace."""
    for part in ((), *parts):
        stats = json.loads(run(DUMP, "stats", "--branches", "--json", *part, name).stdout)
        outputs = {run(DUMP, "annotate", "--executed", "--json", *how, *part, EVERYTHING, name).stdout
                   for how in (("-j1",), ("-j2",), ("-j3",), ("--engine", "libipt"))}
        check(f"{name} {part}: the same for all threads and engines", len(outputs) == 1, *outputs)
        ranges = [json.loads(line) for line in outputs.pop().splitlines()]
        check(f"{name} {part}: all instructions", sum(one["executed"] for one in ranges) == stats["instructions"], stats)
        branches = [one for function in ranges for one in function["instructions"] if "taken" in one]
        all_taken = sum(one["taken"] for one in branches), sum(one["not_taken"] for one in branches)
        check(f"{name} {part}: not taken as stats has it", all_taken[1] == stats["not_taken"] and
              all_taken[0] <= stats["taken"], all_taken, stats)
        check(f"{name} {part}: each went one way or the other",
              sum(one["count"] for one in branches) - sum(all_taken) in range(0, 3 + stats["gaps"]), all_taken)


def hardware():
    for folder in sorted(glob.glob(TRACES + "/*/trace.pt")) if TRACES else []:
        folder, name = os.path.dirname(folder), os.path.basename(os.path.dirname(folder)) + ".ptl"
        run(RELOG, "-q", "--pt", folder + "/trace.pt", "--memory", folder + "/memory.raw", "--memory-map",
            folder + "/memory.map", "-o", name)
        sums(name)
    if not TRACES:
        skip("traces of real CPUs", "there are none")


program = build("plain", "-O0")
trace = record(program, str(ROUNDS))
known_counts(trace)
as_gcov(trace)
in_text(trace)
shown_names(trace)
sums(trace, ("--time", "..1ms"), ("--time", "1ms.."))
sums(record(os.path.join(os.environ["PTL_PROGRAMS"], "threads")))
sums(record(os.path.join(os.environ["PTL_PROGRAMS"], "jit")))
sums(record(os.path.join(os.environ["PTL_PROGRAMS"], "signals")))
hardware()
plan()
