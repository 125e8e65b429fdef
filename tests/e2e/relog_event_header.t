#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Files of EventHeader events (.dat), as the interceptor of Microsoft's LinuxTracepoints writes them, as inputs.
import json
import struct

from scratch_test import DUMP, RELOG, check, plan, read, run, write

ZOE = "Zoë".encode()


def event(fields, values, name=b"SignIn", tracepoint=b"Contoso_Auth_L3K1a"):
    """A record: size, tracepoint, header, description, values."""
    description = name + b"\0" + fields
    body = struct.pack("<BBHHBB", 3 | 4, 1, 7, 0, 0, 3) + struct.pack("<HH", len(description), 1) + description + values
    record = tracepoint + b"\0" + body
    return struct.pack("<I", 4 + len(record)) + record


def events(name):
    return [json.loads(line) for line in run(DUMP, "events", "--json", name).stdout.splitlines()]


SIGN_IN = event(b"User\0\x0a" + b"Count\0\x04", struct.pack("<H", 4) + ZOE + struct.pack("<I", 7))
LONG = ("C" * 240 + "_L3K1a").encode()
write("three.dat", SIGN_IN + event(b"Id\0\x05", struct.pack("<Q", 2**40), b"Other", LONG) + SIGN_IN)
got = run(RELOG, "three.dat", "-o", "three.ptl")
found = events("three.ptl")
check("a file is read without a word", got.returncode == 0 and got.stderr == "" and len(found) == 3, got, found)
check("its events are typed", [one["event"] for one in found] == ["SignIn", "Other", "SignIn"] and
      found[0]["fields"] == found[2]["fields"] == {"User": "Zoë", "Count": 7} and found[1]["fields"] == {"Id": 2**40}, found)
check("provider, level and keyword are those of the tracepoint's name", [one["provider"] for one in found] ==
      ["Contoso_Auth", "C" * 240, "Contoso_Auth"] and (found[0]["level"], found[0]["keyword"]) == (3, "0x1a"), found)
history = json.loads(run(DUMP, "info", "--json", "three.ptl").stdout)["provenance"]
check("the history names the file", history[-1]["inputs"][0]["name"] == "three.dat" and
      history[-1]["inputs"][0]["size"] == len(read("three.dat")), history)
got = run(RELOG, "-", "-o", "pipe.ptl", text=False, input=read("three.dat"))
check("a pipe is as good", got.returncode == 0 and events("pipe.ptl") == found, got)
# What LinuxTracepoints itself decodes of the other byte order.
big = struct.pack(">BBHHBB", 1 | 4, 1, 7, 0, 0, 3) + struct.pack(">HH", len(b"Swapped\0Count\0\x04"), 1) + b"Swapped\0Count\0\x04"
record = b"Contoso_Auth_L3K1a\0" + big + struct.pack(">I", 0x01020304)
write("big.dat", struct.pack("<I", 4 + len(record)) + record)
run(RELOG, "big.dat", "-o", "big.ptl")
check("events of big-endian programs too", [one["fields"] for one in events("big.ptl")] == [{"Count": 0x01020304}],
      events("big.ptl"))

write("cut.dat", SIGN_IN + SIGN_IN[:-3])
got = run(RELOG, "cut.dat", "-o", "cut.ptl")
check("what a file ends within is reported", got.returncode == 3 and f"offset {len(SIGN_IN)}" in got.stderr and
      len(events("cut.ptl")) == 1, got)
other = b"sched_switch\0" + bytes(16)
write("other.dat", SIGN_IN + struct.pack("<I", 4 + len(other)) + other + SIGN_IN)
got = run(RELOG, "other.dat", "-o", "other.ptl")
check("other tracepoints are counted, and the rest is read", "not in the trace: 1" in got.stderr and
      len(events("other.ptl")) == 2 and "none of EventHeader's" in run(DUMP, "info", "other.ptl").stdout, got)
write("no.dat", b"\x20\0\0\0hello world\0" + bytes(40))
got = run(RELOG, "no.dat", "-o", "no.ptl")
check("a file of something else is refused", got.returncode == 3 and "no.dat" in got.stderr, got)

plan()
