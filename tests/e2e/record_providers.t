#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --provider: every event that a session wants is in its trace once, in order, or counted as lost.
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, RECORD, SCRATCH, dump, expect, expect_equal, lines, main, path, record, start

WRITER = os.path.join(PROGRAMS, "provider_writer")
NAME = "PTL-Test-Writer"
NONE = "--source=none"
# A folder of our own, so that other tests' recorders have nothing to do with ours.
FOLDER = os.path.join("/dev/shm", "ptl-test-%d" % os.getpid())
os.environ["PTL_SESSION_DIR"] = FOLDER


def events(name, **wanted):
    """The writer's events, in the order in which ptl-dump shows them."""
    return [event for event in lines("events", name)
            if event["provider"].startswith("PTL-Test") and all(event[key] == wanted[key] for key in wanted)]


def numbers(found):
    """thread of the program -> its numbers, in order"""
    result = {}
    for event in found:
        if event["event"] == "Number":
            result.setdefault((event["pid"], event["fields"]["thread"]), []).append(event["fields"]["index"])
    return result


def lost(name):
    return sum(loss["count"] for loss in lines("info", name)[0]["losses"])


def folder():
    return sorted(os.listdir(FOLDER)) if os.path.isdir(FOLDER) else []


def wait_for(condition, what, seconds=30):
    end = time.time() + seconds
    while not condition():
        expect(time.time() < end, "waited in vain for", what)
        time.sleep(0.01)


def writer(*words):
    """Starts the program natively, outside of any recording, and waits until it says so."""
    process = subprocess.Popen([WRITER, "say=ready", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect_equal(process.stdout.readline(), "ready\n")
    return process


def sessions(pid):
    """provider -> sessions that have it turned on in this process"""
    done = record("--list-providers", "--json")
    for line in done.stdout.splitlines():
        program = json.loads(line)
        if program["pid"] == pid:
            return {provider["name"]: provider["sessions"] for provider in program["providers"]}
    return None


def every_event():
    """all events of threads, children and programs they run, in order, with the fields they were given"""
    done = record("-o", "a.ptl", NONE, "-p", NAME, "--", WRITER, "count=100", "threads=4,5000", "fork=7", "spawn=count=3",
                  "exec=count=5")
    expect_equal(done.returncode, 0, done.stderr)
    expect("no losses" in done.stderr, done.stderr)
    found = numbers(events("a.ptl"))
    expect_equal(sorted(len(found[key]) for key in found), [3, 7, 105, 5000, 5000, 5000, 5000])
    for key, values in found.items():
        wanted = list(range(len(values))) if len(values) != 105 else list(range(100)) + list(range(5))
        expect_equal(values, wanted, key)
    expect_equal(folder(), [], "files were left behind")


def levels_and_keywords():
    """level and keywords choose; a GUID, a name in any case and * choose providers"""
    guid = "8caafb33-4add-5054-da4c-48e1eb7c08a9"
    for rules, wanted in ((["*"], "Critical Warning Number Verbose Hello"), ([NAME.lower()], "Critical Warning Number Verbose"),
                          ([guid + ":warning"], "Critical Warning"), (["{%s}:info:1" % guid], "Critical Number"),
                          ([NAME + "::0x6"], "Critical Warning Verbose"), (["PTL-Test-Other"], "Hello"),
                          ([NAME + ":2", "PTL-Test-Other:4"], "Critical Hello"), (["Nobody"], "")):
        options = [word for rule in rules for word in ("-p", rule)]
        done = record("-q", "-f", "-o", "a.ptl", NONE, *options, WRITER, "levels")
        expect_equal(done.returncode, 0, done.stderr)
        expect_equal([event["event"] for event in events("a.ptl")], wanted.split(), rules)


def same_under_qemu():
    """the same program writes the same events natively and under the software source"""
    words = ["levels", "count=5", "threads=2,3", "fork=2", "spawn=levels"]
    seen = []
    for name, source in (("a.ptl", NONE), ("b.ptl", "--source=qemu")):
        done = record("-q", "-o", name, source, "-p", "*", "--", WRITER, *words)
        expect_equal(done.returncode, 0, done.stderr)
        threads = {}
        for event in events(name):
            threads.setdefault((event["pid"], event["tid"]), []).append((event["provider"], event["event"], event["fields"]))
        seen.append(sorted(json.dumps(thread) for thread in threads.values()))
    expect_equal(seen[0], seen[1])
    # They lie within the life of their process.
    lives = {process["pid"]: process for process in lines("processes", "b.ptl")}
    for event in events("b.ptl"):
        life = lives[event["pid"]]
        expect(life["start"] <= event["time"] <= life["end"], event, life)


def virtual_clock():
    """the virtual clock is refused, since the events' time is another"""
    done = record("-o", "a.ptl", "--clock=virtual", "-p", "*", WRITER)
    expect_equal(done.returncode, 2, done.stderr)
    expect("no place on the virtual clock" in done.stderr, done.stderr)


def two_recorders():
    """two recorders at once get what each of them asked for"""
    process = writer("line", "levels", "count=1000", "line")
    both = [start("-o", name, NONE, "--attach-providers", "-p", rule) for name, rule in
            (("a.ptl", NAME + ":error"), ("b.ptl", "*:info"))]
    wait_for(lambda: len((sessions(process.pid) or {}).get(NAME, [])) == 2, "both to turn it on")
    found = sessions(process.pid)
    expect_equal(sorted(session["level"] for session in found[NAME]), [2, 4])
    expect_equal([session["recorder"] for session in found["PTL-Test-Other"]], [both[1].pid])
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(0.2)
    for recorder in both:
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=30)
        expect_equal(recorder.returncode, 0, err)
    expect_equal([sessions(process.pid)[name] for name in (NAME, "PTL-Test-Other")], [[], []])
    process.communicate("\n")
    expect_equal([event["event"] for event in events("a.ptl") if event["event"] != "State"], ["Critical"])
    found = events("b.ptl")
    expect_equal(numbers(found)[(process.pid, 0)], [0] + list(range(1000)))
    expect_equal([event["event"] for event in found if event["event"] not in ("Number", "State")],
                 ["Critical", "Warning", "Hello"])


def attach():
    """a program that runs already is recorded, with what it was, and says what state it is in at both ends"""
    process = writer("count=3", "line", "count=4", "say=done", "line")
    recorder = start("-o", "a.ptl", "-p", NAME, "--attach-providers")
    wait_for(lambda: (sessions(process.pid) or {}).get(NAME), "the recorder")
    process.stdin.write("\n")
    process.stdin.flush()
    expect_equal(process.stdout.readline(), "done\n")
    recorder.send_signal(signal.SIGTERM)
    recorder.communicate(timeout=30)
    expect_equal(recorder.returncode, 0)
    process.communicate("\n")
    found = events("a.ptl")
    expect_equal([event["event"] for event in found], ["State"] + 4 * ["Number"] + ["State"])
    told = lines("processes", "a.ptl")
    expect_equal([(entry["pid"], entry["command_line"].split()[0]) for entry in told], [(process.pid, WRITER)])
    opcodes = {event["event"] for event in lines("events", "a.ptl") if event["provider"] == "Kernel"}
    expect("Process/DCStart" in opcodes and "Process/DCEnd" in opcodes, opcodes)
    expect(any(image["path"] == os.path.realpath(WRITER) for image in lines("images", "a.ptl")))


def later_programs():
    """a program that starts while others are attached to is recorded from its first event on"""
    recorder = start("-q", "-o", "a.ptl", NONE, "-p", NAME, "--attach-providers")
    wait_for(lambda: any(name.startswith("session") for name in folder()), "the session")
    for _ in range(3):
        subprocess.run([WRITER, "count=20"], check=True)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=30)
    expect_equal([len(values) for values in numbers(events("a.ptl")).values()], [20, 20, 20])
    expect_equal(folder(), [])


def only_members():
    """without --attach-providers, programs that are no descendants of the command are left alone"""
    process = writer("line", "count=4", "line")
    recorder = start("-q", "-o", "a.ptl", NONE, "-p", NAME, WRITER, "say=ready", "line", "count=2",
                     pass_fds=(), **{})
    expect_equal(recorder.stdout.readline(), "ready\n")
    recorder.communicate(timeout=30)
    process.communicate("\n\n")
    expect_equal([len(values) for values in numbers(events("a.ptl")).values()], [2])


def dying():
    """what was written before a crash or a kill is in the trace"""
    for word, status in (("abort", 134), ("kill", 137)):
        done = record("-q", "-f", "-o", "a.ptl", NONE, "-p", "*", "--", WRITER, "count=50", word)
        expect_equal(done.returncode, status, done.stderr)
        expect_equal([len(values) for values in numbers(events("a.ptl")).values()], [50])
        expect_equal(folder(), [])


def killed_recorder():
    """a recorder that was killed blocks nobody; the next one cleans up and gets its own"""
    first = start("-q", "-o", "a.ptl", NONE, "-p", "*", WRITER, "say=ready", "count=10", "say=done", "count=200000", "say=last")
    expect_equal(first.stdout.readline(), "ready\n")
    first.kill()
    first.wait()
    rest = first.stdout.read()
    expect(rest.endswith("last\n"), "the program did not go on", rest)
    first.communicate()
    expect(any(name.startswith("session") for name in folder()), folder())
    done = record("-q", "-o", "b.ptl", NONE, "-p", "*", WRITER, "count=10")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal([len(values) for values in numbers(events("b.ptl")).values()], [10])
    expect_equal(folder(), [])
    dump("info", "a.ptl")


def overflow():
    """events that do not fit are counted: none is lost silently"""
    done = record("-o", "a.ptl", NONE, "-p", NAME, "--provider-buffer=4K", WRITER, "count=100000")
    expect_equal(done.returncode, 0, done.stderr)
    values = numbers(events("a.ptl"))
    got = list(values.values())[0]
    expect_equal(len(got) + lost("a.ptl"), 100000)
    expect(lost("a.ptl") > 0, "4K were enough for everything")
    expect_equal(got, sorted(set(got)))
    expect("events of provider PTL-Test-Writer" in done.stderr, done.stderr)


def own_times():
    """an event whose author gave the time has that time"""
    record("-q", "-o", "a.ptl", NONE, "-p", "*", "--", WRITER, "count=2", "own=12345678901", "count=2")
    base = lines("info", "a.ptl")[0]["clock"]["start_time"]
    found = [event for event in events("a.ptl") if event["event"] == "Timed"]
    expect_equal([event["time"] + base for event in found], [12345678901])


def wrong_options():
    """what makes no sense is refused"""
    for options, text in ((["-p", ""], "expected a provider's name"), (["-p", "A:loud"], "is no level"),
                          (["-p", "A:info:x"], "no keywords"), (["-p", "A:1:2:3"], "NAME|GUID"),
                          (["--attach-providers"], "needs a --provider"), (["--provider-buffer=5000", "-p", "*"], "power of two")):
        done = record("-o", "a.ptl", *options, "true")
        expect_equal(done.returncode, 2, options, done.stderr)
        expect(text in done.stderr, options, done.stderr)


def foreign_folder():
    """a folder in which others may do something is not used"""
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    os.chmod(FOLDER, 0o755)
    try:
        done = record("-o", "a.ptl", NONE, "-p", "*", WRITER, "count=1")
        expect_equal(done.returncode, 4, done.stderr)
        expect("is not this user's alone" in done.stderr, done.stderr)
        expect_equal(subprocess.run([WRITER, "count=1"], check=False).returncode in (0, 3), True)
    finally:
        os.chmod(FOLDER, 0o700)


def list_nobody():
    """--list-providers says so where there is none"""
    done = record("--list-providers")
    expect_equal((done.returncode, done.stdout), (0, "no program of this user has a provider\n"))
    process = writer("line")
    done = record("--list-providers")
    expect(re.search(r"^%d  provider_writer\n  [-0-9a-f]{36}  PTL-Test-Writer  off\n" % process.pid, done.stdout, re.M),
           done.stdout)
    process.communicate("\n")


status = main([every_event, levels_and_keywords, same_under_qemu, virtual_clock, two_recorders, attach, later_programs,
               only_members, dying, killed_recorder, overflow, own_times, wrong_options, foreign_folder, list_nobody])
subprocess.run(["rm", "-rf", FOLDER], check=False)
sys.exit(status)
