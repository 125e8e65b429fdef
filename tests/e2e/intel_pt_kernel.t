#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Intel PT of user and kernel code, with a library that stands in for the driver, and a small kernel.
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import kernel_image_test  # noqa: E402
import pmu_test  # noqa: E402
from kernel_image_test import MODULE, TEXT, through_kernel  # noqa: E402
from pmu_test import LEAD, TASKS, Recording, Script, losses, play, stats_of_threads  # noqa: E402
from scratch_test import DUMP, RELOG, check, plan, run, write  # noqa: E402


def one_cpu_each(kernel, recording, *options, show=("kcore", "kallsyms", "notes")):
    """Each process on a CPU of its own: what it executed in all, by thread."""
    script, wanted = Script(recording), {}
    if show is not None:
        kernel.show(show)
    script.processes()
    end = LEAD
    for cpu, (pid, tid, _) in enumerate(recording.streams):
        lines, script.lines = script.lines, []
        packets, executed, end = through_kernel(kernel, script, pmu_test.stretches(recording.name, tid), LEAD)
        # They change for all.
        changes, script.lines = script.lines, lines
        if not cpu:
            script.lines += changes
        script.add("start", cpu, pid, tid, LEAD - 50)
        data = pmu_test.assemble(packets)
        script.packets(data)
        script.aux(cpu, pid, tid, data, end)
        wanted[tid] = recording.stats[tid][0] + executed
    children = len(script.pids) - 1
    done = play(script, "--timing=tsc", "--code=all", *options, command=(TASKS, "1", *([str(children)] if children else [])),
                online=f"0-{children}")
    return done, wanted


def instructions(stats):
    return sorted((count, gaps) for count, _, gaps in stats.values())


def counts(wanted):
    return sorted((count, 0) for count in wanted.values())


def whole(kernel, recording, name):
    """Code of the kernel, of a module that is written over, and of what is made meanwhile, in every process."""
    done, wanted = one_cpu_each(kernel, recording)
    check(f"{name}: is recorded", done.returncode in (40, 41) and pmu_test.nothing_lost(), done.returncode, done.stderr)
    for engine in ("native", "libipt"):
        stats = stats_of_threads("out.ptl", "--engine", engine)
        check(f"{name}: user and kernel code are decoded ({engine})", instructions(stats) == counts(wanted), stats, wanted,
              done.stderr)


def names():
    functions = run(DUMP, "report", "--limit=1000", "out.ptl").stdout
    check("functions of the kernel have names", all(function in functions for function in (
        "entry_SYSCALL_64", "do_syscall_64", "module_work", "bpf_prog_1")), functions)
    images = [json.loads(line) for line in run(DUMP, "images", "--json", "out.ptl").stdout.splitlines()]
    found = {image["path"]: image for image in images if image["pid"] == 0}
    check("images of the kernel are process 0's", sorted(found) == ["[bpf_prog_1]", "[kernel]", "[ptl_module]"], images)
    check("the kernel's image has its build id, and the address that its file has", found["[kernel]"]["build_id"] ==
          kernel_image_test.BUILD_ID.hex(), found)


def without_core(kernel, recording):
    """What cannot be read is a gap, which is said; a rule of ptl-relog gives the code."""
    done, wanted = one_cpu_each(kernel, recording, show=("notes",))
    causes = [loss["cause"] for loss in losses()]
    check("without kallsyms and kcore: is said", any("where the kernel's code is, is not known" in cause and "kallsyms" in cause
                                                     for cause in causes), causes, done.stderr)
    gaps = json.loads(run(DUMP, "stats", "--json", "out.ptl").stdout)["gaps"]
    check("without kallsyms and kcore: what the kernel executed is a gap", gaps, gaps)
    text = kernel.code[".text"] + bytes(4096 - len(kernel.code[".text"]))
    write("text.bin", text)
    write("module.bin", kernel.code[".module"])
    write("made.bin", kernel.code[".made"])
    write("names.txt", "".join(f"{kernel.symbols[name]:x} T {name}\n" for name in ("entry_SYSCALL_64", "do_syscall_64")).encode())
    write("kernel.rules", f'''
image pid 0 {{ path = "vmlinux"; base = {TEXT:#x}; size = 4096; code = raw("text.bin"); symbols = nm("names.txt", absolute); }}
image pid 0 {{ path = "module"; base = {MODULE:#x}; size = {len(kernel.code[".module"])}; code = raw("module.bin"); }}
image pid 0 {{ path = "[bpf_prog_1]"; base = {kernel.symbols["bpf_prog_1"]:#x}; size = 2; code = raw("made.bin"); }}
'''.encode())
    done = run(RELOG, "-f", "out.ptl", "--rules", "kernel.rules", "-o", "ruled.ptl")
    stats = stats_of_threads("ruled.ptl")
    check("images of rules are the kernel's in every process", instructions(stats) == counts(wanted), stats, wanted, done.stderr)
    functions = run(DUMP, "report", "--limit=1000", "ruled.ptl").stdout
    check("images of rules have names", "do_syscall_64" in functions, functions)


def without_module(kernel, recording):
    kernel.show()
    write("kernel/proc/kcore", kernel.core(without=(MODULE,)))
    done, wanted = one_cpu_each(kernel, recording, show=None)
    stats = stats_of_threads("out.ptl")
    check("a module that kcore does not have: is a gap, which is said", any("does not have all code" in loss["cause"]
          for loss in losses()) and sum(gaps for _, _, gaps in stats.values()) > 0, stats, wanted, losses(), done.stderr)


def hostile(kernel, recording):
    """What the kernel shows is not believed."""
    core = kernel.core()
    for name, data in (("is no ELF file", b"x" * 100), ("is cut off", core[:80]), ("has headers beyond its end",
                       core[:32] + b"\xff" * 7 + b"\x7f" + core[40:]), ("says too many headers", core[:56] + b"\xff\xff" + core[58:])):
        kernel.show()
        write("kernel/proc/kcore", data)
        done, _ = one_cpu_each(kernel, recording, show=None)
        check(f"a kcore that {name}: is said", done.returncode in (40, 41) and any("code of the kernel is not read" in loss["cause"]
              for loss in losses()), losses(), done.stderr)
    kernel.show()
    write("kernel/proc/kallsyms", b"0000000000000000 T _stext\n0000000000000000 t f\n")
    done, _ = one_cpu_each(kernel, recording, show=None)
    check("kallsyms that hides addresses: is said", any("kptr_restrict" in loss["cause"] for loss in losses()), losses(), done.stderr)


def main():
    kernel = kernel_image_test.Kernel()
    recording = Recording("tasks.ptl", TASKS, "500")
    whole(kernel, recording, "one process")
    names()
    without_core(kernel, recording)
    without_module(kernel, recording)
    hostile(kernel, recording)
    whole(kernel, Recording("family.ptl", TASKS, "500", "2"), "several processes")


main()
plan()
