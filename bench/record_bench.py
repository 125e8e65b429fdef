# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of recording: wall time and memory of gzip -1 under ptl-record, and natively.
"""record_bench.py [--json] [--quick]

Time is the best of several runs, with output to a file in $TMPDIR. Memory is the proportional set size (PSS) of all
processes together, sampled in a separate run; the result is the difference from the native run.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from bench_text import TEXT_SIZE, make_text  # noqa: E402

RECORD = os.path.join(os.environ.get("PTL_BIN", "build/bin"), "ptl-record")
AIM_RATIO = 2.5
AIM_MEMORY = 256
VARIANTS = (
    ("ptl-record", []),
    ("ptl-record --timing=none", ["--timing=none"]),
    ("ptl-record --timing=cyc", ["--timing=cyc"]),
    ("ptl-record --no-retcomp", ["--no-retcomp"]),
    ("ptl-record --clock=virtual", ["--clock=virtual"]),
    ("ptl-record --compress=3", ["--compress=3"]),
)


def cpu_seconds():
    """Returns user and system time of all children so far. A busy machine changes CPU time little."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, text):
    """Runs the command. Returns wall and CPU time in seconds."""
    with open(text, "rb") as source, open(os.devnull, "wb") as sink:
        start, cpu = time.monotonic(), cpu_seconds()
        status = subprocess.run(command, stdin=source, stdout=sink, check=False).returncode
        seconds, cpu = time.monotonic() - start, cpu_seconds() - cpu
    if status:
        sys.exit("record_bench: %s: exit status %d" % (" ".join(command), status))
    return seconds, cpu


def descendants(pid):
    found = [pid]
    for parent in found:
        try:
            with open("/proc/%d/task/%d/children" % (parent, parent)) as file:
                found.extend(int(child) for child in file.read().split())
        except OSError:
            pass
    return found


def pss(pid):
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def peak_memory(command, text):
    """Returns the peak memory of the command in MB."""
    peak = 0
    with open(text, "rb") as source, open(os.devnull, "wb") as sink, \
            subprocess.Popen(command, stdin=source, stdout=sink) as process:
        while process.poll() is None:
            peak = max(peak, sum(pss(pid) for pid in descendants(process.pid)))
            time.sleep(0.05)
    return peak


def measure(scratch, quick):
    text, trace = os.path.join(scratch, "text"), os.path.join(scratch, "trace.ptl")
    gzip = shutil.which("gzip")
    runs = 1 if quick else 3

    def command(options):
        return [RECORD, "-q", "-f", "-o", trace, *options, "--", gzip, "-1"]

    make_text(text, TEXT_SIZE // 10 if quick else TEXT_SIZE)
    native = min(run([gzip, "-1"], text) for _ in range(runs))

    def timing(seconds):
        return {"seconds": seconds[0], "ratio": seconds[0] / native[0], "cpu_seconds": seconds[1]}

    memory_native = peak_memory([gzip, "-1"], text)
    yield {"name": "gzip -1", **timing(native)}
    for name, options in VARIANTS[:1] if quick else VARIANTS:
        seconds = min(run(command(options), text) for _ in range(runs))
        yield {"name": name, **timing(seconds), "file_mb": os.path.getsize(trace) / 1e6,
               "memory_mb": peak_memory(command(options), text) - memory_native}


def show(row):
    print("%-28s %7.2f s %6.2f %7.2f s %s %s"
          % (row["name"], row["seconds"], row["ratio"], row["cpu_seconds"],
             "%7.1f MB" % row["file_mb"] if "file_mb" in row else " " * 10,
             "%7.1f MB" % row["memory_mb"] if "memory_mb" in row else ""))


def main():
    as_json, quick = "--json" in sys.argv[1:], "--quick" in sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix="ptl-bench-")
    try:
        if not as_json:
            print("%-28s %9s %6s %9s %10s %10s" % ("gzip -1 of text", "time", "ratio", "CPU", "file", "memory"))
        for row in measure(scratch, quick):
            if as_json:
                print(json.dumps({"bench": "record", **row}), flush=True)
            else:
                show(row)
            sys.stdout.flush()
        if not as_json:
            print("aim: a ratio of at most %.1f, in at most %d MB beyond the native run" % (AIM_RATIO, AIM_MEMORY))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


main()
