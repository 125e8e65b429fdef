#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The number of threads changes nothing: every byte of output is the same for -j1, -j2 and -j5, with each engine.
import hashlib
import os
import subprocess

from scratch_test import BIN, DUMP, check, plan, scratch

PROGRAMS = os.environ["PTL_PROGRAMS"]
COUNTS = (("stats",), ("stats", "--hash", "--json"))
COMMANDS = {
    "native": (*COUNTS, ("flow",), ("flow", "--json"), ("flow", "--merge"), ("flow", "--level", "branch")),
    "libipt": (*COUNTS, ("flow",), ("flow", "--level", "branch")),
}
# Code outside of all images is what a JIT makes: many processes have none.
UNMAPPED = ("images", "--unmapped", "--json")


def record(program):
    trace = os.path.join(scratch, program + ".ptl")
    done = subprocess.run([os.path.join(BIN, "ptl-record"), "-q", "-o", trace, "--", os.path.join(PROGRAMS, program)],
                          capture_output=True, stdin=subprocess.DEVNULL, cwd=scratch, timeout=300)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr.decode()}")
    return trace


def output(trace, command, engine, jobs):
    """Exit status, size and hash of what is printed; it is too long to be kept."""
    with subprocess.Popen([DUMP, *command, "-q", "--engine", engine, f"-j{jobs}", trace], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        digest, size = hashlib.sha256(), 0
        while lines := process.stdout.readlines(1 << 22):
            text = b"".join(lines)
            digest.update(text)
            size += len(text)
        return process.wait(), size, digest.hexdigest()


def compare(trace, engine, command):
    one, two, five = [output(trace, command, engine, jobs) for jobs in (1, 2, 5)]
    check(f"{engine}: {' '.join(command)}", one == two == five and one[0] == 0 and one[1] > 0, one, two, five)


processes, jit = record("processes"), record("jit")
for engine, commands in COMMANDS.items():
    for command in commands:
        compare(processes, engine, command)
    compare(jit, engine, UNMAPPED)
plan()
