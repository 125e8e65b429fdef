#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Whatever perf record is asked for: the trace has every sample that perf script shows of the same file, with the same values.
import collections
import json
import os
import re
import shutil

from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, run, scratch, skip

programs = os.environ["PTL_PROGRAMS"]
SCRIPT = ("ls -R /etc >/dev/null; (true; cat /dev/null) | cat; head -c 3000000 /dev/zero | md5sum >/dev/null; " +
          os.path.join(programs, "busy_calls") + " >/dev/null")
CLOCK = ["-e", "cpu-clock", "-F", "2000"]
# Name, options, fields of perf script beside those of all samples.
COMBINATIONS = (
    ("period", ["-e", "cpu-clock", "-c", "1000000"], ""),
    ("frequency", CLOCK, ""),
    ("user", ["-e", "cpu-clock:u"], ""),
    ("kernel", ["-e", "cpu-clock:k"], ""),
    ("task clock", ["-e", "task-clock", "-c", "500000"], ""),
    ("page faults", ["-e", "page-faults", "-c", "1"], ""),
    ("page faults with addresses", ["-e", "page-faults", "-c", "1", "-d"], "addr"),
    ("switches", ["-e", "context-switches", "-c", "1"], ""),
    ("several events", ["-e", "cpu-clock,page-faults,context-switches"], ""),
    ("events of one name", ["-e", "cpu-clock:u", "-e", "cpu-clock:k"], ""),
    ("group", ["-e", "{cpu-clock,page-faults,context-switches}"], ""),
    ("group that is read", ["-e", "{cpu-clock,page-faults,context-switches}:S", "-c", "500000"], ""),
    ("group of a tracepoint", ["-e", "{sched:sched_process_exec,page-faults,context-switches}:S", "-c", "1"], ""),
    ("counters that are read", ["-s", *CLOCK], ""),
    ("calls", ["-g", *CLOCK], ""),
    ("calls by DWARF", ["--call-graph", "dwarf", *CLOCK], ""),
    ("calls by DWARF of little stack", ["--call-graph", "dwarf,512", *CLOCK], ""),
    ("CPU", ["--sample-cpu", *CLOCK], ""),
    ("time and period", ["-T", "-P", *CLOCK], ""),
    ("raw", ["-R", *CLOCK], ""),
    ("data", ["-d", *CLOCK], ""),
    ("page sizes", ["--data-page-size", "--code-page-size", *CLOCK], ""),
    ("physical addresses", ["--phys-data", *CLOCK], ""),
    ("user registers", ["--user-regs=ax,sp,ip", *CLOCK], ""),
    ("interrupt registers", ["--intr-regs=ax,sp,ip", *CLOCK], ""),
    ("cgroups", ["--all-cgroups", *CLOCK], ""),
    ("namespaces", ["--namespaces", *CLOCK], ""),
    ("switch records", ["--switch-events", *CLOCK], ""),
    ("per thread", ["--per-thread", "-T", *CLOCK], ""),
    ("no inheritance", ["-i", *CLOCK], ""),
    ("compressed", ["-z", *CLOCK], ""),
    ("build ids of all", ["--buildid-all", *CLOCK], ""),
    ("build ids of mappings", ["--buildid-mmap", *CLOCK], ""),
    ("no build ids", ["-B", "-N", *CLOCK], ""),
    ("monotonic clock", ["-k", "CLOCK_MONOTONIC", *CLOCK], ""),
    ("tracepoints", ["-e", "sched:sched_switch,sched:sched_process_fork", "-e", "cpu-clock"], ""),
    ("tracepoints with calls", ["-g", "-e", "sched:sched_process_exec,syscalls:sys_enter_openat"], ""),
    ("the machine", ["-a", *CLOCK], ""),
    ("the machine with calls", ["-a", "-g", *CLOCK], ""),
    ("the machine without inheritance", ["-a", "--no-buffering", *CLOCK], ""),
)
# Functions that busy_calls.c has. Of those that the C library calls at the start and the end, perf loses callers.
FUNCTIONS = ("main", "deeper", "with_room", "work")
NUMBER = r"(-?\d+)"
LINE = re.compile(rf" *{NUMBER}/{NUMBER} +(?:\[(\d+)\] +)?([\d.]+): +(\d+) +(\S+): *(?:([0-9a-f]+) *)?([0-9a-f]+)?$")


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction)


def perf_samples(data, addresses):
    """(pid, tid, time, period, event, ip) of each sample."""
    fields = "pid,tid,time,period,event,ip" + (",addr" if addresses else "")
    shown = run("perf", "script", "-i", data, "--ns", "-G", "-F", fields).stdout
    found = collections.Counter()
    for line in shown.splitlines():
        match = LINE.match(line)
        if match:
            pid, tid, _, time, period, event, first, second = match.groups()
            address, ip = (first, second) if addresses else ("0", first if first is not None else second)
            found[int(pid), int(tid), nanoseconds(time), int(period), event, int(ip or "0", 16),
                  int(address or "0", 16)] += 1
    return found


def samples(events, start, addresses):
    """The same of the trace; events of tracepoints have no period and no address in the trace."""
    found = collections.Counter()
    for event in events:
        if event["event"] == "Sample" and event["provider"] == "Linux-Perf":
            fields = event["fields"]
            found[event.get("pid", -1), event.get("tid", -1), event["time"] + start, fields["Period"], fields["Event"],
                  int(fields["InstructionPointer"], 16), int(fields["Address"], 16) if addresses else 0] += 1
    return found


def typed(events, start):
    return collections.Counter((event.get("pid", -1), event.get("tid", -1), event["time"] + start,
                                f"{event['provider']}:{event['event']}")
                               for event in events if event.get("provider") in ("sched", "syscalls"))


def perf_calls(data):
    """The functions of busy_calls.c in the calls of each sample, the innermost first, by thread and time."""
    shown = run("perf", "script", "-i", data, "--ns", "--no-inline", "-F", "pid,tid,time,event,ip,sym,dso").stdout
    found, current = {}, None
    for line in shown.splitlines():
        head = re.match(rf" *{NUMBER}/{NUMBER} +([\d.]+): +\S+: *$", line)
        frame = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if head:
            current = found.setdefault((int(head[2]), nanoseconds(head[3])), [])
        elif frame and current is not None and frame[2].endswith("/busy_calls") and frame[1] in FUNCTIONS:
            current.append(frame[1])
    return {key: calls for key, calls in found.items() if calls}


def calls(trace, start):
    found = {}
    for line in run(dump, "events", "--stacks", "--json", trace).stdout.splitlines():
        event = json.loads(line)
        names = [frame.get("symbol") for frame in event.get("stack", []) if frame.get("image", "").endswith("/busy_calls")
                 and frame.get("symbol") in FUNCTIONS]
        if names:
            found[event.get("tid", -1), event["time"] + start] = names
    return found


def compare_calls(name, data, trace, start):
    perf, ours = perf_calls(data), calls(trace, start)
    wrong = [(key, perf.get(key), ours.get(key)) for key in sorted({*perf, *ours}) if perf.get(key) != ours.get(key)]
    # Where a copy of the stack is too small, libunwind and libdw may part at the last frame.
    allowed = len(perf) // 10 if "little" in name else 0
    check(f"{name}: the calls of {len(perf)} samples are those of perf", perf and len(wrong) <= allowed, *wrong[:4])


def combination(name, options, more):
    data, trace = name.replace(" ", "-") + ".data", name.replace(" ", "-") + ".ptl"
    done = run("perf", "record", "-q", "-o", data, *options, "--", "sh", "-c", SCRIPT)
    if done.returncode:
        skip(name, "perf record fails here: " + " ".join(done.stderr.split())[:80])
        return
    done = run(relog, "-f", "-q", data, "-o", trace)
    strange = [line for line in done.stderr.splitlines() if "perf lost" not in line and "another version" not in line]
    if not check(f"{name}: is read", done.returncode == 0 and not strange, done):
        return
    start = json.loads(run(dump, "info", "--json", trace).stdout)["clock"]["start_time"]
    events = [json.loads(line) for line in run(dump, "events", "--json", trace).stdout.splitlines()]
    addresses = "addr" in more
    perf, ours = perf_samples(data, addresses), samples(events, start, addresses)
    tracepoints = collections.Counter()
    for key in list(perf):
        # An ordinary user's events end in ":u", as "page-faults:u".
        if key[4].split(":")[0] in ("sched", "syscalls"):
            tracepoints[(key[0], key[1], key[2], key[4])] += perf.pop(key)
    if not perf and not ours and not tracepoints:
        skip(name, "perf takes none here")
        return
    # A thread that is dying has no number any more.
    check(f"{name}: {sum(perf.values())} samples as perf says", perf == ours and (perf or tracepoints),
          "only perf:", *sorted((perf - ours).items())[:6], "only the trace:", *sorted((ours - perf).items())[:6])
    if tracepoints:
        known = typed(events, start)
        check(f"{name}: {sum(tracepoints.values())} events of tracepoints as perf says", tracepoints == known,
              "only perf:", *sorted((tracepoints - known).items())[:6], "only the trace:",
              *sorted((known - tracepoints).items())[:6])
    if "calls" in name and "tracepoints" not in name:
        compare_calls(name, data, trace, start)


def without_files():
    """Stacks of a program that is not there any more end where nothing is known, and say so."""
    program = path("gone")
    shutil.copy(os.path.join(programs, "busy_calls"), program)
    done = run("perf", "record", "-q", "-N", "-o", "gone.data", "-F", "5000", "-e", "cpu-clock:u", "--call-graph", "dwarf",
               "--", program)
    os.unlink(program)
    if done.returncode:
        skip("stacks of a program that is gone", "perf record fails here")
        return
    # perf's cache of files may have the program from before.
    done = run(relog, "-f", "gone.data", "-o", "gone.ptl", env={**os.environ, "HOME": scratch})
    stacks = [event["stack"] for event in map(json.loads, run(dump, "events", "--stacks", "--json", "gone.ptl").stdout.splitlines())
              if any(frame.get("image") == program for frame in event.get("stack", [])[:1])]
    check("stacks of a program that is gone: end with address 0, and a note says why",
          stacks and all(int(stack[-1]["ip"], 16) == 0 for stack in stacks) and "end with address 0" in done.stderr,
          done, stacks[:2])


def vdso(name, *options, **more):
    """Each stack that begins in the vdso goes on to its caller's callers. perf itself loses some, so the program says what is right."""
    done = run("perf", "record", "-q", "-o", "vdso.data", "-F", "2000", "-e", "cpu-clock:u", "--call-graph", "dwarf,1024", *options,
               "--", os.path.join(programs, "vdso_calls"), **more)
    if done.returncode:
        skip(name, "perf record fails here")
        return
    done = run(relog, "-f", "-q", "vdso.data", "-o", "vdso.ptl", **more)
    events = [json.loads(line) for line in run(dump, "events", "--stacks", "--json", "vdso.ptl").stdout.splitlines()]
    stacks = [event["stack"] for event in events if event.get("stack", [{}])[0].get("image") == "[vdso]"]
    if done.returncode == 0 and not stacks:
        skip(name, "this machine's clock is not read in the vdso")
        return
    wrong = [stack for stack in stacks
             if [frame.get("symbol") for frame in stack if frame.get("image", "").endswith("/vdso_calls")] != ["ask", "main", "_start"]
             # The entry calls functions without symbols in the vdso of some kernels.
             or not [frame for frame in stack if frame.get("image") == "[vdso]"][-1].get("symbol", "").startswith("__vdso_")]
    check(f"{name}: {len(stacks)} samples have their callers", done.returncode == 0 and not wrong, done, wrong[:2])


if not shutil.which("perf"):
    skip("perf.data as perf writes it", "there is no perf here: apt-get install linux-perf")
elif run("perf", "record", "-q", "-o", "probe.data", "-e", "cpu-clock", "--", "true").returncode:
    skip("perf.data as perf writes it", "perf may not record here: see /proc/sys/kernel/perf_event_paranoid")
else:
    for one in COMBINATIONS:
        combination(*one)
    without_files()
    vdso("calls by DWARF of the vdso")
    vdso("calls by DWARF of the vdso without perf's cache", "-N", env={**os.environ, "HOME": path("nowhere")})
    vdso("calls by DWARF of the vdso without build ids", "-B", "-N", env={**os.environ, "HOME": path("nowhere")})
plan()
