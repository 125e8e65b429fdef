# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of the kernel's code in perf.data: the folder that perf record --kcore writes.
"""import perf_kernel_file after putting tests/reader on sys.path."""
import json
import os
import struct

import perf_file
from kernel_image_test import BUILD_ID, MODULE, TEXT, through_kernel
from scratch_test import DUMP, RECORD, path, run, write

KSYMBOL, BPF_EVENT, TEXT_POKE = 17, 18, 20
BPF, OOL, UNREGISTER = 1, 2, 1
BUILD_IDS, BPF_PROG_INFO = 2, 25
TAG = bytes.fromhex("6deef7357e7b4530")
NAME = f"bpf_prog_{TAG.hex()}_made"
KERNEL, NOBODY = 1, 0xffffffff


class KernelFile(perf_file.File):
    """perf.data with the kernel's records. kind: of the symbol record for code that is made."""

    def __init__(self, kernel, kind=BPF, **options):
        super().__init__(**options)
        self.kernel, self.kind = kernel, kind

    def kernel_map(self, base, size, offset, name):
        body = struct.pack("<IIQQQ", NOBODY, 0, base, size, offset) + perf_file.text(name)
        self.records.append(perf_file.entry(1, body + bytes(-len(body) % 8) + self.trailer(0, 0, 0), KERNEL))

    def symbol(self, tsc, address, size, name, kind, flags=0):
        body = struct.pack("<QIHH", address, size, kind, flags) + perf_file.text(name)
        self.records.append(perf_file.entry(KSYMBOL, body + bytes(-len(body) % 8) + self.trailer(0, 0, tsc)))

    def poke(self, tsc, address, old, new):
        body = struct.pack("<QHH", address, len(old), len(new)) + old + new
        self.records.append(perf_file.entry(TEXT_POKE, body + bytes(-len(body) % 8) + self.trailer(0, 0, tsc)))

    def add(self, word, tsc, address, *more):
        """A change of the kernel's code, in the words of the stand-in of the PMU."""
        if word == "poke":
            both = bytes.fromhex(more[0])
            self.poke(tsc, address, both[:len(both) // 2], both[len(both) // 2:])
            return
        self.symbol(tsc, address, more[0], NAME, self.kind)
        if self.kind == BPF:
            self.records.append(perf_file.entry(BPF_EVENT, struct.pack("<HHI", 1, 0, 5) + TAG + self.trailer(0, 0, tsc)))
        else:
            self.poke(tsc, address, b"", self.kernel.code[".made"][:2])

    def describe_programs(self):
        """Adds the feature of BPF programs: another program that had the address before, and the program of the record."""
        address, programs = self.kernel.symbols["bpf_prog_1"], b""
        for number, tag, code in ((4, bytes(8), b"\xcc\xcc"), (5, TAG, self.kernel.code[".made"][:2])):
            info = bytearray(192)
            struct.pack_into("<II8sI", info, 0, 1, number, tag, len(code))
            struct.pack_into("<Q", info, 24, 0)         # code
            struct.pack_into("<II", info, 104, 1, 1)    # addresses, sizes
            struct.pack_into("<QQ", info, 112, 8, 16)
            data = code.ljust(8, b"\0") + struct.pack("<QII", address, len(code), 0)
            # The arrays that perf asks the kernel for: code, addresses, sizes.
            programs += struct.pack("<IIQ", len(info), len(data), 1 << 0 | 1 << 3 | 1 << 4) + bytes(info) + data
        self.features[BPF_PROG_INFO] = struct.pack("<I", 2) + programs

    def describe_kernel(self):
        name = b"[kernel.kallsyms]".ljust(24, b"\0")
        self.features[BUILD_IDS] = struct.pack("<IHHI", 0, KERNEL, 8 + 4 + 24 + len(name), NOBODY) + BUILD_ID.ljust(24, b"\0") + name


def show(kernel, folder, data, core=None):
    """Writes the folder that perf record --kcore writes."""
    os.makedirs(path(folder + "/kcore_dir"), exist_ok=True)
    write(folder + "/data", data)
    write(folder + "/kcore_dir/kcore", kernel.core() if core is None else core)
    write(folder + "/kcore_dir/kallsyms", kernel.kallsyms().encode())
    write(folder + "/kcore_dir/modules", f"ptl_module 4096 0 - Live {MODULE:#x}\n".encode())


def made(kernel, kind):
    """A file in which a thread's system calls execute code of the kernel, which changes twice: (file, thread, instructions)."""
    run(RECORD, "-f", "-q", "-o", "static.ptl", "--timing=tsc", "--", os.path.join(os.environ["PTL_PROGRAMS"], "static"))
    trace = perf_file.load(path("static.ptl"))
    pid, tid, _ = perf_file.streams_of(trace)[0]
    start = max(event["time"] for event in trace.events())
    file = KernelFile(kernel, kind)
    file.reference = start + 10**10
    file.kernel_map(TEXT, 4096, kernel.symbols["_stext"], "[kernel.kallsyms]_stext")
    file.kernel_map(MODULE, 4096, 0, "[ptl_module]")
    file.program(pid, tid)
    file.mappings(trace, pid, tid, 0)
    packets, executed, _ = through_kernel(kernel, file, perf_file.stretches("static.ptl", tid), start)
    file.packets(perf_file.assemble(packets), 0, tid=tid)
    file.describe_kernel()
    if kind == BPF:
        file.describe_programs()
    stats = json.loads(run(DUMP, "stats", "--json", "static.ptl").stdout)
    user = [thread["instructions"] for process in stats["processes"] for thread in process["threads"] if thread["tid"] == tid]
    return file, tid, user[0] + executed
