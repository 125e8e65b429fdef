#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --follow of one trace: it is written again as it comes, and in the end is what the whole trace would have become.
import json
import os
import shutil
import signal
import subprocess
import time

from growing_trace import count, end, pieces, wait_until
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, scratch, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
RULES = os.path.join(os.environ["PTL_TESTDATA"], "plugins")
VIEWS = (("events", "--json"), ("images", "--json"), ("processes", "--json"), ("stats", "--hash", "--json"), ("flow",))


def dump(name, *view):
    got = run(DUMP, *view, name)
    return got.stdout if got.returncode in (0, 1, 3) else f"(failed) {got.stderr}"


def content(name):
    return [dump(name, *view) for view in VIEWS]


def differing(a, b):
    return [view for view, x, y in zip(VIEWS, content(a), content(b)) if x != y]


def relog(*arguments, **options):
    if os.path.exists(path("live.ptl")):
        os.remove(path("live.ptl"))
    return subprocess.Popen([RELOG, "-f", *arguments], cwd=scratch, stderr=subprocess.PIPE, **options)


for name in ("plugin_host", "collatz.plugin", "collatz.sym", "sorter.plugin", "sorter.sym", "mixer.plugin", "mixer.sym"):
    shutil.copy(os.path.join(PROGRAMS, name), scratch)
for name in ("events.rules", "silent.rules"):
    shutil.copy(os.path.join(RULES, name), scratch)
got = run(RECORD, "-q", "-p", "Plugin-Loader", "-o", "events.ptl", "--", "./plugin_host")
check("a recording", got.returncode == 0, got.stderr)
got = run(RECORD, "-q", "-o", "silent.ptl", "--", "./plugin_host", "silent")
check("and another one", got.returncode == 0, got.stderr)
write("few.rules", 'on thread { drop; }\non process where ImageFileName like "*" { set CommandLine = "hidden"; }\n')

# ---- equal in the end --------------------------------------------------------------------------------------------------

for name, rules in (("events", ()), ("events", ("--rules", "events.rules")), ("silent", ("--rules", "silent.rules")),
                    ("events", ("--rules", "few.rules")), ("events", ("--recompress", "3")), ("silent", ("--hash", "sha256"))):
    what = f"{name} {' '.join(rules) or 'copied'}"
    run(RELOG, "-q", "-f", f"{name}.ptl", "-o", "whole.ptl", *rules)
    with open(path(f"{name}.ptl"), "rb") as file:
        data = file.read()
    with open(path("grows.ptl"), "wb", buffering=0) as file:
        process = relog("--follow", "grows.ptl", "-o", "live.ptl", *rules)
        for piece in pieces(data, 12):
            file.write(piece)
            time.sleep(0.12)
        status, err = end(process)
    check(f"{what}: as it comes, it becomes what the whole becomes", status == 0 and err == "" and
          not differing("live.ptl", "whole.ptl"), status, err, differing("live.ptl", "whole.ptl"))
    live, whole = (json.loads(dump(each, "info", "--json")) for each in ("live.ptl", "whole.ptl"))
    check(f"{what}: its history names the same input", live["provenance"][-1]["inputs"][0].get("xxh128") ==
          whole["provenance"][-1]["inputs"][0].get("xxh128") and live["provenance"][-1]["inputs"][0]["size"] == len(data) and
          live["losses"] == whole["losses"] and live["complete"], live)

# ---- while it grows ----------------------------------------------------------------------------------------------------


def record(name):
    """A recorder of a program that runs what it is told, a line each."""
    return subprocess.Popen([RECORD, "-q", "-f", "-o", name, "--", "sh", "-c", 'while read word; do "$word"; done'],
                            cwd=scratch, stdin=subprocess.PIPE)


def tell(recorder, word):
    recorder.stdin.write(word.encode() + b"\n")
    recorder.stdin.flush()


def finish(recorder):
    recorder.stdin.close()
    return recorder.wait(timeout=120)


torso = b""
for what, rules in (("copied", ()), ("with rules", ("--rules", "few.rules"))):
    os.remove(path("grows.ptl"))
    recorder = record("grows.ptl")
    process = relog("--follow", "grows.ptl", "-o", "live.ptl", *rules) if wait_until(
        lambda: os.path.exists(path("grows.ptl"))) else None
    tell(recorder, "/bin/true")
    wait_until(lambda: count("live.ptl"))
    some = count("live.ptl")
    check(f"{what}: the output is there before the input is over", some and process.poll() is None, some)
    with open(path("grows.ptl"), "rb") as file:
        torso = file.read()
    for words in ((RECORD, "-q", "-f", "-o", "live.ptl", "--source=none", "--", "/bin/true"), (RELOG, "-f", "events.ptl", "-o", "live.ptl"),
                  (RELOG, "-f", "--follow", "events.ptl", "-o", "live.ptl")):
        got = run(*words)
        check(f"{what}: what is written as it comes is not replaced by {os.path.basename(words[0])} {words[1]}", got.returncode == 4 and
              "live.ptl is being written by a ptl-record or a ptl-relog" in got.stderr, got)
    tell(recorder, "/bin/true")
    check(f"{what}: and goes on", wait_until(lambda: count("live.ptl") > some) and process.poll() is None, some)
    finish(recorder)
    status, err = end(process)
    run(RELOG, "-q", "-f", "grows.ptl", "-o", "whole.ptl", *rules)
    check(f"{what}: to the end", status == 0 and err == "" and not differing("live.ptl", "whole.ptl"), status, err,
          differing("live.ptl", "whole.ptl"))
got = run(RELOG, "-f", "grows.ptl", "-o", "live.ptl")
check("which may be replaced then", got.returncode == 0, got)

# ---- who is killed -----------------------------------------------------------------------------------------------------

torso = torso[:-7]
with open(path("torso.ptl"), "wb") as file:
    file.write(torso)
run(RELOG, "-q", "-f", "torso.ptl", "--rules", "few.rules", "-o", "whole.ptl")
with open(path("grows.ptl"), "wb", buffering=0) as file:
    process = relog("--follow", "grows.ptl", "-o", "live.ptl", "--rules", "few.rules")
    for piece in pieces(torso, 3):
        file.write(piece)
        time.sleep(0.2)
    wait_until(lambda: count("live.ptl"))
status, err = end(process)
check("the writer is gone: what it left is taken", status == 3 and "nobody writes it any more" in err and
      count("live.ptl") and not differing("live.ptl", "whole.ptl"), status, err, differing("live.ptl", "whole.ptl"))
live, whole = (json.loads(dump(each, "info", "--json")) for each in ("live.ptl", "whole.ptl"))
check("and its end is a loss, as in the whole", live["complete"] and live["losses"] and live["losses"] == whole["losses"],
      live["losses"], whole["losses"])
with open(path("grows.ptl"), "wb", buffering=0) as file:
    process = relog("--follow", "grows.ptl", "-o", "live.ptl", "--rules", "few.rules")
    file.write(torso)
    wait_until(lambda: count("live.ptl"))
    some = count("live.ptl")
    process.kill()
    end(process)
check("a relogger that is killed leaves what it wrote", 0 < some <= count("live.ptl"), some)
check("which is no temporary file", not [name for name in os.listdir(scratch) if ".tmp-" in name], os.listdir(scratch))
with open(path("grows.ptl"), "wb", buffering=0) as file:
    process = relog("--follow", "grows.ptl", "-o", "live.ptl")
    file.write(torso)
    wait_until(lambda: count("live.ptl"))
    process.send_signal(signal.SIGINT)
    status, err = end(process)
check("an interruption takes what has come, and closes the output", "interrupted; what is there is taken" in err and
      json.loads(dump("live.ptl", "info", "--json"))["complete"], status, err)

# ---- pipes -------------------------------------------------------------------------------------------------------------

command = [RECORD, "-q", "-p", "Plugin-Loader", "-o", "-", "--", "./plugin_host"]
with open(path("seen.txt"), "wb") as seen:
    recorder = subprocess.Popen(command, cwd=scratch, stdout=subprocess.PIPE)
    tee = subprocess.Popen(["tee", path("came.ptl")], stdin=recorder.stdout, stdout=subprocess.PIPE)
    first = relog("--follow", "-", "--rules", "events.rules", "-o", "-", stdin=tee.stdout, stdout=subprocess.PIPE)
    kept = subprocess.Popen(["tee", path("went.ptl")], stdin=first.stdout, stdout=subprocess.PIPE)
    shown = subprocess.Popen([DUMP, "events", "--follow", "--json", "-"], stdin=kept.stdout, stdout=seen)
    for process in (recorder, tee, first, kept):
        process.stdout.close()
    _, err = first.communicate(timeout=120)
    status = [process.wait(timeout=120) for process in (recorder, tee, kept, shown)]
run(RELOG, "-q", "-f", "came.ptl", "--rules", "events.rules", "-o", "whole.ptl")
check("from a recorder to a reader, through pipes", first.returncode == 0 and not any(status) and err == b"" and
      not differing("went.ptl", "whole.ptl"), status, err, differing("went.ptl", "whole.ptl"))
with open(path("seen.txt"), encoding="utf-8") as file:
    seen = sorted(line for line in file)
check("which shows all of it", seen == sorted(dump("whole.ptl", "events", "--json").splitlines(True)), len(seen))

with open(path("events.ptl"), "rb") as file:
    data = file.read()

# ---- what needs the whole ----------------------------------------------------------------------------------------------

with open(path("grows.ptl"), "wb", buffering=0) as file:
    file.write(data[:len(data) // 2])
    process = relog("--follow", "grows.ptl", "-o", "cut.ptl", "--time", "1us..")
    time.sleep(0.7)
    check("a cut waits for the end", process.poll() is None and not os.path.exists(path("cut.ptl")))
    file.write(data[len(data) // 2:])
    status, err = end(process)
run(RELOG, "-q", "-f", "events.ptl", "--time", "1us..", "-o", "whole.ptl")
check("and is the one of the whole", status == 0 and not differing("cut.ptl", "whole.ptl"), status, err)
plan()
