# SPDX-License-Identifier: BSD-2-Clause
# A small kernel for tests: code, addresses, and its files in /proc and /sys.
"""import kernel_image_test after putting tests/reader on sys.path."""
import os
import struct
import subprocess

from scratch_test import path, write

TEXT, MODULE, MADE = 0xffffffff9f000000, 0xffffffffc0000000, 0xffffffffc0800000  # moved by address randomisation
BUILD_ID = bytes(range(20))
SOURCE = f"""
    .globl _start, entry_SYSCALL_64, do_syscall_64, _etext, _stext
_start:
_stext:
entry_SYSCALL_64:
    swapgs
    push %rcx
    test %rax, %rax
    js 1f
    call do_syscall_64
system_call_exit:
1:  pop %rcx
    swapgs
    sysretq
do_syscall_64:
    call *%rax
    ret
    .skip 100, 0xcc
_etext:
    .section .module, "ax"
    .globl module_work
    .skip 64, 0xcc
module_work:
    mov $3, %ecx
1:  dec %ecx
    jnz 1b
    ret
    .section .made, "ax"
    .globl bpf_prog_1
bpf_prog_1:
    nop
    ret
"""
# A system call by the function that does the work: the packets between entry and return, and the number of instructions.
AROUND = 5 + 1 + 1 + 3
WORK = {"module": ("module_work", "ttn", 8), "poked": ("module_work", "tn", 6), "made": ("bpf_prog_1", "", 2)}


class Kernel:
    """Assembles and links the kernel; the machine's files are in the folder kernel/ of the scratch folder."""

    def __init__(self):
        write("kernel.s", SOURCE.encode())
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", f"-Wl,-Ttext={TEXT:#x}",
                        f"-Wl,--section-start=.module={MODULE:#x}", f"-Wl,--section-start=.made={MADE:#x}", "-o",
                        path("kernel.elf"), path("kernel.s")], check=True)
        self.code = {}
        for section in (".text", ".module", ".made"):
            subprocess.run(["objcopy", "-O", "binary", "-j", section, path("kernel.elf"), path("section.bin")], check=True)
            with open(path("section.bin"), "rb") as file:
                self.code[section] = file.read()
        names = subprocess.run(["nm", path("kernel.elf")], capture_output=True, text=True, check=True).stdout
        self.symbols = {name: int(address, 16) for address, _, name in map(str.split, names.splitlines())}

    def core(self, without=()):
        """Returns the file /proc/kcore: an ELF core with the code at its addresses."""
        places = [(TEXT, self.code[".text"].ljust(4096, b"\xcc")), (MODULE, self.code[".module"]), (MADE, self.code[".made"])]
        places = [place for place in places if place[0] not in without]
        data, headers = b"", struct.pack("<IIQQQQQQ", 4, 0, 0, 0, 0, 0, 0, 0)
        start = 64 + 56 * (len(places) + 1)
        for address, code in places:
            headers += struct.pack("<IIQQQQQQ", 1, 7, start + len(data), address, 0, len(code), len(code), 4096)
            data += code
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, len(places) + 1, 0, 0, 0)
        return head + headers + data

    def kallsyms(self):
        lines = [f"{self.symbols[name]:016x} {kind} {name}" for name, kind in (
            ("_stext", "T"), ("entry_SYSCALL_64", "T"), ("do_syscall_64", "t"), ("_etext", "T"))]
        lines += ["0000000000000000 A fixed_percpu_data", f"{TEXT + 0x3000:016x} T start_kernel",
                  f"{self.symbols['module_work']:016x} t module_work\t[ptl_module]", f"{MODULE + 0x9000:016x} d data\t[ptl_module]"]
        return "\n".join(lines) + "\n"

    def show(self, files=("kcore", "kallsyms", "notes")):
        """Writes the files that the stand-in shows."""
        contents = {
            "kcore": ("kernel/proc/kcore", self.core()),
            "kallsyms": ("kernel/proc/kallsyms", self.kallsyms().encode()),
            "notes": ("kernel/sys/kernel/notes", struct.pack("<III4s", 4, 20, 3, b"GNU") + BUILD_ID),
        }
        for name, (place, data) in contents.items():
            os.makedirs(os.path.dirname(path(place)), exist_ok=True)
            if name in files:
                write(place, data)
            elif os.path.exists(path(place)):
                os.unlink(path(place))

    def system_call(self, kind):
        """Returns the packets from a SYSCALL instruction to its return, and the instructions executed by the kernel."""
        work, loop, count = WORK[kind]
        packets = [f"tip {self.symbols['entry_SYSCALL_64']:#x}", "tnt n", f"tip {self.symbols[work]:#x}", f"tnt {loop}tt"]
        return packets, AROUND + count


def through_kernel(kernel, script, stretches, now):
    """
    Packets of a thread whose system calls are traced, too: (packets, instructions of the kernel, time). What the kernel does
    changes twice: a module's code is written over, and a function that was made meanwhile is called instead. script.add takes
    both changes, in the words of the stand-in of the PMU.
    """
    packets, kinds, executed, begin = [], ("module", "poked", "made"), 0, now
    for number, stretch in enumerate(stretches):
        kind = kinds[min(number * 3 // len(stretches), 2)]
        if number and kind != kinds[min((number - 1) * 3 // len(stretches), 2)]:
            # The same time on each CPU, whatever the CPU executed before.
            now = begin + 10**6 * kinds.index(kind)
            if kind == "poked":
                script.add("poke", now, kernel.symbols["module_work"], "b903000000" + "b902000000")
            else:
                script.add("symbol", now, kernel.symbols["bpf_prog_1"], 2, 0, "bpf_prog_1")
            now += 1000
        within = False
        for packet in stretch:
            now += 1
            within |= packet.startswith("tip.pge")
            if packet.startswith("tip.pge") and number:
                packets.append("tip " + packet.split()[1])
            elif packet == "psbend" and number and not within:
                # Packets were disabled there, and are not now.
                packets += [f"fup {kernel.symbols['system_call_exit']:#x}", packet]
            elif packet.startswith("tip.pgd"):
                call, instructions = kernel.system_call(kind)
                packets += [call[0], f"tsc {now:#x}", *call[1:]]
                executed += instructions
            else:
                packets.append(packet)
                if packet == "psb" or packet.startswith("tip.pge"):
                    packets.append(f"tsc {now:#x}")
    # The last system call does not come back.
    packets.append("tip.pgd -")
    return packets, executed, now
