#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump perf: samples, tracepoints, kept records and losses are those that perf itself recorded, and that ptl-relog read.
import collections
import json
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.dont_write_bytecode = True
import perf_file  # noqa: E402
from perf_file import TSC, entry  # noqa: E402
from scratch_test import DUMP, RELOG, check, path, plan, run, skip, write  # noqa: E402

LOST, AUX, LOST_SAMPLES, CGROUP, READ = 2, 11, 13, 19, 8
# Without the process: a trace names a process by the file of its program ("dash"), perf by the name given to exec ("sh").
FIELDS = "tid,time,event,ip,sym,period"


def listing(*arguments):
    return [json.loads(line) for line in run(DUMP, *arguments).stdout.splitlines()]


def export(trace, *options):
    shutil.rmtree(path("out.data.debug"), ignore_errors=True)
    got = run(DUMP, "perf", "-f", "-o", "out.data", *options, trace)
    check(f"{trace} is exported", got.returncode == 0, got)
    return got.stderr


def shown(data, fields):
    done = run("perf", "--buildid-dir", path("out.data.debug"), "script", "-i", data, "--ns", "-F", fields)
    return done.stdout.splitlines(), done


def kept(trace, *names):
    """Events of a trace, as a multiset without order."""
    return collections.Counter(json.dumps([event.get(key) for key in ("provider", "event", "time", "cpu", "tid", "fields", "stack")])
                               for event in listing("events", "--json", trace)
                               if event["provider"] == "Linux-Perf" and event["event"] in names or event["provider"] in names)


def counters():
    """Samples of a counter with stacks: perf prints the same."""
    done = run("perf", "record", "-q", "-o", "clock.data", "-e", "cpu-clock:u", "-g", "--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
    if done.returncode:
        skip("samples of a counter", f"perf may not record here: {done.stderr.strip()[-100:]}")
        return
    run(RELOG, "-q", "-f", "clock.data", "-o", "clock.ptl")
    export("clock.ptl")
    theirs, _ = shown("clock.data", FIELDS)
    ours, done = shown("out.data", FIELDS)
    # Functions without a name: perf prints "[unknown]" for either file.
    check(f"samples of a counter: perf script prints the same {len(theirs)} lines", len(theirs) > 20 and ours == theirs,
          [pair for pair in zip(theirs, ours) if pair[0] != pair[1]][:3], len(ours), done.stderr)
    report = run("perf", "--buildid-dir", path("out.data.debug"), "report", "-i", "out.data", "--stdio", "-F", "sample")
    check("samples of a counter: perf report has them", "of event 'cpu-clock:u'" in report.stdout, report)
    run(RELOG, "-q", "-f", "out.data", "-o", "again.ptl")
    check("samples of a counter: ptl-relog reads the same", kept("clock.ptl", "Sample") == kept("again.ptl", "Sample") != {})


def values(lines, names):
    """The values of fields that perf prints, in order."""
    return [[match.group(1) for name in names for match in [re.search(rf"\b{name}=(.*?)(?= \w+=| ==>|$)", line)] if match]
            for line in lines if "sched_switch" in line]


def tracepoints():
    names = ("prev_comm", "prev_pid", "prev_prio", "next_comm", "next_pid", "next_prio")
    done = run("perf", "record", "-q", "-o", "switch.data", "-e", "sched:sched_switch", "--", "sh", "-c", "sleep 0.01; sleep 0.01; sleep 0.01")
    if done.returncode:
        skip("tracepoints", f"perf may not record here: {done.stderr.strip()[-100:]}")
        return
    run(RELOG, "-q", "-f", "switch.data", "-o", "switch.ptl")
    export("switch.ptl")
    theirs = values(shown("switch.data", "time,event,trace")[0], names)
    lines, done = shown("out.data", "time,event,trace")
    ours = values(lines, names)
    check(f"tracepoints: perf prints the same values of {len(theirs)} events", theirs and ours == theirs,
          [pair for pair in zip(theirs, ours) if pair[0] != pair[1]][:3], len(ours), done.stderr)
    run(RELOG, "-q", "-f", "out.data", "-o", "again.ptl")
    first, again = kept("switch.ptl", "sched"), kept("again.ptl", "sched")
    check("tracepoints: ptl-relog reads the same, with names of values", first == again != {}, list(first - again)[:3], list(again - first)[:3])


FORMAT = """name: kinds
ID: 77
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:s64 big;\toffset:8;\tsize:8;\tsigned:1;
\tfield:u32 list[2];\toffset:16;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] text;\toffset:24;\tsize:4;\tsigned:0;
\tfield:__data_loc u32[] more;\toffset:28;\tsize:4;\tsigned:0;
\tfield:u8 mac[6];\toffset:32;\tsize:6;\tsigned:0;
\tfield:char small[10];\toffset:38;\tsize:10;\tsigned:0;
\tfield:void * place;\toffset:48;\tsize:8;\tsigned:0;
\tfield:u32 state;\toffset:56;\tsize:4;\tsigned:0;
\tfield:u32 bits;\toffset:60;\tsize:4;\tsigned:0;

print fmt: "big=%lld %p %s %s", REC->big, REC->place, __print_symbolic(REC->state, { 0, "idle" }, { 5, "busy" }), \
__print_flags(REC->bits, "|", { 0x3, "both" }, { 1, "one" }, { 2, "two" })
"""


def tracing_data(system, text):
    data = b"\x17\x08\x44tracing0.6\0" + bytes([0, 8]) + struct.pack("<I", 4096)
    data += b"header_page\0" + struct.pack("<Q", 1) + b"\n" + b"header_event\0" + struct.pack("<Q", 1) + b"\n"
    data += struct.pack("<II", 0, 1) + system + b"\0" + struct.pack("<IQ", 1, len(text)) + text
    return data + struct.pack("<IIQ", 0, 0, 0)


def made():
    """A file with all kinds of fields, kept records, losses, and records that another file cannot have."""
    file = perf_file.File(config=TSC)
    file.program(100, 100)
    raw = struct.pack("<HBBiq2III6s10sQII", 77, 1, 2, 100, -5, 7, 8, 64 | 6 << 16, 72 | 8 << 16, b"\1\2\3\4\5\6", b"inside", 0xffffffff81000010, 5, 3)
    raw = raw.ljust(64, b"\0") + b"hello\0\0\0" + struct.pack("<II", 11, 12)
    raw += bytes(-(len(raw) + 4) % 8)
    sample_type = perf_file.SAMPLE_TYPE | 0x400 | 0x100
    file.more = [(2, 77, sample_type, 0, ())]
    file.features[1] = tracing_data(b"made", FORMAT.encode())
    for number in range(3):
        file.records.append(entry(9, struct.pack("<QQIIQIIQI", 2, 0, 100, 100, file.time(0x1000 + number), 0, 0, 1, len(raw)) + raw, 1))
    for kind, body in ((LOST, struct.pack("<QQ", 1, 42)), (LOST_SAMPLES, struct.pack("<Q", 7)), (CGROUP, struct.pack("<Q", 9) + b"/made\0\0\0"),
                       (AUX, struct.pack("<QQQ", 0, 0, 1)), (READ, struct.pack("<IIQ", 100, 100, 3))):
        file.records.append(entry(kind, body + file.trailer(100, 100, 0x2000)))
    write("made.data", file.bytes())
    run(RELOG, "-q", "-f", "made.data", "-o", "made.ptl")
    said = export("made.ptl")
    check("a record that does not fit another file is counted", "1 record of perf that does not fit another file" in said, said)
    run(RELOG, "-q", "-f", "out.data", "-o", "again.ptl")
    for names in (("made",), ("Lost", "LostSamples", "Cgroup", "Aux")):
        first, again = kept("made.ptl", *names), kept("again.ptl", *names)
        check(f"made records, {'/'.join(names)}: ptl-relog reads the same", first == again != {} and len(first) >= len(names), first, again)
    if not shutil.which("perf"):
        skip("made records: perf", "there is no perf here: apt-get install linux-perf")
        return
    lines, done = shown("out.data", "event,trace")
    # Newer perf prints arrays as {0x7,0x8}.
    lines = [re.sub(r"\{([0-9a-fx,]+)\}", lambda found: " ".join(str(int(one, 16)) for one in found[1].split(",")), line) for line in lines]
    wanted = ("big=-5", "list=7 8", "text=hello", "more=11 12", "mac=01 02 03 04 05 06", "small=inside", "place=0xffffffff81000010",
              "state=busy", "bits=both")
    check("made records: perf prints the values of all kinds of fields", len(lines) == 3 and "made:kinds" in lines[0] and
          not [value for value in wanted if value not in lines[0]], lines, done)
    dump = run("perf", "script", "-i", "out.data", "-D").stdout
    check("made records: perf has losses and groups", all(re.search(rf"PERF_RECORD_{text}", dump) for text in
          ("LOST: id 1: lost 42|LOST lost 42|LOST", "LOST_SAMPLES", "CGROUP.*cgroup: 9 /made|CGROUP.*9.*/made", "AUX.*flags: 0x1 \\[T\\]")),
          [line for line in dump.splitlines() if "PERF_RECORD_" in line])


DETAIL = 0x100 | 0x8 | 0x800 | 0x1000 | 0x4000 | 0x8000 | 0x20000 | 0x40000 | 0x80000 | 0x200000 | 0x400000 | 0x800000


def detail(number, registers):
    """Branches, registers, weight, data source, ... of a sample, behind its period."""
    behind = struct.pack("<QQ6Q", 2, 31, 0x401001, 0x401002, 1, 0x401003, 0x401004 + number, 2)
    behind += struct.pack("<Q", 2) + b"".join(struct.pack("<Q", 0xaa + number + one) for one in range(registers))
    behind += struct.pack("<QQQ", 7 + number, 0x68100142, 3) + struct.pack("<Q2Q", 2, 0xcc, 0xdd + number)
    return behind + struct.pack("<4Q", 0x12345000, 42, 4096, 2 << 20)


def details():
    """Fields of samples besides calls and raw data: perf prints the same."""
    file = perf_file.File(config=TSC)
    file.program(100, 100)
    sample_type = perf_file.SAMPLE_TYPE | DETAIL
    values = ((72, "<Q", 0xb | 1 << 17), (96, "<Q", 0x180))
    file.more = [(4, 0x1cd, sample_type, 0, (*values, (80, "<Q", 0x101))), (4, 0x1cd, sample_type, 0, (*values, (80, "<Q", 0x107))),
                 (4, 0xc0, sample_type & ~0x45800, 0, ())]
    for number in range(12):
        event = 2 + number % 3
        body = struct.pack("<QQIIQQIIQ", event, 0x401000 + number, 100, 100, file.time(0x1000 + number // 4), 0x7000 + number, 0, 0, 5)
        body += detail(number, (2, 4)[event - 2]) if event < 4 else struct.pack("<QQ4Q", 0x68100142, 3, 0x12345000 + number, 42, 4096, 4096)
        file.records.append(entry(9, body, 2))
    write("details.data", file.bytes())
    done = run(RELOG, "-q", "-f", "details.data", "-o", "details.ptl")
    said = export("details.ptl")
    check("fields of samples: none is left out", done.returncode == 0 and "sample" not in said, said)
    run(RELOG, "-q", "-f", "out.data", "-o", "again.ptl")
    first, again = ([event["fields"] for event in listing("events", "--json", trace) if event["event"] == "SampleDetail"]
                    for trace in ("details.ptl", "again.ptl"))
    same = [{key: value for key, value in fields.items() if key != "Event"} for fields in first], \
        [{key: value for key, value in fields.items() if key != "Event"} for fields in again]
    check("fields of samples: ptl-relog reads the same", len(first) == 12 and same[0] == same[1], *[pair for pair in zip(*same) if pair[0] != pair[1]][:2])
    if not shutil.which("perf"):
        skip("fields of samples: perf", "there is no perf here: apt-get install linux-perf")
        return
    for fields in ("tid,time,ip,period,addr", "ip,brstack", "ip,weight", "ip,phys_addr,data_page_size,code_page_size", "ip,uregs,iregs", "ip,data_src"):
        theirs, ours = (run("perf", "script", "-i", name, "-F", f"{kind}:{fields}") for name, kind in (("details.data", "raw"), ("out.data", "raw")))
        check(f"fields of samples: perf prints the same {fields}", len(theirs.stdout.splitlines()) == 12 and theirs.stdout == ours.stdout, theirs, ours)


def packets():
    """PTWRITE, power events and event trace: perf shows what the packets have."""
    write("some.txt", "psb\ntsc 0x1000\nmode.exec 64\ncbr 11\npsbend\ntip.pge 0x401000\nptw payload=0x123456789abcdef0 ip\nfup 0x401001\n"
          "tip.pgd -\nmwait hints=0x20 extensions=1\npwre state=2 sub_state=1\nexstop\npwrx last=2 deepest=3 wake=1\ncbr 12\n"
          "evd type=0 payload=0xdead000\ncfe type=1 vector=14 ip\nfup 0x401001\ntip.pge 0x401000\ntip.pgd -\n")
    tools = os.environ["PTL_TEST_TOOLS"]
    run(os.path.join(tools, "pt_assemble"), "-o", path("some.pt"), path("some.txt"))
    write("some.sample", "machine source=intel_pt clock=1 start=1000 end=8000 tsc_multiplier=1 tsc_frequency=1000000000 timing=1\n"
          "bytes code 90f30f1efa0f05\nprocess start pid=7 time=1000 key=7 image=/bin/p command=p\nthread pid=7 tid=7 time=1000 name=p\n"
          "image pid=7 base=0x401000 size=4096 default=0x401000 path=/bin/p code=code time=1000\n"
          "loss kind=3 count=5 cause=full\nloss kind=4 count=1 cause=gone\n"
          "pt pid=7 tid=7 path=some.pt time=1500 end=5000\n")
    made_trace = run(os.path.join(tools, "make_sample"), "some.sample", "some.ptl")
    said = export("some.ptl")
    check("a loss of another kind is counted", "1 loss that perf has no record for" in said, said, made_trace)
    if not shutil.which("perf"):
        skip("events in packets: perf", "there is no perf here: apt-get install linux-perf")
        return
    got = run("perf", "--buildid-dir", path("out.data.debug"), "script", "-i", "out.data", "--itrace=wpI").stdout
    patterns = (r"ptwrite: +IP: 1 payload: 0x123456789abcdef0 +401001", r"cbr: +cbr: 12 ", r"mwait: +hints: 0x20 extensions: 0x1",
                r"pwre: +hw: 0 cstate: 2 sub-cstate: 1", r"pwrx: +deepest cstate: 3 last cstate: 2 wake reason: 0x1")
    missing = [pattern for pattern in patterns if not re.search(pattern, got)]
    check("events in packets: perf shows them", not missing, missing, got)
    dump = run("perf", "script", "-i", "out.data", "-D").stdout
    check("lost events of ptl-record are a record of perf", re.search(r"PERF_RECORD_LOST", dump), dump[-500:])


def without_packets():
    """A file without Intel PT has no event of Intel PT, whose decoder restricts what perf prints."""
    write("bare.sample", "machine source=intel_pt clock=1 start=1000 end=8000\nprocess start pid=7 time=1000 key=7 image=/bin/p command=p\n")
    run(os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample"), "bare.sample", "bare.ptl")
    export("bare.ptl")
    if not shutil.which("perf"):
        skip("without packets: perf", "there is no perf here: apt-get install linux-perf")
        return
    got = run("perf", "evlist", "-i", "out.data")
    check("without packets, there is no event intel_pt", got.returncode == 0 and "intel_pt" not in got.stdout and "dummy:u" in got.stdout, got)


if shutil.which("perf"):
    counters()
    tracepoints()
else:
    skip("samples of perf", "there is no perf here: apt-get install linux-perf")
made()
details()
packets()
without_packets()
plan()
