#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --provider: every event that a session wants is in its trace once, in order, or counted as lost.
import json
import os
import shlex
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import (PROGRAMS, RECORD, SCRATCH, Skip, dump, expect, expect_equal, growing, lines, main, path, record,
                         start, wait_for)

WRITER = os.path.join(PROGRAMS, "provider_writer")
QUOTED = shlex.quote(WRITER)  # as a shell, and a trace, writes it
NAME = "PTL-Test-Writer"
NONE = "--source=none"
# A folder of our own, so that other tests' recorders have nothing to do with ours.
FOLDER = os.path.join("/dev/shm", "ptl-test-%d" % os.getpid())
os.environ["PTL_SESSION_DIR"] = FOLDER
WRITERS = []


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


def has_session():
    """whether a recorder has made its session"""
    return any(name.startswith("session") for name in folder())


def has_event():
    """whether the growing trace has an event of the writer"""
    return any('"PTL-Test' in line for line in growing("events", "a.ptl"))


def writer(*words):
    """Starts the program natively, outside of any recording, and waits until it says so."""
    process = subprocess.Popen([WRITER, "say=ready", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    WRITERS.append(process)
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


def unanswered():
    """a name, GUID or pattern that nothing answered to is said; a program that only has the provider is an answer"""
    guid = "11111111-2222-3333-4444-555555555555"
    for rule, text in (("PTL-Test-Writr", "PTL-Test-Writr"), (guid + ":4", guid), ("*PTL-Test-Writr", "*PTL-Test-Writr")):
        done = record("-f", "-o", "a.ptl", NONE, "-p", rule, "-p", NAME, "--", WRITER)
        expect("warning: nothing answered to --provider '%s': " % text in done.stderr, done.stderr)
        expect_equal(done.stderr.count("nothing answered"), 1, done.stderr)
    done = record("-f", "-o", "a.ptl", NONE, "-p", "*", "true")
    expect("nothing answered to --provider '*'" in done.stderr, done.stderr)
    done = record("-f", "-o", "a.ptl", NONE, "-p", "*", "-p", NAME.upper(), "-p", "*" + NAME, "--", WRITER)
    expect("nothing answered" not in done.stderr, done.stderr)
    running = writer("line")
    done = record("-f", "-o", "a.ptl", "-p", "*" + NAME, "-p", "nobody", "--attach-providers", "--duration=0.2")
    expect("nothing answered to --provider 'nobody'" in done.stderr, done.stderr)
    expect_equal(done.stderr.count("nothing answered"), 1, done.stderr)
    running.communicate("\n")


def guid_of_name():
    """*NAME is the provider with the GUID of that name"""
    done = record("-o", "a.ptl", NONE, "-p", "*" + NAME.lower(), "--", WRITER, "count=5")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal(len(events("a.ptl", event="Number")), 5)


def group():
    """the GUID of a group is every provider in it, each with its own GUID in the trace; of another group it is none"""
    guid = uuid.UUID("7a0b1c2d-3e4f-5061-7283-94a5b6c7d8e9")
    member = "group=" + guid.bytes_le.hex()
    for rule, words, wanted in ((str(guid), [member], "Critical Warning Number Verbose Hello Number Number"),
                                ("{%s}:warning" % guid, [member], "Critical Warning"), (str(guid), [], ""),
                                (NAME + ":critical", [member], "Critical")):
        done = record("-f", "-o", "a.ptl", NONE, "-p", rule, "--", WRITER, *words, "levels", "fork=2")
        expect_equal((done.returncode, "nothing answered" in done.stderr), (0, not wanted), done.stderr)
        expect_equal([event["event"] for event in events("a.ptl")], wanted.split(), rule)
    running = writer(member, "line", "levels", "say=done", "line")
    recorder = start("-f", "-q", "-o", "b.ptl", "-p", str(guid), "--attach-providers")
    wait_for(lambda: all(sessions(running.pid).values()), "the members of the group")
    expect("group " + str(guid) in record("--list-providers").stdout)
    running.stdin.write("\n")
    running.stdin.flush()
    expect_equal(running.stdout.readline(), "done\n")
    recorder.send_signal(signal.SIGINT)
    expect_equal(recorder.wait(), 0)
    running.communicate("\n")
    expect_equal([event["event"] for event in events("b.ptl") if event["event"] != "State"], "Critical Warning Number Verbose Hello".split())


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


def same_under_the_software_source():
    """the same program writes the same events natively and under the software source"""
    words = ["levels", "count=5", "threads=2,3", "fork=2", "spawn=levels"]
    seen = []
    for name, source in (("a.ptl", NONE), ("b.ptl", "--source=software")):
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
    process = writer("line", "levels", "count=1000", "say=done", "line")
    both = [start("-o", name, NONE, "--attach-providers", "-p", rule) for name, rule in
            (("a.ptl", NAME + ":error"), ("b.ptl", "*:info"))]
    wait_for(lambda: len((sessions(process.pid) or {}).get(NAME, [])) == 2, "both to turn it on")
    found = sessions(process.pid)
    expect_equal(sorted(session["level"] for session in found[NAME]), [2, 4])
    expect_equal([session["recorder"] for session in found["PTL-Test-Other"]], [both[1].pid])
    process.stdin.write("\n")
    process.stdin.flush()
    expect_equal(process.stdout.readline(), "done\n")
    for recorder in both:
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=120)
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
    recorder = start("-o", "a.ptl", "-p", NAME, "--attach-providers", "--flush-interval=20ms")
    wait_for(lambda: (sessions(process.pid) or {}).get(NAME), "the recorder")
    # Asked again before it has answered, a program answers once.
    wait_for(has_event, "its state")
    process.stdin.write("\n")
    process.stdin.flush()
    expect_equal(process.stdout.readline(), "done\n")
    recorder.send_signal(signal.SIGTERM)
    recorder.communicate(timeout=120)
    expect_equal(recorder.returncode, 0)
    process.communicate("\n")
    found = events("a.ptl")
    expect_equal([event["event"] for event in found], ["State"] + 4 * ["Number"] + ["State"])
    reported = lines("processes", "a.ptl")
    expect_equal([(entry["pid"], shlex.split(entry["command_line"])[0]) for entry in reported], [(process.pid, WRITER)])
    opcodes = {event["event"] for event in lines("events", "a.ptl") if event["provider"] == "Kernel"}
    expect("Process/DCStart" in opcodes and "Process/DCEnd" in opcodes, opcodes)
    expect(any(image["path"] == os.path.realpath(WRITER) for image in lines("images", "a.ptl")))


def short_lives():
    """each program that wrote events is one of the processes, however soon after that it has ended, seen or not"""
    recorder = start("-o", "a.ptl", "-p", NAME, "--attach-providers", "--flush-interval=20ms")
    wait_for(has_session, "the session")
    ran = set()

    def run_programs():
        for _ in range(40):
            process = writer("count=2")
            process.communicate()
            ran.add(process.pid)
        return has_event()

    # On a busy machine, all of the first programs may have ended before the recorder has found any.
    wait_for(run_programs, "an event")
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=120)
    expect_equal(recorder.returncode, 0)
    wrote = {event["pid"] for event in events("a.ptl")}
    expect(wrote and wrote <= ran, wrote)
    expect_equal(wrote - {process["pid"] for process in lines("processes", "a.ptl")}, set())
    starts = {event["pid"]: event["time"] for event in lines("events", "a.ptl") if event["event"] == "Process/DCStart"}
    for event in events("a.ptl"):
        expect(event["process"] == os.path.basename(WRITER) and starts[event["pid"]] <= event["time"], event, starts[event["pid"]])


def zombies():
    """a program that ended before the recorder has looked, and for which no parent has waited, keeps its name without brackets"""
    recorder = start("-o", "a.ptl", "-p", NAME, "--attach-providers", "--flush-interval=20ms")
    wait_for(has_session, "the session")
    ran = []

    def run_programs():
        for _ in range(20):
            process = writer("count=2")
            process.stdin.close()
            process.stdout.read()
            ran.append(process)
        return has_event()

    wait_for(run_programs, "an event")
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=120)
    for process in ran:
        process.wait(timeout=60)
    expect_equal(recorder.returncode, 0)
    named = {event["pid"]: event["process"] for event in events("a.ptl")}
    expect(named and named.keys() <= {process.pid for process in ran}, named)
    expect_equal(set(named.values()), {os.path.basename(WRITER)})
    names = {entry["name"] for entry in lines("processes", "a.ptl") if entry["pid"] in named}
    expect_equal(names, {os.path.basename(WRITER)})


def later_programs():
    """a program that starts while others are attached to is recorded from its first event on"""
    recorder = start("-q", "-o", "a.ptl", NONE, "-p", NAME, "--attach-providers")
    wait_for(has_session, "the session")
    for _ in range(3):
        subprocess.run([WRITER, "count=20"], check=True)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=120)
    expect_equal([len(values) for values in numbers(events("a.ptl")).values()], [20, 20, 20])
    expect_equal(folder(), [])


def only_members():
    """without --attach-providers, programs that are no descendants of the command are left alone"""
    process = writer("line", "count=4", "line")
    recorder = start("-q", "-o", "a.ptl", NONE, "-p", NAME, WRITER, "say=ready", "line", "count=2",
                     pass_fds=(), **{})
    expect_equal(recorder.stdout.readline(), "ready\n")
    recorder.communicate(timeout=120)
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
    expect(has_session(), folder())
    done = record("-q", "-o", "b.ptl", NONE, "-p", "*", WRITER, "count=10")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal([len(values) for values in numbers(events("b.ptl")).values()], [10])
    expect_equal(folder(), [])
    dump("info", "a.ptl", statuses=(0, 3))


def attach_beside_packets():
    """packets of a command, and events of it and of another program, in one trace"""
    process = writer("line", "count=4", "line")
    recorder = start("-q", "-o", "a.ptl", "--source=software", "-p", NAME, "--attach-providers", "--", "sh", "-c",
                     QUOTED + " count=2; echo ready; until [ -e go ]; do sleep 0.02; done")
    expect_equal(recorder.stdout.readline(), "ready\n")
    process.stdin.write("\n\n")
    process.communicate()
    with open(path("go"), "w"):
        pass
    expect_equal(recorder.communicate(timeout=120)[1], "")
    found = numbers(events("a.ptl"))
    expect_equal(sorted(len(values) for values in found.values()), [2, 4])
    reported = {entry["pid"]: entry["command_line"] for entry in lines("processes", "a.ptl")}
    expect({pid for pid, _ in found} <= set(reported), reported)
    expect_equal(len([line for line in reported.values() if line.startswith(QUOTED)]), 2, reported)


def two_definitions():
    """an event that two programs define differently has both definitions in the trace, the second under a version of its own"""
    done = record("-o", "a.ptl", NONE, "-p", NAME, "--", "sh", "-c", "%s count=3; %s count=3; %s count=3 redefine" %
                  (QUOTED, QUOTED, QUOTED))
    expect_equal(done.returncode, 0, done.stderr)
    expect("event 9 of provider PTL-Test-Writer is defined otherwise" not in done.stderr, done.stderr)
    done = record("-f", "-o", "a.ptl", NONE, "-p", NAME, "--", "sh", "-c",
                  "%s redefine=a; %s redefine=b; %s redefine=c; %s redefine=b" % ((QUOTED,) * 4))
    expect(done.stderr.count("event 9 of provider PTL-Test-Writer is defined otherwise") == 2 and "no losses" in done.stderr, done.stderr)
    found = [event["fields"] for event in lines("events", "a.ptl") if event["event"] == "Defined"]
    expect_equal(found, [{"a": 7}, {"b": 7}, {"c": 7}, {"b": 7}])


def reader_gone():
    """a recording of what runs already ends when nobody reads it any more"""
    process = writer("line", "threads=2,100000", "line")
    read, write = os.pipe()
    recorder = start("-o", "/dev/fd/%d" % write, "--flush-interval=10ms", "-p", "*", "--attach-providers", pass_fds=(write,))
    os.close(write)
    wait_for(lambda: (sessions(process.pid) or {}).get(NAME), "the recorder")
    os.close(read)
    process.stdin.write("\n\n")
    process.communicate()
    _, err = recorder.communicate(timeout=120)
    expect("its reader is gone" in err, err)
    expect_equal(recorder.returncode, 4, err)


def other_user():
    """a recorder sees no other user's programs"""
    if os.geteuid():
        raise Skip("only root can be another user")
    place = os.environ.pop("PTL_SESSION_DIR")
    os.mkdir(path("shared"))
    # Where all users may go: the folder of the programs may be in somebody's home.
    copies = [shutil.copy(program, path("shared")) for program in (WRITER, RECORD)]
    os.chmod(SCRATCH, 0o755)
    try:
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "--", "sh", "-c",
                               "echo | '%s' line & i=0; until [ -d /dev/shm/ptl-65534 ] || [ $i -ge 600 ]; do sleep 0.1; i=$((i + 1)); done; "
                               "'%s' --list-providers; ls -ld /dev/shm/ptl-65534; wait" %
                               tuple(copies)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Skip("no other user can run here: " + done.stderr.strip())
        expect("drwx------" in done.stdout, done.stdout)
        os.environ["PTL_SESSION_DIR"] = "/dev/shm/ptl-65534"
        done = record("--list-providers")
        expect_equal(done.returncode, 4, done.stdout)
        expect("is not this user's alone" in done.stderr, done.stderr)
    finally:
        os.environ["PTL_SESSION_DIR"] = place
        os.chmod(SCRATCH, 0o700)
        # Unless there is something in it that is wrong format.
        subprocess.run(["rmdir", "/dev/shm/ptl-65534"], check=False, stderr=subprocess.DEVNULL)


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


def burst():
    """threads that fill more rings than one: every event once, in order, or counted as lost"""
    done = record("-o", "a.ptl", NONE, "-p", NAME, WRITER, "threads=4,50000")
    expect_equal(done.returncode, 0, done.stderr)
    values = numbers(events("a.ptl"))
    expect_equal(sum(map(len, values.values())) + lost("a.ptl"), 200000)
    expect(all(got == sorted(set(got)) for got in values.values()), "twice, or out of order")


def lost_by(name):
    result = {}
    for loss in lines("info", name)[0]["losses"]:
        result[loss["pid"]] = result.get(loss["pid"], 0) + loss["count"]
    return result


def check_threads(name, complete):
    """Every event once and in order; of complete (pid -> events) none is missing without being counted."""
    threads, counts, losses = {}, {}, lost_by(name)
    for event in events(name):
        if event["event"] == "Number":
            threads.setdefault((event["pid"], event["tid"]), []).append((event["fields"]["thread"], event["fields"]["index"]))
            counts[event["pid"]] = counts.get(event["pid"], 0) + 1
    for key, values in threads.items():
        expect(all(a < b for a, b in zip(values, values[1:])), "not in order, or twice:", name, key)
    for pid, wanted in complete.items():
        expect_equal(counts.get(pid, 0) + losses.get(pid, 0), wanted, name, pid, losses)


def stress():
    """64 threads in 8 processes, forks, a crash, kills and recorders that come and go: each event once or counted"""
    whole = start("-q", "-o", "whole.ptl", NONE, "--attach-providers", "-p", NAME)
    wait_for(has_session, "the session")
    # Each line of input lets a program go on; in each phase a recorder comes and goes.
    plain = ["threads=8,500", "line"]
    work = [(4 * plain, 16000)] * 3 + [((plain + ["fork=50", "spawn=count=10"]) * 2, 8000)] * 2 + \
        [(plain + ["threads=8,500", "abort"], 8000), (plain + ["threads=8,500", "kill"], 8000), (["threads=8,1000000"], None)]
    programs = [(writer("line", *words), total) for words, total in work]
    kept = []
    for number in range(4):
        name = "other%d.ptl" % number
        other = start("-q", "-o", name, NONE, "--attach-providers", "-p", "*:info")
        wait_for(lambda: len((sessions(programs[0][0].pid) or {}).get(NAME, [])) >= 2, "another recorder")
        for program, _ in programs:
            if program.poll() is None:
                try:
                    program.stdin.write("\n")
                    program.stdin.flush()
                except BrokenPipeError:
                    pass
        time.sleep(0.05)
        if number % 2:
            other.send_signal(signal.SIGINT)
            kept.append(name)
        else:
            other.kill()
        _, err = other.communicate(timeout=120)
        expect("error" not in err, err)
        if number == 0:
            programs[-1][0].kill()
    for program, _ in programs:
        try:
            program.communicate(timeout=120)
        except BrokenPipeError:
            program.wait(timeout=120)
    whole.send_signal(signal.SIGINT)
    _, err = whole.communicate(timeout=120)
    expect_equal(whole.returncode, 0, err)
    check_threads("whole.ptl", {program.pid: total for program, total in programs if total})
    for name in kept:
        check_threads(name, {})


def own_times():
    """an event whose author gave the time has that time"""
    record("-q", "-o", "a.ptl", NONE, "-p", "*", "--", WRITER, "count=2", "own=12345678901", "count=2")
    base = lines("info", "a.ptl")[0]["clock"]["start_time"]
    found = [event for event in events("a.ptl") if event["event"] == "Timed"]
    expect_equal([event["time"] + base for event in found], [12345678901])


def wrong_options():
    """what is invalid is refused"""
    for options, text in ((["-p", ""], "expected a provider's name"), (["-p", "A:loud"], "is no level"),
                          (["-p", "A:info:x"], "no keywords"), (["-p", "A:1:2:3"], "NAME|GUID"),
                          (["--attach-providers"], "needs a --provider"), (["--json"], "for --list-providers"), (["--provider-buffer=5000", "-p", "*"], "power of two")):
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
    os.environ["PTL_SESSION_DIR"] = FOLDER + "-none"
    done = record("--list-providers")
    os.environ["PTL_SESSION_DIR"] = FOLDER
    expect_equal((done.returncode, done.stdout), (0, "no program of this user has a provider\n"))
    process = writer("line")
    done = record("--list-providers")
    expect(re.search(r"^%d  provider_writer\n  [-0-9a-f]{36}  PTL-Test-Writer  off\n" % process.pid, done.stdout, re.M),
           done.stdout)
    process.communicate("\n")


def clean_up():
    for process in WRITERS:
        process.kill()
        process.wait()
    WRITERS.clear()
    subprocess.run(["rm", "-rf", FOLDER], check=False)


sys.exit(main([unanswered, guid_of_name, every_event, group, levels_and_keywords,
               same_under_the_software_source, virtual_clock, two_recorders, attach, short_lives, zombies, later_programs,
               only_members, dying, killed_recorder, attach_beside_packets, two_definitions,
               reader_gone, other_user, overflow, burst, stress,
               own_times, wrong_options, foreign_folder, list_nobody], clean_up))
