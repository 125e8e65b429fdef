#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A cut by time keeps processes, threads and images of Linux that only their ends report, as the whole trace shows them.
import json
import os
import re
import struct

from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, run, write

TOOLS = os.environ["PTL_TEST_TOOLS"]
PROVIDER = "11112222-3333-4444-5555-666677778888"


def stack(*addresses):
    return "6:" + struct.pack(f"<Q{len(addresses)}Q", 0, *addresses).hex()


def event(pid, time, *addresses):
    return f"event provider={PROVIDER} id=1 pid={pid} tid={pid} time={time} extended={stack(*addresses)} payload="


def image(pid, opcode, base, time, name):
    return f"image pid={pid} opcode={opcode} base={base:#x} size=4096 default={base:#x} path={name} time={time}"


def make(name, *lines):
    in_order = sorted(lines, key=lambda line: int(re.search(r"time=(\d+)", line)[1]))
    write(name + ".sample", "\n".join(["machine source=none clock=1 boot=11111111-2222-3333-4444-555555555555 start=1000 end=90000", *in_order]) + "\n")
    done = run(os.path.join(TOOLS, "make_sample"), name + ".sample", name + ".ptl")
    check(f"{name}: is made", done.returncode == 0, done.stderr)


def shown(name, view):
    done = run(dump, view, "--json", name + ".ptl", *(["--stacks"] if view == "events" else []))
    return [json.loads(line) for line in done.stdout.splitlines()]


def stacks(name):
    return [[frame.get("image") for frame in one["stack"]] for one in shown(name, "events") if one.get("stack")]


def equal(what, found, expected):
    check(what, found == expected, "found", found, "expected", expected)


make("late",
     # 7 is known from its end, and so are its thread and its images.
     event(7, 2000, 0x401010, 0x501010), image(7, 2, 0x401000, 3000, "/lib/gone.so"), event(7, 4000, 0x401010, 0x501010),
     "thread pid=7 tid=8 opcode=2 time=5000 name=worker", image(7, 2, 0x501000, 6000, "/lib/last.so"),
     # An image that is loaded again at the place of one that was unloaded.
     image(7, 10, 0x401000, 3500, "/lib/new.so"), image(7, 2, 0x401000, 5500, "/lib/new.so"),
     # 9 was there when the trace began, with all of its images: what it unloads later came later.
     "process start pid=9 parent=7 time=1000 opcode=3 image=/bin/nine", event(9, 2500, 0x601010), image(9, 2, 0x601000, 6500, "/lib/unknown.so"),
     # 10 is forked: what it has is its parent's.
     "process start pid=10 parent=9 time=1500", event(10, 2600, 0x601010), image(10, 2, 0x601000, 6600, "/lib/unknown.so"),
     "process start pid=7 parent=3 opcode=2 time=8000 image=/bin/seven command=seven",
     # The pid is used again: this one has its own beginning.
     "process start pid=7 parent=3 time=9000 image=/bin/other", event(7, 9500, 0x401010))
whole = stacks("late")
equal("the whole: stacks", whole, [["/lib/gone.so", "/lib/last.so"], [None], [None], ["/lib/new.so", "/lib/last.so"], [None]])
for span, which in (("0.5us..1.2us", whole[:1]), ("0.5us..2.5us", whole[:3]), ("2.5us..3.5us", whole[3:4]), ("..3.5us", whole[:4]), ("8.2us..", whole[4:])):
    done = run(relog, "-f", "-q", "--check", "-o", "cut.ptl", "--time", span, "late.ptl")
    check(f"{span}: is cut", done.returncode == 0, done.stderr)
    equal(f"{span}: stacks are those of the whole", stacks("cut"), which)
    names = {one["pid"]: (one["name"], one["parent_pid"]) for one in shown("cut", "processes")}
    equal(f"{span}: process 7 and its parent", names.get(7), ("other", 3) if span == "8.2us.." else ("seven", 3))
done = run(relog, "-f", "-q", "-o", "cut.ptl", "--time", "0.5us..1.2us", "late.ptl")
equal("a thread's name", {one["fields"]["ThreadName"] for one in shown("cut", "events") if one.get("event", "").startswith("Thread/") and one["fields"].get("ThreadName")},
      {"worker"})
# Parts of a whole that has late reports are merged: nothing is there twice, and it is the whole.
for name, span in (("first", "..2us"), ("second", "2.000000001us..")):
    done = run(relog, "-f", "-q", "-o", name + ".ptl", "--time", span, "late.ptl")
done = run(relog, "-f", "-q", "--check", "-o", "merged.ptl", "first.ptl", "second.ptl")
check("parts are merged", done.returncode == 0, done.stderr)
equal("parts that are merged: stacks", stacks("merged"), whole)
equal("parts that are merged: images", sorted((one["pid"], one["path"], one["unloaded"]) for one in shown("merged", "images")),
      sorted((one["pid"], one["path"], one["unloaded"]) for one in shown("late", "images")))
# Nothing is late in a trace whose beginning has all.
make("whole", "process start pid=5 time=1000 image=/bin/five opcode=3", image(5, 3, 0x401000, 1000, "/bin/five"), "thread pid=5 tid=5 opcode=3 time=1000 name=main",
     event(5, 2000, 0x401010), image(5, 2, 0x401000, 3000, "/bin/five"), "thread pid=5 tid=5 opcode=2 time=3000", "process start pid=5 opcode=2 time=4000")
done = run(relog, "-f", "-q", "-o", "cut.ptl", "--time", "0.5us..1.5us", "whole.ptl")
equal("a trace that begins with all: its rundown, once", [one.get("event") for one in shown("cut", "events") if one.get("injected") and one["time"] < 1000],
      ["Process/DCStart", "Thread/DCStart", "Image/DCStart"])
plan()
