#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --flags and -e: tracepoints of a command and of the whole system, as many as perf counts at the same time.
import collections
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import BIN  # noqa: E402
from record_test import PROGRAMS, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, main, path, record, run

NONE = "--source=none"
GETPPID = "syscalls:sys_enter_getppid"
RUNTIME = SCRATCH + ".run"
os.environ["XDG_RUNTIME_DIR"] = RUNTIME
os.environ["PTL_SESSION_DIR"] = os.path.join("/dev/shm", "ptl-kernel-%d" % os.getpid())
os.mkdir(RUNTIME, 0o700)
# Calls getppid so often, and kill with signal 0 twice and 10 with one that is blocked.
CALLS = "import os, signal\nsignal.signal(10, signal.SIG_IGN)\nfor _ in range(%d): os.getppid()\n" \
        "for s in (0, 0, 10): os.kill(os.getpid(), s)\n"

# Wakes a process that is known to wait: who wakes one that only sleeps is another, or nobody.
WAKES = "child = os.fork()\nwhile not child: signal.pause()\nfor _ in range(20):\n" \
        "    os.kill(child, signal.SIGSTOP); os.waitpid(child, os.WUNTRACED); os.kill(child, signal.SIGCONT)\n" \
        "os.kill(child, signal.SIGKILL); os.waitpid(child, 0)\n"


# Calls getppid until its input ends, and prints how often.
CALL_ON = "import os, select\ncount = 0\nwhile not select.select([0], [], [], 0.0001)[0]:\n    count += 10\n" \
          "    for _ in range(10): os.getppid()\nprint(count)\n"


def works():
    done = record("-f", "-o", "works.ptl", NONE, "-e", GETPPID, "--", "true")
    if done.returncode:
        raise Skip("tracepoints cannot be recorded here: " + done.stderr.splitlines()[0])


def named(name, event):
    return [found for found in lines("events", name) if found["event"] == event]


def of_a_command():
    """tracepoints of a command: as many as perf counts, with their fields, and none of others"""
    works()
    judge = ["perf", "stat", "-x,", "-e", GETPPID, "-o", "perf.txt", "--"] if shutil.which("perf") else []
    other = subprocess.Popen([sys.executable, "-c", CALLS % 100], cwd=SCRATCH)
    done = record("-o", "c.ptl", NONE, "-e", GETPPID, "-e", "syscalls:sys_enter_kill if sig == 10", "--flags=process", "--",
                  *judge, sys.executable, "-c", CALLS % 1234)
    other.wait()
    expect_equal(done.returncode, 0, done.stderr)
    expect(re.search(r"c\.ptl: .*, [0-9,]+ events; .*; no losses", done.stderr), done.stderr)
    programs = {event["pid"] for event in named("c.ptl", "sys_enter_kill")}
    expect_equal(len(programs), 1, programs)
    calls = [event for event in named("c.ptl", "sys_enter_getppid") if event["pid"] in programs]
    expect_equal(len(calls), 1234)
    if judge:
        with open(path("perf.txt"), encoding="utf-8") as file:
            counted = int(re.search(r"^(\d+),", file.read(), re.M).group(1))
        expect_equal(len(calls), counted)
    kills = named("c.ptl", "sys_enter_kill")
    expect_equal([int(str(event["fields"]["sig"]), 0) for event in kills], [10])
    expect_equal(kills[0]["provider"], "syscalls")
    expect(other.pid not in {event["pid"] for event in lines("events", "c.ptl")})
    ends = [event["pid"] for event in named("c.ptl", "sched_process_exit")]
    expect_equal(sorted(set(ends)), sorted(event["pid"] for event in named("c.ptl", "Process/End")))
    times = {event["pid"]: event["time"] for event in named("c.ptl", "Process/End")}
    for event in calls:
        expect(event["time"] <= times[event["pid"]], event, times)


def one_after_the_other():
    """plain events, which are taken together, and others between them come in the order in which they happened, each with its own values"""
    works()
    program = "import os\nfor i in range(3000):\n    try: os.getpgid(i + 4000000)\n    except OSError: pass\n" \
              "    if i % 7 == 3: os.getppid()\n"
    done = record("-o", "o.ptl", NONE, "-e", "syscalls:sys_enter_getpgid", "-e", GETPPID, "--stack", GETPPID, "--",
                  sys.executable, "-c", program)
    expect_equal(done.returncode, 0, done.stderr)
    expect(re.search(r"o\.ptl: .*; no losses", done.stderr), done.stderr)
    got = [(event["event"], event["fields"].get("pid")) for event in lines("events", "o.ptl") if event["provider"] == "syscalls"]
    wanted = []
    for i in range(3000):
        wanted.append(("sys_enter_getpgid", 4000000 + i))
        if i % 7 == 3:
            wanted.append(("sys_enter_getppid", None))
    expect_equal(len(got), len(wanted))
    expect_equal([(name, value if value is None else int(str(value), 0)) for name, value in got], wanted)


def stacks():
    """--stack: the same frames as perf takes at the same events, with names; none where it was not asked for"""
    works()
    judge = ["perf", "record", "-q", "-o", "perf.data", "-g", "-e", GETPPID, "-e", "sched:sched_waking", "--"] \
        if shutil.which("perf") else []
    done = record("-o", "st.ptl", NONE, "-e", GETPPID, "-e", "sched:sched_waking", "-e", "syscalls:sys_enter_kill",
                  "--stack=*getppid", "--stack=sched:*", "--", *judge, sys.executable, "-c",
                  CALLS % 20 + WAKES)
    expect_equal(done.returncode, 0, done.stderr)
    events = lines("events", "--stacks", "st.ptl")
    kills = [event for event in events if event["event"] == "sys_enter_kill"]
    expect_equal([event for event in kills if "stack" in event], [])
    # perf sends signals, too: the program is who ignores one.
    pid = next(event["pid"] for event in kills if int(str(event["fields"]["sig"]), 0) == 10)
    calls = [event for event in events if event["event"] == "sys_enter_getppid" and event["pid"] == pid]
    expect_equal(len(calls), 20)
    for event in calls:
        expect(event["stack"][0]["symbol"].endswith("getppid") and event["stack"][0]["image"], event)
    if not judge:
        return
    for name in ("sys_enter_getppid", "sched_waking"):
        ours = [tuple(frame_of(frame["ip"]) for frame in event["stack"]) for event in events
                if event["event"] == name and event["pid"] == pid and event.get("stack")]
        theirs = perf_stacks(pid, name)
        # perf begins and ends within our recording.
        expect(theirs and set(theirs) <= set(ours), name, set(theirs) - set(ours))
    check_kernel_names(events)
    # perf's own file of the same kernel.
    expect_equal(run(os.path.join(BIN, "ptl-relog"), "-q", "perf.data", "-o", "fp.ptl").returncode, 0)
    if kernel_has_addresses():
        check_kernel_names(lines("events", "--stacks", "fp.ptl"))


def unwound():
    """--stack=EVENT,dwarf: calls of programs without frame pointers, as perf unwinds them"""
    works()
    program = os.path.join(PROGRAMS, "kernel_load")
    done = record("-o", "dw.ptl", NONE, "-e", GETPPID, "--stack=*,dwarf", "--", program, "syscalls", "1000", "0.3", path("report"))
    expect_equal(done.returncode, 0, done.stderr)
    stacks = [event["stack"] for event in lines("events", "--stacks", "dw.ptl") if event["event"] == "sys_enter_getppid"]
    expect_equal(len(stacks), 300)
    expect("no losses" in done.stderr, done.stderr)
    whole = [tuple(frame.get("symbol", "").split("@")[0] for frame in stack) for stack in stacks]
    for names in whole:
        expect(names[0] == "syscall" and "main" in names and names[-1] == "_start", names)
    if not shutil.which("perf"):
        return
    run("perf", "record", "-q", "--call-graph=dwarf", "-e", GETPPID, "-o", "dw.data", "--", program, "syscalls", "1000", "0.05", path("report"))
    told = run("perf", "script", "--no-inline", "-i", "dw.data", "-F", "ip,sym").stdout
    theirs = {tuple(line.split()[1].split("@")[0] for line in stack.splitlines() if line.strip())
              for stack in re.split(r"\n\s*\n", told) if stack.strip()}
    expect(theirs & set(whole), theirs, set(whole))


def unwound_later():
    """--stack=EVENT,dwarf: of programs that have ended before their samples are looked at, and of children without a program of their own"""
    works()
    script = "import os\nfor i in range(20):\n    if not os.fork():\n        os.getppid()\n        os._exit(0)\n    os.wait()"
    done = record("-o", "dl.ptl", NONE, "-e", GETPPID, "--stack=*,dwarf", "--", sys.executable, "-S", "-c", script)
    expect_equal(done.returncode, 0, done.stderr)
    expect("no losses" in done.stderr, done.stderr)
    stacks = [event["stack"] for event in lines("events", "--stacks", "dl.ptl") if event["event"] == "sys_enter_getppid"]
    expect_equal(len(stacks), 20)
    for stack in stacks:
        expect("Py_BytesMain" in [frame.get("symbol") for frame in stack], stack)


def unwound_children():
    """the same of the whole system: children of a process that ran before, and execute nothing"""
    works()
    script = "import os, sys\nprint(1, flush=True)\nsys.stdin.read(1)\nfor i in range(20):\n    child = os.fork()\n" \
        "    if not child:\n        os.getppid()\n        os._exit(0)\n    print(child)\n    os.wait()"
    session = "unwound-%d" % os.getpid()
    with subprocess.Popen([sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        parent.stdout.readline()
        done = record("start", session, "-o", path("ch.ptl"), "-e", GETPPID, "--stack=*,dwarf")
        expect_equal(done.returncode, 0, done.stderr)
        children = [int(pid) for pid in parent.communicate("x")[0].split()]
    done = record("stop", session)
    expect_equal(done.returncode, 0, done.stderr)
    stacks = [event["stack"] for event in lines("events", "--stacks", "ch.ptl")
              if event["event"] == "sys_enter_getppid" and event["pid"] in children]
    expect_equal(len(stacks), 20)
    # Of the calls of an interpreter, most of whose functions may have no name.
    for stack in stacks:
        expect(len(stack) > 8, stack)


def called_last():
    """a call that is the last instruction of a function is this function's, and not the next one's: exit() does not return"""
    works()
    done = record("-o", "last.ptl", NONE, "-e", "syscalls:sys_enter_exit_group", "--stack=*,dwarf", "--",
                  os.path.join(PROGRAMS, "kernel_load"), "syscalls", "1000", "0.01", path("report"))
    expect_equal(done.returncode, 0, done.stderr)
    stack = next(event["stack"] for event in lines("events", "--stacks", "last.ptl") if event["event"] == "sys_enter_exit_group")
    names = [frame.get("symbol") for frame in stack]
    expect("exit" in names and None not in names, names)
    expect(re.search(r"  exit\+0x[0-9a-f]+ \(libc", dump("events", "--stacks", "last.ptl")), "the text")


def check_kernel_names(events):
    """Names of the kernel's functions are perf's; who may not see addresses has none, which is a loss."""
    named = {frame["ip"].lower(): frame.get("symbol") for event in events for frame in event.get("stack", [])
             if int(frame["ip"], 16) >> 47 == 0x1ffff}  # a program without frame pointers gives any number
    expect(named)
    if not kernel_has_addresses():
        expect_equal(set(named.values()), {None})
        expect("have no names" in json.dumps(lines("info", "st.ptl")), "the loss")
        return
    done = subprocess.run(["perf", "script", "-i", "perf.data", "-F", "ip,sym"], cwd=SCRATCH, capture_output=True, text=True, check=False)
    theirs = {"0x" + frame.split()[0]: frame.split()[1] for frame in done.stdout.splitlines() if len(frame.split()) == 2}
    both = [address for address in theirs if address in named]
    expect(len(both) > 5, len(both), len(theirs), len(named))
    aliases = kernel_aliases()
    for address in both:
        expect(named[address] == theirs[address] or aliases.get(named[address], set()) & aliases.get(theirs[address], set()),
               "got", named[address], "instead of", theirs[address], address)


def kernel_aliases():
    """Where functions of each name begin: of several names of one place, the kernel takes the first, and perf another one."""
    found = {}
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        for line in symbols:
            address, _, name = line.split()[:3]
            found.setdefault(name, set()).add(address)
    return found


def kernel_has_addresses():
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        return int(symbols.readline().split()[0], 16) != 0


def frame_of(address):
    """perf shows addresses of programs as offsets in their file: the place in the page is the same."""
    number = int(address, 16)
    return number if number >> 63 else number & 0xfff


def perf_stacks(pid, name):
    done = subprocess.run(["perf", "script", "-i", "perf.data", "-F", "pid,event,ip"], cwd=SCRATCH, capture_output=True,
                          text=True, check=False)
    found = []
    for sample in done.stdout.strip().split("\n\n"):
        head, *frames = sample.splitlines()
        if head.split()[0] == str(pid) and name in head:
            found.append(tuple(frame_of(frame.split()[0]) for frame in frames))
    return found


def functions():
    """uprobe: and uretprobe:, as often as the program calls; counters, whose samples take the program's time"""
    works()
    program = os.path.join(PROGRAMS, "recursion")
    if not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):
        raise Skip("this kernel has no uprobes")
    busy = "import os, subprocess, time\nwhile time.process_time() < .15: pass\n" \
           "subprocess.run([%r], check=True)\nos.execv(%r, [%r])" % (program, program, program)
    # What others call is not the command's.
    other = subprocess.Popen(["sh", "-c", "sleep 0.05; while \"$0\" >other.txt; do sleep 0.01; done", program], cwd=SCRATCH)
    done = record("-o", "u.ptl", NONE, "-e", "uprobe:%s:odd" % program, "-e", "uprobe:%s:even+0" % program, "-e",
                  "uprobe:%s:tree" % program, "-e", "uretprobe:%s:tree" % program, "--flags=profile", "-e", "page-faults", "-e", "cpu-clock/freq=100/",
                  "--stack=uretprobe:*", "--stack=cpu-clock", "--", sys.executable, "-c", busy)
    other.kill()
    other.wait()
    expect_equal(done.returncode, 0, done.stderr)
    events = [event for event in lines("events", "--stacks", "u.ptl") if event["provider"] != "Kernel"]
    found = {}
    for event in events:
        found.setdefault(event["event"], {}).setdefault(event["pid"], []).append(event)
    # Once by the child, and once by the command itself.
    for name, count in (("odd", 667), ("even+0", 668), ("tree", None), ("tree__return", None)):
        calls = [len(calls) for calls in found[name].values()]
        expect_equal(calls, [count or len(found["tree"][max(found["tree"])])] * 2, name)
    for pid, returns in found["tree__return"].items():
        expect_equal({event["provider"] for event in returns}, {"probe_recursion"})
        expect_equal({event["stack"][0]["symbol"] for event in returns}, {"tree", "main"})
        expect_equal({event["fields"]["__probe_func"] for event in returns},
                     {event["fields"]["__probe_ip"] for event in found["tree"][pid]})
    samples = {}
    for event in events:
        if event["event"] == "Sample":
            samples.setdefault(event["fields"]["Event"], []).append(event)
    expect_equal(sorted(samples), ["cpu-clock", "cpu-clock/freq=100/", "page-faults"])
    # A machine that is busy takes some of them, and makes none.
    expect(20 < len(samples["cpu-clock"]) < 1500, len(samples["cpu-clock"]))
    # The kernel begins with short periods in each process until it knows how often the event comes.
    expect(0 < len(samples["cpu-clock/freq=100/"]) < len(samples["cpu-clock"]), {name: len(found) for name, found in samples.items()})
    expect(all(int(event["fields"]["InstructionPointer"], 16) == int(event["stack"][0]["ip"], 16)
               for event in samples["cpu-clock"] if event.get("stack")))
    expect(any(frame.get("image", "").startswith("/") for event in samples["cpu-clock"] for frame in event.get("stack", [])), "images")
    expect(not any("stack" in event for event in samples["page-faults"]))


def functions_of_sources():
    """uprobe: functions by their names in the source; where several have one, both names of each are said"""
    works()
    program = os.path.join(PROGRAMS, "overloads")
    if not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):
        raise Skip("this kernel has no uprobes")
    names = {"shapes::(anonymous namespace)::area": 5, "shapes::Scale::operator()": 5, "shapes::half<int>": 5, "shapes::Scale::ap*+0": 5,
             "int shapes::half<int>": 5, "_Z4worki": 5, "apply": 5, "main": 1}
    done = record("-o", "n.ptl", NONE, *(word for name in names for word in ("-e", "uprobe:%s:%s" % (program, name))), "--", program)
    expect_equal(done.returncode, 0, done.stderr)
    found = collections.Counter(event["event"] for event in lines("events", "n.ptl") if event["provider"] == "probe_overloads")
    expect_equal(found, names)
    for name, texts in (("work", (" _Z4worki work(int), ", " _Z4workii work(int, int)")),
                        ("shapes::Scale::*", ("_ZNK6shapes5Scale5applyEi shapes::Scale::apply(int) const",)),
                        ("applies", ("there is no function applies",)), ("Scale::", ("there is no function Scale::",))):
        done = record("-o", "r.ptl", NONE, "-e", "uprobe:%s:%s" % (program, name), "--", "true")
        expect(done.returncode in (2, 4) and all(text in done.stderr for text in texts), name, done.returncode, done.stderr)
    # An offset that is listed is one that may be given.
    done = record("-o", "r.ptl", NONE, "-e", "uprobe:%s:work" % program, "--", "true")
    offset = re.search("(0x[0-9a-f]+) _Z4workii ", done.stderr).group(1)
    done = record("-f", "-o", "n.ptl", NONE, "-e", "uprobe:%s:%s" % (program, offset), "--", program)
    expect_equal([event["event"] for event in lines("events", "n.ptl") if event["provider"] == "probe_overloads"], [offset] * 5, done.stderr)


def caller(count):
    """a process that lives until its command line was read: a recorder that is late finds nobody in /proc"""
    process = subprocess.Popen([sys.executable, "-c", CALLS % count + "input()"], cwd=SCRATCH, stdin=subprocess.PIPE)
    expect_equal(record("flush", "kernel").returncode, 0)
    process.communicate(b"\n")
    return process


def of_the_system():
    """without a command: all processes, by a session that is called as the NT Kernel Logger"""
    works()
    done = record("start", "NT Kernel Logger", "-o", "s.ptl", "-e", GETPPID, "--flags", "0x1")
    if done.returncode:
        raise Skip("the whole system cannot be recorded here: " + done.stderr.splitlines()[0])
    try:
        program = caller(321)
        # However an event is changed, each one is there once.
        calling = subprocess.Popen([sys.executable, "-c", CALL_ON], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for words in (["--stack", GETPPID], ["-e", GETPPID + " if common_pid != 1"], ["--disable-stack", GETPPID], ["-e", GETPPID]):
            done = record("update", "kernel", *words)
            expect_equal(done.returncode, 0, done.stderr)
        calls = int(calling.communicate()[0])
        done = record("update", "kernel", "-e", "syscalls:sys_enter_kill if sig == 10", "--disable-event", GETPPID)
        expect_equal(done.returncode, 0, done.stderr)
        later = caller(5)
        query = json.loads(record("query", "kernel", "--json").stdout)
        expect_equal(query["tracepoints"], ["sched:sched_process_fork", "sched:sched_process_exec",
                                            "sched:sched_process_exit", "syscalls:sys_enter_kill"])
        done = record("update", "kernel", "-e", GETPPID, "--disable-flags=process", "-e", "syscalls:sys_enter_kill",
                      "--only=syscalls:where=not has(sig) or sig == 0", "--stack=*:sys_enter_kill", "--stack=net:*")
        expect_equal((done.returncode, done.stderr.count("is for those that are turned on later")), (0, 1), done.stderr)
        expect_equal(json.loads(record("query", "kernel", "--json").stdout)["stacks"], ["*:sys_enter_kill", "net:*"])
        last = caller(7)
        done = record("update", "kernel", "--disable-stack=*:sys_enter_kill")
        expect_equal(done.returncode, 0, done.stderr)
        without = caller(0)
        done = record("update", "kernel", "--disable-event=syscalls:sys_enter_kill", "--only=syscalls:where=")
        expect_equal(done.returncode, 0, done.stderr)
        query = json.loads(record("query", "kernel", "--json").stdout)
        expect_equal(query["tracepoints"], [GETPPID])
        for words, text in ((["--disable-event=sched:sched_switch"], "is not on"), (["-e", "sched:bogus"], "has no tracepoint"),
                            (["-e", "%s if bogus == 1" % GETPPID], "does not take the filter"), (["--flags=bogus"], "is no flag"),
                            (["--disable-stack=*:sys_enter_kill"], "no stacks were asked for")):
            done = record("update", "kernel", *words)
            expect(done.returncode in (2, 4) and text in done.stderr, words, done.stderr)
        query = json.loads(record("query", "kernel", "--json").stdout)
        expect_equal(query["tracepoints"], [GETPPID])
        # One that two flags stand for, or that was asked for by name, too, is on as long as one of them is.
        shared = ["sched:sched_process_exit", "task:task_newtask"]
        for words, on, flags in ((["--flags=process,thread"], {GETPPID, "sched:sched_process_fork", "sched:sched_process_exec", *shared}, "process,thread"),
                                 (["--disable-flags=process"], {GETPPID, *shared}, "thread"),
                                 (["-e", shared[0], "--disable-flags=thread"], {GETPPID, shared[0]}, "")):
            done = record("update", "kernel", *words)
            query = json.loads(record("query", "kernel", "--json").stdout)
            expect_equal((done.returncode, set(query["tracepoints"]), query["flags"]), (0, on, flags), words, done.stderr)
        done = record("update", "kernel", "--disable-flags=thread")
        expect(done.returncode == 4 and "not turned on: thread" in done.stderr, done.stderr)
    finally:
        done = record("stop", "kernel")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal(len([event for event in named("s.ptl", "sys_enter_getppid") if event["pid"] == program.pid]), 321)
    expect_equal([len([event for event in named("s.ptl", name) if event["pid"] == process.pid])
                  for process in (later, last) for name in ("sys_enter_getppid", "sys_enter_kill")], [0, 1, 7, 2])
    stacked = lines("events", "--stacks", "s.ptl")
    found = len([event for event in stacked if (event["event"], event["pid"]) == ("sys_enter_getppid", calling.pid)])
    expect(found == calls or found < calls and "events lost" in done.stderr, found, calls, done.stderr)
    expect_equal([["stack" in event for event in stacked if (event["event"], event["pid"]) == (name, process.pid)]
                  for process, name in ((last, "sys_enter_kill"), (without, "sys_enter_kill"), (last, "sys_enter_getppid"))],
                 [[True] * 2, [False] * 2, [False] * 7])
    # Who ran before, and who started since, has a name.
    programs = {process["pid"]: process for process in lines("processes", "s.ptl")}
    expect("record_kernel" in programs[os.getpid()]["command_line"], programs[os.getpid()])
    for process in (program, later, last):
        expect_equal(programs[process.pid]["command_line"].split()[1:2], ["-c"], programs[process.pid])
    for event in ("sched_process_exec", "sched_process_exit"):
        expect(program.pid in {found["pid"] for found in named("s.ptl", event)}, event)


def images_alone():
    """--flags=image-load: code that every process maps, without a tracepoint"""
    works()
    done = record("start", "images", "-o", "i.ptl", "--flags=image-load")
    if done.returncode:
        raise Skip("the whole system cannot be recorded here: " + done.stderr.splitlines()[0])
    program = subprocess.Popen(["/bin/true"])
    program.wait()
    query = json.loads(record("query", "images", "--json").stdout)
    expect_equal((record("stop", "images").returncode, query["flags"], query["tracepoints"]), (0, "image-load", []))
    expect("libc.so.6" in {os.path.basename(image["path"]) for image in lines("images", "i.ptl") if image["pid"] == program.pid})


def patterns():
    """-e 'SYSTEM:PATTERN': all tracepoints that match, each with the filter, and off by a pattern, too"""
    works()
    pattern = "syscalls:sys_*_getp*"
    with open("/sys/kernel/tracing/available_events", encoding="ascii") as file:
        names = sorted(name for name in file.read().split() if fnmatch.fnmatchcase(name, pattern))
    expect(GETPPID in names and len(names) > 5, names)
    done = record("-o", "p.ptl", NONE, "-e", pattern + " if common_pid != 1", "--", sys.executable, "-c", CALLS % 30)
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal((len(named("p.ptl", "sys_enter_getppid")), len(named("p.ptl", "sys_exit_getppid"))), (30, 30))
    done = record("-f", "-o", "r.ptl", NONE, "-e", "syscalls:bogus*", "--", "true")
    expect_equal((done.returncode, "no tracepoint that matches syscalls:bogus*" in done.stderr), (4, True), done.stderr)
    done = record("start", "kernel", "-o", "ps.ptl", "-e", pattern, "-e", "sched:sched_switch")
    expect_equal(done.returncode, 0, done.stderr)
    try:
        # Each is on once, though asked for again.
        for action, wanted in (((), [*names, "sched:sched_switch"]), (("-e", GETPPID), [*names, "sched:sched_switch"]),
                               (("--disable-event=syscalls:*",), ["sched:sched_switch"]), (("-e", pattern), [*names, "sched:sched_switch"])):
            done = record("update", "kernel", *action) if action else done
            expect_equal(done.returncode, 0, done.stderr)
            found = json.loads(record("query", "kernel", "--json").stdout)["tracepoints"]
            expect_equal(sorted(found), sorted(wanted))
        expect("is not on" in record("update", "kernel", "--disable-event=net:*").stderr)
    finally:
        record("stop", "kernel")


def refused():
    """flags that are nothing here, tracepoints that are not there, and filters that are wrong"""
    works()
    for words, text in ((["--flags=registry"], "Linux has no registry"), (["--flags=bogus"], "is no flag"),
                        (["--flags=0x80000000"], "is no flag"), (["--flags=alpc,cswitch"], "Linux has no ALPC"),
                        (["-e", "bogus"], "is no event of the kernel"), (["-e", "sched:bogus"], "has no tracepoint sched:bogus"),
                        (["-e", "sched:sched_swich"], "has no tracepoint sched:sched_swich (did you mean 'sched:sched_switch'?)"),
                        (["-e", "sched:sched_switch if bogus == 1"], "does not take the filter 'bogus == 1': Invalid argument; its fields are "
                         "common_type, "), (["-e", "raw_syscalls:sys_enter if args == 1 bogus"], ", id, args\n"),
                        (["-e", "user_events:ptl_bogus_event"], "user_events" if os.path.exists("/sys/kernel/tracing/user_events_status")
                         else "this kernel has no user_events"),
                        (["-e", "../events:sched"], "is no tracepoint"), (["-e", "cpu-clock/bogus=1/"], "/freq=N/"),
                        (["-e", "cpu-clock/freq=0/"], "/freq=N/"), (["-e", "cpu-clock if 1"], "has no filter"),
                        (["-e", "uprobe:/bin/true"], "expected uprobe:PATH:FUNCTION"),
                        (["-e", "uprobe:/nowhere:main"], "No such file"),
                        (["-e", "uprobe:%s:bogus" % os.path.join(PROGRAMS, "recursion")], "there is no function bogus"),
                        (["-e", "uprobe:%s:odd+4000" % os.path.join(PROGRAMS, "recursion")], "is not in the function"),
                        (["-e", "uretprobe:%s:0x7fffffff" % os.path.join(PROGRAMS, "recursion")], "is not in the file"),
                        (["--stack=*"], "there is none")):
        done = record("-f", "-o", "r.ptl", NONE, *words, "--", "true")
        expect(done.returncode in (2, 4), words, done.returncode, done.stderr)
        expect(text in done.stderr, words, done.stderr)
        expect(not os.path.exists(path("r.ptl")))
    for words, warned in (("--stack=sched:*", False), ("--stack=sched:*,dwarff", True), ("--stack=net:*", True)):
        done = record("-f", "-o", "r.ptl", NONE, "-e", "sched:sched_switch", words, "--", "true")
        expect_equal((done.returncode, "no event of the kernel that is recorded matches " + words.replace("=", " ") in done.stderr),
                     (0, warned), words, done.stderr)
    listed = record("--list-flags").stdout
    expect(re.search(r"^cswitch +0x00000010 works +sched:sched_switch$", listed, re.M), listed)
    expect(re.search(r"^image-load +0x00000004 works +code that is mapped", listed, re.M), listed)
    expect(re.search(r"^registry +0x00020000 no +Linux has no registry$", listed, re.M), listed)
    expect(re.search(r"^latency +0x01002177 works +process,thread,image-load,cswitch,dpc,interrupt,disk-io,hard-fault,profile$", listed, re.M), listed)
    expect(re.search(r"^diag +0x00002177 works +process,.*; nothing here is what PERF_COUNTER\+COMPACT_CSWITCH stands for$", listed, re.M), listed)


def groups_of_xperf():
    """groups and flags as xperf writes them are the flags that they stand for"""
    works()
    done = record("start", "groups", "-o", "g.ptl", "--flags", "PROC_THREAD+Loader,cswitch")
    if done.returncode:
        raise Skip("the whole system cannot be recorded here: " + done.stderr.splitlines()[0])
    try:
        for words, flags in ((["--flags=SysProf"], "process,thread,image-load,cswitch,profile"),
                             (["--disable-flags=SYSPROF"], "cswitch"), (["--flags=NETWORKTRACE+DRIVERS"], "cswitch,net-tcpip,driver")):
            done = record("update", "groups", *words)
            expect_equal((done.returncode, json.loads(record("query", "groups", "--json").stdout)["flags"]), (0, flags), words, done.stderr)
        for word in ("latenc", "latency-", "file_io_", "+"):
            done = record("update", "groups", "--flags", word)
            expect(done.returncode == 2 and "is no flag" in done.stderr, word, done.stderr)
    finally:
        done = record("stop", "groups")
    expect_equal(done.returncode, 0, done.stderr)


def kernel_threads():
    """kernel threads of the whole system have the names that ps shows"""
    done = record("-f", "-q", "-o", "threads.ptl", NONE, "-e", "cpu-clock", "--duration=300ms")
    if done.returncode:
        raise Skip("the whole system cannot be recorded here")
    found = {entry["pid"]: entry["name"] for entry in lines("processes", "threads.ptl")}
    threads = {pid: name for pid, name in found.items() if name.startswith("[") and pid}
    for pid, name in list(threads.items()):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                comm = file.read().strip()
        except OSError:
            continue
        # Workers are renamed as they work: before the "-".
        expect_equal(name[1:-1].split("-")[0].split("+")[0], comm.split("-")[0].split("+")[0], pid)
    # A short process of a busy machine may have no name.
    nameless = [pid for pid, name in found.items() if not name and pid and os.path.exists(f"/proc/{pid}")]
    expect(len(threads) > 5 and not nameless, nameless, found)


def outside_of_the_namespace():
    """from within a pid namespace, the kernel stays the kernel, and processes outside are none"""
    outside = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"], cwd=SCRATCH)
    done = run("unshare", "--pid", "--fork", "--mount-proc", RECORD, "-f", "-q", "-o", "inside.ptl", NONE, "-e", "cpu-clock",
               "--stack=cpu-clock", "--duration=1s", cwd=SCRATCH)
    outside.kill()
    outside.wait()
    if done.returncode:
        raise Skip("needs root: " + " ".join(done.stderr.split())[:80])
    events = [event for event in lines("events", "--stacks", "inside.ptl") if event["event"] == "Sample"]
    kernel = [event for event in events if int(event["fields"]["InstructionPointer"], 16) >> 63]
    named = [event for event in kernel if event["stack"][0].get("symbol")]
    expect(len(kernel) > 10 and len(named) >= 0.9 * len(kernel), len(events), len(kernel), len(named))
    expect(not [event for event in events if event.get("pid") == 0 and not int(event["fields"]["InstructionPointer"], 16) >> 63],
           "user code of process 0")


def stack_patterns():
    """--stack matches events as -e names them and as the trace shows them"""
    shutil.copy(os.path.join(PROGRAMS, "deep_calls"), path("deep"))
    for pattern, kind, name in (("probe_deep:*", "uprobe:./deep:descend", "descend"), ("probe_deep/descend", "uprobe:./deep:descend", "descend"),
                                ("cpu-clock,dwarf", "cpu-clock/freq=4000/", "Sample")):
        done = record("-f", "-o", "p.ptl", NONE, "-e", kind, "--stack=" + pattern, "--", sys.executable, "-c",
                      "import subprocess\nfor _ in range(3): subprocess.run('./deep', check=True)\nsum(range(10**6))")
        if done.returncode:
            raise Skip("uprobes cannot be recorded here: " + done.stderr.splitlines()[0])
        expect("no event" not in done.stderr, pattern, done.stderr)
        found = [event for event in lines("events", "--stacks", "p.ptl") if event["event"] == name]
        expect(found and all(event.get("stack") for event in found), pattern, found[:2])


def without_privileges():
    """another user records samples of a command's own code, and not the whole system"""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        paranoid = int(file.read())
    if os.geteuid() or paranoid not in (1, 2):
        raise Skip("needs root, and perf_event_paranoid 1 or 2")
    try:
        done = run(RECORD, "-o", "/dev/null", NONE, "-e", "cpu-clock", "--duration=1s", user=65534, group=65534,
                   extra_groups=[], env={"PATH": os.environ["PATH"]})
    except PermissionError as error:
        raise Skip("the programs are not everybody's") from error
    expect(done.returncode == 4 and "cannot record the whole system: that is for root" in done.stderr, done.stderr)
    done = run(RECORD, "-o", "/dev/null", NONE, "-e", "cpu-clock/freq=100/", "--stack=*", "--", "/bin/true", user=65534, group=65534,
               extra_groups=[], env={"PATH": os.environ["PATH"]})
    expect_equal(done.returncode, 0, done.stderr)
    expect(("of programs alone" in done.stderr) == (paranoid == 2), done.stderr)
    # Then there is nothing of the kernel to be named.
    expect(paranoid == 1 or "no losses" in done.stderr, done.stderr)


try:
    failed = main([of_a_command, one_after_the_other, stacks, unwound, unwound_later, unwound_children, called_last, functions, functions_of_sources, of_the_system, images_alone, patterns,
                   kernel_threads, outside_of_the_namespace, stack_patterns,
                   without_privileges, groups_of_xperf, refused])
finally:
    record("stop", "kernel")
    shutil.rmtree(RUNTIME, ignore_errors=True)
    shutil.rmtree(os.environ["PTL_SESSION_DIR"], ignore_errors=True)
sys.exit(failed)
