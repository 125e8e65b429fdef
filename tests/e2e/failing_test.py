# SPDX-License-Identifier: BSD-2-Clause
"""Recordings with a failing allocation or write, and their law: an incomplete recording is never marked as complete.

tests/failing/failing.c is preloaded into ptl-record only: the command and its children run normally.
"""
import json
import os
import subprocess

FAILING = os.path.join(os.environ["PTL_TEST_TOOLS"], "failing.so")
NATIVE = ("--source=none",)
SHELL = "true | cat; ls / >/dev/null; true"
# Options, the command, and its number of processes.
CASES = {
    "native": (NATIVE, SHELL, 4),
    "software": (("--source=software",), "true", 1),
    "providers": ((*NATIVE, "-p", "*"), SHELL, 4),
    "newfile": ((*NATIVE, "--mode=newfile", "--max-size=1M"), SHELL, 4),
    "buffering": ((*NATIVE, "--mode=buffering"), SHELL, 4),
    "files": ((*NATIVE, "--embed=debug"), SHELL, 4),
}


class Recorder:
    """Runs recordings in a folder."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder

    def run(self, program, *words, environment=None):
        return subprocess.run([os.path.join(self.programs, program), *words], cwd=self.folder, env={**os.environ, **(environment or {})},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120, check=False)

    def traces(self):
        return [name for name in sorted(os.listdir(self.folder)) if name.startswith("failing") and name.endswith(".ptl")]

    def clear(self):
        for name in os.listdir(self.folder):
            if name.startswith("failing"):
                os.remove(os.path.join(self.folder, name))

    def record(self, case, environment):
        options, script, _ = CASES[case]
        self.clear()
        return self.run("ptl-record", "-o", "failing.ptl", *options, "--", "sh", "-c", script, environment=environment)

    def count(self, case):
        """Returns the number of allocations and writes of the recording."""
        path = os.path.join(self.folder, "counts")
        done = self.record(case, {"LD_PRELOAD": os.path.basename(FAILING), "LD_LIBRARY_PATH": os.path.dirname(FAILING), "PTL_FAILING_PROGRAM": "ptl-record", "PTL_FAILING_COUNTS": path})
        if done.returncode:
            return None, done
        with open(path, encoding="ascii") as file:
            return dict(zip(("ALLOCATION", "WRITE"), map(int, file.read().split()))), done

    def attempt(self, case, kind, number, in_a_row=1):
        """Lets an allocation or write fail. Returns the law that the recording breaks, or None."""
        try:
            done = self.record(case, {"LD_PRELOAD": os.path.basename(FAILING), "LD_LIBRARY_PATH": os.path.dirname(FAILING), "PTL_FAILING_PROGRAM": "ptl-record", "PTL_FAILING_" + kind: str(number),
                                      "PTL_FAILING_RUN": str(in_a_row)})
        except subprocess.TimeoutExpired:
            return f"{case}: it hangs when {kind} {number} fails"
        what = broken(done, [self.judge(name) for name in self.traces()], CASES[case][2])
        return what and f"{case}: {what} when {kind} {number} fails ({in_a_row} in a row): status {done.returncode}: {done.stderr}"

    def judge(self, name):
        """Returns (complete, losses, processes) of a file."""
        described = self.run("ptl-dump", "info", "--json", name).stdout.splitlines()
        objects = [json.loads(line) for line in described]
        if not objects:
            return False, [], 0
        processes = self.run("ptl-dump", "processes", "--json", name).stdout.splitlines()
        return objects[0]["complete"], [loss for one in objects for loss in one.get("losses", [])], len(processes)


def broken(done, files, processes):
    """Returns the law that a finished recording breaks, or None."""
    if done.returncode not in (0, 4):
        return "it ends with another status than 0 and 4"
    if done.returncode and "error:" not in done.stderr:
        return "a failure is not said"
    if not files:
        return None if done.returncode else "there is no file"
    complete, losses, found = files[-1]
    lost = any(file[1] for file in files)
    if not complete and (done.returncode == 0 or "no losses" in done.stderr):
        return "the file is incomplete, and the recorder says that all is well"
    if complete and not lost and found < processes:
        return f"{found} processes of {processes} are in a file that says it is complete"
    if "no losses" in done.stderr and lost:
        return "losses are in the file, and not in the summary"
    # A failure without a loss, such as for the second of two files that lost no byte.
    if complete and done.returncode and not losses and found < processes:
        return "the file says that it is complete after an error"
    return None
