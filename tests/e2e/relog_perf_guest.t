#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of a host that runs a virtual machine: packets of the guest never decode with the host's code. perf is the judge.
import json
import os
import re
import shutil
import struct
import sys

from scratch_test import DUMP, RELOG, check, path, plan, run, skip, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402
from kernel_image_test import TEXT  # noqa: E402
from perf_guest_file import GUEST, HOST, NOBODY, PID, TID, VMCS, HostFile, Machine, host_instructions  # noqa: E402

ENGINES = ("native", "libipt", "libipt-insn")
have_perf = shutil.which("perf") is not None


def our_flow(*options):
    """Returns the addresses executed, and the gaps."""
    flow, gaps = [], []
    for line in run(DUMP, "flow", "-l", "insn", "--json", *options, "out.ptl").stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow.append(int(event["ip"], 16))
        elif event["type"] == "gap":
            gaps.append(event)
    return flow, gaps


def perf_flow(name, *options):
    done = run("perf", "script", "-i", name, "--itrace=i0ns", "-F", "tid,ip", *options)
    return [int(match[2], 16) for match in (re.match(r" *(-?\d+) +([0-9a-f]+)$", line) for line in done.stdout.splitlines()) if match]


def is_within(part, whole):
    """Whether all instructions of `part` are in `whole`, in this order."""
    rest = iter(whole)
    return all(ip in rest for ip in part)


def hexes(flow):
    return list(map(hex, flow))


KERNEL_GUEST = ("alias", ["tnt tn", "tip alias"], "alias")
USER_GUEST = ("vm_code", ["tnt n"], "vm_code+3")


def guests_are_gaps(machine):
    """The guest's addresses are the host's, too: of the kernel, and of the hypervisor."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(KERNEL_GUEST, USER_GUEST)
    story.system_call(USER_GUEST, KERNEL_GUEST)
    story.add("tip.pgd -")
    done = machine.convert("host.data", story)
    expected = host_instructions(story, 2)
    for engine in ENGINES:
        flow, gaps = our_flow("--engine", engine)
        ends = engine != "native"  # libipt continues at the next PSB only
        check(f"guests are gaps that name the VMCS ({engine})", done.returncode == 0 and
              flow == (expected[:expected.index(story.at["vm_exit"])] if ends else expected) and
              [gap["cause"] for gap in gaps] == ["guest"] * (1 if ends else 4) and all("from" not in gap for gap in gaps) and
              (ends or {gap["value"] for gap in gaps} == {VMCS}), done, hexes(flow), hexes(expected), gaps)
    shown = run(DUMP, "flow", "-l", "block", "out.ptl").stdout
    check("the gap is shown with its VMCS", "gap: guest, 21 B of packets not decoded, VMCS 0x5000\n" in shown, shown)
    stats = json.loads(run(DUMP, "stats", "--json", "out.ptl").stdout)
    check("the gaps are counted", stats["gap_causes"] == [{"cause": "guest", "gaps": 4, "bytes": sum(gap["bytes"] for gap in our_flow()[1])}]
          and stats["instructions"] == len(expected), stats["gap_causes"])
    check("the engines agree", run(DUMP, "verify", "out.ptl").returncode == 0, run(DUMP, "verify", "out.ptl"))
    if have_perf:
        theirs = perf_flow("host.data")
        check("perf executes no other instruction of the host", len(theirs) > 10 and is_within(theirs, expected), hexes(theirs), hexes(expected))
    else:
        skip("perf", "there is no perf here: apt-get install linux-perf")


def compressed_returns(machine):
    """The host's calls before a VM entry serve its compressed returns behind the VM exit, whatever the guest calls."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(KERNEL_GUEST, USER_GUEST, compressed=True)
    story.system_call(USER_GUEST, KERNEL_GUEST, compressed=True)
    story.add("tip.pgd -")
    machine.convert("compressed.data", story, compressed=True)
    expected = host_instructions(story, 2)
    flow, gaps = our_flow()
    check("compressed returns behind a guest", flow == expected and [gap["cause"] for gap in gaps] == ["guest"] * 4, hexes(flow), hexes(expected), gaps)
    check("compressed returns behind a guest: the engines agree", run(DUMP, "verify", "out.ptl").returncode == 0)
    if have_perf:
        theirs = perf_flow("compressed.data")
        check("compressed returns behind a guest: perf executes no other instruction", len(theirs) > 10 and is_within(theirs, expected),
              hexes(theirs), hexes(expected))


def begins_in_guest(machine):
    """A snapshot: the first packets are the guest's, and so is a later PSB."""
    story = machine.story()
    story.psb(GUEST, "alias")
    story.add("tnt tn", "tip alias")
    story.psb(GUEST, "alias")
    story.add("tnt t")
    story.leave("alias")
    story.add("tnt n", "tip back", "tip again+2")
    story.system_call(KERNEL_GUEST, USER_GUEST)
    story.add("tip.pgd -")
    machine.convert("begins.data", story)
    all_ = host_instructions(story, 2)
    last = len(all_) - 1 - all_[::-1].index(story.at["entry_SYSCALL_64"])
    first = last - all_[:last][::-1].index(story.at["vm_exit"]) - 1
    for engine in ENGINES:
        flow, gaps = our_flow("--engine", engine)
        expected = all_[first:] if engine == "native" else []
        check(f"PSB+ in a guest: the guest is a gap ({engine})", flow == expected and
              [gap["cause"] for gap in gaps] == ["guest"] * (4 if engine == "native" else 2), hexes(flow), hexes(expected), gaps)


def overflow(machine):
    """An overflow may lose the PIP of a VM exit or entry: behind a guest, only the next PIP tells."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.add("tip entry_SYSCALL_64", GUEST, "tip alias", "tnt t", "ovf", "fup alias", "tnt tttt")
    story.leave("alias")
    story.add("tnt t", GUEST, "tip vm_code", "ovf", "fup vm_exit", "tnt n", "tip back", "tip again+2", "tip entry_SYSCALL_64")
    story.psb(HOST, "do_syscall_64")
    story.add(GUEST, "tip alias")
    machine.convert("overflow.data", story)
    flow, gaps = our_flow()
    at = story.at
    enter = at["do_syscall_64"] + 5
    expected = [*host_instructions(story, 0)[:1], at["again"], *(at["entry_SYSCALL_64"] + n for n in (0, 3, 4)), at["do_syscall_64"], enter,
                at["vm_exit"], at["vm_exit"] + 2, enter, at["do_syscall_64"], enter]
    check("an overflow in a guest: no flow before the next PIP", flow == expected and [gap["cause"] for gap in gaps] ==
          ["guest", "overflow", "guest", "guest", "overflow", "guest", "guest"], hexes(flow), hexes(expected), gaps)


def recorded_in_guest(machine):
    """All PIPs have NR: the guest itself was recorded, and its code is in the trace."""
    story = machine.story()
    story.psb(GUEST, "vm_code")
    for _ in range(3):
        story.add("tnt ttn", "tip vm_code+3")
        story.psb(GUEST, "vm_code+3")
    story.add("tip.pgd -")
    machine.convert("within.data", story)
    for engine in ENGINES:
        flow, gaps = our_flow("--engine", engine)
        check(f"recorded in a guest: all is decoded ({engine})", len(flow) > 10 and set(flow) <= {story.at["vm_code"] + n for n in range(8)} and
              "guest" not in [gap["cause"] for gap in gaps], hexes(flow), gaps)


def own_clock(machine):
    """A guest's TSC has an offset to the host's: no time of the host's flow, and no PSB, is the guest's."""
    story = machine.story()
    story.psb(HOST, "_start")
    begin = story.now
    story.add("tip entry_SYSCALL_64", GUEST, "tip alias")
    for lead in (10**12, -story.now + 1000):
        story.add("psb", f"tsc {story.now + lead:#x}", GUEST, f"vmcs {VMCS:#x}", "mode.exec 64", "fup alias", "psbend", f"tsc {story.now + lead:#x}")
    story.add("fup alias", HOST, "tip vm_exit", "tnt n")
    story.psb(HOST, "do_syscall_64")
    story.add(GUEST, "tip alias")
    machine.convert("clock.data", story)
    # perf's conversion with a shift of 0 rounds down.
    begin, end = begin - 1, story.now
    times = [json.loads(line) for line in run(DUMP, "flow", "-l", "insn", "--json", "out.ptl").stdout.splitlines()]
    wrong = [event for event in times if event["type"] != "thread" and event.get("time") and not begin <= event["time"] <= end]
    check("a guest's TSC gives no time", len(times) > 8 and not wrong, wrong[:3], begin, end)


def times_of(name, start):
    """Returns the times of the host's instructions and gaps in out.ptl, and the times of the instructions in perf's output."""
    events = [json.loads(line) for line in run(DUMP, "flow", "-l", "insn", "--json", "out.ptl").stdout.splitlines()]
    shown = run("perf", "script", "-i", name, "--itrace=i0ns", "--ns", "-F", "tid,time,ip").stdout if have_perf else ""
    return ([event["time"] + start for event in events if event["type"] in ("instruction", "gap")],
            [int(match[1] + match[2]) for match in re.finditer(r"^ *\d+ +(\d+)\.(\d{9}): +[0-9a-f]+$", shown, re.MULTILINE)])


def begins_in_own_clock(machine):
    """
    The first PSB lies in a guest whose TSC has an offset, before any PSB of the host: the host's flow has the host's times. perf's
    times are right only without an offset.
    """
    for kind, lead, timed in (("ahead", 5 * 10**9, True), ("behind", -2 * 10**9, True), ("ahead, records without times", 5 * 10**9, False),
                              ("behind, records without times", -2 * 10**9, False), ("equal", 0, True)):
        story = machine.story()
        story.now += 2 * 10**9
        begin = story.now
        for tsc in (begin, begin + 10):
            story.add("psb", f"tsc {tsc + lead:#x}", GUEST, f"vmcs {VMCS:#x}", "mode.exec 64", "fup alias", "psbend", "tnt tn", "tip alias")
        story.now += 1000
        story.leave("alias")
        story.add("tnt n", "tip back", "tip again+2")
        story.system_call(KERNEL_GUEST, USER_GUEST)
        story.add("tip.pgd -")
        start = begin - 500 if timed else 0
        machine.convert("offset.data", story, started=start)
        clock = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["clock"]
        ours, theirs = times_of("offset.data", clock["start_time"])
        check(f"the first PSB lies in a guest, TSC {kind}: the host's times", len(ours) > 10 and ours == sorted(ours) and
              begin <= ours[0] <= begin + 2000 and ours[-1] == story.now and begin - 500 <= clock["start_time"] <= begin + 2000, ours, begin,
              story.now, clock)
        if not lead and have_perf:
            check("the first PSB lies in a guest: perf's times lie in the same interval", len(theirs) > 10 and
                  begin <= min(theirs) and max(theirs) <= story.now, theirs, begin, story.now)


def guest_code(machine):
    """--guest-code: the guest's code is the hypervisor's user code. A guest with code in the kernel's half stays a gap."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(USER_GUEST, ("vm_code", ["tnt ttn"], "vm_code+3"))
    story.add("tip.pgd -")
    done = machine.convert("shared.data", story, "--guest-code")
    host, at = host_instructions(story, 1), story.at["vm_code"]
    first = host.index(story.at["vm_exit"])
    second = first + 1 + host[first + 1:].index(story.at["vm_exit"])
    expected = [*host[:first], at, at + 1, *host[first:second], *([at, at + 1] * 3), *host[second:]]
    for engine in ENGINES:
        flow, gaps = our_flow("--engine", engine)
        check(f"--guest-code: guests execute the hypervisor's code ({engine})", done.returncode == 0 and flow == expected and not gaps,
              done, hexes(flow), hexes(expected), gaps)
    if have_perf:
        theirs = perf_flow("shared.data", "--guest-code")
        check("perf script --guest-code executes the same instructions", theirs == expected, hexes(theirs), hexes(expected))
    else:
        skip("perf --guest-code", "there is no perf here: apt-get install linux-perf")
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(KERNEL_GUEST, USER_GUEST)
    story.add("tip.pgd -")
    machine.convert("shared.data", story, "--guest-code")
    flow, gaps = our_flow()
    check("--guest-code: no guest executes the host's kernel", flow == host and len(gaps) == 2, hexes(flow), gaps)


def guest_records(machine):
    """perf inject --guest-data: processes of a guest are processes of a machine of their own, whatever their pids."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.add("tip.pgd -")
    file = HostFile(machine.program)
    file.reference, name = story.now, machine.program[0]
    file.packets(perf_file.assemble(story.packets), 0, tid=TID)
    file.more = [(1, 9, perf_file.SAMPLE_TYPE, 0, ())]
    entries = [(1, 0, 0, TID, 0, 0xffffffffffffffff), (2, 0, 5, TID, PID, 1)]
    file.first = perf_file.entry(69, struct.pack("<Q", 2) + b"".join(struct.pack("<QQQQ", *entry[:4]) for entry in entries) +
                                 b"".join(struct.pack("<QQ", *entry[4:]) for entry in entries))
    host_trailer, file.trailer = file.trailer, lambda pid, tid, tsc, cpu=5: struct.pack(
        "<IIQIIQ", pid, tid, file.time(tsc) if tsc else 0, cpu, 0, 2)
    file.program(PID, TID, "init")
    file.map(PID, TID, 0x401000, 4096, 0, 5, name, os.stat(name), 2)
    file.map(NOBODY, 0, TEXT, 4096, 0, 5, "[guest.kernel.kallsyms]_text", None, 2)
    file.fork(7, PID, 7, story.now)
    file.trailer = host_trailer
    for form, data in (("a file", file.bytes()), ("a pipe", file.pipe())):
        write("records.data", data)
        done = run(RELOG, "-f", "-q", "records.data", "-o", "out.ptl")
        found = {process["pid"]: process for process in map(json.loads, run(DUMP, "processes", "--json", "out.ptl").stdout.splitlines())}
        images = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
        own = {image["pid"]: image for image in images if image["path"] == name}
        check(f"records of a guest, {form}: its process is another machine's", done.returncode == 0 and PID in found and
              10**7 + PID in found and 10**7 + 7 in found and 7 not in found and "init" in found[10**7 + PID]["name"] and
              "init" not in found[PID]["name"], done, found)
        check(f"records of a guest, {form}: a file of the host is not the guest's without a build id", own[PID]["code"] and
              not own[10**7 + PID]["code"], own[PID], own[10**7 + PID])
        kernels = {image["pid"]: image for image in images if "kernel" in image["path"]}
        check(f"records of a guest, {form}: its kernel is another machine's", 10**7 in kernels and not kernels[10**7]["code"], kernels)
        machines = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout).get("other_machines", [])
        check(f"records of a guest, {form}: the machine is named by the process that runs it",
              any(f"virtual machine of process {PID}" in json.dumps(other) for other in machines), machines)
    broken = bytearray(file.bytes())
    at = broken.index(file.first) + 8
    for count in (0, 3, 2**32, 2**64 - 1):
        struct.pack_into("<Q", broken, at, count)
        write("records.data", bytes(broken))
        done = run(RELOG, "-f", "-q", "records.data", "-o", "out.ptl")
        check(f"an index of {count} events: is read", done.returncode == 0, done)


def main():
    machine = Machine()
    guests_are_gaps(machine)
    compressed_returns(machine)
    begins_in_guest(machine)
    overflow(machine)
    recorded_in_guest(machine)
    own_clock(machine)
    begins_in_own_clock(machine)
    guest_code(machine)
    guest_records(machine)


main()
plan()
