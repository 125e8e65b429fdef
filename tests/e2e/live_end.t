#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Readers of --live that are behind when the session ends read what is left of it, and say what they missed.
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, RECORD, SCRATCH, expect, expect_equal, lines, path, record, run, wait_for
import session_test
from session_test import NAME, RUNTIME, ask, kill, query, run_sessions

RELOG = os.path.join(os.path.dirname(RECORD), "ptl-relog")
EVENTS = os.path.join(os.environ["PTL_TEST_TOOLS"], "session_events")
SHOWN = ["-p", NAME, "-e", "Number"]
SERIES = ("--mode=newfile", "--part-time=100ms", "--flush-interval=20ms")
MEMORY = ("--mode=realtime", "--max-size=64K", "--write-buffer=4K", "--compress=1", "--flush-interval=10ms")


def write_events(count):
    session_test.write_events("count=%d" % count)


def parts_of(stem):
    return sorted(name for name in os.listdir(SCRATCH) if name.startswith(stem + ".0"))


class Reader:
    """A reader whose output is in files, so that it never waits for us."""

    started = []

    def __init__(self, *words):
        self.stem = path("reader%d" % id(self))
        with open(self.stem + ".out", "wb") as out, open(self.stem + ".err", "wb") as err:
            self.process = subprocess.Popen(words, cwd=SCRATCH, stdout=out, stderr=err)
        self.started.append(self.process)

    def has_opened(self):
        """Whether it reads a file of a series, or memory."""
        folder = "/proc/%d/fd" % self.process.pid
        for entry in os.listdir(folder):
            try:
                name = os.path.basename(os.readlink(os.path.join(folder, entry)))
            except FileNotFoundError:
                continue
            if name.startswith("memfd:ptl-record") or re.search(r"\.0\d{5}\.ptl$", name):
                return True
        return False

    def text(self, which):
        with open(self.stem + which, encoding="utf-8") as file:
            return file.read()

    def stop(self):
        """It reads nothing from here on."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def end(self):
        """It goes on, to the end; its status, output and messages, but for where it began, which a busy machine makes late."""
        self.process.send_signal(signal.SIGCONT)
        status = self.process.wait()
        said = [line for line in self.text(".err").splitlines(True) if " is read from its file " not in line]
        return status, self.text(".out"), "".join(said)


def shower(name):
    return Reader(DUMP, "events", "--live", "--json", *SHOWN, name)


def indexes(text):
    return [json.loads(line)["fields"]["index"] for line in text.splitlines()]


def missed(text):
    return sum(map(int, re.findall(r"missed (\d+) events", text)))


def given(text):
    """Numbers of the events that session_events shows, and how many it missed."""
    rows = [line.split() for line in text.splitlines()]
    word, count = rows.pop()
    expect_equal(word, "missed")
    return len([row for row in rows if len(row) > 6]), int(count)


def numbers(text):
    """How many of the events that session_events shows are those of SHOWN."""
    return sum(line.startswith("33fbaa8cdd4a5450da4c48e1eb7c08a9 1 0 ") for line in text.splitlines())


def outputs(stem):
    return sorted((name for name in os.listdir(SCRATCH) if re.fullmatch(stem + r"(\.\d+)?\.ptl", name)), key=lambda name: (len(name), name))


def rewritten(stem):
    """Events of the outputs of ptl-relog, and how many these say are missing."""
    names = outputs(stem)
    losses = [loss for name in names for loss in lines("info", name)[0]["losses"] if "faster than it was read" in loss["cause"]]
    return [event["fields"]["index"] for name in names for event in lines("events", *SHOWN, name)], sum(loss["count"] for loss in losses)


def rewritten_so_far(stem):
    return [index for name in outputs(stem) for index in indexes(run(DUMP, "events", *SHOWN, "--json", name).stdout)]


def go_on(name, files):
    """Events, a few each time, until there are so many files more; how many events."""
    count, before = 0, query(name)["file"]
    for _ in range(files):
        while True:
            write_events(3)
            count += 3
            time.sleep(0.05)
            if query(name)["file"] != before:
                break
        before = query(name)["file"]
    wait_for(lambda: query(name)["events"] >= count, "all events")
    return count


def begin(name, *words):
    """A session, and one reader of each kind that has its first event and reads no more."""
    ask("start", name, "-f", "-p", NAME, *words)
    readers = [shower(name), Reader(EVENTS, name), Reader(RELOG, "-f", "--live", name, "-o", name + "_again.ptl")]
    for reader in readers:
        wait_for(reader.has_opened, reader.process.args)
    write_events(1)
    wait_for(lambda: indexes(readers[0].text(".out")) == [0], "the first event")
    wait_for(lambda: rewritten_so_far(name + "_again") == [0], "the first event, written again")
    for reader in readers:
        reader.stop()
    return readers


def all_is_left():
    """a series whose files are all there is read to its end, with nothing missed"""
    readers = begin("all", *SERIES)
    count = 1 + go_on("all", 4)
    ask("stop", "all")
    (status, out, err), (other_status, other, other_err), (last_status, _, last_err) = [reader.end() for reader in readers]
    whole = [event["fields"]["index"] for name in parts_of("all") for event in lines("events", *SHOWN, name)]
    expect_equal(len(whole), count)
    expect_equal((status, indexes(out), err), (0, whole, ""))
    expect_equal((other_status, given(other)[1], other_err), (0, 0, ""))
    expect_equal((last_status, rewritten("all_again"), last_err), (0, (whole, 0), ""))


def some_are_left():
    """of a series that keeps two files, a reader that is behind reads these, and says what it missed"""
    readers = begin("some", *SERIES, "--keep=2")
    count = 1 + go_on("some", 5)
    expect_equal(query("some")["events"], count)
    ask("stop", "some")
    (status, out, err), (other_status, other, _), (last_status, _, last_err) = [reader.end() for reader in readers]
    left = parts_of("some")
    whole = [event["fields"]["index"] for name in left for event in lines("events", *SHOWN, name)]
    expect(len(left) == 2 and status == 0 and indexes(out)[len(indexes(out)) - len(whole):] == whole, out, whole)
    expect(missed(err) and len(indexes(out)) + missed(err) == count, count, len(indexes(out)), err)
    expect("doubt" not in err and "not known" not in err, err)
    expect(other_status == 0 and given(other)[1], other_status, other[-100:])
    again, lost = rewritten("some_again")
    expect(last_status == 0 and lost == missed(last_err) and lost and len(again) + lost == count, count, len(again), lost, last_err)


def some_were_moved():
    """files that are gone by the time the reader comes to them are counted, and those behind them read"""
    for gone, name in ((slice(1, 3), "moved"), (slice(-2, None), "tail")):
        readers = begin(name, *SERIES)
        count = 1 + go_on(name, 5)
        ask("stop", name)
        files = parts_of(name)
        # Some may have nothing, where the machine was busy; the first one that has is what the readers read.
        filled = [file for file in files if lines("events", *SHOWN, file)][1:]
        for file in filled[gone]:
            os.unlink(path(file))
        (status, out, err), _, (last_status, _, last_err) = [reader.end() for reader in readers]
        whole = [event["fields"]["index"] for file in parts_of(name) for event in lines("events", *SHOWN, file)]
        expect_equal((status, indexes(out)), (0, whole), err)
        expect(missed(err) == count - len(whole) > 0, count, len(whole), err)
        expect(last_status == 0 and missed(last_err) == missed(err), last_err)


def in_memory():
    """what a session in memory has at its end is read by who is behind, and what it had no more is counted"""
    readers = begin("fast", *MEMORY)
    for _ in range(24):
        write_events(12000)
    wait_for(lambda: query("fast")["events"] == 288001, "all events")
    expect_equal(query("fast")["realtime_buffers_lost"], 0, "nobody has asked meanwhile")
    ask("stop", "fast")
    (status, out, err), (other_status, other, _), (last_status, _, last_err) = [reader.end() for reader in readers]
    shown = indexes(out)
    expect(status == 0 and shown[-1] == 11999 and missed(err) and len(shown) + missed(err) == 288001, len(shown), shown[-1:], err)
    expect("not known" not in err, err)
    expect(other_status == 0 and given(other)[1], other_status, other[-100:])
    again, lost = rewritten("fast_again")
    expect(last_status == 0 and lost == missed(last_err) and len(again) + lost == 288001, len(again), lost, last_err)


def left_by(name):
    """The events of the files that a session has left which was killed: the last one may end anywhere."""
    files = [run(DUMP, "events", *SHOWN, "--json", file) for file in parts_of(name)]
    expect(all(done.returncode == 0 for done in files[:-1]) and files[-1].returncode in (0, 3), files)
    return [index for done in files for index in indexes(done.stdout)]


def killed():
    """a session that was killed is said to be, and what it has left in files is read"""
    for gone in False, True:
        name = "gone" if gone else "dead"
        readers = begin(name, *SERIES)
        count = 1 + go_on(name, 4)
        ask("flush", name)
        kill(name)
        expect_equal(len(left_by(name)), count)
        if gone:
            # The readers stopped at least four files before the last one.
            os.unlink(path(parts_of(name)[-3]))
        whole = left_by(name)
        (status, out, err), (other_status, other, other_err), (last_status, _, last_err) = [reader.end() for reader in readers]
        expect(status in (0, 3) and indexes(out) == whole, status, indexes(out), whole, err)
        expect(other_status == 1 and other_err.startswith("session_events: session %s was killed" % name), other_status, other_err)
        expect(given(other)[1] == 0, other[-100:])
        expect_equal(numbers(other), len(whole))
        expect(last_status in (0, 3) and rewritten(name + "_again")[0] == whole, last_status, rewritten(name + "_again"), whole, last_err)
        for said in err, last_err:
            expect_equal(said.count("session %s was killed: what it recorded last may be missing" % name), 1, said)
            expect_equal("and so is what was in files that are gone" in said, gone, said)


def killed_and_begun_again():
    """files of a session that was killed are told from those of the next one of its name, which are in the same places"""
    readers = begin("heir", *SERIES)
    go_on("heir", 4)
    ask("flush", "heir")
    kill("heir")
    before, whole = parts_of("heir"), left_by("heir")
    ask("start", "heir", "-f", "-p", NAME, "--mode=newfile", "--max-size=1G")
    write_events(50)
    wait_for(lambda: query("heir")["events"] == 50, "events of the next session")
    ask("flush", "heir")
    expect_equal(parts_of("heir"), before)
    (_, out, err), _, (_, _, last_err) = [reader.end() for reader in readers]
    expect_equal((indexes(out), rewritten("heir_again")[0]), (whole, whole), err, last_err)
    ask("stop", "heir")


def silent():
    """a recorder that is stopped is said to be, once, and waited for, until it goes on or the reader is interrupted"""
    readers = begin("still", *SERIES)
    count = 1 + go_on("still", 2)
    recorder = query("still")["pid"]
    os.kill(recorder, signal.SIGSTOP)
    waits = "session still does not answer: its recorder is stopped, or busy; waiting for it"
    try:
        shown, other, again = readers
        late = shower("still")
        for reader in readers:
            reader.process.send_signal(signal.SIGCONT)
        for reader in shown, again, late:
            wait_for(lambda reader=reader: waits in reader.text(".err"), reader.process.args)
        time.sleep(0.5)
        for reader in again, late:
            reader.process.send_signal(signal.SIGINT)
        last_status, _, last_err = again.end()
        expect(last_status == 0 and last_err.count(waits) == 1 and "still: interrupted; what is there is taken" in last_err, last_status, last_err)
        expect(lines("info", "still_again.ptl")[0]["complete"] and rewritten("still_again")[0][0] == 0, rewritten("still_again"))
        expect_equal((late.end()[0], late.text(".out")), (-signal.SIGINT, ""))
        expect(shown.process.poll() is None and other.process.poll() is None)
    finally:
        os.kill(recorder, signal.SIGCONT)
    ask("stop", "still")
    status, out, err = shown.end()
    expect(status == 0 and len(indexes(out)) == count and err.count(waits) == 1, status, len(indexes(out)), count, err)
    status, out, err = other.end()
    expect_equal((status, given(out)[1], err), (0, 0, ""))


def late():
    """who begins to read late is told from when on, and where what came before is"""
    ask("start", "long", "-p", NAME, *SERIES)
    go_on("long", 2)
    for gone in False, True:
        if gone:
            # The file behind the one that is written may be there already, and is not yet read.
            for name in parts_of("long"):
                if name < os.path.basename(query("long")["file"]):
                    os.unlink(path(name))
        for reader in shower("long"), Reader(RELOG, "-f", "--live", "long", "-o", "long_again.ptl"):
            wait_for(lambda reader=reader: reader.text(".err"), reader.process.args)
            said = reader.text(".err")
            expect(re.search(r"session long is read from its file \d+ on(, which begins .*s after the session)?; earlier events are ", said), said)
            expect(gone or os.path.realpath(path("long.000001.ptl")) + " and those that follow" in said, said)
            # What comes shows that it reads: who has not begun is interrupted as any program.
            write_events(1)
            wait_for(lambda reader=reader: reader.text(".out") or outputs("long_again"), reader.process.args)
            reader.process.send_signal(signal.SIGINT)
            ended = reader.end()
            expect_equal(ended[0], 0, ended[2])
            for name in outputs("long_again"):
                os.unlink(path(name))
    quiet = Reader(DUMP, "events", "--live", "-q", "long")
    wait_for(quiet.has_opened, "the quiet reader")
    ask("stop", "long")
    quiet.end()
    expect_equal(quiet.text(".err"), "")


def begun_again():
    """a session that has begun under the same name meanwhile is not taken for the one that was read"""
    readers = begin("twice", *SERIES)
    count = 1 + go_on("twice", 3)
    ask("stop", "twice")
    ask("start", "twice", "-f", "-o", "other.ptl", "-p", NAME, *SERIES)
    go_on("twice", 4)
    (status, out, err), (_, other, _), (_, _, last_err) = [reader.end() for reader in readers]
    expect_equal((status, len(indexes(out)), err), (0, count, ""))
    expect_equal(given(other)[1], 0)
    expect_equal((len(rewritten("twice_again")[0]), last_err), (count, ""))
    ask("stop", "twice")


def many_readers():
    """readers beyond what a session takes are read to, and told that they cannot know; and do not keep it from being stopped"""
    ask("start", "many", "-p", NAME, *SERIES)
    place = os.path.join(RUNTIME, "ptl-record")

    def wait_for_end():
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect("/proc/self/fd/%d/many.socket" % folder)
        one.send(b"rest\0")
        return one

    folder = os.open(place, os.O_RDONLY)
    waiting = []
    for i in range(64):
        waiting.append(wait_for_end())
        if i % 8 == 7:
            query("many")
    query("many")
    expect(not any(is_ready(one) for one in waiting), "refused")
    late = wait_for_end()
    expect_equal(late.recv(1000), b"-too many wait for this session")
    late.close()
    # Those that go make room.
    waiting.pop().close()
    another = wait_for_end()
    query("many")
    expect(not is_ready(another), "refused")
    reader = shower("many")
    wait_for(reader.has_opened, "the reader")
    write_events(2)
    wait_for(lambda: indexes(reader.text(".out")) == [0, 1], "the first events")
    ask("stop", "many")
    expect_equal(waiting[0].recv(200000)[:3], b"+1 ")
    status, _, err = reader.end()
    expect(status == 0 and "session many: it is not known what was missed at its end: too many wait" in err, status, err)
    for one in waiting + [another]:
        one.close()
    os.close(folder)


def is_ready(one):
    one.setblocking(False)
    try:
        one.recv(1, socket.MSG_PEEK)
        return True
    except BlockingIOError:
        return False
    finally:
        one.setblocking(True)


class Fake:
    """A session's socket with a recorder that is none: the answers to "rest", and to what it is asked next."""

    def __init__(self, name, early, late, files):
        self.late, self.early, self.files, self.held = late, early, list(files), []
        folder = os.open(os.path.join(RUNTIME, "ptl-record"), os.O_RDONLY)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.place = os.path.join(RUNTIME, "ptl-record", name + ".socket")
        self.listener.bind("/proc/self/fd/%d/%s.socket" % (folder, name))
        os.close(folder)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            one, _ = self.listener.accept()
            word = one.recv(1000)
            if word.startswith(b"rest"):
                if self.early is not None:
                    one.send(self.early)
                self.held.append(one)
                continue
            if not self.files:
                one.close()
                break
            one.send(self.files.pop(0))
            one.close()
        for one in self.held:
            if self.late is not None:
                one.send(self.late)
            one.close()
        self.listener.close()
        os.unlink(self.place)


def other_recorders():
    """a recorder that does not know the question, and answers that make no sense"""
    ask("start", "real", "-p", NAME, *SERIES)
    write_events(2)
    wait_for(lambda: query("real")["events"] == 2, "both events")
    ask("stop", "real")
    file = parts_of("real")[0]
    first = b"+1 0 " + path(file).encode()
    stem = path("real").encode() + b"."
    unknown = "it is not known what was missed at its end"
    senseless = "session's answer is not as it should be"
    for early, late, status, said, count in (
            (b"-this session's recorder does not know the request 'rest'", None, 0, unknown + ": this session's recorder does not know", 0),
            (None, b"+", 0, "", 0), (None, b"+1 1\0" + stem + b"\0.ptl\0002\0000\0", 0, "", 0),
            (None, b"+1 3\0" + stem + b"\0.none\0009\0004\0002\0000\0", 0, "", 7), (None, b"+1 4294967295\0" + stem + b"\0.none\0009\0", 4, "files of session fake are gone", 0),
            (None, b"+3 9\0\0\0009\0004\0", 0, "", 5), (None, b"+1 18446744073709551615\0/a\0b\0001\0", 0, senseless, 0), (None, b"+9 3\0/a\0b\0001\0", 0, senseless, 0),
            (None, b"+1 2\0/a\0b", 0, senseless, 0), (None, b"+1 2", 0, senseless, 0), (None, b"+x", 0, senseless, 0), (None, b"+0 2\0/a\0b\0001\0", 0, senseless, 0),
            (None, b"+2 2\0" + stem + b"\0.none\0009\0" + b"99\0", 0, "", 0), (None, b"+2 2\0/dev/null/\0\0009\0", 4, "/dev/null/000002: Not a directory", 0),
            (None, None, 0, "session fake was killed", 0)):
        fake = Fake("fake", early, late, [first])
        reader = shower("fake")
        got, out, err = reader.end()
        fake.thread.join(60)
        expect_equal((got, indexes(out), missed(err)), (status, [0, 1], count), late, err)
        expect(said in err and (said or count or not err), late, err)


def lost_before():
    """events that the recorder could not take are told to who reads the session; with what was read they are all"""
    ask("start", "busy", "-p", NAME, "--mode=realtime", "--max-size=64M", "--provider-buffer=4K")
    reader = shower("busy")
    wait_for(reader.has_opened, "the first file")
    recorder = query("busy")["pid"]
    # Its memory has room for some of them.
    os.kill(recorder, signal.SIGSTOP)
    try:
        write_events(100000)
    finally:
        os.kill(recorder, signal.SIGCONT)
    said = ask("stop", "busy").stderr
    status, out, err = reader.end()
    lost = sum(map(int, re.findall(r"warning: (\d+) events were lost, at least in part, when they were recorded: ", err)))
    expect_equal((status, len(indexes(out)) + lost), (0, 100000), err, said)
    expect(lost > 0, err, said)


def stop_all():
    """What a check that failed has left."""
    for process in Reader.started:
        process.kill()
        process.wait()
    Reader.started.clear()
    session_test.stop_all()


sys.exit(run_sessions([all_is_left, some_are_left, some_were_moved, in_memory, lost_before, killed, killed_and_begun_again, silent, late, begun_again, many_readers, other_recorders], stop_all))
