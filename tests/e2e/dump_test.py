# SPDX-License-Identifier: BSD-2-Clause
"""What tests of ptl-dump share: records a program and reads the output; a failure of either ends the test."""
import json
import os

from scratch_test import BIN, DUMP, run


def record(output, *command, options=()):
    done = run(os.path.join(BIN, "ptl-record"), "-q", "-f", "-o", output, *options, "--", *command)
    if done.returncode:
        raise SystemExit(f"Bail out! {command}: {done.stderr}")


def dump(*arguments):
    done = run(DUMP, *arguments)
    if done.returncode:
        raise SystemExit(f"Bail out! {arguments}: {done.stderr}")
    return done.stdout


def objects(*arguments):
    return [json.loads(line) for line in dump(*arguments).splitlines()]
