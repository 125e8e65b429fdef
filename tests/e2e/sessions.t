#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Named sessions: started, asked, changed, flushed and stopped from other processes; nobody else gets at them.
import calendar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, path, record, run, wait_for
from session_test import FOLDER, NAME, RUNTIME, WRITER, ask, ended, kill, names, query, run_sessions, sockets, write_events


def none_so_far():
    """a user who has had no session is told so, as one whose sessions are over; JSON has no rows"""
    for folder in (False, True):
        if folder:
            os.mkdir(os.path.join(RUNTIME, "ptl-record"), 0o700)
        done = ask("list")
        expect(not done.stdout and "no session of yours records" in done.stderr, folder, done.stdout, done.stderr)
        done = ask("list", "--json")
        expect_equal((done.stdout, done.stderr), ("", ""), folder)


def from_start_to_stop():
    """a session is started, listed, asked, changed, flushed and stopped"""
    done = ask("start", "web", "-p", NAME + ":warning")
    expect("session web records" in done.stderr, done.stderr)
    expect("no program has a provider '%s' so far" % NAME in done.stderr, done.stderr)
    expect_equal(names(), ["web"])
    expect("web.ptl" in ask("list").stdout)
    found = query("web")
    expect_equal((found["file"], found["mode"], found["events"], found["events_lost"]),
                 (os.path.realpath(path("web.ptl")), "sequential", 0, 0))
    expect_equal(found["providers"], [NAME + ":3:0xffffffffffffffff"])
    shown = dict(re.findall(r"^(\S.*?)  +(.*)$", ask("query", "web").stdout, re.M))
    expect_equal([shown[name] for name in ("Process", "Largest size", "Files kept", "Flush timer", "Events")],
                 [str(found["pid"]), "no limit", "no limit", "400.0 ms", "0"], shown)
    expect(re.fullmatch(r"[0-9.]+ (us|ms|s)", shown["Recording for"]) and shown["Buffer size"].endswith("KiB"), shown)
    expect(0 < found["free_buffers"] <= found["buffers"] and found["buffer_size"], found)
    expect_equal(os.readlink("/proc/%d/fd/0" % found["pid"]), "/dev/null")
    with open("/proc/%d/stat" % found["pid"], encoding="ascii") as file:
        sid = int(file.read().rsplit(")", 1)[1].split()[3])
    expect_equal(sid, found["pid"], "it is not a session leader: it would end with its terminal")
    write_events("levels")
    ask("update", "web", "-p", NAME + ":verbose")
    write_events("levels")
    ask("update", "web", "--disable", NAME, "-p", "PTL-Test-Other")
    write_events("levels")
    wait_for(lambda: query("web")["events"] == 2 + 4 + 1, "seven events")
    ask("flush", "web")
    expect_equal(len(lines("events", "-p", "PTL-Test-*", "web.ptl")), 7)
    ask("snapshot", "web", "now.ptl")
    expect_equal(lines("info", "now.ptl")[0]["complete"], True)
    expect_equal(len(lines("events", "-p", "PTL-Test-*", "now.ptl")), 7)
    # The session goes on: that is all that is missing.
    expect_equal([loss["kind"] for loss in lines("info", "now.ptl")[0]["losses"]], ["recording ended early"])
    expect("exists" in ask("snapshot", "web", "now.ptl", status=4).stderr)
    write_events("levels")
    ask("snapshot", "web", "now.ptl", "--force")
    expect_equal(len(lines("events", "-p", "PTL-Test-*", "now.ptl")), 8)
    expect("cannot" in ask("snapshot", "web", "nowhere/now.ptl", status=4).stderr)
    done = ask("update", "web", "-p", "PTL-Test-Nobody:info:0x3")
    expect("no program has a provider 'PTL-Test-Nobody:info:0x3' so far" in done.stderr, done.stderr)
    expect_equal(query("web")["providers"], ["PTL-Test-Other:255:0xffffffffffffffff", "PTL-Test-Nobody:4:0x3"])
    done = ask("stop", "web")
    expect("web.ptl: " in done.stderr and "8 events" in done.stderr, done.stderr)
    expect("nothing answered to --provider 'PTL-Test-Nobody'" in done.stderr, done.stderr)
    expect_equal((names(), sockets()), ([], []))
    expect(lines("info", "web.ptl")[0]["complete"])
    expect_equal([event["event"] for event in lines("events", "-p", "PTL-Test-*", "web.ptl")],
                 ["Critical", "Warning", "Critical", "Warning", "Number", "Verbose", "Hello", "Hello"])


def where_it_goes():
    """who starts a session is told which file it writes, and whether anything is recorded"""
    nothing = "nothing is turned on so far"
    for words, where, empty in (((), "records to told.ptl;", True), (("-p", NAME), "records to told.ptl;", False), (("-o", "other.ptl"), "records to other.ptl;", True),
                                (("--mode=newfile", "--part-time=1h"), "records to told.000001.ptl and the files that follow;", True),
                                (("--mode=circular", "--max-size=1M"), "records to told.000001.ptl and the files that follow, of which the last eight are kept;", True),
                                (("--mode=buffering",), "records in memory, of which told.ptl is made at its end or when it is asked for;", True),
                                (("--mode=realtime",), "records in memory, for those who read it with --live;", True)):
        said = ask("start", "told", "-f", *words).stderr
        expect("session told " + where in said and (nothing in said) == empty, words, said)
        ask("stop", "told")
    expect_equal(ask("start", "told", "-f", "-q").stderr, "")
    ask("stop", "told")
    done = record("start", "told", "-o", "-", "-p", NAME)
    expect(done.returncode == 2 and "has no standard output" in done.stderr, done.stderr)
    os.mkdir(path("x" * 250))
    said = ask("start", "told", "-p", NAME, "-o", "x" * 250 + "/\033[1m.ptl").stderr
    expect("x" * 250 + "/\\x1b[1m.ptl; ptl-record stop told" in said, said)
    ask("stop", "told")


def parts_of(stem):
    return sorted(name for name in os.listdir(SCRATCH) if name.startswith(stem + ".0"))


def snapshot_of_a_ring():
    """the files of a circular session become one trace, which has each event once"""
    ask("start", "ring", "-p", NAME, "--mode=circular", "--max-size=96K", "--compress=1", "--write-buffer=4K",
        "--write-buffers=8", "--flush-interval=20ms")
    # A file has what came while the recorder did not look: rounds until there are several.
    rounds = 0
    while rounds < 4 or len(parts_of("ring")) < 2:
        expect(rounds < 300, "no next file is begun", query("ring"))
        write_events("count=8000")
        time.sleep(0.1)
        rounds += 1
    ask("snapshot", "ring", "ring_now.ptl")
    expect(lines("info", "ring_now.ptl")[0]["complete"])
    ask("stop", "ring")
    # A next file may be begun, and the oldest be removed, after the snapshot.
    parts = parts_of("ring")
    expect(len(parts) > 1, parts)

    def numbers(name):
        return [(event["pid"], event["fields"]["index"]) for event in lines("events", "-p", NAME, "-e", "Number", name)]

    kept, left = numbers("ring_now.ptl"), [number for part in parts for number in numbers(part)]
    expect_equal(len(kept), len(set(kept)))
    expect(left, parts)
    expect_equal(left, kept[-len(left):])


def running_programs():
    """a program that runs already has its providers turned on and off"""
    ask("start", "run")
    program = subprocess.Popen([WRITER, "say=ready", "line", "count=3", "say=first", "line", "count=4", "say=second", "line",
                                "count=5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=SCRATCH)

    def go_on(said):
        expect_equal(program.stdout.readline(), said + "\n")
        return program.stdin

    go_on("ready")
    ask("update", "run", "-p", "ptl-test-w*")
    for said in ("first", "second"):
        program.stdin.write("\n")
        program.stdin.flush()
        go_on(said)
    ask("update", "run", "--disable", "ptl-test-w*")
    program.communicate("\n")
    wait_for(lambda: query("run")["events"] >= 7, "seven events")
    ask("stop", "run")
    expect_equal(len(lines("events", "-p", NAME, "-e", "Number", "run.ptl")), 7)
    expect_equal(os.listdir(FOLDER) if os.path.isdir(FOLDER) else [], [])


def live():
    """ptl-dump events --live NAME shows what was recorded before and what comes, and ends with the session"""
    ask("start", "watched", "-p", NAME)
    write_events("count=2")
    reader = subprocess.Popen([DUMP, "events", "--live", "--json", "-p", NAME, "-e", "Number", "watched"], cwd=SCRATCH,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = [json.loads(reader.stdout.readline()) for _ in range(2)]
    write_events("count=3")
    seen += [json.loads(reader.stdout.readline()) for _ in range(3)]
    expect_equal((names(), reader.poll()), (["watched"], None))
    ask("stop", "watched")
    rest, text = reader.communicate(timeout=120)
    expect_equal((reader.returncode, rest), (0, ""), text)
    expect_equal([event["fields"]["index"] for event in seen], [0, 1, 0, 1, 2])
    expect_equal(seen, lines("events", "-p", NAME, "-e", "Number", "watched.ptl"))
    for words, text in ((["watched"], "there is no session watched"), (["a/b"], "is no name of a session")):
        done = run(DUMP, "events", "--live", *words)
        expect(done.returncode == (4 if words == ["watched"] else 2) and text in done.stderr, done.returncode, done.stderr)


def open_files(pid):
    """Names and what stat says of the files that the process has open, those that it closes meanwhile excepted."""
    folder, found = "/proc/%d/fd" % pid, []
    for entry in os.listdir(folder):
        place = os.path.join(folder, entry)
        try:
            found.append((os.readlink(place), os.stat(place)))
        except FileNotFoundError:
            pass
    return found


def has_opened(process, stem):
    """Whether the process reads a file of the series."""
    return any(os.path.basename(name).startswith(stem + ".0") for name, _ in open_files(process.pid))


def live_series():
    """--live and ptl_process_session go on from file to file, show nothing twice, and count what a reader that is too slow has missed"""
    ask("start", "parts", "-p", NAME, "--mode=newfile", "--part-time=100ms", "--flush-interval=20ms")
    reader = subprocess.Popen([DUMP, "events", "--live", "--json", "parts"], cwd=SCRATCH, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    other = subprocess.Popen([os.path.join(os.environ["PTL_TEST_TOOLS"], "session_events"), "parts"], cwd=SCRATCH,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: has_opened(reader, "parts") and has_opened(other, "parts"), "the readers")
    rounds = 0
    while rounds < 4 or len(parts_of("parts")) < 3:
        expect(rounds < 300, "no next file is begun", query("parts"))
        write_events("count=3")
        time.sleep(0.12)
        rounds += 1
    wait_for(lambda: query("parts")["events"] == 3 * rounds, "all events")
    ask("stop", "parts")
    out, text = reader.communicate(timeout=120)
    shown = [json.loads(line) for line in out.splitlines()]
    files = parts_of("parts")
    expect(len(files) > 2 and reader.returncode == 0, files, text)
    expect_equal([event["fields"]["index"] for event in shown if event["event"] == "Number"], [0, 1, 2] * rounds)
    process_events = [(event["event"], event["pid"], event["tid"], event["fields"].get("ImageBase")) for event in shown
                      if event["event"].startswith("Process/")]
    expect_equal(len(process_events), len(set(process_events)), process_events)
    out, text = other.communicate(timeout=120)
    given = [line.split() for line in out.splitlines()]
    expect_equal((other.returncode, given.pop()), (0, ["missed", "0"]), text)
    expect_equal(len(given), len(shown), given)
    expect_equal(len(set(map(tuple, given))), len(given), given)
    expect_equal(run(os.path.join(os.environ["PTL_TEST_TOOLS"], "session_events"), "nobody").stderr.strip(),
                 "session_events: there is no session nobody")
    # In memory, which has less than is written while the reader does not read.
    ask("start", "fast", "-p", NAME, "--mode=realtime", "--max-size=64K", "--write-buffer=4K", "--compress=1", "--flush-interval=10ms")
    expect_equal((query("fast")["file"], query("fast")["mode"]), (None, "realtime"))
    expect("has no file of its own" in ask("snapshot", "fast", status=4).stderr)
    write_events("count=1")
    with open(path("fast.txt"), "wb") as shown:
        reader = subprocess.Popen([DUMP, "events", "--live", "--json", "-p", NAME, "-e", "Number", "fast"], cwd=SCRATCH, stdout=shown,
                                  stderr=subprocess.PIPE, text=True)

    def has_come(index):
        with open(path("fast.txt"), "rb") as file:
            return b'"index":%d}' % index in file.read()

    wait_for(lambda: has_come(0), "the first event")
    reader.send_signal(signal.SIGSTOP)
    # Several times what memory holds, also where files grow while the next one is made.
    for _ in range(24):
        write_events("count=12000")
    wait_for(lambda: query("fast")["events"] == 288001, "all events")
    reader.send_signal(signal.SIGCONT)
    wait_for(lambda: query("fast")["realtime_buffers_lost"], "what the reader has missed")
    # While the session goes on, up to its end.
    write_events("count=12346")
    wait_for(lambda: has_come(12345), "the last event")
    lost = query("fast")
    ask("stop", "fast")
    _, text = reader.communicate(timeout=120)
    missed = sum(int(line.split()[3]) for line in text.splitlines() if "missed" in line)
    expect(missed and not lost["events_lost"], text, lost)
    with open(path("fast.txt"), "rb") as file:
        expect_equal(file.read().count(b"\n") + missed, 288001 + 12346, text)


def rewritten():
    """ptl-relog --live NAME writes a session again while it goes on, each of its files"""
    relog = os.path.join(os.path.dirname(RECORD), "ptl-relog")
    with open(path("all.rules"), "w", encoding="ascii") as file:
        file.write("on any { set event.level = 3; }\n")

    def follow(name, *words):
        return subprocess.Popen([relog, "-f", "--live", name, "-o", "again.ptl", *words], cwd=SCRATCH, stderr=subprocess.PIPE,
                                text=True)

    def rewritten_files():
        return sorted((name for name in os.listdir(SCRATCH) if name.startswith("again.") and name.endswith(".ptl")),
                      key=lambda name: (len(name), name))

    ask("start", "watched", "-f", "-p", NAME)
    write_events("count=2")
    writer = follow("watched", "--rules", "all.rules")
    numbers = ["events", "-p", NAME, "-e", "Number"]
    wait_for(lambda: os.path.exists(path("again.ptl")) and len(run(DUMP, *numbers, "--json", "again.ptl").stdout.splitlines()) == 2,
             "the first events")
    write_events("count=3")
    wait_for(lambda: len(run(DUMP, *numbers, "--json", "again.ptl").stdout.splitlines()) == 5, "the others")
    expect_equal(writer.poll(), None)
    ask("stop", "watched")
    _, text = writer.communicate(timeout=120)
    expect_equal((writer.returncode, text), (0, ""))
    expect_equal(run(relog, "-f", "watched.ptl", "--rules", "all.rules", "-o", "whole.ptl").returncode, 0)
    expect_equal(lines("events", "again.ptl"), lines("events", "whole.ptl"))
    # A series becomes a series, whose parts are those of one recording.
    ask("start", "parts", "-f", "-p", NAME, "--mode=newfile", "--part-time=300ms", "--flush-interval=20ms")
    writer = follow("parts")
    wait_for(lambda: has_opened(writer, "parts"), "the relogger")
    rounds = 0
    while rounds < 4 or not os.path.exists(path("again.3.ptl")):
        expect(rounds < 300, "no third file is begun", query("parts"))
        write_events("count=3")
        time.sleep(0.12)
        rounds += 1
    ask("stop", "parts")
    _, text = writer.communicate(timeout=120)
    expect(writer.returncode == 0 and "missed" not in text, text)
    made = rewritten_files()
    expect_equal(run(relog, "-f", *made, "-o", "whole.ptl").returncode, 0)
    expect_equal([event["fields"]["index"] for event in lines(*numbers, "whole.ptl")], [0, 1, 2] * rounds)
    # In memory, which has less than is written while the relogger does not read.
    for name in made:
        os.unlink(path(name))
    ask("start", "fast", "-p", NAME, "--mode=realtime", "--max-size=64K", "--write-buffer=4K", "--compress=1", "--flush-interval=10ms")
    write_events("count=1")
    writer = follow("fast")
    wait_for(lambda: os.path.exists(path("again.ptl")) and lines(*numbers, "again.ptl"), "the first event")
    writer.send_signal(signal.SIGSTOP)
    for _ in range(24):
        write_events("count=12000")
    wait_for(lambda: query("fast")["events"] == 288001, "all events")
    writer.send_signal(signal.SIGCONT)
    wait_for(lambda: query("fast")["realtime_buffers_lost"], "what the relogger has missed")
    # While the session goes on, up to its end.
    write_events("count=12346")
    wait_for(lambda: any(event["fields"]["index"] == 12345 for name in rewritten_files() for event in lines(*numbers, name)),
             "the last event")
    ask("stop", "fast")
    _, text = writer.communicate(timeout=120)
    missed = sum(int(line.split()[3]) for line in text.splitlines() if "missed" in line)
    lost = [loss for name in rewritten_files() for loss in lines("info", name)[0]["losses"] if "faster than it was read" in loss["cause"]]
    expect(missed and sum(loss["count"] for loss in lost) == missed, missed, lost, text)
    for words, status, text in ((("nobody",), 4, "there is no session nobody; ptl-record list"),
                                (("a", "--split", "1M"), 2, "split the output"), (("a", "b"), 2, "the name of one session")):
        done = run(relog, "-o", "not.ptl", "--live", *words)
        expect(done.returncode == status and text in done.stderr, done.returncode, done.stderr)
    done = run(DUMP, "events", "--live", "nobody")
    expect(done.returncode == 4 and "there is no session nobody; ptl-record list" in done.stderr, done.returncode, done.stderr)
    ask("query", "nobody", status=4)


def in_memory():
    """buffering: a file is made of what is in memory when somebody asks for it, and at the end; memory is bounded"""
    ask("start", "flight", "-p", NAME, "--mode=buffering", "--max-size=64K", "--write-buffer=4K", "--compress=1", "--flush-interval=20ms")
    found = query("flight")
    expect_equal((found["file"], found["mode"], found["max_size"]), (os.path.realpath(path("flight.ptl")), "buffering", 64 << 10))
    write_events("levels")
    wait_for(lambda: query("flight")["events"] >= 1, "events")
    expect(not os.path.exists(path("flight.ptl")))
    ask("flush", "flight")
    events = len(lines("events", "-p", "PTL-Test-*", "flight.ptl"))
    expect(events >= 1 and lines("info", "flight.ptl")[0]["complete"], events)
    expect_equal(os.stat(path("flight.ptl")).st_mode & 0o777, 0o600)

    def sizes():
        return {info.st_ino: info.st_size for name, info in open_files(found["pid"]) if "memfd:ptl-record" in name}.values()

    # Until the oldest is gone. On a busy machine a file has what came at once.
    written = query("flight")["events"]
    while query("flight")["file_size"] <= sum(sizes()):
        expect(written < 2000000, "nothing is ever removed", query("flight"))
        write_events("count=10000")
        written += 10000
        wait_for(lambda: query("flight")["events"] >= written, "events")
        expect(sum(sizes()) < 1 << 20, sizes(), query("flight"))
    ask("snapshot", "flight", "flight_now.ptl")
    ask("snapshot", "flight")
    last = [event["fields"]["index"] for event in lines("events", "-p", NAME, "-e", "Number", "flight.ptl")]
    expect_equal(last[-1], 9999)
    # What was there when the first was made, or less of it: the next file may have been begun meanwhile.
    before = [event["fields"]["index"] for event in lines("events", "-p", NAME, "-e", "Number", "flight_now.ptl")]
    expect_equal(before[-len(last):], last)
    write_events("count=5")
    wait_for(lambda: query("flight")["events"] >= written + 5, "events")
    done = ask("stop", "flight")
    expect("flight.ptl: " in done.stderr, done.stderr)
    expect_equal([event["fields"]["index"] for event in lines("events", "-p", NAME, "-e", "Number", "flight.ptl")][-5:], [0, 1, 2, 3, 4])
    for words, text in ((["--mode=buffering"], "flight.ptl exists"), (["--mode=realtime", "-o", "a.ptl"], "writes no file"),
                        (["--mode=buffering", "--keep=3"], "are for --mode newfile"), (["--mode=buffering", "-o", "-"], "need names")):
        done = record("start", "flight", *words)
        expect(done.returncode in (2, 4) and text in done.stderr, words, done.stderr)
    done = record("--mode=realtime", "--source=none", "--", "true")
    expect(done.returncode == 2 and "is for a session" in done.stderr, done.stderr)
    # A recording without a name writes it at its end, and packets are in memory, too.
    done = record("-o", "packets.ptl", "--mode=buffering", "--source=software", "--", "/bin/true")
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal(lines("stats", "packets.ptl")[0]["gaps"], 0)


def filtered():
    """--only: what is not wanted is left out and counted, and what is wanted changes while the session goes on"""
    for words, text in ((["--only=pid=x"], "is not a number"), (["--only=size=3"], "is none of pid=PID"), (["--only=keywords=a"], "are no keywords"),
                        (["--only=program=a,,b"], "is no pattern"), (["--only=program=/bin/sh"], "has no folders"), (["--only="], "is none of pid=PID"), (["--only=where=(index"], "where:1:7: expected")):
        done = record("start", "some", "-p", NAME, *words)
        expect(done.returncode == 2 and text in done.stderr, words, done.stderr)
    # Times are of the day, too: what the clock is does not matter for the rest.
    begun = time.time_ns()
    ask("start", "some", "-p", NAME, "--only=id=77", "--only=program=provider_*,sh", "--clock=wall")
    expect_equal(query("some")["clock"], "wall")
    write_events("levels")
    wait_for(lambda: query("some")["events_left_out"] == 4, "four events that are left out")
    expect_equal((query("some")["events"], query("some")["only"]), (0, ["program=provider_*,sh", "id=77"]))
    for terms, count in ((["id="], 4), (["program=nobody"], 4), (["program=provider_w*"], 8), (["program=", "pid=1,2"], 8), (["pid="], 12),
                         (["keywords=0x8000000000000"], 12), (["keywords=", "where=index == 0 and thread <= 0"], 13),
                         (["where=", NAME + ":where=text like 'c*'"], 14), (["PTL-Test-Other:id=9", NAME + ":where="], 18),
                         (["*-writer:where=event.level == 3", "where=has(text)"], 19), (["*-writer:where="], 22),
                         (["PTL-Test-Other:id=", "where=text == 7 or indx == 0"], 22)):
        before = query("some")
        ask("update", "some", *("--only=" + term for term in terms))
        write_events("levels")
        wait_for(lambda: query("some")["events"] + query("some")["events_left_out"] == before["events"] + before["events_left_out"] + 4,
                 "four events more")
        expect_equal(query("some")["events"], count, terms)
    for term, text in (("bogus=1", "is none of pid=PID"), ("where=index = 0", "where:1:7: ")):
        expect(text in ask("update", "some", "--only=" + term, status=4).stderr, term)
    expect_equal(query("some")["only"], ["where=text == 7 or indx == 0"])
    said = ask("stop", "some").stderr
    expect("no event that came has a field indx" in said and "found a number" in said, said)
    events = lines("events", "-p", NAME, "some.ptl")
    expect_equal(len(events), 22)
    clock = lines("info", "some.ptl")[0]["clock"]
    expect_equal(clock["name"], "system")
    expect(all(begun <= clock["start_time"] + event["time"] <= time.time_ns() for event in events), begun, clock, events[0])
    # Which machines say how the TSC counts is up to them.
    done = record("start", "tsc", "--clock=tsc")
    if done.returncode:
        expect("does not say how its clock counts the TSC" in done.stderr, done.stderr)
    else:
        expect_equal(query("tsc")["clock"], "tsc")
        ask("stop", "tsc")
    for words, text in ((["--clock=wall", "--source=software"], "packets do not count the time of day"), (["--clock=tsc"], "do not count the TSC")):
        done = record(*words, "--", "/bin/true")
        expect(done.returncode == 2 and text in done.stderr, words, done.stderr)
    expect(lines("info", "some.ptl")[0]["complete"])


def filtered_by_links():
    """--only: a name of PATH that is a link means the program that it leads to; terms that nothing matched are said at the end"""
    os.makedirs(path("links/other"))
    os.symlink(WRITER, path("links/real-writer"))
    os.symlink("real-writer", path("links/linked-writer"))
    # A shell would take the first one.
    os.symlink("/bin/true", path("links/other/linked-writer"))
    before = os.environ["PATH"]
    os.environ["PATH"] = ":".join((path("none"), path("links"), path("links/other"), before))
    try:
        for terms, count, missed in ((["program=linked-writer"], 4, []), (["program=nobody,linked-writer", "where=event.level < 99"], 4, []),
                                     (["program=linked-w*"], 0, ["program=linked-w*"]),
                                     (["program=linked-write", "id=1,2"], 0, ["program=linked-write id=1,2"]),
                                     (["PTL-Test-Other:id=9", NAME + ":program=linked-writer"], 4, ["PTL-Test-Other:id=9"])):
            ask("start", "links", "-f", "-p", NAME, *("--only=" + term for term in terms))
            write_events("levels")
            wait_for(lambda: query("links")["events"] + query("links")["events_left_out"] == 4, "four events")
            expect_equal(query("links")["events"], count, terms)
            said = ask("stop", "links").stderr
            expect_equal([line for line in said.splitlines() if "no event that came is one of those" in line],
                         ["ptl-record: warning: --only %s: no event that came is one of those" % terms for terms in missed], terms)
    finally:
        os.environ["PATH"] = before


def a_command():
    """a session of a command ends with it"""
    os.mkfifo(path("go"))
    # Its output is that of who started it, who must not wait for its end.
    with open(path("said"), "w", encoding="ascii") as said:
        done = subprocess.run([RECORD, "start", "command", "-o", "c.ptl", "--source=none", "--", "sh", "-c",
                               "read line < go; echo $line; exit 3"], cwd=SCRATCH, stdout=said, check=False, timeout=120,
                              stderr=subprocess.DEVNULL)
    expect_equal(done.returncode, 0)
    expect_equal(query("command")["processes"], 1)
    expect("has nothing to turn on" in ask("update", "command", "-p", NAME, status=4).stderr)
    with open(path("go"), "w", encoding="ascii") as go:
        go.write("gone\n")
    wait_for(lambda: names() == [], "the end of the session")
    expect_equal(ended()["command"]["why"], "its command has ended")
    ask("stop", "command")
    expect(lines("info", "c.ptl")[0]["complete"])
    with open(path("said"), encoding="ascii") as said:
        expect_equal(said.read(), "gone\n")


def ended_alone():
    """a session that nobody stopped is shown with when and why it ended and where its file is, until it begins again or is stopped"""
    before = time.time()
    ask("start", "full", "-p", NAME, "--max-size", "64K", "--flush-interval", "10ms", "--compress", "0")
    write_events("count=20000")
    wait_for(lambda: "full" not in names(), "the end of the session")
    found = ended()["full"]
    expect_equal((found["why"], found["file"]),
                 ("the file has the size of --max-size", os.path.realpath(path("full.ptl"))), found)
    expect("the recording ends" in found["messages"] and "full.ptl: " in found["messages"], found)
    when = calendar.timegm(time.strptime(found["ended"][:19], "%Y-%m-%d %H:%M:%S"))
    expect(int(before) <= when <= time.time(), found, before)
    # Completion takes the names behind the head.
    head, row = ask("list").stdout.splitlines()
    expect(head.startswith("NAME "), head)
    expect_equal(row.split(None, 1), ["full", "ended " + found["ended"] + ": " + found["why"] + "  " + found["file"]])
    for word in ("query", "flush", "snapshot"):
        said = ask(word, "full", status=4).stderr
        expect("session full ended %s: %s; its file is %s" % (found["ended"], found["why"], found["file"]) in said, said)
    # One that begins under its name takes its place, and one that is stopped leaves nothing.
    ask("start", "full", "-f", "-p", NAME)
    expect_equal((names(), ended()), (["full"], {}))
    ask("stop", "full")
    expect_equal(ended(), {})
    expect("there is no session full" in ask("query", "full", status=4).stderr)
    # Who stops one that has ended is told what it had to say, once.
    ask("start", "short", "-p", NAME, "--duration", "50ms", "--mode", "newfile", "--max-size", "64K")
    wait_for(lambda: "short" in ended(), "the end of the session")
    said = ask("stop", "short").stderr
    expect("--duration is over; its file is " + os.path.realpath(path("short.000001.ptl")) in said, said)
    expect("short.000001.ptl: " in said, said)
    ask("stop", "short", status=4)
    # A recording that could not begin was told to who started it.
    ask("start", "short", "-o", "full.ptl", "-p", NAME, status=4)
    expect_equal(ended(), {})


def ended_many():
    """no more ended sessions are kept than there can be sessions, the latest; what makes no sense is none"""
    place = os.path.join(RUNTIME, "ptl-record")
    for i in range(64):
        with open(os.path.join(place, ".e%02d.ended" % i), "wb") as file:
            file.write(b"%d\0because\0/there\0said\n\0" % (i * 10**9))
        os.utime(file.name, (1000, 1000 + (i + 40) % 64))
    expect_equal(len(ended()), 64)
    expect_equal(ended()["e07"], {"name": "e07", "ended": "1970-01-01 00:00:07.000000000 UTC", "why": "because", "file": "/there",
                                  "messages": "said\n"})
    ask("start", "last", "-p", NAME, "--duration", "10ms")
    wait_for(lambda: "last" in ended(), "the end of the session")
    expect_equal(sorted(ended()), sorted(["e%02d" % i for i in range(64) if i != 24] + ["last"]))
    for text in (b"", b"5", b"5\0why\0file\0no end", b"x" * 100000):
        with open(os.path.join(place, ".last.ended"), "wb") as file:
            file.write(text)
        expect("last" not in ended())
        expect("there is no session last" in ask("query", "last", status=4).stderr)
    for name in os.listdir(place):
        if name.endswith(".ended"):
            os.unlink(os.path.join(place, name))


def killed():
    """a recorder that was killed leaves nothing that is in the way, and its file is named until it was said"""
    ask("start", "dead", "-p", NAME)
    write_events("count=3")
    wait_for(lambda: query("dead")["events"] == 3, "three events")
    ask("flush", "dead")
    before = time.time()
    kill("dead")
    expect_equal(sockets(), [])
    found = ended()["dead"]
    expect_equal((found["why"], found["file"], "files" in found), ("it was killed", os.path.realpath(path("dead.ptl")), False), found)
    when = calendar.timegm(time.strptime(found["ended"][:19], "%Y-%m-%d %H:%M:%S"))
    expect(before - 60 < when <= time.time(), found, before)
    for word in ("query", "flush", "snapshot", "stop"):
        said = ask(word, "dead", status=4).stderr
        expect("session dead ended %s: it was killed; its file is %s" % (found["ended"], found["file"]) in said, word, said)
    expect("there is no session dead" in ask("query", "dead", status=4).stderr)
    expect_equal(len(indexes_of("dead.ptl")), 3)
    ask("start", "dead", "-f", "-p", NAME)
    kill("dead")
    said = ask("start", "dead", "-f", "-p", NAME).stderr
    expect("the session dead before this one was killed; its file is " + os.path.realpath(path("dead.ptl")) in said, said)
    write_events("count=3")
    wait_for(lambda: query("dead")["events"] == 3, "three events")
    ask("stop", "dead")
    expect_equal((os.listdir(FOLDER), ended()), ([], {}))


def indexes_of(name):
    """Events of a file that may end within a buffer."""
    done = run(DUMP, "events", "--json", "-p", NAME, "-e", "Number", name)
    expect(done.returncode in (0, 3), done.returncode, done.stderr)
    return [json.loads(line)["fields"]["index"] for line in done.stdout.splitlines()]


def killed_in_memory():
    """what a session had in memory is gone with its recorder, which is said"""
    for mode in ("realtime", "buffering"):
        ask("start", "gone", "-f", "-p", NAME, "--mode=" + mode)
        kill("gone")
        expect_equal((ended()["gone"]["why"], ended()["gone"]["file"]), ("it was killed", ""), mode)
        expect("it was killed; it has left no file" in ask("stop", "gone", status=4).stderr, mode)


def killed_in_a_series():
    """each file of a session that was killed is named, and can be read; those of the sessions before it are not among them"""
    ask("start", "many", "-p", NAME, "--mode=newfile", "--part-time=50ms")
    wait_for(lambda: int(query("many")["file"][-10:-4]) >= 5, "the fifth file")
    ask("stop", "many")
    os.unlink(path("many.000001.ptl"))
    begun = time.time_ns()
    ask("start", "many", "-f", "-p", NAME, "--mode=newfile", "--max-size=64K", "--flush-interval=20ms", "--compress=0")
    for _ in range(2):
        before = query("many")["file"]
        while query("many")["file"] == before:
            write_events("count=500")
    ask("flush", "many")
    last = query("many")["file"]
    kill("many")
    number = int(last[-10:-4])
    left = [os.path.realpath(path("many.%06d.ptl" % i)) for i in range(1, number + 1)]
    found = ended()["many"]
    expect(found["why"] == "it was killed" and found["files"][:number] == left, found, left)
    expect(os.path.exists(path("many.000005.ptl")) and (number >= 5 or len(found["files"]) <= number + 1), found, number, begun,
           [os.stat(file).st_mtime_ns for file in found["files"]])
    expect("its files are %s to %s" % (left[0], found["files"][-1]) in ask("query", "many", status=4).stderr, found)
    expect(found["files"][-1] in ask("list").stdout)
    expect(all(indexes_of(file) for file in left[:-1]), left)
    ask("stop", "many", status=4)
    expect_equal(ended(), {})


def silent():
    """a recorder that is stopped is said to be, once, and waited for until it goes on; others are listed all the same"""
    ask("start", "still", "-p", NAME)
    ask("start", "awake", "-p", NAME)
    recorder = query("still")["pid"]
    os.kill(recorder, signal.SIGSTOP)
    try:
        rows = {row["name"]: row for row in map(json.loads, ask("list", "--json").stdout.splitlines())}
        expect("silent" in rows["still"] and rows["awake"]["pid"], rows)
        expect("still " in ask("list").stdout and "does not answer" in ask("list").stdout)
        with open(path("said"), "wb") as file, subprocess.Popen([RECORD, "query", "still"], stdout=subprocess.DEVNULL, stderr=file) as asks:
            wait_for(lambda: os.path.getsize(path("said")), "what it waits for", asks)
            time.sleep(1.5)
            asks.send_signal(signal.SIGINT)
            expect_equal(asks.wait(timeout=60), -signal.SIGINT)
        with open(path("said"), encoding="utf-8") as file:
            said = file.read()
        expect_equal(said.count("session still does not answer: its recorder is stopped, or busy; waiting for it"), 1, said)
        # More connections than it takes are no reason to wait for ever either.
        folder = os.open(os.path.join(RUNTIME, "ptl-record"), os.O_RDONLY)
        waiting = []
        for _ in range(20):
            waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
            try:
                waiting[-1].connect("/proc/self/fd/%d/still.socket" % folder)
            except BlockingIOError:
                break
        else:
            raise AssertionError("there was room for all")
        os.close(folder)
        expect("silent" in {row["name"]: row for row in map(json.loads, ask("list", "--json").stdout.splitlines())}["still"])
        ask("start", "third", "-p", NAME)
        for one in waiting:
            one.close()
    finally:
        os.kill(recorder, signal.SIGCONT)
    expect_equal(sorted(names()), ["awake", "still", "third"])
    for name in names():
        ask("stop", name)


def again_and_again():
    """a session that is started as soon as the one of its name has stopped is not lost with that one"""
    for i in range(15):
        ask("start", "again", "-f", "-p", NAME)
        expect_equal(names(), ["again"], i)
        ask("stop", "again")
    expect_equal(sockets(), [])


def refused():
    """names, doubles, what is not there, and too many"""
    for words, text in ((("start", "a/b"), "is no name of a session"), (("start", ".a"), "is no name of a session"),
                        (("start", "x" * 65), "has 1 to 64 letters"), (("start",), "needs a name"),
                        (("query",), "a NAME is missing"), (("stop", "a", "b"), "unexpected"),
                        (("update", "a", "-p", "b"), "there is no session a")):
        done = record(*words)
        expect(done.returncode in (2, 4) and text in done.stderr, words, done.returncode, done.stderr)
    ask("start", "NT Kernel Logger", "-o", "k.ptl")
    expect_equal(names(), ["kernel"])
    expect("a session kernel runs" in ask("start", "{9e814aad-3204-11d2-9a82-006008a86939}", "-o", "l.ptl", status=4).stderr)
    expect("has nothing in memory to keep" in ask("snapshot", "kernel", status=4).stderr)
    expect("nothing to update" in ask("update", "kernel", status=2).stderr)
    expect("is no level" in ask("update", "kernel", "-p", "A:b", status=4).stderr)
    expect("is not turned on" in ask("update", "kernel", "--disable", "A", status=4).stderr)
    others = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(63)]
    folder = os.open(os.path.join(RUNTIME, "ptl-record"), os.O_RDONLY)
    for number, other in enumerate(others):
        other.bind("/proc/self/fd/%d/other%d.socket" % (folder, number))
        other.listen(1)
    expect("there are 64 sessions" in ask("start", "more", status=4).stderr)
    for other in others:
        other.close()
    os.close(folder)
    ask("start", "more")
    ask("stop", "more")
    ask("stop", "kernel")
    expect_equal(sockets(), [])
    exists = record("start", "web", "-o", "k.ptl")
    expect_equal(exists.returncode, 4)
    expect("k.ptl exists" in exists.stderr and names() == [], exists.stderr)


def file_in_use():
    """a file that is being recorded is not replaced, even with --force"""
    ask("start", "one", "-p", NAME)
    write_events("levels")
    for words in (("start", "two", "-f", "-p", NAME, "-o", "one.ptl"),
                  ("-f", "--source=none", "-p", NAME, "-o", "one.ptl", "--", "/bin/true")):
        done = record(*words)
        expect_equal(done.returncode, 4, done.stderr)
        expect("one.ptl is being written by a ptl-record" in done.stderr, done.stderr)
    relog = os.path.join(os.path.dirname(RECORD), "ptl-relog")
    expect_equal(record("-q", "-f", "-o", "other.ptl", "--source=none", "--", "/bin/true").returncode, 0)
    os.symlink("one.ptl", path("link.ptl"))
    for words in ((relog, "-f", "other.ptl"), (DUMP, "table", "--force", "events", "other.ptl"), (DUMP, "html", "--force", "other.ptl")):
        for output in "one.ptl", "link.ptl":
            done = run(*words, "-o", output)
            expect_equal(done.returncode, 4, words, done.stderr)
            expect("one.ptl is being written by a ptl-record" in done.stderr, done.stderr)
    os.unlink(path("link.ptl"))
    os.rename(path("one.ptl"), path("cut.1.ptl"))
    done = run(relog, "-f", "other.ptl", "--split", "64K", "-o", "cut.ptl")
    expect(done.returncode == 4 and "cut.1.ptl is being written" in done.stderr, done.stderr)
    os.rename(path("cut.1.ptl"), path("one.ptl"))
    expect_equal(names(), ["one"])
    ask("stop", "one")
    expect_equal(len(lines("events", "-p", "PTL-Test-*", "one.ptl")), 4)
    ask("start", "two", "-f", "-p", NAME, "-o", "one.ptl")
    ask("stop", "two")
    expect_equal(lines("events", "-p", "PTL-Test-*", "one.ptl"), [])


def other_users():
    """another user gets nothing, and a folder that others may write to is not used"""
    if os.geteuid():
        raise Skip("needs root")
    ask("start", "mine")
    place = os.path.join(RUNTIME, "ptl-record")
    expect_equal(os.stat(place).st_mode & 0o777, 0o700)
    os.chmod(RUNTIME, 0o711)
    os.chmod(SCRATCH, 0o755)
    done = run("/usr/bin/python3", "-c", "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
               "s.connect('%s/mine.socket')" % place, user=65534, group=65534, extra_groups=[])
    expect(done.returncode == 1 and "PermissionError" in done.stderr, done.stderr)
    os.chmod(place, 0o777)
    expect("is not this user's alone" in ask("query", "mine", status=4).stderr)
    # Even who gets at the socket is not answered.
    os.chmod(os.path.join(place, "mine.socket"), 0o777)
    done = run("/usr/bin/python3", "-c", "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
               "s.connect('%s/mine.socket')\nprint(s.recv(100))" % place, user=65534, group=65534, extra_groups=[])
    expect(done.stdout.strip() in ("b''", "") and "there" not in done.stdout, done.stdout, done.stderr)
    os.chmod(place, 0o700)
    ask("stop", "mine")


sys.exit(run_sessions([none_so_far, from_start_to_stop, where_it_goes, snapshot_of_a_ring, running_programs, live, live_series, rewritten, in_memory, filtered, filtered_by_links, a_command, ended_alone, ended_many, killed, killed_in_memory, killed_in_a_series, silent, again_and_again, refused, file_in_use, other_users]))
