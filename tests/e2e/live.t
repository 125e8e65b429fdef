#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record -o - and ptl-dump --follow: what happens is shown while it goes on, and all of it once.
import json
import os
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, RECORD, SCRATCH, dump, expect, expect_equal, lines, main, path, record, run

# Waits for a line, which is a program to run.
OBEDIENT = ["sh", "-c", "while read word; do \"$word\"; done"]


def popen(*words, **options):
    return subprocess.Popen(words, cwd=SCRATCH, **options)


class Lines:
    """JSON lines of a program that goes on."""

    def __init__(self, process):
        self.process, self.rest, self.seen = process, b"", []

    def until(self, wanted, seconds=120):
        end = time.monotonic() + seconds
        while True:
            while b"\n" in self.rest:
                line, self.rest = self.rest.split(b"\n", 1)
                self.seen.append(json.loads(line))
                if wanted(self.seen[-1]):
                    return self.seen[-1]
            left = end - time.monotonic()
            expect(left > 0 and select.select([self.process.stdout], [], [], left)[0], "waited in vain; got",
                   len(self.seen), "lines")
            data = os.read(self.process.stdout.fileno(), 65536)
            expect(data, "the output has ended")
            self.rest += data

    def all(self):
        out, _ = self.process.communicate(timeout=120)
        return self.seen + [json.loads(line) for line in (self.rest + out).splitlines()]


def runs(program):
    """Whether an event is that of the program's start."""
    return lambda event: event["event"] == "Process/Exec" and \
        os.path.basename(event["fields"]["ImageFileName"]) == program


def tell(recorder, word):
    recorder.stdin.write(word.encode() + b"\n")
    recorder.stdin.flush()


def events_by_pipe():
    """ptl-record -o - | ptl-dump events --follow -: events are shown while the command waits"""
    recorder = popen(RECORD, "-q", "-o", "-", "--source=none", "--", *OBEDIENT, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reader = popen(DUMP, "events", "--follow", "--json", "-", stdin=recorder.stdout, stdout=subprocess.PIPE)
    recorder.stdout.close()
    shown = Lines(reader)
    for word in ("uname", "pwd", "uname"):
        tell(recorder, "/bin/" + word)
        found = shown.until(runs(word))
        expect_equal(recorder.poll(), None)
        expect_equal(found["process"], word)
    recorder.stdin.close()
    seen = shown.all()
    expect_equal(recorder.wait(60), 0)
    text = recorder.stderr.read().decode()
    recorder.stderr.close()
    expect("Linux" in text and SCRATCH in text, "the command's output is not on standard error:", text)
    ends = [event for event in seen if event["event"] == "Process/End"]
    expect_equal(len(ends), 4, ends)
    expect([event["time"] for event in seen] == sorted(event["time"] for event in seen), "out of order")


def events_of_a_file():
    """events --follow FILE: what it shows of a growing file is what the finished one has"""
    recorder = popen(RECORD, "-q", "-o", "grows.ptl", "--source=none", "--", *OBEDIENT, stdin=subprocess.PIPE,
                     stdout=subprocess.DEVNULL)
    while not os.path.exists(path("grows.ptl")):
        expect_equal(recorder.poll(), None)
        time.sleep(0.005)
    shown = Lines(popen(DUMP, "events", "--follow", "--json", "grows.ptl", stdout=subprocess.PIPE))
    counter = popen(DUMP, "events", "--follow", "--count", "--json", "grows.ptl", stdout=subprocess.PIPE)
    stopped = popen(DUMP, "events", "--follow", "--json", "grows.ptl", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tell(recorder, "/bin/uname")
    shown.until(runs("uname"))
    Lines(stopped).until(runs("uname"))
    stopped.send_signal(signal.SIGINT)
    _, err = stopped.communicate(timeout=120)
    expect_equal((stopped.returncode, err), (0, b""), "Ctrl-C is no failure, and the end so far no damage")
    tell(recorder, "/bin/pwd")
    recorder.stdin.close()
    expect_equal(recorder.wait(60), 0)
    got, finished = shown.all(), lines("events", "grows.ptl")
    expect_equal([(event["time"], event["event"], event["tid"], event["fields"]) for event in got],
                 [(event["time"], event["event"], event["tid"], event["fields"]) for event in finished])
    counted = [json.loads(line) for line in counter.communicate(timeout=120)[0].splitlines()]
    expect_equal(sum(row["count"] for row in counted), len(finished), counted)


def flow_and_stats():
    """flow --follow and stats --follow: nothing is missing, nothing comes twice"""
    recorder = popen(RECORD, "-q", "-o", "flow.ptl", "--", *OBEDIENT, stdin=subprocess.PIPE,
                     stdout=subprocess.DEVNULL)
    while not os.path.exists(path("flow.ptl")):
        expect_equal(recorder.poll(), None)
        time.sleep(0.005)
    flow = Lines(popen(DUMP, "flow", "--follow", "--json", "flow.ptl", stdout=subprocess.PIPE))
    stats = Lines(popen(DUMP, "stats", "--follow", "--json", "flow.ptl", stdout=subprocess.PIPE))
    flow.until(lambda line: "ip" in line)
    first = stats.until(lambda line: line["instructions"])
    tell(recorder, "/bin/uname")
    second = stats.until(lambda line: line["instructions"] > first["instructions"] and len(line["processes"]) > 1)
    expect_equal((recorder.poll(), second["gaps"]), (None, 0))
    recorder.stdin.close()
    expect_equal(recorder.wait(60), 0)
    got, rows = flow.all(), stats.all()
    finished = json.loads(dump("stats", "--json", "flow.ptl"))
    expect_equal(rows[-1], finished)
    counts = [row["instructions"] for row in rows]
    expect(counts == sorted(counts), counts)
    key = lambda line: json.dumps(line, sort_keys=True)
    expect(sorted(map(key, got)) == sorted(map(key, lines("flow", "flow.ptl"))), "the flow differs")


def dead_writer():
    """what a killed recorder left is shown, and that it is not all"""
    recorder = popen(RECORD, "-q", "-o", "dead.ptl", "--source=none", "--", *OBEDIENT, stdin=subprocess.PIPE)
    while not os.path.exists(path("dead.ptl")):
        expect_equal(recorder.poll(), None)
        time.sleep(0.005)
    reader = popen(DUMP, "events", "--follow", "--json", "dead.ptl", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    shown = Lines(reader)
    tell(recorder, "/bin/true")
    shown.until(runs("true"))
    recorder.kill()
    recorder.wait()
    recorder.stdin.close()
    _, err = reader.communicate(timeout=120)
    expect("did not finish" in err.decode(), err)


def refused():
    """what needs all of a trace does not go with --follow"""
    for words in (("events", "--tree"), ("events", "--process=a"), ("stats", "--hash"), ("flow", "--events")):
        done = run(DUMP, words[0], "--follow", *words[1:], "none.ptl")
        expect_equal(done.returncode, 2, words, done.stderr)
        expect("--follow does not go with" in done.stderr, done.stderr)
    done = run(DUMP, "events", "--follow", "none.ptl")
    expect_equal(done.returncode, 4, done.stderr)
    terminal, other = os.openpty()
    done = record("-o", "-", "true", stdout=other)
    expect_equal(done.returncode, 2)
    expect("is a terminal" in done.stderr, done.stderr)
    os.close(terminal)
    os.close(other)


sys.exit(main([events_by_pipe, events_of_a_file, flow_and_stats, dead_writer, refused]))
