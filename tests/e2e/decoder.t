#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# testdata/examples: decoders of ptl/decoder.h with the same packets again and again (rounds), and as a fuzzer's executor with
# ptl-record, a fork server and afl-fuzz.
import ctypes
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from scratch_test import BIN, RECORD, check, path, plan, run, skip, write

EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
EXECUTOR = os.path.join(EXAMPLES, "executor")
ROUNDS = os.path.join(EXAMPLES, "rounds")
FORK_SERVER = os.path.join(EXAMPLES, "fork_server.so")
EDGES = os.path.join(EXAMPLES, "edges")


def loop():
    """A loop of DEC, JNE and RET, whose branch is taken three times, and not the fourth time."""
    write("loop.txt", "psb\nmode.exec 64\npsbend\ntip.pge 0x1000\ntnt tttn\ntip.pgd -\n")
    write("loop.code", bytes.fromhex("48ffc9 75fb c3"))
    got = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "-o", "loop.pt", "loop.txt")
    check("packets of a loop are made", got.returncode == 0, got.stderr)
    for pieces in ("1", "7", "1000"):
        got = run(ROUNDS, "--exact", "--rounds", "3", "--pieces", pieces, "loop.pt", "0x1000", "loop.code")
        check(f"edges of a loop in pieces of {pieces} bytes", sorted(got.stdout.splitlines()) == ["1000 1000 3", "1000 1005 1"] and
              "new" not in got.stderr and " 0 gaps" in got.stderr, got)
    got = run(ROUNDS, "--rounds", "3", "loop.pt", "0x1000", "loop.code")
    check("edges of a loop in a bitmap", got.stdout == "2\n", got)
    got = run(ROUNDS, "loop.pt", "0x1000", "none.code")
    check("code that is not there is a failure", got.returncode == 1 and got.stderr, got)
    for wrong in ((), ("--rounds", "0", "a", "b", "c"), ("a", "b")):
        got = run(ROUNDS, *wrong)
        check(f"usage: {' '.join(wrong) or 'no arguments'}", got.returncode == 2 and "usage" in got.stderr, got)


def real_traces():
    traces = sorted(glob.glob(os.environ.get("PTL_SHARED_TRACES", "") + "/*/expected.txt"))
    if not traces:
        skip("traces of real CPUs", "there are none")
    for expected in traces:
        folder = os.path.dirname(expected)
        name = os.path.basename(folder)
        with open(expected, encoding="ascii") as file:
            want = dict(line.split() for line in file if line.strip())
        with open(folder + "/memory.map", encoding="ascii") as file:
            ranges = [line.split() for line in file if line.strip() and line[0] != "#"]
        if len(ranges) != 1 or int(ranges[0][2], 0):
            continue
        files = (folder + "/trace.pt", ranges[0][0], folder + "/memory.raw")
        edges = sorted(run(EDGES, *files).stdout.splitlines())
        for options in (("--rounds", "20"), ("--pieces", "777"), ("--rounds", "5", "--pieces", "65536")):
            got = run(ROUNDS, "--exact", *options, *files)
            check(f"{name}, {' '.join(options)}: the edges of ptl_flow, and libipt's number of instructions",
                  len(edges) > 1000 and sorted(got.stdout.splitlines()) == edges and
                  got.stderr.startswith(want["instructions"] + " instructions") and "new" not in got.stderr, got.stderr)


def recorded():
    os.environ["PATH"] = os.path.dirname(RECORD) + ":" + os.environ["PATH"]
    got = run(EXECUTOR, "--exact", "--rounds", "3", "--source", "software", "--", "/bin/true")
    found = re.match(r"(?:round .*\n)*(\d+) instructions, (\d+) blocks, 0 gaps", got.stderr)
    check("a program under ptl-record: all flow is decoded", got.returncode == 0 and found and int(found[1]) > 10000 and
          len(got.stdout.splitlines()) > 500, got.stderr)
    check("no trace is left behind", not glob.glob(path("executor-*.ptl")))
    got = run(EXECUTOR, "--source", "steam", "--", "/bin/true")
    check("a source that is not there", got.returncode == 1, got)


TARGET = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char bytes[8] = {0};
	FILE *file = argc > 1 ? fopen(argv[1], "r") : stdin;
	if (!file || !fread(bytes, 1, 4, file))
		return 3;
	if (bytes[0] == 'h')
		for (volatile unsigned i = 1; i; i++)
			;
	if (bytes[0] == 'b')
		puts("b");
	if (bytes[1] == 'w')
		abort();
	return 0;
}
"""


def make_target():
    write("target.c", TARGET)
    got = run(*(os.environ.get("CC") or "gcc").split(), "-O1", "-o", "target", "target.c")
    check("a target is built", got.returncode == 0, got.stderr)


def own_edges(text):
    """The edges within the target, which lies at the address that Linux gives programs without randomised addresses."""
    edges = [line.split() for line in text.splitlines()]
    return sorted(edge for edge in edges if all(place.startswith("55555555") for place in edge[:2]))


def forked():
    write("input", b"none")
    each = run(EXECUTOR, "--exact", "--source", "software", "--", "./target", "input")
    got = run(EXECUTOR, "--exact", "--rounds", "12", "--session-rounds", "5", "--fork-server", FORK_SERVER, "--", "./target", "input")
    main = [edge for edge in own_edges(got.stdout) if edge in own_edges(each.stdout)]
    check("a fork server's executions have the edges of a recording of their own",
          got.returncode == 0 and len(main) > 8 and main == own_edges(got.stdout), (got.stderr, own_edges(got.stdout), own_edges(each.stdout)))
    check("each execution is equal, also in the next session", "new" not in got.stderr and " 0 gaps" in got.stderr, got.stderr)
    check("sessions leave no trace behind", not glob.glob(path("executor-*.ptl")) and
          "executor-" not in run(RECORD, "list").stdout)
    got = run(EXECUTOR, "--fork-server", "none.so", "--", "./target", "input", timeout=60)
    check("a fork server that is not there is a failure", got.returncode == 1, got)


class Afl:
    """The fuzzer's end of AFL's protocol."""

    def __init__(self, *program):
        self.libc = ctypes.CDLL(None)
        self.libc.shmat.restype = ctypes.c_void_p
        self.id = self.libc.shmget(0, 65536, 0o1600)
        self.bitmap = self.libc.shmat(self.id, None, 0)
        to, self.commands = os.pipe()
        self.answers, back = os.pipe()
        os.dup2(to, 198)
        os.dup2(back, 199)
        with open(path("input"), "rb") as file:
            self.executor = subprocess.Popen([EXECUTOR, "--session-rounds", "7", "--fork-server", FORK_SERVER, "--", *program],
                                             env=dict(os.environ, __AFL_SHM_ID=str(self.id)), pass_fds=(198, 199), stdin=file, cwd=path(""),
                                             stderr=subprocess.DEVNULL)
        for end in (to, back, 198, 199):
            os.close(end)
        self.hello = self.get()

    def get(self):
        data = os.read(self.answers, 4)
        return struct.unpack("<I", data)[0] if len(data) == 4 else None

    def execute(self, kill_after=None):
        """Returns the wait status, and the edges of the bitmap."""
        ctypes.memset(self.bitmap, 0, 65536)
        os.write(self.commands, bytes(4))
        pid = self.get()
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        status = self.get()
        return status, ctypes.string_at(self.bitmap, 65536)

    def close(self):
        os.close(self.commands)
        os.close(self.answers)
        self.libc.shmdt(ctypes.c_void_p(self.bitmap))
        self.libc.shmctl(self.id, 0, None)
        return self.executor.wait(60)


def protocol():
    write("input", b"none")
    afl = Afl("./target", "input")
    check("the executor greets a fuzzer", afl.hello == 0)
    first = afl.execute()
    check("an execution ends with status 0, with edges", first[0] == 0 and sum(map(bool, first[1])) > 100, first[0])
    check("the next executions are equal", all(afl.execute() == first for _ in range(8)))
    write("input", b"bw..")
    crash = afl.execute()
    check("an abort is the execution's wait status, and has new edges", crash[0] is not None and os.WIFSIGNALED(crash[0]) and
          os.WTERMSIG(crash[0]) == signal.SIGABRT and any(new and not old for new, old in zip(crash[1], first[1])), crash[0])
    write("input", b"hang")
    for after in (0, 0.01, 0.2):
        hang = afl.execute(kill_after=after)
        check(f"an execution is killed after {after} s", hang[0] == signal.SIGKILL, hang[0])
    check("the edges of a killed execution are counted, with counts that stop", max(hang[1]) == 255)
    write("input", b"none")
    check("and the next execution is as before", afl.execute() == first)
    check("the executor ends with the fuzzer", afl.close() == 0)
    write("input", b"bw..")
    afl = Afl("./target")
    check("the fuzzer's file is standard input", os.WIFSIGNALED(afl.execute()[0] or 0))
    afl.close()


def afl_fuzz():
    """A bit of the input's first byte leads to other edges, and a bit of the second byte to a crash."""
    if not shutil.which("afl-fuzz"):
        skip("afl-fuzz finds a crash", "there is no afl-fuzz")
        return
    os.mkdir(path("inputs"))
    write("inputs/a", b"cv..")
    os.environ.update(AFL_NO_UI="1", AFL_SKIP_CPUFREQ="1", AFL_NO_AFFINITY="1", AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES="1",
                      AFL_BENCH_UNTIL_CRASH="1")
    got = run("afl-fuzz", "-D", "-V", "200", "-t", "2000", "-i", "inputs", "-o", "findings", "--", EXECUTOR, "--fork-server", FORK_SERVER,
              "--", "./target", "@@")
    for name, folder, begins in (("a crash", "crashes", b"cw"), ("an input with new edges", "queue", b"bv")):
        found = []
        for file in glob.glob(path(f"findings/default/{folder}/id*")):
            with open(file, "rb") as data:
                found.append(data.read())
        check(f"afl-fuzz finds {name}", any(text.startswith(begins) for text in found), found, got.stdout[-2000:])


# Sessions of this test alone.
os.environ["XDG_RUNTIME_DIR"] = path("runtime")
os.mkdir(path("runtime"), 0o700)
loop()
real_traces()
recorded()
make_target()
forked()
protocol()
afl_fuzz()
plan()
