#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of hardware, with a library that stands in for the kernel's driver: what it plays has to be in the trace.
import os
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import pmu_test  # noqa: E402
from pmu_test import TASKS, Recording, Script, losses, play, stats_of_threads  # noqa: E402
from scratch_test import check, plan  # noqa: E402


def values(stats):
    return sorted(stats.values())


def one_process(recording):
    """Packets of a process on one CPU, through a small area that is gone round many times."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    script.packets(data)
    script.aux(0, pid, tid, data, end)
    done = play(script, "--aux-buffer=8K", "--timing=tsc")
    check("one process: it is recorded", done.returncode == 4 and "no losses" in done.stderr, done.returncode, done.stderr)
    check("one process: executes what it did", values(stats_of_threads("out.ptl")) == values(recording.stats),
          stats_of_threads("out.ptl"), recording.stats, done.stderr)


def several_cpus(recording):
    """Processes that take turns on two CPUs, and go from one to the other."""
    script = Script(recording)
    script.processes()
    lists, end = script.turns(cpus=2)
    pid, tid, _ = recording.streams[0]
    for cpu, data in enumerate(lists):
        script.packets(data)
        script.aux(cpu, pid, tid, data, end)
    done = play(script, "--timing=tsc", "--no-retcomp", command=(TASKS, "1", "3"))
    check("several processes on two CPUs: they are recorded", done.returncode in (3, 4) and "no losses" in done.stderr,
          done.returncode, done.stderr)
    stats = stats_of_threads("out.ptl")
    check("several processes on two CPUs: each executes what it did", len(stats) == 4 and
          values(stats) == values(recording.stats), stats, recording.stats)


def main():
    recording = Recording("tasks.ptl", TASKS, "20000")
    one_process(recording)
    several_cpus(Recording("family.ptl", TASKS, "2000", "3", options=["--no-retcomp"]))
    plan()


main()
