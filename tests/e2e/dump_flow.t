#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump on recordings: levels agree with each other and with stats, order of time, source lines, closed pipes.
import collections
import functools
import hashlib
import json
import os
import re
import resource
import struct
import subprocess

from scratch_test import BIN, DUMP, RELOG, check, path, plan, scratch, write, run as run_text

run = functools.partial(run_text, text=False)
CC = os.environ.get("CC", "gcc").split()


def record(output, *command, options=()):
    done = run(os.path.join(BIN, "ptl-record"), "-q", "-o", output, *options, "--", *command)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr.decode()}")


def dump(*arguments):
    done = run(DUMP, *arguments)
    if done.returncode:
        raise SystemExit(f"Bail out! {arguments}: {done.stderr.decode()}")
    return done.stdout


def objects(*arguments):
    return [json.loads(line) for line in dump(*arguments).splitlines()]


def compile_program(output, text, *options):
    with open(os.path.join(scratch, f"{output}.c"), "w") as file:
        file.write(text)
    done = run(*CC, "-g", "-O1", "-Wl,--build-id", "-o", output, f"{output}.c", *options)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr.decode()}")


# ---- levels ---------------------------------------------------------------------------------------

THREADS = """#include <pthread.h>
#include <unistd.h>
static int (*volatile step)(int);
static int odd(int n) { return n & 1 ? 3 * n + 1 : n / 2; }
static int even(int n) { return n & 1 ? n - 1 : n + 3; }
static void *work(void *seed)
{
	int n = (int)(long)seed;
	for (int i = 0; i < 3000; i++) {
		step = n & 4 ? odd : even;
		n = step(n);
		if (i % 300 == 0)
			usleep(100);
	}
	return (void *)(long)n;
}
int main(void)
{
	pthread_t threads[3];
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 7));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""
compile_program("threads", THREADS, "-static", "-pthread")
record("threads.ptl", "./threads", options=["--timing=cyc", "--psb-period=2K"])
stats = json.loads(dump("stats", "--json", "--hash", "threads.ptl"))
threads = {thread["tid"]: thread for process in stats["processes"] for thread in process["threads"]}
check("the program has several threads", len(threads) > 2, stats)

hashes = collections.defaultdict(hashlib.sha256)
counts = collections.Counter()
for line in objects("flow", "--level", "insn", "--json", "threads.ptl"):
    if line["type"] == "instruction":
        hashes[line["tid"]].update(struct.pack("<Q", int(line["ip"], 16)))
        counts[line["tid"]] += 1
check("instructions of each thread are as many as stats says",
      counts == {tid: thread["instructions"] for tid, thread in threads.items()}, counts, threads)
check("and have the hash that stats --hash says",
      {tid: hash.hexdigest() for tid, hash in hashes.items()} ==
      {tid: thread["ip_sha256"] for tid, thread in threads.items()}, threads)

blocks = objects("flow", "--json", "threads.ptl")
counts = collections.Counter(line["tid"] for line in blocks if line["type"] == "block")
check("blocks of each thread are as many as stats says",
      counts == {tid: thread["blocks"] for tid, thread in threads.items()}, counts, threads)
check("instructions in blocks add up",
      sum(line.get("instructions", 0) for line in blocks) == stats["instructions"], stats["instructions"])


def taken_branches(lines):
    """What --level branch shows, made of what --level block shows."""
    expected, last = [], {}
    for line in lines:
        before = last.pop(line["tid"], None)
        if line["type"] == "block":
            ip = int(line["ip"], 16)
            if before and (before["branch"] != "conditional" or ip != before["end"]):
                expected.append((line["tid"], before["branch"], ip))
            if "branch" in line:
                last[line["tid"]] = {"branch": line["branch"], "end": ip + line["size"]}
        elif line["type"] in ("cbr", "power-entry", "power-exit"):
            if before:
                last[line["tid"]] = before
    return expected


shown = [(line["tid"], line["branch"], int(line["to"]["ip"], 16))
         for line in objects("flow", "--level", "branch", "--json", "threads.ptl")
         if line["type"] == "branch" and line["to"]]
expected = taken_branches(blocks)
# Where an event stands behind a branch, its target is known from the event and not from a block.
extra = collections.Counter(shown) - collections.Counter(expected)
check("branches are those between the blocks", not collections.Counter(expected) - collections.Counter(shown) and
      sum(extra.values()) <= sum(line["type"] not in ("block",) for line in blocks), len(shown), len(expected))

taken = collections.Counter(line["tid"] for line in objects("flow", "--level", "branch", "--json", "threads.ptl")
                            if line["type"] == "branch")
for options in ([], ["-j", "1"], ["-j", "3", "--hash"], ["--engine", "libipt"]):
    reported = json.loads(dump("stats", "--json", "--branches", *options, "threads.ptl"))
    reported = {thread["tid"]: thread for process in reported["processes"] for thread in process["threads"]}
    check(f"stats --branches {options} says how many", {tid: thread["taken"] for tid, thread in reported.items()} == taken,
          taken, reported)
    check(f"and that of all branches {options}", all(
        0 <= thread["branches"] - thread["taken"] - thread["not_taken"] <= thread["gaps"] + 1 and thread["not_taken"]
        for thread in reported.values()), reported)
check("without, nothing is said of it", "taken" not in stats and "branches" in stats, stats)

text = dump("flow", "threads.ptl")
check("text has a line for each block", sum(re.match(rb" *[0-9.-]+ +[0-9a-f]+ +\d+  ", line) is not None
                                            for line in text.splitlines()) == stats["blocks"], text[:500])
for options in (["-j", "1"], ["-j", "5"], ["--ignore-index"]):
    other = dump("flow", *options, "threads.ptl")
    # libipt's block decoder reads ahead for code it knows, so that times of a few lines depend on what it knows.
    check(f"the output does not depend on {' '.join(options)}",
          re.sub(rb"(?m)^ *[0-9.-]+ ", b"", other) == re.sub(rb"(?m)^ *[0-9.-]+ ", b"", text))
for engine in ("libipt-insn", "native"):
    check(f"nor on -j with {engine}, times included", dump("flow", "-j", "1", "--engine", engine, "threads.ptl") ==
          dump("flow", "-j", "3", "--engine", engine, "threads.ptl"))

# ---- order of time --------------------------------------------------------------------------------

merged = objects("flow", "--merge", "--json", "--engine", "native", "threads.ptl")
latest, times = collections.Counter(), []
for line in merged:
    # Times are estimates, which the exact time of a PSB puts right: a thread's lines stay in their order.
    latest[line["tid"]] = max(latest[line["tid"]], line["time"] or 0)
    times.append(latest[line["tid"]])
check("--merge gives one order of time", times == sorted(times) and len(times) > 1000, len(times))
check("--merge mixes threads", sum(a["tid"] != b["tid"] for a, b in zip(merged, merged[1:])) >= len(threads), threads)
by_thread = collections.defaultdict(list)
for line in merged:
    by_thread[line["tid"]].append(line)
plain = collections.defaultdict(list)
for line in objects("flow", "--json", "--engine", "native", "threads.ptl"):
    plain[line["tid"]].append(line)
check("--merge loses nothing, and keeps the order within each thread", by_thread == plain)
middle = times[len(times) // 2]
window = objects("flow", "--json", "--time", f"{middle}ns..{middle + 50000}ns", "threads.ptl")
check("--time shows that span alone", window and
      all(middle <= line["time"] <= middle + 50000 for line in window if line["time"] is not None), len(window))
check("--tid shows that thread alone", {line["tid"] for line in objects(
    "flow", "--json", "--tid", str(max(threads)), "threads.ptl")} == {max(threads)})

# ---- output ---------------------------------------------------------------------------------------

for command in ("flow --level insn", "flow --merge", "flow --json", "events", "packets", "images"):
    with subprocess.Popen([DUMP, *command.split(), "threads.ptl"], cwd=scratch, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.read(100)
        process.stdout.close()
        errors = process.stderr.read()
        status = process.wait(60)
    check(f"{command}: a reader that goes away ends it quietly", status == 0 and errors == b"", status, errors)
with open("/dev/full", "wb") as full:
    done = subprocess.run([DUMP, "flow", "--level", "insn", "threads.ptl"], cwd=scratch, stdout=full,
                          stderr=subprocess.PIPE, timeout=120, check=False)
check("a full disk is an error", done.returncode == 4 and b"No space left" in done.stderr, done)

# ---- source lines ---------------------------------------------------------------------------------

SOURCE = """__attribute__((noinline)) int twice(int n)
{
	return n *
	       %d;
}
int main(int argc, char **argv) { (void)argv; return twice(argc) - %d; }
"""


def build(number):
    compile_program("program", SOURCE % (number, number))


def lines_of(trace):
    done = run(DUMP, "flow", "--source", "--image", "program", "--json", trace)
    return {(os.path.basename(line["file"]), line["line"]) for line in map(json.loads, done.stdout.splitlines())
            if line["type"] == "block" and line.get("symbol") == "twice" and "line" in line}, done.stderr


build(2)
record("debug.ptl", "./program", options=["--embed=debug"])
record("symbols.ptl", "./program")
found, _ = lines_of("debug.ptl")
check("source lines from the trace", found and all(name == "program.c" and 1 <= line <= 5 for name, line in found), found)
check("source lines from the file on disk, which has the right build id", lines_of("symbols.ptl")[0] == found, found)
build(3)
other, errors = lines_of("symbols.ptl")
check("a file with another build id is not believed", not other and b"no source lines" in errors, other, errors)
os.remove(os.path.join(scratch, "program"))
check("lines in the trace need no file", lines_of("debug.ptl")[0] == found)
other, errors = lines_of("symbols.ptl")
check("without any debug information there is a warning", not other and b"--embed debug" in errors, other, errors)

# ---- bounds of time -------------------------------------------------------------------------------

record("mtc.ptl", "/bin/true", options=["--timing=mtc"])
blocks = [line for line in objects("flow", "--bounds", "--json", "mtc.ptl") if line["type"] == "block"]
bounded = [line for line in blocks if line["earliest"] is not None and line["latest"] is not None]
check("nearly all blocks have bounds of time", len(bounded) > 0.9 * len(blocks) > 0, len(bounded), len(blocks))
check("which begin before their own end", all(line["earliest"] <= line["latest"] for line in bounded))
check("and say more than nothing", sorted(line["latest"] - line["earliest"] for line in bounded)[len(bounded) // 2] < 50e6)
check("without the option there are none", all("earliest" not in line for line in objects("flow", "--json", "mtc.ptl")))
text = dump("flow", "--bounds", "mtc.ptl").decode().splitlines()
check("text has them in columns", "not before ms    not after ms" in text[1], *text[:3])

# Two threads of 4 MiB of packets without a PSB within: each is two gigabytes of lines, which must not wait in memory.
LOOP = bytes([0x02, 0x82] * 8 + [0x02, 0x23, 0x51]) + struct.pack("<I", 0x1000) + b"\xfe" * (4 << 20)
for name, data in (("one.pt", LOOP), ("two.pt", LOOP), ("code", bytes.fromhex("85c075fc0f05")), ("map", b"0x1000 6 0\n")):
    write(name, data)
done = run(RELOG, "-q", "-o", "loops.ptl", "--pt", "one.pt", "--pt", "two.pt", "--memory", "code", "--memory-map", "map")
check("two loops are a trace", done.returncode == 0 and os.path.getsize(path("loops.ptl")) < 10000, done.stderr)
done = subprocess.run([DUMP, "flow", "--jobs", "2", "loops.ptl"], cwd=scratch, stdout=subprocess.DEVNULL, check=False,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20)))
check("their lines are not all held in memory", done.returncode == 0, done)

plan()
