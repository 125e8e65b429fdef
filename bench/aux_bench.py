# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of draining Intel PT from the kernel's areas: CPU seconds per GB, and the loss at 1 GB/s.
"""aux_bench.py [--json] [--quick]

A library that replaces the driver (tests/pmu) fills the areas with packets of gzip, recorded by software. Its CPU time is not
counted. For comparison: zstd -1 and cat of the same bytes, the minimum work on the data.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.environ.get("PTL_BIN", os.path.join(HERE, "..", "build", "bin")))
os.environ.setdefault("PTL_BIN", os.path.join(BUILD, "bin"))
os.environ.setdefault("PTL_PROGRAMS", os.path.join(BUILD, "programs"))
os.environ.setdefault("PTL_TEST_TOOLS", os.path.join(BUILD, "tests"))
sys.path += [os.path.join(HERE, "..", "tests", "e2e"), os.path.join(HERE, "..", "tests", "reader")]
import perf_file  # noqa: E402
import pmu_test  # noqa: E402
from bench_text import make_text  # noqa: E402
from scratch_test import RECORD, path, scratch, write  # noqa: E402

RATE = 1000000000


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def make_packets(size):
    """Makes at least `size` bytes of packets, as from a CPU."""
    make_text(path("text"), size)
    with open(path("text"), "rb") as text:
        subprocess.run([RECORD, "-f", "-q", "-o", "gzip.ptl", "--timing=mtc", "--", "gzip", "-9", "-c"], cwd=scratch, stdin=text,
                       stdout=subprocess.DEVNULL, check=True)
    data = b"".join(bytes_ for _, _, bytes_ in perf_file.streams_of(perf_file.load(path("gzip.ptl"))))
    write("packets.bin", data[:size])
    return min(size, len(data))


def flood(total, cpus, rate, *options):
    """Returns CPU seconds per drained GB, and the lost share."""
    pmu_test.device(None, f"0-{cpus - 1}")
    write("script", f"process 1 0\nbytes packets.bin\nstart 0 1 1 10\nflood {cpus} {rate} {total // cpus} 1 1 1000\n".encode())
    before = cpu_seconds()
    with open(path("errors"), "w", encoding="utf-8") as errors:
        process = subprocess.Popen([RECORD, "-f", "-q", "-o", "/dev/null", "--source=intel_pt", "--embed=none", *options, "--",
                                    pmu_test.TASKS, "1"], cwd=scratch, env=pmu_test.environment(), stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=errors)
        pmu_test.wait_for(lambda: process.poll() is not None or os.path.exists(path("done")), 600)
        process.stdin.close()
        process.wait()
    line = [line for line in pmu_test.log() if line.startswith("flood ")]
    if not line:
        sys.exit("aux_bench: nothing was played: " + open(path("errors"), encoding="utf-8").read())
    said = {word.split("=")[0]: int(word.split("=")[1]) for word in line[0].split()[1:]}
    cpu = cpu_seconds() - before - said["cpu_ns"] / 1e9
    return cpu / (said["bytes"] / 1e9), said["lost"] / (said["lost"] + said["bytes"])


def other(command, size):
    before = cpu_seconds()
    with tempfile.TemporaryFile(dir=scratch) as sink:
        subprocess.run([*command, path("packets.bin")], stdout=sink, stderr=subprocess.DEVNULL, check=True)
    return (cpu_seconds() - before) / (size / 1e9), 0.0


def main():
    quick = "--quick" in sys.argv
    size = make_packets((8 if quick else 64) << 20)
    total = (300 if quick else 1000) * 1000000
    runs = (
        ("ptl-record, one CPU", lambda: flood(total, 1, 0)),
        ("ptl-record, two CPUs", lambda: flood(total, 2, 0)),
        ("ptl-record --compress=0", lambda: flood(total, 1, 0, "--compress=0")),
        ("zstd -1", lambda: other(["zstd", "-1", "-q", "-c", "--single-thread"], size)),
        ("cat", lambda: other(["cat"], size)),
        ("ptl-record at 1 GB/s", lambda: flood(total, 1, RATE)),
        ("ptl-record --compress=0 at 1 GB/s", lambda: flood(total, 1, RATE, "--compress=0", "--aux-buffer=64M")),
    )
    for name, measure in runs:
        best = min(measure() for _ in range(1 if quick else 2))
        if "--json" in sys.argv:
            print(json.dumps({"bench": "aux", "name": name, "cpu_seconds_per_gb": round(best[0], 3), "lost": round(best[1], 3)}))
        else:
            print("%-36s %6.2f CPU s/GB   %5.1f %% lost" % (name, best[0], 100 * best[1]), flush=True)


main()
