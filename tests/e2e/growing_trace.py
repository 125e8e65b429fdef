# SPDX-License-Identifier: BSD-2-Clause
# For tests of traces that are read while they are written.
import time

from scratch_test import DUMP, run


def end(process):
    """Exit status and messages."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode()


def wait_until(condition, seconds=30):
    last = time.monotonic() + seconds
    while not condition() and time.monotonic() < last:
        time.sleep(0.02)
    return condition()


def count(name):
    """Events that a trace has so far; what is being written has no index, and no end."""
    got = run(DUMP, "events", "--json", name)
    return len(got.stdout.splitlines()) if got.returncode in (0, 3) else 0


def pieces(data, number):
    """A trace in pieces that end anywhere, within its buffers too."""
    return [data[len(data) * i // number:len(data) * (i + 1) // number] for i in range(number)]
