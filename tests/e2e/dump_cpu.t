#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump cpu: known answers of made traces, the laws of the sums, perf sched and /proc on the same load, planted faults.
import atexit
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import etl_file as etl  # noqa: E402
from record_test import DUMP, PROGRAMS, SCRATCH, Skip, expect, expect_equal, main, path, record, run  # noqa: E402
from scratch_test import RELOG, write  # noqa: E402
from usage_test import (BLOCKS, ENDS, INTERRUPT, RUNS, SLEEPS, STATES, WAKE_NEW, Made, broken_laws, rows)  # noqa: E402

NONE = "--source=none"
LOAD = os.path.join(PROGRAMS, "usage_load")
os.environ["XDG_RUNTIME_DIR"] = SCRATCH + ".run"
os.environ["PTL_SESSION_DIR"] = os.path.join("/dev/shm", "ptl-usage-%d" % os.getpid())
os.makedirs(os.environ["XDG_RUNTIME_DIR"], mode=0o700, exist_ok=True)
for folder in ("XDG_RUNTIME_DIR", "PTL_SESSION_DIR"):
    atexit.register(shutil.rmtree, os.environ[folder], ignore_errors=True)


def usage(*arguments, status=0):
    found = rows("cpu", *arguments, status=status)
    expect_equal(broken_laws(found), [])
    return found


def text(*arguments):
    done = run(DUMP, "cpu", *arguments)
    expect_equal(done.returncode, 0, done.stderr)
    return done.stdout, done.stderr


def by_tid(found):
    return {one["tid"]: one for one in found["thread"]}


def times(one, *states):
    return [one[state] for state in states or STATES]


def simple(name):
    """A lock: 8 holds it, and sleeps; 7 waits for 8; the timer wakes 8, 8 wakes 7, and 7 waits for the CPU until 9 is gone."""
    made = Made(1000)
    for pid, called in ((7, "waiter"), (8, "holder"), (9, "hog")):
        made.process(pid, called)
    made.switch(100, 0, 7, SLEEPS, 0)
    made.switch(110, 1, 8, SLEEPS, 9)
    made.wake(300, 0, 0, 8, INTERRUPT)
    made.switch(310, 0, 0, RUNS, 8)
    made.wake(400, 0, 8, 7)
    made.switch(450, 0, 8, BLOCKS, 0)
    made.switch(700, 1, 9, RUNS, 7)
    made.switch(900, 1, 7, SLEEPS, 9)
    made.write(name)


def known_answers():
    """times of each state, delays, wakers, chains and who ran ahead, of a made trace"""
    simple("a.ptl")
    found = usage("a.ptl")
    threads = by_tid(found)
    # Nothing is known before the first event, at 100. The last event, at 900, ends the trace.
    expect_equal(times(threads[7]), [200, 300, 300, 0, 0, 100], "waiter")
    expect_equal(times(threads[8]), [150, 10, 190, 450, 0, 100], "holder; until 110 it ran on the other CPU")
    expect_equal(times(threads[9]), [590, 200, 0, 0, 10, 100], "hog, which waits while waiter runs")
    expect_equal([(one["cpu"], one["busy"], one["idle"], one["unknown"]) for one in found["cpu"]], [(0, 140, 660, 100), (1, 800, 0, 100)])
    expect_equal((threads[7]["switches"], threads[7]["waits"], threads[7]["longest_wait"], threads[7]["longest_wait_end"]), (2, 1, 300, 700))
    expect_equal([(one["waker"] if isinstance(one["waker"], str) else one["waker"]["tid"], one["woken"]["tid"], one["count"], one["asleep"],
                   one["delay"]) for one in found["waker"]], [(8, 7, 1, 300, 300), ("interrupt", 8, 1, 190, 10)])
    expect_equal([[one if isinstance(one, str) else one["name"] for one in chain["threads"]] for chain in found["chain"]],
                 [["waiter", "holder", "interrupt"], ["holder", "interrupt"]])
    expect_equal([(one["running"]["name"], one["waiting"]["name"], one["waited"]) for one in found["ahead"]],
                 [("hog", "waiter", 300), ("waiter", "hog", 200)])


def every_list():
    """the first lines name the places, and --by, --limit, --pid, --cpu and --time choose"""
    simple("a.ptl")
    out, err = text("a.ptl")
    first = out.splitlines()[:5]
    expect(first[0].startswith("window   2 CPUs, 900 ns, busy 52.22 %") and first[0].endswith("not represented 11.11 %"), first)
    for what, line in (("hog 9/9 ran most: 590 ns", first[1]), ("waiter 7/7 waited for a CPU: 300 ns, once, longest 300 ns", first[2]),
                       ("meanwhile ran mostly hog 9/9", first[2]), ("waiter 7/7 slept 300 ns, once, until woken by holder 8/8, itself woken by [interrupt]",
                                                                    first[3]), ("holder 8/8 was blocked, mostly by a disk: 450 ns", first[4])):
        expect(what in line, what, "not in", line)
    expect("before the first context switch, 100 ns of each CPU are unknown" in err, err)
    every = usage("a.ptl")
    for by, kind in (("cpu", "cpu"), ("process", "process"), ("thread", "thread"), ("waker", "waker"), ("chain", "chain"), ("ahead", "ahead")):
        one = rows("cpu", "--by", by, "a.ptl")
        expect_equal(set(one), {"window", kind})
        expect_equal(one[kind], every[kind])
        expect_equal(rows("cpu", "--by", by, "-n", "1", "a.ptl")[kind], every[kind][:1])
        shown = text("--by", by, "-n", "1", "a.ptl")[0].splitlines()
        expect_equal(len(shown), 2 + (len(every[kind]) > 1), by, shown)
    slices = rows("cpu", "--by", "slice", "a.ptl")["slice"]
    expect_equal([(one["cpu"], one["tid"], one["start"], one["end"], one.get("ready"), one["after"]) for one in slices],
                 [(1, 8, 100, 110, None, "sleeping"), (0, 8, 310, 450, 300, "blocked"), (1, 9, 110, 700, None, "waiting"),
                  (1, 7, 700, 900, 400, "sleeping")])
    expect_equal(len(text("--by", "slice", "a.ptl")[0].splitlines()), 1 + len(slices))
    alone = usage("--pid", "7", "a.ptl")
    expect_equal([one["tid"] for one in alone["thread"]], [7])
    expect_equal([one["of_selected"] for one in alone["cpu"]], [0, 200])
    of_cpu = usage("--cpu", "1", "a.ptl")
    expect_equal([one["cpu"] for one in of_cpu["cpu"]], [1])
    expect_equal({one["tid"]: (one["running"], one["elsewhere"]) for one in of_cpu["thread"]}, {7: (200, 0), 8: (10, 140), 9: (590, 0)})
    window = usage("--time", "400ns..600ns", "a.ptl")
    expect_equal(times(by_tid(window)[7], "waiting", "running"), [200, 0])
    expect_equal(window["window"][0]["unknown"], 0)


def breaks():
    """a lost switch makes the time unknown between two switches that are known, and is said"""
    made = Made(1000, cpus=3)
    for pid in (7, 8, 9):
        made.process(pid, f"p{pid}")
    made.switch(100, 0, 0, RUNS, 7)
    # The switch from 7 to 8 is lost.
    made.switch(500, 0, 8, SLEEPS, 9)
    made.switch(600, 1, 0, RUNS, 8)
    made.switch(800, 1, 8, ENDS, 0)
    made.lines.append("loss kind=3 count=5 cause=full")
    made.write("b.ptl")
    found = usage("b.ptl")
    window, threads = found["window"][0], by_tid(found)
    expect_equal((window["breaks"], window["cpus_without_events"], window["without_events"]), (1, 1, 800))
    expect_equal([(one["busy"], one["unknown"]) for one in found["cpu"]], [(300, 100 + 400), (200, 100)])
    expect_equal((threads[7]["running"], threads[8]["running"]), (0, 200))
    done = run(DUMP, "cpu", "b.ptl")
    expect("had: 1; events are missing there" in done.stderr and "CPUs without a context switch: 1" in done.stderr,
           done.stderr)
    expect("no wake-ups were recorded" in done.stderr, done.stderr)


def random_traces():
    """the laws hold for random schedules, whole or with lost events; whole ones give the exact times"""
    for seed in range(12):
        chance = random.Random(seed)
        lose = seed % 3 == 2
        truth, events, end = simulate(chance)
        made = Made(end, cpus=3)
        for pid in range(10, 16):
            made.process(pid, f"p{pid}")
        first = None
        for event in events:
            if lose and chance.random() < 0.1:
                continue
            first = event[1] if first is None else first
            if event[0] == "switch":
                made.switch(*event[1:])
            else:
                made.wake(*event[1:])
        made.write("r.ptl")
        found = usage("r.ptl")
        middle = chance.randrange(first, events[-1][1])
        halves = [usage("--time", f"..{middle}ns", "r.ptl"), usage("--time", f"{middle}ns..", "r.ptl")]
        for tid, one in by_tid(found).items():
            parts = [by_tid(half).get(tid) for half in halves]
            for state in STATES[:5]:
                expect_equal(sum(part[state] for part in parts if part), one[state], "seed", seed, tid, state)
            if not lose:
                expect_equal({state: one[state] for state in STATES[:4]}, truth[tid], "seed", seed, "thread", tid)
                expect_equal(one["off"], 0)


def simulate(chance, cpus=3):
    """Returns times by thread and state since the first event, the events, and the end."""
    state = {tid: "sleeping" for tid in range(10, 16)}
    since, truth = dict.fromkeys(state, 0), {tid: collections.Counter() for tid in state}
    running, events, now, first = [0] * cpus, [], 50, None

    def change(tid, new):
        if tid:
            truth[tid][state[tid]] += now - max(since[tid], first)
            state[tid], since[tid] = new, now

    for _ in range(400):
        now += chance.randrange(1, 60)
        first = first if events else now
        cpu, asleep = chance.randrange(cpus), [tid for tid in state if state[tid] in ("sleeping", "blocked")]
        ready = [tid for tid in state if state[tid] == "waiting"]
        old = running[cpu]
        if asleep and chance.random() < 0.5:
            woken = chance.choice(asleep)
            change(woken, "waiting")
            events.append(("wake", now, cpu, old, woken, INTERRUPT if not old or chance.random() < 0.3 else 0))
        elif old or ready:
            bits = chance.choice((RUNS, SLEEPS, BLOCKS))
            new = chance.choice(ready) if ready else 0
            change(old, {RUNS: "waiting", SLEEPS: "sleeping", BLOCKS: "blocked"}[bits])
            change(new, "running")
            running[cpu] = new
            events.append(("switch", now, cpu, old, bits if old else RUNS, new))
    now = events[-1][1]
    for tid in state:
        change(tid, state[tid])
    return {tid: {name: one[name] for name in STATES[:4]} for tid, one in truth.items()}, events, now


def windows():
    """.etl files of Windows: CSwitch with the old thread's state, and ReadyThread, read directly and as a trace"""
    start = struct.pack("<IIQQQQQQQIBBBB", 40, 9, *[0] * 7, 0, 0, 0, 0, 0)

    def switch(new, old, state, ticks, reason=0):
        return etl.perfinfo(0x0524, struct.pack("<IIbbBbbbbbII", new, old, 8, 8, 0, 0, reason, 0, state, 0, 0, 0), ticks=etl.START_TICKS + ticks)

    file = etl.File().buffer([
        etl.system(0x0503, start, version=3, ticks=etl.START_TICKS + 1),
        etl.system(0x0503, start[:4] + struct.pack("<I", 10) + start[8:], version=3, ticks=etl.START_TICKS + 1),
        switch(9, 0, 2, 100),
        switch(10, 9, 5, 200),
        etl.perfinfo(0x0532, struct.pack("<Ibbbb", 9, 0, 0, 0, 0), ticks=etl.START_TICKS + 250),
        switch(9, 10, 1, 300),
        switch(0, 9, 5, 400, reason=2),
    ])
    write("w.etl", bytes(file))
    expect_equal(run(RELOG, "-q", "-o", "w.ptl", "w.etl").returncode, 0)
    for name in ("w.etl", "w.ptl"):
        found = usage(name)
        threads = by_tid(found)
        # A tick is 100 ns.
        expect_equal(times(threads[9], "running", "waiting", "sleeping", "blocked"), [20000, 5000, 5000, 0], name)
        expect_equal(times(threads[10], "running", "waiting"), [10000, 10000], name)
        expect_equal([(one["waker"]["tid"], one["woken"]["tid"], one["delay"]) for one in found["waker"]], [(10, 9, 5000)])
        expect_equal(threads[9]["pid"], 40)


def works():
    done = record("-f", "-o", "works.ptl", NONE, "--flags=cswitch,dispatcher", "--", "true")
    if done.returncode:
        raise Skip("context switches cannot be recorded here: " + done.stderr.splitlines()[0])


def perf_file():
    """Records a load with perf sched. Returns the rows of perf sched timehist, as run times and delays in microseconds by thread."""
    if not shutil.which("perf"):
        raise Skip("perf is missing")
    done = subprocess.run(["perf", "sched", "record", "-o", path("perf.data"), "--", LOAD, "lock", "40"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skip("perf sched cannot record here: " + (done.stderr.splitlines() or ["no reason"])[-1])
    told = subprocess.run(["perf", "sched", "-i", path("perf.data"), "timehist"], capture_output=True, text=True, check=True).stdout
    runs, delays = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for line in told.splitlines():
        found = re.match(r"\s+\d+\.\d+ \[\d+\]\s+(.*)\[(-?\d+)(?:/-?\d+)?\]\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$", line)
        if found:
            runs[int(found[2])][round(float(found[5]) * 1000)] += 1
            delays[int(found[2])][round(float(found[4]) * 1000)] += 1
    expect(len(runs) > 3, "perf sched timehist says", told[:500])
    return runs, delays


def as_perf():
    """each time on a CPU, and each delay behind a wake-up, as of perf sched timehist on the same file"""
    runs, delays = perf_file()
    expect_equal(run(RELOG, "-q", "-o", "perf.ptl", "perf.data").returncode, 0)
    found = usage("perf.ptl")
    slices = rows("cpu", "--by", "slice", "perf.ptl")["slice"]
    known, seen, unlike = 0, set(), []
    for one in slices:
        # perf does not know the beginning of a CPU's first slice, and the end of its last.
        if one["cpu"] not in seen or one["after"] == "running":
            seen.add(one["cpu"])
            continue
        took = (one["end"] - one["start"]) / 1000
        # Of a thread that ends, perf has lost the number, and with it the delay.
        near = [runs[tid][number] for number in (int(took), int(took) + 1) for tid in (one["tid"], -1)]
        expect(any(near), "perf sched has no run of", took, "us of", one)
        if "waker" in one and one["after"] != "ended":
            delay = (one["start"] - one["ready"]) / 1000
            if not any(delays[one["tid"]][number] for number in (int(delay), int(delay) + 1)):
                unlike.append((delay, one))
            known += 1
    expect(known > 50, known)
    # perf measures a delay up to the last switch that was recorded, which a missing switch makes another.
    expect(len(unlike) <= found["window"][0]["breaks"], "perf sched has no such delays:", unlike, found["window"])
    # perf gives a run to the thread that leaves, also where another thread entered: these are breaks here.
    theirs = sum(sum(counter.values()) for tid, counter in runs.items() if tid)
    expect(abs(theirs - len([one for one in slices if one["after"] != "running"])) <= found["window"][0]["breaks"] + 2 * len(seen) + 2,
           theirs, len(slices), found["window"])


def session(name, load, *flags):
    """Records the whole system while the load runs. Returns its output."""
    done = record("start", "usage", "-o", path(name), *flags)
    if done.returncode:
        raise Skip("the whole system cannot be recorded here: " + done.stderr.splitlines()[0])
    try:
        # The recorder has written the processes and waits.
        time.sleep(0.2)
        told = subprocess.run(load, capture_output=True, text=True, check=True, timeout=100).stdout
    finally:
        done = record("stop", "usage")
    expect_equal(done.returncode, 0, done.stderr)
    return told


def as_proc():
    """running, waiting and switches of a process are /proc's: schedstat and status"""
    works()
    told = session("p.ptl", [LOAD, "wait", "60"], "--flags=cswitch,dispatcher")
    pid = int(re.search(r"^victim (\d+)", told, re.M)[1])
    ran, waited, _ = map(int, re.search(r"^schedstat \d+ (\d+) (\d+) (\d+)", told, re.M).groups())
    switches = sum(map(int, re.findall(r"voluntary_ctxt_switches:\t(\d+)", told)))
    found = usage("p.ptl")
    mine = [one for one in found["thread"] if one.get("pid") == pid]
    expect_equal(len(mine), 1, mine)
    one = mine[0]
    # The program reads the numbers shortly before its end.
    expect(abs(one["running"] - ran) < 3e6 + ran * 0.03, "ran", one["running"], "and by /proc", ran)
    expect(abs(one["waiting"] - waited) < 5e6 + waited * 0.03, "waited", one["waiting"], "and by /proc", waited)
    expect(abs(one["switches"] - switches) <= 3 + found["window"][0]["breaks"], "switches", one["switches"], "and by /proc", switches)


def fault_waiting():
    """a planted fault: time lost waiting for a CPU is in the first five lines, with the program in its way"""
    works()
    done = record("-o", "wait.ptl", NONE, "--flags=cswitch,dispatcher", "--", LOAD, "wait", "40")
    expect_equal(done.returncode, 0, done.stderr)
    first = text("wait.ptl")[0].splitlines()[:5]
    expect(any(re.match(r"waiting  victim \d+/\d+ waited for a CPU: ", line) for line in first), first)
    threads = {one["name"]: one for one in usage("wait.ptl")["thread"]}
    expect(30e6 < threads["victim"]["running"] < 80e6 and threads["victim"]["waiting"] > 10e6, threads)


def fault_lock():
    """a planted fault: who waits for a lock, and for whom, is in the first five lines"""
    works()
    done = record("-o", "lock.ptl", NONE, "--flags=cswitch,dispatcher", "--", LOAD, "lock", "40")
    expect_equal(done.returncode, 0, done.stderr)
    first = text("lock.ptl")[0].splitlines()[:5]
    expect(any(re.match(r"asleep   last \d+/\d+ slept .*, until woken by middle \d+/\d+, itself woken by holder \d+/\d+", line)
               for line in first), first)


def pages():
    """a page and timelines of a recording with --flags cswitch alone have rows of CPUs"""
    works()
    done = record("-o", "page.ptl", NONE, "--flags=cswitch", "--", LOAD, "lock", "10")
    expect_equal(done.returncode, 0, done.stderr)
    ran = sum(one["running"] for one in usage("page.ptl")["thread"])
    run(DUMP, "html", "-o", "page.html", "page.ptl")
    with open(path("page.html"), encoding="utf-8") as file:
        timeline = json.loads(re.search(r'id="data-timeline">(.*?)</script>', file.read(), re.S)[1])
    expect(timeline["cpus"] and all(one["count"] for one in timeline["cpus"]), timeline)
    expect(any("usage_load" in name for name in timeline["running"]), timeline["running"])
    expect_equal(run(DUMP, "timeline", "--format", "chrome", "-o", "page.json", "page.ptl").returncode, 0)
    with open(path("page.json"), encoding="utf-8") as file:
        shown = json.load(file)
    begun, total = {}, 0
    for one in shown["traceEvents"] if isinstance(shown, dict) else shown:
        if one.get("ph") == "B":
            begun[one["pid"], one["tid"]] = one["ts"]
        elif one.get("ph") == "E" and (one["pid"], one["tid"]) in begun:
            total += one["ts"] - begun.pop((one["pid"], one["tid"]))
    expect(abs(total * 1000 - ran) < 1e5, "the slices last", total, "us, and the threads ran", ran, "ns")


def mistakes():
    """a trace without context switches is no error, and says how to record them; wrong options are errors"""
    made = Made(100)
    made.process(7, "p")
    made.write("none.ptl")
    done = run(DUMP, "cpu", "none.ptl")
    expect_equal((done.returncode, done.stdout), (0, ""))
    expect("no context switch" in done.stderr and "--flags cswitch,dispatcher" in done.stderr, done.stderr)
    for words in (["--by", "nothing"], ["-n", "0"], ["--pid", "12345678"]):
        expect_equal(run(DUMP, "cpu", *words, "none.ptl").returncode, 2, words)
    # Fields of another type than the kernel's give no times, and no crash.
    odd = ("sched", "sched_switch", ("prev_pid", "text"), ("next_pid", "bytes3"), ("prev_state", "u8"))
    made = Made(100)
    made.event(odd, 10, 0, 7, 7, "seven", b"\x01\x02\x03", 255)
    made.event(odd, 20, 4294967295, 7, 7, "", b"\xff\xff\xff", 0)
    made.write("odd.ptl")
    usage("odd.ptl")


TESTS = [known_answers, every_list, breaks, random_traces, windows, as_perf, as_proc, fault_waiting, fault_lock, pages, mistakes]
sys.exit(main(TESTS))
