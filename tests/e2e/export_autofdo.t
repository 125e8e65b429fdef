#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump autofdo: counts are those of the program's own counters, and clang optimises by them.
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

__attribute__((noinline)) static int rare(int n)
{
	return n * 3 + 1;
}

static inline int often(int n)
{
	if (n % 64 == 63)
		return rare(n);
	return n / 2;
}

__attribute__((noinline)) int work(int rounds)
{
	int sum = 0;
	for (int i = 0; i < rounds; i++) {
		sum += often(i);
		if (sum < 0)
			sum = 0;
	}
	return sum;
}

__attribute__((noinline)) int never(int n)
{
	return n + 7;
}

__attribute__((noinline)) int mixed(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += rounds_of_each; return sum; }

int main(int argc, char **argv)
{
	int sum = mixed(50);
	for (int i = 0; i < 100; i++)
		sum ^= work(rounds_of_each);
	if (argc > 50)
		sum += never(sum);
	printf("%d\\n", sum);
	return argv[0] == NULL;
}
"""


POINTERS = """\
static volatile int rounds_of_each = 640;
__attribute__((noinline)) int often(int n) { return n * 3; }
__attribute__((noinline)) int other(int n) { return n - 1; }
__attribute__((noinline)) int work(int rounds, int (*function)(int))
{
	int sum = 0;
	for (int i = 0; i < rounds; i++)
		sum += function(i);
	return sum;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum ^= work(rounds_of_each, i % 10 ? often : other);
	return sum == 12345;
}
"""


def profile(name):
    """{function: (total, head, {offset: count})}, and {(function, offset): {callee: count}}"""
    functions, targets = {}, {}
    for line in read(name).decode().splitlines():
        head = re.fullmatch(r"(\S+):(\d+):(\d+)", line)
        if head:
            body, function = {}, head.group(1)
            functions[function] = (int(head.group(2)), int(head.group(3)), body)
        else:
            offset, count, calls = re.fullmatch(r" (\d+): (\d+)((?: \S+:\d+)*)", line).groups()
            body[int(offset)] = int(count)
            if calls:
                targets[function, int(offset)] = {call.split(":")[0]: int(call.split(":")[1]) for call in calls.split()}
    return functions, targets


def counts(options):
    found, targets = profile("work.prof")
    label = " ".join(options)
    check(f"{label}: functions that ran are there", set(found) == {"main", "work", "often", "rare", "mixed"}, found)
    check(f"{label}: calls have targets", {"work": 100} in targets.values() and {"mixed": 1} in targets.values() and
          {"rare": 1000} in targets.values(), targets)
    check(f"{label}: entries are counted", (found["work"][1], found["rare"][1], found["main"][1]) == (100, 1000, 1), found)
    # Lines of often: 2 asks, 3 calls rare, 4 returns.
    check(f"{label}: lines are counted", found["often"][2][2] == 64000 and found["often"][2][3] == 1000 and
          found["rare"][2][2] == 1000, found)
    if label == "-O0":
        # The loop's condition, which the line jumps to once and falls into 50 times: a block of its own, and the end of another.
        check("of a line's instructions, the one that ran most often counts", found["mixed"][2] == {0: 51}, found)
        check("loop conditions ran once more than the loop", found["work"][2][3] == 64100, found)
    check(f"{label}: totals are sums", all(total == sum(body.values()) for total, _, body in found.values()), found)


def with_clang():
    if not shutil.which("clang"):
        skip("clang takes the profile", "there is no clang")
        return
    got = run("clang", "-O2", "-gline-tables-only", "-fprofile-sample-use=" + path("work.prof"), "-S", "-emit-llvm", "-o",
              path("work.ll"), path("work.c"))
    check("clang takes the profile", got.returncode == 0 and not got.stderr, got)
    code = read("work.ll").decode()
    numbers = {key: value for key, value in re.findall(r"^(!\d+) = !\{(.*)\}$", code, re.M)}
    entries = {}
    for name, reference in re.findall(r"^define .*@(\w+)\(.*!prof (!\d+) \{", code, re.M):
        entries[name] = int(re.search(r"function_entry_count\", i64 (-?\d+)", numbers[reference]).group(1))
    # One more than the profile says, so that nothing is impossible.
    check("it knows how often functions are entered", entries["work"] == 101 and entries["rare"] == 1001 and
          entries["never"] in (0, 1, -1), entries)
    weights = [tuple(map(int, re.findall(r"i32 (\d+)", value))) for value in numbers.values() if "branch_weights" in value]
    check("and which way branches go", any(sorted(pair) == [1001, 64001] for pair in weights), weights)
    plain = run("clang", "-O2", "-gline-tables-only", "-S", "-o", "-", path("work.c")).stdout
    guided = run("clang", "-O2", "-gline-tables-only", "-fprofile-sample-use=" + path("work.prof"), "-S", "-o", "-",
                 path("work.c")).stdout
    check("and makes other code of it", plain and guided and
          [line for line in plain.splitlines() if "\t." not in line] != [line for line in guided.splitlines() if "\t." not in line])
    check("without the profile there are no weights", "!prof" not in run(
        "clang", "-O2", "-gline-tables-only", "-S", "-emit-llvm", "-o", "-", path("work.c")).stdout)


def with_pointers():
    """A call through a pointer has all of its targets: clang makes calls of the frequent ones."""
    write("pointers.c", POINTERS)
    output("gcc", "-g", "-O1", "-o", path("pointers"), path("pointers.c"))
    record("pointers.ptl", path("pointers"), options=("-f",))
    output(DUMP, "autofdo", "-f", "--image", "pointers", "-o", "pointers.prof", "pointers.ptl")
    _, targets = profile("pointers.prof")
    check("a call through a pointer: its targets, the most frequent first", targets.get(("work", 4)) == {"often": 57600, "other": 6400} and
          "often:57600 other:6400" in read("pointers.prof").decode(), targets)
    if not shutil.which("clang"):
        skip("clang promotes the frequent target", "there is no clang")
        return
    got = run("clang", "-O2", "-gline-tables-only", "-fprofile-sample-use=" + path("pointers.prof"), "-S", "-emit-llvm", "-o", "-",
              path("pointers.c"))
    body = re.search(r"^define .*@work\(.*?^}", got.stdout, re.M | re.S)
    check("clang promotes the frequent target", body and re.search(r"icmp eq .*@often", body[0]), got)


BLOCKS = """\
#include <stdio.h>
static volatile int rounds_of_each = 6400;
static int data[6400];
__attribute__((noinline)) int rare(int n) { return n * 3 + 1; }
__attribute__((noinline)) int often(int n) { return n / 2; }
__attribute__((noinline)) int work(int n) { return n % 64 == 63 ? rare(n) : often(n); }
__attribute__((noinline)) int total(const int *list, int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++)
		sum += list[i];
	return sum;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 6400; i++)
		data[i] = rounds_of_each + i;
	for (int i = 0; i < rounds_of_each; i++) { if (i % 4 == 3) sum += work(i); else sum ^= i; }
	printf("%d\\n", sum + total(data, rounds_of_each));
	return 0;
}
"""


def branch_weights(profile_name):
    """The weights of main's and work's branches, by which clang optimises."""
    got = run("clang", "-O1", "-gline-tables-only", "-fprofile-sample-use=" + path(profile_name), "-S", "-emit-llvm", "-o", "-", path("blocks.c"))
    numbers = dict(re.findall(r"^(!\d+) = !\{!\"branch_weights\", (.*)\}$", got.stdout, re.M))
    return [sorted(map(int, re.findall(r"i32 (\d+)", value))) for value in numbers.values()], got


def with_discriminators():
    """Several blocks of one line: clang numbers the blocks, and looks for their counts by number."""
    if not shutil.which("clang"):
        skip("blocks of a line have their own counts", "there is no clang")
        return
    write("blocks.c", BLOCKS)
    output("clang", "-O2", "-g", "-fdebug-info-for-profiling", "-o", path("blocks"), path("blocks.c"))
    record("blocks.ptl", path("blocks"), options=("-f",))
    output(DUMP, "autofdo", "-f", "--image", "blocks", "-o", "blocks.prof", "blocks.ptl")
    text = read("blocks.prof").decode()
    main = re.search(r"^main:\d+:1\n((?: .*\n)+)", text, re.M)[1]
    lines = {place: (int(count), calls) for place, count, calls in re.findall(r"^ ([\d.]+): (\d+)(.*)$", main, re.M)}
    check("blocks of a line have their own counts", {count for place, (count, _) in lines.items() if place.startswith("5.")} >= {1600, 4800} and
          any(calls == " work:1600" for place, (_, calls) in lines.items() if place.startswith("5.")), text)
    loop = re.search(r"^total:\d+:1\n((?: .*\n)+)", text, re.M)[1]
    check("a block that the compiler made several times counts as often as the source's block", " 4: 6400\n" in loop, text)
    # work is a line: its branch goes to rare once in 16 calls, as i % 64 is 63 in one of 16 calls.
    weights, got = branch_weights("blocks.prof")
    write("lines.prof", re.sub(r"^( \d+)\.\d+:", r"\1:", text, flags=re.M))
    others, _ = branch_weights("lines.prof")
    check("by the discriminators, clang knows the ways of branches within a line", [1601, 4801] in weights and [1601, 4801] not in others and
          [101, 1501] in weights and [101, 1501] not in others, weights, others, got.stderr)
    tool = next((name for name in ("llvm-profdata", *(f"llvm-profdata-{version}" for version in range(25, 12, -1))) if shutil.which(name)), None)
    if not tool:
        skip("llvm-profdata reads the discriminators", "there is no llvm-profdata")
        return
    merged = run(tool, "merge", "--sample", "--text", path("blocks.prof"), path("blocks.prof"), "-o", path("twice.prof"))
    twice = re.search(r"^main:\d+:2\n((?: .*\n)+)", read("twice.prof").decode(), re.M)
    check("llvm-profdata reads the discriminators, and adds up two profiles", merged.returncode == 0 and twice and
          {place: int(count) for place, count in re.findall(r"^ ([\d.]+): (\d+)", twice[1], re.M)} ==
          {place: 2 * count for place, (count, _) in lines.items()}, merged, twice and twice[1])


write("work.c", SOURCE)
for options in (["-O0"], ["-O2"]):
    output("gcc", "-g", *options, "-o", path("work"), path("work.c"))
    record("work.ptl", path("work"), options=("-f",))
    output(DUMP, "autofdo", "-f", "--image", "work", "-o", "work.prof", "work.ptl")
    counts(options)
    os.rename(path("work"), path("work" + options[0]))
with_clang()
with_pointers()
with_discriminators()
same = {run(DUMP, "autofdo", "-j", jobs, "--image", "work", "work.ptl").stdout for jobs in "123"}
check("any number of threads gives the same", len(same) == 1)
output("gcc", "-g0", "-s", "-o", path("bare"), path("work.c"))
record("bare.ptl", path("bare"))
got = run(DUMP, "autofdo", "--image", "bare", "bare.ptl")
check("without debug information the profile is empty, and a message says so", got.returncode == 0 and not got.stdout and
      "debug information" in got.stderr, got)
plan()
