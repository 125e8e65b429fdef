#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Merging what different machines recorded: machines of their own as far as a recorder can tell, made of namespaces. They
# have another name and boot, the same process numbers, and a monotonic clock that is days apart.
import json
import os

from scratch_test import DUMP, RECORD, RELOG, check, plan, run, scratch, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
CANONICAL = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_canonical")
# Seconds that the monotonic clock is ahead: the kernel lets none be behind the time since the host booted.
APART = {"north": 0, "south": 500000, "west": 900}
SECOND = 10000000


def lines(name, *view):
    return [json.loads(line) for line in run(DUMP, *view, "--json", name).stdout.splitlines()]


def info(name):
    return json.loads(run(DUMP, "info", "--json", name).stdout or "{}")


def stats(name):
    shown = json.loads(run(DUMP, "stats", "--hash", "--json", name).stdout or "{}")
    return {(process["pid"], thread["tid"]): (thread["instructions"], thread["gaps"], thread["ip_sha256"])
            for process in shown.get("processes", []) for thread in process["threads"]}


def moved(ran, machine):
    return {(pid + machine * SECOND, tid + machine * SECOND): what for (pid, tid), what in ran.items()}


def content(name):
    """All that is in a trace but the file's own name, the layout of metadata, and the history."""
    shown = run(CANONICAL, name).stdout.splitlines()
    return sorted(line for line in shown if not line.startswith(("file ", "stream 0 ", "provenance", "  input")))


def record(machine, program):
    """As a machine of this name would."""
    boot = f"{scratch}/boot-{machine}"
    with open(boot, "w", encoding="ascii") as file:
        file.write(f"{machine:->8}-1111-2222-3333-444444444444\n".replace("n", "a").replace("s", "b"))
    script = (f"hostname {machine} && mount --bind {boot} /proc/sys/kernel/random/boot_id && "
              f"exec {RECORD} -q -f -o {machine}.ptl -- {program}")
    return run("unshare", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--time", "--monotonic",
               str(APART[machine]), "/bin/sh", "-c", script)


for machine, program in (("north", "fork_no_exec"), ("south", "fork_no_exec"), ("west", "threads")):
    got = record(machine, os.path.join(PROGRAMS, program))
    if got.returncode and machine == "north":
        skip("machines", f"they cannot be made of namespaces here: {got.stderr.strip()[:100]}")
        plan()
        raise SystemExit(0)
    check(f"{machine} records {program}", got.returncode == 0 and info(f"{machine}.ptl")["machine"]["hostname"] == machine,
          got)
alone = {machine: stats(f"{machine}.ptl") for machine in APART}
check("both have the same process numbers", {pid for pid, _ in alone["north"]} & {pid for pid, _ in alone["south"]},
      alone)

# ---- two machines --------------------------------------------------------------------------------------------------------

got = run(RELOG, "north.ptl", "south.ptl", "-o", "two.ptl")
second = info("two.ptl")["other_machines"][0]
check("a warning says by how much the clock was shifted, and how wrong that can be", got.returncode == 0 and
      "south.ptl: its clock is aligned with that of north.ptl by wall time" in got.stderr and
      f"{second['shift_uncertainty'] / 1e9:.9f}" in got.stderr, got.stderr, second)
wrong = second["time_shift"] + 500000 * 10**9
check("the truth is within that", abs(wrong) <= second["shift_uncertainty"] < 10**9 and second["hostname"] == "south",
      second)
check("every thread executed what it did alone, without a gap of merging", stats("two.ptl") ==
      {**alone["north"], **moved(alone["south"], 1)}, stats("two.ptl"), alone)
found = {item["pid"]: item for item in lines("two.ptl", "processes")}
check("processes are kept apart", set(found) == {pid for pid, _ in stats("two.ptl")} and
      all(item["parent_pid"] // SECOND == pid // SECOND for pid, item in found.items()), found)
ends = max(item["end"] for pid, item in found.items() if pid < SECOND)
check("and what was recorded later comes later", all(item["start"] > ends for pid, item in found.items() if pid > SECOND),
      ends, found)
order = [item["time"] for item in lines("two.ptl", "events")]
check("events are in one order", order == sorted(order) and len(order) ==
      len(lines("north.ptl", "events")) + len(lines("south.ptl", "events")))
blobs = [line for line in run(CANONICAL, "two.ptl").stdout.splitlines() if line.startswith("blob ")]
before = [line for machine in ("north", "south") for line in run(CANONICAL, f"{machine}.ptl").stdout.splitlines()
          if line.startswith("blob ")]
check("equal code and symbols are stored once", len(blobs) == len(set(blobs)) and set(blobs) == set(before) and
      len(blobs) < len(before) - 4, len(blobs), len(before))
got = run(DUMP, "verify", "two.ptl")
check("two engines agree on it", got.returncode == 0, got.stdout[-300:], got.stderr)

# ---- and back ------------------------------------------------------------------------------------------------------------

some = next(pid for pid, _ in alone["south"])
got = run(RELOG, "-q", "two.ptl", "--pid", str(some + SECOND), "-o", "one.ptl")
check("a process of the second machine can be cut out", got.returncode == 0 and stats("one.ptl") ==
      moved({key: ran for key, ran in alone["south"].items() if key[0] == some}, 1), got, stats("one.ptl"))
got = run(RELOG, "-q", "two.ptl", "-o", "copy.ptl")
check("a copy of a merged trace is the same", content("copy.ptl") == content("two.ptl"))
run(RELOG, "-q", "two.ptl", "--redact", "host", "--redact", "text:south", "-o", "hidden.ptl")
with open(f"{scratch}/hidden.ptl", "rb") as file:
    hidden = file.read()
check("redaction hides the names of both machines", "north" not in run(DUMP, "info", "hidden.ptl").stdout and
      "south" not in run(DUMP, "info", "hidden.ptl").stdout, run(DUMP, "info", "hidden.ptl").stdout[:600])

# ---- three ---------------------------------------------------------------------------------------------------------------

got = run(RELOG, "-q", "north.ptl", "south.ptl", "west.ptl", "-o", "three.ptl")
check("three machines", stats("three.ptl") ==
      {**alone["north"], **moved(alone["south"], 1), **moved(alone["west"], 2)}, got, stats("three.ptl"))
got = run(RELOG, "-q", "two.ptl", "west.ptl", "-o", "chained.ptl")
left, right = content("three.ptl"), content("chained.ptl")
check("merging two, and then a third, is merging three", left == right,
      *[f"{a}\n{b}" for a, b in zip(left, right) if a != b][:4])

run(RELOG, "-q", "south.ptl", "west.ptl", "-o", "last.ptl")
run(RELOG, "-q", "north.ptl", "last.ptl", "-o", "chained.ptl")
right = content("chained.ptl")
check("and so is merging one with the other two", left == right,
      *[f"{a}\n{b}" for a, b in zip(left, right) if a != b][:4])
run(RELOG, "-q", "west.ptl", "south.ptl", "north.ptl", "-o", "backwards.ptl")
check("in another order it is each machine's flow all the same", stats("backwards.ptl") ==
      {**alone["west"], **moved(alone["south"], 1), **moved(alone["north"], 2)})

plan()
