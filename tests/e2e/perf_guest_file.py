# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of virtual machines in perf.data: a host's kernel, a hypervisor's program, and packets of both.
"""import perf_guest_file after putting the folder of the test, and tests/reader, on sys.path."""
import os
import struct
import subprocess

import kernel_image_test
import perf_file
from kernel_image_test import TEXT
from scratch_test import RELOG, path, run, write

KERNEL, NOBODY = 1, 0xffffffff
# Code of a module and of a BPF program, behind the kernel.
MODULES = """
    .section .module, "ax"
    .globl module_work
module_work:
    ret
    .section .made, "ax"
    .globl bpf_prog_1
bpf_prog_1:
    ret
"""
PID = TID = 4000
HOST, GUEST, VMCS = "pip cr3=0x1000", "pip cr3=0x77000 non_root", 0x5000

# The host's kernel. `alias` is an address where the guest has code, too.
kernel_image_test.SOURCE = """
    .globl _start, entry_SYSCALL_64, do_syscall_64, _etext, _stext, vm_exit, back, alias
_start:
_stext:
entry_SYSCALL_64:
    swapgs
    push %rcx
    call do_syscall_64
back:
    pop %rcx
    swapgs
    sysretq
do_syscall_64:
    mov $2, %ecx
1:  vmresume
vm_exit:
    dec %ecx
    jnz 1b
    ret
    .skip 16, 0xcc
alias:
    nop
    jz alias
    jmp *%rax
    .skip 100, 0xcc
_etext:
""" + MODULES
PROGRAM = """
    .globl _start, again, vm_code
_start:
    nop
again:
    syscall
    jmp again
    .skip 16, 0xcc
vm_code:
    nop
    jz vm_code
    vmcall
    jmp vm_code
"""


def user_program():
    """The hypervisor's program: (path, symbols, address, size, offset of its code)."""
    write("qemu.s", PROGRAM.encode())
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-Ttext=0x401000", "-o", path("qemu"),
                    path("qemu.s")], check=True)
    names = subprocess.run(["nm", path("qemu")], capture_output=True, text=True, check=True).stdout
    symbols = {name: int(address, 16) for address, _, name in map(str.split, names.splitlines())}
    headers = subprocess.run(["readelf", "-lW", path("qemu")], capture_output=True, text=True, check=True).stdout
    offset = [int(line.split()[1], 16) for line in headers.splitlines() if line.split()[:1] == ["LOAD"] and "R E" in line][0]
    return path("qemu"), symbols, 0x401000, 4096, offset


class HostFile(perf_file.File):
    """perf.data of a host whose kernel is traced. started: TSC of the first record with a time."""

    def __init__(self, program, started=1, **options):
        super().__init__(config=perf_file.TSC | perf_file.NORETCOMP, **options)
        name, _, base, size, offset = program
        body = struct.pack("<IIQQQ", NOBODY, 0, TEXT, 4096, TEXT) + perf_file.text("[kernel.kallsyms]_stext")
        self.records.append(perf_file.entry(1, body + bytes(-len(body) % 8) + self.trailer(0, 0, 0), KERNEL))
        self.program(PID, TID, "qemu")
        self.map(PID, TID, base, size, offset, 5, name, os.stat(name), started)


def show(kernel, name, file):
    os.makedirs(path(name + "/kcore_dir"), exist_ok=True)
    write(name + "/data", file.bytes())
    write(name + "/kcore_dir/kcore", kernel.core())
    write(name + "/kcore_dir/kallsyms", kernel.kallsyms().encode())
    write(name + "/kcore_dir/modules", b"")


class Story:
    """Packets of the vCPU's thread, and the instructions of the host that they prove."""

    def __init__(self, kernel, program):
        self.now, self.at = 10**9, {**kernel.symbols, **program[1]}
        self.packets = []

    def add(self, *packets):
        for packet in packets:
            name = packet.split()[-1]
            self.packets.append(packet.replace(name, f"{self.at[name]:#x}") if name in self.at else packet)

    def time(self):
        self.now += 1000
        self.add(f"tsc {self.now:#x}")

    def psb(self, paging, address=None):
        self.add("psb")
        self.time()
        self.add(paging, f"vmcs {VMCS:#x}", "mode.exec 64", *([f"fup {address}"] if address else []), "psbend")

    def leave(self, where):
        """VM exit at an address of the guest."""
        self.add(f"fup {where}", HOST, "tip vm_exit")
        self.time()

    def system_call(self, *guests, compressed=False):
        """
        A system call that runs the guest twice. guests: (first address, packets, last address) of the guest's flow. compressed: the
        kernel's return has no TIP.
        """
        self.add("tip entry_SYSCALL_64")
        self.time()
        for number, (first, packets, last) in enumerate(guests, 1):
            self.add(GUEST, f"tip {first}", *packets)
            self.leave(last)
            self.add("tnt t" if number < len(guests) else "tnt nt" if compressed else "tnt n")
        self.add(*([] if compressed else ["tip back"]), "tip again+2")
        self.time()


def host_instructions(story, calls):
    """Returns the host's instructions of so many system calls, from _start on, and of the next SYSCALL."""
    at = story.at
    before = [at["entry_SYSCALL_64"] + n for n in (0, 3, 4)] + [at["do_syscall_64"]]
    enter, leave = at["do_syscall_64"] + 5, [at["vm_exit"], at["vm_exit"] + 2]
    after = [at["vm_exit"] + 4] + [at["back"] + n for n in (0, 1, 4)]
    call = [at["again"], *before, enter, *leave, enter, *leave, *after, at["again+2"]]
    return [at["_start"], *call * calls, at["again"]]


class Machine:
    """The host's kernel and the hypervisor's program."""

    def __init__(self):
        self.kernel, self.program = kernel_image_test.Kernel(), user_program()
        self.kernel.symbols["_start"] = self.program[1]["_start"]

    def story(self):
        story = Story(self.kernel, self.program)
        story.at["again+2"], story.at["vm_code+3"] = story.at["again"] + 2, story.at["vm_code"] + 3
        return story

    def convert(self, name, story, *options, compressed=False, started=1):
        """Makes out.ptl of the packets of the vCPU's thread."""
        file = HostFile(self.program, started)
        file.config &= ~(perf_file.NORETCOMP if compressed else 0)
        file.reference = story.now
        file.packets(perf_file.assemble(story.packets), 0, tid=TID)
        show(self.kernel, name, file)
        return run(RELOG, "-f", "-q", *options, name, "-o", "out.ptl")
