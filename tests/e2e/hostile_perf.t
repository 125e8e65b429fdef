#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# perf.data with damaged or hostile records and packets: the time stays bounded, the rest is read, and each loss is told.
import json
import os
import re
import resource
import struct
import sys

from scratch_test import DUMP, RELOG, check, plan, run, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_file  # noqa: E402
from perf_file import assemble  # noqa: E402
from perf_made import CPU, IP, READ, TID, TIME, Data, Event, entry  # noqa: E402

BASIC = IP | TID | TIME | CPU
PACKETS = ["psb", "tsc 0x1000", "psbend", "tip.pge 0x1000", "tip.pgd -"]
GROUP = 8                       # PERF_FORMAT_GROUP


def converted(name, data, status=0):
    """Converts a file. Returns the run, the losses, and the events without those of processes."""
    write(name + ".data", data)
    done = run(RELOG, "-f", "--embed=none", name + ".data", "-o", name + ".ptl")
    check(f"{name}: is read", done.returncode == status, done)
    losses = json.loads(run(DUMP, "info", "--json", name + ".ptl").stdout)["losses"]
    events = [json.loads(line) for line in run(DUMP, "events", "--json", name + ".ptl").stdout.splitlines()]
    return done, losses, events


def stored(name):
    """Returns the kinds of the packets in the trace, without padding."""
    kinds = re.findall(r"^ *[0-9a-f]+  (\S+)", run(DUMP, "packets", name + ".ptl").stdout, re.M)
    return [kind for kind in kinds if kind not in ("pad", "!")]


def short_records():
    """A record of the kernel without its fields is lost alone, even as the last record of its time."""
    for kind, what in ((1, "a mapping"), (3, "a name"), (4, "a task"), (7, "a task"), (10, "a mapping"), (17, "code"), (20, "a change")):
        for last in (False, True):
            data = Data(Event(BASIC))
            data.fork(7, 1, 7, 1, 1000)
            data.add(kind, b"", 0, 7, 7, 4000 if last else 2000)
            data.sample(0x400010, 7, 7, 3000)
            done, losses, events = converted(f"short-{kind}-{last}", data.bytes(), 3)
            check(f"a short record {kind}, last: {last}: what follows is there, and the record is a loss",
                  any(event["event"] == "Sample" for event in events) and
                  [(loss["count"], loss["cause"]) for loss in losses if "too short" in loss["cause"]] ==
                  [(1, "records are too short for what they describe")] and "1 record is damaged, and not in the trace" in done.stderr and what in done.stderr,
                  done, losses, events)


def short_samples():
    """A sample that ends within its fields is lost alone."""
    data = Data(Event(BASIC | READ, read_format=GROUP))
    data.fork(7, 1, 7, 1, 1000)
    for count in (2**64 - 1, 2**61, 100, 1):
        data.sample(0x400010, 7, 7, 2000, struct.pack("<QQ", count, 5))
    done, losses, events = converted("samples", data.bytes(), 3)
    check("short samples: the whole sample is there, the others are a loss", sum(event["event"] == "Sample" for event in events) == 1 and
          [loss["count"] for loss in losses if "too short" in loss["cause"]] == [3], done, losses)


def large_sample():
    """A sample with thousands of counters, whose names make the event larger than an event may be."""
    data = Data(Event(BASIC | READ, name="x" * 130, read_format=GROUP))
    data.fork(7, 1, 7, 1, 1000)
    counters = 8170
    for time, count in ((2000, counters), (3000, 1)):
        data.sample(0x400010, 7, 7, time, struct.pack(f"<{count + 1}Q", count, *range(count, 2 * count)))
    done, losses, events = converted("large", data.bytes())
    check("a sample that is too large: is a loss", [(loss["kind"], loss["count"]) for loss in losses if "larger" in loss["cause"]] ==
          [("events", 1)] and "1 sample is larger than" in done.stderr, done, losses)
    check("a sample that is too large: the next sample is there", any(event["event"] == "SampleDetail" for event in events) and
          any(event["event"] == "Sample" and event["time"] > 1500 for event in events), events[-2:])


def unfinished_psbs():
    """A PSB+ has an end: packets without PSBEND are not read again for each PSB."""
    file = perf_file.File()
    file.packets((b"\x02\x82" * 8 + b"\0") * 65536, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    converted("psbs", file.bytes())
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check("PSBs without PSBEND: 1 MiB takes less than 10 s", spent < 10, spent)


def positions():
    """Positions in a ring that no ring has: the packets are there, and the damage is a loss."""
    file = perf_file.File()
    count = 300
    for number in range(count):
        file.packets(assemble(PACKETS), 0, position=number * ((1 << 48) - 1) % 2**64)
    _, losses, _ = converted("far", file.bytes())
    lost = [loss for loss in losses if "did not write" in loss["cause"]]
    check("positions far from each other: all packets are there", len(stored("far")) == count * len(PACKETS), len(stored("far")))
    check("positions far from each other: each distance is a loss", sum(loss["count"] for loss in lost) == count - 1, losses)
    file = perf_file.File()
    for number, position in enumerate((0, 2**64 - 8, 100, 2**63, 5, 0)):
        file.packets(assemble([*PACKETS[:3], f"tip.pge {number + 1}000", "tip.pgd -"]), 0, position=position)
    _, losses, _ = converted("back", file.bytes())
    check("positions that go back: other bytes are not the same bytes", len(stored("back")) == 6 * len(PACKETS), stored("back"))
    check("positions that go back: are losses", sum(loss["count"] for loss in losses if "do not fit" in loss["cause"]) >= 2, losses)


def cut_filters():
    """Filters that are longer than the record that has them."""
    file = perf_file.File(filters="filter 0x1000/0x100@/bin/true")
    file.packets(assemble(PACKETS), 0)
    data, whole = bytearray(file.bytes()), struct.pack("<Q", len(file.filters))
    at = data.index(whole + b"filter")
    struct.pack_into("<Q", data, at, 4000)
    done, _, _ = converted("filters", bytes(data))
    check("filters that are cut off: a warning", "the address filters are cut off" in done.stderr, done)


def many_guests():
    """More virtual CPUs take turns on a CPU, within a segment, than the import reads the segment for."""
    vcpus, hypervisor, first = 100, 4000, 5000
    file = perf_file.File(per_cpu=1, switches=3)
    ids = [(1000 + number, 0, 0, first + number) for number in range(vcpus)]
    file.first = entry(69, struct.pack("<Q", vcpus) + b"".join(struct.pack("<QQQQ", *one) for one in ids) +
                       b"".join(struct.pack("<QQ", hypervisor, number) for number in range(vcpus)))
    tsc, packets = 10**6, ["psb", "tsc 1000000", "pip cr3=0x1000", "psbend"]
    for turn in range(2):
        for number in range(vcpus):
            file.switch_in(hypervisor, first + number, 0, tsc + 10)
            tsc += 1000
            packets += [f"tsc {tsc}", "pip cr3=0x77000 non_root", "tip 0x1000", "tnt t", "fup 0x1000", "pip cr3=0x1000", "tip 0x2000"]
            tsc += 1000
        packets += ["tnt t"] * (20000 if not turn else 0)
    file.reference = tsc
    file.packets(assemble(packets), 0, cpu=0)
    _, losses, _ = converted("guests", file.bytes())
    found = [loss["count"] for loss in losses if "segments that are too large" in loss["cause"]]
    check("many virtual CPUs in a segment: what is not read is a loss", found and 0 < found[0] < vcpus, losses)
    info = json.loads(run(DUMP, "info", "--json", "guests.ptl").stdout)
    streams = [stream["cpu"] for stream in info["streams"] if stream["kind"] == "pt" and stream["cpu"] >= 10**7]
    check("many virtual CPUs in a segment: each has a stream", sorted(streams) == [10**7 + number for number in range(vcpus)], streams[:5])


def shared_cpu():
    """Two threads of the host run the same virtual CPU: its packets are one stream."""
    file = perf_file.File()
    entries = [(1000, 0, 0, 50, 4000, 3), (1001, 0, 0, 51, 4000, 4), (1002, 0, 0, 52, 4000, 3)]
    file.first = entry(69, struct.pack("<Q", 3) + b"".join(struct.pack("<QQQQ", *one[:4]) for one in entries) +
                       b"".join(struct.pack("<QQ", *one[4:]) for one in entries))
    for number, thread in enumerate((50, 51, 52)):
        file.packets(assemble(["psb", f"tsc {1000000 + number}", "pip cr3=0x1000", "psbend", "pip cr3=0x77000 non_root", "tip 0x1000",
                               "fup 0x1000", "pip cr3=0x1000", "tip 0x2000"]), number, tid=thread)
    converted("shared", file.bytes())
    info = json.loads(run(DUMP, "info", "--json", "shared.ptl").stdout)
    streams = [stream["cpu"] for stream in info["streams"] if stream["kind"] == "pt" and "cpu" in stream]
    check("two threads of a virtual CPU: one stream", sorted(streams) == [10**7 + 3, 10**7 + 4], streams)


short_records()
short_samples()
large_sample()
unfinished_psbs()
positions()
cut_filters()
many_guests()
shared_cpu()
plan()
