#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A host's perf.data with the records of a guest's own perf.data (perf inject --guest-data): the flow of each virtual CPU belongs to
# the guest's processes. perf makes the file, and is the judge.
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from scratch_test import DUMP, RELOG, check, path, plan, run, skip, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import kernel_image_test  # noqa: E402
import perf_file  # noqa: E402
import perf_guest_file  # noqa: E402
from kernel_image_test import TEXT  # noqa: E402
from perf_guest_file import GUEST, HOST, NOBODY, PID, TID, HostFile, Machine, host_instructions  # noqa: E402

ENGINES = ("native", "libipt", "libipt-insn")
OFFSET = 5 * 10**8              # TSC of the guest minus TSC of the host
MACHINE = 10**7                 # ids of the first machine of a guest
FIRST, SECOND, GUEST_CPUS = 7, 8, 2
KERNEL = 1
GUEST_KERNEL = """
    .globl _start, entry_SYSCALL_64, do_syscall_64, _etext, _stext, after, __switch_to, switched, alias
_start:
_stext:
    nop
    nop
entry_SYSCALL_64:
    swapgs
    push %rcx
    call do_syscall_64
after:
    pop %rcx
    swapgs
    sysretq
do_syscall_64:
    push %rbx
    call __switch_to
switched:
    pop %rbx
    ret
    .skip 16, 0xcc
__switch_to:
    mov %rsp, %rax
    ret
alias:
    ret
_etext:
""" + perf_guest_file.MODULES
GUEST_PROGRAM = """
    .globl _start, loop, call
_start:
loop:
    dec %ecx
    jnz loop
call:
    syscall
    jmp loop
"""


class GuestFile(perf_file.File):
    """A guest's own perf.data, without packets: times are those of the guest's TSC."""
    user = 2


    def info(self):
        return b""

    def attrs(self):
        flags = 1 << 18 | 1 << 24 | 1 << 26 | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23
        return [struct.pack("<IIQQQQQ", 1, 128, 9, 1, perf_file.SAMPLE_TYPE, 0, flags).ljust(128, b"\0")] * GUEST_CPUS

    def trailer(self, pid, tid, tsc, cpu=0):
        return struct.pack("<IIQIIQ", pid, tid, tsc + OFFSET if tsc else 0, cpu, 0, 1 + cpu)


def link(name, source, address):
    """Makes a program with a build id. Returns its symbols, the offset of its code, and its build id."""
    write(name + ".s", source.encode())
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=sha1", f"-Wl,-Ttext={address:#x}", "-o", path(name),
                    path(name + ".s")], check=True)
    names = subprocess.run(["nm", path(name)], capture_output=True, text=True, check=True).stdout
    shown = subprocess.run(["readelf", "-lnW", path(name)], capture_output=True, text=True, check=True).stdout
    offset = [int(line.split()[1], 16) for line in shown.splitlines() if line.split()[:1] == ["LOAD"] and "R E" in line][0]
    return ({symbol: int(at, 16) for at, _, symbol in map(str.split, names.splitlines())}, offset,
            bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", shown)[1]))


class Guest:
    """The guest's kernel and program. What its flow consists of: the first address, the packets, the address of the VM exit."""

    def __init__(self):
        kernel_image_test.SOURCE = GUEST_KERNEL
        self.kernel = kernel_image_test.Kernel()
        self.program, self.offset, self.build_id = link("app", GUEST_PROGRAM, 0x401000)
        listed = "".join(f"{self.kernel.symbols[name]:016x} t {name}\n" for name in (
            "_stext", "entry_SYSCALL_64", "do_syscall_64", "__switch_to", "alias", "_etext"))
        self.kernel.kallsyms = lambda: listed
        self.at = {**self.kernel.symbols, **self.program}
        at = self.at
        loop, enter = at["loop"], at["entry_SYSCALL_64"]
        work, over, back, after = at["do_syscall_64"], at["__switch_to"], at["switched"], at["after"]
        self.loop = [loop, loop + 2]
        self.enter = [at["call"], enter, enter + 3, enter + 4]
        self.work = [work, work + 1]
        self.switch = [over, over + 3, back, back + 1, after, after + 1, after + 4, at["call"] + 2]

    def user(self, times):
        """Returns a stretch in the program's loop."""
        return hex(self.at["loop"]), ["tnt " + "t" * (times - 1) + "n"], hex(self.at["call"])

    def call(self):
        """Returns a stretch from the program into the kernel."""
        return hex(self.at["call"]), [f"tip {self.at['entry_SYSCALL_64']:#x}"], hex(self.at["do_syscall_64"])

    def back(self, compressed=False, first="do_syscall_64", inside=()):
        """Returns a stretch in which the kernel switches threads, and goes back to the program."""
        returns = ["tnt tt"] if compressed else [f"tip {self.at['switched']:#x}", f"tip {self.at['after']:#x}"]
        return hex(self.at[first]), [*inside, *returns, f"tip {self.at['call'] + 2:#x}"], hex(self.at["loop"])

    def file(self, switches, name="guest.data", build_id=None):
        """Writes the guest's perf.data. switches: (time, CPU, thread, next thread). build_id: of the program, in mappings."""
        file = GuestFile(switches=3)
        file.first = perf_file.entry(69, struct.pack("<Q", GUEST_CPUS) + b"".join(
            struct.pack("<QQQQ", 1 + cpu, cpu, cpu, 2**64 - 1) for cpu in range(GUEST_CPUS)))
        for pid in (FIRST, SECOND):
            file.program(pid, pid, "app")
            file.map(pid, pid, 0x401000, 4096, self.offset, 5, path("app"), None, 0, build_id)
        body = struct.pack("<IIQQQ", NOBODY, 0, TEXT, 4096, TEXT) + perf_file.text("[kernel.kallsyms]_stext")
        file.records.append(perf_file.entry(1, body + bytes(-len(body) % 8) + file.trailer(0, 0, 0), KERNEL))
        for time, cpu, before, after in switches:
            file.switch_out(before, before, after, time, cpu)
            file.switch_in(after, after, before, time + 1, cpu)
        name_of_app = perf_file.text(path("app"))
        name_of_app += bytes(-len(name_of_app) % 64)
        file.features[2] = struct.pack("<IHHI", 0, 2 | 0x8000, 36 + len(name_of_app), NOBODY) + self.build_id.ljust(20, b"\0") + \
            bytes([20, 0, 0, 0]) + name_of_app
        perf_guest_file.show(self.kernel, name, file)
        return file


def host_file(machine, **options):
    """The host's perf.data: two threads of the hypervisor run virtual CPUs, as their names tell."""
    file = HostFile(machine.program, **options)
    for number in range(GUEST_CPUS):
        file.program(PID, TID + number, f"CPU {number}/KVM")
    file.records.append(perf_file.entry(82, b""))
    return file


def inject(machine, file, *more):
    perf_guest_file.show(machine.kernel, "host.data", file)
    shutil.rmtree(path("both.data"), ignore_errors=True)
    return run("perf", "inject", "-i", "host.data", f"--guest-data=guest.data,{PID},{OFFSET}", "-o", "both.data", *more)


def our_flow(*options, trace="out.ptl"):
    """Returns the addresses executed by each thread, and the gaps of each thread."""
    flow, gaps = {}, {}
    for line in run(DUMP, "flow", "-l", "insn", "--json", *options, trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow.setdefault(event["tid"], []).append(int(event["ip"], 16))
        elif event["type"] == "gap":
            gaps.setdefault(event["tid"], []).append(event)
    return flow, gaps


def perf_flow(name, *options):
    """Returns the addresses that perf executes on each virtual CPU. perf also counts VMRESUME, which is the host's."""
    found = {}
    shown = run("perf", *options, "script", "-i", name, "--itrace=i0ns", "-F", "tid,ip,machine_pid,vcpu").stdout
    for line in shown.splitlines():
        match = re.match(rf"VM: +{PID} VCPU:(\d+) +(?:\d+/)?-?\d+ +([0-9a-f]+)$", line)
        if match and int(match[2], 16) != TEXT + 0x15:
            found.setdefault(int(match[1]), []).append(int(match[2], 16))
    return found


def hexes(flows):
    return {tid: list(map(hex, flow)) for tid, flow in flows.items()}


def judge(name, host, guests, order, gaps=(), engines=ENGINES):
    """
    host: instructions of the host's threads. guests: instructions of the guest's threads. order: those of each virtual CPU in order; None: unknown to perf.
    gaps: causes of gaps in guests.
    """
    done = run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
    check(f"{name}: is read", done.returncode == 0, done)
    for engine in engines:
        flow, found = our_flow("--engine", engine)
        own = {tid - MACHINE: ips for tid, ips in flow.items() if tid >= MACHINE}
        check(f"{name}: the guest's threads execute their code ({engine})", own == guests, hexes(own), hexes(guests))
        causes = [gap["cause"] for tid, list_ in found.items() if tid >= MACHINE for gap in list_]
        check(f"{name}: gaps of the guest ({engine})", causes == list(gaps), found)
        if engine == "native":
            theirs = {tid: ips for tid, ips in flow.items() if tid < MACHINE}
            check(f"{name}: the host's flow", theirs == host, hexes(theirs), hexes(host))
    done = run(DUMP, "verify", "out.ptl")
    check(f"{name}: the engines agree", done.returncode == 0, done)
    # perf leaves TEXT_POKE of guests out.
    if order is not None:
        theirs = perf_flow("both.data")
        check(f"{name}: perf executes the same on each virtual CPU", theirs == order, hexes(theirs), hexes(order))
    exported(name, order)


def exported(name, order):
    """ptl-dump perf writes a file in the form of perf inject --guest-data."""
    for place in ("again.data", "again.data.debug"):
        shutil.rmtree(path(place), ignore_errors=True)
    done = run(DUMP, "perf", "-f", "--kcore", "-o", "again.data", "out.ptl")
    check(f"{name}: is exported", done.returncode == 0 and ("left out" not in done.stderr or order is None), done)
    if order is not None:
        theirs = perf_flow("again.data", "--buildid-dir", path("again.data.debug"))
        check(f"{name}: perf executes the same of the exported file", theirs == order, hexes(theirs), hexes(order))
    run(RELOG, "-f", "-q", "--buildid-dir", "again.data.debug", "again.data", "-o", "again.ptl")
    first, again = our_flow()[0], our_flow(trace="again.ptl")[0]
    check(f"{name}: ptl-relog reads the same flow of the exported file", first == again, hexes(first), hexes(again))


def of_a_thread(machine, guest):
    """A ring of the thread that runs the virtual CPU. The guest's kernel switches threads."""
    for kind, compressed in (("", False), (", compressed returns", True)):
        story = machine.story()
        story.psb(HOST, "_start")
        started = story.now
        story.system_call(guest.call(), guest.back(compressed))
        story.system_call(guest.user(2), guest.call())
        story.add("tip.pgd -")
        guest.file([(started, 0, 0, FIRST), (started + 2001, 0, FIRST, SECOND)])
        file = host_file(machine)
        if compressed:
            file.config = perf_file.TSC
        file.reference = story.now
        file.packets(perf_file.assemble(story.packets), 0, tid=TID)
        inject(machine, file)
        first, second = guest.enter + guest.work, guest.switch + guest.loop * 2 + guest.enter
        judge(f"a thread{kind}", {TID: host_instructions(story, 2)}, {FIRST: first, SECOND: second}, {0: first + second})
    report = run(DUMP, "report", "out.ptl").stdout
    check("functions of the guest's kernel and program have names", "__switch_to" in report and "app" in report, report)


def of_samples(machine, guest):
    """Packets in samples (perf record --aux-sample), of a thread and of a CPU: the second sample lacks packets, the third overlaps it."""
    for per_cpu in (0, 1):
        name = "samples of a CPU" if per_cpu else "samples of a thread"
        parts = []
        for number in range(3):
            story = machine.story()
            story.now += number * 10**5
            story.psb(HOST, "_start")
            story.system_call(guest.user(2), guest.user(3 + number))
            story.add("tip.pgd -")
            parts.append((story, perf_file.assemble(story.packets)))
        # perf inject drops the table of build ids from a file whose only packets are in samples.
        guest.file([(parts[0][0].now - 8000, 0, 0, FIRST)], build_id=guest.build_id)
        file = host_file(machine, per_cpu=per_cpu, switches=3 * per_cpu)
        file.index(0 if per_cpu else perf_file.EVERYWHERE, perf_file.EVERYWHERE if per_cpu else TID)
        if per_cpu:
            file.switch_in(PID, TID, 0, parts[0][0].now - 8000)
        for number, data in enumerate((parts[0][1], parts[1][1], parts[1][1] + parts[2][1])):
            file.sample(data, PID, TID, parts[number][0].now + 100)
        inject(machine, file)
        done = run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
        flow, gaps = our_flow()
        whole = [host_instructions(story, 1) for story, _ in parts]
        check(f"{name}: the host's flow", done.returncode == 0 and flow.get(TID) == sum(whole, []), done, hexes(flow))
        own = flow.get(MACHINE + FIRST, [])
        check(f"{name}: the guest's threads execute their code", own == guest.loop * (5 + 6 + 7), hexes({FIRST: own}), gaps)
        theirs = [address for address in perf_flow("both.data").get(0, []) if address != guest.at["call"]]
        check(f"{name}: perf executes the same, and SYSCALL where a sample ends", theirs == own, hexes({FIRST: own, 0: theirs}))
        times = times_of(MACHINE + FIRST)
        check(f"{name}: times are the host's", None not in times and times == sorted(times) and parts[0][0].now - 6000 <= times[0] and
              times[-1] <= parts[2][0].now, times, parts[0][0].now)
        check(f"{name}: the engines agree", run(DUMP, "verify", "out.ptl").returncode == 0)
        losses = run(DUMP, "info", "out.ptl").stdout
        check(f"{name}: the packets between samples are a loss", "--aux-sample" in losses and "no virtual CPU" not in losses, losses)


def of_cpus(machine, guest):
    """Rings of CPUs: the threads of two virtual CPUs take turns on two CPUs, and change the CPU."""
    stories = [machine.story() for _ in range(2)]
    file = host_file(machine, per_cpu=1, switches=3)
    for story in stories:
        story.add("psb", f"tsc {story.now:#x}", HOST, "mode.exec 64", "psbend")
    start, now = stories[0].now, stories[0].now + 1000
    turns = [(0, 0, [guest.user(2), guest.call()], guest.loop * 2 + guest.enter),
             (0, 1, [guest.user(3), guest.call()], guest.loop * 3 + guest.enter),
             (1, 0, [guest.back(first="__switch_to"), guest.user(1)], guest.switch + guest.loop),
             (0, 1, [guest.back(first="__switch_to"), guest.user(4)], guest.switch + guest.loop * 4),
             (0, 0, [guest.user(2), guest.user(3)], guest.loop * 5)]
    order, latest, host = {0: [], 1: []}, [0, 0], {TID: [], TID + 1: []}
    for cpu, vcpu, guests, executed in turns:
        story = stories[cpu]
        file.switch_out(latest[cpu] and PID, latest[cpu], TID + vcpu, now, cpu, PID)
        file.switch_in(PID, TID + vcpu, latest[cpu], now + 1, cpu)
        latest[cpu] = TID + vcpu
        story.now = now + 100
        story.add(f"tsc {story.now:#x}", f"tip.pge {story.at['_start']:#x}")
        story.system_call(*guests)
        story.add("tip.pgd -", f"tsc {story.now + 100:#x}")
        order[vcpu] += executed
        host[TID + vcpu] += host_instructions(story, 1)
        now = story.now + 1000
    for cpu, story in enumerate(stories):
        file.reference = now
        file.packets(perf_file.assemble(story.packets), cpu, cpu=cpu)
    guest.file([(start, 0, 0, FIRST), (start, 1, 0, SECOND)])
    inject(machine, file)
    judge("rings of CPUs", host, {FIRST: order[0], SECOND: order[1]}, order, engines=("native",))


def begins_and_ends(machine, guest):
    """A PSB in the guest, an overflow, and the end of the packets in the guest."""
    story = machine.story()
    story.psb(GUEST, f"{guest.at['loop']:#x}")
    start = story.now
    story.add("tnt tn")
    story.psb(GUEST, f"{guest.at['call']:#x}")
    story.add(f"tip {guest.at['entry_SYSCALL_64']:#x}")
    story.leave(hex(guest.at["do_syscall_64"]))
    story.add("tnt n", "tip back", "tip again+2")
    story.system_call(guest.user(1), guest.user(2))
    story.add("tip entry_SYSCALL_64", GUEST, f"tip {guest.at['loop']:#x}", "tnt t", "ovf", f"fup {guest.at['loop']:#x}", "tnt tttt")
    story.leave(hex(guest.at["loop"]))
    story.psb(HOST, "vm_exit")
    story.add("tnt t", GUEST, f"tip {guest.at['loop']:#x}", "tnt tt")
    guest.file([(start - 500, 0, 0, FIRST)])
    file = host_file(machine)
    file.reference = story.now
    file.packets(perf_file.assemble(story.packets), 0, tid=TID)
    inject(machine, file)
    done = run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
    flow, gaps = our_flow()
    expected = guest.loop * 2 + guest.enter + guest.loop * 3 + guest.loop + guest.loop * 2
    own = flow.get(MACHINE + FIRST, [])
    check("PSB and overflow in a guest: the guest's flow", done.returncode == 0 and own == expected, done, hexes({FIRST: own, 0: expected}))
    causes = [gap["cause"] for gap in gaps.get(MACHINE + FIRST, [])]
    check("PSB and overflow in a guest: gaps", causes == ["overflow"], causes)


def own_clock(machine, guest):
    """TSC packets of the guest have its offset, or perf inject --vm-time-correlation has corrected the packets."""
    for kind, lead, skew in (("of the guest", OFFSET * 10, 0), ("corrected", 0, 5000)):
        story = machine.story()
        story.psb(HOST, "_start")
        begin = story.now
        story.add("tip entry_SYSCALL_64")
        story.time()
        story.add(GUEST, f"tip {guest.at['loop']:#x}")
        for number in range(2):
            tsc = story.now + skew * (number + 1) + lead
            story.add("psb", f"tsc {tsc:#x}", GUEST, "mode.exec 64", f"fup {guest.at['loop']:#x}", "psbend", f"tsc {tsc:#x}", "tnt tn",
                      f"tip {guest.at['entry_SYSCALL_64']:#x}", f"tip {guest.at['loop']:#x}")
        story.now += 2 * skew
        story.leave(hex(guest.at["loop"]))
        story.add("tnt n", "tip back", "tip again+2", "tip.pgd -")
        story.time()
        guest.file([(begin, 0, 0, FIRST)])
        file = host_file(machine)
        file.reference = story.now
        file.packets(perf_file.assemble(story.packets), 0, tid=TID)
        inject(machine, file)
        run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
        events = [json.loads(line) for line in run(DUMP, "flow", "-l", "insn", "--json", "--tid", str(MACHINE + FIRST), "out.ptl").stdout.splitlines()]
        times = [event["time"] for event in events if event["type"] == "instruction"]
        check(f"TSC {kind}: times are the host's", len(times) == 24 and times == sorted(times) and
              begin <= times[0] and times[-1] <= story.now and (times[-1] - times[0] >= skew), times, begin, story.now)


def times_of(tid):
    """Returns the times of a thread's instructions in out.ptl, as the host's TSC; None: the time is unknown."""
    clock = json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["clock"]
    shown = run(DUMP, "flow", "-l", "insn", "--json", "--tid", str(tid), "out.ptl").stdout
    times = [event.get("time") for event in map(json.loads, shown.splitlines()) if event["type"] == "instruction"]
    return [time and time + clock["start_time"] - clock["tsc_zero"] for time in times]


def begins_in_own_clock(machine, guest):
    """A segment begins in a guest whose TSC has an offset: of a thread's ring, and of a CPU that runs a second virtual CPU, too."""
    loop = f"{guest.at['loop']:#x}"
    for per_cpu in (0, 1):
        story = machine.story()
        begin = story.now
        story.add("psb", f"tsc {story.now + OFFSET * 10:#x}", GUEST, "mode.exec 64", f"fup {loop}", "psbend", "tnt tn",
                  f"tip {guest.at['entry_SYSCALL_64']:#x}")
        story.leave(hex(guest.at["do_syscall_64"]))
        story.add("tip.pgd -")
        switched = story.now + 500
        story.time()
        story.add(f"tip.pge {story.at['_start']:#x}", "tip entry_SYSCALL_64", GUEST, f"tip {loop}", "tnt tn",
                  f"tip {guest.at['entry_SYSCALL_64']:#x}")
        story.leave(hex(guest.at["do_syscall_64"]))
        story.add("tip.pgd -")
        file = host_file(machine, per_cpu=per_cpu, switches=3 * per_cpu, zero=7 * 10**8)
        if per_cpu:
            file.switch_out(PID, TID, TID + 1, switched, 0, PID)
            file.switch_in(PID, TID + 1, TID, switched + 1)
        file.reference = story.now
        file.packets(perf_file.assemble(story.packets), 0, **({"cpu": 0} if per_cpu else {"tid": TID}))
        guest.file([(begin - 800, 0, 0, FIRST), (begin - 800, 1, 0, SECOND)])
        inject(machine, file)
        done = run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
        times = times_of(MACHINE + (SECOND if per_cpu else FIRST))
        name = "a segment of a CPU" if per_cpu else "a segment of a thread"
        check(f"{name} that begins in a guest: no time is the guest's", done.returncode == 0 and len(times) == 8 * (2 - per_cpu) and
              all(time is None or begin - 1000 <= time <= story.now for time in times) and times[-1] is not None, done, times, begin)
        losses = run(DUMP, "info", "out.ptl").stdout
        # The first virtual CPU of the CPU is unknown, as the time is.
        check(f"{name} that begins in a guest: what is lost is told", ("no virtual CPU" in losses) == bool(per_cpu), losses)


def changed_code(machine, guest):
    """TEXT_POKE and KSYMBOL of the guest's kernel change the code of the guest, not of the host."""
    story = machine.story()
    story.psb(HOST, "_start")
    started = story.now
    story.system_call(guest.call(), guest.back())
    poked = story.now
    story.system_call((hex(guest.at["alias"]), ["tnt n"], hex(guest.at["alias"] + 2)), guest.user(1))
    story.add("tip.pgd -")
    file = guest.file([(started, 0, 0, FIRST)])
    address = guest.at["alias"]
    file.records.append(perf_file.entry(20, struct.pack("<QHH", address, 3, 3) + bytes.fromhex("c3cccc" + "75fec3") + bytes(6) +
                                        file.trailer(0, 0, poked - 200), KERNEL))
    body = struct.pack("<QIHH", TEXT + 0x100000, 64, 2, 0) + perf_file.text("out_of_line")
    file.records.append(perf_file.entry(17, body + bytes(-len(body) % 8) + file.trailer(0, 0, poked - 100), KERNEL))
    perf_guest_file.show(guest.kernel, "guest.data", file)
    host = host_file(machine)
    host.reference = story.now
    host.packets(perf_file.assemble(story.packets), 0, tid=TID)
    inject(machine, host)
    expected = guest.enter + guest.work + guest.switch + [address] + guest.loop
    judge("changed code", {TID: host_instructions(story, 2)}, {FIRST: expected}, None)
    images = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
    check("code that the guest's kernel made", [image["pid"] for image in images if "out_of_line" in image["path"]] == [MACHINE], images)


def unknown_cpus(machine, guest):
    """A thread without a virtual CPU that perf.data names: its guest is a gap, and a loss tells so."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(guest.user(1), guest.call())
    story.add("tip.pgd -")
    guest.file([(story.now - 5000, 0, 0, FIRST)])
    file = host_file(machine)
    file.program(PID, TID + 7, "worker")
    file.reference = story.now
    file.packets(perf_file.assemble(story.packets), 0, tid=TID + 7)
    inject(machine, file)
    run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
    flow, gaps = our_flow()
    losses = run(DUMP, "info", "out.ptl").stdout
    check("an unknown virtual CPU: gaps that name the guest", flow == {TID + 7: host_instructions(story, 1)} and
          [gap["cause"] for gap in gaps[TID + 7]] == ["guest"] * 2, hexes(flow), gaps)
    check("an unknown virtual CPU: a loss", "no virtual CPU" in losses, losses)


def damaged(machine, guest):
    """Bytes that are no packets, and files that end early, are read."""
    story = machine.story()
    story.psb(HOST, "_start")
    story.system_call(guest.user(3), guest.call())
    packets = perf_file.assemble(story.packets)
    guest.file([(story.now - 5000, 0, 0, FIRST)])
    file = host_file(machine)
    file.reference = story.now
    for size in (1, 3, 7, 16):
        for at in range(0, len(packets), size):
            file.packets(packets[at:at + size], 0, tid=TID)
    inject(machine, file)
    with open(path("both.data/data"), "rb") as made:
        whole = made.read()
    failed = []
    for number in range(0, len(whole), 41):
        broken = bytearray(whole)
        broken[number] ^= 0xff
        for data in (bytes(broken), whole[:number]):
            write("both.data/data", data)
            done = run(RELOG, "-f", "-q", "both.data", "-o", "out.ptl")
            if done.returncode not in (0, 1, 3):
                failed.append((number, done.returncode, done.stderr))
    check("damaged files: each is read or refused", not failed, *failed[:3])


def main():
    if not shutil.which("perf"):
        skip("perf inject --guest-data", "there is no perf here: apt-get install linux-perf")
        return
    machine = Machine()
    guest = Guest()
    of_a_thread(machine, guest)
    of_samples(machine, guest)
    of_cpus(machine, guest)
    begins_and_ends(machine, guest)
    own_clock(machine, guest)
    begins_in_own_clock(machine, guest)
    changed_code(machine, guest)
    unknown_cpus(machine, guest)
    damaged(machine, guest)


main()
plan()
