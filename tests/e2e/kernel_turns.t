#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of CPUs whose kernel is traced, too, so that context switches are flow: threads of one and of several processes,
# which go from CPU to CPU, by system calls and interrupts. What each of them executed is known, instruction by instruction.
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402
from cpu_test import Cpu, executed  # noqa: E402
from perf_file import assemble  # noqa: E402
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, without_randomisation, write  # noqa: E402

PROGRAMS = os.environ["PTL_PROGRAMS"]
TEXT = 0xffffffff81000000
SOURCE = """
    .globl _start
_start:
entry_SYSCALL_64:
    swapgs
    push %rcx
    test %rax, %rax
    jz system_call_exit
system_call_schedule:
    call schedule
system_call_exit:
    pop %rcx
    swapgs
    sysretq
asm_interrupt:
    push %rax
    call schedule
interrupt_exit:
    pop %rax
    iretq
idle:
    hlt
    call schedule
idle_again:
    jmp idle
schedule:
    push %rbx
    test %rdx, %rdx
    jz same_space
other_space:
    mov %rax, %cr3
same_space:
    call __switch_to_asm
schedule_exit:
    pop %rbx
    ret
__switch_to_asm:
    push %rbp
    xchg %rsp, (%rdi)
    pop %rbp
    jmp __switch_to
__switch_to:
    mov %rdi, %rax
    test %rsi, %rsi
    jz switched
switch_more:
    nop
switched:
    ret
_etext:
"""
IDLE = (0, 0)


class Kernel:
    def __init__(self):
        write("kernel.s", SOURCE.encode())
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", f"-Wl,-Ttext={TEXT:#x}", "-o",
                        path("kernel.elf"), path("kernel.s")], check=True)
        subprocess.run(["objcopy", "-O", "binary", "-j", ".text", path("kernel.elf"), path("kernel.bin")], check=True)
        self.symbols = {name: int(address, 16) for address, _, name in map(str.split, subprocess.run(
            ["nm", path("kernel.elf")], capture_output=True, text=True, check=True).stdout.splitlines())}
        listing = subprocess.run(["objdump", "-d", path("kernel.elf")], capture_output=True, text=True, check=True).stdout
        self.instructions = sorted(int(match, 16) for match in re.findall(r"^ *(ffffffff[0-9a-f]+):\t", listing, re.M))
        names = "".join(f"{address:x} T {name}\n" for name, address in self.symbols.items() if address >= TEXT)
        write("names.txt", names.encode())
        write("nameless.txt", names.replace("__switch_to\n", "something\n").encode())
        for rules, file in (("kernel.rules", "names.txt"), ("nameless.rules", "nameless.txt")):
            write(rules, f'''image pid 0 {{ path = "vmlinux"; base = {TEXT:#x}; size = 4096; code = raw("kernel.bin");
symbols = nm("{file}", absolute); }}\n'''.encode())

    def range(self, first, end):
        """Addresses of the instructions from one symbol to another."""
        return [ip for ip in self.instructions if self.symbols[first] <= ip < self.symbols[end]]


class Thread:
    def __init__(self, pid, tid, lists):
        self.pid, self.tid, self.lists, self.truth = pid, tid, lists, []
        self.resume = "system_call_exit" if lists else "idle_again"  # where it goes on when it is switched to
        self.rest = None  # of the list that an interrupt came in


class Processor(Cpu):
    """A CPU with the flow of its kernel. Times: TSC packets behind so many blocks."""

    def __init__(self, number, machine, every):
        super().__init__()
        self.number, self.machine, self.every, self.blocks, self.psb_at = number, machine, every, 0, 0
        self.thread = self.idle = None

    def step(self, ip):
        """Before a block: time goes by, and is reported now and then; a PSB comes now and then."""
        machine = self.machine
        machine.now += 3
        self.blocks += 1
        if machine.random.randrange(machine.psb) == 0 and self.blocks > self.psb_at + 30:
            self.flush()
            self.psb_at = self.blocks
            self.lines += ["psb", f"tsc {machine.now:#x}", "mode.exec 64", f"fup {ip:#x}", "psbend"]
            self.calls = []
        elif self.blocks % self.every == 0:
            self.flush()
            self.lines.append(f"tsc {machine.now:#x}")

    def kernel(self, first, end, thread=None):
        """Instructions from one symbol to another, of the thread that has the CPU."""
        found = self.machine.kernel.range(first, end)
        self.step(found[0])
        (thread or self.thread).truth += found
        return self.machine.kernel.symbols[end]

    def call(self, after):
        self.calls = (self.calls + [self.machine.kernel.symbols[after]])[-64:]

    def returns_to(self, name):
        self.returns(self.machine.kernel.symbols[name])

    def go_over(self, thread):
        """From the call of schedule on, to where the other thread goes on behind its own."""
        kernel, machine, before = self.machine.kernel, self.machine, self.thread
        other = thread.pid != before.pid
        self.kernel("schedule", "other_space")
        self.bit(not other)
        machine.now += 2
        reported = machine.switches != machine.unreported
        if reported:
            machine.file.switch_out(before.pid, before.tid, thread.tid, machine.now, self.number, after_pid=thread.pid)
        machine.now += 2
        if other:
            self.flush()
            self.kernel("other_space", "same_space")
            self.lines.append(f"pip cr3={0x1000 * (1 + thread.pid):#x}")
            self.step(kernel.symbols["same_space"])
            before.truth += kernel.range("same_space", "schedule_exit")
        else:
            self.kernel("same_space", "schedule_exit")
        self.call("schedule_exit")
        self.kernel("__switch_to_asm", "__switch_to")
        self.thread = thread
        self.kernel("__switch_to", "switch_more")
        short = machine.random.randrange(2)
        self.bit(short)
        self.kernel("switched" if short else "switch_more", "_etext")
        self.returns_to("schedule_exit")
        machine.now += 2
        if reported:
            machine.file.switch_in(thread.pid, thread.tid, before.tid, machine.now, self.number)
        self.kernel("schedule_exit", "__switch_to_asm")
        self.returns_to(thread.resume)
        machine.switches += 1

    def leave_kernel(self, ip):
        if self.thread.resume == "system_call_exit":
            self.kernel("system_call_exit", "asm_interrupt")
        else:
            self.kernel("interrupt_exit", "idle")
        if self.machine.user:
            self.tip(ip)
        else:
            self.flush()
            self.lines.append("tip.pgd -")

    def user(self, blocks):
        """Blocks of a program; the rest of them, if an interrupt comes."""
        stop = self.machine.random.randrange(len(blocks)) if self.machine.random.randrange(3) == 0 else 0
        if not self.machine.user:
            self.machine.now += 100
            self.lines.append(f"tip.pge {self.machine.kernel.symbols['asm_interrupt' if stop else 'entry_SYSCALL_64']:#x}")
            return blocks[stop:] if stop else None
        for at, ((ip, size, branch), after) in enumerate(zip(blocks, [block[0] for block in blocks[1:]] + [None])):
            if stop and at == stop:
                self.flush()
                self.lines += [f"fup {ip:#x}", f"tip {self.machine.kernel.symbols['asm_interrupt']:#x}"]
                return blocks[at:]
            self.step(ip)
            self.thread.truth += self.machine.addresses_of(self.thread, ip, size)
            if branch in ("indirect-call", "indirect-jump"):
                self.tip(after)
            if branch in ("call", "indirect-call") and after != ip + size:
                self.calls = (self.calls + [ip + size])[-64:]
            elif branch == "conditional":
                self.bit(after != ip + size)
            elif branch == "return":
                self.returns(after)
        self.flush()
        self.lines.append(f"tip {self.machine.kernel.symbols['entry_SYSCALL_64']:#x}")
        return None

    def run(self):
        """The thread's turn, up to where it calls schedule."""
        thread = self.thread
        if thread.pid == 0:
            if thread.resume == "idle_again" and thread.truth:
                self.kernel("idle_again", "schedule")
            self.kernel("idle", "idle_again")
            self.call("idle_again")
            return
        while True:
            blocks = thread.rest or thread.lists.pop(0)
            self.leave_kernel(blocks[0][0])
            thread.rest = self.user(blocks)
            if thread.rest:
                thread.resume = "interrupt_exit"
                self.kernel("asm_interrupt", "interrupt_exit")
                self.call("interrupt_exit")
                return
            thread.resume = "system_call_exit"
            self.kernel("entry_SYSCALL_64", "system_call_schedule")
            switches = not thread.lists or self.machine.random.randrange(2)
            self.bit(not switches)
            if switches:
                self.kernel("system_call_schedule", "system_call_exit")
                self.call("system_call_exit")
                return


class Machine:
    """
    What runs on the CPUs, and what perf would have recorded of it. user: the code of programs is traced, too. unreported: the number of a switch of which there is no record.
    """

    def __init__(self, kernel, seed, cpus, every, psb, user=True, unreported=None):
        self.kernel, self.random, self.psb, self.switches = kernel, random.Random(seed), psb, 0
        self.user, self.unreported = user, unreported
        self.file = perf_file.File(per_cpu=1, switches=3)
        self.file.program(*IDLE, "swapper")
        self.now, self.threads, self.programs = 0, [], {}
        self.cpus = [Processor(number, self, every) for number in range(cpus)]

    def add(self, name, trace, tid, pid, start):
        lists, addresses = executed(name, tid)
        program = self.programs.setdefault(pid, {})
        at = 0
        for blocks in lists:
            for ip, size, _ in blocks:
                count = at
                while count < len(addresses) and ip <= addresses[count] < ip + size and (count == at or addresses[count] > addresses[count - 1]):
                    count += 1
                program[ip, size] = addresses[at:count]
                at = count
        assert at == len(addresses)
        self.threads.append(Thread(pid, tid, lists))
        self.file.program(pid, tid)
        if tid == pid:
            self.file.mappings(trace, pid, tid, start)

    def addresses_of(self, thread, ip, size):
        return self.programs[thread.pid][ip, size]

    def play(self):
        """All threads to their ends. One that has stopped goes on on any CPU."""
        waiting = list(self.threads)
        for cpu in self.cpus:
            cpu.thread = cpu.idle = Thread(*IDLE, [])
            cpu.lines += ["psb", f"tsc {self.now:#x}", "mode.exec 64", f"fup {self.kernel.symbols['idle']:#x}", "psbend"]
        while ready := [cpu for cpu in self.cpus if cpu.thread.pid or waiting]:
            cpu = self.random.choice(ready)
            before = cpu.thread
            cpu.run()
            goes_on = waiting and (not before.pid or self.random.randrange(5))
            cpu.go_over(waiting.pop(self.random.randrange(len(waiting))) if goes_on else cpu.idle)
            if before.pid and (before.lists or before.rest):
                waiting.append(before)
        for cpu in self.cpus:
            cpu.flush()
            cpu.lines += [f"fup {self.kernel.symbols['idle_again']:#x}", "tip.pgd -"]
            self.file.packets(assemble(cpu.lines), cpu.number, cpu=cpu.number)
        self.file.reference = self.now + 10**9


def flow_of(trace, *options):
    """The instructions of each thread, and gaps."""
    flow, gaps = collections.defaultdict(list), collections.Counter()
    for line in run(DUMP, "flow", "-l", "insn", "--json", *options, trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow[event["tid"]].append(int(event["ip"], 16))
        elif event["type"] == "gap":
            gaps[event["tid"], event["cause"]] += 1
    return flow, gaps


def truth_of(machine):
    truth = {thread.tid: thread.truth for thread in machine.threads}
    # Idle threads of all CPUs are one.
    truth[0] = [ip for cpu in machine.cpus for ip in cpu.idle.truth]
    return truth


def differences(flow, truth):
    """For a person: where they part."""
    said = []
    for tid in sorted(truth):
        one, other = flow.get(tid, []), truth[tid]
        at = next((i for i in range(min(len(one), len(other))) if one[i] != other[i]), min(len(one), len(other)))
        if at < max(len(one), len(other)):
            said.append(f"{tid}: {len(one)} of {len(other)}, at {at}: {list(map(hex, one[at - 3:at + 4]))} {list(map(hex, other[at - 3:at + 4]))}")
    return said


def is_right(flow, truth):
    """What threads executed; of idle ones, whose CPUs go on side by side, each instruction as often."""
    return sorted(flow.get(0, [])) == sorted(truth[0]) and all(flow.get(tid) == truth[tid] for tid in truth if tid)


def recording(name, program, *words):
    """The same in each run: at another position of the stack, programs take other branches, and threads other turns."""
    shutil.copy(os.path.join(PROGRAMS, program), path(program))
    run(*without_randomisation(), RECORD, "-f", "-q", "-o", name, "--clock=virtual", "--timing=tsc", "--no-retcomp", "--", "./" + program, *words,
        env={"PATH": "/usr/bin:/bin"})
    trace = perf_file.load(path(name))
    return name, trace, min(event["time"] for event in trace.events()), perf_file.streams_of(trace)


def make(kernel, recordings, name, rules="kernel.rules", **more):
    machine = Machine(kernel, **more)
    for trace_name, trace, start, streams in recordings:
        machine.now = max(machine.now, *(event["time"] + 1000 for event in trace.events()))
        for pid, tid, _ in streams:
            machine.add(trace_name, trace, tid, pid, start)
    machine.play()
    write("turns.data", machine.file.bytes())
    done = run(RELOG, "-f", "turns.data", "--rules", rules, "-o", name)
    return machine, done


def is_part(flow, truth):
    """Whether nothing is there that the threads did not execute, in this order."""
    for tid, list_ in flow.items():
        rest = iter(truth[tid])
        if tid and not all(ip in rest for ip in list_):
            return False
    return True


# How often threads take turns goes by how the recording of each fell out.
def exact(kernel, recordings):
    for name, more in (("one CPU", {"seed": 1, "cpus": 1, "every": 1, "psb": 150}),
                       ("two CPUs", {"seed": 2, "cpus": 2, "every": 3, "psb": 80}),
                       ("the kernel alone", {"seed": 3, "cpus": 2, "every": 2, "psb": 50, "user": False})):
        machine, done = make(kernel, recordings, "turns.ptl", **more)
        truth = truth_of(machine)
        check(f"{name}: threads of several processes take turns", machine.switches > 20, machine.switches, done.stderr)
        for options in (["-j", "3"], ["--engine", "libipt"]):
            flow, gaps = flow_of("turns.ptl", *options)
            check(f"{name}: {' '.join(options)}: what each executed", is_right(flow, truth) and not gaps, gaps,
                  *differences(flow, truth))
        done = run(DUMP, "verify", "turns.ptl")
        check(f"{name}: engines agree", done.returncode == 0, done.stdout, done.stderr)
        wanted = {tid: len(list_) for tid, list_ in truth.items() if list_}
        # What is only counted is decoded once for all threads of a segment; the flow above, for each of them.
        for options in ([], ["-j", "3"], ["--engine", "libipt"], ["--pid", str(machine.threads[0].pid)]):
            stats = json.loads(run(DUMP, "stats", "--json", *options, "turns.ptl").stdout)
            counted = {thread["tid"]: thread["instructions"] for process in stats["processes"] for thread in process["threads"]
                       if thread["instructions"]}
            check(f"{name}: counts {options}", counted == {tid: wanted[tid] for tid in counted} and
                  (len(counted) == len(wanted) or "--pid" in options), counted, wanted)


def doubtful(kernel, recordings):
    """What is not known is a gap, and nothing is of a wrong thread."""
    for name, more, rules in (("times are known at PSBs alone", {"every": 10**9}, "kernel.rules"),
                              ("a switch is not reported", {"every": 1, "unreported": 20}, "kernel.rules"),
                              ("the kernel's functions have no names", {"every": 1}, "nameless.rules")):
        machine, _ = make(kernel, recordings, "turns.ptl", rules=rules, seed=4, cpus=1, psb=100, **more)
        truth = truth_of(machine)
        # Of a switch without a record, only times tell, and libipt has no bounds of them.
        for options in ([], ["--engine", "libipt"])[:1 if "unreported" in more else 2]:
            flow, gaps = flow_of("turns.ptl", *options)
            # Packets of another thread may contradict the code of the thread that has run so far.
            causes = {"context-switch", "mismatch"} if "unreported" in more else {"context-switch"}
            check(f"{name}: nothing is of a wrong thread {options}", is_part(flow, truth) and
                  set(cause for _, cause in gaps) <= causes, gaps, *differences(flow, truth))
            check(f"{name}: what is missing is a gap {options}", is_right(flow, truth) or gaps, gaps)


def main():
    kernel = Kernel()
    recordings = [recording("tasks.ptl", "tasks", "40"),
                  recording("static.ptl", "static")]
    exact(kernel, recordings)
    doubtful(kernel, recordings)


main()
plan()
