#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record -e sdt: and uprobe:...(arguments): values as the program had them, and nothing is left in the kernel.
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from record_test import PROGRAMS, RECORD, Skip, expect, expect_equal, lines, main, record, run, start

NONE = "--source=none"
PROGRAM = os.path.join(PROGRAMS, "probes")
MADE = "/sys/kernel/tracing/uprobe_events"
COUNT = 5


def works():
    done = record("-f", "-o", "works.ptl", NONE, "-e", "uprobe:%s:main(%%di:s32)" % PROGRAM, "--", "true")
    if done.returncode:
        raise Skip("uprobes with arguments cannot be made here: " + done.stderr.splitlines()[0])


def left_by(pid):
    with open(MADE, encoding="ascii") as file:
        return re.findall(r"ptl_%d_\d+_\d+/\w+" % pid, file.read())


def fields(name, provider, event):
    found = [one["fields"] for one in lines("events", name) if (one["provider"], one["event"]) == (provider, event)]
    return [{key: int(str(value), 0) if re.fullmatch(r"-?(0x)?[0-9a-f]+", str(value)) else value for key, value in one.items()}
            for one in found]


def notes():
    """probes by their notes: registers, memory, constants, two places, a semaphore"""
    works()
    begun = start("-o", "n.ptl", NONE, "-e", "sdt:%s:step" % PROGRAM, "-e", "sdt:%s:ptl_test:watched" % PROGRAM, "-e",
                  "sdt:%s:done" % PROGRAM, "--", PROGRAM, str(COUNT))
    out, errors = begun.communicate(timeout=120)
    expect_equal(begun.returncode, 0, errors)
    text = errors if isinstance(errors, str) else errors.decode()
    expect("watched: 1 of its arguments cannot be fetched" in text and "no losses" in text, text)
    # The program saw that somebody looks.
    expect_equal(int(out), COUNT)
    steps = fields("n.ptl", "sdt_ptl_test", "step")
    expect_equal([(step["arg1"], step["arg2"], step["arg3"]) for step in steps],
                 [values for i in range(COUNT) for values in ((i - 1, (i - 1) * 3000000000, 77), (i, -5 - i, 78))])
    expect_equal([one["arg2"] for one in fields("n.ptl", "sdt_ptl_test", "watched")], list(range(COUNT)))
    expect_equal(len(fields("n.ptl", "sdt_ptl_test", "done")), 1)
    expect_equal(left_by(begun.pid), [])
    expect_equal(subprocess.run([PROGRAM, "3"], capture_output=True, text=True, check=True).stdout, "0\n")


def arguments():
    """arguments of functions, what they return, texts in memory, and filters for them"""
    works()
    done = record("-o", "a.ptl", NONE, "-e", "uprobe:%s:step(number=$arg1:s32,text=+0($arg2):ustring) if number > 1" % PROGRAM, "-e",
                  "uretprobe:%s:main($retval:s32)" % PROGRAM, "--", PROGRAM, str(COUNT))
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal([(step["number"], step["text"]) for step in fields("a.ptl", "probe_probes", "step")],
                 [(i, "some words") for i in range(2, COUNT - 1)])
    expect_equal([one["arg1"] for one in fields("a.ptl", "probe_probes", "main__return")], [0])
    # A name may have brackets of its own, and colons.
    program = os.path.join(PROGRAMS, "overloads")
    done = record("-f", "-o", "a.ptl", NONE, "-e", "uprobe:%s:shapes::Scale::operator()(value=%%si:s32)" % program, "-e",
                  "uprobe:%s:shapes::(anonymous namespace)::area(%%di:s32)" % program, "--", program)
    expect_equal(done.returncode, 0, done.stderr)
    for name, field in ("shapes__Scale__operator__", "value"), ("shapes___anonymous_namespace___area", "arg1"):
        expect_equal([one[field] for one in fields("a.ptl", "probe_overloads", name)], list(range(5)), name)


def listed():
    """--list-probes: what readelf says of the notes"""
    if not shutil.which("readelf"):
        raise Skip("readelf is not installed")
    ours = [json.loads(line) for line in record("--list-probes", PROGRAM, "--json").stdout.splitlines()]
    told = run("readelf", "-n", PROGRAM, env={**os.environ, "LC_ALL": "C"}).stdout
    theirs = re.findall(r"Provider: (.*)\n *Name: (.*)\n *Location: (\w+), Base: \w+, Semaphore: (\w+)\n *Arguments: ?(.*)", told)
    expect_equal([(one["provider"], one["name"], int(one["address"], 16), int(one["semaphore"], 16), one["arguments"]) for one in ours],
                 [(provider, name, int(place, 16), int(semaphore, 16), words.rstrip())
                  for provider, name, place, semaphore, words in theirs])
    expect_equal(len(ours), 4)
    expect("ptl_test:watched" in record("--list-probes", PROGRAM).stdout)
    other = os.path.join(PROGRAMS, "recursion")
    expect("has no probes" in record("--list-probes", other).stderr)


def refused():
    """probes that are not there, and arguments that the kernel does not take"""
    works()
    for event, text in (("sdt:%s:bogus" % PROGRAM, "there is no probe bogus"), ("sdt:%s" % PROGRAM, "expected sdt:PATH:NAME"),
                        ("sdt:x", "expected sdt:PATH:NAME"), ("sdt:/nowhere:step", "No such file"),
                        ("sdt:%s:other:step" % PROGRAM, "there is no probe step"),
                        ("uprobe:%s:step(%%bogus)" % PROGRAM, "one of its arguments: arg1=%bogus"),
                        ("uprobe:%s:step(a b)" % PROGRAM, "expected an argument"), ("uprobe:%s:bogus(%%di)" % PROGRAM, "no function bogus"),
                        ("uprobe:%s:setp" % PROGRAM, "(did you mean 'step'?)")):
        done = record("-f", "-o", "r.ptl", NONE, "-e", event, "--", "true")
        expect(done.returncode in (2, 4), event, done.returncode, done.stderr)
        expect(text in done.stderr, event, done.stderr)


def killed():
    """what a recorder that was killed leaves in the kernel is removed by the next one with a probe, by check and by list"""
    works()
    plain = ("-f", "-o", "works.ptl", NONE, "-e", "uprobe:%s:main" % PROGRAM, "--", "true")
    for remover in (plain, ("check",), ("list",)):
        # Another recorder of this machine may remove it first: then that was not this one's to say.
        for _ in range(10):
            begun = start("-f", "-o", "k.ptl", NONE, "-e", "sdt:%s:done" % PROGRAM, "--", "sleep", "60")
            end = time.monotonic() + 120
            while not left_by(begun.pid):
                expect(time.monotonic() < end and begun.poll() is None, "the probe was not made")
                time.sleep(0.01)
            expect_equal(len(left_by(begun.pid)), 1)
            children = subprocess.run(["pgrep", "-P", str(begun.pid)], capture_output=True, text=True, check=False).stdout.split()
            begun.send_signal(signal.SIGKILL)
            for child in children:
                os.kill(int(child), signal.SIGKILL)
            begun.communicate(timeout=120)
            done = record(*remover)
            expect_equal(done.returncode, 0, done.stderr)
            expect_equal(left_by(begun.pid), [])
            if "of recorders that were killed" in done.stderr:
                break
        expect("of recorders that were killed" in done.stderr, done.stderr)


def used_again():
    """a process that has got the number of a recorder that was killed is no owner; one that lives is"""
    works()
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with open("/proc/%d/stat" % other.pid, encoding="ascii") as file:
                begun = int(file.read().rsplit(")", 1)[1].split()[19])
            for at in (begun, begun - 1):
                file = os.open(MADE, os.O_WRONLY | os.O_APPEND)
                os.write(file, b"p:ptl_%d_%d_0/other %s:0x10\n" % (other.pid, at, os.fsencode(PROGRAM)))
                os.close(file)
            record("check")
            expect_equal(left_by(other.pid), ["ptl_%d_%d_0/other" % (other.pid, begun)])
        finally:
            other.kill()
    record("check")
    expect_equal(left_by(other.pid), [])


sys.exit(main([notes, arguments, listed, refused, killed, used_again]))
