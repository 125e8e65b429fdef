# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests of ptl-dump cpu and ptl-dump io: traces made of tracepoints, and the laws of their sums.
"""Made(...) collects events of a made trace; write(name) makes the file."""
import json
import os
import struct

from scratch_test import DUMP, output, path, run, write

TOOLS = os.environ["PTL_TEST_TOOLS"]
TYPES = {"u8": 1, "u16": 3, "u32": 5, "i32": 6, "u64": 7, "i64": 8, "pointer": 13, "text": 17, "bytes": 22}
FORMATS = {"u8": "B", "u16": "H", "i32": "i", "u32": "I", "u64": "Q", "i64": "q", "pointer": "Q"}
SWITCH = ("sched", "sched_switch", ("prev_comm", "text"), ("prev_pid", "i32"), ("prev_state", "i64"), ("next_comm", "text"), ("next_pid", "i32"))
WAKE = ("sched", "sched_wakeup", ("comm", "text"), ("pid", "i32"), ("target_cpu", "i32"), ("common_flags", "u8"))
WAKE_NEW = ("sched", "sched_wakeup_new", *WAKE[2:])
STATES = ("running", "waiting", "sleeping", "blocked", "off", "unknown")
INTERRUPT = 8
RUNS, SLEEPS, BLOCKS, ENDS = 0, 1, 2, 0x10


def guid_of(number):
    return "00000000-0000-0000-0000-%012x" % number


class Made:
    """Times are nanoseconds since the start of the trace, which begins at 1000."""

    def __init__(self, end, cpus=2):
        self.lines = [f"machine source=qemu software=1 clock=4 start=1000 end={end + 1000} timing=1 cpus={cpus}"]
        self.kinds, self.end = {}, end

    def process(self, pid, name, time=0, opcode=3):
        self.lines += [f"process start pid={pid} time={time + 1000} key={pid} image=/bin/{name} command={name} opcode={opcode}",
                       f"thread pid={pid} tid={pid} time={time + 1000} name={name} opcode={opcode}"]

    def thread(self, pid, tid, name, time=0, opcode=3):
        self.lines.append(f"thread pid={pid} tid={tid} time={time + 1000} name={name} opcode={opcode}")

    def event(self, kind, time, cpu, pid, tid, *values):
        if kind not in self.kinds:
            number = self.kinds[kind] = len(self.kinds) + 1
            fields = ",".join(f"{name}:{TYPES[of.rstrip('0123456789') if of.startswith('bytes') else of]}" +
                              (f":0:{of[5:]}" if of.startswith("bytes") else "") for name, of in kind[2:])
            self.lines.append(f"schema provider={guid_of(number)} id={number} provider_name={kind[0]} event_name={kind[1]} fields={fields}")
        payload = b"".join(value if isinstance(value, bytes) else value.encode() + b"\0" if of == "text" else struct.pack("<" + FORMATS[of], value)
                           for (_, of), value in zip(kind[2:], values))
        number = self.kinds[kind]
        self.lines.append(f"event provider={guid_of(number)} id={number} cpu={cpu} pid={pid} tid={tid} time={time + 1000} payload={payload.hex()}")

    def switch(self, time, cpu, old, state, new, names=None):
        names = names or {}
        self.event(SWITCH, time, cpu, old, old, names.get(old, f"t{old}" if old else "swapper/0"), old, state,
                   names.get(new, f"t{new}" if new else "swapper/0"), new)

    def wake(self, time, cpu, waker, woken, flags=0, kind=WAKE):
        self.event(kind, time, cpu, waker, waker, f"t{woken}", woken, cpu, flags)

    def write(self, name):
        write(name + ".sample", "\n".join(self.lines) + "\n")
        output(os.path.join(TOOLS, "make_sample"), path(name + ".sample"), path(name))


def rows(command, *arguments, status=0):
    """Returns the objects of ptl-dump COMMAND --json as lists by type."""
    done = run(DUMP, command, "--json", *arguments)
    if done.returncode != status:
        raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr}")
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        found.setdefault(row["type"], []).append(row)
    return found


def broken_laws(found):
    """Returns the laws of ptl-dump cpu that the rows break."""
    window, = found["window"]
    span, cpus, threads = window["end"] - window["start"], found.get("cpu", []), found.get("thread", [])
    broken = [("a CPU's times are not the window", cpu) for cpu in cpus if cpu["busy"] + cpu["idle"] + cpu["unknown"] != span]
    broken += [("a thread lives longer than the window", one) for one in threads
               if sum(one[state] for state in STATES) + one["elsewhere"] > span]
    busy, selected = (sum(cpu[key] for cpu in cpus) for key in ("busy", "of_selected"))
    for what, total, by_cpus in (("threads", sum(one["running"] for one in threads), selected),
                                 ("processes", sum(one["running"] for one in found.get("process", [])), selected),
                                 ("the window", window["busy"], busy), ("the selection", window["of_selected"], selected)):
        if total != by_cpus:
            broken.append((what, "ran", total, "and CPUs", by_cpus))
    if window["all"] != window["busy"] + window["idle"] + window["unknown"] + window["without_events"] or \
            window["all"] != span * window["cpus"]:
        broken.append(("the window's sums", window))
    return broken
