#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make check-hardware: records testdata programs with this machine's Intel PT, and checks the traces.

For each program: the decoded instructions and branches of user mode equal the counters' counts of the same run,
except for faults and interrupts, which counters include; both engines decode the same; perf record of the same program
decodes to the same functions. Without Intel PT the program prints the reason, and does not fail.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

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


def state_of(group, name):
    """Returns the result of ptl-record check: (state, reason and remedy)."""
    for line in run(RECORD, "check", "--json").stdout.splitlines():
        item = json.loads(line)
        if item.get("group") == group and item.get("name") == name:
            return item.get("state"), "; ".join(filter(None, (item.get("why"), item.get("try"))))
    return None, f"ptl-record check does not say anything of {group}: {name}"


def counted_program(trace):
    """Returns the counted process and its beginning since the start of the trace: the last exec."""
    execs = [event for line in run(DUMP, "events", "--json", trace).stdout.splitlines()
             for event in [json.loads(line)] if event.get("event") == "Process/Exec"]
    return (execs[-1]["pid"], execs[-1]["time"]) if execs else (0, 0)


def stats(trace, *options):
    """Returns the statistics of the executed code; empty numbers if the trace has none."""
    done = run(DUMP, "stats", "--json", "--hash", *options, trace)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print("#", done.stderr.strip())
        return {"instructions": 0, "branches": 0, "gaps": 0, "processes": []}


def functions_of_perf(program, folder):
    """Returns the executed functions by perf; None if perf cannot record."""
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


def hold_against(name, ours, counts, span, trace, said):
    """Compares instructions and branches of user mode with the counters, if this machine can count them."""
    if not os.path.exists(counts):
        print(f"ok - {name}: counters # SKIP {said.strip()}")
        return
    with open(counts, encoding="ascii") as file:
        counted = {key: int(value) for key, value in (line.split() for line in file)}
    # A user without permission to count kernel events cannot count context switches.
    noise = sum(counted.get(key, 0) for key in ("page-faults", "context-switches", "interrupts"))
    apart = abs(ours["instructions"] - counted["instructions"])
    check(f"{name}: {ours['instructions']} instructions, {counted['instructions']} counted, {noise} faults and interrupts",
          apart <= noise, counted, ours["instructions"], run(DUMP, "stats", *span, trace).stdout)
    check(f"{name}: branches", abs(ours["branches"] - counted["branches"]) <= noise, counted, ours["branches"])


def judge(program, folder):
    name = " ".join(program)
    command = [os.path.join(PROGRAMS, program[0]), *program[1:]]
    trace, counts = os.path.join(folder, "trace.ptl"), os.path.join(folder, "counts")
    counter = run(COUNT, counts, "/bin/true")
    prefix = [COUNT, counts] if counter.returncode == 0 else []
    if prefix:
        # The tool's child writes when the program has ended.
        wait_for(counts)
        os.unlink(counts)
    done = run(RECORD, "-f", "-o", trace, "--source=intel_pt", "--", *prefix, *command)
    if not check(f"{name}: is recorded without a loss", os.path.exists(trace) and "no losses" in done.stderr, done.stderr):
        return
    pid, begun = counted_program(trace)
    span = ["--pid", str(pid), "--time", f"{begun}ns.."]
    ours = stats(trace, *span)
    if not check(f"{name}: has instructions, and no gaps", ours["instructions"] and not ours["gaps"], done.stderr,
                 run(DUMP, "stats", *span, trace).stdout):
        return
    hold_against(name, ours, counts, span, trace, counter.stderr)
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


def wait_for(name):
    until = time.monotonic() + 10
    while not os.path.exists(name) and time.monotonic() < until:
        time.sleep(0.01)


def judge_kernel(folder):
    """Checks user and kernel code together: the kernel's code has names, and gaps only around context switches."""
    trace = os.path.join(folder, "kernel.ptl")
    state, why = state_of("Permissions", "kernel code")
    if state != "yes" or os.geteuid() != 0:
        print(f"ok - kernel code # SKIP {why or 'run it as root'}")
        return
    done = run(RECORD, "-f", "-o", trace, "--source=intel_pt", "--code=all", "--", os.path.join(PROGRAMS, "branches"))
    if not check("kernel code: is recorded", os.path.exists(trace), done.stderr):
        return
    lost = [loss["cause"] for loss in json.loads(run(DUMP, "info", "--json", trace).stdout)["losses"] if loss["kind"] == "code"]
    check("kernel code: is read", not lost, *lost)
    functions = run(DUMP, "report", "--limit=100000", trace).stdout
    check("kernel code: its functions were executed", "[kernel]" in functions, functions[:2000])
    ours, other = stats(trace), stats(trace, "--engine", "libipt")
    check("kernel code: both engines agree", ours["instructions"] == other["instructions"], ours["instructions"],
          other["instructions"])
    print(f"# {ours['instructions']} instructions, {ours['gaps']} gaps")


def judge_snapshot(folder):
    """Checks an overwritten area: its end is recorded and decodes."""
    trace = os.path.join(folder, "snapshot.ptl")
    done = run(RECORD, "-f", "-o", trace, "--source=intel_pt", "--snapshot", "--aux-buffer=64K", "--",
               os.path.join(PROGRAMS, "tasks"), "200000")
    if check("snapshot: is kept", os.path.exists(trace) and "snapshot: the end" in done.stderr, done.stderr):
        check("snapshot: decodes", stats(trace)["instructions"] > 1000, run(DUMP, "stats", trace).stdout)


def main():
    state, why = state_of("Intel PT", "device")
    if state != "yes":
        print("this machine has no Intel PT:", why)
        return 0
    print(run(RECORD, "check").stdout)
    state, why = state_of("Permissions", "own processes")
    if state != "yes":
        print("this user may not record Intel PT:", why)
        return 1
    for program in CASES:
        with tempfile.TemporaryDirectory(prefix="ptl-hardware-") as folder:
            judge(program, folder)
    with tempfile.TemporaryDirectory(prefix="ptl-hardware-") as folder:
        judge_kernel(folder)
        judge_snapshot(folder)
    print("all is well" if not failed else f"{failed} checks failed", "- please report, with the above: see CONTRIBUTING.md, \"Report a hardware run\"")
    return failed > 0


sys.exit(main())
