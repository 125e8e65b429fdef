#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What ptl-relog does with traces of .etl files as with all others: merging with one of Linux, cutting, redaction, and
# naming images by rules.
import json
import os
import struct

import etl_file as etl
from etl_file import START_TICKS, ansi, event, sid, system, utf16
from scratch_test import DUMP as dump, RELOG as relog, check, plan, read, run, write

PROVIDER = "11223344-5566-7788-99aa-bbccddeeff00"
SECRETS = ("zoe", "BLUE-SHARK", "tax", "late.dll")
LOADED = etl.tracelogging("Loaded", ("Base", 21), ("Size", 8), ("File", 1))


def listing(command, name):
    done = run(dump, command, "--json", name + ".ptl")
    check(f"{name}: {command} are read", done.returncode == 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def plugins(name):
    return [(one["pid"], one["fields"]["File"]) for one in listing("events", name) if one["provider_guid"] == PROVIDER]


def images(name):
    return sorted((one["pid"], one["base"], one["path"]) for one in listing("images", name))


def made(name, *options):
    done = run(relog, "-f", "-q", "--check", "-o", name + ".ptl", *options)
    check(f"{name}: is made, and right", done.returncode == 0, done.stderr)


def process(opcode, ticks, pid, image, command):
    payload = struct.pack("<QIIIiQI", 0x1000 + pid, pid, 4, 1, 0, 0x5000, 0) + struct.pack("<QQ", 1, 0)
    payload += sid(5, 21, 1, 2, 1001) + ansi(image) + utf16(command) + utf16("") * 2
    return system(0x0300 + opcode, payload, 4, pid=pid, ticks=START_TICKS + ticks)


def image(ticks, pid, base, name):
    payload = struct.pack("<QQIIIIQ4I", base, 0x2000, pid, 0xABC, 0x5F000000, 0, base, 0, 0, 0, 0) + utf16(name)
    return system(0x030A, payload, 3, pid=pid, ticks=START_TICKS + ticks)


def loaded(ticks, pid, base, name):
    return event(PROVIDER, payload=struct.pack("<QI", base, 0x1000) + utf16(name), pid=pid, tid=pid + 1,
                 ticks=START_TICKS + ticks, items=[(12, etl.traits("Example.Plugins")), (11, LOADED)])


write("win.etl", bytes(etl.File().buffer([
    process(1, 10, 40, "blue.exe", "blue.exe C:\\Users\\zoe\\tax.xlsx"),
    process(1, 11, 44, "red.exe", "red.exe"),
    image(12, 40, 0x400000, "C:\\Users\\zoe\\blue.exe"),
    loaded(100, 40, 0x7000000, "C:\\Users\\zoe\\BLUE-SHARK.dll"),
    loaded(200, 44, 0x8000000, "D:\\red.plugin"),
    loaded(300, 40, 0x9000000, "C:\\Users\\zoe\\late.dll"),
    process(2, 400, 44, "red.exe", "red.exe"),
])))
BLUE, RED, LATE = (40, "C:\\Users\\zoe\\BLUE-SHARK.dll"), (44, "D:\\red.plugin"), (40, "C:\\Users\\zoe\\late.dll")
BLUE_EXE = (40, "0x400000", "C:\\Users\\zoe\\blue.exe")

made("cut", "win.etl", "--time", "15us..25us")
check("cut by time: the events of the span", plugins("cut") == [RED], plugins("cut"))
check("cut by time: images of before are there", images("cut") == [BLUE_EXE], images("cut"))
check("cut by time: processes of before are there", {40, 44} <= {one["pid"] for one in listing("processes", "cut")})
made("red", "win.etl", "--process", "red.exe")
check("cut by process: its events alone", plugins("red") == [RED], plugins("red"))
check("cut by process: no other's images", images("red") == [], images("red"))
made("blue", "win.etl", "--pid", "40")
check("cut by pid: its events alone", plugins("blue") == [BLUE, LATE], plugins("blue"))

write("name.rules", b"""provider "Example.Plugins" as plugins;
on plugins where Size > 0 { image load { base = Base; size = Size; path = File; } }
""")
made("named", "win.etl", "--rules", "name.rules")
check("rules: images of events", images("named") == sorted([
    BLUE_EXE, (40, "0x7000000", BLUE[1]), (44, "0x8000000", RED[1]), (40, "0x9000000", LATE[1])]), images("named"))

key = b"a key of sixteen bytes or more"
write("key", key)
made("redacted", "named.ptl", "--redact", "all", "--redact-key", "key", "--recompress", "0")
shown = "".join(run(dump, view, "--json", "redacted.ptl").stdout for view in ("events", "images", "processes", "info"))
stored = read("redacted.ptl")
for secret in SECRETS:
    check(f"redact: {secret} is not shown", secret not in shown, [line for line in shown.splitlines() if secret in line])
    check(f"redact: {secret} is not in the file",
          secret.encode() not in stored and secret.encode("utf-16-le") not in stored)
paths = dict((base, name) for _, base, name in images("redacted"))
check("redact: a path keeps its drive and its folders", all(name.startswith("C:\\Users\\") and name.count("\\") == 3
      for base, name in paths.items() if base != "0x8000000"), paths)
check("redact: equal folders have equal tokens", len({name.split("\\")[2] for base, name in paths.items() if base != "0x8000000"}) == 1,
      paths)
check("redact: events and images have the same tokens",
      {name for _, name in plugins("redacted")} == {name for base, name in paths.items() if base != "0x400000"}, paths)

folder = os.path.join(os.environ["PTL_TESTS"], "golden", "samples")
done = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample"), os.path.join(folder, "auth.sample"), "linux.ptl")
check("a trace of Linux is made", done.returncode == 0, done.stderr)
made("merged", "win.etl", "linux.ptl")
check("merged: the events of Windows are there", plugins("merged") == [BLUE, RED, LATE], plugins("merged"))
check("merged: the events of Linux are there",
      sum(one.get("provider") == "Contoso-Auth" for one in listing("events", "merged")) == 3)
check("merged: the processes of both", {"blue.exe", "red.exe", "signind"} <= {one["name"] for one in listing("processes", "merged")},
      listing("processes", "merged"))
check("merged: the images of Windows", images("merged") == [BLUE_EXE], images("merged"))
plan()
