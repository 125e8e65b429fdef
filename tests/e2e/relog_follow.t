#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --follow: inputs that are still being written, and the four ways in which that ends.
import json
import os
import signal
import subprocess
import time

from scratch_test import DUMP, RECORD, RELOG, check, plan, path, run, scratch

PROGRAMS = os.environ["PTL_PROGRAMS"]
CLOCK_NANOSLEEP = "230"


def content(name):
    # The threads wait in loops: the text of their flow may have gigabytes on a busy machine.
    return [run(DUMP, *view, name).stdout for view in (("events", "--json"), ("images", "--json"), ("stats", "--json", "--hash"))]


def follow(source, output, *more, **options):
    return subprocess.Popen([RELOG, "-f", "--follow", source, "-o", output, *more], cwd=scratch, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def await_following(process):
    """Returns when it waits for a writer: it sleeps."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
            if file.read().split()[0] == CLOCK_NANOSLEEP:
                return
        time.sleep(0.01)


def end(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, err


def is_complete(name):
    info = json.loads(run(DUMP, "info", "--json", name).stdout or "{}")
    return info.get("complete"), info


got = run(RECORD, "-q", "-o", "whole.ptl", "--", f"{PROGRAMS}/threads")
check("a recording", got.returncode == 0, got.stderr)
with open(path("whole.ptl"), "rb") as file:
    whole = file.read()
expected = content("whole.ptl")
half = len(whole) // 2

# ---- the writer closes the file ----------------------------------------------------------------------------------------

with open(path("live.ptl"), "wb", buffering=0) as live:
    process = follow("live.ptl", "closed.ptl")
    await_following(process)
    check("an empty file is waited for", process.poll() is None)
    live.write(whole[:half])
    time.sleep(0.2)
    check("and one that grows", process.poll() is None and not is_complete("closed.ptl")[0])
    live.write(whole[half:])
    status, err = end(process)
check("until the trace is closed, although the file is not", status == 0 and err == "" and
      content("closed.ptl") == expected, status, err)

# ---- the writer is gone ------------------------------------------------------------------------------------------------

with open(path("live.ptl"), "wb", buffering=0) as live:
    live.write(whole[:half])
    process = follow("live.ptl", "gone.ptl")
    await_following(process)
status, err = end(process)
check("a writer that is gone is not waited for", "nobody writes it any more" in err and is_complete("gone.ptl")[0],
      status, err, is_complete("gone.ptl"))
run(RELOG, "-q", "live.ptl", "-o", "plain.ptl")
check("what it left is taken", content("gone.ptl") == content("plain.ptl"))

# ---- an interruption ---------------------------------------------------------------------------------------------------

with open(path("live.ptl"), "wb", buffering=0) as live:
    live.write(whole[:half])
    process = follow("live.ptl", "interrupted.ptl")
    await_following(process)
    process.send_signal(signal.SIGINT)
    status, err = end(process)
check("an interruption ends the waiting, not the work", "interrupted; what is there is taken" in err and
      status in (0, 3) and is_complete("interrupted.ptl")[0], status, err)
check("and the output has what was there", content("interrupted.ptl") == content("plain.ptl"))
# How long threads run tells how much is written of them: what is split has more than a part needs, however long it took.
run(RECORD, "-q", "--compress", "0", "-o", "long.ptl", "--", f"{PROGRAMS}/counted", "100000")
with open(path("long.ptl"), "rb") as file:
    long = file.read()
with open(path("live.ptl"), "wb", buffering=0) as live:
    live.write(long[:len(long) // 2])
    process = follow("live.ptl", "parts.ptl", "--split", "64K")
    await_following(process)
    live.write(long[len(long) // 2:])
    status, err = end(process)
parts = [name for name in os.listdir(scratch) if name.startswith("parts.")]
check("--split waits first", status == 0 and len(parts) > 1, status, err, parts)
check("where code takes more than a part may have, there are not the more parts", len(parts) < 100 and
      "could not be made smaller than asked" in err, len(parts), err)

# ---- a real recorder ---------------------------------------------------------------------------------------------------

recorder = subprocess.Popen([RECORD, "-q", "-f", "-o", "record.ptl", "--", f"{PROGRAMS}/threads"], cwd=scratch)
while not os.path.exists(path("record.ptl")) or os.path.getsize(path("record.ptl")) < 64:
    time.sleep(0.005)
process = follow("record.ptl", "recorded.ptl")
recorder.wait()
status, err = end(process)
check("a recorder is followed to its end", status == 0 and err == "" and is_complete("record.ptl")[0] and
      content("recorded.ptl") == content("record.ptl"), status, err)

# ---- pipes -------------------------------------------------------------------------------------------------------------


def drained(fd):
    """The reader has taken what was written: it is reading."""
    import fcntl
    import struct
    import termios
    while struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]:
        time.sleep(0.01)


for name, signals, rest in (("once", 1, whole[half:]), ("twice", 2, b"")):
    reader, writer = os.pipe()
    process = follow("-", f"{name}.ptl", stdin=reader)
    os.write(writer, whole[:4096])
    drained(reader)
    process.send_signal(signal.SIGINT)
    note = process.stderr.readline()
    check(f"a pipe, interrupted {name}: the writer's end is awaited", "waiting for the end of the pipe" in note and
          process.poll() is None, note)
    with os.fdopen(writer, "wb") as file:
        file.write(whole[4096:half])
        file.write(rest)
        file.flush()
        drained(reader)
        if signals == 2:
            process.send_signal(signal.SIGINT)
            status, err = end(process)
    os.close(reader)
    status, err = end(process) if signals == 1 else (status, err)
    check(f"a pipe, interrupted {name}: the output is whole", is_complete(f"{name}.ptl")[0] and
          content(f"{name}.ptl") == content("whole.ptl" if signals == 1 else "plain.ptl"), status, err)

# ---- what it is not for ------------------------------------------------------------------------------------------------

got = run(RELOG, "--follow", "whole.ptl", "-o", "copy.ptl")
check("a finished trace is taken at once", got.returncode == 0 and got.stderr == "" and content("copy.ptl") == expected,
      got.stderr)
got = run(RELOG, "--follow", "--pt", "a", "--memory", "b", "--memory-map", "c", "-o", "raw.ptl")
check("raw input is not followed", got.returncode == 2 and "--follow is about inputs that are still being written" in
      got.stderr, got.stderr)

plan()
