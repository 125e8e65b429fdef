#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump perf: perf's own decoder is the judge, instruction by instruction, with the programs gone.
import collections
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.dont_write_bytecode = True
import perf_file  # noqa: E402
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, skip, write  # noqa: E402

PROGRAMS = os.environ["PTL_PROGRAMS"]
SAMPLE = re.compile(r" *(-?\d+) +([0-9a-f]+)$")


def perf(*arguments, cache="out.data.debug"):
    return run("perf", "--buildid-dir", path(cache), *arguments)


def perf_flow(data, *options, cache="out.data.debug"):
    flow = collections.defaultdict(list)
    done = perf("script", *options, "-i", data, "--itrace=i0ns", "-F", "tid,ip", cache=cache)
    for line in done.stdout.splitlines():
        match = SAMPLE.match(line)
        if match:
            flow[int(match[1])].append(int(match[2], 16))
    return dict(flow), done


def our_flow(trace, *options):
    flow = collections.defaultdict(list)
    for line in run(DUMP, "flow", "-l", "insn", "--json", *options, trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow[event["tid"]].append(int(event["ip"], 16))
    return dict(flow)


def export(trace, *options):
    shutil.rmtree(path("out.data.debug"), ignore_errors=True)
    got = run(DUMP, "perf", "--force", "-o", "out.data", *options, trace)
    check(f"{trace} is exported", got.returncode == 0 and "perf --buildid-dir" in got.stderr, got)
    return got.stderr


def lengths(flow):
    return {tid: len(instructions) for tid, instructions in flow.items()}


def judge(trace, *options):
    export(trace, *options)
    ours = our_flow(trace, *options)
    theirs, done = perf_flow("out.data")
    check(f"{trace} {' '.join(options)}: perf executes the same {sum(map(len, ours.values()))} instructions in {len(ours)} threads",
          ours and theirs == ours, lengths(ours), lengths(theirs), done.stderr)
    return ours


def record(name, *options):
    """Of a program that is gone afterwards."""
    shutil.copy(os.path.join(PROGRAMS, name), path("gone-" + name))
    got = run(RECORD, "-q", "-f", *options, "-o", name + ".ptl", "--", path("gone-" + name))
    os.unlink(path("gone-" + name))
    check(f"{name} is recorded", got.returncode == 0, got)
    return name + ".ptl"


def names(trace):
    """Functions that ran, as perf report has them."""
    export(trace)
    got = perf("report", "-i", "out.data", "--itrace=i0ns", "--stdio", "-F", "sample,sym")
    found = {match[2]: int(match[1]) for match in re.finditer(r"^ +(\d+) +\[\.\] (\S+)", got.stdout, re.M)}
    want = {one["function"]: one["self_instructions"] for one in
            map(json.loads, run(DUMP, "report", "--json", "--image", "gone-*", trace).stdout.splitlines())
            if one["function"] and one["self_instructions"]}
    # Other images have some of the names that compilers add.
    both = {name for name in set(found) & set(want) if name[0] != "_" and name not in ("frame_dummy", "register_tm_clones")}
    check("perf report has the functions with their instructions", len(both) > 8 and {name: found[name] for name in both} ==
          {name: want[name] for name in both}, found, want)
    got = perf("script", "-i", "out.data", "--itrace=bep", "-F", "ip,sym")
    check("perf script shows branches and no errors", " main" in got.stdout and "instruction trace error" not in got.stdout, got.stdout[:500], got.stderr)


def of_a_cpu():
    """A CPU that goes from one thread to another: as perf records it, imported, and exported again."""
    name = "static"
    run(RECORD, "-f", "-q", "-o", "cpu.ptl", "--timing=tsc", "--psb-period=128", "--", os.path.join(PROGRAMS, name))
    trace = perf_file.load(path("cpu.ptl"))
    start = min(event["time"] for event in trace.events())
    pid, tid, data = perf_file.streams_of(trace)[0]
    # 2.5 GHz, and a kernel clock that began long before the TSC.
    file = perf_file.File(shift=31, mult=0x33333333, zero=1 << 50, per_cpu=1, switches=3)
    file.reference = max(event["time"] for event in trace.events()) + 10**10
    file.program(pid, tid)
    file.mappings(trace, pid, tid, start)
    file.program(77, 77, "other")
    file.switch_out(0, 0, 77, start - 2000)
    file.switch_in(77, 77, 0, start - 1999)
    file.switch_out(77, 77, tid, start - 1000)
    file.switch_in(pid, tid, 77, start - 999)
    file.packets(data, 0, cpu=0)
    write("cpu.data", file.bytes())
    got = run(RELOG, "-q", "-f", "cpu.data", "-o", "of_cpu.ptl")
    check("a CPU's packets are imported", got.returncode == 0, got)
    flow = judge("of_cpu.ptl")
    check("the flow is one thread's", list(flow) == [tid], lengths(flow))
    want, _ = perf_flow("cpu.data", cache="nothing")
    check("perf decodes both files alike", want == flow, lengths(want), lengths(flow))


def of_a_guest():
    """Packets that say that they are those of a virtual machine."""
    tools = os.environ["PTL_TEST_TOOLS"]
    write("guest.txt", "psb\npip cr3=0x1000 non_root\nmode.exec 64\nfup 0x401000\npsbend\ntip 0x401005\ntip 0x401005\ntip.pgd -\n")
    run(os.path.join(tools, "pt_assemble"), "-o", path("guest.pt"), path("guest.txt"))
    write("guest.sample", "machine source=intel_pt clock=1 start=1000 end=8000\nbytes code e80b000000ebf9" + "90" * 9 + "c3\n"
          "process start pid=7 time=1000 key=7 image=/bin/p command=p\nthread pid=7 tid=7 time=1000 name=p\n"
          "image pid=7 base=0x401000 size=4096 default=0x401000 path=/bin/p code=code time=1000\n"
          "pt pid=7 tid=7 path=guest.pt time=1500 end=5000\n")
    made = run(os.path.join(tools, "make_sample"), "guest.sample", "guest.ptl")
    said = export("guest.ptl")
    ours = our_flow("guest.ptl")
    check("perf is asked for a guest's code", " --guest-code " in said, made, said)
    if "guest-code" not in run("perf", "script", "-h").stderr:
        skip("perf decodes a guest's code", "this perf has no --guest-code")
        return
    theirs, done = perf_flow("out.data", "--guest-code")
    check("with which it decodes it", len(ours[7]) > 6 and theirs == ours, ours, theirs, done.stderr)


def without_code():
    """Code that is in files of this machine alone is put into the cache, and so are its names."""
    shutil.copy(os.path.join(PROGRAMS, "static"), path("gone-none"))
    run(RECORD, "-q", "-f", "--embed=none", "-o", "none.ptl", "--", path("gone-none"))
    ours = our_flow("none.ptl")
    export("none.ptl")
    os.unlink(path("gone-none"))
    theirs, done = perf_flow("out.data")
    check("code that the trace does not hold is in the cache", ours and theirs == ours, lengths(ours), lengths(theirs), done.stderr)
    got = perf("script", "-i", "out.data", "--itrace=b", "-F", "ip,sym")
    check("with its names", " main" in got.stdout, got.stdout[:500])
    got = run(DUMP, "perf", "--force", "-o", "out.data", "none.ptl")
    check("what is nowhere is left out, and said", got.returncode == 0 and "neither the trace nor this machine has" in got.stderr, got)


def mistakes(trace):
    got = run(DUMP, "perf", trace)
    check("perf.data needs a file", got.returncode == 2 and "-o FILE" in got.stderr, got)
    got = run(DUMP, "perf", "-o", "out.data", trace)
    check("a file is not replaced without --force", got.returncode == 4 and "exists; -f replaces it, -o names another" in got.stderr, got)
    export(trace)
    first = read("out.data")
    export(trace)
    check("the same trace gives the same bytes", read("out.data") == first)


if shutil.which("perf"):
    STATIC = record("static")
    judge(STATIC)
    judge(STATIC, "--tid", str(min(our_flow(STATIC))))
    judge(record("call_kinds", "--timing=cyc"))
    judge(record("memfd_rewrite"))
    names(record("recursion"))
    of_a_cpu()
    of_a_guest()
    without_code()
    mistakes(STATIC)
else:
    skip("perf decodes it", "there is no perf here: apt-get install linux-perf")
plan()
