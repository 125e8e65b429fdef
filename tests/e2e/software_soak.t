#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Commands recorded with --source software while the recorder is stopped now and then, or killed: they do what they do natively. A
# recorder that was only stopped loses nothing. PTL_SOAK takes ten minutes; PTL_SOAK_SECONDS and PTL_SOAK_SEED say how long and what.
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, PROGRAMS, RECORD, Skip, main, path, record, run, wait_for, waiting

SECONDS = int(os.environ.get("PTL_SOAK_SECONDS") or (600 if os.environ.get("PTL_SOAK") else 20))
SEED = int(os.environ.get("PTL_SOAK_SEED") or 1)
TESTS = os.path.dirname(os.path.abspath(__file__))
# Servers, programs that measure time, and what other processes of the machine may see.
LEFT_OUT = re.compile("postgres|server|openssl|unshare|setpriv|gdb")
LIMIT = 60
TIMINGS = ["none", "tsc", "mtc", "cyc"]
ENVIRONMENT = {**os.environ, "IN": path("in"), "PTL_PROGRAMS": PROGRAMS, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "TZ": "UTC"}


def make_inputs():
    """The files that the commands read, as software_transparent.t makes them."""
    os.mkdir(path("in"))
    done = run("sh", "-c", '. "$PTL_TESTS/e2e/truth.sh"; . "$PTL_TESTS/e2e/software_inputs.sh"; make_inputs',
               env={**ENVIRONMENT, "PTL_TESTS": os.path.dirname(TESTS)})
    assert done.returncode == 0, done.stderr


def is_there(program):
    return run("sh", "-c", 'command -v "$0"', program).returncode == 0


def commands():
    """Name and command of each line of software_commands.txt that can be run here."""
    found = []
    with open(os.path.join(TESTS, "software_commands.txt"), encoding="utf-8") as table:
        for line in table:
            if line.startswith("#") or not line.strip():
                continue
            name, needed, command = line.rstrip("\n").split(" | ", 2)
            if not LEFT_OUT.search(name) and all(map(is_there, needed.split())):
                found.append((name, command))
    return found


def start_in(folder, command, *recorder):
    """Starts a command in a new folder. Its output and status become files beside it, also if its recorder does not see the end."""
    work = path(folder)
    run("rm", "-rf", work)
    os.makedirs(work + "/work")
    text = '(cd work && exec sh -c "$0") >out 2>err </dev/null; echo $? >status.new; mv status.new status'
    with open(work + "/recorder", "w", encoding="utf-8") as log:
        return subprocess.Popen(["setarch", "-R", *recorder, "sh", "-c", text, command], cwd=work, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log, start_new_session=True)


def outcome(folder):
    """Status, output and errors; None before the command has ended."""
    if not os.path.exists(path(folder + "/status")):
        return None
    found = []
    for name in ("status", "out", "err"):
        with open(path(f"{folder}/{name}"), "rb") as file:
            found.append(file.read())
    return found


def wait_for_outcome(folder, process):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if outcome(folder):
            return outcome(folder)
        time.sleep(0.02)
    for pid, tid, stat, waits in waiting(process.pid):
        print(f"# {pid} {tid} {stat[:20]} waits in {waits}", flush=True)
    if not os.environ.get("PTL_KEEP"):
        for pid in {pid for pid, *_ in waiting(process.pid)}:
            os.kill(pid, signal.SIGKILL)
    return None


def stop_now_and_then(process, chance):
    """Stops the recorder for some milliseconds at a time, up to its end."""
    while process.poll() is None:
        time.sleep(chance.uniform(0, 0.05))
        process.send_signal(signal.SIGSTOP)
        time.sleep(chance.choice([0.001, 0.02, 0.2]))
        process.send_signal(signal.SIGCONT)


def difference(name, native, recorded):
    if recorded is None:
        return f"{name}: no end within {LIMIT} s"
    for what, one, other in zip(("status", "output", "errors"), native, recorded):
        if one != other:
            return f"{name}: {what}: natively {one[-300:]!r}, recorded {other[-300:]!r}"
    return None


def disturbed(name, command, native, chance):
    """Records the command once; gives what is wrong."""
    kills = chance.random() < 0.4
    timing = chance.choice(TIMINGS)
    options = ["--timing=" + timing] + chance.choice([[], ["--no-retcomp"]])
    options += chance.choice([[], [], ["--per-cpu", "2"]]) if timing != "none" else []
    process = start_in("recorded", command, RECORD, "-q", "-f", "--source", "software", *options, "-o", path("soak.ptl"), "--")
    if kills:
        # Before that, the command may not begin.
        wait_for(lambda: os.path.exists(path("recorded/out")), "the command's beginning", process)
        time.sleep(chance.choice([0, 0.01, 0.1, 0.5]) * chance.random())
        process.kill()
    else:
        stop_now_and_then(process, chance)
    wrong = difference(f"{name} ({' '.join(options)}, {'killed' if kills else 'stopped'})", native, wait_for_outcome("recorded", process))
    process.wait()
    if wrong or (kills and not os.path.exists(path("soak.ptl"))):
        return wrong
    stats = run(DUMP, "stats", "--json", path("soak.ptl"))
    if stats.returncode not in ((0, 1, 3) if kills else (0, 1)) or not (kills or ',"gaps":0,' in stats.stdout):
        return f"{name} ({' '.join(options)}): stats ends with {stats.returncode}: {stats.stderr[-200:]}{stats.stdout[:100]}"
    return None


def soak():
    """commands do what they do natively while the recorder is stopped and killed"""
    done = record("-q", "-f", "--source", "software", "-o", "works.ptl", "--", "true")
    if done.returncode:
        raise Skip("ptl-record has no source software here")
    make_inputs()
    chance = random.Random(SEED)
    table, native, wrong, rounds = commands(), {}, [], 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        name, command = chance.choice(table)
        if name not in native:
            native[name] = wait_for_outcome("native", start_in("native", command))
        if native[name]:
            rounds += 1
            wrong.append(disturbed(name, command, native[name], chance))
            if wrong[-1]:
                print("# " + wrong[-1], flush=True)
    print(f"# {rounds} rounds, {len(native)} commands, seed {SEED}")
    wrong = list(filter(None, wrong))
    assert not wrong, "\n".join(wrong)


sys.exit(main([soak]))
