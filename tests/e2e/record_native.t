#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --source none: the command runs natively, and its processes are in the trace.
import collections
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, main, path, record, start

NONE = ("--source=none",)


def exit_statuses():
    """the exit status is the command's, or 128 and its signal"""
    for command, status in (("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)):
        done = record("-q", "-f", "-o", "a.ptl", *NONE, "--", "sh", "-c", command)
        expect_equal(done.returncode, status, command, done.stderr)
    expect_equal(record("-o", "b.ptl", *NONE, "no-such-command").returncode, 127)
    done = record("-q", "-f", "-o", "a.ptl", *NONE, "sh", "-c", "echo out; echo err >&2")
    expect_equal((done.stdout, done.stderr), ("out\n", "err\n"))


def wrong_commands():
    """what is no command is answered with what was meant: a program of this folder, or a command of ptl-record"""
    shutil.copy("/bin/true", path("owntrue"))
    for words, text in ((("owntrue",), "owntrue: command not found (did you mean './owntrue'?)"), (("lsit",), "try: ptl-record list"),
                        (("stpo",), "try: ptl-record stop"), (("help",), "try: ptl-record --help")):
        done = subprocess.run([RECORD, *words], cwd=SCRATCH, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        expect_equal(done.returncode, 127, done.stderr)
        expect(text in done.stderr, done.stderr)
    expect("try:" not in record(*NONE, "-o", "b.ptl", "no-such-command").stderr)


def runs_natively():
    """nothing is between the command and the kernel"""
    done = record("-q", "-o", "a.ptl", *NONE, "sh", "-c", "readlink /proc/$$/exe; grep TracerPid /proc/$$/status")
    expect_equal(done.stdout, os.path.realpath("/bin/sh") + "\nTracerPid:\t0\n")
    info = lines("info", "a.ptl")[0]
    expect_equal((info["source"], info["software"]), ("none", False))


def command_name():
    """the command is named as what it runs: links are resolved, a script is its interpreter"""
    record("-q", "-o", "a.ptl", *NONE, "sh", "-c", ":")
    process = lines("processes", "a.ptl")[0]
    expect_equal((process["programs"][0]["path"], process["command_line"]), (os.path.realpath("/bin/sh"), "sh -c :"))
    with open(path("script"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh -e\n:\n")
    os.chmod(path("script"), 0o755)
    record("-q", "-o", "b.ptl", *NONE, "./script", "x y")
    process = lines("processes", "b.ptl")[0]
    expect_equal((process["programs"][0]["path"], process["command_line"]),
                 (os.path.realpath("/bin/sh"), "/bin/sh -e ./script 'x y'"))


def process_tree():
    """processes that live for some looks are reported with parent, command line, program and end"""
    script = "sh -c 'sleep 0.6; exit 3' 'a b'; cat </dev/null; exit 4"
    done = record("-q", "-o", "a.ptl", *NONE, "sh", "-c", script)
    expect_equal(done.returncode, 4, done.stderr)
    # A child that was seen between fork and exec alone has its parent's command line, too.
    processes = lines("processes", "a.ptl")
    outer = processes[0]
    expect(outer["command_line"].endswith("exit 4'"), processes)
    expect_equal(outer["exit_status"], 4)
    inner = next(process for process in processes if process["command_line"] == "sh -c 'sleep 0.6; exit 3' 'a b'" and
                 process["parent_pid"] == outer["pid"])
    expect_equal(inner["programs"][-1]["path"], os.path.realpath("/bin/sh"))
    expect(inner["end"] - inner["start"] >= 300000000, inner)
    images = {image["path"] for image in lines("images", "a.ptl") if image["pid"] == inner["pid"]}
    expect(os.path.realpath("/bin/sh") in images, images)
    expect(any("libc.so" in image for image in images), images)


def short_processes():
    """processes that live shorter than a look are reported, where the kernel lets us hear of them"""
    done = record("-o", "a.ptl", *NONE, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; (:)")
    if "may be missing" in done.stderr:
        raise Skip("no kernel events: " + done.stderr.splitlines()[0])
    processes = lines("processes", "a.ptl")
    expect_equal(len(processes), 12, processes)
    expect_equal([process["parent_pid"] for process in processes[1:]], 11 * [processes[0]["pid"]], processes)
    # The last one is the subshell. A look may see one before the kernel has reported it: its start is known to 10 ms then.
    names = [os.path.basename(process["programs"][-1]["path"]) for process in processes[1:]]
    expect_equal((names.count("true"), len(set(names))), (10, 2), processes)
    for process, name in zip(processes[1:], names):
        expect(processes[0]["start"] <= process["start"] <= process["end"] <= processes[0]["end"], processes)
        if name != "true":
            continue
        images = {image["path"] for image in lines("images", "--pid", str(process["pid"]), "a.ptl")}
        expect(os.path.realpath("/bin/true") in images and any("libc.so" in image for image in images), images)


def exact_starts():
    """processes that a look sees have the start that the kernel tells, not that of /proc"""
    program = """import os, time
for i in range(6):
    before = time.monotonic_ns()
    child = os.fork()
    if not child:
        time.sleep(.5)
        os._exit(0)
    print(child, before, time.monotonic_ns())
    time.sleep(.013)
time.sleep(.6)"""
    done = record("-o", "a.ptl", *NONE, "--", sys.executable, "-S", "-E", "-c", program)
    if "may be missing" in done.stderr:
        raise Skip("no kernel events: " + done.stderr.splitlines()[0])
    zero = lines("info", "a.ptl")[0]["clock"]["start_time"]
    starts = {process["pid"]: zero + process["start"] for process in lines("processes", "a.ptl")}
    reported = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    exact = [before <= starts[pid] <= after for pid, before, after in reported]
    # A look may fall between the moment at which /proc shows a process and that at which the kernel reports it.
    expect(len(exact) == 6 and exact.count(False) <= 1, starts, reported)


def threads():
    """threads of the command are reported"""
    program = "import threading, time; t = threading.Thread(target=lambda: time.sleep(.6)); t.start(); t.join()"
    record("-q", "-o", "a.ptl", *NONE, "--", sys.executable, "-S", "-E", "-c", program)
    process = lines("processes", "--threads", "a.ptl")[0]
    expect_equal(len(process["threads"]), 2, process)


def skip_unless_reported(done):
    """a test is about what the kernel reports"""
    if "may be missing" in done.stderr:
        raise Skip("no kernel events: " + done.stderr.splitlines()[0])


def short_threads():
    """every thread is there with its name, however short it lives"""
    program = """import ctypes, threading
name = ctypes.CDLL(None).prctl
for i in range(50):
    thread = threading.Thread(target=lambda: name(15, b"worker-%d" % i, 0, 0, 0))
    thread.start()
    thread.join()"""
    skip_unless_reported(record("-o", "a.ptl", *NONE, "--", sys.executable, "-S", "-E", "-c", program))
    process = next(entry for entry in lines("processes", "--threads", "a.ptl") if entry["command_line"].endswith("join()'"))
    expect_equal([thread["name"] for thread in process["threads"][1:]], ["worker-%d" % i for i in range(50)], process)


WORK = "/bin/true; '%s/thread_names'; (:); (exec -a other /bin/sh -c 'exit 5'); for i in 1 2 3; do /bin/true & done; " \
       "wait; exec /bin/sh -c 'exit 3'" % PROGRAMS


def clock_offset():
    """What this time namespace adds to the clock CLOCK_MONOTONIC of the machine, ns."""
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as file:
            fields = [line.split() for line in file]
    except FileNotFoundError:
        return 0
    return sum(int(seconds) * 10**9 + int(ns) for clock, seconds, ns in fields if clock in ("monotonic", "1"))


def thread_events(name):
    """Starts, names and ends of threads and programs in a trace: (what, pid, tid, name) and their times by the machine's clock."""
    zero = lines("info", name)[0]["clock"]["start_time"] - clock_offset()
    for event in lines("events", name):
        fields, time = event["fields"], zero + event["time"]
        if event["event"] == "Thread/Start":
            yield ("start", fields["ProcessId"], fields["TThreadId"], ""), time
        elif event["event"] == "Thread/End":
            yield ("end", fields["ProcessId"], fields["TThreadId"], ""), time
        elif event["event"] == "Thread/DCStart":
            yield ("name", fields["ProcessId"], fields["TThreadId"], fields["ThreadName"]), time
        elif event["event"] == "Image/Load":
            yield ("map", event["pid"], event["pid"], fields["ImageBase"] + "+" + fields["ImageSize"]), time


def perf_events(name):
    """The same, of what perf has recorded; and the pids."""
    done = subprocess.run(["perf", "script", "-i", name, "--ns", "--show-task-events", "--show-mmap-events"], cwd=SCRATCH,
                          capture_output=True, text=True, check=True, timeout=120)
    for match in re.finditer(r"(\d+)\.(\d+): PERF_RECORD_(\w+)(.*)", done.stdout):
        time, kind, rest = int(match[1]) * 10**9 + int(match[2]), match[3], match[4]
        if kind in ("FORK", "EXIT"):
            pid, tid = re.match(r"\((\d+):(\d+)\)", rest).groups()
            yield ("start" if kind == "FORK" else "end", int(pid), int(tid), ""), time
        elif kind == "COMM" and time:
            executed, named, pid, tid = re.match(r"( exec)?: (.*):(\d+)/(\d+)", rest).groups()
            yield ("exec" if executed else "name", int(pid), int(tid), named), time
        elif kind == "MMAP2":
            pid, base, size = re.match(r" (\d+)/\d+: \[(\w+)\((\w+)\)", rest).groups()
            yield ("map", int(pid), int(pid), base + "+" + size), time


def as_perf_has_it():
    """what perf records of the same work at the same time has the same threads, names and mappings, at the same times"""
    if not shutil.which("perf"):
        raise Skip("no perf")
    done = record("-o", "a.ptl", *NONE, "--", "perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "dummy:u", "-o", "p.data",
                  "--", "sh", "-c", WORK)
    skip_unless_reported(done)
    expect_equal(done.returncode, 3, done.stderr)
    theirs = list(perf_events("p.data"))
    pids = {what[1] for what, time in theirs if time}
    # Of perf's own child before it executes the work, perf has nothing.
    begin = min(time for what, time in theirs if time) - 10**6
    ours = [(what, time) for what, time in thread_events("a.ptl") if what[1] in pids and time >= begin]
    expect(len(theirs) > 40, theirs)
    # A name that was given before a program is executed is not the thread's any more: ours say so.
    execs = {("name",) + what[1:] for what, time in theirs if what[0] == "exec"}
    theirs = [(what, time) for what, time in theirs if what[0] != "exec"]
    ours = [(what, time) for what, time in ours if what not in execs]
    for kind in ("start", "end", "name"):
        expect_equal(sorted(what for what, time in ours if what[0] == kind),
                     sorted(what for what, time in theirs if what[0] == kind))
    # A child's mappings are reported at its start, too: perf leaves that to the reader.
    missing = {what for what, time in theirs} - {what for what, time in ours}
    expect(not missing, missing)
    late = []
    for what, time in theirs:
        if min(abs(time - other) for same, other in ours if same == what) > 10**6:
            late.append((what, time))
    expect(not late, late)


def as_the_software_source_has_it():
    """the software source sees the same processes, programs, threads and ends of the same work"""
    seen = []
    for options in (NONE, ("--source=software",)):
        done = record("-f", "-o", "a.ptl", *options, "--", "sh", "-c", WORK)
        skip_unless_reported(done)
        expect_equal(done.returncode, 3, done.stderr)
        processes = lines("processes", "--threads", "a.ptl")
        seen.append((sorted((os.path.realpath(process["programs"][-1]["path"]),
                             sorted(thread["name"] for thread in process["threads"])) for process in processes),
                     collections.Counter(process["exit_status"] for process in processes)))
    expect_equal(seen[0][0], seen[1][0])
    # Who is gone before it is looked at has no exit status where the kernel does not keep it.
    del seen[0][1][None]
    expect(not seen[0][1] - seen[1][1] and seen[0][1][3] == 1, seen)


def duration():
    """--duration ends the recording, and the command goes on"""
    process = start("-q", "-o", "a.ptl", "--duration=0.3", *NONE, "sh", "-c", "echo $$; exec sleep 100")
    child = int(process.stdout.readline())
    process.wait(timeout=120)
    expect_equal(process.returncode, 0)
    expect(os.path.exists("/proc/%d" % child), "the command did not live on")
    os.kill(child, signal.SIGKILL)
    process.communicate()
    expect("the recording ended before the processes did" in dump("info", "a.ptl"))
    opcodes = {event["opcode"] for event in lines("events", "a.ptl")}
    expect(4 in opcodes, "no rundown at the end", opcodes)


def interrupt_twice():
    """a second Ctrl-C ends the recording and leaves the command running"""
    process = start("-o", "a.ptl", *NONE, "sh", "-c", "trap '' INT; echo $$; sleep 100")
    child = int(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)
    line = process.stderr.readline()
    expect("waiting for the command to end" in line, line)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=120)
    expect_equal(process.returncode, 130)
    expect(os.path.exists("/proc/%d" % child), "the command did not live on")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def no_packets():
    """what needs packets is refused"""
    done = record("-o", "a.ptl", *NONE, "--clock=virtual", "true")
    expect_equal(done.returncode, 2, done.stderr)
    expect("--source none has no" in done.stderr, done.stderr)
    for option in ("--timing=mtc", "--psb-period=2K", "--no-retcomp"):
        done = record("-o", "a.ptl", *NONE, option, "true")
        expect_equal((done.returncode, "--timing, --psb-period and --no-retcomp are of packets" in done.stderr), (2, True),
                     done.stderr)
    done = record("-o", "a.ptl", "--only=pid=4", "true")
    expect_equal((done.returncode, "none are asked for" in done.stderr), (2, True), done.stderr)
    # What is asked of the CPU alone is asked of it where no source is named.
    for option in ("--filter=filter main", "--snapshot", "--pt=cyc", "--per-thread", "--code=kernel"):
        for source in (*NONE, "--source=software"):
            done = record("-o", "a.ptl", source, option, "true")
            expect_equal((done.returncode, option.split("=")[0] + " is for packets that the CPU makes" in done.stderr), (2, True), done.stderr)
        done = record("-o", "a.ptl", option, "no-such-command")
        expect("source software" not in done.stderr, done.stderr)
    expect_equal(os.listdir(SCRATCH), [])


def user_signal():
    """SIGUSR1, which has no meaning, ends no recording"""
    done = record("-f", "-o", "signal.ptl", *NONE, "--", "sh", "-c", "kill -USR1 $PPID; sleep 0.2; exit 3")
    expect_equal((done.returncode, "SIGUSR1 does nothing" in done.stderr), (3, True), done.stderr)
    expect_equal(len(lines("processes", "signal.ptl")), 2)


def time_namespace():
    """where the clock is not the host's, as containers may have it, processes end within the recording"""
    for option in (["--monotonic", "500000"], ["--monotonic", "500000", "--boottime", "900000"]):
        done = subprocess.run(["unshare", "--time", *option, RECORD, "-q", "-f", "-o", "a.ptl", *NONE, "--", "sh", "-c",
                               "sleep 0.1; /bin/true"], cwd=SCRATCH, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=120)
        if done.returncode and "unshare" in done.stderr:
            raise Skip("no right to make a time namespace")
        expect_equal(done.returncode, 0, done.stderr)
        reported = lines("processes", "a.ptl")
        expect(len(reported) > 1 and all(0 <= entry["start"] <= entry["end"] < 60 * 10**9 for entry in reported), option, reported)


def attached(name):
    """The files of compilers in a trace: of which process, and which name."""
    return {(entry["pid"], entry["name"]) for entry in lines("info", name)[0]["attachments"] if entry["kind"] == 1}


def maps_of_short_programs():
    """the perf map of a program that ends at once is in the trace, and no older one"""
    stale = subprocess.Popen(["true"])
    stale.wait()
    try:
        with open(f"/tmp/perf-{stale.pid}.map", "w", encoding="ascii") as file:
            file.write("1000 10 stale\n")
        for _ in range(6):
            done = record("-q", "-f", "-o", "a.ptl", *NONE, "--embed=symbols", "--", "sh", "-c",
                          "for i in 1 2 3; do sh -c 'echo 1000 10 short > /tmp/perf-$$.map; echo $$'; done")
            wanted = {(int(pid), f"perf-{pid}.map") for pid in done.stdout.split()}
            for _, name in wanted:
                os.remove(os.path.join("/tmp", name))
            expect_equal((done.returncode, len(wanted)), (0, 3), done.stderr)
            expect_equal(attached("a.ptl"), wanted)
    finally:
        os.remove(f"/tmp/perf-{stale.pid}.map")


def maps_of_containers():
    """the perf map of a program with a /tmp and a number of its own is in the trace, if the program has ended, too"""
    write = "echo 1000 10 inside > /tmp/perf-$$.map; sleep 1"
    script = f"mount -t tmpfs none /tmp || exit 99; exec sh -c '{write}'"
    done = record("-q", "-f", "-o", "a.ptl", *NONE, "--embed=symbols", "--", "unshare", "--mount", "--pid", "--fork", "sh", "-c", script)
    if done.returncode == 99 or "unshare" in done.stderr:
        raise Skip("no right to make namespaces")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal({name for _, name in attached("a.ptl")}, {"perf-1.map"})


sys.exit(main([exit_statuses, wrong_commands, runs_natively, command_name, process_tree, short_processes, exact_starts, threads, short_threads,
               as_perf_has_it, as_the_software_source_has_it, duration,
               interrupt_twice, no_packets, user_signal, time_namespace, maps_of_short_programs, maps_of_containers]))
