#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record check: what a machine can record, by its /sys and /proc, whatever these hold.
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import SCRATCH, expect, expect_equal, main, path, record

PT = "sys/bus/event_source/devices/intel_pt/"
CPU = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM) i7\nflags\t\t: fpu %s intel_pt\n\n" \
      "processor\t: 1\nvendor_id\t: Other\n"
# As a machine with all of it shows itself to a user without rights.
FILES = {
    "proc/cpuinfo": CPU % "sse2",
    "proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\n",
    "proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         8388608    8388608    bytes\n",
    "proc/sys/kernel/perf_event_paranoid": "2\n",
    "proc/sys/kernel/perf_event_mlock_kb": "516\n",
    "proc/sys/kernel/kptr_restrict": "0\n",
    "proc/kallsyms": "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext\n",
    "proc/self/mounts": "proc /proc proc rw 0 0\n",
    "sys/devices/system/cpu/online": "0-3,6\n",
    "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
    "sys/kernel/tracing/events/header_page": "",
    PT + "type": "8\n",
    PT + "nr_addr_filters": "2\n",
    PT + "caps/psb_cyc": "1\n",
    PT + "caps/psb_periods": "3f\n",
    PT + "caps/cycle_thresholds": "1fff\n",
    PT + "caps/mtc": "1\n",
    PT + "caps/mtc_periods": "249\n",
    PT + "caps/ip_filtering": "1\n",
    PT + "caps/ptwrite": "1\n",
    PT + "caps/power_event_trace": "0\n",
    PT + "caps/topa_multiple_entries": "1\n",
}


def root(changes):
    """A folder with these files; None: without it."""
    shutil.rmtree(path("root"), ignore_errors=True)
    for name, text in {**FILES, **changes}.items():
        if text is None:
            continue
        os.makedirs(path("root/" + os.path.dirname(name)), exist_ok=True)
        with open(path("root/" + name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    return path("root")


def check(changes):
    """The items that are found, by name."""
    done = record("check", "--json", "--root", root(changes))
    expect_equal((done.returncode, done.stderr), (0, ""))
    return {item["name"]: item for item in map(json.loads, done.stdout.splitlines())}


def states(changes):
    return {name: item["state"] for name, item in check(changes).items()}


def all_of_it():
    """capabilities, with the values they take, and what a user without rights may do"""
    found = check({})
    expect_equal({name: (item["state"], item["value"]) for name, item in found.items() if item["group"] != "Permissions"}, {
        "model": ("yes", "Intel(R) Core(TM) i7"),
        "not virtual": ("yes", None),
        "device": ("yes", "/sys/bus/event_source/devices/intel_pt"),
        "psb_period": ("yes", "0 1 2 3 4 5"),
        "cyc": ("yes", "0 1 2 3 4 5 6 7 8 9 10 11 12"),
        "mtc": ("yes", "0 3 6 9"),
        "address filters": ("yes", "2 ranges"),
        "ptw": ("yes", None),
        "pwr_evt": ("no", None),
        "event": ("no", None),
        "notnt": ("no", None),
        "large buffers": ("yes", None),
    })
    expect_equal({name: item["state"] for name, item in found.items() if item["group"] == "Permissions"}, {
        "CAP_PERFMON": "no", "own processes": "yes", "kernel code": "no", "whole machine": "no", "attaching (--pid)": "yes",
        "no lockdown": "yes",
        "memory for buffers": "partly", "kernel symbols": "no", "kernel memory": "no",
        "tracepoints": "yes"})
    # 516 KiB, and a fifth of 8 MiB.
    expect_equal(found["memory for buffers"]["value"], "2.1 MiB for each processor")
    expect("perf_event_paranoid=1" in found["kernel code"]["try"], found["kernel code"])


def what_is_missing_has_a_remedy():
    """whatever is missing, what changes it is there"""
    for changes in ({}, {PT + "type": None}, {"proc/cpuinfo": CPU % "hypervisor", PT + "type": None},
                    {"proc/cpuinfo": "vendor_id : AuthenticAMD\nmodel name : x\nflags : fpu\n", PT + "type": None},
                    {"proc/sys/kernel/perf_event_paranoid": "3\n", "sys/kernel/tracing/events/header_page": None,
                     "sys/kernel/security/lockdown": "none integrity [confidentiality]\n"},
                    {"proc/sys/kernel/perf_event_paranoid": None}):
        for name, item in check(changes).items():
            expect(item["state"] == "yes" or item["why"] or item["try"] or item["state"] == "unknown", changes, item)
            # What this processor lacks can be changed by nobody.
            expect(item["state"] != "no" or item["try"] or item["group"] == "Intel PT", changes, name, item)


def permissions():
    """capabilities and settings decide what is permitted"""
    perfmon = {"proc/self/status": "CapEff:\t0000004000000000\n"}
    everything = {"proc/self/status": "CapEff:\t000001ffffffffff\n"}
    names = ("own processes", "kernel code", "whole machine")

    def levels(changes):
        found = states(changes)
        return [found[name] for name in names]

    for value, expected in (("3", ["no"] * 3), ("2", ["yes", "no", "no"]), ("1", ["yes", "yes", "no"]), ("0", ["yes"] * 3),
                            ("-1", ["yes"] * 3)):
        expect_equal(levels({"proc/sys/kernel/perf_event_paranoid": value + "\n"}), expected, value)
    expect_equal(levels({"proc/sys/kernel/perf_event_paranoid": "3\n", **perfmon}), ["yes"] * 3)
    for scope, right, expected in (("0", {}, "yes"), ("1", {}, "partly"), ("2", {}, "no"), ("3", {}, "no"), ("1", everything, "yes"),
                                   ("2", everything, "yes"), ("3", everything, "no"), ("1", perfmon, "partly")):
        expect_equal(states({"proc/sys/kernel/yama/ptrace_scope": scope + "\n", **right})["attaching (--pid)"], expected, scope)
    expect_equal(states(perfmon)["memory for buffers"], "partly")
    expect_equal(states(everything)["memory for buffers"], "yes")
    expect_equal(states({"proc/sys/kernel/perf_event_paranoid": "-1\n"})["memory for buffers"], "yes")
    expect_equal(states({"proc/self/limits": "Max locked memory  unlimited  unlimited  bytes\n"})["memory for buffers"], "yes")
    expect_equal(states({"sys/kernel/security/lockdown": "none integrity [confidentiality]\n"})["no lockdown"], "no")
    expect_equal(states({"sys/kernel/security/lockdown": "none [integrity] confidentiality\n"})["no lockdown"], "yes")


def kernel():
    """addresses and code of the kernel, and its events: what keeps this user from them, and not what keeps others"""
    for restricted, remedy in (("0", "perf_event_paranoid=1"), ("1", "run as root"), ("2", "kptr_restrict=1")):
        found = check({"proc/sys/kernel/kptr_restrict": restricted + "\n"})["kernel symbols"]
        expect(found["state"] == "no" and remedy in found["try"], restricted, found)
    shown = {"proc/kallsyms": "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n"}
    for restricted in "012":
        expect_equal(states({"proc/sys/kernel/kptr_restrict": restricted + "\n", **shown})["kernel symbols"], "yes")
    expect("CONFIG_KALLSYMS" in check({"proc/kallsyms": None})["kernel symbols"]["try"])
    expect_equal(states({"proc/kcore": b"\x7fELF\2\1\1"})["kernel memory"], "yes")
    expect("root" in check({"proc/kcore": ""})["kernel memory"]["try"])
    hidden = {"sys/kernel/tracing/events/header_page": None}
    expect("mount -t tracefs" in check(hidden)["tracepoints"]["try"])
    hidden["proc/self/mounts"] = "none /sys/kernel/tracing tracefs rw,relatime 0 0\n"
    expect("mode=755" in check(hidden)["tracepoints"]["try"])


def virtual_machine():
    """a guest learns what its host has to do, with the name of the machine"""
    found = check({"proc/cpuinfo": CPU % "hypervisor", "sys/class/dmi/id/product_name": "Standard PC\n"})
    expect_equal((found["not virtual"]["state"], found["not virtual"]["value"]), ("no", "Standard PC"))
    expect("pt_mode" in found["not virtual"]["try"], found)
    # It may have it all the same.
    expect_equal(found["device"]["state"], "yes")


def hostile():
    """whatever the files hold, the output is whole, and nothing of it drives the terminal"""
    junk = [b"", b"\n", b"\0\0", b"\x1b[2J\x1b]0;x\x07", b"\xff" * 70000, b"-1\n", b"0x\n", b"99999999999999999999\n", b"1 2\n",
            b"[" * 5000, b"0-4294967295\n", b"5-1\n", b",,,\n", b"%s%n\n", "\u202e\n".encode(), b"ffffffffffffffff\n"]
    for text in junk:
        for changes in ([{name: text} for name in FILES] if len(text) < 100 else []) + [dict.fromkeys(FILES, text)]:
            done = record("check", "--root", root(changes))
            expect_equal((done.returncode, done.stderr), (0, ""), changes)
            expect(done.stdout.replace("\n", "").isprintable(), changes, done.stdout)
            check(changes)
    # Nor are pipes and folders where files should be.
    for name in FILES:
        root({name: None})
        os.makedirs(path("root/" + os.path.dirname(name)), exist_ok=True)
        os.mkfifo(path("root/" + name))
        expect_equal(record("check", "--root", path("root")).returncode, 0, name)
    names = b"model name\t: \x1b[31mred\n"
    expect("\\x1b[31mred" in record("check", "--root", root({"proc/cpuinfo": b"vendor_id\t: GenuineIntel\n" + names})).stdout)


def this_machine():
    """without --root it is this machine, with the sources that work"""
    done = record("check", "--json")
    expect_equal((done.returncode, done.stderr), (0, ""))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    sources = {item["name"]: item["state"] for item in found if item["group"] == "Sources"}
    expect_equal((sorted(sources), sources["none"]), (["intel_pt", "none", "software"], "yes"))
    listed = dict(line.split()[:2] for line in record("--list-sources").stdout.splitlines() if line[0] != " ")
    expect_equal({name: "yes" if state == "works" else "no" for name, state in listed.items()}, sources)


def usage():
    """what is wrong is said, and a command that is called check can be recorded"""
    for arguments, status, text in ((("check", "x"), 2, "unexpected"), (("check", "--root", "no-such"), 4, "no-such"),
                                    (("check", "--root", "/dev/null"), 2, "no folder"), (("check", "--no"), 2, "--no")):
        done = record(*arguments)
        expect_equal((done.returncode, text in done.stderr, done.stdout), (status, True, ""), arguments, done.stderr)
    os.mkdir(path("bin"))
    with open(path("bin/check"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 9\n")
    os.chmod(path("bin/check"), 0o755)
    done = record("-q", "-o", os.path.join(SCRATCH, "a.ptl"), "--source=none", "--", "check",
                  env={**os.environ, "PATH": path("bin") + ":" + os.environ["PATH"]})
    expect_equal(done.returncode, 9, done.stderr)


sys.exit(main([all_of_it, what_is_missing_has_a_remedy, permissions, kernel, virtual_machine, hostile, this_machine, usage]))
