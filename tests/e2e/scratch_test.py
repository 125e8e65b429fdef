# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests that are scripts of checks: a temporary folder, running programs, TAP.
"""A test imports the needed functions, and ends with plan()."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

DETAILS = 28  # lines about a failed check; tests/tap forwards 30
BIN = os.environ["PTL_BIN"]
RECORD, RELOG, DUMP = (os.path.join(BIN, name) for name in ("ptl-record", "ptl-relog", "ptl-dump"))
scratch = tempfile.mkdtemp(prefix="ptl-%s-" % os.path.splitext(os.path.basename(sys.argv[0]))[0])
count = 0
atexit.register(shutil.rmtree, scratch, ignore_errors=True)


def shortened(text, size):
    """Returns beginning and end of an overlong text; a program's last words matter most."""
    return text if len(text) <= size else f"{text[:size // 3]} ... {text[-size * 2 // 3:]}"


def described(detail):
    """Returns lines that explain a failure. For an ended program: its status, last words, and command."""
    if not isinstance(detail, subprocess.CompletedProcess):
        return shortened(str(detail), 2000).splitlines()
    command = detail.args if isinstance(detail.args, str) else " ".join(map(str, detail.args))
    found = [f"status {detail.returncode} of {shortened(command, 300)}"]
    for name, said in (("stderr", detail.stderr), ("stdout", detail.stdout)):
        text = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
        found += [f"{name}: {line}" for line in text.splitlines()[-10:]]
    return found


def check(name, passed, *details):
    """Prints and returns whether the check passed; after a failure also prints the details."""
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)
    if not passed:
        lines = [line for detail in details for line in described(detail)]
        if len(lines) > DETAILS:
            lines[DETAILS // 3:-DETAILS * 2 // 3] = ["..."]
        for line in lines:
            print("#", shortened(line, 500))
    return passed


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def plan():
    print(f"1..{count}")


def run(*command, **more):
    """Returns the finished process, with output as text unless text=False. The caller checks the status."""
    if "input" not in more:
        more.setdefault("stdin", subprocess.DEVNULL)
    if command[0] == "perf" and "record" not in command and os.geteuid() == 0:
        # perf 6.12 enters the mount namespace of a running process with the pid of a made file, and aborts in a chroot.
        command = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", *command)
    more = {"cwd": scratch, "capture_output": True, "text": True, "timeout": 300, "check": False, **more}
    if more["text"]:
        # Messages of system programs depend on the locale.
        more.setdefault("errors", "replace")
    return subprocess.run(command, **more)


def without_randomisation():
    """Returns a prefix for a command that fixes its addresses in all runs; empty if the system forbids that.

    For some positions of the stack, the dynamic linker's strcmp takes an additional step, so equal runs differ by a branch.
    """
    return ["setarch", "-R"] if run("setarch", "-R", "true").returncode == 0 else []


class Failed(RuntimeError):
    """A program ended with an unexpected status."""


def output(*command, status=0, **more):
    """Returns the standard output of a command that must end with this status."""
    got = run(*command, **more)
    if got.returncode != status:
        raise Failed("\n".join(described(got)))
    return got.stdout


def labelled(label):
    """Returns a check() that adds the label to each name: the random parameters of the test."""
    return lambda name, passed, *details: check(f"{name} ({label})", passed, *details)


def path(name):
    return os.path.join(scratch, name)


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def write(name, data):
    """data may be text or bytes."""
    with open(path(name), "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
