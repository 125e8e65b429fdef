# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of Intel PT hardware: scripts for the library that replaces the hardware (tests/pmu), and
# running ptl-record with it.
"""import pmu_test after putting tests/reader on sys.path."""
import json
import os
import signal
import struct
import subprocess
import time

import perf_file
from perf_file import assemble, stretches
from scratch_test import DUMP, RECORD, path, run, scratch, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
TASKS = os.path.join(PROGRAMS, "tasks")
FILTERABLE = not any(character in os.path.realpath(TASKS) for character in " ,")  # the kernel refuses such paths
LEAD = 1000  # nanoseconds from the kernel's start to the first packets
TRUNCATED, PARTIAL, COLLISION = 1, 4, 8
# sysfs files of a CPU with all features; a test removes some.
DEVICE = {
    "type": "1009", "nr_addr_filters": "2", "max_nonturbo_ratio": "26", "tsc_art_ratio": "104:1",
    "caps/psb_cyc": "1", "caps/psb_periods": "3f", "caps/cycle_thresholds": "1fff", "caps/mtc": "1",
    "caps/mtc_periods": "249", "caps/ip_filtering": "1", "caps/ptwrite": "1", "caps/power_event_trace": "1",
    "caps/topa_output": "1", "caps/topa_multiple_entries": "1",
    "format/pt": "config:0", "format/cyc": "config:1", "format/pwr_evt": "config:4", "format/fup_on_ptw": "config:5",
    "format/mtc": "config:9", "format/tsc": "config:10", "format/noretcomp": "config:11", "format/ptw": "config:12",
    "format/branch": "config:13", "format/mtc_period": "config:14-17", "format/cyc_thresh": "config:19-22",
    "format/psb_period": "config:24-27",
}


class Recording:
    """A program's execution under the software source as packets of its threads, equal in every run."""

    def __init__(self, name, *command, options=()):
        self.name = name
        done = run(RECORD, "-f", "-q", "-o", name, "--source=software", "--clock=virtual", "--timing=tsc", "--psb-period=2K", *options, "--",
                   *command)
        assert os.path.exists(path(name)), done.stderr
        self.trace = perf_file.load(path(name))
        self.streams = perf_file.streams_of(self.trace)
        self.stats = stats_of_threads(name)
        self.start = min(event["time"] for event in self.trace.events())
        self.end = max(event["time"] for event in self.trace.events())

    def images(self, pid):
        """Returns a process's mappings: (base, size, offset, protection, path)."""
        found = []
        for event in self.trace.events():
            if event["pid"] == pid and event["provider"].hex().startswith(perf_file.IMAGE) and event["opcode"] == 10:
                base, size = struct.unpack_from("<QQ", event["payload"])
                name = event["payload"][56:].decode("utf-16-le", "replace").split("\0")[0]
                offset, protection = struct.unpack_from("<QI", event["payload"], 56 + 2 * (len(name) + 1))
                found.append((base, size, offset, protection, name))
        return found


def stats_of_threads(trace, *options):
    """Returns for each thread with executed code: instructions, hash of addresses, gaps."""
    done = run(DUMP, "stats", "--json", "--hash", *options, trace)
    return {thread["tid"]: (thread["instructions"], thread["ip_sha256"], thread["gaps"])
            for process in json.loads(done.stdout)["processes"] for thread in process["threads"]
            if thread["instructions"] or thread["gaps"]}


def take_turns(script, threads, cpus=1, each=2):
    """
    Returns the packets of each CPU on which threads take turns of some stretches, and the end of the last turn. Adds the switches to
    the script. threads: (pid, tid, the thread's stretches, which are consumed). Time packets come as from a CPU: when
    packets are enabled, and at each PSB.
    """
    packets, now, turn, begun = [[] for _ in range(cpus)], LEAD, 0, set()
    while any(queue for _, _, queue in threads):
        pid, tid, queue = threads[turn % len(threads)]
        cpu = turn * 5 // 3 % cpus
        turn += 1
        if not queue:
            continue
        now += 100
        script.add("start" if cpu not in begun else "in", cpu, pid, tid, now - 50)
        if cpu not in begun:
            begun.add(cpu)
            if "psb" not in queue[0]:
                packets[cpu] += ["psb", f"tsc {now:#x}", "mode.exec 64", "psbend"]
        for stretch in queue[:each]:
            now += 100
            for packet in stretch:
                packets[cpu].append(packet)
                now += 1
                if packet == "psb" or packet.startswith("tip.pge"):
                    packets[cpu].append(f"tsc {now:#x}")
        del queue[:each]
        now += 100
        script.add("out", cpu, pid, tid, now)
    return packets, now


def alone(recording, tid):
    """Returns the packets of a thread with its own buffer."""
    packets, now = [], LEAD
    for stretch in stretches(recording.name, tid):
        for packet in stretch:
            packets.append(packet)
            now += 1
            if packet == "psb" or packet.startswith("tip.pge"):
                packets.append(f"tsc {now:#x}")
    return packets


class Script:
    """A script for the stand-in; times are nanoseconds since its start."""

    def __init__(self, recording):
        self.recording, self.lines = recording, []
        self.pids = []
        for pid, _, _ in recording.streams:
            if pid not in self.pids:
                self.pids.append(pid)

    def add(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def processes(self):
        """Adds the command and its children, with the command's mappings."""
        command = self.pids[0]
        for number, pid in enumerate(self.pids):
            self.add("process", pid, number)
        self.add("exec", command, 1, "tasks")
        for base, size, offset, protection, name in self.recording.images(command):
            # Memory without a file (the vdso) differs in the real process.
            if name.startswith(("//", "[")):
                continue
            self.add("map", command, base, size, offset, protection, 2, name)
        for pid in self.pids[1:]:
            self.add("fork", pid, command, pid, command, 3)

    def cpu_wide(self):
        """Adds switches as events of a whole CPU report them: also to the idle thread, each with the next thread."""
        for index, line in enumerate(self.lines):
            words = line.split()
            if words[0] == "out":
                self.lines[index] = " ".join(["over", *words[1:], "0", "0"])
            elif words[0] == "in":
                self.lines[index] = " ".join(["over", words[1], "0", "0", words[4], *words[2:4]])

    def packets(self, data):
        name = f"packets{len(self.lines)}"
        write(name, data)
        self.add("packets", 0, name)

    def turns(self, cpus=1, each=2):
        """Runs all threads of the recording in turn. Returns the packets of each CPU, and the time at the end."""
        threads = [(pid, tid, stretches(self.recording.name, tid)) for pid, tid, _ in self.recording.streams]
        lists, end = take_turns(self, threads, cpus, each)
        return [assemble(packets) for packets in lists], end

    def aux(self, cpu, pid, tid, data, end, piece=5000, flags=0):
        """Adds packets of a CPU, from the packets loaded last, in pieces."""
        for first in range(0, len(data), piece):
            self.add("aux", cpu, first, min(first + piece, len(data)), flags if first + piece >= len(data) else 0, pid, tid,
                     end)


def device(changes=None, online="0-1"):
    """Writes the folder that replaces the driver; None removes a file."""
    for name, text in {**{"intel_pt/" + name: text for name, text in DEVICE.items()}, "online": online,
                       **(changes or {})}.items():
        os.makedirs(os.path.dirname(path(name)), exist_ok=True)
        if text is None:
            if os.path.exists(path(name)):
                os.unlink(path(name))
        else:
            write(name, (text + "\n").encode())
    for name in ("log", "done", "script"):
        if os.path.exists(path(name)):
            os.unlink(path(name))


def environment():
    # A path in LD_PRELOAD must have no blanks; a search path may.
    return {**os.environ, "LD_PRELOAD": "pmu.so", "LD_LIBRARY_PATH": os.environ["PTL_TEST_TOOLS"], "PTL_PMU": scratch}


def log():
    """Returns the requests to the stand-in."""
    try:
        with open(path("log"), encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def start(*arguments, command=(TASKS, "1")):
    """Starts ptl-record with the stand-in."""
    return subprocess.Popen([RECORD, "-f", "-o", "out.ptl", "--source=intel_pt", *arguments, *(["--"] if command else []),
                             *command], cwd=scratch, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace")


def wait_for(condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)


def children_of(parent):
    """Returns the pids of a process's children, with their names by the kernel."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                before, after = file.read().rsplit(")", 1)
            if int(after.split()[1]) == parent:
                found[int(entry)] = before.split("(", 1)[1]
        except (OSError, IndexError):
            pass
    return found


def family(*arguments, program=TASKS):
    """Starts the program natively, until its standard input ends, with its children: (process, pids)."""
    process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE)
    wanted = int(arguments[1]) if len(arguments) > 1 else 0
    pids, until = [], time.monotonic() + 120
    while len(pids) < wanted and time.monotonic() < until:
        pids = children_of(process.pid)
    return process, [process.pid, *sorted(pids)]


def in_container(place):
    """
    Starts the program in new namespaces of mounts and pids, with its file on a file system invisible outside: (process, its pid
    outside); None if this user cannot make containers. The program runs until its standard input ends.
    """
    os.mkdir(place)
    process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--", "sh", "-c",
                                'mount -t tmpfs none "$1" && cp "$2" "$1/inside" && exec "$1/inside" 1', "sh", place, TASKS],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        for pid, name in children_of(process.pid).items():
            if name == "inside":
                return process, pid
    return None


def late(program=TASKS):
    """Returns a process that executes the program once a line is written to it."""
    return subprocess.Popen(["/bin/sh", "-c", 'read line; exec "$0" 1', program], stdin=subprocess.PIPE, text=True)


def play_running(script, *arguments, online="0-1", begun=lambda: None):
    """Records a running process until the script ends, and stops with Ctrl-C. begun: called during the recording."""
    device(None, online)
    write("script", ("\n".join(script.lines) + "\n").encode())
    process = start(*arguments, command=())
    wait_for(lambda: any(line.startswith("enable") for line in log()) or process.poll() is not None)
    begun()
    until = time.monotonic() + 60
    while process.poll() is None and not os.path.exists(path("done")) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        out, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        errors += "\nit did not end"
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def play(script, *arguments, command=(TASKS, "1"), changes=None, online="0-1", hold=True, meanwhile=lambda: None):
    """Records the command while the stand-in plays. The command runs until the script ends. meanwhile: called repeatedly."""
    device(changes, online)
    write("script", ("\n".join(script.lines if script else []) + "\n").encode())
    process = start(*arguments, command=command)
    until = time.monotonic() + 120
    while hold and process.poll() is None and not os.path.exists(path("done")) and time.monotonic() < until:
        meanwhile()
        time.sleep(0.01)
    try:
        out, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        errors += "\nit did not end"
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def losses(name="out.ptl"):
    return json.loads(run(DUMP, "info", "--json", name).stdout)["losses"]


def nothing_lost():
    """Returns whether everything played was recorded."""
    return not losses()


def streams(name="out.ptl"):
    return json.loads(run(DUMP, "info", "--json", name).stdout)["streams"]


def notes():
    """Returns the recorder's notes in the trace."""
    events = (json.loads(line) for line in run(DUMP, "events", "--json", "out.ptl").stdout.splitlines())
    return [event["message"] for event in events if event["provider"] == "PTL-Record"]
