#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --mode: files of a series hold every event once, and each can be read alone.
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import DUMP, PROGRAMS, RECORD, SCRATCH, Skip, dump, expect, expect_equal, lines, main, path, record, run

WRITER = os.path.join(PROGRAMS, "provider_writer")
NAME = "PTL-Test-Writer"
NONE = "--source=none"
os.environ["PTL_SESSION_DIR"] = os.path.join("/dev/shm", "ptl-modes-%d" % os.getpid())
COUNT = 8000
# Rounds far enough apart that the recorder sees the size of the file between them.
ROUNDS = "for i in 1 2 3 4 5 6; do \"$0\" count=%d; sleep 0.1; done" % COUNT


def until(condition):
    """Rounds, as many as it takes: a file has what came while the next one was made."""
    return "i=0; until { %s; } || [ $i -ge 300 ]; do \"$0\" count=%d; sleep 0.1; i=$((i + 1)); done; echo $i > rounds" % (condition, COUNT)


def series(stem):
    return sorted(name for name in os.listdir(SCRATCH) if re.fullmatch(re.escape(stem) + r"\.\d{6}\.ptl", name))


def numbers(name):
    return [(event["pid"], event["fields"]["index"]) for event in lines("events", "-p", NAME, "-e", "Number", name)]


def is_readable_alone(name):
    expect(lines("info", name)[0]["complete"], name)
    programs = {process["pid"]: process for process in lines("processes", name)}
    for event in lines("events", name):
        if event["pid"] is not None:
            expect(event["pid"] in programs and event.get("process"), name, event)


def new_files():
    """newfile: all events are in one of the files, in order, and each file knows its processes"""
    done = record("-o", "n.ptl", NONE, "-p", NAME, "--mode=newfile", "--max-size=64K", "--part-time=120ms", "--write-buffer=8K", "--write-buffers=32",
                  "--compress=1", "--flush-interval=50ms", "--", "sh", "-c", until("[ -e n.000004.ptl ]"), WRITER)
    expect_equal(done.returncode, 0, done.stderr)
    with open(path("rounds"), encoding="ascii") as file:
        written = COUNT * int(file.read())
    found = series("n")
    expect(len(found) > 2 and found[0] == "n.000001.ptl", found)
    expect(not os.path.exists(path("n.ptl")))
    every = [number for name in found for number in numbers(name)]
    expect_equal(len(every), written, done.stderr)
    expect_equal(len(set(every)), written)
    for name in found:
        is_readable_alone(name)
    # One that it has started may not have executed its program yet when the file ends.
    shells = {process["pid"]: process for process in lines("processes", found[1]) if process["command_line"].startswith("sh -c")}
    expect_equal(len([shell for shell in shells.values() if shell["parent_pid"] not in shells]), 1, found[1], shells)
    expect("%s: " % found[-1] in done.stderr and "no losses" in done.stderr, done.stderr)


def hashes(name):
    """Of each thread: how many instructions, and the hash of their addresses."""
    found = json.loads(run(DUMP, "stats", "--json", "--hash", name).stdout)
    expect_equal(found["gaps"], 0, name)
    return sorted((thread["instructions"], thread["ip_sha256"]) for process in found["processes"] for thread in process["threads"]
                  if thread["instructions"])


def packets_of(name, *options):
    """A series of the packets of processes: one trace made of all files has the flow of a recording that was never divided."""
    command = ("--", os.path.join(PROGRAMS, "tasks"), "1500000", "3")
    done = record("-f", "-o", "whole.ptl", "--source=software", *command)
    expect(done.returncode in (40, 41), done.stderr)
    done = record("-f", "-o", name + ".ptl", "--source=software", "--mode=newfile", "--part-time=20ms", *options, *command)
    expect(done.returncode in (40, 41), done.stderr)
    expect("no losses" in done.stderr, done.stderr)
    counts = []
    for part in series(name):
        expect(lines("info", part)[0]["complete"], part)
        if any(stream["kind"] == "pt" and stream["bytes"] for stream in lines("info", part)[0]["streams"]):
            stats = lines("stats", part)[0]
            expect_equal(stats["gaps"], 0, part)
            counts.append(stats["instructions"])
    run(os.path.join(os.path.dirname(RECORD), "ptl-relog"), "-q", "-f", "-o", "all.ptl", *series(name))
    whole = hashes("whole.ptl")
    expect_equal(hashes("all.ptl"), whole)
    expect_equal(sum(counts), sum(count for count, _ in whole), counts)
    expect(len(whole) == 4 and len(counts) > 1, counts)


def packets():
    """newfile, with packets: each file is decoded alone, without a gap, and all instructions are in one of them"""
    packets_of("p")


def packets_of_cpus():
    """the same of virtual CPUs, whose packets are of several threads"""
    packets_of("v", "--per-cpu=2")


def processes_of_packets():
    """circular, with packets and code: a file has what its processes need, whether they live when it begins, or start later"""
    done = record("-o", "r.ptl", "--source=software", "--mode=circular", "--max-size=512K", "--write-buffer=16K", "--", "sh", "-c",
                  "i=0; while [ $i -lt 12 ]; do /bin/true; i=$((i + 1)); done")
    expect_equal(done.returncode, 0, done.stderr)
    found = series("r")
    expect(1 < len(found) <= 8, found, done.stderr)
    for name in found:
        stats = run(DUMP, "stats", "--json", name)
        expect(stats.returncode in (0, 3) and (stats.returncode or json.loads(stats.stdout)["gaps"] == 0), name, stats.stdout, stats.stderr)


def keep_some():
    """newfile --keep and circular: the last files are there, and the oldest are gone"""
    done = record("-o", "k.ptl", NONE, "-p", NAME, "--mode=newfile", "--part-time=80ms", "--keep=2", "--", "sh", "-c",
                  until("[ $i -gt 0 ] && [ ! -e k.000001.ptl ]"), WRITER)
    expect_equal(done.returncode, 0, done.stderr)
    found = series("k")
    expect_equal(len(found), 2, found)
    expect(found[-1] >= "k.000003.ptl", found)
    done = record("-o", "c.dat", NONE, "-p", NAME, "--mode=circular", "--max-size=96K", "--write-buffer=4K", "--write-buffers=8",
                  "--flush-interval=50ms", "--", "sh", "-c", until("[ $i -gt 0 ] && [ ! -e c.000001.dat ]"), WRITER)
    expect_equal(done.returncode, 0, done.stderr)
    found = sorted(name for name in os.listdir(SCRATCH) if name.startswith("c."))
    expect(1 < len(found) <= 8 and found[0] != "c.000001.dat", found)
    for name in found:
        is_readable_alone(name)
    said = re.search(r"c\.\d+\.dat: the last of (\d+) files with ([\d.]+) kB, ([\d,]+) events, ([\d,]+) of them in files that were "
                     r"removed; ", done.stderr)
    expect(said and int(said[1]) == len(found), done.stderr)
    size = sum(os.path.getsize(path(name)) for name in found)
    expect(abs(float(said[2]) * 1000 - size) <= 500, said[2], size)
    kept = sum(event.get("provider") == NAME for name in found for event in lines("events", name))
    events, removed = (int(said[i].replace(",", "")) for i in (3, 4))
    expect(0 < removed < events and abs(events - removed - kept) <= kept // 4, said[0], kept)


def largest_size():
    """sequential: recording ends where the file has its size, which is said"""
    done = record("-o", "s.ptl", NONE, "-p", NAME, "--max-size=64K", "--write-buffer=16K", "--flush-interval=50ms", "--", "sh", "-c",
                  ROUNDS + "; touch ended", WRITER)
    expect_equal(done.returncode, 0, done.stderr)
    expect("has the size of --max-size: the recording ends" in done.stderr, done.stderr)
    info = lines("info", "s.ptl")[0]
    expect(info["complete"] and os.path.getsize(path("s.ptl")) >= 64 << 10, info)


def appended():
    """--append: one trace with both recordings, all of the first one until the second is complete; what is no trace is left alone"""
    for index in (1, 2, 3):
        done = record("-o", "app.ptl", NONE, "--append", "-p", NAME, "--", WRITER, "count=%d" % (10 * index))
        expect_equal(done.returncode, 0, done.stderr)
        expect("app.ptl: " in done.stderr, done.stderr)
        expect_equal(len(numbers("app.ptl")), sum(10 * past for past in range(1, index + 1)))
        expect(lines("info", "app.ptl")[0]["complete"])
    expect_equal(len({pid for pid, _ in numbers("app.ptl")}), 3)
    expect(not os.path.exists(path("app.append.ptl")))
    # A recorder that is killed leaves the file as it was, and what it has recorded beside it.
    recorder = subprocess.Popen([RECORD, "-o", "app.ptl", NONE, "--append", "-p", NAME, "--flush-interval=10ms", "--", "sh", "-c",
                                 '"$0" count=5; echo ready; read line', WRITER], cwd=SCRATCH, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
    expect_equal(recorder.stdout.readline(), "ready\n")
    end = time.monotonic() + 120
    while run(DUMP, "events", "--json", "-p", NAME, "-e", "Number", "app.append.ptl").stdout.count("\n") != 5:
        expect(time.monotonic() < end, "the events have not come")
    recorder.kill()
    recorder.communicate()
    expect_equal(len(numbers("app.ptl")), 60)
    done = record("-o", "app.ptl", NONE, "--append", "--", "true")
    expect(done.returncode == 4 and "has left app.append.ptl" in done.stderr, done.stderr)
    with open(path("other.ptl"), "w", encoding="ascii") as file:
        file.write("not a trace\n" * 20)
    done = record("-o", "other.ptl", NONE, "--append", "--", "true")
    expect(done.returncode == 4 and "nothing can be appended: other.ptl: " in done.stderr, done.stderr)
    with open(path("other.ptl"), encoding="ascii") as file:
        expect_equal(file.read(), "not a trace\n" * 20)
    for words in (["--mode=newfile", "--max-size=1M"], ["--force"]):
        done = record("-o", "app.ptl", NONE, "--append", *words, "--", "true")
        expect(done.returncode == 2 and "--append is for one file" in done.stderr, done.stderr)


def full_disk():
    """a series on a full file system goes on where its oldest file was"""
    if os.geteuid():
        raise Skip("needs root")
    script = "mount -t tmpfs -o size=120k,mode=0777 none disk && cd disk && \"$@\"; ls; cp -- *.ptl .."
    os.mkdir(path("disk"))
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", RECORD, "-o", "f.ptl", NONE, "-p", NAME, "--mode=newfile",
                           "--max-size=10M", "--keep=2", "--write-buffer=16K", "--flush-interval=50ms", "--", "sh", "-c",
                           ROUNDS.replace("1 2 3 4 5 6", "1 2 3 4 5 6 7 8 9 10 11 12 13 14").replace("0.1", "0.15"), WRITER],
                          cwd=SCRATCH, capture_output=True, text=True, check=False, timeout=120)
    if "mount:" in done.stderr or "unshare" in done.stderr:
        raise Skip("cannot mount: " + done.stderr.splitlines()[0])
    expect_equal(done.stderr.count("No space left"), done.stderr.count("cannot write"), done.stderr)
    expect("No space left" in done.stderr, done.stderr)
    shown = 0
    for name in series("f"):
        # What did not fit is missing, and reported as damage; what did fit is read.
        got = subprocess.run([DUMP, "events", "--json", name], cwd=SCRATCH, capture_output=True, text=True, check=False)
        expect(got.returncode in (0, 3), name, got.returncode, got.stderr)
        shown += got.stdout.count("\n")
    expect(shown > 0, done.stdout, done.stderr)
    expect(len(series("f")) >= 1, done.stdout, done.stderr)


def refused():
    """modes that do not go with what else is asked for"""
    for words, text in ((["--mode=newfile"], "needs to know when a file is full"),
                        (["--mode=circular"], "needs to know the size"), (["--keep=2"], "are for several files"),
                        (["--mode=newfile", "--max-size=1M", "-o", "/dev/fd/2"], "a pipe has none")):
        done = record(NONE, *words, "--", "true")
        expect_equal(done.returncode, 2, words, done.stderr)
        expect(text in done.stderr, words, done.stderr)


try:
    failed = main([new_files, packets, packets_of_cpus, processes_of_packets, keep_some, largest_size, appended, full_disk, refused])
finally:
    shutil.rmtree(os.environ["PTL_SESSION_DIR"], ignore_errors=True)
sys.exit(failed)
