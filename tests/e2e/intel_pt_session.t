#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Named sessions of Intel PT, with a library that stands in for the driver: the recorder in the background is an unchanged one.
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import pmu_test  # noqa: E402
from pmu_test import TASKS, Recording, Script, losses, stats_of_threads  # noqa: E402
from scratch_test import DUMP, RECORD, check, path, plan, run, scratch, write  # noqa: E402

# The sockets of sessions of others are not ours, nor are their providers.
os.environ["XDG_RUNTIME_DIR"] = path("run")
os.mkdir(path("run"), 0o700)
os.environ["PTL_SESSION_DIR"] = path("shm")


def values(stats):
    return sorted(stats.values())


def ask(*words):
    return run(RECORD, *words)


def query(name):
    return json.loads(ask("query", name, "--json").stdout)


def begin(recording, *options, stop_at=None):
    """A session that records a process which runs already; what is played stops at a share of the packets. (process, pids)"""
    process, pids = pmu_test.family("1")
    script = Script(recording)
    script.add("real", script.pids[0], pids[0])
    (data,), end = script.turns()
    script.packets(data)
    cut = len(data) if stop_at is None else int(len(data) * stop_at)
    script.aux(0, script.pids[0], script.pids[0], data[:cut], end)
    if stop_at is not None:
        script.add("wait_file", "go-on")
        script.add("aux", 0, cut, len(data), 0, script.pids[0], script.pids[0], end)
    pmu_test.device(None, "0-1")
    if os.path.exists(path("go-on")):
        os.unlink(path("go-on"))
    write("script", ("\n".join(script.lines) + "\n").encode())
    # The recorder holds no end of ours: its parent has returned when it records.
    with open(path("start.err"), "w", encoding="utf-8") as errors:
        done = subprocess.run([RECORD, "start", "pt", "-f", "-o", "out.ptl", "--source=intel_pt", "--timing=tsc",
                               f"--pid={pids[0]}", *options], cwd=scratch, env=pmu_test.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, timeout=120, check=False)
    return process, done


def end(process):
    done = ask("stop", "pt")
    process.stdin.close()
    process.wait()
    return done


def errors_of_start():
    with open(path("start.err"), encoding="utf-8", errors="replace") as file:
        return file.read()


def full_trace(recording):
    """Started, asked, flushed, copied while it records, and stopped."""
    process, started = begin(recording, "--attach-providers", stop_at=0.5)
    check("start: the session records", started.returncode == 0 and query("pt")["source"] == "intel_pt", errors_of_start())
    pmu_test.wait_for(lambda: query("pt").get("buffers_written"))
    copied = ask("snapshot", "pt", path("copy.ptl"))
    flushed = ask("flush", "pt")
    changed = ask("update", "pt", "-p", "PTL-Test-Nobody")
    asked = query("pt")
    write("go-on", b"")
    pmu_test.wait_for(lambda: os.path.exists(path("done")))
    stopped = end(process)
    check("snapshot NAME FILE: what there is so far", copied.returncode == 0 and
          0 < sum(count for count, _, _ in stats_of_threads("copy.ptl").values()) < sum(count for count, _, _ in recording.stats.values()),
          copied.stderr, stats_of_threads("copy.ptl"))
    check("flush and update of a session of Intel PT", flushed.returncode == 0 and changed.returncode == 0 and
          any("PTL-Test-Nobody" in provider for provider in asked["providers"]), flushed.stderr, changed.stderr, asked)
    check("stop: the process goes on, and all is there", stopped.returncode == 0 and
          values(stats_of_threads("out.ptl")) == values(recording.stats), stopped.stderr, stats_of_threads("out.ptl"),
          recording.stats, losses())
    check("stop: Intel PT was stopped", any(line.startswith("disable cpu=0") for line in pmu_test.log()), *pmu_test.log())


def snapshots(recording):
    """What is written over is kept by name; a bare one does not end the session."""
    process, started = begin(recording, "--snapshot", "--aux-buffer=2M", stop_at=0.5)
    pmu_test.wait_for(lambda: pmu_test.log() and any(line == "waits for go-on" for line in pmu_test.log()))
    kept = ask("snapshot", "pt")
    write("go-on", b"")
    pmu_test.wait_for(lambda: os.path.exists(path("done")))
    stopped = end(process)
    check("snapshot NAME: is kept", started.returncode == 0 and kept.returncode == 0 and stopped.returncode == 0 and
          "snapshot: asked for" in pmu_test.notes()[0], kept.stderr, pmu_test.notes())
    check("snapshot NAME: and what comes later follows it", values(stats_of_threads("out.ptl")) == values(recording.stats),
          stats_of_threads("out.ptl"), recording.stats, losses())
    process, _ = begin(recording)
    refused = ask("snapshot", "pt")
    end(process)
    check("snapshot NAME: without memory that is written over is refused", refused.returncode != 0 and "--snapshot" in
          refused.stderr, refused.stderr)


def refused(recording):
    """What the CPU does not do is said by who starts the session, and no session is left."""
    del recording
    pmu_test.device({"intel_pt/caps/ptwrite": "0"})
    done = subprocess.run([RECORD, "start", "pt", "-f", "-o", "out.ptl", "--source=intel_pt", "--pt=ptw", "--", TASKS, "1"],
                          cwd=scratch, env=pmu_test.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=120, check=False)
    os.unlink(path("intel_pt/caps/ptwrite"))
    check("start: what the CPU cannot do is refused", done.returncode not in (0, 40) and "has no ptw" in done.stderr and
          not ask("list").stdout.strip().startswith("pt"), done.stderr)


def hardware():
    """Runs what make check-hardware does, with the stand-in under ptl-record alone."""
    os.makedirs(path("bin"), exist_ok=True)
    write("bin/ptl-record", f'#!/bin/sh\nLD_PRELOAD=pmu.so exec "{RECORD}" "$@"\n'.encode())
    os.chmod(path("bin/ptl-record"), 0o755)
    if not os.path.exists(path("bin/ptl-dump")):
        os.symlink(DUMP, path("bin/ptl-dump"))
    environment = {name: text for name, text in pmu_test.environment().items() if name != "LD_PRELOAD"}
    return subprocess.run(["/usr/bin/python3", os.path.join(os.environ["PTL_TESTS"], "hardware", "check_hardware.py")],
                          cwd=scratch, env={**environment, "PTL_BIN": path("bin")}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=120, check=False)


def check_hardware():
    """It goes through to its end; that there are no packets here, it says."""
    pmu_test.device()
    write("script", b"")
    done = hardware()
    check("check-hardware: goes through, and says that there is nothing", done.returncode == 1 and not done.stderr and
          re.search("^not ok - .*: has instructions", done.stdout, re.M) and "please report" in done.stdout, done.returncode, done.stderr, done.stdout[-1500:])
    os.unlink(path("intel_pt/type"))
    done = hardware()
    check("check-hardware: says that there is no Intel PT, and fails nothing", done.returncode == 0 and
          done.stdout.startswith("this machine has no Intel PT: ") and "; " in done.stdout, done.stdout, done.stderr)


def main():
    recording = Recording("tasks.ptl", TASKS, "2000")
    full_trace(recording)
    snapshots(recording)
    refused(recording)
    check_hardware()


main()
plan()
