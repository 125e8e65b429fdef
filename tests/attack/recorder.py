#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks ptl-record: failing allocations and writes, limits of memory, file size and open files.

"make attack" runs this program for a quarter of its time. The law of tests/e2e/failing_test.py applies: an incomplete recording
is never marked as complete. In the environment: PTL_ATTACK_FIRST=SEED, PTL_ATTACK_SECONDS.
"""
import os
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "e2e"))
import failing_test  # noqa: E402
import turns  # noqa: E402


class Attack:
    def __init__(self, folder):
        self.recorder, self.counts = failing_test.Recorder(os.environ["PTL_BIN"], folder), {}

    def count(self, case):
        if case not in self.counts:
            self.counts[case], done = self.recorder.count(case)
            if not self.counts[case]:
                sys.exit(f"attack: {case} does not record: {done.stderr}")
        return self.counts[case]

    def failing(self, generator):
        """Lets one call fail, or several in a row, or all from some call on."""
        case, kind = generator.choice(list(failing_test.CASES)), generator.choice(("ALLOCATION", "ALLOCATION", "WRITE"))
        return self.recorder.attempt(case, kind, generator.randrange(self.count(case)[kind]) + 1, generator.choice((1, 1, 2, 7, 1 << 30)))

    def limited(self, generator):
        """Limits memory, the size of files, or the number of open files."""
        case = generator.choice(("native", "providers", "newfile", "files"))
        limit, value = generator.choice(((resource.RLIMIT_AS, generator.randrange(20 << 20, 200 << 20)),
                                         (resource.RLIMIT_FSIZE, generator.randrange(1, 20000)),
                                         (resource.RLIMIT_NOFILE, generator.randrange(4, 40))))

        def limit_it():
            resource.setrlimit(limit, (value, value))

        options, _, _ = failing_test.CASES[case]
        self.recorder.clear()
        # The command has the same limit: its result and its number of processes do not count.
        try:
            done = subprocess.run([os.path.join(self.recorder.programs, "ptl-record"), "-f", "-o", "failing.ptl", *options, "--", "true"],
                                  cwd=self.recorder.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  timeout=120, check=False, preexec_fn=limit_it)
        except subprocess.TimeoutExpired:
            return f"{case}: it hangs with limit {limit} of {value}"
        if done.returncode not in (0, 4, 127) and "error:" not in done.stderr:
            return f"{case}: status {done.returncode} with limit {limit} of {value}: {done.stderr}"
        files = [self.recorder.judge(name) for name in self.recorder.traces()]
        if done.returncode == 0 and files and not files[-1][0]:
            return f"{case}: incomplete, and nothing is said, with limit {limit} of {value}: {done.stderr}"
        return None

    def attempt(self, generator):
        return self.failing(generator) if generator.random() < 0.8 else self.limited(generator)


def main():
    title, seconds = "attack on ptl-record", turns.SECONDS / 4
    turns.announce(title, seconds)
    with tempfile.TemporaryDirectory(prefix="ptl-attack-recorder-") as folder:
        return turns.take(title, "recordings", "attack-recorder", seconds, Attack(folder).attempt)


sys.exit(main())
