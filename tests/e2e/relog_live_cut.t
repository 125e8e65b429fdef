#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --follow with a choice of processes: what is kept as the trace comes is what the cut of the whole trace keeps.
import json
import os
import signal
import subprocess
import time

from growing_trace import count, differing, dump, end, pieces, wait_until
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, scratch

PROGRAMS = os.environ["PTL_PROGRAMS"]


def follow(source, *arguments):
    if os.path.exists(path("live.ptl")):
        os.remove(path("live.ptl"))
    return subprocess.Popen([RELOG, "-f", "--follow", source, "-o", "live.ptl", *arguments], cwd=scratch, stderr=subprocess.PIPE)


def grow(data, number, *arguments):
    """The trace comes in pieces, which end anywhere, while it is followed."""
    with open(path("grows.ptl"), "wb", buffering=0) as file:
        process = follow("grows.ptl", *arguments)
        for piece in pieces(data, number):
            file.write(piece)
            time.sleep(0.05)
        return end(process)


# ---- equal in the end --------------------------------------------------------------------------------------------------

got = run(RECORD, "-q", "-o", "many.ptl", "--", "sh", "-c", f"/bin/true; (/bin/echo a; /bin/true) | /bin/cat >seen; '{PROGRAMS}/threads'; /bin/true")
check("a recording of several processes", got.returncode == 0, got.stderr)
with open(path("many.ptl"), "rb") as file:
    data = file.read()
processes = [json.loads(line) for line in dump("many.ptl", "processes", "--json").splitlines()]
pids = [process["pid"] for process in processes if "pid" in process]
threads = [json.loads(line) for line in dump("many.ptl", "events", "--json").splitlines()]
last = max(pids)
tids = sorted({event["tid"] for event in threads if event.get("pid") == last and event.get("tid") is not None})
check("which are told apart", len(set(pids)) > 4 and tids, processes)
for options in (("--process", "true"), ("--process", "cat"), ("--process", "threads"), ("--process", "sh", "--tree"), ("--pid", str(pids[0])),
                ("--pid", str(last), "--tree", "--drop-pt"), ("--pid", f"{pids[1]},{last}", "--drop-code"), ("--drop-pt",), ("--drop-code",),
                ("--pid", str(last), "--tid", str(tids[-1])), ("--process", "ca*", "--recompress", "1")):
    what = " ".join(options)
    whole = run(RELOG, "-q", "-f", "many.ptl", "-o", "whole.ptl", *options)
    status, err = grow(data, 14, *options)
    found = differing("live.ptl", "whole.ptl")
    check(f"{what}: as it comes, it becomes what the whole becomes", whole.returncode == status == 0 and err == "" and not found,
          whole.stderr, status, err, found)
check("something was left out", count("whole.ptl") < count("many.ptl"))
status, err = grow(data, 4, "--pid", "1000000007")
check("a process that never comes is said, and its cut is empty", status == 0 and "there is no process 1000000007" in err and
      not json.loads(dump("live.ptl", "stats", "--json"))["instructions"], status, err)

# ---- while it grows ----------------------------------------------------------------------------------------------------


def record(name, script):
    return subprocess.Popen([RECORD, "-q", "-f", "-o", name, "--", "sh", "-c", script], cwd=scratch, stdin=subprocess.PIPE)


def tell(recorder, word):
    recorder.stdin.write(word.encode() + b"\n")
    recorder.stdin.flush()


def finish(recorder):
    recorder.stdin.close()
    return recorder.wait(timeout=120)


os.remove(path("grows.ptl"))
recorder = record("grows.ptl", 'while read word; do "$word"; done')
wait_until(lambda: os.path.exists(path("grows.ptl")))
process = follow("grows.ptl", "--process", "true")
tell(recorder, "/bin/true")
check("a process is in the output before the input is over", wait_until(lambda: count("live.ptl") > 3) and process.poll() is None)
some = count("live.ptl")
tell(recorder, "/bin/echo")
tell(recorder, "/bin/true")
check("and the next one", wait_until(lambda: count("live.ptl") > some) and process.poll() is None)
with open(path("grows.ptl"), "rb") as file:
    torso = file.read()
finish(recorder)
status, err = end(process)
run(RELOG, "-q", "-f", "grows.ptl", "-o", "whole.ptl", "--process", "true")
found = differing("live.ptl", "whole.ptl")
check("to the end", status == 0 and err == "" and not found, status, err, found)

for number in (signal.SIGINT, signal.SIGTERM):
    with open(path("grows.ptl"), "wb", buffering=0) as file:
        process = follow("grows.ptl", "--process", "true")
        file.write(torso)
        wait_until(lambda: os.path.exists(path("live.ptl")))
        process.send_signal(number)
        status, err = end(process)
    run(RELOG, "-q", "-f", "grows.ptl", "-o", "whole.ptl", "--process", "true")
    found = [each for each in differing("live.ptl", "whole.ptl") if each[0][0] != "info"]
    check(f"signal {number} takes what has come, and closes the output", status in (0, 3) and "interrupted; what is there is taken" in err and
          json.loads(run(DUMP, "info", "--json", "live.ptl").stdout)["complete"] and not found, status, err, found)

# ---- too late ----------------------------------------------------------------------------------------------------------

os.remove(path("grows.ptl"))
recorder = record("grows.ptl", "(read word; exec /bin/cat seen)")
wait_until(lambda: os.path.exists(path("grows.ptl")))
process = follow("grows.ptl", "--process", "cat")
wait_until(lambda: count("grows.ptl"))
time.sleep(1.5)
tell(recorder, "now")
finish(recorder)
status, err = end(process)
live = json.loads(run(DUMP, "info", "--json", "live.ptl").stdout)
shown = [json.loads(line) for line in dump("live.ptl", "processes", "--json").splitlines()]
check("a process that is known too late is kept from there on", status == 0 and "1 process began to run" in err and
      any("cat" in json.dumps(each) for each in shown), status, err, shown)
check("and what is missing of it is a loss", any("had passed when" in json.dumps(loss) for loss in live["losses"]), live["losses"])

# ---- of a session ------------------------------------------------------------------------------------------------------

os.environ["PTL_SESSION_DIR"] = path("providers")
os.environ["XDG_RUNTIME_DIR"] = path("run")
os.mkdir(path("run"), 0o700)
SCRIPT = "exec <go; while read word; do $word; done"
for options in (("--process", "true"), ("--process", "sh", "--tree"), ("--pid",)):
    what = f"--live with {' '.join(options)}"
    os.mkfifo(path("go"))
    got = run(RECORD, "start", "cut", "-q", "-f", "-o", "session.ptl", "--source=software", "--", "sh", "-c", SCRIPT, stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL, capture_output=False)
    check(f"{what}: a session of a command", got.returncode == 0)
    with open(path("go"), "wb", buffering=0) as go:
        if options == ("--pid",):
            go.write(b"/bin/true\n")
            wait_until(lambda: run(RECORD, "flush", "cut").returncode == 0 and "true" in dump("session.ptl", "processes"))
            known = [json.loads(line) for line in dump("session.ptl", "processes", "--json").splitlines()]
            options = ("--pid", str(max(process["pid"] for process in known if "pid" in process)))
        process = subprocess.Popen([RELOG, "-f", "--live", "cut", "-o", "live.ptl", *options], cwd=scratch, stderr=subprocess.PIPE)
        wait_until(lambda: any(os.path.realpath(f"/proc/{process.pid}/fd/{fd}") == os.path.realpath(path("session.ptl"))
                               for fd in os.listdir(f"/proc/{process.pid}/fd")))
        for word in (b"/bin/true\n", b"/bin/echo\n", b"/bin/true\n"):
            go.write(word)
            time.sleep(0.3)
        check(f"{what}: it goes on with the session", process.poll() is None)
    status, err = end(process)
    os.remove(path("go"))
    whole = run(RELOG, "-q", "-f", "session.ptl", "-o", "whole.ptl", *options)
    found = differing("live.ptl", "whole.ptl")
    check(f"{what}: the cut of the session is that of its file", whole.returncode == status == 0 and err == "" and not found and
          0 < count("whole.ptl") and json.loads(dump("whole.ptl", "stats", "--json"))["instructions"], whole.stderr, status, err, found)
    if "--tree" not in options:
        check(f"{what}: which lacks something", count("whole.ptl") < count("session.ptl"))
    run(RECORD, "stop", "cut")

plan()
