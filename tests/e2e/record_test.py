# SPDX-License-Identifier: BSD-2-Clause
# What the end-to-end tests of ptl-record share: running it, reading what it wrote, TAP.
"""A test gives its functions to main()."""
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
STARTED = []  # recorders of the check at hand


class Skip(Exception):
    """The test cannot run here."""


def record(*arguments, timeout=120, **options):
    """Runs ptl-record; gives the finished process, output as text."""
    process = start(*arguments, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise AssertionError("%s did not end within %d s: %s" % (arguments, timeout, waiting(process.pid))) from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def start(*arguments, **options):
    """Starts ptl-record in a process group of its own, which is gone when the check is over."""
    options = {"cwd": SCRATCH, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    STARTED.append(subprocess.Popen([RECORD, *arguments], text=True, errors="replace", start_new_session=True, **options))
    return STARTED[-1]


def waiting(session):
    """What each thread of a session waits for."""
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
        # Where the recorder has ended, its number may be somebody else's.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    STARTED.clear()


def dump(*arguments, statuses=(0, 1)):
    """Standard output of ptl-dump, which must find the trace readable; a difference or a limit (status 1) is no failure."""
    done = subprocess.run([DUMP, *arguments], cwd=SCRATCH, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode not in statuses:
        raise AssertionError("ptl-dump %s: status %d: %s" % (" ".join(arguments), done.returncode, done.stderr))
    return done.stdout


def lines(*arguments):
    """The objects that ptl-dump --json prints, one a line."""
    return [json.loads(line) for line in dump("--json", *arguments).splitlines()] if arguments[0].startswith("-") \
        else [json.loads(line) for line in dump(arguments[0], "--json", *arguments[1:]).splitlines()]


def growing(command, name):
    """The lines that ptl-dump --json prints of a file that is still being written, which may end within a buffer, or not be there yet."""
    done = run(DUMP, command, "--json", path(name))
    expect(done.returncode in (0, 3) or not os.path.exists(path(name)), done.returncode, done.stderr)
    return done.stdout.splitlines()


def stats(name):
    return json.loads(dump("stats", "--json", name))


def stats_of_cut(name):
    """Those of a file whose writer was killed, which may have been within a buffer: that one is cut off (status 3)."""
    return json.loads(dump("stats", "--json", name, statuses=(0, 3)))


def expect(condition, *details):
    if not condition:
        raise AssertionError(" ".join(str(detail) for detail in details))


def expect_equal(got, wanted, *details):
    expect(got == wanted, "got", repr(got), "instead of", repr(wanted), *details)


def wait_for(condition, what, process=None, seconds=120):
    """What the condition gives when it is true, while the process, if one is given, runs."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if process is not None and process.poll() is not None:
            expect(False, "it ended before", what, process.returncode, process.stderr.read() if process.stderr else "")
        expect(time.monotonic() < end, "waited in vain for", what)
        time.sleep(0.01)
    return found


def main(tests, clean_up=lambda: None):
    """Runs functions as tests named after their first line of documentation; cleans up behind each."""
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
