#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump perf --kcore: perf executes the same instructions of the kernel, and ptl-relog reads the same trace again.
import collections
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.dont_write_bytecode = True
import kernel_image_test  # noqa: E402
from perf_kernel_file import BPF, NAME, OOL, made, show  # noqa: E402
from scratch_test import DUMP, RELOG, check, path, plan, read, run, skip, write  # noqa: E402

RECORDS = ("Ksymbol", "BpfEvent", "TextPoke")


def listing(*arguments):
    return [json.loads(line) for line in run(DUMP, *arguments).stdout.splitlines()]


def our_flow(trace):
    flow = collections.defaultdict(list)
    for event in listing("flow", "-l", "insn", "--json", trace):
        if event["type"] == "instruction":
            flow[event["tid"]].append(int(event["ip"], 16))
    return dict(flow)


def perf_flow(data):
    flow = collections.defaultdict(list)
    done = run("perf", "--buildid-dir", path("out.data.debug"), "script", "-i", data, "--itrace=i0ns", "-F", "tid,ip")
    for line in done.stdout.splitlines():
        match = re.match(r" *(-?\d+) +([0-9a-f]+)$", line)
        if match:
            flow[int(match[1])].append(int(match[2], 16))
    return dict(flow), done


def facts(trace):
    """Images of the kernel, and the records of perf that the trace has."""
    images = sorted((image["path"], image["base"], image["size"], image["code"], image["build_id"])
                    for image in listing("images", "--json", trace) if image["pid"] == 0)
    records = collections.Counter((event["event"], event["time"], json.dumps(event["fields"], sort_keys=True))
                                  for event in listing("events", "--json", trace) if event["event"] in RECORDS)
    return images, records


def export(*options):
    for name in ("out.data", "out.data.debug"):
        shutil.rmtree(path(name), ignore_errors=True)
    return run(DUMP, "perf", *options, "-o", "out.data", "in.ptl")


def judge(kernel, kind, what):
    file, tid, count = made(kernel, kind)
    show(kernel, "kernel.data", file.bytes())
    run(RELOG, "-q", "-f", "kernel.data", "-o", "in.ptl")
    ours = our_flow("in.ptl")
    check(f"{what}: the trace has the flow of user and kernel", {tid: len(ours.get(tid, ()))} == {tid: count}, count, ours.keys())
    got = export("--kcore")
    check(f"{what}: is exported without a loss", got.returncode == 0 and "left out" not in got.stderr, got)
    if shutil.which("perf"):
        theirs, shown = perf_flow("out.data")
        check(f"{what}: perf executes the same {count} instructions", theirs == ours,
              {thread: len(list_) for thread, list_ in theirs.items()}, shown.stderr)
        names = run("perf", "--buildid-dir", path("out.data.debug"), "report", "-i", "out.data", "--itrace=i0ns", "--stdio", "-F", "sample,sym")
        missing = [name for name in ("entry_SYSCALL_64", "do_syscall_64", "module_work", NAME) if f"[k] {name}" not in names.stdout]
        check(f"{what}: perf report names the functions of the kernel", not missing, missing, names)
    else:
        skip(f"{what}: perf", "there is no perf here: apt-get install linux-perf")
    again = run(RELOG, "-q", "-f", "out.data", "-o", "again.ptl")
    check(f"{what}: ptl-relog reads the same flow", again.returncode == 0 and our_flow("again.ptl") == ours, again)
    check(f"{what}: ptl-relog reads the same images and records", facts("again.ptl") == facts("in.ptl"), facts("in.ptl"), facts("again.ptl"))


def without_records(kernel):
    """A trace of ptl-record: code that is made and changed has no records of perf."""
    code = {name: kernel.code[section].hex() for name, section in (("text", ".text"), ("module", ".module"), ("made", ".made"))}
    entry, work, function = (kernel.symbols[name] for name in ("entry_SYSCALL_64", "module_work", "bpf_prog_1"))
    call = [f"tip {entry:#x}", "tnt n"]
    write("own.txt", "\n".join(
        ["psb", "tsc 0x7d0", "mode.exec 64", "psbend", "tip.pge 0x401000",
         *call, f"tip {work:#x}", "tnt ttntt", "tip 0x401002", "tsc 0xbb8",
         *call, f"tip {work:#x}", "tnt tntt", "tip 0x401004", "tsc 0xfa0",
         *call, f"tip {function:#x}", "tnt tt", "tip.pgd 0x401006"]) + "\n")
    made_packets = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "-o", path("own.pt"), path("own.txt"))
    start, module, place = kernel_image_test.TEXT, kernel_image_test.MODULE, kernel_image_test.MADE
    write("own.sample", "machine source=intel_pt clock=1 start=1000 end=8000 tsc_multiplier=1 tsc_frequency=1000000000 timing=1 retcomp=1\n"
          + "".join(f"bytes {name} {text}\n" for name, text in code.items()) +
          "bytes user 0f050f050f05ebfe\nbytes two b902000000\n"
          f"symbols names {start:x}:15:T:entry_SYSCALL_64 {kernel.symbols['do_syscall_64']:x}:3:t:do_syscall_64\n"
          "process start pid=0 time=1000 key=1 image=[kernel] command=k opcode=3\n"
          "process start pid=7 time=1000 key=7 image=/bin/p command=p\nthread pid=7 tid=7 time=1000 name=p\n"
          f"image pid=0 opcode=3 base={start:#x} size=4096 default=0xffffffff81000000 path=[kernel] code=text symbols=names time=1000\n"
          f"image pid=0 opcode=3 base={module:#x} size=4096 default={module:#x} path=[ptl_module] code=module time=1000\n"
          "image pid=7 base=0x401000 size=4096 default=0x401000 path=/bin/p code=user time=1000\n"
          f"code pid=0 base={work:#x} size=5 code=two time=2500\n"
          f"image pid=0 base={place:#x} size=2 default={place:#x} path=[bpf_prog_1] code=made time=3500\n"
          "pt pid=7 tid=7 path=own.pt time=1500 end=5000\n")
    done = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample"), "own.sample", "in.ptl")
    ours = our_flow("in.ptl")
    check("a trace without records of perf: has the kernel's flow", len(ours.get(7, ())) > 35 and all(ip in ours[7] for ip in (entry, work, function)), made_packets, done, ours)
    got = export("--kcore")
    check("a trace without records of perf: is exported", got.returncode == 0 and "left out" not in got.stderr, got)
    if shutil.which("perf"):
        theirs, shown = perf_flow("out.data")
        check("a trace without records of perf: perf executes the same instructions", theirs == ours, ours, theirs, shown.stderr)
    else:
        skip("a trace without records of perf: perf", "there is no perf here: apt-get install linux-perf")


def without_kcore():
    got = export()
    check("without --kcore, a note says that code of the kernel is left out", got.returncode == 0 and "--kcore" in got.stderr and
          os.path.isfile(path("out.data")), got)
    got = run(DUMP, "perf", "--kcore", "-o", "out.data", "in.ptl")
    check("--kcore does not write into a file", got.returncode == 4 and "out.data" in got.stderr, got)
    got = run(DUMP, "perf", "--kcore", "-o", "new.data", "in.ptl")
    again = run(DUMP, "perf", "--kcore", "-o", "new.data", "in.ptl")
    check("a folder's file is not replaced without --force", got.returncode == 0 and again.returncode == 4 and "exists" in again.stderr, again)
    first = read("new.data/data")
    run(DUMP, "perf", "--kcore", "-f", "-o", "new.data", "in.ptl")
    check("the same trace gives the same bytes", read("new.data/data") == first)


def main():
    kernel = kernel_image_test.Kernel()
    judge(kernel, OOL, "an out-of-line copy")
    judge(kernel, BPF, "a BPF program")
    without_records(kernel)
    without_kcore()


main()
plan()
