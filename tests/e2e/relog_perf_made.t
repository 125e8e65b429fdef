#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# perf.data as other kernels and machines make it: processes, programs, names, mappings and samples are what the records say.
import collections
import json
import os
import re
import struct
import sys

from scratch_test import DUMP as dump, RELOG as relog, check, plan, run, write

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from perf_made import (BRANCH_STACK, BUILD_ID, CALLCHAIN, COMM_EXEC, CPU, DATA_SRC, EVENT_DESC, EXEC, IP, KERNEL, OUTSIDE, RAW,  # noqa: E402
                       READ, REGS_USER, STACK_USER, TID, TIME, WEIGHT, Data, Event, entry)


BASIC = IP | TID | TIME | CPU
MS = 1000000


def listing(*arguments):
    return [json.loads(line) for line in run(dump, *arguments).stdout.splitlines()]


def converted(name, data, status=0):
    """The events of the trace that a file becomes."""
    write(name + ".data", data if isinstance(data, bytes) else data.bytes())
    done = run(relog, "-f", "--embed=none", name + ".data", "-o", name + ".ptl")
    check(f"{name}: is read", done.returncode == status, done)
    return listing("events", "--json", name + ".ptl")


def ends_twice():
    """Some kernels report the end of a thread twice: the second report is of nobody."""
    data = Data(Event(BASIC))
    data.fork(50, 1, 50, 1, time=MS)
    data.comm(50, 50, "work", 2 * MS, EXEC)
    data.map(50, 50, 0x400000, 0x1000, "/opt/work", 2 * MS)
    data.fork(50, 50, 51, 50, 3 * MS)
    data.fork(50, 50, 52, 50, 3 * MS)
    data.exit(50, 51, 4 * MS)
    data.exit(50, 51, 4 * MS + 1)
    for i in range(8):
        data.sample(0x400100, 50, 52, 5 * MS + i)
    data.exit(50, 52, 6 * MS)
    data.exit(50, 50, 7 * MS)
    data.exit(50, 50, 7 * MS + 1)
    events = converted("twice", data)
    ends = [(event["event"], event["fields"].get("TThreadId")) for event in events
            if event["event"] in ("Process/End", "Thread/End")]
    check("an end reported twice: each thread and the process end once, the process last",
          ends == [("Thread/End", 51), ("Thread/End", 52), ("Thread/End", 50), ("Process/End", None)], ends)
    check("an end reported twice: the second report is kept", sum(event["event"] == "Exit" for event in events) == 2, events)
    starts = [event for event in events if event["event"] in ("Process/Start", "Process/DCStart")]
    check("an end reported twice: there is one process", len(starts) == 1, starts)
    found = run(dump, "report", "--samples", "--by", "image", "twice.ptl")
    check("an end reported twice: samples are of the program", "work" in found.stdout and "[no image]" not in found.stdout, found)


def outside():
    """Processes outside of the recorder's pid namespace have the number 0: the kernel stays what it is."""
    kernel = 0xffffffff81000000
    data = Data(Event(BASIC))
    data.map(OUTSIDE, 0, kernel, 0x1000000, "[kernel.kallsyms]_text", misc=KERNEL)
    data.sample(kernel + 0x100, 0, 0, MS, misc=KERNEL)
    data.comm(0, 0, "cc1", 2 * MS, EXEC)
    data.map(0, 0, 0x400000, 0x1000, "/usr/bin/cc1", 2 * MS)
    data.fork(0, 0, 0, 0, 3 * MS)
    data.exit(0, 0, 4 * MS)
    data.fork(7, 0, 7, 0, 5 * MS)
    for i in range(10):
        data.sample(kernel + 0x200, 0, 0, 6 * MS + i, misc=KERNEL)
    data.sample(0x400100, 0, 0, 7 * MS)
    events = converted("outside", data)
    found = run(dump, "report", "--samples", "--by", "image", "outside.ptl")
    check("outside of the pid namespace: the kernel's samples are the kernel's",
          any("[kernel.kallsyms]_text" in line and line.split()[0] == "11" for line in found.stdout.splitlines()), found)
    check("outside of the pid namespace: user code is not of process 0",
          [event.get("pid") for event in events if event["event"] == "Sample"].count(0) == 11, events)
    check("outside of the pid namespace: records are kept", {"Comm", "Fork", "Exit", "Mmap2"} <=
          {event["event"] for event in events}, events)
    names = {process["pid"]: process["name"] for process in listing("processes", "--json", "outside.ptl")}
    check("outside of the pid namespace: a child that is inside is not called after the kernel", names.get(7) == "", names)


def names():
    """Programs of before, kernel threads and threads have the names that the system gave them."""
    data = Data(Event(BASIC))
    data.fork(20, 1, 20, 1)
    data.comm(20, 20, "luajit")
    data.map(20, 20, 0x10000, 0x1000, "//anon")
    data.map(20, 20, 0x20000, 0x1000, "/tmp/code.bin")
    data.map(20, 20, 0x400000, 0x1000, "/usr/bin/luajit-2.1")
    data.map(20, 20, 0x7f0000000000, 0x1000, "/lib/libc.so.6")
    data.fork(21, 1, 21, 1)
    data.comm(21, 21, "worker")
    data.map(21, 21, 0x300000, 0x1000, "/lib/libfoo.so")
    data.map(21, 21, 0x400000, 0x1000, "/opt/server")
    data.fork(22, 2, 22, 2)
    data.comm(22, 22, "kworker/0:1")
    data.comm(20, 23, "Web Content")
    data.sample(0x400100, 20, 20, MS)
    data.comm(20, 23, "compositor", 2 * MS)
    data.sample(0x400200, 20, 23, 3 * MS)
    converted("names", data)
    found = {process["pid"]: process["name"] for process in listing("processes", "--json", "names.ptl")}
    check("names: a program of before is the file that is called like it, else the first one that is no library",
          (found.get(20), found.get(21)) == ("luajit-2.1", "server"), found)
    check("names: of a kernel thread, the whole", found.get(22) == "[kworker/0:1]", found)
    shown = run(dump, "processes", "--threads", "names.ptl").stdout
    shown = run(dump, "report", "--samples", "--by", "thread", "names.ptl").stdout
    check("names: report by thread", "luajit-2.1, compositor" in shown, shown)
    shown = run(dump, "processes", "--threads", "names.ptl").stdout
    check("names: a thread that was renamed", "compositor" in shown and "Web Content" not in shown, shown)


def names_by_time():
    """The process of an event has the name of the time: of the shell up to exec, of the program from then on."""
    data = Data(Event(BASIC))
    data.fork(60, 1, 60, 1)
    data.comm(60, 60, "sh")
    data.map(60, 60, 0x400000, 0x1000, "/bin/sh")
    data.sample(0x400100, 60, 60, MS)
    for at, name in ((2, "first"), (4, "second")):
        data.comm(60, 60, name, at * MS, EXEC)
        data.map(60, 60, 0x400000, 0x1000, "/opt/" + name, at * MS)
        data.sample(0x400100, 60, 60, (at + 1) * MS)
    events = converted("bytime", data)
    expected = ["sh", "first", "second"]
    found = [event["process"] for event in events if event["event"] == "Sample"]
    check("names by time: JSON", found == expected, found)
    shown = [line.split()[2] for line in run(dump, "events", "bytime.ptl").stdout.splitlines() if "/Sample" in line]
    check("names by time: text", shown == expected, shown)
    rows = [line for line in run(dump, "events", "--csv", "bytime.ptl").stdout.splitlines() if "Sample" in line]
    check("names by time: CSV", len(rows) == 3 and all(name in row for name, row in zip(expected, rows)), rows)
    named = [process["name"] for process in listing("processes", "--json", "bytime.ptl")]
    check("names by time: a process is called after its last program", named == ["second"], named)


def old_names():
    """Kernels before 3.16 do not say whether a COMM record is an exec: what follows says so."""
    data = Data(Event(BASIC, flags=0))
    data.fork(30, 1, 30, 1, MS)
    data.comm(30, 30, "script.sh", MS + 1000)
    data.map(30, 30, 0x400000, 0x1000, "/bin/bash", MS + 2000)
    data.map(30, 30, 0x7f0000000000, 0x1000, "/lib/ld-2.19.so", MS + 3000)
    data.fork(31, 30, 31, 30, 2 * MS)
    data.comm(31, 31, "renamed", 3 * MS)
    data.map(31, 31, 0x7f1000000000, 0x1000, "/lib/libplugin.so", 9 * MS)
    data.sample(0x400100, 30, 30, 10 * MS)
    data.sample(0x400100, 31, 31, 10 * MS)
    events = converted("old", data)
    execs = [(event["pid"], event["fields"]["ImageFileName"]) for event in events if event["event"] == "Process/Exec"]
    check("before 3.16: a name that a mapping follows is an exec, another one is not", execs == [(30, "/bin/bash")], execs)
    shown = run(dump, "processes", "--threads", "old.ptl").stdout
    check("before 3.16: a thread that was renamed", "renamed" in shown, shown)


def mappings():
    """A mapping without bytes, and the kernel's from address 0, cost nothing else."""
    data = Data(Event(BASIC))
    data.old_map(OUTSIDE, 0, 0, 0xffffffff9fffffff, "[kernel.kallsyms]_text", offset=0xffffffff81000000)
    data.fork(40, 1, 40, 1, MS)
    data.map(40, 40, 0x400000, 0, "/opt/empty", MS)
    data.map(40, 40, 0x500000, 0x1000, "/opt/program", 2 * MS)
    data.sample(0x500100, 40, 40, 3 * MS)
    data.sample(0x600100, 40, 40, 3 * MS)
    data.sample(0xffffffff81000100, 40, 40, 3 * MS, misc=KERNEL)
    events = converted("mappings", data)
    check("a mapping of 0 bytes: what follows is there", sum(event["event"] == "Sample" for event in events) == 3, events)
    shown = run(dump, "report", "--samples", "--by", "image", "mappings.ptl").stdout
    counts = {line.split()[-1]: line.split()[0] for line in shown.splitlines()[1:]}
    check("a kernel's mapping from address 0: user code stays without image",
          counts == {"/opt/program": "1", "image]": "1", "[kernel.kallsyms]_text": "1"}, shown)


def unnamed():
    """Events that a file does not name have the names of their types and numbers: each is counted by itself."""
    data = Data(Event(BASIC, 0, 1), Event(BASIC, 0, 0, flags=COMM_EXEC | 1 << 5), Event(BASIC, 8, 0x1cd), Event(BASIC, 3, 0x10000))
    data.fork(60, 1, 60, 1, MS)
    for number, count in enumerate((1, 2, 3, 4)):
        for i in range(count):
            data.sample(0x1000, 60, 60, 2 * MS + i, number=number)
    counts = collections.Counter(event["fields"]["Event"] for event in converted("unnamed", data) if event["event"] == "Sample")
    check("events without names: by type and number", counts == {"instructions": 1, "cycles:u": 2, "type=8/config=0x1cd/": 3,
                                                                 "L1-dcache-load-misses": 4}, counts)


def old_file():
    """Files of perf before Linux 3.5, with a table of names of tracepoints."""
    data = Data(Event(BASIC | RAW, 2, 77, flags=0))
    data.sample(0x1000, 70, 70, MS, struct.pack("<I12s", 12, b"raw bytes"))
    events = converted("old-file", data.bytes(b"PERFFILE", ((76, "a:b"), (77, "sched:sched_old"))))
    check("a file of the first version: samples and names of tracepoints",
          [event["fields"]["Event"] for event in events if event["event"] == "Tracepoint"] == ["sched:sched_old"], events)


def group():
    """Counters that were read with a sample are samples of their events; what else a sample has is an event, too."""
    form = 1 | 2 | 4 | 8  # times, id, group
    data = Data(Event(BASIC | READ, 1, 0, "leader", read_format=form), Event(BASIC | READ, 1, 2, "member", read_format=form))
    for time, leader, member in ((1, 1000, 5), (2, 3000, 5), (3, 3500, 9)):
        data.sample(0x1000, 80, 80, time * MS, struct.pack("<7Q", 2, 111, 110, leader, 100, member, 101))
    events = converted("group", data)
    samples = [(event["fields"]["Event"], event["fields"]["Period"]) for event in events if event["event"] == "Sample"]
    check("a group that is read: each event has what it counted", sorted(samples) ==
          [("leader", 500), ("leader", 1000), ("leader", 2000), ("member", 4), ("member", 5)], samples)
    details = [event["fields"] for event in events if event["event"] == "SampleDetail"]
    check("a group that is read: the counters, with times", len(details) == 3 and
          details[1]["Counters"] == [{"Counter": "leader", "Value": 3000, "Lost": 0}, {"Counter": "member", "Value": 5, "Lost": 0}]
          and details[1]["TimeRunning"] == 110, details)


def branches():
    """Parts of a sample behind its raw bytes."""
    parts = BASIC | RAW | BRANCH_STACK | REGS_USER | WEIGHT | DATA_SRC | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 21 | 1 << 22 | 1 << 23
    data = Data(Event(parts, 4, 0x1cd, "loads", extra=((72, "<Q", 1 << 17), (80, "<Q", 0x101), (96, "<Q", 0x180))))
    behind = struct.pack("<I4s", 4, b"\x01\x02\x03\x04")
    behind += struct.pack("<QQ6Q", 2, 31, 0x1001, 0x2002, 1, 0x3003, 0x4004, 2)
    behind += struct.pack("<Q2Q", 2, 0xaa, 0xbb) + struct.pack("<QQQ", 7, 0x68100142, 3) + struct.pack("<Q2Q", 2, 0xcc, 0xdd)
    behind += struct.pack("<4Q", 0x12345000, 42, 4096, 2 << 20)
    data.sample(0x1000, 90, 90, MS, behind)
    events = converted("branches", data)
    sample = [event["fields"] for event in events if event["event"] == "Sample"]
    check("parts behind raw bytes: the raw bytes alone are the sample's", len(sample) == 1 and sample[0]["Data"] == "01020304", sample)
    detail = [event["fields"] for event in events if event["event"] == "SampleDetail"]
    wanted = {"BranchIndex": 31, "Branches": [{"From": "0x1001", "To": "0x2002", "Flags": "0x1"},
                                              {"From": "0x3003", "To": "0x4004", "Flags": "0x2"}],
              "UserRegisterMask": "0x101", "UserRegisters": ["0xaa", "0xbb"], "Weight": "0x7", "DataSource": "0x68100142",
              "Transaction": "0x3", "InterruptRegisters": ["0xcc", "0xdd"], "PhysicalAddress": "0x12345000", "Cgroup": 42,
              "DataPageSize": 4096, "CodePageSize": 2 << 20}
    check("parts behind raw bytes: branches, registers, weight, addresses",
          len(detail) == 1 and {name: detail[0][name] for name in wanted} == wanted, detail)


def guest_samples():
    """Samples of a virtual machine: their addresses are not those of the process that runs the machine."""
    data = Data(Event(BASIC | CALLCHAIN, name="cycles"))
    data.map(100, 100, 0x400000, 0x1000, "[program]", MS)
    for number, misc in enumerate((2, 5, 4 | 1 << 14, 1 << 14 | 2)):
        chain = struct.pack("<3Q", 2, 2**64 - 2560, 0x400200)
        data.sample(0x400100 + number, 100, 100, (2 + number) * MS, chain, misc)
    events = converted("guests", data)
    own = [event for event in events if event["event"] == "Sample"]
    guests = [event for event in events if event["event"] == "GuestSample"]
    check("samples of a virtual machine: are events of their own, without a stack of the process", len(own) == 2 and
          [event["fields"]["InstructionPointer"] for event in guests] == ["0x400101", "0x400102"] and
          all(event["fields"]["Calls"] == ["0xfffffffffffff600", "0x400200"] and not event.get("stack") for event in guests), own, guests)
    losses = json.loads(run(dump, "info", "--json", "guests.ptl").stdout)["losses"]
    check("marks of exact addresses are counted", [loss["count"] for loss in losses if "EXACT_IP" in loss["cause"]] == [2], losses)
    done = run(dump, "perf", "-f", "-o", "guests.out", "guests.ptl")
    run(relog, "-q", "-f", "guests.out", "-o", "again.ptl")
    again = [json.loads(line) for line in run(dump, "events", "--json", "again.ptl").stdout.splitlines()]
    check("samples of a virtual machine: ptl-dump perf writes such samples", [event["fields"] for event in guests] ==
          [event["fields"] for event in again if event["event"] == "GuestSample"], done, again)


def left_out():
    """What a trace does not hold is a loss by kind, and a message."""
    data = Data(Event(BASIC))
    data.map(100, 100, 0x400000, 0x1000, "/nowhere/program", MS, inode=5)
    data.sample(0x400100, 100, 100, 2 * MS)
    data.records += [entry(300, b"something"), entry(300, b"again"), entry(301, b"")]
    # About perf's own work: rounds, maps of CPUs and threads, the unit of an event.
    data.records += [entry(68, b""), entry(68, b""), entry(74, bytes(8)), entry(73, bytes(8)), entry(78, struct.pack("<QQ", 0, 1) + b"MiB\0")]
    write("left.data", data.bytes(features={11: bytes(8), 20: bytes(4), 77: bytes(4)}))
    done = run(relog, "-f", "left.data", "-o", "left.ptl")
    losses = [(loss["kind"], loss["count"], loss["cause"]) for loss in json.loads(run(dump, "info", "--json", "left.ptl").stdout)["losses"]]
    check("left out: by kind in info and in messages", done.returncode == 0 and "3 records of an unknown kind" in done.stderr and
          "1 mapping is of a file that is not on this machine: its code is not in the trace" in done.stderr and
          sorted(loss for loss in losses if loss[0] != "left out") ==
          [("code", 1, "files of mappings were not on the machine of the import"),
           ("events", 1, "records of an unknown kind: type 301"),
           ("events", 2, "records of an unknown kind: type 300")], losses, done)
    check("what tells how perf worked: by kind, too", sorted(loss[1:] for loss in losses if loss[0] == "left out") ==
          [(1, "feature of the header: 77"), (1, "feature of the header: CACHE"), (1, "feature of the header: CMDLINE"),
           (1, "records of perf: CPU_MAP"), (1, "records of perf: EVENT_UPDATE"), (1, "records of perf: THREAD_MAP"),
           (2, "records of perf: FINISHED_ROUND")] and
          "2 FINISHED_ROUND, 1 THREAD_MAP, 1 CPU_MAP, 1 EVENT_UPDATE, the feature CMDLINE, the feature CACHE, the feature 77" in done.stderr,
          losses, done)
    text = run(dump, "info", "left.ptl").stdout
    check("what tells how perf worked is listed", "left out" in text and "records of perf: FINISHED_ROUND" in text, text)
    done = run(dump, "lint", "--limit", "losses=3", "left.ptl")
    check("what tells how perf worked is no loss of what was recorded", re.search(r"losses +3 ", done.stdout), done)


def left_features():
    """Tables of the header that are cut, and copies of stacks that nothing can unwind."""
    data = Data(Event(BASIC | STACK_USER, name="cycles"))
    data.map(100, 100, 0x400000, 0x1000, "[program]", MS)
    for i in range(3):
        data.sample(0x400100, 100, 100, (2 + i) * MS, struct.pack("<Q16sQ", 16, b"stack", 16))
    names = data.names()
    ids = struct.pack("<IHH", 0, 0, 4000) + b"an entry that is longer than the table"
    write("features.data", data.bytes(features={BUILD_ID: ids, EVENT_DESC: names[:100]}))
    done = run(relog, "-f", "features.data", "-o", "features.ptl")
    losses = [(loss["kind"], loss["count"], loss["cause"]) for loss in json.loads(run(dump, "info", "--json", "features.ptl").stdout)["losses"]]
    check("damaged features, stacks without registers: by kind in info and in messages",
          done.returncode == 0 and "2 features of the header are damaged" in done.stderr and "3 samples have a copy of the stack" in done.stderr
          and sorted(losses) == [("events", 2, "features of the header are damaged or too large"),
                                 ("events", 3, "copies of stacks have no registers with which to unwind them")], losses, done)
    write("whole.data", data.bytes())
    done = run(relog, "-f", "whole.data", "-o", "whole.ptl")
    check("whole features are no loss", done.returncode == 0 and "features" not in done.stderr, done)


left_out()
left_features()
unnamed()
old_file()
group()
branches()
guest_samples()
ends_twice()
outside()
names()
names_by_time()
old_names()
mappings()
plan()
