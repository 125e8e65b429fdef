#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Recorders are killed at random moments, memory runs out, files are monstrous: programs go on, and no trace says more than is in it.
# PTL_KILLS=N: so many kills of each kind; PTL_KILLS_SEED=SEED.
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, RECORD, SCRATCH, expect, expect_equal, main, path, record, run, wait_for
from scratch_test import RELOG

KILLS = int(os.environ.get("PTL_KILLS") or 16)
SEED = int(os.environ.get("PTL_KILLS_SEED") or random.SystemRandom().randrange(1 << 32))
# Each program checks the output and the status of the programs that it executes, by fork and by vfork.
SHELL = """i=0
while [ $i -lt 40 ]; do
	i=$((i + 1)); x=$(echo $i | cat) || echo "wrong status $?"
	[ "$x" = $i ] || echo "wrong output $x"
	sh -c "exit $i"; [ $? = $i ] || echo "wrong status of $i"
done
echo done"""
SPAWN = """import subprocess, threading
def spawn():
    for i in range(12):
        done = subprocess.run(["/bin/sh", "-c", f"echo {i}; exit {i}"], capture_output=True, text=True)
        if (done.stdout, done.stderr, done.returncode) != (f"{i}\\n", "", i): print("wrong:", done)
threads = [threading.Thread(target=spawn) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")"""
PROGRAMS = (["sh", "-c", SHELL], [sys.executable, "-c", SPAWN])


def described(name):
    """(complete, losses, processes) of a trace; (None, [], 0): there is no trace."""
    about = [json.loads(line) for line in run(DUMP, "info", "--json", name).stdout.splitlines()]
    if not about:
        return None, [], 0
    return (about[0]["complete"], [loss for one in about for loss in one.get("losses", [])],
            len(run(DUMP, "processes", "--json", name).stdout.splitlines()))


def record_and_kill(number, program, seconds, processes):
    """What the program did that it should not, when its recorder is killed after this time; None: nothing."""
    name = path(f"kill-{number}.ptl")
    recorder = subprocess.Popen([RECORD, "-q", "-o", name, "--", *program], cwd=SCRATCH, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    recorder.kill()
    try:
        out, err = recorder.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        return f"the program hangs, killed after {seconds} s"
    # The program may not have begun.
    if (out, err) != ("done\n", "") and (out or err):
        return f"killed after {seconds} s: {out} {err}"
    complete, losses, found = described(name)
    if complete and not losses and found < processes:
        return f"killed after {seconds} s: {found} processes of {processes} in a file that says it is complete"
    for left in glob.glob(name + "*"):
        os.remove(left)
    return None


def killed_recorders():
    """programs whose recorder is killed go on unrecorded, with the right output and status"""
    generator = random.Random(SEED)
    for program in PROGRAMS:
        before = time.monotonic()
        done = record("-q", "-o", "whole.ptl", "--", *program)
        expect_equal((done.stdout, done.returncode), ("done\n", 0), done.stderr)
        whole, processes = time.monotonic() - before, described("whole.ptl")[2]
        os.remove(path("whole.ptl"))
        with ThreadPoolExecutor(3) as pool:
            # Three at a time take longer than one.
            jobs = [pool.submit(record_and_kill, i, program, generator.uniform(0, 2 * whole), processes) for i in range(KILLS)]
        for job in jobs:
            expect(not job.result(), f"PTL_KILLS_SEED={SEED}", job.result())


def killed_append():
    """a recorder that is killed while it merges --append leaves the old file as it was, and no temporary file"""
    expect_equal(record("-q", "-o", "old.ptl", "--", "sh", "-c", "true").returncode, 0)
    shutil.copy(path("old.ptl"), path("copy.ptl"))
    generator = random.Random(SEED)
    for _ in range(KILLS // 3 + 1):
        shutil.copy(path("copy.ptl"), path("old.ptl"))
        recorder = subprocess.Popen([RECORD, "-q", "--append", "-o", "old.ptl", "--source=none", "--", "true"], cwd=SCRATCH,
                                    stderr=subprocess.DEVNULL)
        # The part is there while the recorder records, and while it merges.
        wait_for(lambda: os.path.exists(path("old.append.ptl")) or recorder.poll() is not None, "the part")
        time.sleep(generator.uniform(0, 0.05))
        recorder.kill()
        recorder.wait()
        names = [name for name in os.listdir(SCRATCH) if name.startswith("old")]
        expect(set(names) <= {"old.ptl", "old.append.ptl", "old.appended.ptl"}, f"PTL_KILLS_SEED={SEED}", names)
        expect_equal(run(DUMP, "info", "--check", "old.ptl").returncode, 0)
        for name in names:
            os.remove(path(name))


def killed_relog():
    """a ptl-relog that is killed leaves no temporary file"""
    expect_equal(record("-q", "-o", "in.ptl", "--", "sh", "-c", SHELL).returncode, 0)
    generator = random.Random(SEED)
    for _ in range(KILLS // 3 + 1):
        relog = subprocess.Popen([RELOG, "-q", "-o", "out.ptl", "--recompress", "19", "in.ptl"], cwd=SCRATCH)
        time.sleep(generator.uniform(0, 0.3))
        relog.kill()
        relog.wait()
        left = [name for name in os.listdir(SCRATCH) if name.startswith("out")]
        expect(left in ([], ["out.ptl"]), f"PTL_KILLS_SEED={SEED}", left)
        for name in left:
            expect_equal(run(DUMP, "info", "--check", name).returncode, 0)
            os.remove(path(name))


def sparse_piece():
    """--attach-code with a sparse piece of terabytes can be interrupted"""
    expect_equal(record("-q", "-o", "in.ptl", "--", "true").returncode, 0)
    expect_equal(run(RELOG, "-q", "--detach-code", "store", "-o", "detached.ptl", "in.ptl").returncode, 0)
    piece = max(glob.glob(path("store/*/*")), key=os.path.getsize)
    os.chmod(piece, 0o600)
    os.truncate(piece, 8 << 40)
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        relog = subprocess.Popen([RELOG, "--attach-code", "store", "-o", "attached.ptl", "detached.ptl"], cwd=SCRATCH,
                                 stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        relog.send_signal(sent)
        try:
            _, err = relog.communicate(timeout=60)
        finally:
            relog.kill()
        expect_equal(relog.returncode, -sent, err)
        expect(not os.path.exists(path("attached.ptl")), "an output of an interrupted run")


LIMITED = """import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (0, 0))
def fall(n): return 0 if n == 0 else fall(n - 1)
fall(90)
print("done", flush=True)"""


def no_memory():
    """a program that gets no more memory goes on, and what is not recorded of it is a loss"""
    native = subprocess.run([sys.executable, "-S", "-E", "-c", LIMITED], capture_output=True, text=True, check=False)
    done = record("-o", "limited.ptl", "--", sys.executable, "-S", "-E", "-c", LIMITED)
    expect_equal((done.stdout, done.returncode), (native.stdout, native.returncode), done.stderr)
    complete, losses, _ = described("limited.ptl")
    expect_equal(complete, True)
    expect(losses or "no losses" in done.stderr, done.stderr)


# Kills children at random moments of their first milliseconds: before their first instruction, within execve, behind execve.
PARENT = """import os, random, sys, time
random.seed(int(sys.argv[1]))
for i in range(int(sys.argv[2])):
    child = os.fork()
    if child == 0:
        if i % 3 == 0: time.sleep(100)
        os.execv("/bin/ls", ["ls", "/"])
    time.sleep(random.choice((0, random.random() * 0.002, random.random() * 0.02)))
    os.kill(child, 9)
    print(child, os.waitpid(child, 0)[1], file=sys.stderr)"""


def killed_children():
    """each child that is killed while it begins is a process with its end and status; nothing is lost, no process is left"""
    count = 8 * KILLS
    with open(path("statuses"), "w+", encoding="ascii") as statuses:
        done = subprocess.run([RECORD, "-q", "-o", "children.ptl", "--", sys.executable, "-S", "-E", "-c", PARENT, str(SEED), str(count)],
                              cwd=SCRATCH, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=statuses, timeout=200, check=False)
        statuses.seek(0)
        lines = statuses.read().splitlines()
    truth = {int(line.split()[0]): int(line.split()[1]) for line in lines if line[:1].isdigit()}
    # ptl-record has the same standard error, and warns of processes that are left.
    expect_equal((done.returncode, len(truth), len(lines)), (0, count, count), SEED, lines[-3:])
    found = {one["pid"]: (one.get("exit_status"), one.get("signal"))
             for one in map(json.loads, run(DUMP, "processes", "--json", "children.ptl").stdout.splitlines())}
    wanted = {pid: (None, "SIGKILL") if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None) for pid, status in truth.items()}
    expect_equal([(pid, found.get(pid), wanted[pid]) for pid in truth if found.get(pid) != wanted[pid]], [], SEED)
    expect_equal(described("children.ptl")[:2], (True, []), SEED)


sys.exit(main([killed_recorders, killed_children, killed_append, killed_relog, sparse_piece, no_memory]))
