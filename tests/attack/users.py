#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks root's tools as another user, who owns the file at root's output path and exchanges files meanwhile.

"make attack-users" runs this program as root, and skips otherwise. A case is a folder of the user, or a world-writable sticky folder,
in which the user has a file, a FIFO, a socket, a folder, a symbolic link or a hard link at the output's path. These laws must hold:

  - the user cannot read root's output: no byte comes out of a FIFO or a socket, and no file of the user has bytes of a trace
  - the target of a link of the user is unchanged
  - a run with status 0 has its output, owned by root; any other run prints an "error:"
  - no run hangs or leaves files besides root's output

In the environment: PTL_ATTACK_FIRST=SEED, PTL_ATTACK_SECONDS.
"""
import multiprocessing
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import turns  # noqa: E402

BIN = os.environ["PTL_BIN"]
USER = 54323  # id of the hostile user; an account is not required
OLD = b"what was there\n"
MAGICS = (b"PTL\r\n", b"PTLB", b"Kernel/", b"ptl-record")
KINDS = ("file", "open file", "fifo", "socket", "folder", "link to root's", "link to own", "link to nothing", "hard link", "nothing")
COMMANDS = (
    ("ptl-record", ["-q", "--source=none", "-o", "OUT", "--", "true"]),
    ("ptl-record", ["-q", "--source=software", "-o", "OUT", "--", "true"]),
    ("ptl-record", ["-q", "--source=none", "--mode=newfile", "-o", "OUT", "--", "true"]),
    ("ptl-record", ["-q", "--source=none", "--append", "-o", "OUT", "--", "true"]),
    ("ptl-record", ["-q", "--source=none", "--mode=buffering", "-o", "OUT", "--", "true"]),
    ("ptl-relog", ["-q", "-o", "OUT", "TRACE"]),
    ("ptl-dump", ["flamegraph", "-o", "OUT", "TRACE"]),
    ("ptl-dump", ["html", "-o", "OUT", "TRACE"]),
    ("ptl-dump", ["sqlite", "-o", "OUT", "TRACE"]),
)


def as_user(work):
    """Runs work as the other user. Returns a process that ends together with this process."""
    def start():
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        work()

    process = multiprocessing.Process(target=start, daemon=True)
    process.start()
    return process


def put(path, kind, victim):
    """Creates a file of this kind at the path. Files of other users cannot be removed."""
    try:
        (shutil.rmtree if os.path.isdir(path) and not os.path.islink(path) else os.remove)(path)
    except OSError:
        pass
    try:
        if kind in ("file", "open file"):
            with open(path, "xb") as file:
                file.write(OLD)
            os.chmod(path, 0o666 if kind == "open file" else 0o644)
        elif kind == "fifo":
            os.mkfifo(path)
            os.chmod(path, 0o666)
        elif kind == "socket":
            socket.socket(socket.AF_UNIX).bind(path)
        elif kind == "folder":
            os.mkdir(path)
        elif kind.startswith("link"):
            os.symlink({"link to root's": victim, "link to own": path + ".own", "link to nothing": path + ".none"}[kind], path)
        elif kind == "hard link":
            os.link(victim, path)
    except OSError:
        pass


def listen(path, out):
    """Reads a FIFO at the path, and reports the bytes."""
    while True:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            time.sleep(0.001)
            continue
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                for _ in range(50):
                    try:
                        data = os.read(fd, 65536)
                    except BlockingIOError:
                        data = b""
                    if data:
                        out.send(data[:80])
                    time.sleep(0.001)
        except OSError:
            pass
        os.close(fd)


def exchange(path, kinds, victim, pauses):
    """Repeatedly exchanges the file at the path."""
    for kind, pause in zip(kinds, pauses):
        put(path, kind, victim)
        time.sleep(pause)


class Attack:
    def __init__(self, folder, trace):
        self.folder, self.trace = folder, trace

    def prepare(self, generator):
        place = os.path.join(self.folder, "place")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        if generator.random() < 0.7:
            os.chmod(place, 0o1777)
        else:
            os.chown(place, USER, USER)
        victim = os.path.join(self.folder, "victim")
        with open(victim, "wb") as file:
            file.write(OLD)
        return place, victim

    def attempt(self, generator):
        """Returns the broken law, or None."""
        place, victim = self.prepare(generator)
        path, kind = os.path.join(place, "out.ptl"), generator.choice(KINDS)
        program, words = generator.choice(COMMANDS)
        words = [{"OUT": path if generator.random() < 0.7 else "out.ptl", "TRACE": self.trace}.get(word, word) for word in words]
        if generator.random() < 0.5 and "--append" not in words:
            words.insert(1, "-f")
        ours, theirs = multiprocessing.Pipe(False)
        first = as_user(lambda: put(path, kind, victim))
        first.join()
        helpers = [as_user(lambda: listen(path, theirs))]
        if generator.random() < 0.6:
            kinds = [generator.choice(KINDS) for _ in range(4000)]
            pauses = [generator.choice((0, 0, 0.0002, 0.002, 0.02)) for _ in kinds]
            helpers.append(as_user(lambda: exchange(path, kinds, victim, pauses)))
        what = f"{program} {' '.join(words)} at a {kind}{', exchanged' if len(helpers) > 1 else ''}"
        try:
            done = subprocess.run([os.path.join(BIN, program), *words], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return f"{what}: hangs"
        finally:
            for helper in helpers:
                helper.terminate()
                helper.join()
        broken = self.judge(done, path, victim, ours, len(helpers) > 1)
        return broken and f"{what}: {broken}: status {done.returncode}: {done.stderr}"

    def judge(self, done, path, victim, ours, exchanged):
        # --force with -o accepts any existing file.
        if ours.poll() and "-f" not in done.args:
            return f"the other user has read {ours.recv()}"
        with open(victim, "rb") as file:
            if file.read() != OLD:
                return "what a link leads to has changed"
        for name in os.listdir(os.path.dirname(path)):
            entry = os.path.join(os.path.dirname(path), name)
            info = os.lstat(entry)
            if not stat.S_ISREG(info.st_mode):
                continue
            with open(entry, "rb") as file:
                data = file.read(4096)
            if any(magic in data for magic in MAGICS) and (info.st_uid == USER or info.st_mode & 0o077):
                return f"the other user can read {name}"
            if ".tmp-" in name:
                return f"{name} is left"
        if done.returncode < 0 or "Sanitizer" in done.stderr:
            return "it crashed"
        if done.returncode and "error:" not in done.stderr:
            return "a failure without a message"
        # The folder's owner may have removed the output, and --force writes to a FIFO.
        special = os.path.exists(path) and not os.path.isfile(path)
        if not done.returncode and not exchanged and not ("-f" in done.args and special) and (not os.path.isfile(path) or os.stat(path).st_uid == USER):
            return "status 0 without an output"
        return None


def main():
    if os.geteuid():
        print("attack of another user: skipped, as only root can be two users")
        return 0
    title, seconds = "attack of another user", turns.SECONDS / 6
    turns.announce(title, seconds)
    with tempfile.TemporaryDirectory(prefix="ptl-attack-users-") as folder:
        os.chmod(folder, 0o755)
        trace = os.path.join(folder, "in.ptl")
        subprocess.run([os.path.join(BIN, "ptl-record"), "-q", "--source=software", "-o", trace, "--", "true"], check=True)
        return turns.take(title, "runs", "attack-users", seconds, Attack(folder, trace).attempt)


if __name__ == "__main__":
    sys.exit(main())
