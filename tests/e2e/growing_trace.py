# SPDX-License-Identifier: BSD-2-Clause
# Shared by tests that read traces during writing.
import json
import time

from scratch_test import DUMP, run

VIEWS = (("events", "--json"), ("images", "--json"), ("processes", "--json"), ("stats", "--hash", "--json"), ("flow",),
         ("report", "--json"), ("info", "--check", "--json"))
TOLD = ("complete", "machine", "start_time", "end_time", "losses", "damage", "attachments", "broken_blobs")


def end(process):
    """Returns exit status and messages."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode()


def wait_until(condition, seconds=30):
    """Waits until the condition is true; ends the test after a time limit."""
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > last:
            raise TimeoutError("waited in vain")
        time.sleep(0.1)
    return True


def count(name):
    """Returns the number of events of a trace so far; an unfinished trace has no index and no end."""
    got = run(DUMP, "events", "--json", name)
    return len(got.stdout.splitlines()) if got.returncode in (0, 3) else 0


def pieces(data, number):
    """Returns a trace in pieces that end anywhere, also inside buffers."""
    return [data[len(data) * i // number:len(data) * (i + 1) // number] for i in range(number)]


def dump(name, *view):
    """Returns ptl-dump's output; of info, only the lines that are equal for equal content."""
    got = run(DUMP, *view, name)
    if got.returncode not in (0, 1, 3):
        return f"(failed) {got.stderr}"
    if view[0] != "info":
        return got.stdout
    told = json.loads(got.stdout)
    return {"blobs": sorted(blob["sha256"] for blob in told["blobs"]), **{key: told.get(key) for key in TOLD}}


def differing(a, b):
    """Returns the views in which two traces differ."""
    return [(view, x, y) if view[0] == "info" else view for view in VIEWS
            if (x := dump(a, *view)) != (y := dump(b, *view))]
