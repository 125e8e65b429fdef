# SPDX-License-Identifier: BSD-2-Clause
# Compares the views of calls with views of uftrace and perf of the same program.
"""views_bench.py [--json] [--quick]

ptl-record records a small program with many calls; uftrace records the same program built with -pg. The trace is also
exported to perf.data, so that perf decodes the same packets. Each view is printed to /dev/null. Times are of the whole
process with one thread, the best of several alternating runs. uftrace's views have fewer calls: the program's calls,
without calls of its libraries. If uftrace or perf is missing, its lines are skipped, with a message.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("PTL_BIN", "build/bin")
DUMP = os.path.join(BIN, "ptl-dump")
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int free_place(const int *rows, int column, int row)
{
	for (int i = 0; i < column; i++)
		if (rows[i] == row || rows[i] - row == column - i || row - rows[i] == column - i)
			return 0;
	return 1;
}
static int queens(int *rows, int column, int size)
{
	int found = 0;
	if (column == size)
		return 1;
	for (int row = 0; row < size; row++)
		if (free_place(rows, column, row)) {
			rows[column] = row;
			found += queens(rows, column + 1, size);
		}
	return found;
}
static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int main(int argc, char **argv)
{
	int rows[16], numbers[5000], times = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < 5000; k++)
			numbers[k] = (int)((k * 2654435761u + (unsigned)i) >> 8 & 0xffff);
		qsort(numbers, 5000, sizeof(int), compare);
		sum += queens(rows, 0, 7) + fibonacci(18) + numbers[0];
	}
	printf("%d\n", sum);
	return 0;
}
"""


def call(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
    if done.returncode:
        sys.exit("views_bench: %s: exit status %d: %s" % (" ".join(command), done.returncode, done.stderr.decode()[-500:]))


def seconds(command):
    """Runs the command. Returns wall seconds, CPU seconds, and memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("views_bench: %s: exit status %d" % (" ".join(command), process.returncode))
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def have(program):
    if shutil.which(program):
        return True
    print("views_bench: no %s here: apt-get install %s" % (program, {"perf": "linux-perf"}.get(program, program)),
          file=sys.stderr)
    return False


def prepare(scratch, times):
    """Records the program with all tools. Returns whether the files of uftrace and perf exist."""
    def file(name):
        return os.path.join(scratch, name)
    with open(file("views.c"), "w") as source:
        source.write(SOURCE)
    flags = ["-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls"]
    call("gcc", *flags, "-o", file("plain"), file("views.c"))
    call("gcc", *flags, "-pg", "-o", file("counted"), file("views.c"))
    call(os.path.join(BIN, "ptl-record"), "-q", "-o", file("views.ptl"), "--", file("plain"), str(times))
    uftrace, perf = have("uftrace"), have("perf")
    if uftrace:
        call("uftrace", "record", "--no-pager", "-d", file("uftrace"), file("counted"), str(times))
    if perf:
        call(DUMP, "perf", "-q", "-o", file("perf.data"), file("views.ptl"))
    return uftrace, perf


def measure(scratch, quick):
    times, runs = 10 if quick else 100, 2 if quick else 3
    uftrace, perf = prepare(scratch, times)
    trace, data = os.path.join(scratch, "views.ptl"), os.path.join(scratch, "perf.data")
    folder = os.path.join(scratch, "uftrace")
    of_perf = ["perf", "--buildid-dir", data + ".debug"]
    instructions = json.loads(subprocess.run([DUMP, "stats", "--json", trace], capture_output=True,
                                             check=True).stdout)["instructions"]
    views = [("calls", [DUMP, "calls", "-q", "-j1", trace]), ("report", [DUMP, "report", "-q", "-j1", trace]),
             ("stats", [DUMP, "stats", "-q", "-j1", trace])]
    if uftrace:
        views += [("uftrace replay", ["uftrace", "replay", "--no-pager", "-d", folder]),
                  ("uftrace report", ["uftrace", "report", "--no-pager", "-d", folder])]
    if perf:
        views += [("perf script --itrace=cr", [*of_perf, "script", "-i", data, "--itrace=cr", "-F", "ip,sym"]),
                  ("perf report --itrace=i1000i", [*of_perf, "report", "-i", data, "--itrace=i1000i", "--stdio"])]
    measured = [[seconds(command) for _, command in views] for _ in range(runs)]
    for i, (name, _) in enumerate(views):
        yield {"name": name, "instructions": instructions, "seconds": min(run[i][0] for run in measured),
               "cpu_seconds": min(run[i][1] for run in measured), "memory_mb": max(run[i][2] for run in measured)}


def main():
    as_json, quick = "--json" in sys.argv[1:], "--quick" in sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix="ptl-bench-")
    try:
        for row in measure(scratch, quick):
            if as_json:
                print(json.dumps({"bench": "views", **row}), flush=True)
            else:
                print("%-28s %6.2f s, %6.2f s of CPU time, %4.0f MB of memory" %
                      (row["name"], row["seconds"], row["cpu_seconds"], row["memory_mb"]), flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
