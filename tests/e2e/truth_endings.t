#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# How recordings end: exit statuses, streams, kills, Ctrl-C, full disks, folders that vanish, deleted binaries.
# Whatever happens, what was written reads, says what is missing, and decodes without a wrong instruction.
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import time

from scratch_test import DUMP, RECORD, check, plan, path, scratch, skip, run as run_text

run = functools.partial(run_text, text=False)
STEP, COMPARE = (os.path.join(os.environ["PTL_TEST_TOOLS"], name) for name in ("single_step", "flow_compare"))
PROGRAMS = os.environ["PTL_PROGRAMS"]


def record(name, *command, options=(), **more):
    return run(RECORD, "-o", name, *options, "--", *command, **more)


def stats(name):
    """The statistics of a trace and the exit status of ptl-dump; None where it gives no statistics."""
    got = run(DUMP, "stats", "--json", name)
    try:
        return json.loads(got.stdout), got
    except ValueError:
        return None, got


def reads(name, file, instructions=1):
    """The trace can be read and has instructions."""
    found, got = stats(file)
    return check(name, found is not None and found["instructions"] >= instructions, found, got)


# ---- exit statuses and standard streams -----------------------------------------------------------

for status in (0, 1, 7, 255):
    got = record(f"exit-{status}.ptl", "/bin/sh", "-c", f"exit {status}")
    check(f"exit status {status}", got.returncode == status, got)
got = record("none.ptl", "/nonexistent/program")
check("a program that is not there: 127", got.returncode == 127 and got.stdout == b"" and
      b"/nonexistent/program" in got.stderr, got)
got = record("none.ptl", "/etc/passwd")
check("a file that is no program: 126", got.returncode == 126 and b"/etc/passwd" in got.stderr, got)
check("neither leaves a trace", not os.path.exists(path("none.ptl")))

text = os.urandom(300000)
got = record("cat.ptl", "cat", input=text)
check("standard input and output pass through", got.returncode == 0 and got.stdout == text, got.returncode,
      len(got.stdout))
got = record("streams.ptl", "/bin/sh", "-c", "echo out; echo err >&2; exec 3>&1 >&-; echo three >&3",
             options=["--quiet"])
check("each stream is the command's own", got.stdout == b"out\nthree\n" and got.stderr == b"err\n", got)
got = record("environment.ptl", "/bin/sh", "-c", "echo $GREETING; pwd",
             env={**os.environ, "GREETING": "hello there"})
check("environment and folder too", got.stdout == f"hello there\n{scratch}\n".encode(), got)
got = record("exit-0.ptl", "/bin/true")
check("an output that exists is not replaced", got.returncode != 0 and b"exists" in got.stderr, got)

# ---- the same bytes twice -------------------------------------------------------------------------


def packets(name):
    """The packets of every stream of a trace, without what names the process."""
    got = run(DUMP, "packets", "--json", name)
    lines = [json.loads(line) for line in got.stdout.splitlines()]
    return [{k: v for k, v in line.items() if k not in ("pid", "tid", "stream", "time")} for line in lines]


for timing in ("none", "tsc", "mtc", "cyc"):
    done = [record(f"same-{timing}-{i}.ptl", os.path.join(PROGRAMS, "recursion"), options=["--clock=virtual", f"--timing={timing}"],
                   env={"PATH": "/usr/bin:/bin"}) for i in (1, 2)]
    first, second = packets(f"same-{timing}-1.ptl"), packets(f"same-{timing}-2.ptl")
    differ = next((pair for pair in zip(first, second) if pair[0] != pair[1]), "their lengths")
    check(f"--clock virtual --timing {timing}: the same packets twice", len(first) > 100 and first == second and
          not any(one.returncode for one in done), len(first), len(second), differ, *done)

# ---- deleted binaries -----------------------------------------------------------------------------

shutil.copy(os.path.join(PROGRAMS, "dlopen_reuse"), path("program"))
for library in ("libreuse_a.so", "libreuse_b.so"):
    shutil.copy(os.path.join(PROGRAMS, library), path(library))
# Addresses are the same in both runs. The software source refuses restartable sequences.
STILL = ["env", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "setarch", "-R"]
stepped = run(*STILL, STEP, "--most", "200000", "-o", "deleted.step", "--", path("program"))
got = run(*STILL, RECORD, "-o", "deleted.ptl", "--source=software", "--", path("program"))
before = run(DUMP, "flow", "deleted.ptl")
for name in ("program", "libreuse_a.so", "libreuse_b.so"):
    os.remove(path(name))
after = run(DUMP, "flow", "deleted.ptl")
compared = run(COMPARE, path("deleted.ptl"), path("deleted.step"))
check("binaries are deleted: every address is still right", got.returncode == 0 and compared.returncode == 0, got,
      stepped, compared)
check("and the flow is the same, with symbols", before.stdout == after.stdout and b"main" in after.stdout and
      b"reuse" in after.stdout, before.stdout[:500], after.stdout[:500])

# ---- kills ----------------------------------------------------------------------------------------

SPIN = ["/bin/sh", "-c", "echo go; until [ -e gone ]; do :; done; exit 6"]


def start(name, *command, options=(), **more):
    """A recorder in a process group of its own, once the command has begun."""
    recorder = subprocess.Popen([RECORD, "-o", name, *options, "--", *command], cwd=scratch, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    recorder.stdout.readline()
    return recorder


def wait(recorder):
    try:
        errors = recorder.communicate(timeout=120)[1]
    except subprocess.TimeoutExpired:
        os.killpg(recorder.pid, signal.SIGKILL)
        errors = recorder.communicate()[1] + b"\n(it did not end)"
    return recorder.returncode, errors


def processes_of(group):
    """The processes of a group that are still there."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getpgid(int(entry)) == group:
                found.append(int(entry))
        except ProcessLookupError:
            pass
    return found


recorder = start("interrupted.ptl", *SPIN)
os.killpg(recorder.pid, signal.SIGINT)
status, errors = wait(recorder)
check("Ctrl-C ends both: 130", status in (130, -signal.SIGINT), status, errors)
reads("what was recorded until then reads", "interrupted.ptl", 100000)

recorder = start("terminated.ptl", *SPIN)
os.kill(recorder.pid, signal.SIGTERM)
status, errors = wait(recorder)
check("SIGTERM to the recorder ends it: 143", status in (143, -signal.SIGTERM), status, errors)
reads("what was recorded until then reads", "terminated.ptl", 100000)
time.sleep(0.5)
check("the command does not run on", not processes_of(recorder.pid), processes_of(recorder.pid))

recorder = start("child-killed.ptl", *SPIN)
victims = [p for p in processes_of(recorder.pid) if p != recorder.pid]
for victim in victims:
    os.kill(victim, signal.SIGKILL)
status, errors = wait(recorder)
check("kill -9 of the command: 137", len(victims) == 1 and status == 137, victims, status, errors)
reads("its trace reads to the end", "child-killed.ptl", 100000)

recorder = start("recorder-killed.ptl", *SPIN, options=["--flush-interval=200ms"])
until = time.monotonic() + 120
while not (stats("recorder-killed.ptl")[0] or {}).get("instructions") and time.monotonic() < until:
    time.sleep(0.05)
os.kill(recorder.pid, signal.SIGKILL)
recorder.wait()
# The command goes on, and has the recorder's standard error.
for leftover in processes_of(recorder.pid):
    os.kill(leftover, signal.SIGKILL)
recorder.communicate()
left = [name for name in os.listdir(scratch) if name.startswith("recorder-killed.ptl")]
found, got = stats(left[0]) if left else (None, "no file")
check("kill -9 of the recorder leaves a trace that reads", found is not None and found["instructions"] > 0, left,
      found, got)
info = run(DUMP, "info", left[0]) if left else None
check("which says that it is incomplete", info is not None and
      b"incomplete" in (info.stdout + info.stderr).lower(), info)

# ---- no space -------------------------------------------------------------------------------------


LIMIT = 2400000


def limit_file_size():
    # Enough for the memory that recorder and program share, too little for the trace.
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


WORK = [os.path.join(PROGRAMS, "exceptions")]
LOOP = ["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo looped"]
got = record("limited.ptl", *LOOP, options=["--threads=4", "--buffer=64K", "--compress=0", "--embed=none"], preexec_fn=limit_file_size)
check("a limit on file sizes is reported", got.stdout == b"looped\n" and got.returncode != 0 and
      b"File too large" in got.stderr, got)
if os.path.exists(path("limited.ptl")):
    reads("and the trace reads up to it", "limited.ptl")

got = run(RECORD, "-o", "/dev/full", "--", *WORK)
check("/dev/full is reported", b"No space left on device" in got.stderr and got.returncode != 0, got)

mounted = path("small")
os.mkdir(mounted)
if os.geteuid() == 0 and run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mounted).returncode == 0:
    try:
        got = record("small/full.ptl", *WORK, options=["--psb-period=256"])
        check("a full disk is reported, the command ends as it would",
              got.stdout.startswith(b"exceptions ") and got.returncode != 0 and
              b"No space left on device" in got.stderr, got)
        left = os.listdir(mounted)
        found, what = stats(os.path.join("small", left[0])) if left else (None, "no file")
        check("and the trace reads up to there", found is not None, left, what)
    finally:
        run("umount", mounted)
else:
    skip("a full disk is reported, the command ends as it would", "needs a tmpfs of its own")
    skip("and the trace reads up to there", "needs a tmpfs of its own")

os.mkdir(path("vanishing"))
recorder = start("vanishing/trace.ptl", *SPIN)
shutil.rmtree(path("vanishing"))
with open(path("gone"), "wb"):
    pass
status, errors = wait(recorder)
check("the output's folder vanishes: it is reported", b"vanishing/trace.ptl" in errors, status, errors)

plan()
