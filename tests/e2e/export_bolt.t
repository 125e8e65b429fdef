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


def find_bolt():
    names = ["llvm-bolt", *(f"llvm-bolt-{version}" for version in range(25, 13, -1))]
    return next((name for name in names if shutil.which(name)), None)


def with_bolt():
    bolt = find_bolt()
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


LIBRARY = """\
__attribute__((noinline)) static int step(int n) { return n % 16 == 15 ? n * 3 : n / 2; }
int library_work(int rounds) { int sum = 0; for (int i = 0; i < rounds; i++) sum += step(i); return sum; }
"""
USER = """\
#include <stdio.h>
int library_work(int rounds);
__attribute__((noinline)) static int step(int n) { return n ^ 5; }
int main(void) { int sum = 0; for (int i = 0; i < 1000; i++) sum += step(i); printf("%d\\n", sum + library_work(6400)); return 0; }
"""


def all_images():
    """A profile for each image, in one pass; a program and a library, and two libraries of one name."""
    for folder, rounds in (("a", 0), ("b", 5)):
        os.mkdir(path(folder))
        write(f"{folder}/library.c", LIBRARY.replace("library_work", f"library_work_{folder}").replace("15", f"1{rounds}"))
        output("gcc", "-O2", "-shared", "-fPIC", "-Wl,--emit-relocs", "-o", path(f"{folder}/libwork.so"), path(f"{folder}/library.c"))
    write("user.c", USER.replace("int library_work(int rounds);", "int library_work_a(int rounds), library_work_b(int rounds);")
          .replace("library_work(6400)", "library_work_a(6400) + library_work_b(320)"))
    output("gcc", "-O2", "-Wl,--emit-relocs", "-o", path("user"), path("user.c"), path("a/libwork.so"), path("b/libwork.so"))
    record("user.ptl", path("user"), options=("-f",))
    got = run(DUMP, "bolt", "--output-dir", "profiles", "user.ptl")
    listed = dict(reversed(line.split("\t")) for line in got.stdout.splitlines())
    own = {name: listed.get(path(name)) for name in ("user", "a/libwork.so", "b/libwork.so")}
    check("--output-dir lists a profile for each image", got.returncode == 0 and own["user"] == "profiles/user.fdata" and
          len(set(own.values())) == 3 and all(re.fullmatch(r"profiles/libwork\.so-[0-9a-f]+\.fdata", own[name] or "") for name in list(own)[1:]) and
          any("libc" in name for name in listed), got)
    check("the folder has these profiles, and no other files", sorted(listed.values()) == sorted(f"profiles/{name}" for name in os.listdir(path("profiles"))),
          listed, os.listdir(path("profiles")))
    for name, calls, function in (("user", 1000, "step/1"), ("a/libwork.so", 6400, "step/1"), ("b/libwork.so", 320, "step/1")):
        single = run(DUMP, "bolt", "--image", path(name), "user.ptl").stdout
        check(f"{name}: the profile is that of --image, and has the function's calls", single == read(own[name]).decode() and
              sum(int(count) for count in re.findall(rf"^1 \S+ \S+ 1 {function} 0 0 (\d+)$", single, re.M)) == calls, single)
    again = run(DUMP, "bolt", "--output-dir", "profiles", "user.ptl")
    check("a profile is not replaced without --force", again.returncode == 4 and "exists; -f replaces it, --output-dir names another" in again.stderr, again)
    again = run(DUMP, "bolt", "-f", "--image", "*libwork*", "--output-dir", "profiles", "user.ptl")
    check("--image selects the profiles", sorted(line.split("\t")[1] for line in again.stdout.splitlines()) ==
          sorted(path(name) for name in list(own)[1:]), again)
    got = run(DUMP, "bolt", "-o", "x", "--output-dir", "profiles", "user.ptl")
    check("-o and --output-dir exclude each other", got.returncode == 2 and "--output-dir" in got.stderr, got)
    bolt = find_bolt()
    if not bolt:
        skip("llvm-bolt takes all profiles", "there is no llvm-bolt: apt-get install bolt-16")
        return
    before = run(path("user")).stdout
    for name in own:
        got = run(bolt, path(name), "-data", own[name], "-o", path("optimised"), "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort")
        said = got.stdout + got.stderr
        check(f"{name}: llvm-bolt takes the profile", got.returncode == 0 and re.search(r"BOLT-INFO: [1-9]\d* out of \d+ functions", said) and
              "stale" not in said and "does not match" not in said, got)
        os.replace(path("optimised"), path(name))
    check("the program with optimised code does the same", run(path("user")).stdout == before != "")


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
all_images()
plan()
