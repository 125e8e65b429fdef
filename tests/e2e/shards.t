#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Partial results: however the work on a trace is cut into shards, and in whatever order these are merged, the output is the same.
import os
import random
import shutil

from scratch_test import DUMP, RECORD, check, output, path, plan, read, run, scratch, skip, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
SEED = int(os.environ.get("PTL_SEED", random.randrange(1 << 32)))
chance = random.Random(SEED)
print(f"# PTL_SEED={SEED}")


def record(program):
    """Short segments, so that there are many edges between them."""
    run(RECORD, "-q", "-o", f"{program}.ptl", "--clock=virtual", "--psb-period", "2K", "--embed", "debug", "--",
        os.path.join(PROGRAMS, program))
    return f"{program}.ptl"


def shards(count, prefix, command, *operands):
    """The command's partial results; a shard says nothing."""
    parts = [f"{prefix}{i}.part" for i in range(1, count + 1)]
    for i, part in enumerate(parts, 1):
        said = output(DUMP, *command, "-j1", "--shard", f"{i}/{count}", "--partial", part, *operands)
        if said:
            check(f"a shard of {command} prints nothing", False, said)
    return parts


def law(command, *operands):
    """What is printed, with its exit status, is the same without shards and with them."""
    count = chance.choice((2, 3, 4))
    whole = run(DUMP, *command, *operands)
    parts = shards(count, "law", command, *operands)
    chance.shuffle(parts)
    merged = run(DUMP, "merge", *parts)
    check(f"{' '.join(command)} of {' '.join(operands)} in {count} shards",
          whole.stdout and merged.stdout == whole.stdout and merged.returncode == whole.returncode,
          merged.stderr, whole.returncode, merged.returncode, len(whole.stdout), len(merged.stdout))


def refused(name, status, words, *arguments):
    done = run(DUMP, *arguments)
    check(name, done.returncode == status and not done.stdout and all(word in done.stderr for word in words),
          done.returncode, done.stderr)


TRACES = [record(program) for program in ("threads", "call_exceptions", "signals", "processes")]
threads, exceptions, signals, processes = TRACES
LAWS = [
    (("stats", "--json", "--branches", "--gaps", "40"), processes),
    (("report", "--json"), processes),
    (("stats",), threads),
    (("report",), threads),
    (("report", "--by", "thread", "--time", "300us..1ms"), threads),
    (("report", "--by", "inline"), exceptions),
    (("calls", "--depth", "5"), signals),
    (("calls", "--json", "--depth", "3"), exceptions),
    (("graph", "--json"), "main", threads),
    (("latency",), "main", threads),
    (("diff", "--slower", "5"), threads, signals),
    (("coverage",), exceptions, threads),
    (("lint", "--json", "--limit", "unresolved=0"), threads),
]
for command, *operands in LAWS:
    law(command, *operands)

# Many more shards than there are segments to go round: some have nothing.
parts = shards(9, "many", ("stats",), signals)
check("shards without anything are merged, too", output(DUMP, "merge", *parts[::-1]) == output(DUMP, "stats", signals))

# The results of many traces, each by itself.
for trace in TRACES:
    output(DUMP, "coverage", "--format", "lcov", "--partial", f"coverage-{trace}.part", trace)
check("coverage of many traces, each on its own machine",
      output(DUMP, "merge", *[f"coverage-{trace}.part" for trace in TRACES[::-1]]) ==
      output(DUMP, "coverage", "--format", "lcov", *TRACES))

# ---- where traces are ------------------------------------------------------------------------------------

parts = shards(2, "where", ("report",), threads)
report = output(DUMP, "report", threads)
absolute = [path(part) for part in parts]
check("a trace is found by its absolute path", output(DUMP, "merge", *absolute, cwd="/") == report)
os.rename(path(threads), path("moved.ptl"))
refused("a trace that is not there is named", 4, [threads], "merge", *parts)
check("--trace says where it is", output(DUMP, "merge", "--trace", "moved.ptl", *parts) == report)
refused("another trace is refused", 2, [signals, "--trace"], "merge", "--trace", signals, *parts)
os.rename(path("moved.ptl"), path(threads))
output(DUMP, "merge", "-q", "-o", "report.txt", *parts)
check("-o writes to a file", read("report.txt").decode() == report)
refused("... which is not replaced without --force", 4, ["report.txt"], "merge", "-o", "report.txt", *parts)

# ---- what does not fit -----------------------------------------------------------------------------------

more = shards(3, "three", ("report",), threads)
others = shards(2, "other", ("report", "--json"), threads)
stats = shards(2, "stats", ("report",), signals)
refused("a shard that is missing is named", 2, ["of the 3 shards", "are missing: 2"], "merge", more[0], more[2])
refused("one that is there twice", 2, ["shard 1/2 is there twice", "copy.part"], "merge", *parts,
        shutil.copy(path(parts[0]), path("copy.part")))
refused("shards that were cut otherwise", 2, ["2 shards", "3"], "merge", parts[0], more[1])
refused("other options", 2, ["'report'", "'report --json'"], "merge", parts[0], others[1])
refused("another trace", 2, [threads, signals, "same traces"], "merge", parts[0], stats[1])
refused("a file that is none", 3, [threads, "no partial results"], "merge", threads)
refused("no file", 2, ["missing"], "merge")
refused("a shard that there is not", 2, ["3/64"], "stats", "--shard", "4/3", "--partial", "x.part", threads)
refused("a shard without a file for it", 2, ["--partial"], "stats", "--shard", "1/3", threads)
refused("what cannot be cut", 2, ["--hash"], "stats", "--hash", "--partial", "x.part", threads)
refused("what writes files", 2, ["--junit"], "lint", "--junit", "x.xml", "--partial", "x.part", threads)
refused("standard input", 2, ["standard input"], "stats", "--partial", "x.part", "-")
check("no file is left of what was refused", not [name for name in os.listdir(scratch) if name.startswith("x.")],
      os.listdir(scratch))

# ---- scripts of jobs -------------------------------------------------------------------------------------

os.environ.pop("PTL_SCRATCH", None)
script = output(DUMP, "report", "--jobs-script", "--shards", "3", "-j1", threads)
write("it's jobs.sh", script)
check("a plain shell runs the script of jobs", output("sh", "it's jobs.sh") == report)
shutil.rmtree(path("ptl-jobs"))
if shutil.which("parallel"):
    environment = {**os.environ, "HOME": scratch, "PTL_SCRATCH": path("with parallel")}
    done = run("sh", "-c", "seq 3 | parallel --will-cite -q sh \"it's jobs.sh\"", env=environment)
    check("GNU parallel runs the jobs", not done.returncode and not done.stdout and
          output("sh", "it's jobs.sh", "merge", env=environment) == report, done.stderr)
else:
    skip("GNU parallel runs the jobs", "there is no parallel")
write("coverage.sh", output(DUMP, "coverage", "--jobs-script", "--format", "lcov", *TRACES))
check("coverage of several traces has a job for each",
      output("sh", "coverage.sh", env={**os.environ, "PTL_SCRATCH": path("coverage")}) ==
      output(DUMP, "coverage", "--format", "lcov", *TRACES))
done = run("sh", "it's jobs.sh", "merge")
check("a merge without jobs that were done is refused", done.returncode == 4 and "1.part" in done.stderr, done.stderr)
refused("a script of a trace that is not there", 4, ["nothing.ptl"], "stats", "--jobs-script", "nothing.ptl")
refused("a script and a shard", 2, ["--jobs-script"], "stats", "--jobs-script", "--partial", "x.part", threads)

# ---- damage ----------------------------------------------------------------------------------------------

whole = read(parts[0])
for at in chance.sample(range(len(whole)), 6):
    damaged = bytearray(whole)
    damaged[at] ^= 1 << chance.randrange(8)
    write("damaged.part", bytes(damaged))
    done = run(DUMP, "merge", "damaged.part", parts[1])
    if done.returncode not in (2, 3) or done.stdout or "damaged.part" not in done.stderr:
        check(f"damage at byte {at} is found", False, done.returncode, done.stderr)
        break
    write("damaged.part", whole[:at])
    done = run(DUMP, "merge", "damaged.part", parts[1])
    if done.returncode != 3 or done.stdout or "damaged.part" not in done.stderr:
        check(f"an end at byte {at} is found", False, done.returncode, done.stderr)
        break
else:
    check("damage and early ends are found", True)

# What shards could not read of a trace is reported when they are merged, as without shards.
bytes_of = bytearray(read(processes))
for at in range(len(bytes_of) * 3 // 4, len(bytes_of) - 4096, 65536):
    bytes_of[at:at + 16] = b"\xff" * 16
write("broken.ptl", bytes(bytes_of))
whole = run(DUMP, "stats", "broken.ptl")
merged = run(DUMP, "merge", *shards(3, "broken", ("stats",), "broken.ptl"))
check("damage of the trace is reported", whole.returncode == 3 and merged.stdout == whole.stdout and
      merged.returncode == whole.returncode and merged.stderr.count("offset") >= 1, whole.stderr, merged.stderr,
      merged.returncode)
plan()
