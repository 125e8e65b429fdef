#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of the kernel in perf.data with kcore (perf record --kcore): perf's own decoder is the judge.
import collections
import hashlib
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
from kernel_image_test import BUILD_ID, MADE, MODULE, TEXT  # noqa: E402
from perf_kernel_file import BPF, BPF_PROG_INFO, NAME, OOL, made, show  # noqa: E402

have_perf = shutil.which("perf") is not None


def converted(name):
    done = run(RELOG, "-f", name, "-o", "out.ptl")
    return done, json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["losses"]


def our_flow(*options):
    flow, gaps = collections.defaultdict(list), []
    for line in run(DUMP, "flow", "-l", "insn", "--json", *options, "out.ptl").stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            flow[event["tid"]].append(int(event["ip"], 16))
        elif event["type"] == "gap":
            gaps.append((event["cause"], event))
    return dict(flow), gaps


def perf_flow(name):
    flow = collections.defaultdict(list)
    done = run("perf", "script", "-i", name, "--itrace=i0ns", "-F", "tid,ip")
    for line in done.stdout.splitlines():
        match = re.match(r" *(-?\d+) +([0-9a-f]+)$", line)
        if match:
            flow[int(match[1])].append(int(match[2], 16))
    return dict(flow), done


def images():
    found = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
    return {image["path"]: image for image in found if image["pid"] == 0}


def with_kcore(kernel, kind, what):
    file, tid, count = made(kernel, kind)
    show(kernel, "kernel.data", file.bytes())
    done, losses = converted("kernel.data")
    check(f"{what}: is read", done.returncode == 0 and not [loss for loss in losses if loss["kind"] == "code"], done, losses)
    for engine in ("native", "libipt"):
        flow, gaps = our_flow("--engine", engine)
        check(f"{what}: user and kernel code are decoded ({engine})", {tid: len(flow.get(tid, ()))} == {tid: count} and not gaps,
              count, {thread: len(list_) for thread, list_ in flow.items()}, gaps)
    if have_perf:
        theirs, shown = perf_flow("kernel.data")
        at = next((i for i, (a, b) in enumerate(zip(theirs.get(tid, ()), flow.get(tid, ()))) if a != b), None)
        check(f"{what}: perf executes the same instructions", theirs == flow, at,
              [list(map(hex, list_.get(tid, [])[(at or 0) - 3:(at or 0) + 5])) for list_ in (theirs, flow)],
              {thread: len(list_) for thread, list_ in theirs.items()}, shown.stderr)
    else:
        skip(f"{what}: perf", "there is no perf here: apt-get install linux-perf")
    functions = run(DUMP, "report", "--limit=1000", "out.ptl").stdout
    check(f"{what}: functions have names", all(name in functions for name in ("entry_SYSCALL_64", "do_syscall_64", "module_work", NAME)),
          functions)
    found = images()
    check(f"{what}: images are process 0's", sorted(found) == sorted(("[kernel.kallsyms]_stext", "[ptl_module]", f"[{NAME}]")) and
          found["[kernel.kallsyms]_stext"]["build_id"] == BUILD_ID.hex(), found)
    return file, tid


def without_kcore(kernel, file, tid):
    """Without kcore, all code of the kernel is a gap, which is said. With the kernel's file in perf's cache, the modules are."""
    write("alone.data", file.bytes())
    done, losses = converted("alone.data")
    causes = [loss["cause"] for loss in losses if loss["kind"] == "code"]
    flow, gaps = our_flow()
    check("without kcore: is said", done.returncode == 0 and any("perf record --kcore" in cause and "[ptl_module]" in cause and
          "[kernel.kallsyms]_stext" in cause for cause in causes), done, causes)
    # The record of a change has the bytes of an instruction.
    poked = {kernel.symbols["module_work"]}
    check("without kcore: the kernel's flow is a gap but for BPF programs, which perf.data describes", gaps and
          {ip for ip in flow[tid] if TEXT <= ip < MADE} == poked and any(ip >= MADE for ip in flow[tid]), gaps[:3])


def with_vmlinux(kernel, file, tid):
    linked = path("vmlinux")
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", f"-Wl,--build-id=0x{BUILD_ID.hex()}", "-Wl,-Ttext=0xffffffff81000000",
                    "-o", linked, path("kernel.s")], check=True)
    folder = f".debug/.build-id/{BUILD_ID.hex()[:2]}/{BUILD_ID.hex()[2:]}"
    os.makedirs(path(folder))
    os.rename(linked, path(folder + "/elf"))
    done = run(RELOG, "-f", "alone.data", "-o", "out.ptl", env={**os.environ, "HOME": path("")})
    causes = [loss["cause"] for loss in json.loads(run(DUMP, "info", "--json", "out.ptl").stdout)["losses"] if loss["kind"] == "code"]
    check("with the kernel's file: that its code may have changed is said", any("is that of its file" in cause for cause in causes) and
          not any("_stext" in cause for cause in causes), done, causes)
    entry, poked = kernel.symbols["entry_SYSCALL_64"], {kernel.symbols["module_work"]}
    flow, gaps = our_flow()
    check("with the kernel's file: its code is decoded, a module's is a gap", flow[tid].count(entry) > 10 and
          {ip for ip in flow[tid] if MODULE <= ip < MADE} == poked and {cause for cause, _ in gaps} == {"missing-code"} and
          all(MODULE <= int(gap["from"]["ip"], 16) < MADE for _, gap in gaps), flow[tid].count(entry), gaps[:5])


def hostile(kernel, file):
    core = kernel.core()
    for name, data in (("is no ELF file", b"x" * 100), ("is cut off", core[:80]), ("has headers beyond its end",
                       core[:32] + b"\xff" * 7 + b"\x7f" + core[40:])):
        show(kernel, "hostile.data", file.bytes(), data)
        done, losses = converted("hostile.data")
        check(f"a kcore that {name}: is said", done.returncode == 0 and any("kcore_dir is not read" in loss["cause"] for loss in losses),
              done, losses)
    show(kernel, "hostile.data", file.bytes(), kernel.core(without=(MODULE,)))
    done, losses = converted("hostile.data")
    check("a kcore without a module: is said", any("kcore does not have all code" in loss["cause"] and "[ptl_module]" in loss["cause"]
          for loss in losses), done, losses)
    programs = file.features[BPF_PROG_INFO]
    for at in range(0, len(programs), 3):
        file.features[BPF_PROG_INFO] = programs[:at] + b"\xff\xff\xff" + programs[at + 3:]
        write("hostile.data/data", file.bytes())
        done = run(RELOG, "-f", "-q", "hostile.data", "-o", "out.ptl")
        if done.returncode != 0:
            break
    check("descriptions of BPF programs with wrong bytes: are read, or left out", done.returncode == 0, at, done)


BPF_PROGRAM = r"""
import ctypes, os, struct, sys
system = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 7, 0x95, 0, 0, 0))  # r0 = 7; exit
terms = ctypes.create_string_buffer(b"GPL")
attr = struct.pack("<IIQQIIQII16s", 1, 2, ctypes.addressof(code), ctypes.addressof(terms), 0, 0, 0, 0, 0, b"ptl_test").ljust(128, b"\0")
fd = system.syscall(321, 5, ctypes.create_string_buffer(attr, 128), 128)
info, room = ctypes.create_string_buffer(256), ctypes.create_string_buffer(4096)
struct.pack_into("<I", info, 16, 4096)
struct.pack_into("<Q", info, 24, ctypes.addressof(room))
query = ctypes.create_string_buffer(struct.pack("<IIQ", fd, 224, ctypes.addressof(info)).ljust(128, b"\0"), 128)
if fd < 0 or system.syscall(321, 15, query, 128) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
size, = struct.unpack_from("<I", info, 16)
open(sys.argv[1], "wb").write(room.raw[:size])
"""


def real_program():
    """A program that this kernel compiles while perf records: the trace has the machine code that bpf(2) shows."""
    write("program.py", BPF_PROGRAM.encode())
    alone = run(sys.executable, "program.py", "code.bin")
    if not have_perf or alone.returncode or not os.path.getsize(path("code.bin")):
        skip("a BPF program of this kernel", f"perf records no BPF program here: {alone.stderr.strip()[-100:]}")
        return
    done = run("perf", "record", "-o", "bpf.data", "-e", "cpu-clock", "-a", sys.executable, "program.py", "code.bin")
    with open(path("code.bin"), "rb") as code:
        expected = code.read()
    shown, _ = converted("bpf.data")
    found = [image for name, image in images().items() if name.startswith("[bpf_prog_") and name.endswith("_ptl_test]")]
    check("a BPF program of this kernel: its machine code is in the trace", len(found) == 1 and
          found[0]["code"] == hashlib.sha256(expected).hexdigest() and found[0]["unloaded"] is not None, found, shown, done.stderr)


def main():
    kernel = kernel_image_test.Kernel()
    with_kcore(kernel, OOL, "code of the kernel, code that is patched, and an out-of-line copy")
    file, tid = with_kcore(kernel, BPF, "code of the kernel, and a BPF program")
    without_kcore(kernel, file, tid)
    with_vmlinux(kernel, file, tid)
    hostile(kernel, file)
    real_program()


main()
plan()
