#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT that events pause and resume (--only-between), and Intel PT with a budget (--max-rate). A library replaces the kernel's
# driver.
import errno
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import pmu_test  # noqa: E402
from perf_file import assemble, stretches  # noqa: E402
from pmu_test import TASKS, Recording, Script, losses, play, stats_of_threads  # noqa: E402
from scratch_test import DUMP, RELOG, check, path, plan, run, skip  # noqa: E402

PAUSE, RESUME = 2, 4
TRACEPOINTS = ("--only-between=sched:sched_switch", "--and=sched:sched_wakeup")


class Turn:
    """Packets of the thread with times, from a list of stretches."""

    def __init__(self, pid, tid):
        self.pid, self.tid, self.now, self.packets, self.cuts = pid, tid, pmu_test.LEAD + 200, [], []

    def add(self, lists, begins):
        """begins: the CPU writes a PSB when the event runs for the first time."""
        if begins:
            self.now += 100
            self.packets += ["psb", f"tsc {self.now:#x}", "mode.exec 64", "psbend"]
        for stretch in lists:
            self.now += 100
            for packet in stretch:
                self.now += 1
                # A CPU writes the time before the flow begins, and now and then in the flow.
                if packet.startswith("tip.pge"):
                    self.packets.append(f"tsc {self.now:#x}")
                self.packets.append(packet)
                if packet == "psb" or packet.startswith("tip.pge"):
                    self.now += 1
                    self.packets.append(f"tsc {self.now:#x}")
        self.cuts.append((len(assemble(self.packets)), self.now))


def without_start(stretch):
    """Returns a stretch without its first PSB."""
    return stretch[stretch.index("psbend") + 1:] if stretch[0] == "psb" else stretch


def paused_script(recording, hits, again=False):
    """
    Four parts: paused, recorded, paused, recorded. Without hits, the script has the recorded packets alone, for a recording
    without pauses. again: the last part executes the code of the second part again.
    """
    pid, tid, _ = recording.streams[0]
    lists = [without_start(stretch) for stretch in stretches(recording.name, tid)]
    quarter = len(lists) // 4
    turn = Turn(pid, tid)
    turn.add(lists[quarter:2 * quarter], True)
    turn.add(lists[quarter:2 * quarter] if again else lists[3 * quarter:], False)
    (middle, pause), (end, last) = turn.cuts
    script = Script(recording)
    script.processes()
    script.add("start", 0, pid, tid, pmu_test.LEAD)
    left_out = assemble([packet for stretch in lists[:quarter] for packet in stretch])

    def leave_out():
        script.packets(left_out)
        script.add("aux", 0, 0, len(left_out), 0, pid, tid, pause)

    if hits:
        leave_out()
        script.add("hit", 0, RESUME, pid, tid, pmu_test.LEAD + 150)
    data = assemble(turn.packets)
    script.packets(data)
    script.add("aux", 0, 0, middle, 0, pid, tid, pause)
    if hits:
        script.add("hit", 0, PAUSE, pid, tid, pause + 10)
        leave_out()
        script.add("hit", 0, RESUME, pid, tid, pause + 60)
        script.packets(data)
    script.add("aux", 0, middle, end, 0, pid, tid, last)
    if hits:
        script.add("hit", 0, PAUSE, pid, tid, last + 10)
    script.add("out", 0, pid, tid, last + 50)
    return script


def recorder_events():
    """Returns (name, event text, thread, CPU) of the recorder's events of pauses."""
    found = (json.loads(line) for line in run(DUMP, "events", "--json", "out.ptl").stdout.splitlines())
    return [(event["event"], event["fields"]["Event"], event["tid"], event["cpu"]) for event in found
            if event["provider"] == "PTL-Record" and event["event"] != "Note"]


def refused_here(done):
    """Returns why this machine takes neither tracepoints nor uprobes; empty if it does."""
    return done.stderr if "tracefs" in done.stderr or "Permission" in done.stderr or "root" in done.stderr else ""


def pauses(recording):
    """Only packets between the events are recorded, the events are in the trace, and the pauses are no loss. Returns whether it ran."""
    play(paused_script(recording, False), "--timing=tsc", "--no-retcomp")
    wanted = stats_of_threads("out.ptl")
    done = play(paused_script(recording, True), "--timing=tsc", "--no-retcomp", *TRACEPOINTS)
    if refused_here(done):
        skip("pauses at tracepoints", refused_here(done))
        return False
    stats, whole = stats_of_threads("out.ptl"), sum(one[0] for one in recording.stats.values())
    log = pmu_test.log()
    check("pauses: the stand-in has left out packets of both pauses", sum(line.startswith("paused cpu=0") for line in log) == 2, *log)
    check("pauses: each event starts paused, and its members resume and pause",
          sum(line.startswith("action 1 of type 0") for line in log) >= 2 and
          len([line for line in log if re.match(r"action [24] of type 2 period=1 kernel=1", line)]) >= 4, *log)
    check("pauses: the flow between the events is there, without gaps", done.returncode in (40, 41) and
          sorted(stats.values()) == sorted(wanted.values()) and 0 < sum(one[0] for one in stats.values()) < whole,
          stats, wanted, whole, done.stderr)
    check("pauses: nothing is lost", pmu_test.nothing_lost(), losses())
    events = recorder_events()
    check("pauses: the events are in the trace, with thread and CPU",
          [event[:2] for event in events] == [("Resumed", "sched:sched_switch"), ("Paused", "sched:sched_wakeup")] * 2 and
          {event[2] for event in events} == set(stats) and {event[3] for event in events} == {0}, events, stats)
    check("pauses: notes have the events and the counts", "2 times sched:sched_switch" in done.stderr and
          any("paused except between sched:sched_switch and sched:sched_wakeup" in note for note in pmu_test.notes()),
          pmu_test.notes(), done.stderr)
    lines = run(DUMP, "flow", "out.ptl").stdout.splitlines()
    at = [next((index for index, line in enumerate(lines) if "paused from here on" in line), -1)]
    after = [line for line in lines[at[0] + 1:] if "enabled at" in line or "recorded from here on" in line]
    check("pauses: flow shows the pause in its place", at[0] > 0 and after and "recorded from here on" in after[0] and
          not any("gap" in line for line in lines), lines[at[0] - 3:at[0] + 4])
    lint = run(DUMP, "lint", "out.ptl")
    check("pauses: lint finds nothing wrong", lint.returncode == 0, lint.stdout, lint.stderr)
    windows = run(RELOG, "-f", "-o", "window.ptl", "--between=Event == 'sched:sched_switch'", "--and=Event == 'sched:sched_wakeup'", "out.ptl")
    check("pauses: relog cuts at the events", windows.returncode == 0 and os.path.exists(path("window.1.ptl")), windows.stderr)
    return True


def calls_of_pauses(recording):
    """Behind a pause, the flow goes on in other code. Calls do not take the code for a signal handler."""
    signals, gaps = [], []
    for hits in (False, True):
        play(paused_script(recording, hits, again=True), "--timing=tsc", "--no-retcomp", *(TRACEPOINTS if hits else ()))
        lines = run(DUMP, "calls", "out.ptl").stdout.splitlines()
        signals.append(sum("signal" in line for line in lines))
        gaps.append(sum("lost" in line or "gap" in line for line in lines))
    check("calls of pauses: what follows a pause is in no signal handler", signals[1] < signals[0], signals, gaps)


def moves(recording):
    """A thread that goes to another CPU before the end of a stretch: the missing packets are a loss."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    # The last stretch has no end. The order of the reports of both CPUs is not the order of time.
    for cpu, action, time in ((0, RESUME, 100), (0, RESUME, 300), (0, PAUSE, 400), (0, RESUME, 500), (0, RESUME, 700),
                              (1, PAUSE, 200), (1, PAUSE, 600)):
        script.add("hit", cpu, action, pid, tid, pmu_test.LEAD + time)
    script.add("in", 1, pid, tid, pmu_test.LEAD + 150)
    script.add("in", 1, pid, tid, pmu_test.LEAD + 800)
    play(script, *TRACEPOINTS)
    spans = sorted((loss["first_time"], loss["last_time"]) for loss in losses() if "moved from CPU 0 to CPU 1" in loss["cause"])
    check("moves in stretches: are losses, from the move to the end", len(spans) == len(losses()) == 3 and
          [last - first for first, last in spans[:2]] == [50, 100] and
          [first - spans[0][0] for first, _ in spans] == [0, 350, 650], losses())
    for options in (["--per-thread"], ["--cpus=0-1"]):
        script = Script(recording)
        hits = ((0, RESUME, 100), (1, PAUSE, 200)) if options[0] != "--per-thread" else ()
        for cpu, action, time in hits:
            script.add("hit", cpu, action, pid, tid, pmu_test.LEAD + time)
        done = play(script, *TRACEPOINTS, *options)
        check(f"moves with {options[0]}: are none", done.returncode in (40, 41) and
              not any("moved" in loss["cause"] for loss in losses()) and len(recorder_events()) == len(hits), losses(), done.stderr)


def functions():
    """Functions of the command by name, and of libraries by path, become uprobes that children inherit."""
    library = os.path.realpath(os.path.join(os.environ["PTL_LIB"], "libptl.so"))
    # The command is one of four processes, the children of which begin in the middle of main.
    cases = [("main", "main/return", 1, 0), (f"{os.path.basename(TASKS)}:main", f"uretprobe:{TASKS}:main", 1, 0),
             ("sched:sched_process_fork", "sched:sched_process_exec", 3, 1)]
    if os.path.exists(library):
        cases.append((f"{library}:ptl_open", f"uprobe:{TASKS}:main", 0, 1))
    for first, last, resumes, ends in cases:
        script = Script(RECORDING)
        script.add("process", script.pids[0], 0)
        script.add("count", RESUME, resumes)
        script.add("count", PAUSE, ends)
        done = play(script, f"--only-between={first}", f"--and={last}", command=(TASKS, "1", "3"))
        if refused_here(done):
            skip(f"pauses at functions: {first}", refused_here(done))
            continue
        log = pmu_test.log()
        check(f"functions: {first}: the kernel has a probe, as a tracepoint", done.returncode in (40, 41) and
              sum(bool(re.match(r"action 4 of type 2 ", line)) for line in log) >= 2 and f"no thread came to {first}" in done.stderr,
              done.stderr, *log)
        check(f"functions: {first}: the kernel counts in the recorded processes", f"count action=4 events={resumes}" in log and
              f"count action=2 events={ends}" in log, *log)
    probes = "/sys/kernel/tracing/uprobe_events"
    if os.access(probes, os.R_OK):
        with open(probes, encoding="utf-8") as file:
            check("functions: the probes are removed", "tasks" not in file.read())


def refusals():
    """What cannot be is refused with words."""
    cases = [
        (["--only-between=main"], None, "needs --and"),
        (["--and=main"], None, "needs --and"),
        ([*TRACEPOINTS, "--source=software"], None, "--start-at FIRST --stop-at LAST"),
        ([*TRACEPOINTS, "--max-rate=1M"], None, "one of them"),
        (["--max-rate=1M", "--snapshot"], None, "--max-rate is for packets that are all kept"),
        (["--max-rate=1M", "--source=software"], None, "--max-rate is for packets that the CPU makes"),
        (TRACEPOINTS, {"no_pause": str(errno.EINVAL)}, "Linux 6.13 and later can"),
        (TRACEPOINTS, {"no_pause": str(errno.EOPNOTSUPP)}, "driver of Intel PT cannot pause"),
        (["--only-between=nobody", "--and=main"], {"no_pause": None}, "there is no function nobody"),
        (["--only-between=main", "--and=cpu-clock"], None, "there is no function cpu-clock"),
        (["--only-between=main", f"--and={TASKS}:main"], None, "need two events"),
        (["--only-between=sched:sched_switch if nothing == 1", "--and=main"], None, "does not take the filter"),
        (["--only-between=libnone.so:main", "--and=main"], None, "no path of a library or program"),
    ]
    for arguments, changes, text in cases:
        done = play(None, *arguments, changes=changes, hold=False)
        if text not in done.stderr and refused_here(done):
            skip(f"refused: {text}", refused_here(done))
            continue
        check(f"refused: {text}", done.returncode not in (0, 40, 41) and text in done.stderr and
              (not changes or not changes["no_pause"] or "ptl-relog --between" in done.stderr), done.returncode, done.stderr)
        if changes is None:
            pmu_test.device({"no_pause": None})


def budget(recording):
    """More packets than the budget: Intel PT is off for a while, and what is left out is a loss of the CPU that ran the thread."""
    pid, tid, _ = recording.streams[0]
    script = Script(recording)
    script.processes()
    (data,), end = script.turns()
    whole = data * (400000 // len(data) + 1)
    script.packets(whole)
    script.add("start", 0, pid, tid, pmu_test.LEAD)
    script.add("flood", 1, 2000000, 4000000, pid, tid, end)
    done = play(script, "--timing=tsc", "--max-rate=500K")
    log = pmu_test.log()
    flood = re.search(r"flood bytes=(\d+) lost=(\d+)", "\n".join(log))
    found = [loss for loss in losses() if "over --max-rate" in loss["cause"]]
    size = sum(stream["bytes"] for stream in json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["streams"]
               if stream["kind"] == "pt")
    check("budget: the CPU is told to stop and to go on", any(line.startswith("disable cpu=0") for line in log) and
          sum(line.startswith("enable cpu=0") for line in log) >= 1, *log)
    check("budget: each stretch is a loss of CPU 0 with its times", found and len(found) == len(losses()) and
          all("CPU 0" in loss["cause"] and loss["last_time"] > loss["first_time"] for loss in found), losses())
    # Two seconds at four times the budget; the first second of the budget may come at once.
    check("budget: the trace has the budget, and no more than a look of the recorder beyond",
          flood and int(flood.group(2)) > 0 and 500000 <= size <= 2500000, size, flood and flood.group(0), done.stderr)
    seconds = sum(loss["last_time"] - loss["first_time"] for loss in found) / 1e9
    said = re.search(r"left out ([0-9.]+) s on CPU 0, of ([0-9.]+) s \(--max-rate\)", done.stderr)
    check("budget: the end says what was left out, on this CPU alone", said and abs(float(said.group(1)) - seconds) < 0.1 and
          "CPU 1" not in done.stderr and any("--max-rate" in note for note in pmu_test.notes()), seconds, done.stderr)
    stats = stats_of_threads("out.ptl")
    check("budget: flow goes on behind each gap", sum(gaps for _, _, gaps in stats.values()) >= len(found) and
          sum(count for count, _, _ in stats.values()) > sum(one[0] for one in recording.stats.values()), stats)
    play(script, "--timing=tsc", "--max-rate=1G")
    check("budget: what is within the budget is whole", pmu_test.nothing_lost(), losses())


if not os.path.exists(os.path.join(os.environ["PTL_TEST_TOOLS"], "pmu.so")):
    plan(skip="there is no stand-in for Intel PT")
os.environ["GLIBC_TUNABLES"] = "glibc.pthread.rseq=0"
RECORDING = Recording("tasks.ptl", TASKS, "2000", options=("--no-retcomp",))
if pauses(RECORDING):
    calls_of_pauses(RECORDING)
    moves(RECORDING)
functions()
refusals()
budget(RECORDING)
plan()
