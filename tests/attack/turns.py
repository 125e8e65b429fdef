# SPDX-License-Identifier: BSD-2-Clause
"""Runs attempts with random numbers from successive seeds, until the time is over or too many laws are broken."""
import os
import random
import time

BROKEN_MAX = 5
FIRST = int(os.environ.get("PTL_ATTACK_FIRST") or random.SystemRandom().randrange(1 << 32))
SECONDS = float(os.environ.get("PTL_ATTACK_SECONDS") or 60)


def announce(title, seconds):
    print(f"{title}: PTL_ATTACK_FIRST={FIRST} SECONDS={seconds:.0f}", flush=True)


def take(title, unit, target, seconds, attempt):
    """attempt(generator) returns the broken law, or None. Returns whether any law was broken."""
    broken = runs = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and broken < BROKEN_MAX:
        what = attempt(random.Random(FIRST + runs))
        runs += 1
        if what:
            broken += 1
            print(f"broken: {what}\n  repeat: PTL_ATTACK_FIRST={FIRST + runs - 1} make {target}", flush=True)
    print(f"{title}: {runs} {unit}, {broken} broken laws")
    return broken > 0
