#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What makes recorders of the kernel's events lose their way: many short processes, hundreds at once, pids that are used again,
# files that are replaced, containers, a recorder that is stopped. PTL_SOAK makes it a minute's worth.
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, Skip, expect, expect_equal, growing, lines, main, path, record, run, start, wait_for

NONE = "--source=none"
LOAD = os.path.join(PROGRAMS, "kernel_load")
SOAK = os.environ.get("PTL_SOAK")
KILL = "syscalls:sys_enter_kill"


def works():
    done = record("-f", "-o", "works.ptl", NONE, "-e", KILL, "--", "true")
    if done.returncode:
        raise Skip("tracepoints cannot be recorded here: " + done.stderr.splitlines()[0])


def number(value):
    return int(str(value), 0)


def lost(name):
    """How many events the trace says are missing."""
    return sum(loss["count"] for one in lines("info", name) for loss in one.get("losses", []))


def check_attribution(events):
    """Each asked the kernel for itself: that is who the event is of."""
    kills = [event for event in events if event["event"] == "sys_enter_kill" and number(event["fields"]["sig"]) == 0]
    wrong = [event for event in kills if number(event["fields"]["pid"]) != event["pid"]]
    expect_equal(wrong, [])
    return kills


def lives(events):
    """Starts and ends of processes by their keys."""
    found = {}
    for event in events:
        if event["event"] in ("Process/Start", "Process/End"):
            found.setdefault(event["fields"]["UniqueProcessKey"], []).append(event)
    return found


def short_processes():
    """many short processes: each has one start and one end, or is among what is counted as lost"""
    works()
    seconds = 60 if SOAK else 1
    made = 10000 if SOAK else 300
    done = record("-o", "s.ptl", NONE, "-e", "sched:sched_process_exit", "--", LOAD, "processes", str(made / seconds), str(seconds),
                  path("report"), timeout=600)
    expect_equal(done.returncode, 0, done.stderr)
    events = lines("events", "s.ptl")
    found = lives(events)
    exits = sum(event["event"] == "sched_process_exit" for event in events)
    missing = lost("s.ptl")
    expect(exits == made + 1 or exits + missing >= made + 1, exits, made, missing)
    expect(len(found) == made + 1 or len(found) + missing >= made + 1, len(found), made, missing)
    for key, life in found.items():
        expect_equal([one["event"] for one in life], ["Process/Start", "Process/End"], key)


BOMB = """import os, signal, sys
def half(count):
    if count > 1:
        child = os.fork()
        half(count - count // 2 if child else count // 2)
        if child:
            os.waitpid(child, 0)
            os._exit(0) if os.getpid() != FIRST else None
            return
    else:
        os.kill(os.getpid(), 0)
        if os.getpid() != FIRST:
            os._exit(0)
FIRST = os.getpid()
half(int(sys.argv[1]))
"""


def hundreds_at_once():
    """500 processes that fork each other: all are there, with what they did"""
    works()
    done = record("-o", "b.ptl", NONE, "-e", KILL, "--wait", "--", sys.executable, "-I", "-S", "-c", BOMB, "500")
    expect_equal(done.returncode, 0, done.stderr)
    events = lines("events", "b.ptl")
    kills, missing = check_attribution(events), lost("b.ptl")
    expect(len(lives(events)) == 500 or missing, len(lives(events)), missing)
    expect_equal(len({event["pid"] for event in kills}), len(kills))
    expect(len(kills) == 500 or len(kills) + missing >= 500, len(kills), missing)


def open_gate(gate, process, seconds=100):
    """Where a program waits for what it reads of a named pipe: the end that lets it go on. None: the process is over."""
    until = time.monotonic() + seconds
    while process.poll() is None:
        expect(time.monotonic() < until, "waited in vain for a reader of", gate)
        try:
            return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            expect_equal(error.errno, errno.ENXIO)
        time.sleep(0.005)
    return None


AGAIN = """import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def clone(pid):
    tids = (ctypes.c_int * 1)(pid)
    arguments = struct.pack("=11Q", 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(tids), 1, 0)
    return libc.syscall(435, arguments, len(arguments))
first = os.fork()
if not first:
    os._exit(0)
os.waitpid(first, 0)
made = 0
for i in range(int(sys.argv[1])):
    child = clone(first)
    if not child:
        os.kill(os.getpid(), 0)
        os.execv(sys.argv[3 + i % 2], [sys.argv[3 + i % 2], "number-%d" % i])
    if child > 0:
        made += 1
        os.waitpid(child, 0)
last = clone(first)
if not last:
    os.kill(os.getpid(), 0)
    os.execv(sys.argv[5], [sys.argv[5], sys.argv[2]])
if last > 0:
    made += 1
    os.waitpid(last, 0)
print(first, made, ctypes.get_errno())
"""


def pids_again():
    """a pid that is used again and again is another process each time, with its own program"""
    works()
    count = 300 if SOAK else 20
    programs = [os.path.realpath(shutil.which(name)) for name in ("true", "false", "cat")]
    gate = path("number-%d" % count)
    os.mkfifo(gate)
    begun = start("-o", "p.ptl", NONE, "--flush-interval=20ms", "-e", KILL, "--", sys.executable, "-I", "-S", "-c", AGAIN, str(count), gate,
                  *programs)
    # The last one lives until its command line was read.
    end = open_gate(gate, begun)
    if end is not None:
        wait_for(lambda: any(os.path.basename(gate) in line for line in growing("events", "p.ptl")), "the last command line", begun)
        os.close(end)
    out, errors = begun.communicate(timeout=120)
    expect_equal(begun.returncode, 0, errors)
    pid, made, _ = map(int, out.split())
    if not made:
        raise Skip("this user cannot choose pids")
    events = lines("events", "p.ptl")
    kills = [event for event in check_attribution(events) if event["pid"] == pid]
    found = [life for life in lives(events).values() if life[0]["fields"]["ProcessId"] == pid]
    expect_equal(len(kills), made)
    expect_equal(len(found), made + 1)
    starts = sorted((life[0]["time"], life[-1]["time"]) for life in found)
    for before, after in zip(starts, starts[1:]):
        expect(before[1] <= after[0], before, after)
    texts = [json.dumps(event["fields"]) for event in events if event["pid"] == pid]
    numbers = {int(found.group(1)): text for text in texts for found in [re.search(r"number-(\d+)", text)] if found}
    expect(count in numbers, texts)
    for i, text in numbers.items():
        expect(os.path.basename(programs[2 if i == count else i % 2]) in text, i, text)


def build_id(program):
    done = run("readelf", "-n", program, env={**os.environ, "LC_ALL": "C"})
    return re.search(r"Build ID: (\w+)", done.stdout).group(1)


REPLACED = """import os, shutil, subprocess, sys
place, first, second = sys.argv[1:]
shutil.copy(first, place)
running = subprocess.Popen([place, "0.05"])
os.unlink(place)
shutil.copy(second, place)
running.wait()
"""


def replaced_files():
    """a program whose file is deleted and replaced while it runs is never taken for the other one"""
    works()
    if not shutil.which("readelf"):
        raise Skip("readelf is not installed")
    first, second = (os.path.realpath(shutil.which(name)) for name in ("sleep", "cat"))
    place = path("replaced")
    done = record("-o", "d.ptl", NONE, "-e", KILL, "--embed=symbols", "--", sys.executable, "-I", "-S", "-c", REPLACED, place, first, second)
    expect_equal(done.returncode, 0, done.stderr)
    images = [image for image in lines("images", "d.ptl") if image["path"].split(" (deleted)")[0] == place]
    expect(images, lines("images", "d.ptl"))
    for image in images:
        expect(image.get("build_id") in (None, "", build_id(first)), image)


CONTAINER = 'mount -t tmpfs none "$1" && cp "$2" "$1/inside" && exec "$1/inside" "$3"'


def containers():
    """a program that only a container sees has its name, its file and its pid as the recorder sees it"""
    works()
    cat, place, gate = os.path.realpath(shutil.which("cat")), path("room"), path("gate")
    os.mkdir(place)
    os.mkfifo(gate)
    command = ["unshare", "--mount", "--pid", "--fork", "--", "sh", "-c", CONTAINER, "sh", place, cat]
    if subprocess.run([*command, "/dev/null"], capture_output=True, check=False).returncode:
        raise Skip("this user makes no containers")
    begun = start("-o", "n.ptl", NONE, "--flush-interval=20ms", "-e", "sched:sched_process_exit", "--embed=symbols", "--", *command, gate)
    # With the program its file is gone.
    with open(gate, "wb"):
        inside = wait_for(lambda: os.path.exists(path("n.ptl")) and
                          [image for line in growing("images", "n.ptl") for image in [json.loads(line)] if image["path"] == place + "/inside"],
                          "the image in the container", begun)
    _, errors = begun.communicate(timeout=120)
    expect_equal(begun.returncode, 0, errors)
    whole = [image for image in lines("images", "n.ptl") if image["path"] == place + "/inside"]
    expect_equal(len(whole), 1, whole)
    expect_equal(len(inside), 1, inside)
    expect_equal(inside[0].get("build_id"), build_id(cat) if shutil.which("readelf") else inside[0].get("build_id"))
    events = lines("events", "n.ptl")
    exits = [event["pid"] for event in events if event["event"] == "sched_process_exit" and event["fields"]["comm"] == "inside"]
    expect_equal(exits, [inside[0]["pid"]])


LOADS = """wait_for() { cat "$1"; }
for i in 1 2 3; do
	wait_for "$1.$i"
	"$2" syscalls 100000 "$3" "$4.$i"
done
wait_for "$1.4"
"""


def stopped_recorder():
    """a recorder that is stopped for a while, also at the end: what it has and what it counts as lost is all that there was"""
    works()
    if tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) < (6, 0):
        raise Skip("before Linux 6.0, what is lost last is not known")
    gate, seconds = path("calls-gate"), "6" if SOAK else "0.2"
    for i in (1, 2, 3, 4):
        os.mkfifo("%s.%d" % (gate, i))
    calls = "raw_syscalls:sys_enter if id == 110 && comm == \"kernel_load\""
    begun = start("-o", "r.ptl", NONE, "-e", calls, "--event-buffer=128K", "--", "sh", "-c", LOADS, "sh", gate, LOAD, seconds, path("calls"))
    # It takes nothing in the first and in the last third.
    for i, stopped in enumerate((True, False, True), 1):
        end = open_gate("%s.%d" % (gate, i), begun)
        expect(end is not None, "the recorder has ended: ", begun.stderr.read() if begun.poll() is not None else "")
        os.kill(begun.pid, signal.SIGSTOP if stopped else signal.SIGCONT)
        os.close(end)
    os.close(open_gate(gate + ".4", begun))
    os.kill(begun.pid, signal.SIGCONT)
    _, errors = begun.communicate(timeout=120)
    expect_equal(begun.returncode, 0, errors)
    expect("try: a larger --event-buffer" in errors, errors)
    made = 0
    for i in (1, 2, 3):
        with open(path("calls.%d" % i), encoding="ascii") as file:
            made += json.load(file)["made"]
    kept = sum(row["count"] for row in lines("events", "--count", "r.ptl") if row["name"] == "sys_enter")
    losses = [loss for one in lines("info", "r.ptl") for loss in one.get("losses", [])]
    expect_equal(kept + sum(loss["count"] for loss in losses), made, kept, losses)
    expect(kept > 0 and losses, kept, losses)
    for loss in losses:
        expect(0 < loss["first_time"] <= loss["last_time"], loss)


sys.exit(main([short_processes, hundreds_at_once, pids_again, replaced_files, containers, stopped_recorder]))
