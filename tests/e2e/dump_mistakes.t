#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What is asked of ptl-dump by mistake: it is said, and nothing is shown in its place.
import os

from scratch_test import DUMP, RECORD, check, output, path, plan, run, write

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "branches")


def refused(name, words, *texts):
    """Exit status 2, nothing on standard output, and a message with the texts."""
    done = run(DUMP, *words)
    check(name, done.returncode == 2 and not done.stdout and all(text in done.stderr for text in texts), done)


output(RECORD, "-q", "-o", "a.ptl", "--", PROGRAM)

# A device without end has to be found out by its first bytes.
done = run(DUMP, "info", "/dev/zero", timeout=60)
check("what is no trace and has no end", done.returncode == 3 and "/dev/zero: not a trace file" in done.stderr, done)

known = {line.split()[0] for line in output(DUMP, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines()}
for word, command in (("script", "events"), ("backtrace", "crash"), ("top", "browse"), ("dumper", "events"), ("reprot", "report")):
    refused(f"the word {word} of other tools leads to {command}", [word, "a.ptl"], f"there is no command '{word}'", f"try: ptl-dump {command}\n")
    check(f"{command} is a command", command in known, known)

for order in "calls", "total", "self-time":
    refused(f"report --by line has no {order}", ["report", "--by", "line", "--sort", order, "a.ptl"],
            f"--by line has no {order}", "self, self-instructions or name")
refused("report --by inline has no times", ["report", "--by", "inline", "--sort", "total-time", "a.ptl"],
        "--by inline has no total-time")
for order in "self", "total-instructions", "name":
    done = run(DUMP, "report", "--by", "inline", "--sort", order, "a.ptl")
    check(f"but {order}", done.returncode == 0 and done.stdout, done)

refused("a function that did not run", ["graph", "nosuch", "a.ptl"], "no function that ran is called 'nosuch'", "--by inline")
refused("a function whose name is near", ["calls", "--function", "mian", "a.ptl"], "(did you mean 'main'?)")
refused("the same of annotate", ["annotate", "mian", "a.ptl"], "(did you mean 'main'?)")
refused("and of an image", ["calls", "--image", "branhces", "a.ptl"], "(did you mean 'branches'?)")
for option in "--function", "--from", "--until":
    refused(f"calls {option} of no function", ["calls", option, "nosuch", "a.ptl"], f"{option}: no function that ran is called 'nosuch'")
before, whole = (output(DUMP, "calls", *more, "a.ptl").splitlines() for more in (["--until", "main"], []))
check("calls --until: the first calls", 0 < len(before) < len(whole) and {*before} <= {*whole} and
      not any("main  (branches)" in line for line in before), before[-3:])
# All commands with all of these options: a selection that matches nothing is an error, and nothing is printed.
TYPOS = {"--pid": ("777777", "there is no process 777777 in a.ptl"), "--tid": ("777777", "there is no thread 777777 in a.ptl"),
         "--cpu": ("9999", "there is no CPU 9999 in a.ptl"), "--process": ("nosuch", "no process in a.ptl ran 'nosuch'"),
         "--image": ("nosuch", "no image in a.ptl is called 'nosuch'")}
OPERANDS = {"annotate": ["main"], "graph": ["main"], "latency": ["main"], "why": ["main"], "table": ["calls"], "diff": ["a.ptl"]}
tried = set()
for line in output(DUMP, "--help").split("Commands:\n")[1].split("\n\n")[0].splitlines():
    command = line.split()[0] if line.startswith("  ") and line[2:3].isalpha() else ""
    told = output(DUMP, command, "--help") if command and command not in ("open", "browse", "help") else ""
    for option, (value, text) in TYPOS.items():
        if option + " " in told:
            tried.add((command, option))
            more = ["-o", path("typo")] if command in ("ctf", "sqlite", "perf") else []
            refused(f"{command} {option} of none", [command, option, value, *more, *OPERANDS.get(command, []), "a.ptl"], text)
for some in ("autofdo", "--image"), ("packets", "--pid"), ("packets", "--cpu"), ("table", "--tid"), ("diff", "--image"), ("events", "--process"):
    check(f"{' '.join(some)} is among them", some in tried, sorted(tried))
refused("each name of --image is one of an image", ["flow", "--image", "branches", "--image", "branhces", "a.ptl"], "(did you mean 'branches'?)")
check("an image that one of two traces has can be compared",
      run(DUMP, "diff", "--image", "branches", "a.ptl", "a.ptl").returncode == 0)
refused("what is like no name", ["annotate", "nosuch", "a.ptl"], "nothing called 'nosuch' has run")
refused("one trace is not compared", ["diff", "a.ptl"], "ptl-dump diff A.ptl B.ptl")
refused("an engine is not held against itself", ["verify", "--against", "native", "a.ptl"], "compared with itself")
refused("a CTF trace has no standard output", ["ctf", "-o", "-", "a.ptl"], "- is no folder")
check("and no folder of that name", not os.path.exists(path("-")))

done = run(DUMP, "--json", "stats", "a.ptl")
check("an option before the command", done.returncode == 2 and "try: ptl-dump stats --json ..." in done.stderr, done)
output(DUMP, "report", "--shard", "1/2", "--partial", "1.part", "a.ptl")
done = run(DUMP, "stats", "1.part")
check("a partial result is no trace", done.returncode == 3 and "a partial result" in done.stderr and "try: ptl-dump merge" in done.stderr, done)

for words in ["--memory", "3G"], ["--scratch", "."], ["--account=me"], ["--jobs-script", "--time-limit=1"]:
    refused(f"{' '.join(words)} without jobs of Slurm", ["stats", *words, "a.ptl"], "jobs of --slurm")
refused("--shards without jobs", ["stats", "--shards", "3", "a.ptl"], "--shards is of --slurm and --jobs-script", "--shard I/N")

for command, operand in ("graph", "main"), ("latency", "main"), ("why", "main"), ("annotate", "main"), ("table", "calls"):
    refused(f"{command}: the FILE comes last", [command, "a.ptl", operand], f"there is no file '{operand}'",
            f"ptl-dump {command} {operand} a.ptl")
refused("an operand that is a file, of a FILE that is there", ["graph", "a.ptl", "a.ptl"], "no function that ran")

for words in ["--task", "zz"], ["--opcode", "zz"], ["-w", 'ProcessId == "abc"'], ["--time", "..1ns"]:
    done = run(DUMP, "events", *words, "a.ptl")
    check(f"events {' '.join(words)}: that there is none is said", done.returncode == 0 and
          "there is no event to show" in done.stderr, done)
refused("one = compares nothing", ["events", "-w", "ProcessId = 3", "a.ptl"], "1:11: expected an operator, found '=': == compares")
refused("nor in views of calls", ["calls", "-w", "depth = 3", "a.ptl"], "== compares")

done = run(DUMP, "stats", "--debug-path", "nowhere:.:", "a.ptl")
check("--debug-path: a folder that is not there is named", done.returncode == 0 and done.stdout and
      done.stderr == "ptl-dump: warning: --debug-path: there is no folder nowhere\n", done)
done = run(DUMP, "stats", "a.ptl", env=dict(os.environ, PTL_DEBUG_PATH="nowhere"))
check("but not one of the environment", done.returncode == 0 and not done.stderr, done)

write("own.c", "int main(void)\n{\n\tfor (volatile int i = 0; i < 99999; i++)\n\t\t;\n}\n")
output("gcc", "-g", "-O0", "-o", path("own"), path("own.c"))
output(RECORD, "-q", "-o", "own.ptl", "--", path("own"))
for words in ["annotate", "main", "own.ptl"], ["html", "own.ptl"]:
    os.utime(path("own.c"), (1, 1))
    done = run(DUMP, *words)
    check(f"{words[0]}: a source that is older than the trace", done.returncode == 0 and "volatile int" in done.stdout and
          not done.stderr, done)
    os.utime(path("own.c"))
    done = run(DUMP, *words)
    check("and one that is newer", done.returncode == 0 and "volatile int" in done.stdout and
          f"{path('own.c')} is newer than the trace: its lines may not be those that ran" in done.stderr, done.stderr)
plan()
