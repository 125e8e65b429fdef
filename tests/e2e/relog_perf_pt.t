#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT in perf.data: perf's own decoder is the judge, instruction by instruction and nanosecond by nanosecond.
import bisect
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from scratch_test import (DUMP as dump, RECORD as record, RELOG as relog, check, plan, path, run,
                          scratch, skip, write)

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402
from cpu_test import Cpu, executed  # noqa: E402
from perf_file import CYC, EVERYWHERE, MTC, TSC, assemble, stretches  # noqa: E402

programs = os.environ["PTL_PROGRAMS"]
have_perf = shutil.which("perf") is not None


# ---- what perf and what ptl-dump make of the same file -----------------------------------------------------

SAMPLE = re.compile(r" *(-?\d+) +(?:(\d+)\.(\d{9}): +)?([0-9a-f]+)$")


def perf_flow(data, times):
    """The instructions of each thread as perf decodes them: (address, time)."""
    flow = collections.defaultdict(list)
    done = run("perf", "script", "-i", data, "--itrace=i0ns", "--ns", "-F", "tid,time,ip" if times else "tid,ip")
    for line in done.stdout.splitlines():
        match = SAMPLE.match(line)
        if match and int(match[4], 16):
            flow[int(match[1])].append((int(match[4], 16), int(match[2] or 0) * 10**9 + int(match[3] or 0)))
    return dict(flow), done


def our_flow(trace, *options):
    start = json.loads(run(dump, "info", "--json", trace).stdout)["clock"].get("start_time") or 0
    flow, gaps = collections.defaultdict(list), []
    for line in run(dump, "flow", "-l", "insn", "--json", *options, trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow[event["tid"]].append((int(event["ip"], 16), (event["time"] or 0) + start))
        elif event["type"] == "gap":
            gaps.append((event.get("cause"), event.get("stream_offset")))
    return dict(flow), gaps


def addresses(flow):
    return {tid: [address for address, _ in instructions] for tid, instructions in flow.items()}


def differences(one, other):
    """For a person: where two flows part."""
    said = [f"threads: {sorted((tid, len(list_)) for tid, list_ in flow.items())}" for flow in (one, other)]
    for tid in sorted(set(one) & set(other)):
        a, b = one[tid], other[tid]
        at = next((i for i in range(min(len(a), len(b))) if a[i][0] != b[i][0]), None)
        if at is not None:
            said.append(f"{tid}: at {at}: {[(hex(x), t) for x, t in a[at - 2:at + 3]]} {[(hex(x), t) for x, t in b[at - 2:at + 3]]}")
    return said


def still_times(trace, tid):
    """
    Spans of a thread in which perf's time stands still: to perf, CYC counts from an MTC and not from a TSC, so that behind a TSC
    it leads to times that have been, up to the next MTC. To PTL and libipt, a TSC is where counting begins.
    """
    spans, tsc, cycles = [], None, 0
    for line in run(dump, "packets", "--json", "--tid", str(tid), "--kind", "tsc,mtc,cyc", trace).stdout.splitlines():
        packet = json.loads(line)
        if "packet" not in packet:
            continue
        if packet["packet"] == "CYC":
            cycles += packet["cycles"]
            continue
        if tsc is not None:
            spans.append((nanoseconds(tsc), nanoseconds(tsc + cycles)))
        tsc, cycles = int(packet["tsc"], 16) if packet["packet"] == "TSC" else None, 0
    return spans


def nanoseconds(tsc):
    return CLOCK["zero"] + (tsc * CLOCK["mult"] >> CLOCK["shift"])


def psb_times(trace, tid):
    """Times of a thread's PSBs. The block at a PSB may be reached by direct branches: perf gives these the time of the PSB already."""
    times, behind = set(), False
    for line in run(dump, "packets", "--json", "--tid", str(tid), "--kind", "psb,tsc", trace).stdout.splitlines():
        packet = json.loads(line)
        if packet.get("packet") == "TSC" and behind:
            times.add(nanoseconds(int(packet["tsc"], 16)))
        behind = packet.get("packet") == "PSB"
    return times


def strange_times(perf, ours, trace, cycles):
    """
    perf gives an instruction the time known when it starts to walk to the next branch that needs a packet; PTL the one
    before that packet. So perf's may be older, but not older than what perf knew at the time before PTL's in the same thread.
    """
    strange, same, total = [], 0, 0
    for tid, instructions in perf.items():
        marks = sorted({time for _, time in ours[tid]})
        known = {end: start for start, end in zip(marks, marks[1:])}
        of_psbs = psb_times(trace, tid)
        next_psb = {start: end for start, end in zip(marks, marks[1:]) if end in of_psbs}
        for begin, end in still_times(trace, tid) if cycles else ():
            known.update((time, begin) for time, before in known.items() if begin <= before <= end)
        for (address, time), (_, our_time) in zip(instructions, ours[tid]):
            total += 1
            same += time == our_time
            if not known.get(our_time, 0) <= time <= our_time and time != next_psb.get(our_time):
                strange.append((tid, hex(address), time, our_time))
    return strange, same, total


def judge(name, data, gaps_allowed=(), times=True, cycles=False):
    """Is what ptl-relog and ptl-dump make of the file what perf makes of it? Gives our flow."""
    done = run(relog, "-f", data, "-o", "judged.ptl")
    if not check(f"{name}: is read", done.returncode == 0, done.stderr):
        return {}
    ours, gaps = our_flow("judged.ptl")
    check(f"{name}: gaps are {sorted(gaps_allowed) or 'none'}", sorted(cause for cause, _ in gaps) == sorted(gaps_allowed), gaps)
    if not have_perf:
        skip(f"{name}: perf", "there is no perf here: apt-get install linux-perf")
        return ours
    perf, shown = perf_flow(data, times)
    if not check(f"{name}: perf executes the same {sum(map(len, ours.values()))} instructions in {len(ours)} threads",
                 perf and addresses(perf) == addresses(ours), shown.stderr, *differences(perf, ours)):
        return ours
    if not times:
        return ours
    strange, same, total = strange_times(perf, ours, "judged.ptl", cycles)
    check(f"{name}: at the same times", not strange and same >= 0.9 * total, f"{same} of {total}", *strange)
    return ours


# ---- recordings ----------------------------------------------------------------------------------------------

def recording(name, *options):
    """What a program did, as ptl-record saw it: (trace, start, streams)."""
    run(record, "-f", "-q", "-o", name + ".ptl", *options, "--", os.path.join(programs, name))
    trace = perf_file.load(path(name + ".ptl"))
    return trace, min(event["time"] for event in trace.events()), perf_file.streams_of(trace)


def packet_starts(name, tid, *kinds):
    """Offsets of a thread's packets, of these kinds if there are any."""
    starts = []
    for line in run(dump, "packets", "--tid", str(tid), name + ".ptl").stdout.splitlines():
        match = re.match(r" +([0-9a-f]+)  (\S+)", line)
        if match and (not kinds or match[2] in kinds):
            starts.append(int(match[1], 16))
    return starts


# 2.5 GHz, and a kernel clock that began long before the TSC.
CLOCK = {"shift": 31, "mult": 0x33333333, "zero": 1 << 50}


def add_code(file, trace, start, streams):
    file.reference = start + 10**10
    for pid, tid, _ in streams:
        file.program(pid, tid)
        file.mappings(trace, pid, tid, start)


def of_threads():
    """Each thread has a ring; three kinds of timing packets."""
    for timing, config in (("tsc", TSC), ("mtc", TSC | MTC | 6 << 14), ("cyc", TSC | MTC | CYC | 6 << 14)):
        trace, start, streams = recording("static", "--timing=" + timing)
        file = perf_file.File(**CLOCK, config=config)
        add_code(file, trace, start, streams)
        for index, (_, tid, data) in enumerate(streams):
            file.packets(data, index, tid=tid)
        write("threads.data", file.bytes())
        judge(f"threads, {timing}", "threads.data", cycles=timing == "cyc")


def in_pieces():
    """perf pads each record to 8 bytes: what is padding is in the file, and not in the ring."""
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    file = perf_file.File(**CLOCK)
    add_code(file, trace, start, streams)
    for index, (_, tid, data) in enumerate(streams):
        cuts = [0] + packet_starts("static", tid)[7::5] + [len(data)]
        for begin, end in zip(cuts, cuts[1:]):
            file.packets(data[begin:end], index, tid=tid)
    write("pieces.data", file.bytes())
    judge("records with padding", "pieces.data")


def of_cpus():
    """A ring of a CPU names the thread that perf was asked to record, too. Two CPUs with one thread each."""
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    file = perf_file.File(**CLOCK, per_cpu=1)
    add_code(file, trace, start, streams)
    _, tid, data = streams[0]
    psb = packet_starts("static", tid, "psb")
    middle = psb[len(psb) // 2]
    file.packets(data[:middle], 0, cpu=0, tid=tid)
    file.packets(data[middle:], 1, cpu=1, tid=tid)
    write("cpus.data", file.bytes())
    flow = judge("rings of CPUs that name a thread", "cpus.data")
    check("rings of CPUs that name a thread: all of it", sum(map(len, flow.values())) ==
          sum(map(len, our_flow("static.ptl", "--tid", str(tid))[0].values())))


def of_snapshots():
    """Three snapshots: the second has a part of the first; between it and the third something is missing."""
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    _, tid, data = streams[0]
    starts, psb = packet_starts("static", tid), packet_starts("static", tid, "psb")
    after = [start_ for start_ in starts if start_ > psb[-3] + 60][0]
    # Places in the ring say nothing: the ring is small, and they come again.
    pieces = ((0, starts[len(starts) // 2], 0), (psb[2] + 5, after, 40), (psb[-2] - 7, len(data), 16))
    file = perf_file.File(**CLOCK, snapshots=1)
    add_code(file, trace, start, streams[:1])
    for begin, end, position in pieces:
        file.packets(data[begin:end], 0, tid=tid, position=position)
    write("snapshots.data", file.bytes())
    flow = judge("snapshots", "snapshots.data", ["lost", "unsynchronised"])
    whole = our_flow("static.ptl", "--tid", str(tid))[0][tid]
    got = [address for address, _ in flow[tid]]
    first = [address for address, _ in whole][:len(got) // 2]
    check("snapshots: what two have is there once", got[:len(first)] == first and len(whole) // 2 < len(got) < len(whole),
          len(got), len(whole))
    losses = json.loads(run(dump, "info", "--json", "judged.ptl").stdout)["losses"]
    check("snapshots: that some is missing is said", any("snapshots" in loss["cause"] for loss in losses), losses)


def of_samples(per_cpu, switches):
    """Samples with the latest packets: the second has a part of the first, and between it and the third something is missing."""
    name = f"packets in samples of {'a CPU' if per_cpu else 'a thread'}"
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    pid, tid, data = streams[0]
    starts, psb = packet_starts("static", tid), packet_starts("static", tid, "psb")
    after = [start_ for start_ in starts if start_ > psb[-3] + 60][0]
    file = perf_file.File(**CLOCK, per_cpu=per_cpu, switches=switches)
    file.index(0 if per_cpu else EVERYWHERE, EVERYWHERE if per_cpu else tid)
    add_code(file, trace, start, streams[:1])
    if switches:
        file.switch_out(0, 0, tid, start - 1000)
        file.switch_in(pid, tid, 0, start - 999)
    end = max(event["time"] for event in trace.events()) + 1000
    for number, (begin, finish) in enumerate(((0, starts[len(starts) // 2]), (psb[2] + 5, after), (psb[-2] - 7, len(data)))):
        file.sample(data[begin:finish], pid, tid, end + number)
    write("samples.data", file.bytes())
    flow = judge(name, "samples.data", ["lost", "unsynchronised"])
    whole = our_flow("static.ptl", "--tid", str(tid))[0][tid]
    got = [address for address, _ in flow[tid]]
    first = [address for address, _ in whole][:len(got) // 2]
    check(f"{name}: what two have is there once", got[:len(first)] == first and len(whole) // 2 < len(got) < len(whole), len(got), len(whole))
    losses = json.loads(run(dump, "info", "--json", "judged.ptl").stdout)["losses"]
    check(f"{name}: that some is missing is said", [loss["count"] for loss in losses if "--aux-sample" in loss["cause"]] == [1], losses)
    samples = [line for line in run(dump, "events", "--json", "judged.ptl").stdout.splitlines() if '"Sample"' in line]
    check(f"{name}: samples are events", len(samples) == 3, samples)


def of_pipes():
    """perf record -o - has no table of events: attributes are records. perf judges the same records in a file."""
    trace, start, streams = recording("static", "--timing=tsc")
    file = perf_file.File(**CLOCK)
    add_code(file, trace, start, streams)
    for index, (_, tid, data) in enumerate(streams):
        file.packets(data, index, tid=tid)
    write("threads.data", file.bytes())
    expected = judge("a file", "threads.data")
    done = run(relog, "-f", "-", "-o", "piped.ptl", input=file.pipe(), text=False)
    check("a pipe has what the file has", done.returncode == 0 and expected and our_flow("piped.ptl") == (expected, []), done)


def of_series():
    """The packets go on from file to file (perf record --switch-output): nothing is lost between them."""
    trace, start, streams = recording("static", "--timing=tsc")
    cuts = [packet_starts("static", tid)[len(packet_starts("static", tid)) // 2] for _, tid, _ in streams]
    whole, files = perf_file.File(**CLOCK), [perf_file.File(**CLOCK), perf_file.File(**CLOCK)]
    for file in (whole, files[0]):
        add_code(file, trace, start, streams)
    files[1].reference = files[0].reference
    for index, (pid, tid, data) in enumerate(streams):
        whole.packets(data, index, tid=tid)
        files[0].packets(data[:cuts[index]], index, tid=tid)
        # Each file begins with what is there.
        files[1].program(pid, tid)
        files[1].fork(pid, 1, tid, 0)
        files[1].filled(start + 10**9, pid, tid)
        files[1].packets(data[cuts[index]:], index, tid=tid, position=cuts[index])
    write("whole.data", whole.bytes())
    expected = judge("a series: the whole", "whole.data")
    names = ["series.data.2026010203040506", "series.data.2026010203040600"]
    for name, file in zip(names, files):
        write(name, file.bytes())
    done = run(relog, "-f", "-q", *names, "-o", "series.ptl")
    check("a series: the flow is that of the whole", done.returncode == 0 and expected and our_flow("series.ptl") == (expected, []), done)


def block(kind, values, size=8):
    """Packets of a block: a BBP, and a BIP for each item."""
    items = b"".join(bytes([item << 3 | 4]) + (value % (1 << 64)).to_bytes(size, "little") for item, value in values.items())
    return bytes([0x02, 0x63, kind | (0 if size == 8 else 0x80)]) + items


BLOCKS_END = bytes([0x02, 0x33])
REGISTERS = ("FLAGS", "IP", "AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", *(f"R{number}" for number in range(8, 16)))
# The order of registers in perf's masks.
MASK = ("AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS", *REGISTERS[10:])


def of_hardware_samples(per_cpu):
    """Events with aux-output: the CPU writes samples into the packets."""
    name = f"samples in the packets of a {'CPU' if per_cpu else 'thread'}"
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    file = perf_file.File(per_cpu=per_cpu, switches=3 if per_cpu else 0, config=TSC | 1 << 12)
    basic = perf_file.SAMPLE_TYPE | 0x8 | 0x4000 | 0x40000
    mask = sum(1 << MASK.index(register) for register in ("AX", "BX", "SP", "IP", "FLAGS", "R8", "R15"))
    file.more = [(4, 0x1c2, basic, 1 << 31, ((96, "<Q", mask),)), (4, 0x3c, basic | 0x800, 1 << 31, ((96, "<Q", mask),))]
    for pid in (100, 200):
        file.program(pid, pid)
        file.map(pid, pid, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
    if per_cpu:
        file.switch_out(0, 0, 100, 0x900)
        file.switch_in(100, 100, 0, 0x901)
        file.switch_out(100, 100, 200, 0x1800)
        file.switch_in(200, 200, 100, 0x1801)
    for event, counter in ((2, 0), (3, 3)):
        trailer = struct.pack("<IIQIIQ", 100, 100, file.time(0x900), 0, 0, event)
        file.records.append(perf_file.entry(21, struct.pack("<Q", counter) + trailer))
    registers = {number: 0x1000 + number for number in range(18)}
    run_once = ["tip.pge 0x500000", "tip.pgd -"]
    packets = assemble(["psb", "tsc 0x1000", "mode.exec 64", "psbend", *run_once])
    packets += block(4, {0: 0x500000, 1: 1 << 0, 2: 0x1100}) + block(1, registers) + block(5, {0: 0x7000, 2: 55}) + BLOCKS_END
    packets += assemble(["tsc 0x2000", *run_once])
    # For two events at once; a branch; without a time of its own.
    packets += block(4, {0: 0xffffffff81000010, 1: 1 << 0 | 1 << 3}) + block(8, {0: 0x500001, 1: 0x500005, 2: 1 << 63 | 7}) + BLOCKS_END
    packets += assemble(["tsc 0x2100", *run_once])
    # The end of a group is lost.
    packets += block(4, {0: 0x500003, 1: 1}) + assemble(["ovf", "psb", "tsc 0x3000", "mode.exec 64", "psbend"])
    packets += assemble([*run_once, "tsc 0x3100", *run_once])
    # perf loses the beginning of a block that goes on in the next record.
    where, records = {"cpu": 0} if per_cpu else {"tid": 100}, list(file.records)
    file.packets(packets, 0, **where)
    write("whole.data", file.bytes())
    file.records, file.positions = records, {}
    for begin, end in ((0, 61), (61, len(packets))):
        file.packets(packets[begin:end], 0, **where)
    write("pebs.data", file.bytes())
    done = run(relog, "-f", "pebs.data", "-o", "pebs.ptl")
    events = [json.loads(line) for line in run(dump, "events", "--json", "pebs.ptl").stdout.splitlines()]
    samples = [event for event in events if event["event"] == "Sample"]
    details = [event["fields"] for event in events if event["event"] == "SampleDetail"]
    tids = [100, 200, 200] if per_cpu else [100, 100, 100]
    start = json.loads(run(dump, "info", "--json", "pebs.ptl").stdout)["clock"].get("start_time") or 0
    found = sorted((event["time"] + start, event["tid"], int(event["fields"]["InstructionPointer"], 16), event["fields"]["Event"])
                   for event in samples)
    check(f"{name}: are samples of their events and threads", done.returncode == 0 and [one[:3] for one in found] ==
          [(0x1100, tids[0], 0x500000), (0x2000, tids[1], 0xffffffff81000010), (0x2000, tids[2], 0xffffffff81000010)] and
          len({one[3] for one in found[1:]}) == 2, done.stderr, *found)
    wanted = [f"{0x1000 + REGISTERS.index(register):#x}" for register in MASK if mask >> MASK.index(register) & 1]
    full = [fields for fields in details if fields["InterruptRegisters"]]
    check(f"{name}: with registers, address and weight", len(full) == 1 and full[0]["InterruptRegisters"] == wanted and
          int(full[0]["InterruptRegisterMask"], 16) == mask and full[0]["Weight"] == "0x37" and
          [event["fields"]["Address"] for event in samples].count("0x7000") == 1, full, samples)
    branches = [fields["Branches"] for fields in details if fields["Branches"]]
    check(f"{name}: with branches", branches == [[{"From": "0x500001", "To": "0x500005", "Flags": "0x71"}]], branches)
    if not have_perf:
        skip(f"{name}: perf", "there is no perf here: apt-get install linux-perf")
        return
    shown = run("perf", "script", "-i", "whole.data", "--itrace=o", "--ns", "-F", "raw:tid,time,ip,iregs,addr,weight")
    theirs = []
    for line in shown.stdout.splitlines():
        match = re.match(r" *(-?\d+) +(\d+)\.(\d{9}): +([0-9a-f]+) +(\d+) +([0-9a-f]+) *(?:ABI:2 +)?(.*)", line)
        if match:
            theirs.append((int(match[2]) * 10**9 + int(match[3]), int(match[1]), int(match[6], 16), match[7].split()))
    check(f"{name}: perf has the same samples", sorted(one[:3] for one in theirs) == [one[:3] for one in found], shown.stdout, shown.stderr)
    registers = [one[3] for one in theirs if one[3]]
    check(f"{name}: perf has the same registers", [register.split(":0x")[1] for one in registers for register in one if ":0x" in register] ==
          [value[2:] for value in wanted], shown.stdout)


def of_guest_samples():
    """Samples in the packets of a virtual machine are not samples of the host's code."""
    file = perf_file.File(config=TSC | 1 << 12)
    file.more = [(4, 0x1c2, perf_file.SAMPLE_TYPE, 1 << 31, ())]
    file.program(100, 100)
    packets = assemble(["psb", "tsc 0x1000", "pip cr3=0x1000", "mode.exec 64", "psbend"]) + block(4, {0: 0x500000, 1: 1}) + BLOCKS_END
    own = f"tsc {0x1000 + 5 * 10**9:#x}"
    packets += assemble(["pip cr3=0x77000 non_root", own, "psb", own, "pip cr3=0x77000 non_root", "mode.exec 64", "psbend"])
    packets += block(4, {0: 0x500001, 1: 1}) + BLOCKS_END
    packets += assemble(["pip cr3=0x1000"]) + block(4, {0: 0x500002, 1: 1}) + BLOCKS_END
    file.packets(packets, 0, tid=100)
    write("guest.data", file.bytes())
    run(relog, "-f", "-q", "guest.data", "-o", "guest.ptl")
    events = [json.loads(line) for line in run(dump, "events", "--json", "guest.ptl").stdout.splitlines()]
    found = [(event["event"], event["fields"]["InstructionPointer"]) for event in events if "Sample" in event["event"]]
    check("samples in the packets of a virtual machine", found == [("Sample", "0x500000"), ("GuestSample", "0x500001"), ("Sample", "0x500002")], found)
    times = [event.get("time") for event in events if "Sample" in event["event"]]
    check("no sample has the time of a guest's TSC, which has an offset", len(times) == 3 and len(set(times)) == 1, times)


def of_newer_kernels():
    """Files of Linux 6.13 to 6.18: longer attributes, events that pause and resume Intel PT, compressed records with padding."""
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    lines = ["psb", "tsc 0x1000", "mode.exec 64", "psbend", "tip.pge 0x500000", "tip.pgd -", "tsc 0x2000", "tip.pge 0x500000", "tip.pgd -"]
    hashes = []
    for size, packed in ((128, False), (136, False), (144, True)):
        file = perf_file.File(config=TSC)
        file.attr_size = size
        # The events pause and resume Intel PT, which begins paused.
        sample_type = perf_file.SAMPLE_TYPE | 0x100
        file.more = [(1, 0, sample_type, 0, ((116, "<I", action),)) for action in (2, 4)]
        file.program(100, 100)
        file.map(100, 100, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
        for number, tsc in ((2, 0x1800), (3, 0x1900)):
            file.records.append(perf_file.entry(9, struct.pack("<QQIIQIIQ", number, 0x500001, 100, 100, file.time(tsc), 0, 0, 1), 2))
        if packed:
            zstd = subprocess.run(["zstd", "-c", "--single-thread"], input=b"".join(file.records), capture_output=True, check=True).stdout
            # The record's size says nothing about the padding.
            file.records = [perf_file.entry(84, b"\0" * 16), perf_file.entry(83, struct.pack("<Q", len(zstd)) + zstd)]
        file.packets(assemble(lines), 0, tid=100)
        write("newer.data", file.bytes())
        done = run(relog, "-f", "newer.data", "-o", "newer.ptl")
        stats = json.loads(run(dump, "stats", "--json", "--hash", "newer.ptl").stdout)
        hashes.append((stats["instructions"], stats["gap_causes"]))
        events = [json.loads(line) for line in run(dump, "events", "--json", "newer.ptl").stdout.splitlines()]
        check(f"attributes of {size} bytes: all is read", done.returncode == 0 and "unknown" not in done.stderr and
              sum(event["event"] == "Sample" for event in events) == 2 and
              (not packed or any(event["event"] == "BpfMetadata" for event in events)), done, events[-4:])
    check("files of newer kernels: the same flow", hashes[0][0] == 6 and hashes == hashes[:1] * 3, hashes)


def of_events_in_packets():
    """PTWRITE, power events, and event trace: perf has the same values."""
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    file = perf_file.File(config=TSC | 1 << 12 | 1 << 5 | 1 << 4 | 1 << 31)
    file.program(100, 100)
    file.map(100, 100, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
    file.packets(assemble([
        "psb", "tsc 0x1000", "mode.exec 64", "cbr 11", "psbend", "tip.pge 0x500000", "ptw payload=0x123456789abcdef0 ip", "fup 0x500001",
        "tip.pgd -", "tsc 0x1100", "mwait hints=0x20 extensions=1", "pwre state=2 sub_state=1", "exstop", "pwrx last=2 deepest=3 wake=1",
        "cbr 12", "tsc 0x1200", "evd type=0 payload=0xdead000", "cfe type=1 vector=14 ip", "fup 0x500001", "tip.pge 0x500000",
        "tip.pgd -"]), 0, tid=100)
    write("events.data", file.bytes())
    done = run(relog, "-f", "-q", "events.data", "-o", "judged.ptl")
    flow = [json.loads(line) for line in run(dump, "flow", "--json", "judged.ptl").stdout.splitlines()]
    found = {event["type"]: event for event in flow}
    address = found.get("event-data", {}).get("value", 0)
    ours = {("ptwrite", found["ptwrite"]["from"]["ip"], f"{found['ptwrite']['value']:#x}"), ("cbr", found["cbr"]["value"]),
            ("mwait", found["mwait"]["value"] & 0xffffffff, found["mwait"]["value"] >> 32),
            ("evt", found["control-flow-event"]["vector"], f"{address:#x}")} if len(found) > 9 else set()
    check("events in packets", done.returncode == 0 and ours == {("ptwrite", "0x500001", "0x123456789abcdef0"), ("cbr", 12), ("mwait", 0x20, 1),
                                                                 ("evt", 14, "0xdead000")}, ours, *flow)
    if not have_perf:
        skip("events in packets: perf", "there is no perf here: apt-get install linux-perf")
        return
    shown = run("perf", "script", "-i", "events.data", "--itrace=wpI").stdout
    patterns = (r"ptwrite: +IP: 1 payload: 0x123456789abcdef0 +500001", r"cbr: +cbr: 12 ", r"mwait: +hints: 0x20 extensions: 0x1",
                r"pwre: +hw: 0 cstate: 2 sub-cstate: 1", r"pwrx: +deepest cstate: 3 last cstate: 2 wake reason: 0x1",
                r"evt: +cfe: INTR IP: 1 vector: 14 PFA: 0xdead000 +500001")
    missing = [pattern for pattern in patterns if not re.search(pattern, shown)]
    check("events in packets: perf has the same", not missing, missing, shown)


def truncated():
    """perf's buffer was full for a while: tracing ended, and began again with a PSB."""
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    pid, tid, data = streams[0]
    psb = packet_starts("static", tid, "psb")
    file = perf_file.File(**CLOCK)
    add_code(file, trace, start, streams[:1])
    ends = [at for at in packet_starts("static", tid, "tip.pgd") if at < psb[-1]]
    # A TIP.PGD without an address has one byte.
    file.packets(data[:ends[-1] + 1], 0, tid=tid)
    file.truncated(start + 10**9, pid, tid)
    file.packets(data[psb[-1]:], 0, tid=tid)
    write("truncated.data", file.bytes())
    judge("a full buffer", "truncated.data", ["mismatch"])
    losses = json.loads(run(dump, "info", "--json", "judged.ptl").stdout)["losses"]
    check("a full buffer: is reported", any("full" in loss["cause"] for loss in losses), losses)


def write_library(name, code):
    """An ELF file, as perf wants to know how wide code is; the code begins at offset 4096."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 4096, 0, 0, len(code), len(code), 4096)
    write(name, (header + segment).ljust(4096, b"\0") + code)


def of_filters(name, filters, gaps=()):
    """
    SKL014: calls of a function that a filter leaves out have no address. {file}: the code; {other}: a file that nothing maps.
    """
    #   0: nop; 1: call 20; 6: call 200; b: call 200; 10: syscall; 20: ret; 200: nop; 201: jnz 200; 203: ret
    code = bytearray(b"\xcc" * 4096)
    for at, instruction in ((0, "90e81a000000e8f5010000e8f00100000f05"), (0x20, "c3"), (0x200, "9075fdc3")):
        code[at:at + len(instruction) // 2] = bytes.fromhex(instruction)
    write_library("filtered.so", bytes(code))
    file = perf_file.File(filters=filters.format(file=path("filtered.so"), other="/no/such/file"))
    file.program(100, 100)
    file.map(100, 100, 0x500000, 4096, 4096, 5, path("filtered.so"), os.stat(path("filtered.so")), 0)
    lines = ["psb", "tsc 0x1000", "mode.exec 64", "psbend", "tip.pge 0x500000", "tnt t", "tip.pgd -", "tip.pge 0x50000b", "tip.pgd -",
             "tip.pge 0x500010", "tip.pgd -"]
    file.packets(assemble(lines), 0, tid=100)
    write("filtered.data", file.bytes())
    flow = judge(name, "filtered.data", gaps, times=False) if filters and not gaps else None
    if flow is None:
        run(relog, "-f", "filtered.data", "-o", "judged.ptl")
        flow, found = our_flow("judged.ptl")
        check(f"{name}: gaps", [cause for cause, _ in found] == list(gaps), found)
    expected = {100: [0x500000, 0x500001, 0x500020, 0x500006, 0x50000b, 0x500010]}
    check(f"{name}: what was executed", addresses(flow) == expected, flow)
    if not filters or "{other}" in filters:
        return
    for engine in ("libipt", "libipt-insn"):
        check(f"{name}: {engine} agrees", addresses(our_flow("judged.ptl", "--engine", engine)[0]) == expected)
    if have_perf:
        run(dump, "perf", "-f", "-o", "out.data", "judged.ptl")
        shown = run("perf", "--buildid-dir", path("out.data.debug"), "script", "-i", "out.data", "--itrace=i0ns", "-F", "ip")
        check(f"{name}: perf decodes our perf.data", [int(line, 16) for line in shown.stdout.split()] == expected[100],
              shown.stdout, shown.stderr)
    for options in (["--pid", "100"], ["--redact", "all"], ["--detach-code", "store"], ["--time", "0s..10s"]):
        done = run(relog, "-f", "-q", "judged.ptl", *options, "-o", "kept.ptl")
        check(f"{name}: {options[0]} keeps the filters", done.returncode == 0 and
              "address filter of Intel PT" in run(dump, "info", "kept.ptl").stdout, done.stderr)
    done = run(relog, "-f", "-q", "judged.ptl", "--redact", "all", "-o", "kept.ptl")
    check(f"{name}: redacted: the same flow", len(list(our_flow("kept.ptl")[0].values())[0]) == len(expected[100]) and
          path("filtered.so") not in run(dump, "info", "kept.ptl").stdout, done.stderr)


def of_hardware(name):
    """What a real CPU wrote, without times; its code is wrapped in an ELF file, as perf wants to know how wide it is."""
    folder = os.path.join(os.environ.get("PTL_SHARED_TRACES", ""), name)
    if not os.path.isdir(folder):
        skip(f"hardware's {name}", f"no traces in {folder}")
        return
    with open(os.path.join(folder, "memory.raw"), "rb") as memory, open(os.path.join(folder, "trace.pt"), "rb") as trace:
        code, packets = memory.read(), trace.read()
    write_library("hardware.so", code)
    info = os.stat(path("hardware.so"))
    file = perf_file.File(config=perf_file.NORETCOMP)
    file.program(100, 100)
    with open(os.path.join(folder, "memory.map"), encoding="ascii") as ranges:
        for line in ranges:
            base, size, offset = (int(word, 0) for word in line.split("#")[0].split() or "000")
            if not size:
                continue
            file.map(100, 100, base, size, 4096 + offset, 5, path("hardware.so"), info, 0)
    pips = [match.start() for match in re.finditer(rb"\x02\x43", packets)]
    # A guest's packets say so, and perf then wants the guest's own mappings: PIP's lowest bit.
    packets = bytearray(packets)
    for at in pips:
        packets[at + 2] &= 0xfe
    file.packets(bytes(packets), 0, tid=100)
    write("hardware.data", file.bytes())
    flow = judge(f"hardware's {name}", "hardware.data", times=False)
    with open(os.path.join(folder, "expected.txt"), encoding="ascii") as said:
        expected = int(re.search(r"instructions\D+(\d+)", said.read())[1])
    check(f"hardware's {name}: as many instructions as libipt has", [len(list_) for list_ in flow.values()] == [expected])


class UntimedFile(perf_file.File):
    """No record says when."""

    def trailer(self, pid, tid, tsc, cpu=0):
        return super().trailer(pid, tid, 0, cpu)


def of_large_tsc_alone():
    """No record but those of packets has a time: perf's reading of the TSC beside the packets is all that tells its upper bits."""
    trace, start, streams = recording("static", "--timing=tsc")
    file = UntimedFile(**CLOCK, lead=3 << 56)
    _, tid, data = streams[0]
    data = bytearray(data)
    for at in packet_starts("static", tid, "tsc"):
        tsc = int.from_bytes(data[at + 1:at + 8], "little") + file.lead
        data[at + 1:at + 8] = tsc.to_bytes(8, "little")[:7]
    file.reference = start + 10**10
    file.program(streams[0][0], tid)
    file.mappings(trace, streams[0][0], tid, start)
    file.packets(bytes(data), 0, tid=tid)
    write("alone.data", file.bytes())
    judge("TSC above 2^56 without other times", "alone.data")


# ---- a CPU on which threads take turns -------------------------------------------------------------------------

def take_turns(file, threads, start):
    """
    Packets and switches of a CPU on which the threads take turns, two stretches each; time is reported twice a stretch, as
    a CPU does when packets are enabled, and once more when the kernel writes what it has.
    """
    packets, now, before = [], start, (0, 0)
    queues = [(pid, tid, stretches(trace, tid)) for trace, pid, tid in threads]
    turn = 0
    while any(queue for _, _, queue in queues):
        pid, tid, queue = queues[turn % len(queues)]
        turn += 1
        if not queue:
            continue
        file.switch_out(*before, tid, now + 49)
        file.switch_in(pid, tid, before[1], now + 50)
        before = (pid, tid)
        for stretch in queue[:2]:
            # perf estimates a time of two ticks an instruction behind the last TSC. Real time passes faster.
            now += 10**6
            if "psb" not in stretch:
                packets.append(f"tsc {now:#x}")
            for packet in stretch:
                packets.append(packet)
                now += 1
                if packet == "psb" or packet.startswith("tip.pge"):
                    packets.append(f"tsc {now:#x}")
        del queue[:2]
    return packets


def slices(name, trace):
    """The law of cutting (relog_cut.t), for the PT of a CPU: a cut shows what the whole shows of the same part."""
    def flow(file, options):
        return re.sub(r',"stream_offset":[0-9]+', "", run(dump, "flow", "--json", *options, file).stdout)

    lines = [json.loads(line) for line in run(dump, "flow", "--json", trace).stdout.splitlines()]
    times = sorted({line["time"] for line in lines if line.get("time") is not None})
    pids = sorted({line["pid"] for line in lines if line.get("pid")})
    parts = [["--pid", str(pid)] for pid in pids]
    for at, length in ((1 / 3, 1 / 50), (3 / 5, 1 / 9), (6 / 7, 1 / 500)):
        begin = int(len(times) * at)
        span = ["--time", f"{times[begin]}ns..{times[begin + int(len(times) * length)]}ns"]
        parts += [span, [*span, "--pid", str(pids[0])]]
    wrong = []
    for part in parts:
        done = run(relog, "-f", "-q", trace, *part, "-o", "cut.ptl")
        whole, cut = flow(trace, part), flow("cut.ptl", part)
        if done.returncode or whole != cut:
            wrong += [part, done.stderr, *[pair for pair in zip(whole.splitlines(), cut.splitlines()) if pair[0] != pair[1]][:1]]
    check(f"{name}: {len(parts)} cuts are slices", pids and not wrong, *wrong)


def of_one_switch():
    """What a CPU runs for long was switched to long before: a cut has to say what that is."""
    trace, start, streams = recording("static", "--timing=tsc", "--psb-period=128")
    pid, tid, data = streams[0]
    file = perf_file.File(**CLOCK, per_cpu=1, switches=3)
    file.reference = max(event["time"] for event in trace.events()) + 10**10
    file.program(pid, tid)
    file.mappings(trace, pid, tid, start)
    file.program(77, 77, "other")
    file.switch_out(0, 0, 77, start - 2000)
    file.switch_in(77, 77, 0, start - 1999)
    file.switch_out(77, 77, tid, start - 1000)
    file.switch_in(pid, tid, 77, start - 999)
    file.packets(data, 0, cpu=0)
    write("one.data", file.bytes())
    judge("a CPU with one switch", "one.data")
    slices("a CPU with one switch", "judged.ptl")


def of_turns(kind, switches, *options, lead=lambda first, last: 0):
    """lead: makes the lead of the TSC from the times of the first and of the last packet."""
    file = perf_file.File(per_cpu=1, switches=switches, config=TSC | (perf_file.NORETCOMP if options else 0))
    threads, expected, latest = [], {}, 0
    for name in ("static", "static_pie"):
        trace, start, streams = recording(name, "--timing=tsc", *options)
        pid, tid, _ = streams[0]
        latest = max(latest, *(event["time"] for event in trace.events()))
        file.program(pid, tid)
        file.mappings(trace, pid, tid, start)
        threads.append((name + ".ptl", pid, tid))
        expected[tid] = stats_of_threads(name + ".ptl")[tid]
    file.reference = latest + 10**9
    lines = take_turns(file, threads, latest + 1000)
    file.lead = lead(latest + 1000, int([line for line in lines if line.startswith("tsc")][-1].split()[1], 0))
    data = assemble(lines, file.lead)
    # perf was asked to record the first process, where it does not record all.
    file.packets(data, 0, cpu=0, tid=EVERYWHERE if switches == 3 else threads[0][2])
    write("turns.data", file.bytes())
    name = f"a CPU on which threads take turns, {kind}"
    judge(name, "turns.data")
    for more in (["-j", "1"], ["-j", "3"], ["--engine", "libipt"]) if options else ([],):
        check(f"{name}: {' '.join(more)}: the instructions of each", len(expected) == 2 and
              stats_of_threads("judged.ptl", *more) == expected, expected, stats_of_threads("judged.ptl", *more))
    for trace, pid, tid in threads:
        check(f"{name}: that of {trace}", stats_of_threads("judged.ptl", "--pid", str(pid)) == {tid: expected[tid]},
              stats_of_threads("judged.ptl", "--pid", str(pid)))
    slices(name, "judged.ptl")


def stats_of_threads(trace, *options):
    stats = json.loads(run(dump, "stats", "--json", "--hash", *options, trace).stdout)
    return {thread["tid"]: (thread["instructions"], thread["ip_sha256"], thread["gaps"]) for process in stats["processes"]
            for thread in process["threads"]}


def of_compressed_returns(kind, names, cpu, every):
    """
    A thread's returns are compressed against calls before a context switch, or of the other thread: what they lead to
    shows in the parts of a CPU's packets before its own. A PSB comes every so many turns, and one within a turn now and then.
    """
    file = perf_file.File(per_cpu=1, switches=3)
    threads, expected, latest = [], {}, 0
    for name in names:
        trace, start, streams = recording(name, "--timing=tsc", "--no-retcomp")
        pid, tid, _ = streams[0]
        latest = max(latest, *(event["time"] for event in trace.events()))
        file.program(pid, tid)
        file.mappings(trace, pid, tid, start)
        lists, expected[tid] = executed(name + ".ptl", tid)
        threads.append((pid, tid, lists))
    file.reference = latest + 10**9
    now, before, turn = latest + 1000, (0, 0), 0
    while any(lists for _, _, lists in threads):
        pid, tid, lists = threads[turn % 2]
        if lists:
            file.switch_out(*before, tid, now + 49)
            file.switch_in(pid, tid, before[1], now + 50)
            before, now = (pid, tid), now + 100
            if turn % every:
                cpu.lines.append(f"tsc {now:#x}")
            else:
                cpu.psb(now)
            cpu.execute(lists.pop(0), now + 1)
            now += 10
        turn += 1
    file.packets(assemble(cpu.lines), 0, cpu=0)
    write("returns.data", file.bytes())
    name = f"compressed returns over switches, {kind}"
    ours = judge(name, "returns.data")
    check(f"{name}: what was executed", cpu.compressed > 100 and cpu.over_switches >= 10 and addresses(ours) == expected,
          cpu.compressed, cpu.over_switches, differences(ours, {tid: [(ip, 0) for ip in list_] for tid, list_ in expected.items()}))
    engines = [["-j", "1"], ["-j", "3"]] + ([["--engine", "libipt"], ["--engine", "libipt-insn"]] if type(cpu) is Cpu else [])
    hashes = [stats_of_threads("judged.ptl", *more) for more in engines]
    check(f"{name}: the same with each engine and number of threads", all(stats == hashes[0] for stats in hashes) and
          {tid: stats[0] for tid, stats in hashes[0].items()} == {tid: len(list_) for tid, list_ in expected.items()}, *hashes)
    if type(cpu) is Cpu:
        done = run(dump, "verify", "judged.ptl")
        check(f"{name}: engines agree", done.returncode == 0, done.stdout)
    for pid, tid, _ in threads:
        check(f"{name}: one process alone", stats_of_threads("judged.ptl", "--pid", str(pid)) == {tid: hashes[0][tid]})
    slices(name, "judged.ptl")


def of_switches_alone():
    """A thread of which only context switches tell; stats lists it, so that --pid and --tid take it."""
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    file = perf_file.File(per_cpu=1, switches=3)
    file.program(100, 100)
    for pid in (100, 300):
        file.map(pid, pid, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
    lines, now = ["psb", "tsc 0x1000", "mode.exec 64", "psbend"], 0x1000
    for number, tid in enumerate((100, 200, 300, 100)):
        before = (0, 100, 200, 300)[number]
        file.switch_out(before, before, tid, now + 0x10)
        file.switch_in(tid, tid, before, now + 0x11)
        lines += [f"tsc {now + 0x100:#x}", "tip.pge 0x500000", "tip.pgd -", f"tsc {now + 0x200:#x}"]
        now += 0x1000
    file.packets(assemble(lines), 0, cpu=0)
    write("alone.data", file.bytes())
    run(relog, "-f", "alone.data", "-o", "alone.ptl")
    listed = sorted(stats_of_threads("alone.ptl"))
    check("threads of switches alone: stats lists them", {100, 200, 300} <= set(listed), listed)
    for option, number in (("--tid", 200), ("--pid", 200), ("--tid", 300)):
        done = run(dump, "stats", option, str(number), "alone.ptl")
        check(f"threads of switches alone: {option} {number}", done.returncode == 0, done.stderr)
    done = run(dump, "stats", "--pid", "100", "--tid", "200", "alone.ptl")
    check("threads of switches alone: another process's is none", done.returncode != 0, done.stdout)


def of_unwritten_rings():
    """A ring that was not full begins with zeros, which are padding; a few zeros may be the rest of a packet."""
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    for zeros, gaps in ((7, ["unsynchronised"]), (40, []), (300000, [])):
        file = perf_file.File(snapshots=1)
        file.program(100, 100)
        file.map(100, 100, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
        file.packets(bytes(zeros) + assemble(["psb", "tsc 0x1000", "mode.exec 64", "psbend", "tip.pge 0x500000", "tip.pgd -"]), 0, tid=100)
        write("zeros.data", file.bytes())
        run(relog, "-f", "zeros.data", "-o", "zeros.ptl")
        _, found = our_flow("zeros.ptl")
        check(f"{zeros} zeros before the first PSB", [cause for cause, _ in found] == gaps, found)
        shown = run(dump, "stats", "zeros.ptl").stdout
        check(f"{zeros} zeros before the first PSB: decoded", ("100 %" in shown) == (not gaps), shown)


def of_events_in_pauses():
    """CBR while no packets are enabled is of the thread before, unless the switch came first."""
    write_library("loop.so", bytes.fromhex("90f30f1efa0f05").ljust(4096, b"\xcc"))
    file = perf_file.File(per_cpu=1, switches=3)
    for pid in (100, 200, 300):
        file.program(pid, pid)
        file.map(pid, pid, 0x500000, 4096, 4096, 5, path("loop.so"), os.stat(path("loop.so")), 0x800)
    for before, after, tsc in ((0, 100, 0x900), (100, 200, 0x800000), (200, 300, 0x801000)):
        file.switch_out(before, before, after, tsc)
        file.switch_in(after, after, before, tsc + 1)
    run_once = ["tip.pge 0x500000", "tip.pgd -"]
    lines = ["psb", "tsc 0x1000", "mode.exec 64", "psbend", *run_once, "tsc 0x1100", "cbr 11", "tsc 0x800100", *run_once,
             "tsc 0x800500", "tsc 0x801100", "cbr 22", *run_once]
    file.packets(assemble(lines), 0, cpu=0)
    write("pauses.data", file.bytes())
    run(relog, "-f", "pauses.data", "-o", "pauses.ptl")
    for engine in ("native", "libipt"):
        flow = [json.loads(line) for line in run(dump, "flow", "--json", "--engine", engine, "pauses.ptl").stdout.splitlines()]
        owners = {event["value"]: event["tid"] for event in flow if event["type"] == "cbr"}
        check(f"events in pauses: {engine}", owners == {11: 100, 22: 300}, *flow)


class PoppingCpu(Cpu):
    """Takes the newest call off at every return, as the manual has it, wherever that leads."""

    def __init__(self):
        super().__init__()
        self.elsewhere = 0

    def returns(self, address):
        if self.calls and self.calls[-1] != address:
            self.elsewhere += 1
            self.calls.pop()
            self.tip(address)
        else:
            super().returns(address)


def of_returns_elsewhere():
    """Switches of stacks make returns to other places than behind the newest call: the compressed ones behind them are right."""
    trace, start, streams = recording("fibres", "--timing=tsc", "--no-retcomp")
    pid, tid, _ = streams[0]
    file = perf_file.File()
    file.program(pid, tid)
    file.mappings(trace, pid, tid, start)
    now = max(event["time"] for event in trace.events()) + 1000
    file.reference = now + 10**9
    lists, expected = executed("fibres.ptl", tid)
    cpu = PoppingCpu()
    for number, blocks in enumerate(lists):
        now += 100
        if number % 40:
            cpu.lines.append(f"tsc {now:#x}")
        else:
            cpu.psb(now)
        cpu.execute(blocks, now + 1)
    file.packets(assemble(cpu.lines), 0, tid=tid)
    write("elsewhere.data", file.bytes())
    ours = judge("returns that go elsewhere", "elsewhere.data")
    check("returns that go elsewhere: what was executed", cpu.compressed > 100 and cpu.elsewhere > 100 and
          addresses(ours) == {tid: expected}, cpu.compressed, cpu.elsewhere, differences(ours, {tid: [(ip, 0) for ip in expected]}))


# ---- the bytes ---------------------------------------------------------------------------------------------------

def the_bytes():
    """What is in the file is in the trace, byte by byte, and its PSBs are known."""
    trace, start, streams = recording("static", "--timing=tsc")
    for name, chunk, per_cpu in (("a thread's PT", 1 << 20, 0), ("PT in small pieces", 1000, 0), ("a CPU's PT", 4096, 1)):
        file = perf_file.File(per_cpu=per_cpu)
        add_code(file, trace, start, streams)
        for index, (_, tid, data) in enumerate(streams):
            for at in range(0, len(data), chunk):
                where = {"cpu": index} if per_cpu else {"tid": tid}
                file.packets(data[at:at + chunk], index, **where)
        data = file.bytes()
        write("bytes.data", data)
        done = run(relog, "-f", "bytes.data", "-o", "bytes.ptl")
        got = perf_file.load(path("bytes.ptl"))
        padded = [data + bytes(-len(data) % 8) for _, _, data in streams]
        check(f"{name}: the bytes are the same", done.returncode == 0 and
              [data for _, _, data in perf_file.streams_of(got)] == padded, done.stderr)
        psbs = [len(stream.psbs) for stream in got.streams.values() if stream.kind == perf_file.ptl_reader.PT]
        check(f"{name}: its PSBs are known", psbs and all(psbs), psbs)
    write("short.data", data[:-10])
    done = run(relog, "-f", "short.data", "-o", "short.ptl")
    got = [data for _, _, data in perf_file.streams_of(perf_file.load(path("short.ptl")))]
    check("PT that is cut short: what is there is kept", done.returncode == 3 and got == padded[:-1] + [padded[-1][:-10]],
          done.returncode, done.stderr)


def other_records():
    """Every kind of record is read, kept as it is, or counted: none vanishes."""
    file = perf_file.File()
    end = file.trailer(7, 7, 100)
    bodies = {12: bytes(8), 16: struct.pack("<IIQ", 7, 7, 0), 17: struct.pack("<QIHH", 0xffffffff81000000, 64, 1, 0) + b"bpf_prog\0".ljust(16, b"\0"),
              18: struct.pack("<HHI", 1, 0, 3) + bytes(8), 19: struct.pack("<Q", 5) + b"/slice\0\0", 21: bytes(8), 40: bytes(8),
              20: struct.pack("<QHH", 0xffffffff81000000, 1, 1) + b"\xcc\x90\0\0", 13: struct.pack("<Q", 4)}
    for kind, body in bodies.items():
        file.records.append(perf_file.entry(kind, body + end))
    for kind in (76, 78, 90, 300):
        file.records.append(perf_file.entry(kind, bytes(40)))
    guest = perf_file.entry(10, struct.pack("<IIQQQIIQQII", 7, 7, 0x1000, 0x1000, 0, 0, 0, 0, 0, 5, 2) + b"guest\0\0\0" + end, 5)
    file.records.append(guest)
    write("others.data", file.bytes())
    done = run(relog, "-f", "others.data", "-o", "others.ptl")
    events = collections.Counter((event.get("provider", ""), event.get("event", ""), event["id"]) for event in
                                 (json.loads(line) for line in run(dump, "events", "--json", "others.ptl").stdout.splitlines()))
    ids = {number for _, _, number in events}
    check("other records: all are there", done.returncode == 0 and ids >= set(bodies) | {76, 90} and
          ("Linux-Perf", "Mmap2", 10) in events, done.stderr, events)
    check("other records: what cannot be kept is counted", "1 record of an unknown kind is not in the trace" in done.stderr, done.stderr)


the_bytes()
other_records()
of_threads()
in_pieces()
of_cpus()
of_snapshots()
of_samples(0, 0)
of_samples(1, 3)
of_pipes()
of_series()
of_hardware_samples(0)
of_hardware_samples(1)
of_events_in_packets()
of_guest_samples()
of_newer_kernels()
truncated()
of_hardware("foo")
of_filters("a filter", "filter 0x1000/0x100@{file}")
of_filters("two filters", "filter 0x1000/0x18@{file},filter 0x1020/0x8@{file}")
of_filters("a range that stops", "stop 0x1200/0x2@{file}")
of_filters("no filter", "")
of_filters("a filter of an unknown file", "filter 0x1000/0x100@{other}")
of_one_switch()
of_turns("all of the machine", 3, "--no-retcomp")
of_turns("one program", 2, "--no-retcomp")
of_turns("behind TSC 2^56", 3, "--no-retcomp", lead=lambda first, last: 1 << 56)
of_turns("behind TSC 2^57", 3, "--no-retcomp", lead=lambda first, last: (1 << 57) + 12345)
of_turns("TSC 2^56 within", 3, "--no-retcomp", lead=lambda first, last: (1 << 56) - (first + last) // 2)
of_large_tsc_alone()
of_compressed_returns("the same program twice", ("static", "static"), Cpu(), 50)
of_compressed_returns("two programs, with returns elsewhere", ("static", "static_pie"), PoppingCpu(), 30)
of_compressed_returns("fibres twice, with returns elsewhere", ("fibres", "fibres"), PoppingCpu(), 70)
of_returns_elsewhere()
of_switches_alone()
of_events_in_pauses()
of_unwritten_rings()
plan()
