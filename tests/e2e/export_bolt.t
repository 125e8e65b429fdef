#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump bolt: counts are those of the program's own loops, and llvm-bolt optimises the program by them.
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from export_test import record
from scratch_test import DUMP, check, output, path, plan, read, run, skip, write

SOURCE = """\
#include <stdio.h>

static volatile int rounds_of_each = 640;

__attribute__((noinline)) static int rare(int n) { return n * 3 + 1; }
__attribute__((noinline)) static int often(int n) { if (n % 64 == 63) return rare(n); return n / 2; }
__attribute__((noinline)) static int other(int n) { return n - 1; }

__attribute__((noinline)) int work(int rounds, int (*function)(int))
{
	int sum = 0;
	for (int i = 0; i < rounds; i++) {
		sum += function(i);
		if (sum < 0)
			sum = 0;
	}
	return sum;
}

int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum ^= work(rounds_of_each, i % 10 ? often : other);
	if (argc > 50)
		sum += rare(sum);
	printf("%d\\n", sum);
	return argv[0] == NULL;
}
"""
CALLS, OTHERS = 100 * 640, 10 * 640


def counts():
    """Counts by the functions of a branch and of the place where flow continues, and whether the place is the beginning."""
    found = {}
    for line in read("work.fdata").decode().splitlines():
        match = re.fullmatch(r"(?:1 (\S+) [0-9a-f]+|0 \[unknown\] 0) (?:1 (\S+) ([0-9a-f]+)|0 \[unknown\] 0) 0 (\d+)", line)
        if not check("a line is of the format", match, line) or not match:
            return found
        key = (match[1], match[2], match[3] == "0")
        found[key] = found.get(key, 0) + int(match[4])
    return found


def program_counts():
    found = counts()
    entries = {key: count for key, count in found.items() if key[2]}
    check("calls are counted, also indirect calls", entries.get(("main", "work", True)) == 100 and
          entries.get(("work", "often/1", True)) == CALLS - OTHERS and entries.get(("work", "other/1", True)) == OTHERS and
          entries.get(("often/1", "rare/1", True)) == (CALLS - OTHERS) // 64, entries)
    check("both ways of conditional branches are counted", found.get(("often/1", "often/1", False)) == CALLS - OTHERS, found)


def with_bolt():
    names = ["llvm-bolt", *(f"llvm-bolt-{version}" for version in range(25, 13, -1))]
    bolt = next((name for name in names if shutil.which(name)), None)
    if not bolt:
        skip("llvm-bolt takes the profile", "there is no llvm-bolt: apt-get install bolt-16")
        return
    got = run(bolt, "work", "-data", "work.fdata", "-o", "work.bolt", "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-dyno-stats")
    said = got.stdout + got.stderr
    check("llvm-bolt takes the profile", got.returncode == 0 and "stale" not in said and "WARNING" not in said.replace("debug info", ""),
          got)
    stats = {name: int(count) for count, name in re.findall(r"^ +(\d+) : ([a-z -]+?)(?: \(.*)?$", said, re.M)}
    check("llvm-bolt counts as many indirect calls", stats.get("indirect calls", 0) in range(CALLS, CALLS + 10), stats)
    check("llvm-bolt counts the branches of each function", stats.get("executed backward branches", 0) in range(CALLS, CALLS + 200), stats)
    check("the optimised program does the same", run(path("work.bolt")).stdout == run(path("work")).stdout != "")
    merge = bolt.replace("llvm-bolt", "merge-fdata")
    if shutil.which(merge):
        merged = run(merge, "work.fdata", "work.fdata").stdout
        check("merge-fdata adds up two profiles", re.search(rf"^1 work \S+ 1 often/1 0 0 {2 * (CALLS - OTHERS)}$", merged, re.M), merged)


write("work.c", SOURCE)
output("gcc", "-O2", "-Wl,--emit-relocs", "-o", path("work"), path("work.c"))
record("work.ptl", path("work"), options=("-f",))
output(DUMP, "bolt", "-f", "--image", "work", "-o", "work.fdata", "work.ptl")
program_counts()
with_bolt()
same = {run(DUMP, "bolt", "-j", jobs, "--image", "work", "work.ptl").stdout for jobs in "123"}
check("any number of threads gives the same", len(same) == 1)
got = run(DUMP, "bolt", "work.ptl")
check("without --image the profile is of the file that executed most, and a note says so", got.stdout == same.pop() and
      "--image" in got.stderr, got.stderr)
output("gcc", "-s", "-o", path("bare"), path("work.c"))
record("bare.ptl", path("bare"))
got = run(DUMP, "bolt", "--image", "bare", "bare.ptl")
check("without symbols the profile is empty, and a message says so", got.returncode == 0 and not got.stdout and
      "has a name" in got.stderr and "outside of functions" in got.stderr, got)
plan()
