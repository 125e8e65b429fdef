# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of ptl-record: running the recorder, reading its traces, TAP.
"""A test passes its functions to main()."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback

from scratch_test import BIN, DUMP, RECORD, check, path, plan, run, scratch as SCRATCH, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
STARTED = []  # recorders of the current check


class Skip(Exception):
    """The test cannot run here."""


def record(*arguments, timeout=120, **options):
    """Runs ptl-record. Returns the finished process, with output as text."""
    process = start(*arguments, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise AssertionError("%s did not end within %d s: %s" % (arguments, timeout, waiting(process.pid))) from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def start(*arguments, **options):
    """Starts ptl-record in a process group of its own, which is killed at the end of the check."""
    options = {"cwd": SCRATCH, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    STARTED.append(subprocess.Popen([RECORD, *arguments], text=True, errors="replace", start_new_session=True, **options))
    return STARTED[-1]


def waiting(session):
    """Returns (pid, tid, name, kernel function that it waits in) of each thread of a session."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == session:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as stat, \
                            open(f"/proc/{pid}/task/{tid}/wchan", encoding="utf-8") as wchan:
                        found.append((int(pid), int(tid), stat.read().split("(", 1)[1].rsplit(")", 1)[0], wchan.read()))
        except OSError:
            pass
    return found


def kill_started():
    for process in STARTED:
        # The number of an ended recorder may belong to another process.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    STARTED.clear()


def dump(*arguments, statuses=(0, 1)):
    """Returns ptl-dump's standard output. The trace must be readable; a difference or a limit (status 1) is no failure."""
    done = subprocess.run([DUMP, *arguments], cwd=SCRATCH, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode not in statuses:
        raise AssertionError("ptl-dump %s: status %d: %s" % (" ".join(arguments), done.returncode, done.stderr))
    return done.stdout


def lines(*arguments):
    """Returns the objects of ptl-dump --json, one per line."""
    return [json.loads(line) for line in dump("--json", *arguments).splitlines()] if arguments[0].startswith("-") \
        else [json.loads(line) for line in dump(arguments[0], "--json", *arguments[1:]).splitlines()]


def growing(command, name):
    """Returns the lines of ptl-dump --json for a file during writing, which may end inside a buffer or be missing."""
    done = run(DUMP, command, "--json", path(name))
    expect(done.returncode in (0, 3) or not os.path.exists(path(name)), done.returncode, done.stderr)
    return done.stdout.splitlines()


def stats(name):
    return json.loads(dump("stats", "--json", name))


def stats_of_cut(name):
    """Returns the statistics of a file whose writer was killed, perhaps inside a buffer, which is then truncated (status 3)."""
    return json.loads(dump("stats", "--json", name, statuses=(0, 3)))


def expect(condition, *details):
    if not condition:
        raise AssertionError(" ".join(str(detail) for detail in details))


def expect_equal(got, wanted, *details):
    expect(got == wanted, "got", repr(got), "instead of", repr(wanted), *details)


def wait_for(condition, what, process=None, seconds=120):
    """Waits for a true result of the condition, while the process, if given, runs. Returns the result."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if process is not None and process.poll() is not None:
            expect(False, "it ended before", what, process.returncode, process.stderr.read() if process.stderr else "")
        expect(time.monotonic() < end, "waited in vain for", what)
        time.sleep(0.01)
    return found


def main(tests, clean_up=lambda: None):
    """Runs functions as tests. The first line of a function's docstring is the test's name. Cleans up after each test."""
    failed = 0
    for test in tests:
        title = test.__doc__.strip().splitlines()[0].rstrip(".")
        for entry in os.listdir(SCRATCH):
            place = path(entry)
            shutil.rmtree(place) if os.path.isdir(place) and not os.path.islink(place) else os.unlink(place)
        try:
            test()
            check(title, True)
        except Skip as reason:
            skip(title, reason)
        except (AssertionError, OSError, ValueError, LookupError, RuntimeError, subprocess.SubprocessError) as error:
            failed += 1
            places = [f"line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
                      if os.path.basename(frame.filename) == os.path.basename(sys.argv[0])]
            check(title, False, f"{type(error).__name__} in {' from '.join(places[::-1])}: {error}", getattr(error, "stderr", None) or "")
        finally:
            kill_started()
            clean_up()
    plan()
    return failed > 0
