#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog makes traces of raw PT and raw code: what they hold, several streams, outputs that exist or vanish.
import json
import os
import signal
import subprocess
import time

from scratch_test import DUMP as dump, RELOG as relog, check, plan, read, run, scratch, write


def listing(*arguments):
    return [json.loads(line) for line in run(dump, *arguments).stdout.splitlines()]


# Two functions: a loop of five rounds at 0x401000; at 0x7f0000000800, in another range, three nops and a syscall.
#   401000: mov ecx, 5; 401005: dec ecx; 401007: jnz 401005; 401009: jmp rax
CODE = bytes.fromhex("b905000000 ffc9 75fc ffe0").ljust(4096, b"\xcc")
FAR = (b"\xcc" * 0x800 + b"\x90\x90\x90\x0f\x05").ljust(4096, b"\xcc")
write("memory.raw", CODE + FAR)
write("memory.map", b"# base size offset\n0x7f0000000000 4096 4096\n0x401000 0x1000 0\n")

PSB, PSBEND = b"\x02\x82" * 8, b"\x02\x23"
MODE64 = b"\x99\x01"


def tip(header, ip):
    return bytes([6 << 5 | header]) + ip.to_bytes(8, "little")


TIP, PGE = 0x0D, 0x11
PGD = b"\x01"  # without an address
# Enabled at 401000; four taken, one not; to the far function; disabled at 7f0000000803.
ROUND = tip(PGE, 0x401000) + bytes([0b111110 << 1]) + tip(TIP, 0x7F0000000800) + PGD
TRACE = PSB + MODE64 + PSBEND + ROUND
IPS = [0x401000] + [0x401005, 0x401007] * 5 + [0x401009] + [0x7F0000000800 + i for i in range(4)]
write("trace.pt", TRACE)
RAW = ["--pt", "trace.pt", "--memory", "memory.raw", "--memory-map", "memory.map"]

got = run(relog, *RAW, "-o", "out.ptl")
check("a trace is made", got.returncode == 0 and got.stdout == "" and
      got.stderr == f"ptl-relog: trace.pt: {len(TRACE)} bytes, 1 PSB\n", got)
stats = json.loads(run(dump, "stats", "--hash", "--json", "out.ptl").stdout or "{}")
check("every instruction is decoded", stats.get("instructions") == len(IPS) and stats.get("gaps") == 0, stats)
processes = stats.get("processes", [])
check("one process with one thread", len(processes) == 1 and processes[0]["pid"] == 1 and
      processes[0]["name"] == "memory.raw" and [t["tid"] for t in processes[0]["threads"]] == [1], stats)
flow = run(dump, "flow", "--level=insn", "--json", "out.ptl")
check("in order", [int(json.loads(line)["ip"], 0) for line in flow.stdout.splitlines()
                   if "ip" in json.loads(line)] == IPS, flow)
images = listing("images", "--json", "out.ptl")
check("two images", sorted(int(i["base"], 0) for i in images) == [0x401000, 0x7F0000000000], images)

# The same with the code file gone, and a name, an id and a CPU given.
got = run(relog, "-q", *RAW, "--process=guest", "--pid=4711", "--cpu=6/0x4e/3", "--mode=64", "-o", "named.ptl")
check("-q is silent", got.returncode == 0 and got.stdout == got.stderr == "", got)
os.rename(os.path.join(scratch, "memory.raw"), os.path.join(scratch, "moved"))
named = json.loads(run(dump, "stats", "--hash", "--json", "named.ptl").stdout or "{}")
os.rename(os.path.join(scratch, "moved"), os.path.join(scratch, "memory.raw"))
check("name and id are kept", [(p["pid"], p["name"]) for p in named.get("processes", [])] == [(4711, "guest")], named)
check("the code is in the trace", named.get("instructions") == len(IPS), named)
info = run(dump, "info", "named.ptl").stdout
check("info shows the CPU", "family 6, model 78, stepping 3" in info, info)

# Several inputs: streams and threads of their own.
write("second.pt", PSB + MODE64 + PSBEND + ROUND + ROUND)
got = run(relog, "-q", *RAW, "--pt", "second.pt", "-o", "two.ptl")
two = json.loads(run(dump, "stats", "--json", "two.ptl").stdout or "{}")
check("two inputs make two threads", got.returncode == 0 and
      [(t["tid"], t["instructions"]) for p in two.get("processes", []) for t in p["threads"]] ==
      [(1, len(IPS)), (2, 2 * len(IPS))], got, two)

# Timing packets: TSC alone, MTC by the crystal's ratio, and upper bits of the TSC from a start that is given.
def tsc(value):
    return b"\x19" + (value % (1 << 56)).to_bytes(7, "little")


def times_of(name):
    return [json.loads(line)["time"] for line in run(dump, "flow", "--json", name).stdout.splitlines()
            if json.loads(line)["type"] == "enabled"]


def timed(first):
    """TMA: the crystal's clock was 10 at that TSC; then an MTC for 11, and a TSC 2,000 ticks behind the first."""
    return (PSB + tsc(first) + b"\x02\x73\x0a\0\0\0\0" + MODE64 + PSBEND + ROUND + b"\x59\x0b" + ROUND + tsc(first + 2000) + ROUND)


write("timed.pt", timed(1 << 40))
TIMED = ["--pt", "timed.pt", *RAW[2:], "-f", "-o", "timed.ptl"]
got = run(relog, *TIMED)
check("TSC packets without a frequency: no times, and a hint", times_of("timed.ptl") == [None] * 3 and "--tsc-frequency" in got.stderr, got)
run(relog, *TIMED, "--tsc-frequency", "2000000000")
check("TSC packets have times", times_of("timed.ptl") == [0, 0, 1000], times_of("timed.ptl"))
run(relog, *TIMED, "--tsc-frequency", "2000000000", "--crystal-ratio", "160/2")
check("MTC packets have times", times_of("timed.ptl") == [0, 40, 1000], times_of("timed.ptl"))
start = (5 << 56) - 1000
write("timed.pt", timed(start))
run(relog, *TIMED, "--tsc-frequency", "2000000000", "--crystal-ratio", "160/2", "--tsc-start", str(start - 200))
check("a TSC start gives the upper bits, over 2^56", times_of("timed.ptl") == [100, 140, 1100], times_of("timed.ptl"))
got = run(relog, *TIMED, "--crystal-ratio", "160/2")
check("a ratio needs a frequency", got.returncode == 2 and "frequency" in got.stderr, got)
got = run(relog, *TIMED, "--tsc-frequency", "2000000000", "--crystal-ratio", "160")
check("a ratio has two numbers", got.returncode == 2 and "TSC/CRYSTAL" in got.stderr, got)

# A guest's TSC has an offset: it gives no time in a host's stream, not even if the stream begins in a guest.
def paging(cr3, guest):
    return b"\x02\x43" + ((cr3 >> 5) << 1 | guest).to_bytes(6, "little")


HOST, GUEST = paging(0x1000, 0), paging(0x77000, 1)
start = 1 << 40
for kind, lead in (("ahead", 10**10), ("behind", -10**10)):
    guest = PSB + tsc(start + lead) + GUEST + MODE64 + PSBEND + ROUND + tsc(start + lead + 10) + ROUND
    host = HOST + tsc(start) + ROUND + PSB + tsc(start + 2000) + HOST + MODE64 + PSBEND + ROUND
    write("timed.pt", guest + host + guest)
    run(relog, *TIMED, "--tsc-frequency", "2000000000")
    check(f"a guest's TSC gives no time, {kind}", times_of("timed.ptl") == [0, 0, 0, 1000, 1000, 1000], times_of("timed.ptl"))
    check(f"a guest's TSC, {kind}: the engines agree", run(dump, "verify", "timed.ptl").returncode == 0)
    write("timed.pt", guest)
    run(relog, *TIMED, "--tsc-frequency", "2000000000")
    check(f"a trace of a guest alone has the guest's times, {kind}", times_of("timed.ptl") == [0, 5], times_of("timed.ptl"))

# A run of the pattern that is longer than a PSB, and bytes before the first.
write("late.pt", b"\x00" * 33 + tip(TIP, 0x8202)[:1] + b"\x02\x82" + TRACE)
got = run(relog, *RAW[2:], "--pt", "late.pt", "-o", "late.ptl")
late = json.loads(run(dump, "stats", "--json", "late.ptl").stdout or "{}")
check("a PSB in the middle is found", got.returncode == 0 and late.get("instructions") == len(IPS), got, late)

# Outputs.
before = read("out.ptl")
got = run(relog, "-q", *RAW, "-o", "out.ptl")
check("an output that exists is kept", got.returncode == 4 and "exists; -f replaces it, -o names another" in got.stderr and
      read("out.ptl") == before, got)
got = run(relog, "-q", *RAW, "-f", "-o", "out.ptl")
check("--force replaces it", got.returncode == 0 and read("out.ptl") != before, got)
with open(os.path.join(scratch, "piped.ptl"), "wb") as file:
    piped = subprocess.run([relog, "-q", *RAW, "-o", "-"], cwd=scratch, stdout=file, timeout=120)
check("-o - writes to standard output", piped.returncode == 0 and
      json.loads(run(dump, "stats", "--json", "piped.ptl").stdout or "{}").get("instructions") == len(IPS), piped)
got = run(relog, "-q", *RAW, "-o", "nowhere/out.ptl")
check("a folder that is not there", got.returncode == 4 and "nowhere/out.ptl" in got.stderr and
      "No such file or directory" in got.stderr, got)
got = run(relog, "-q", *RAW, "-o", "/dev/full")
check("a full disk", got.returncode == 4 and "No space left on device" in got.stderr, got)

# An interruption leaves nothing. The FIFO keeps it waiting for input.
os.mkfifo(os.path.join(scratch, "fifo"))
waiting = subprocess.Popen([relog, "--pt", "fifo", *RAW[2:], "-o", "interrupted.ptl"], cwd=scratch,
                           stderr=subprocess.PIPE)
with open(os.path.join(scratch, "fifo"), "wb") as fifo:
    fifo.write(TRACE)
    fifo.flush()
    time.sleep(0.2)
    waiting.send_signal(signal.SIGINT)
    errors = waiting.communicate(timeout=120)[1]
check("it ends by the signal that interrupts it", waiting.returncode == -signal.SIGINT and
      b"interrupted by signal 2" in errors, waiting.returncode, errors)
check("and nothing is left", not [n for n in os.listdir(scratch) if n.startswith("interrupted")],
      os.listdir(scratch))

plan()
