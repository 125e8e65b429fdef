# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of named sessions: separate folders, requests to sessions, and ending leftovers of a check.
"""A test passes its functions to run_sessions()."""
import json
import os
import shutil
import signal

from record_test import PROGRAMS, SCRATCH, expect_equal, main, record, run, wait_for

WRITER = os.path.join(PROGRAMS, "provider_writer")
NAME = "PTL-Test-Writer"
# Separate folders, so that recorders of other tests do not interfere.
FOLDER = os.path.join("/dev/shm", "ptl-sessions-%d" % os.getpid())
RUNTIME = SCRATCH + ".run"
os.environ["PTL_SESSION_DIR"] = FOLDER
os.environ["XDG_RUNTIME_DIR"] = RUNTIME
os.mkdir(RUNTIME, 0o700)


def ask(*words, status=0):
    done = record(*words)
    expect_equal(done.returncode, status, words, done.stderr)
    return done


def query(name):
    return json.loads(ask("query", name, "--json").stdout)


def listed():
    return list(map(json.loads, ask("list", "--json").stdout.splitlines()))


def names():
    return [row["name"] for row in listed() if "ended" not in row]


def ended():
    return {row["name"]: row for row in listed() if "ended" in row}


def sockets():
    place = os.path.join(RUNTIME, "ptl-record")
    return sorted(name for name in os.listdir(place) if not name.startswith(".")) if os.path.isdir(place) else []


def write_events(*words):
    done = run(WRITER, *words)
    expect_equal(done.returncode, 0, done.stderr)


def kill(name):
    """Kills the recorder of a session, and waits until the recorder has ended."""
    os.kill(query(name)["pid"], signal.SIGKILL)
    wait_for(lambda: name not in names(), "the end of the session")


def stop_all():
    """Ends the leftovers of a failed check."""
    for row in listed():
        record("stop", row["name"])


def run_sessions(tests, clean_up=stop_all):
    """As main(). Returns the exit status."""
    try:
        return main(tests, clean_up)
    finally:
        shutil.rmtree(RUNTIME, ignore_errors=True)
        shutil.rmtree(FOLDER, ignore_errors=True)
