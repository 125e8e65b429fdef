# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command with limits of time and memory, and reports a broken law."""
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading

import exports

BIN = os.environ["PTL_BIN"]
DUMP, RELOG = (os.path.join(BIN, name) for name in ("ptl-dump", "ptl-relog"))
SANITIZER = 99  # exit status of a program after a sanitizer's report
HANG = 120      # seconds of wall clock for a run, on any busy machine
# Limits of a run for its input in CPU seconds and MiB. Sanitizers multiply the needs of the programs, and the machine has
# other users. An MB counts decompressed payloads. An event may have 16 fields
# without bytes besides its other fields.
SECONDS, SECONDS_FOR_MB, SECONDS_FOR_EVENT = 5, 8.0, 100e-6
MEMORY, MEMORY_FOR_MB = 320, 16.0
STDERR_MAX, OUTPUT_MAX = 1 << 16, 8 << 20
FINDING = 1     # verify found a difference, or --check found a wrong output
OPTIONS = f"exitcode={SANITIZER}:detect_leaks=1:allocator_may_return_null=0:quarantine_size_mb=8:abort_on_error=0"


class Done:
    def __init__(self, command, status, output, stderr, usage, hung):
        self.command, self.status, self.output, self.stderr, self.hung = command, status, output, stderr, hung
        self.seconds, self.memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024  # CPU seconds, MiB

    def words(self):
        words = " ".join([os.path.basename(self.command[0]), *self.command[1:]])
        return {"file": f"{words} < {self.source}", "pipe": f"cat {self.source} | {words}"}.get(self.way, words)


def feed(name, to):
    """Writes the file into a pipe until the reader closes the pipe."""
    with open(name, "rb") as source, os.fdopen(to, "wb") as pipe:
        try:
            shutil.copyfileobj(source, pipe)
        except BrokenPipeError:
            pass


def is_read(command):
    """Returns whether the output is used: comparisons report there, and exports are read again."""
    return bool({"verify", "lint", *exports.READERS} & set(command))


def standard_input(source, way, folder):
    """Returns the command's standard input: a file, a pipe with the content, or nothing."""
    if not source:
        return os.open(os.devnull, os.O_RDONLY)
    name = os.path.join(folder, source)
    if way == "file":
        return os.open(name, os.O_RDONLY)
    out, into = os.pipe()
    os.set_inheritable(into, False)
    threading.Thread(target=feed, args=(name, into), daemon=True).start()
    return out


def run(command, folder, megabytes=0.0, events=0, source=None, way=None):
    """Runs a command. megabytes, events: content of its input. source: file for standard input; way: "file" or "pipe"."""
    seconds = SECONDS + SECONDS_FOR_MB * megabytes + SECONDS_FOR_EVENT * events
    memory = MEMORY + MEMORY_FOR_MB * megabytes
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": folder, "TMPDIR": folder,
           "BROWSER": "true",
           "ASAN_OPTIONS": f"{OPTIONS}:hard_rss_limit_mb={int(memory * 1.5)}", "UBSAN_OPTIONS": f"print_stacktrace=1:{OPTIONS}"}

    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds * 1.5) + 1, int(seconds * 1.5) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    kept = open(os.path.join(folder, "stdout"), "wb+") if is_read(command) else open(os.devnull, "rb+")
    with tempfile.TemporaryFile(dir=folder) as stderr, kept as stdout:
        stdin = standard_input(source, way, folder)
        child = subprocess.Popen(command, cwd=folder, env=env, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=bound)
        os.close(stdin)
        hung = threading.Event()

        def give_up():
            hung.set()
            child.kill()

        timer = threading.Timer(HANG + seconds, give_up)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        text = stderr.read(STDERR_MAX).decode("utf-8", "backslashreplace")
        stdout.seek(0)
        output = stdout.read(OUTPUT_MAX)
    done = Done(command, child.returncode, output, text, usage, hung.is_set())
    done.bounds, done.source, done.way = (seconds, memory), source, way
    return done


def broken(done, statuses):
    """Returns the law that the run broke, or None. statuses: permitted exit statuses."""
    if done.hung:
        return "hangs"
    if done.status == SANITIZER or "runtime error:" in done.stderr or "Sanitizer" in done.stderr:
        return "a sanitizer found something"
    if done.status in (-signal.SIGXCPU, -signal.SIGKILL) or done.seconds > done.bounds[0]:
        return f"took {done.seconds:.1f} CPU seconds, bound {done.bounds[0]:.1f}"
    if done.memory > done.bounds[1]:
        return f"took {done.memory:.0f} MiB, bound {done.bounds[1]:.0f}"
    if done.status < 0:
        return f"died of signal {-done.status}"
    if done.status not in statuses:
        return f"exit status {done.status}, not one of {statuses}"
    if "verify" in done.command:
        return broken_verify(done)
    # The finding is in the output.
    if "lint" in done.command and done.status == FINDING and done.output.strip():
        return None
    if done.status and not done.stderr.strip():
        return f"exit status {done.status} without a message"
    return None


def broken_verify(done):
    """Checks a comparison: status 1 means a difference in the output; damage takes precedence."""
    shows = b"they differ" in done.output or b'"equal":false' in done.output
    if done.status == FINDING and not shows:
        return "exit status 1 without a difference"
    if done.status == 0 and shows:
        return "exit status 0 with a difference"
    if done.status not in (0, FINDING) and not done.stderr.strip():
        return f"exit status {done.status} without a message"
    return None
