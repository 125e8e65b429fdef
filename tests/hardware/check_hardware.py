#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make check-hardware: records testdata programs with this machine's Intel PT, and judges the traces.

Of each program: the instructions and branches of user mode that counters count at the same time are those that are decoded,
but for the faults and interrupts that counters count as well; both engines decode the same; perf record of the same program
decodes to the same functions. Where there is no Intel PT this says why, and fails nothing.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN, TOOLS, PROGRAMS = os.environ["PTL_BIN"], os.environ["PTL_TEST_TOOLS"], os.environ["PTL_PROGRAMS"]
RECORD, DUMP = os.path.join(BIN, "ptl-record"), os.path.join(BIN, "ptl-dump")
COUNT = os.path.join(TOOLS, "count_events")
CASES = [("tasks", "20000"), ("static",), ("recursion",), ("branches",), ("signals",)]
failed = 0


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=600,
                          stdin=subprocess.DEVNULL, **more)


def check(name, passed, *details):
    global failed
    print("ok" if passed else "not ok", "-", name, flush=True)
    failed += not passed
    for detail in () if passed else details:
        print("#", str(detail)[:2000].replace("\n", "\n# "))
    return passed


def reason():
    """Why there is no Intel PT here, or None."""
    done = run(RECORD, "check", "--json")
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if item.get("group") == "Intel PT" and item.get("name") == "device" and item.get("state") != "yes":
            return "; ".join(filter(None, (item.get("why"), item.get("remedy"))))
    return None


def exec_time(trace):
    """When the counted program began, since the start of the trace: the last exec."""
    times = [event["time"] for line in run(DUMP, "events", "--json", trace).stdout.splitlines()
             for event in [json.loads(line)] if event.get("event") == "Process/Exec"]
    return times[-1] if times else 0


def stats(trace, *options):
    return json.loads(run(DUMP, "stats", "--json", "--hash", *options, trace).stdout)


def functions_of_perf(program, folder):
    """Functions that perf has executed; None where perf cannot."""
    if not shutil.which("perf"):
        return None
    data = os.path.join(folder, "perf.data")
    done = run("perf", "record", "-q", "-o", data, "-e", "intel_pt//u", *program)
    if not os.path.exists(data):
        print("#", done.stderr)
        return None
    return set(run("perf", "script", "-i", data, "--itrace=b", "-F", "sym").stdout.split())


def functions_of_ours(trace):
    return {match[1] for match in re.finditer(r'"symbol":"([^"]+)"', run(DUMP, "flow", "--json", trace).stdout)}


def judge(program, folder):
    name = " ".join(program)
    command = [os.path.join(PROGRAMS, program[0]), *program[1:]]
    trace, counts = os.path.join(folder, "trace.ptl"), os.path.join(folder, "counts")
    done = run(RECORD, "-f", "-o", trace, "--source=intel_pt", "--", COUNT, counts, *command)
    if not check(f"{name}: is recorded without a loss", os.path.exists(counts) and "no losses" in done.stderr, done.stderr):
        return
    with open(counts, encoding="ascii") as file:
        counted = {key: int(value) for key, value in (line.split() for line in file)}
    span = ["--time", f"{exec_time(trace)}ns.."]
    ours = stats(trace, *span)
    noise = counted["page-faults"] + counted["context-switches"] + counted["interrupts"]
    apart = abs(ours["instructions"] - counted["instructions"])
    check(f"{name}: {ours['instructions']} instructions, {counted['instructions']} counted, {noise} faults and interrupts",
          apart <= noise, counted, ours["instructions"])
    check(f"{name}: branches", abs(ours["branches"] - counted["branches"]) <= noise, counted, ours)
    other = stats(trace, "--engine", "libipt", *span)
    check(f"{name}: both engines agree", [t.get("ip_sha256") for p in ours["processes"] for t in p["threads"]] ==
          [t.get("ip_sha256") for p in other["processes"] for t in p["threads"]])
    perf = functions_of_perf(command, folder)
    if perf is None:
        print(f"ok - {name}: perf # SKIP there is no perf here that can")
        return
    known = {function.split("@")[0] for function in functions_of_ours(trace)}
    missing = {function for function in perf if not function.startswith("[")} - known
    check(f"{name}: perf has executed the same functions", perf and not missing, sorted(missing)[:20])


def main():
    why = reason()
    if why:
        print("this machine has no Intel PT:", why)
        return 0
    print(run(RECORD, "check").stdout)
    for program in CASES:
        with tempfile.TemporaryDirectory(prefix="ptl-hardware-") as folder:
            judge(program, folder)
    print("all is well" if not failed else f"{failed} checks failed", "- please report, with the above")
    return failed > 0


sys.exit(main())
