# SPDX-License-Identifier: BSD-2-Clause
# Measures whole runs of ptl-dump, on a recording of gzip -1 and on a trace with 1 GB of PT.
"""dump_bench.py [--json] [--quick]

Rates are the best of several runs, by wall time and by CPU time (user and system); a busy machine changes CPU time less.
Compared commands run alternately, A B A B. Traces are made in $TMPDIR, which needs 700 MB.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from bench_text import TEXT_SIZE, make_text  # noqa: E402

BIN = os.environ.get("PTL_BIN", "build/bin")
TOOLS = os.path.join(os.environ.get("PTL_BENCH", "build/bench"), "..", "tests")
DUMP = os.path.join(BIN, "ptl-dump")
LONG_TRACE = 1 << 30  # bytes of PT
WINDOW_MS = 1
PRINTED_MS = 20  # span of trace time that is printed as text
AIMS = {"stats": "500 MB/s", "stats, 2 threads": "1.8 x", "memory": "128 MB + code", "window": "50 ms",
        "flow against ptxed-style printing": "20 x"}


def run(*command, times=1):
    """Runs `times` processes of the command at once, without output. Returns wall seconds, CPU seconds, and peak memory in MB."""
    start = time.monotonic()
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(times)]
    cpu = memory = 0
    for process in processes:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("dump_bench: %s: exit status %d" % (" ".join(command), process.returncode))
        cpu += usage.ru_utime + usage.ru_stime
        memory += usage.ru_maxrss / 1024
    return time.monotonic() - start, cpu, memory


class Twice(tuple):
    """A command to run twice at once: measures the machine's parallel speed."""


def best(runs, *commands):
    """Runs the commands alternately. Returns minimum wall time, minimum CPU time and peak memory of each."""
    measured = [[run(*command, times=2 if isinstance(command, Twice) else 1) for command in commands]
                for _ in range(runs)]
    return [(min(m[i][0] for m in measured), min(m[i][1] for m in measured), max(m[i][2] for m in measured))
            for i in range(len(commands))]


def info(trace):
    done = subprocess.run([DUMP, "info", "--json", trace], capture_output=True, check=True)
    return json.loads(done.stdout)


def pt_bytes(trace):
    return sum(stream["bytes"] for stream in info(trace)["streams"] if stream["kind"] == "pt")


def middle(trace):
    """Returns the middle of the capture: nanoseconds of the trace's clock, and milliseconds from the start."""
    clock = info(trace)["clock"]
    milliseconds = (clock["end_time"] - clock["start_time"]) // 2_000_000
    return clock["start_time"] + milliseconds * 1_000_000, milliseconds


def record(scratch, quick):
    text, trace = os.path.join(scratch, "text"), os.path.join(scratch, "gzip.ptl")
    make_text(text, TEXT_SIZE // 10 if quick else TEXT_SIZE)
    with open(text, "rb") as source:
        subprocess.run([os.path.join(BIN, "ptl-record"), "-q", "-o", trace, "--", shutil.which("gzip"), "-1"],
                       stdin=source, stdout=subprocess.DEVNULL, check=True)
    os.unlink(text)
    return trace


def measure_stats(trace, runs):
    stats = [DUMP, "stats", "-q", "--engine", "native"]
    size = pt_bytes(trace) / 1e6
    one, two, both = best(runs, [*stats, "-j1", trace], [*stats, "-j2", trace], Twice([*stats, "-j1", trace]))
    yield {"name": "stats", "pt_mb": size, "mb_per_second": size / one[0], "cpu_mb_per_second": size / one[1],
           "memory_mb": one[2]}
    yield {"name": "stats, 2 threads", "pt_mb": size, "mb_per_second": size / two[0],
           "cpu_mb_per_second": size / two[1], "memory_mb": two[2], "ratio": one[0] / two[0],
           "machine_ratio": 2 * one[0] / both[0]}


def measure_long(trace, runs):
    size = pt_bytes(trace) / 1e6
    for jobs in ("-j1", "-j2"):
        wall, cpu, memory = run(DUMP, "stats", "-q", "--engine", "native", jobs, trace)
        yield {"name": "memory", "threads": int(jobs[2:]), "pt_mb": size, "mb_per_second": size / wall,
               "cpu_mb_per_second": size / cpu, "memory_mb": memory}
    # A window in the middle: ptl-dump must not read the packets before.
    _, first = middle(trace)
    (wall, cpu, memory), = best(runs, [DUMP, "flow", "-q", "--engine", "native", "--time",
                                       "%dms..%dms" % (first, first + WINDOW_MS), trace])
    yield {"name": "window", "pt_mb": size, "ms": wall * 1e3, "cpu_ms": cpu * 1e3, "memory_mb": memory}


def measure_flow(trace, runs):
    start, begin = middle(trace)
    flow = [DUMP, "flow", "-q", "-j1", "--level", "block", "--time", "%dms..%dms" % (begin, begin + PRINTED_MS)]
    native, libipt, printed, nothing = best(
        runs, [*flow, "--engine", "native", trace], [*flow, "--engine", "libipt", trace],
        [os.path.join(TOOLS, "print_instructions"), trace, str(start), str(start + PRINTED_MS * 1_000_000)],
        [DUMP, "info", "-q", trace])
    for name, other in (("flow against flow with libipt", libipt), ("flow against ptxed-style printing", printed)):
        yield {"name": name, "ms": native[0] * 1e3, "cpu_ms": native[1] * 1e3, "other_ms": other[0] * 1e3,
               "other_cpu_ms": other[1] * 1e3, "start_cpu_ms": nothing[1] * 1e3, "ratio": other[0] / native[0],
               "cpu_ratio": other[1] / native[1]}


def measure(scratch, quick):
    runs = 2 if quick else 5
    trace, long_trace = record(scratch, quick), os.path.join(scratch, "long.ptl")
    yield from measure_stats(trace, runs)
    yield from measure_flow(trace, runs)
    times = -(-(LONG_TRACE // 10 if quick else LONG_TRACE) // pt_bytes(trace))
    subprocess.run([os.path.join(TOOLS, "ptl_repeat"), trace, str(times), long_trace], check=True)
    yield from measure_long(long_trace, runs)


UNITS = (("pt_mb", "%.0f MB of PT"), ("mb_per_second", "%.0f MB/s"), ("cpu_mb_per_second", "%.0f MB/s of CPU time"),
         ("ms", "%.1f ms"), ("cpu_ms", "%.1f ms of CPU time"), ("other_ms", "against %.1f ms"),
         ("other_cpu_ms", "%.1f ms of CPU time"), ("ratio", "%.2f x"), ("cpu_ratio", "%.2f x by CPU time"),
         ("machine_ratio", "%.2f x as two processes with a thread each"),
         ("memory_mb", "%.0f MB of memory"))


def show(row):
    name = row["name"] + (", -j%d" % row["threads"] if "threads" in row else "")
    figures = ", ".join(form % row[key] for key, form in UNITS if key in row)
    aim = AIMS.get(row["name"])
    print("%-34s %s%s" % (name, figures, "  (aim: %s)" % aim if aim else ""), flush=True)


def main():
    as_json, quick = "--json" in sys.argv[1:], "--quick" in sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix="ptl-bench-")
    try:
        for row in measure(scratch, quick):
            if as_json:
                print(json.dumps({"bench": "dump", **row}), flush=True)
            else:
                show(row)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
