#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog reads .etl files: every structure that the descriptions of Windows have, written here with known answers.
import json
import os
import struct

import etl_file as etl
from etl_file import START_TICKS, ansi, event, full, guid, sid, system, utf16
from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, run, write

PROVIDER = "11223344-5566-7788-99aa-bbccddeeff00"
PROCESS, IMAGE = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
USER = sid(5, 21, 1, 2, 1001)


def convert(name, file, *options, status=0):
    write(name + ".etl", bytes(file))
    done = run(relog, "-f", "-o", name + ".ptl", *options, name + ".etl")
    check(f"{name}: is read with status {status}", done.returncode == status, done.stderr)
    return done


def events(name, *options):
    """All but the header of the log, and images of managed code. The item that says that nothing explains an event becomes the key raw."""
    done = run(dump, "events", "-v", "--json", name + ".ptl", *options)
    found = [one for one in map(json.loads, done.stdout.splitlines()) if one.get("event") != "EventTrace/Header" and
             (one.get("fields") or {}).get("FileName") != "[.NET code]"]
    for one in found:
        items = one.get("extended", [])
        one["raw"] = any(item["type"] == 0x5752 for item in items)
        one["extended"] = [item for item in items if item["type"] != 0x5752]
        if not one["extended"]:
            del one["extended"]
    return found


def fields(name):
    return [one.get("fields") for one in events(name)]


def equal(what, found, expected):
    check(what, found == expected, "found", found, "expected", expected)


# ---- headers of all kinds ----------------------------------------------------------------------------------------

activity, related = "00000001-0002-0003-0405-060708090a0b", "0000000a-0002-0003-0405-060708090a0b"
for wide in (True, False):
    name = "headers" + ("64" if wide else "32")
    pointer = "<Q" if wide else "<I"
    convert(name, etl.File(wide=wide).buffer([
        system(0x0534, b"", tid=1, pid=2, ticks=START_TICKS + 1, times=(3, 4), wide=wide),
        etl.compact(0x0535, b"", tid=3, pid=4, ticks=START_TICKS + 2, wide=wide),
        etl.perfinfo(0x0F33, struct.pack(pointer, 0x7F001122), ticks=START_TICKS + 3, wide=wide),
        full(PROVIDER, 9, b"abc", version=7, level=2, ticks=START_TICKS + 4, wide=wide),
        event(PROVIDER, 77, 3, 5, b"xyz", level=3, task=6, keyword=0x8000000000000001, channel=16, ticks=START_TICKS + 5,
              times=(1, 2), activity=activity, items=[(1, guid(related)), (2, USER), (99, b"kept")], wide=wide),
        etl.message(12, PROVIDER, b"raw", ticks=START_TICKS + 6),
        etl.instance(PROVIDER, 4, b"in", version=1, ticks=START_TICKS + 7, wide=wide),
        system(0x7F01, b"?", ticks=START_TICKS + 8, wide=wide),
    ], cpu=3))
    found = events(name)
    equal(f"{name}: times", [one["time"] for one in found], [i * 100 for i in range(1, 9)])
    equal(f"{name}: CPUs", {one["cpu"] for one in found}, {3})
    equal(f"{name}: threads", [(one["pid"], one.get("tid")) for one in found if one.get("pid") is not None][:2], [(2, 1), (4, 3)])
    equal(f"{name}: a pointer", found[2]["fields"], {"SysCallAddress": "0x7f001122"})
    equal(f"{name}: a classic event", [found[3][key] for key in ("provider_guid", "id", "opcode", "version", "level", "payload")],
          [PROVIDER, 0, 9, 7, 2, b"abc".hex()])
    one = found[4]
    equal(f"{name}: an event's descriptor", [one[key] for key in ("id", "version", "channel", "level", "opcode", "task", "keyword")],
          [77, 3, 16, 3, 5, 6, "0x8000000000000001"])
    equal(f"{name}: activities", (one["activity"], one["related"]), (activity, related))
    equal(f"{name}: extended items", [(item["type"], item["data"]) for item in one["extended"]],
          [(0x5454, struct.pack("<QQ", 15625000, 31250000).hex()), (2, USER.hex()), (99, b"kept".hex())])
    equal(f"{name}: a message", [found[5][key] for key in ("provider_guid", "id", "payload")], [PROVIDER, 12, b"raw".hex()])
    equal(f"{name}: an instance", (found[6]["opcode"], found[6]["payload"]), (4, b"in".hex()))
    equal(f"{name}: a group that is unknown", (found[7]["provider_guid"][:8], found[7]["id"], found[7]["payload"]),
          ("9e814aad", 0x7F01, b"?".hex()))

# ---- clocks ------------------------------------------------------------------------------------------------------------

for clock, name, ticks, start, expected in ((1, "qpc", 12345, START_TICKS, 12345 * 100),
                                            (2, "system", 10, etl.START, 10 * 100),
                                            (3, "cycles", 3000, 0, 1000)):
    convert("clock-" + name, etl.File(clock=clock, start=start).buffer([event(PROVIDER, 1, ticks=start + ticks)]))
    shown = json.loads(run(dump, "info", "--json", f"clock-{name}.ptl").stdout)
    equal(f"clock {name}: its name", shown["clock"]["name"], name)
    equal(f"clock {name}: the event's time", [one["time"] for one in events("clock-" + name)], [expected])
    equal(f"clock {name}: the start, to 100 ns", shown["clock"].get("wall_start"), (etl.START - etl.EPOCH) * 100)

# ---- buffers of Windows XP ---------------------------------------------------------------------------------------------------

# What lies elsewhere there: a count of references and a GUID; the CPU has 8 bits, and behind it anything.
old = etl.File(wide=False).buffer([event(PROVIDER, 1, ticks=START_TICKS + 1, wide=False)], cpu=2)
body = old.parts[1]
old.parts[1] = (body[:8] + struct.pack("<II", 0, 1) + struct.pack("<Q", START_TICKS) + guid(PROVIDER) +
                struct.pack("<BBH", 2, 0xAA, 1) + body[0x2C:0x34] + struct.pack("<HH", 0, 0) + guid(PROVIDER) + body[72:])
convert("xp", old)
equal("a buffer of Windows XP: its event and CPU", [(one["id"], one["cpu"]) for one in events("xp")], [(1, 2)])

# ---- compressions, and payloads of all sizes -------------------------------------------------------------------------------

payloads = [bytes((i * k >> 3) & 255 for i in range(k * 37 % 3000)) for k in range(60)] + [b"\0" * 60000, bytes(range(256)) * 40]
for compression, name in ((etl.NONE, "none"), (etl.LZNT1, "lznt1"), (etl.XPRESS, "xpress"), (etl.HUFFMAN, "huffman")):
    file = etl.File(buffer_size=1 << 20, compression=compression)
    for part in range(0, len(payloads), 20):
        file.buffer([event(PROVIDER, 1, payload=one, ticks=START_TICKS + part + i)
                     for i, one in enumerate(payloads[part:part + 20])])
    convert("compression-" + name, file)
    equal(f"compression {name}: payloads", [bytes.fromhex(one.get("payload", "")) for one in events("compression-" + name)], payloads)

# ---- TraceLogging ------------------------------------------------------------------------------------------------------------

kinds = [
    ("utf16", 1, 0, b"", utf16("äb"), "äb"), ("ansi", 2, 0, b"", ansi("text"), "text"),
    ("i8", 3, 0, b"", b"\xff", -1), ("u8", 4, 0, b"", b"\xff", 255), ("i16", 5, 0, b"", b"\xfe\xff", -2),
    ("u16", 6, 0, b"", b"\xfe\xff", 65534), ("i32", 7, 0, b"", b"\xfd" + b"\xff" * 3, -3),
    ("u32", 8, 0, b"", b"\1\0\0\0", 1), ("i64", 9, 0, b"", b"\xff" * 8, -1), ("u64", 10, 0, b"", b"\xff" * 8, 2**64 - 1),
    ("f32", 11, 0, b"", struct.pack("<f", 1.5), 1.5), ("f64", 12, 0, b"", struct.pack("<d", -2.25), -2.25),
    ("bool32", 13, 0, b"", b"\1\0\0\0", True), ("bool8", 4, 3, b"", b"\0", False),
    ("binary", 14, 0, b"", b"\3\0abc", b"abc".hex()), ("guid", 15, 0, b"", guid(PROVIDER), PROVIDER),
    ("filetime", 17, 0, b"", struct.pack("<Q", etl.EPOCH + 7), 700),
    ("systemtime", 18, 0, b"", struct.pack("<8H", 1970, 1, 5, 2, 0, 0, 1, 5), 86401005000000),
    ("sid", 19, 0, b"", USER, "S-1-5-21-1-2-1001"), ("hex32", 20, 0, b"", b"\xff\0\0\0", "0xff"),
    ("hex64", 21, 0, b"", b"\xff" + bytes(7), "0xff"), ("counted16", 22, 0, b"", b"\4\0" + utf16("hi")[:4], "hi"),
    ("counted8", 23, 0, b"", b"\2\0hi", "hi"), ("port", 6, 7, b"", b"\0\x50", 80), ("ipv4", 8, 8, b"", b"\x7f\0\0\1", "127.0.0.1"),
    ("socket4", 14, 10, b"", b"\x10\0" + b"\2\0\1\xbb\xc0\0\2\1" + bytes(8), "192.0.2.1:443"),
    ("socket6", 14, 10, b"", b"\x1c\0" + b"\x17\0\0\x50" + bytes(4) + b"\xfe\x80" + bytes(13) + b"\1" + b"\5\0\0\0", "[fe80::1%5]:80"),
    ("socket?", 14, 10, b"", b"\4\0" + b"\x11\0\1\2", "0x11000102"), ("no socket", 14, 10, b"", b"\0\0", ""),
    ("short socket", 14, 10, b"", b"\7\0" + b"\2\0\1\xbb\xc0\0\2", "0x020001bbc00002"),
    ("ipv6", 14, 9, b"", b"\x10\0" + bytes(15) + b"\1", "::1"),
    ("fixed", 8 | 0x20, 0, b"\2\0", struct.pack("<II", 5, 6), [5, 6]), ("counted", 6 | 0x40, 0, b"", struct.pack("<HHH", 2, 8, 9), [8, 9]),
    ("strings", 2 | 0x40, 0, b"", b"\2\0a\0bc\0", ["a", "bc"]),
]
described = [(title, kind, out, more) for title, kind, out, more, _, _ in kinds]
described += [("struct", 24 | 0x40, 2, b""), ("x", 8, 0, b""), ("inner", 24, 1, b""), ("y", 4, 0, b"")]
text = etl.tracelogging("All", *described)
payload = b"".join(one[4] for one in kinds) + b"\2\0" + b"\1\0\0\0\2" + b"\3\0\0\0\4"
expected = {one[0]: one[5] for one in kinds}
expected["struct"] = [{"x": 1, "inner": {"y": 2}}, {"x": 3, "inner": {"y": 4}}]
convert("tracelogging", etl.File().buffer([
    event(PROVIDER, payload=payload, items=[(12, etl.traits("My.Provider")), (11, text)]),
    event(PROVIDER, payload=b"\7", opcode=1, items=[(12, etl.traits("My.Provider")), (11, etl.tracelogging("Other", ("n", 4)))]),
    event(PROVIDER, payload=b"\7", items=[(11, b"\xff\xff\0broken")]),
    event(PROVIDER, payload=b"\5\0ab", items=[(11, etl.tracelogging("Short", ("counted", 23)))]),
]))
found = events("tracelogging")
equal("TraceLogging: names of event and provider", [found[0]["provider"], found[0]["event"], found[1]["event"]],
      ["My.Provider", "All", "Other"])
for key, value in expected.items():
    equal(f"TraceLogging: {key}", found[0]["fields"].get(key), value)
check("TraceLogging: ids of their own", found[0]["id"] >= 0x8000 and found[1]["id"] >= 0x8000 and found[0]["id"] != found[1]["id"])
equal("TraceLogging: what contradicts itself stays bytes", (found[2]["id"], found[2]["payload"]), (0, "07"))
equal("TraceLogging: what does not fit is kept as it was",
      [item["data"] for item in found[3]["extended"] if item["type"] == 0x5745], [b"\5\0ab".hex()])

# .NET's self-describing events have ids and versions of their own: the description alone tells what they are.
numbered = etl.tracelogging("Request", ("size", 8), ("path", 1))
other = etl.tracelogging("Reply", ("status", 6))
convert("numbered", etl.File().buffer([
    event(PROVIDER, 5, 2, 0, struct.pack("<I", 7) + utf16("/a"), items=[(11, numbered)], ticks=START_TICKS + 1),
    event(PROVIDER, 5, 2, 0, struct.pack("<H", 404), items=[(11, other)], ticks=START_TICKS + 2),
    event(PROVIDER, 0, 3, 0, struct.pack("<I", 8) + utf16("/b"), items=[(11, numbered)], ticks=START_TICKS + 3),
    event(PROVIDER, 5, 2, 0, b"raw", ticks=START_TICKS + 4),
]))
found = events("numbered")
equal("TraceLogging with ids: fields", [one.get("fields") for one in found[:3]],
      [{"size": 7, "path": "/a"}, {"status": 404}, {"size": 8, "path": "/b"}])
equal("TraceLogging with ids: the payload is not changed", [any(item["type"] == 0x5745 for item in one["extended"])
                                                            for one in found[:3]], [False] * 3)
equal("TraceLogging with ids: ids as recorded", [item["data"] for one in found[:3] for item in one["extended"] if item["type"] == 0x5749],
      ["050002", "050002", "000003"])
shown = run(dump, "events", "-v", "numbered.ptl").stdout
check("TraceLogging with ids: the recorded id is shown", "etw-id={id=5 version=2}" in shown, shown)
equal("TraceLogging with ids: an event without a description keeps its id", (found[3]["id"], found[3]["version"]), (5, 2))
equal("TraceLogging with ids: one id for one description", (found[0]["id"] == found[2]["id"], found[0]["id"] == found[1]["id"]),
      (True, False))

# Activities begin and end with one description and two opcodes.
convert("opcodes", etl.File(buffer_size=65536).buffer([
    event(PROVIDER, 0, 0, 1 + i % 2, struct.pack("<I", i) + utf16("/"), items=[(11, numbered)], ticks=START_TICKS + i)
    for i in range(200)]))
equal("TraceLogging with two opcodes: fields", [one["fields"]["size"] for one in events("opcodes")], list(range(200)))
shown = json.loads(run(dump, "info", "--json", "opcodes.ptl").stdout)
check("TraceLogging with two opcodes: the description is written for each opcode once",
      [one["bytes"] < 2000 for one in shown["streams"] if one["kind"] == "metadata"] == [True], shown["streams"])

# ---- merged traces: EventInfo, EventMapInfo ---------------------------------------------------------------------------------------

STRUCT, COUNT = 1, 4
texts = {"provider": "Merged-Provider", "task": "Copy", "opcode": "win:Start", "message": "copied %1 of %2%%"}
convert("merged", etl.File().buffer([
    event(PROVIDER, 5, 1, 1, struct.pack("<HB3sHII", 2, 1, b"abc", 0, 10, 20), ticks=START_TICKS + 1),
    event(PROVIDER, 5, 1, 1, struct.pack("<HB", 9, 9), ticks=START_TICKS + 2),
    etl.event_info(PROVIDER, 5, 1, 1, 5, [
        ("Count", 6, 0, 0, 1, 2, ""), ("Kind", 4, 0, 0, 1, 1, "Kinds"), ("Data", 14, 0, 0, 1, 3, ""), ("Pad", 6, 0, 0, 1, 2, ""),
        ("Items", 5, 1, STRUCT | COUNT, 0, 0, ""), ("Value", 8, 0, 0, 1, 4, ""),
    ], texts),
    etl.map_info(PROVIDER, "Kinds", [(1, "first"), (2, "second")]),
]))
found = [one for one in events("merged") if one["id"]]
equal("merged: names", [found[0][key] for key in ("provider", "event", "task_name", "opcode_name")],
      ["Merged-Provider", "Copy/Start", "Copy", "Start"])
equal("merged: fields, sizes from fields, structures, maps", found[0]["fields"],
      {"Count": 2, "Kind": {"value": 1, "name": "first"}, "Data": b"abc".hex(), "Pad": 0, "Items": [{"Value": 10}, {"Value": 20}]})
equal("merged: a message", found[0].get("message"), "copied 2 of first%")
equal("merged: a payload that ends early has its first fields", found[1]["fields"].get("Count"), 9)

# ---- manifests: in the stream, in pieces, and from the user ------------------------------------------------------------------------

MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="Example-Source" guid="{{{PROVIDER}}}" symbol="X"><!-- <event value="9"/> -->
<tasks><task name="Work" value="3"><opcodes><opcode name="Half" value="20"/></opcodes></task></tasks>
<keywords><keyword name="Fast" mask="0x4"/></keywords>
<maps><bitMap name="Flags"><map value="1" message="$(string.one)"/><map value="2" message="two"/></bitMap></maps>
<events><event value="1" version="2" level="win:Error" symbol="Begun" task="Work" opcode="Half" keywords="Fast" template="T"
 message="$(string.text)"/><event value="2" symbol="Plain"/></events>
<templates><template tid="T"><data name="name" inType="win:UnicodeString"/><data name="count" inType="win:UInt32"/>
<struct name="list" count="count"><data name="at" inType="win:Pointer"/></struct><data name="flags" inType="win:UInt32" map="Flags"/>
</template></templates></provider></events></instrumentation>
<localization><resources><stringTable><string id="one" value="one &amp; only"/><string id="text" value="%1: %2 &lt;-"/>
</stringTable></resources></localization></instrumentationManifest>"""
worked = utf16("n") + struct.pack("<IQQI", 2, 0x10, 0x20, 3)
work = event(PROVIDER, 1, 2, 20, worked, level=2, keyword=4, ticks=START_TICKS + 1)
expected = {"name": "n", "count": 2, "list": [{"at": "0x10"}, {"at": "0x20"}], "flags": {"value": 3, "name": "one & only|two"}}
pieces = etl.manifest_pieces(PROVIDER, MANIFEST, size=500)
convert("eventsource", etl.File().buffer([work, event(PROVIDER, 2, ticks=START_TICKS + 2)] + pieces))
write("example.man", b"\xff\xfe" + MANIFEST.encode("utf-16-le"))
convert("manifest", etl.File().buffer([work, event(PROVIDER, 2, ticks=START_TICKS + 2)]), "--manifest", "example.man")
for name in ("eventsource", "manifest"):
    found = [one for one in events(name) if one["id"] < 65000]
    equal(f"{name}: fields", found[0].get("fields"), expected)
    equal(f"{name}: names", [found[0].get(key) for key in ("provider", "event", "keywords", "message")],
          ["Example-Source", "Work/Half", ["Fast"], "n: 2 <-"])
    equal(f"{name}: an event without a task", found[1].get("event"), "Plain")
for name, order in (("reversed", pieces[::-1]), ("twice", pieces[1:] + pieces[:1] + pieces), ("late", pieces[2:] + [work] + pieces)):
    convert("pieces-" + name, etl.File(buffer_size=65536).buffer([work] + order))
    equal(f"pieces of a manifest, {name}: are put together", [one.get("fields") for one in events("pieces-" + name) if one["id"] == 1][0],
          expected)
done = convert("missing-piece", etl.File().buffer([work] + pieces[:1] + pieces[2:]))
check("missing-piece: is reported", "1 manifest in the file lacks pieces and explains nothing" in done.stderr, done.stderr)
equal("missing-piece: stays bytes", [one.get("payload") for one in events("missing-piece") if one["id"] == 1], [worked.hex()])
done = run(relog, "-f", "-o", "x.ptl", "--manifest", "none.man", "manifest.etl")
check("a manifest that is not there is named", done.returncode != 0 and "none.man" in done.stderr, done.stderr)
done = run(relog, "-f", "-o", "x.ptl", "--manifest", "example.man", "manifest.ptl")
check("a manifest explains nothing of a trace", done.returncode == 2 and "no input is one" in done.stderr and not os.path.exists("x.ptl"),
      done.stderr)

# A field whose size nothing tells makes all behind it bytes: neither false values nor lost bytes.
SIZES = f'''<instrumentationManifest><instrumentation><events><provider name="Sizes" guid="{{{PROVIDER}}}"><events>
<event value="1" template="A"/><event value="2" template="B"/><event value="3" template="C"/><event value="4" template="D"/>
<event value="5" template="E"/><event value="6" template="F"/></events><templates>
<template tid="A"><data name="a" inType="win:UInt16"/><data name="b" inType="win:Binary"/><data name="c" inType="win:UInt32"/></template>
<template tid="B"><data name="a" inType="win:UInt16"/><data name="b" inType="win:Binary"/></template>
<template tid="C"><data name="a" inType="win:UInt16"/><struct name="s" count="a"><data name="x" inType="win:UInt8"/>
<data name="b" inType="win:Binary" outType="win:SocketAddress"/></struct><data name="c" inType="win:UInt32"/></template>
<template tid="D"><data name="a" inType="win:UInt16"/><data name="b" inType="win:Binary" length="none"/><data name="c" inType="win:UInt32"/>
</template>
<template tid="E"><data name="a" inType="win:UInt16"/><data name="b" inType="win:UnicodeString" length="c"/>
<data name="c" inType="win:UInt32"/></template>
<template tid="F"><data name="a" inType="win:UInt16"/><data name="b" inType="win:Binary" outType="win:IPv6"/>
<data name="c" inType="win:UInt32"/></template></templates></provider></events></instrumentation></instrumentationManifest>'''
write("sizes.man", SIZES.encode())
body = struct.pack("<H", 2) + b"sixteen bytes ..." + struct.pack("<I", 7)
done = convert("sizes", etl.File().buffer([event(PROVIDER, i, payload=body, ticks=START_TICKS + i) for i in range(1, 6)] + [
    event(PROVIDER, 6, payload=struct.pack("<H", 2) + bytes(15) + b"\1" + struct.pack("<I", 7), ticks=START_TICKS + 6)]),
    "--manifest", "sizes.man")
rest = body[2:].hex()
equal("fields of unknown size: bytes from there on", fields("sizes"),
      [{"a": 2, "b...": rest}, {"a": 2, "b": rest}, {"a": 2, "s...": rest}, {"a": 2, "b...": rest}, {"a": 2, "b...": rest},
       {"a": 2, "b": "::1", "c": 7}])
check("fields of unknown size: are counted", "description of 4 events has a field of unknown size" in done.stderr, done.stderr)
convert("info-sizes", etl.File().buffer([
    event(PROVIDER, 5, payload=body, ticks=START_TICKS + 1),
    event(PROVIDER, 6, payload=body, ticks=START_TICKS + 2),
    etl.event_info(PROVIDER, 5, 0, 0, 3, [("a", 6, 0, 0, 1, 2, ""), ("b", 14, 0, 0, 1, 0, ""), ("c", 8, 0, 0, 1, 4, "")], {}),
    etl.event_info(PROVIDER, 6, 0, 0, 3, [("a", 6, 0, 0, 1, 2, ""), ("b", 14, 0, 2, 1, 2, ""), ("c", 8, 0, 0, 1, 4, "")], {})]))
equal("fields of unknown size, of a merged trace", [one.get("fields") for one in events("info-sizes") if one["id"]],
      [{"a": 2, "b...": rest}] * 2)

# ---- the runtime of .NET, which nothing in the file explains ----------------------------------------------------------

CLR, CLR_PRIVATE = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "763fd754-7086-4dfe-95eb-c01a46faf4ca"
names = utf16("System") + utf16("Run") + utf16("void ()")
for wide in (True, False):
    name, pointer = "clr" + ("64" if wide else "32"), "Q" if wide else "I"
    types = struct.pack("<QQIIB", 0x10, 0x20, 3, 4, 5) + utf16("List") + struct.pack("<IQ", 1, 0x30)
    convert(name, etl.File(wide=wide).buffer([
        event(CLR, 1, 2, 1, struct.pack("<IIIIHQ", 7, 2, 1, 0, 8, 9), wide=wide, ticks=START_TICKS + 1),
        event(CLR, 143, 1, 37, struct.pack("<QQQIII", 1, 2, 0x7000, 16, 5, 1) + names + b"\x08\0", wide=wide, ticks=START_TICKS + 2),
        event(CLR, 15, 0, 10, struct.pack("<IH", 2, 8) + types * 2, wide=wide, ticks=START_TICKS + 3),
        event(CLR, 190, 0, 87, struct.pack("<QQBHIIIIH", 1, 0, 0, 2, 0, 5, 10, 20, 8), wide=wide, ticks=START_TICKS + 4),
        event(CLR, 39, 0, 41, utf16("Mine") + struct.pack("<I3sH", 3, b"abc", 8), wide=wide, ticks=START_TICKS + 5),
        event(CLR, 82, 0, 82, struct.pack("<HBBI3" + pointer, 8, 0, 0, 3, 1, 2, 3), wide=wide, ticks=START_TICKS + 6),
        event(CLR_PRIVATE, 192, 0, 39, struct.pack("<2" + pointer + "H", 1, 2, 8) + utf16("T"), wide=wide, ticks=START_TICKS + 7),
        event(CLR, 999, 0, 0, b"?", wide=wide, ticks=START_TICKS + 8),
    ]))
    found = events(name)
    equal(f"{name}: names", [one.get("event") for one in found],
          ["GC/Start", "Method/LoadVerbose", "Type/BulkType", "Method/ILToNativeMap", "GC/DynamicEvent", "ClrStack/Walk",
           "GC/FinalizeObject", None])
    equal(f"{name}: providers", [found[0]["provider"], found[6]["provider"]],
          ["Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimePrivate"])
    one = {"TypeID": "0x10", "ModuleID": "0x20", "TypeNameID": 3, "Flags": {"value": 4, "name": "ExternallyImplementedCOMObject"}, "CorElementType": 5, "Name": "List",
           "TypeParameterCount": 1, "TypeParameters": ["0x30"]}
    equal(f"{name}: fields", [one.get("fields") for one in found[:7]], [
        {"Count": 7, "Depth": 2, "Reason": {"value": 1, "name": "Induced"}, "Type": {"value": 0, "name": "NonConcurrentGC"}, "ClrInstanceID": 8, "ClientSequenceNumber": 9},
        {"MethodID": "0x1", "ModuleID": "0x2", "MethodStartAddress": "0x7000", "MethodSize": 16, "MethodToken": "0x5",
         "MethodFlags": {"value": 1, "name": "Dynamic"}, "MethodNamespace": "System", "MethodName": "Run", "MethodSignature": "void ()",
         "ClrInstanceID": 8},
        {"Count": 2, "ClrInstanceID": 8, "Values": [one, one]},
        {"MethodID": "0x1", "ReJITID": "0x0", "MethodExtent": 0, "CountOfMapEntries": 2, "ILOffsets": [0, 5],
         "NativeOffsets": [10, 20], "ClrInstanceID": 8},
        {"Name": "Mine", "DataSize": 3, "Data": b"abc".hex(), "ClrInstanceID": 8},
        {"ClrInstanceID": 8, "Reserved1": 0, "Reserved2": 0, "FrameCount": 3, "Stack": ["0x1", "0x2", "0x3"]},
        {"TypeID": "0x1", "ObjectID": "0x2", "ClrInstanceID": 8, "TypeName": "T"}])
    equal(f"{name}: what the table lacks stays bytes", found[7]["payload"], b"?".hex())
done = run(relog, "-f", "-o", "x.ptl", "clr64.etl")
check("one event that nothing explains is said in the singular", "nothing explains 1 event, kept" in done.stderr, done.stderr)
check("a trace without Intel PT says nothing of it", "Intel PT" not in run(dump, "info", "clr64.ptl").stdout)

# ---- processes, threads, images, of all versions ----------------------------------------------------------------------------------


def process_payload(version, wide, pid, parent, image, command, status=0):
    pointer = "Q" if wide else "I"
    user = struct.pack("<2" + pointer, 1, 0) + USER
    numbers = struct.pack("<IIIi", pid, parent, 1, status)
    if version == 0:
        return struct.pack("<2" + pointer, pid, parent) + user + ansi(image)
    key = struct.pack("<" + pointer, 0x1000 + pid)
    if version == 1:
        return key + numbers + user + ansi(image)
    more = struct.pack("<" + pointer, 0x5000) if version >= 3 else b""
    more += struct.pack("<I", 0) if version >= 4 else b""
    tail = utf16("") * 2 if version >= 4 else b""
    return key + numbers + more + user + ansi(image) + utf16(command) + tail


def image_payload(version, wide, pid, base, size, name):
    pointer = "Q" if wide else "I"
    if version == 0:
        return struct.pack(f"<{pointer}I", base, size) + utf16(name)
    head = struct.pack(f"<2{pointer}I", base, size, pid)
    if version >= 2:
        head += struct.pack(f"<III{pointer}4I", 0xABC, 0x5F000000, 0, base, 0, 0, 0, 0)
    return head + utf16(name)


def rsds(pid, base, wide):
    return struct.pack("<QI" if wide else "<II", base, pid) + guid("00112233-4455-6677-8899-aabbccddeeff") + struct.pack(
        "<I", 3) + ansi("program.pdb")


VOLUME = full("9b79ee91-b5fd-41c0-a243-4248e266e9d0", 35, utf16("\\Device\\HarddiskVolume2\\") + utf16("C:\\"), ticks=0)
for version in range(5):
    for wide in (True, False):
        name = f"process-v{version}-{'64' if wide else '32'}"
        image_version = min(version, 3)
        at = START_TICKS
        convert(name, etl.File(wide=wide).buffer([
            system(0x0303, process_payload(version, wide, 4, 0, "System", ""), version, pid=4, ticks=at, wide=wide),
            system(0x0301, process_payload(version, wide, 40, 4, "program.exe", "program.exe -x"), version, pid=4, ticks=at + 10, wide=wide),
            system(0x030A, image_payload(image_version, wide, 40, 0x400000, 0x2000, "\\Device\\HarddiskVolume2\\program.exe"), image_version,
                   pid=40, ticks=at + 20, wide=wide),
            full("b3e675d7-2554-4f18-830b-2762732560de", 36, rsds(40, 0x400000, wide), version=2, pid=40, ticks=at + 20, wide=wide),
            system(0x0302, process_payload(version, wide, 40, 4, "program.exe", "program.exe -x", 7), version, pid=40, ticks=at + 30, wide=wide),
            VOLUME,
        ]))
        done = run(dump, "processes", "--json", name + ".ptl")
        shown = [json.loads(line) for line in done.stdout.splitlines()]
        one = next((entry for entry in shown if entry.get("pid") == 40), {})
        equal(f"{name}: process", (one.get("parent_pid", one.get("parent")), one.get("start"), one.get("end")),
              (4, 1000, 3000))
        if version >= 2:
            check(f"{name}: command line", "program.exe -x" in json.dumps(one), one)
        images = [json.loads(line) for line in run(dump, "images", "--json", name + ".ptl").stdout.splitlines()]
        one = next((entry for entry in images if entry.get("pid") == 40), {})
        equal(f"{name}: image", (one.get("base"), one.get("size"), one.get("path")), ("0x400000", 0x2000, "C:\\program.exe"))
        if image_version >= 2:
            equal(f"{name}: build id", one.get("build_id"), "00112233445566778899aabbccddeeff00000003")
        check(f"{name}: all is understood", "not understood" not in done.stderr, done.stderr)

# ---- processes and threads that no event reports -----------------------------------------------------------------------------------------

convert("owners", etl.File().buffer([
    event(PROVIDER, 1, pid=40, tid=41, ticks=START_TICKS + 1), event(PROVIDER, 2, pid=50, tid=51, ticks=START_TICKS + 2),
    etl.perfinfo(0x0524, struct.pack("<IIbbBbbbbbII", 61, 62, *[0] * 8, 0, 0), ticks=START_TICKS + 3)]))
for options, expected in ((("--pid", "40"), [1]), (("--tid", "51"), [2]), (("--pid", "50", "--tid", "51"), [2]), (("--tid", "62"), [])):
    done = run(dump, "events", "--json", *options, "owners.ptl")
    equal("owners of events: " + " ".join(options), (done.returncode, [one["id"] for one in map(json.loads, done.stdout.splitlines())]),
          (0, expected))
for options in ("--pid", "99"), ("--tid", "99"), ("--pid", "40", "--tid", "51"):
    done = run(dump, "events", *options, "owners.ptl")
    check("owners of events: nobody is " + " ".join(options), done.returncode == 2 and "there is no" in done.stderr, done.stderr)

# ---- stacks ------------------------------------------------------------------------------------------------------------------------------

convert("stacks", etl.File().buffer([
    event(PROVIDER, 1, tid=8, ticks=START_TICKS + 1),
    event(PROVIDER, 2, tid=9, ticks=START_TICKS + 1),
    etl.perfinfo(0x1820, struct.pack("<QIIQQ", START_TICKS + 1, 4, 9, 0x111, 0x222), ticks=START_TICKS + 2),
    etl.perfinfo(0x1825, struct.pack("<QIIQ", START_TICKS + 1, 4, 8, 0xAAA), ticks=START_TICKS + 3),
    etl.perfinfo(0x1824, struct.pack("<QQQ", 0xAAA, 0x333, 0x444), ticks=START_TICKS + 4),
    etl.perfinfo(0x1820, struct.pack("<QIIQ", START_TICKS + 99, 4, 9, 0x111), ticks=START_TICKS + 100),
]))
found = events("stacks")
equal("stacks: each with its event", [[item["data"] for item in one.get("extended", []) if item["type"] == 6] for one in found[:2]],
      [[struct.pack("<QQQ", START_TICKS + 1, 0x333, 0x444).hex()], [struct.pack("<QQQ", START_TICKS + 1, 0x111, 0x222).hex()]])
equal("stacks: events of their own stay", len(found), 6)
equal("stacks: addresses stand in one place", [one["fields"]["Stack"] for one in found if one.get("event") == "StackWalk/Stack"],
      [[], ["0x111"]])
equal("stacks: their events are their threads'", [(one["pid"], one["tid"]) for one in found[2:4] + found[5:]], [(4, 9), (4, 8), (4, 9)])

# Buffers come when they are full: a stack may lie before its event, and its two parts in buffers of two CPUs.
KERNEL_FRAME = 0xFFFFF80000001000
HOOK_SAMPLE, HOOK_DPC, HOOK_SWITCH = 0x0F2E, 0x0F44, 0x0524
RUNTIME = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"


def stack_items(one):
    return [item["data"] for item in one.get("extended", []) if item["type"] == 6]


def frames(match, *addresses):
    return struct.pack(f"<{1 + len(addresses)}Q", match, *addresses).hex()


convert("stacks-before", etl.File().buffer([
    etl.perfinfo(0x1820, struct.pack("<QIIQ", START_TICKS + 1, 4, 9, 0x111), ticks=START_TICKS + 5),
], cpu=1).buffer([
    etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 1),
    etl.perfinfo(0x1820, struct.pack("<QIIQ", START_TICKS + 1, 4, 9, KERNEL_FRAME), ticks=START_TICKS + 2),
], cpu=0).buffer([etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 1)], cpu=2))
found = events("stacks-before")
equal("stacks before their events: both parts, and nobody else's", [stack_items(one) for one in found],
      [[frames(START_TICKS + 1, KERNEL_FRAME), frames(START_TICKS + 1, 0x111)], [], [], []])
convert("stacks-runtime", etl.File().buffer([
    event(RUNTIME, 10, tid=8, ticks=START_TICKS + 1),
    event(RUNTIME, 10, tid=12, ticks=START_TICKS + 2),
    event(RUNTIME, 82, tid=12, ticks=START_TICKS + 3, payload=struct.pack("<HBBIQ", 1, 0, 0, 1, 0x222)),
    event(RUNTIME, 82, tid=8, ticks=START_TICKS + 4, payload=struct.pack("<HBBIQ", 1, 0, 0, 1, 0x111)),
    event(RUNTIME, 82, tid=8, ticks=START_TICKS + 5, payload=struct.pack("<HBBIQ", 1, 0, 0, 1, 0x333)),
]))
equal("stacks of the runtime: with the thread's last event", [stack_items(one) for one in events("stacks-runtime")],
      [[frames(START_TICKS + 1, 0x111)], [frames(START_TICKS + 2, 0x222)], [], [], []])
for number, wide in ((18, True), (17, False)):
    pointer = "<QQQ" if wide else "<III"
    convert(f"stacks-keys-{number}", etl.File(wide=wide).buffer([
        event(PROVIDER, 1, ticks=START_TICKS + 1, items=[(number, struct.pack("<QQQ" if wide else "<QII", 77, 0xAAA, 0))], wide=wide),
        etl.perfinfo(0x1824, struct.pack(pointer, 0xAAA, 0x333, 0x444), ticks=START_TICKS + 4, wide=wide)], cpu=0))
    equal(f"keys of stacks in events, type {number}: what they stand for", stack_items(events(f"stacks-keys-{number}")[0]),
          [frames(77, 0x333, 0x444)])

# ---- names of threads: Windows 11 writes them in version 3 ------------------------------------------------------------------------

named_thread = struct.pack("<IIQQQQQQQIBBBB", 40, 9, *[0] * 7, 0, 0, 0, 0, 0)
convert("thread-names", etl.File().buffer([
    system(0x0503, named_thread + utf16("worker"), version=3, ticks=START_TICKS + 1),
    system(0x0501, named_thread[:4] + struct.pack("<I", 10) + named_thread[8:], version=3, ticks=START_TICKS + 2)]))
equal("names of threads", [(one["fields"]["TThreadId"], one["fields"]["ThreadName"]) for one in events("thread-names")],
      [(9, "worker"), (10, "")])
check("names of threads: no payload is left over", not any(one["raw"] or "extended" in one for one in events("thread-names")))

# ---- threads of events that have none in their headers --------------------------------------------------------------------


def switch(new, old, **more):
    return etl.perfinfo(HOOK_SWITCH, struct.pack("<IIbbBbbbbbII", new, old, *[0] * 8, 0, 0), **more)


THREAD_START = struct.pack("<IIQQQQQQQIBBBB", 40, 9, *[0] * 7, 0, 0, 0, 0, 0)
convert("threads", etl.File().buffer([
    etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 1),
    switch(9, 0, ticks=START_TICKS + 2),
    etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 3),
    etl.perfinfo(HOOK_SAMPLE, struct.pack("<QII", 0x1234, 9, 1), ticks=START_TICKS + 4),
    etl.perfinfo(HOOK_SAMPLE, struct.pack("<QII", 0x1234, 10, 1), ticks=START_TICKS + 5),
    switch(0, 9, ticks=START_TICKS + 6),
    etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 7),
], cpu=1).buffer([
    etl.perfinfo(HOOK_DPC, struct.pack("<QQ", 0, 0), ticks=START_TICKS + 8),
    system(0x0504, THREAD_START, version=3, ticks=START_TICKS + 9),
], cpu=2))
equal("threads: as switches and payloads tell, by CPU", [(one.get("pid"), one.get("tid")) for one in events("threads")],
      [(None, None), (40, 9), (40, 9), (40, 9), (None, 10), (0, 0), (0, 0), (None, None), (4, 8)])
lost = etl.File().buffer([switch(9, 0, ticks=START_TICKS + 1)], cpu=0)
lost.parts.append(lost.header(72 + 32, 0, 0, flags=2, size=8192) + etl.perfinfo(HOOK_DPC, bytes(16), ticks=START_TICKS + 2) +
                  b"\xff" * (8192 - 72 - 32))
convert("threads-lost", lost)
equal("threads: unknown behind what is lost", [one.get("tid") for one in events("threads-lost")], [9, None])

# ---- extended items: what ETW defines, by name -------------------------------------------------------------------------------

GROUP, DECODE = "aaaaaaaa-0001-0002-0304-050607080910", "bbbbbbbb-0001-0002-0304-050607080910"


def trait(kind, data):
    return struct.pack("<HB", 3 + len(data), kind) + data


many_traits = ansi("My.Provider") + trait(1, guid(GROUP)) + trait(2, guid(DECODE)) + trait(77, b"??")
ITEMS = [
    (2, USER, "sid=S-1-5-21-1-2-1001", {"name": "sid", "value": "S-1-5-21-1-2-1001"}),
    (3, struct.pack("<I", 5), "session=5", {"name": "session", "value": 5}),
    (4, struct.pack("<II", 7, 6) + guid(GROUP), f"instance={{id=7 parent=6 parent-class={GROUP}}}",
     {"name": "instance", "id": 7, "parent": 6, "parent_class": GROUP}),
    (5, struct.pack("<QII", 1, 0x400, 0x500), "stack={match=0x1 addresses=0x400,0x500}",
     {"name": "stack", "match": "0x1", "addresses": ["0x400", "0x500"]}),
    (6, struct.pack("<QQ", 0, 0x7FF600001000), "stack={match=0x0 addresses=0x7ff600001000}",
     {"name": "stack", "match": "0x0", "addresses": ["0x7ff600001000"]}),
    (7, struct.pack("<Q", 9), "pebs-index=9", {"name": "pebs_index", "value": 9}),
    (8, struct.pack("<QQ", 9, 8), "counters=9,8", {"name": "counters", "value": [9, 8]}),
    (9, b"\1\2", "psm-key=0102", {"name": "psm_key", "value": "0102"}),
    (10, struct.pack("<Q", 0x99), "event-key=0x99", {"name": "event_key", "value": "0x99"}),
    (12, struct.pack("<H", 2 + len(many_traits)) + many_traits, f"traits=My.Provider group={{{GROUP}}} decode={{{DECODE}}}",
     {"name": "traits", "value": "My.Provider", "group": GROUP, "decode": DECODE}),
    (13, struct.pack("<Q", 0x1234), "process-start-key=0x1234", {"name": "process_start_key", "value": "0x1234"}),
    (14, guid(GROUP), "control-guid=" + GROUP, {"name": "control_guid", "value": GROUP}),
    (15, struct.pack("<Q", 42), "qpc-delta=42", {"name": "qpc_delta", "value": 42}),
    (16, GROUP.encode(), "container-id=" + GROUP, {"name": "container_id", "value": GROUP}),
    (16, guid(GROUP), "container-id=" + GROUP, {"name": "container_id", "value": GROUP}),
    (17, struct.pack("<QII", 1, 0xAA, 0), "stack-key={match=0x1 key=0xaa}", {"name": "stack_key", "match": "0x1", "key": "0xaa"}),
    (18, struct.pack("<QQQ", 1, 0xAA, 0), "stack-key={match=0x1 key=0xaa}", {"name": "stack_key", "match": "0x1", "key": "0xaa"}),
    (99, b"kept", "extended:99=6b657074", {}),
    # Of another form than the type has.
    (2, b"\1\2\0", "extended:2=010200", {}), (13, b"abc", "extended:13=616263", {}), (4, b"", "extended:4=", {}),
    (2, b"\1\x0f" + bytes(10), "extended:2=010f" + "00" * 10, {}), (12, b"\3\0ab", "extended:12=03006162", {}),
    (12, struct.pack("<H", 8) + ansi("ab") + b"\1\0\1", "extended:12=0800616200010001", {}),
]
convert("items", etl.File().buffer([event(PROVIDER, i + 1, ticks=START_TICKS + i, items=[(kind, data)])
                                    for i, (kind, data, _, _) in enumerate(ITEMS)] +
                                   [event(PROVIDER, payload=b"\7", ticks=START_TICKS + 99, items=[(11, etl.tracelogging("Named", ("n", 4)))])]))
lines = run(dump, "events", "-v", "items.ptl").stdout.splitlines()
for one, (kind, data, text, members) in zip(events("items"), ITEMS):
    found = one["extended"][0]
    equal(f"item {kind} of {len(data)} bytes: in JSON", found, {"type": kind, "data": data.hex(), **members})
    check(f"item {kind} of {len(data)} bytes: as text", any(f" {text}]" in line for line in lines), text)
equal("items: a schema has its event's name", events("items")[-1]["extended"][0]["value"], "Named")

# ---- names of files ----------------------------------------------------------------------------------------------------------------------------

KEY, OBJECT = 0xFFFF8001000, 0xFFFF9001000


def named(opcode, address, name, ticks):
    return system(0x0400 | opcode, struct.pack("<Q", address) + utf16(name), ticks=START_TICKS + ticks)


def opened(address, name, ticks, version=3):
    head = struct.pack("<QQI", 1, address, 9) if version == 3 else struct.pack("<QQQ", 1, 9, address)
    return system(0x0440, head + struct.pack("<III", 0, 0, 0) + utf16(name), version=version, ticks=START_TICKS + ticks)


def used(opcode, address, key, ticks, version=3):
    if opcode in (67, 68):
        body = struct.pack("<QQQQIII", 0, 1, address, key, 9, 512, 0) if version == 3 else struct.pack("<QQQQQII", 0, 1, 9, address, key, 512, 0)
    elif opcode in (72, 77):
        body = struct.pack("<QQQIIII", 1, address, key, 9, 0, 0, 0) + utf16("*.txt")
    elif opcode == 69:
        body = struct.pack("<QQQQII", 1, address, key, 0, 9, 0)
    else:
        body = struct.pack("<QQQI", 1, address, key, 9) if version == 3 else struct.pack("<QQQQ", 1, 9, address, key)
    return system(0x0400 | opcode, body, version=version, ticks=START_TICKS + ticks)


def disk(address, ticks):
    return system(0x010A, struct.pack("<IIIIQQQQ", 0, 0, 512, 0, 0, address, 1, 0) + struct.pack("<I", 9), version=3, ticks=START_TICKS + ticks)


def hard_fault(address, ticks):
    return system(0x0220, struct.pack("<QQQQII", START_TICKS, 0, 0x1000, address, 9, 4096), ticks=START_TICKS + ticks)


def file_names(name):
    return [one["fields"].get("FileName", one["fields"].get("DirectoryName")) if one["event"].split("/")[1] not in ("DirEnum", "DirNotify")
            else (one["fields"]["FileName"], one["fields"]["DirectoryName"]) for one in events(name) if one["event"].split("/")[0] in
            ("FileIO", "DiskIO", "Memory") and one["event"].split("/")[1] not in ("Name", "FileCreate", "FileDelete", "FileRundown", "Create")]


VOLUME = full("9b79ee91-b5fd-41c0-a243-4248e266e9d0", 35, utf16("\\Device\\HarddiskVolume2") + utf16("C:"))
DEVICE = "\\Device\\HarddiskVolume2"
FILE_EVENTS = [
    # The rundown at the end names the key, another key has been deleted, and a third one gets a new name after that.
    disk(KEY, 10), used(67, OBJECT, KEY, 11), used(68, OBJECT, KEY + 1, 12), hard_fault(KEY + 1, 13),
    named(35, KEY + 1, DEVICE + "\\deleted.txt", 20), disk(KEY + 1, 20), disk(KEY + 1, 21),
    named(32, KEY + 1, DEVICE + "\\second.txt", 30), disk(KEY + 1, 31),
    # By the object, where the key has no name: from the Create event to the Close event.
    used(69, OBJECT + 8, 77, 40), opened(OBJECT + 8, DEVICE + "\\opened.txt", 41), used(69, OBJECT + 8, 77, 42), used(65, OBJECT + 8, 77, 43),
    used(66, OBJECT + 8, 77, 44), used(69, OBJECT + 8, 77, 45), opened(OBJECT + 8, "\\other.txt", 46), used(73, OBJECT + 8, 77, 47),
    opened(OBJECT + 16, DEVICE + "\\folder", 50), used(72, OBJECT + 16, 78, 51),
    # A key with a name before that of its object.
    used(67, OBJECT + 8, KEY, 52),
    opened(OBJECT + 24, "x" * 3000, 53), used(67, OBJECT + 24, 79, 54), opened(OBJECT + 24, "", 55), used(67, OBJECT + 24, 79, 56),
    used(67, OBJECT + 32, 80, 57), used(67, 0, 0, 58),
    named(36, KEY, DEVICE + "\\key.txt", 900), VOLUME,
]
EXPECTED_NAMES = ["C:\\key.txt", "C:\\key.txt", "C:\\deleted.txt", "C:\\deleted.txt", "C:\\deleted.txt", "", "C:\\second.txt", "",
                  "C:\\opened.txt", "C:\\opened.txt", "C:\\opened.txt", "", "\\other.txt", ("*.txt", "C:\\folder"), "C:\\key.txt", "", "", "", ""]
for name, cpus in (("file-names", (FILE_EVENTS,)), ("file-names-cpus", (FILE_EVENTS[1::2], FILE_EVENTS[::2]))):
    file = etl.File(buffer_size=65536)
    for cpu, part in enumerate(cpus):
        file.buffer(part, cpu=cpu)
    convert(name, file)
    equal(f"{name}: by time", file_names(name), EXPECTED_NAMES)
convert("file-names-2", etl.File(buffer_size=65536).buffer([
    opened(OBJECT, "\\a.txt", 10, version=2), used(67, OBJECT, KEY, 11, version=2), used(66, OBJECT, KEY, 12, version=2),
    used(67, OBJECT, KEY, 13, version=2)]))
equal("file names: version 2", file_names("file-names-2"), ["\\a.txt", "\\a.txt", ""])
convert("file-names-cut", etl.File(buffer_size=65536).buffer([
    *[system(hook, b"\1" * size, version=3, ticks=START_TICKS + 10 + size) for hook in (0x0400, 0x0420, 0x0423, 0x0440, 0x0442) for size in (0, 1, 7, 9, 19, 33)],
    disk(KEY, 100)]))
equal("file names: events that are cut name none", file_names("file-names-cut")[-1], "")

# ---- events of the log's header, and ids of images that are made later --------------------------------------------------------------------

convert("header-events", etl.File(buffer_size=65536).buffer([
    system(64, guid(PROVIDER) + struct.pack("<I", 3) + ansi("a.pdb")), system(66, ansi("22621.1.amd64fre.ni_release"), ticks=START_TICKS + 1),
    system(67, struct.pack("<I", 2) + guid(PROVIDER) + guid(USER_GUID := "00000001-0002-0003-0405-060708090a0b") + utf16("C:\\a.dll"), ticks=START_TICKS + 2),
    system(80, struct.pack("<HHIq", 1, 0, 2, -5) + guid(PROVIDER) + bytes(16), ticks=START_TICKS + 3),
    system(82, struct.pack("<IIQQ", 2, 0, 7, 8), ticks=START_TICKS + 4), system(82, struct.pack("<II", 0xFFFFFFFF, 0), ticks=START_TICKS + 5),
    full("b3e675d7-2554-4f18-830b-2762732560de", 38, struct.pack("<QIIHH", 0x400000, 40, 0x5F000000, 256, 20577), ticks=START_TICKS + 6),
    full("b3e675d7-2554-4f18-830b-2762732560de", 40, struct.pack("<QI", 0x400000, 40), ticks=START_TICKS + 7),
]))
shown = {one["event"]: one["fields"] for one in reversed(events("header-events"))}
equal("header: the file of debug information", shown["EventTrace/DbgIdRSDS"], {"Guid": PROVIDER, "Age": 3, "PdbName": "a.pdb"})
equal("header: the build", shown["EventTrace/BuildInfo"], {"BuildString": "22621.1.amd64fre.ni_release"})
equal("header: the binary of providers", shown["EventTrace/ProviderBinaryPath"], {"GuidCount": 2, "Guid": [PROVIDER, USER_GUID], "BinaryPath": "C:\\a.dll"})
equal("header: the partition", {key: shown["EventTrace/PartitionInfoExtension"][key] for key in ("PartitionType", "QpcOffsetFromRoot", "PartitionId")},
      {"PartitionType": 2, "QpcOffsetFromRoot": -5, "PartitionId": PROVIDER})
equal("header: times of losses", shown["EventTrace/LastDroppedTimes"]["TimeStamp"], [7, 8])
check("header: a count that lies is no field", sum("5745" in json.dumps(one) or any(item["type"] == 0x5745 for item in one.get("extended", []))
      for one in events("header-events")) == 1)
equal("image ids: portable debug information", {key: shown["ImageID/DbgPPDB"][key] for key in ("ProcessId", "MajorVersion", "MinorVersion")},
      {"ProcessId": 40, "MajorVersion": 256, "MinorVersion": 20577})
equal("image ids: a deterministic build", shown["ImageID/DbgDeterm"], {"ImageBase": "0x400000", "ProcessId": 40})

# ---- what only the end of a session reports --------------------------------------------------------------------------------------------------


def image_event(opcode, base, size, pid, name, ticks, version=3):
    payload = struct.pack("<QQIIIIQ4I", base, size, pid, 0, 0, 0, base, *[0] * 4) + utf16(name)
    return system(0x1400 | opcode, payload, version=version, pid=pid, ticks=START_TICKS + ticks)


def process_event(opcode, pid, parent, image, ticks):
    return system(0x0300 | opcode, process_payload(3, True, pid, parent, image, image), 3, pid=pid, ticks=START_TICKS + ticks)


convert("late", etl.File(buffer_size=65536).buffer([
    event(PROVIDER, 1, pid=40, ticks=START_TICKS + 10, items=[(6, struct.pack("<QQQ", 0, 0x400010, 0x500010))]),
    image_event(2, 0x500000, 0x1000, 40, "C:\\gone.dll", 20),
    event(PROVIDER, 2, pid=40, ticks=START_TICKS + 30, items=[(6, struct.pack("<QQQ", 0, 0x400010, 0x500010))]),
    image_event(10, 0x600000, 0x1000, 40, "C:\\loaded.dll", 40),
    process_event(1, 50, 40, "child.exe", 50),
    event(PROVIDER, 3, pid=50, ticks=START_TICKS + 60, items=[(6, struct.pack("<QQ", 0, 0x700010))]),
    image_event(2, 0x900000, 0x1000, 60, "C:\\short.dll", 70),
    process_event(2, 60, 41, "short.exe", 80),
    # The rundown of the end: children stand before their parents.
    process_event(4, 40, 41, "program.exe", 900), process_event(4, 50, 40, "child.exe", 901),
    process_event(4, 41, 70, "shell.exe", 902),
    # 70 has got the pid of the parent of 71, which has ended.
    process_event(4, 70, 71, "new.exe", 903), process_event(4, 71, 70, "old.exe", 904),
    image_event(4, 0x400000, 0x1000, 40, "C:\\program.exe", 910), image_event(4, 0x600000, 0x1000, 40, "C:\\loaded.dll", 911),
    image_event(4, 0x700000, 0x1000, 50, "C:\\child.exe", 912),
]))
shown = [json.loads(line) for line in run(dump, "images", "--json", "late.ptl").stdout.splitlines()]
equal("only at the end: images", sorted((one["pid"], one["path"], one["loaded"], one["unloaded"]) for one in shown), [
    (40, "C:\\gone.dll", None, 2000), (40, "C:\\loaded.dll", 4000, None), (40, "C:\\program.exe", None, None),
    (50, "C:\\child.exe", None, None), (60, "C:\\short.dll", None, 7000)])
equal("only at the end: stacks", [[frame.get("image") for frame in one["stack"]] for one in events("late", "--stacks") if one["id"]],
      [["C:\\program.exe", "C:\\gone.dll"], ["C:\\program.exe", None], ["C:\\child.exe"]])
shown = [json.loads(line) for line in run(dump, "processes", "--json", "late.ptl").stdout.splitlines()]
equal("only at the end: processes", sorted((one["pid"], one["name"], one["parent_pid"]) for one in shown ),
      [(40, "program.exe", 41), (41, "shell.exe", 70), (50, "child.exe", 40), (60, "short.exe", 41), (70, "new.exe", 71), (71, "old.exe", 70)])
equal("only at the end: depths", {one["pid"]: one["depth"] for one in shown}, {71: 1, 70: 0, 41: 1, 40: 2, 60: 2, 50: 3})
text = run(dump, "processes", "late.ptl").stdout
check("only at the end: the tree", text.find("shell.exe") < text.find("program.exe") < text.find("child.exe"), text)
# The rundown of a cut has PTL's own events.
done = run(relog, "-f", "-o", "late-cut.ptl", "--time", "5us..7us", "late.ptl")
found = [one for one in events("late-cut") if one.get("injected")]
check("rundown of a cut: has schemas", done.returncode == 0 and found and all(one["fields"] and not one.get("payload") for one in found),
      done.stderr, found)



def reported(name):
    images = [json.loads(line) for line in run(dump, "images", "--json", name + ".ptl").stdout.splitlines()]
    processes = [json.loads(line) for line in run(dump, "processes", "--json", name + ".ptl").stdout.splitlines()]
    return (sorted((one["pid"], one["path"]) for one in images), sorted((one["pid"], one["name"], one["parent_pid"]) for one in processes),
            [[frame.get("image") for frame in one["stack"]] for one in events(name, "--stacks") if one.get("stack")])


ALL_PROCESSES = [(40, "program.exe", 41), (41, "shell.exe", 70), (60, "short.exe", 41), (70, "new.exe", 71), (71, "old.exe", 70)]
OF_40 = [(40, "C:\\program.exe")]
for span, images_left, processes_left, stacks in (
        # 50 starts at 5 us, gone.dll goes at 2 us, loaded.dll comes at 4 us.
        ("0.5us..1.5us", OF_40 + [(40, "C:\\gone.dll"), (60, "C:\\short.dll")], [], [["C:\\program.exe", "C:\\gone.dll"]]),
        ("..1.5us", OF_40 + [(40, "C:\\gone.dll"), (60, "C:\\short.dll")], [], [["C:\\program.exe", "C:\\gone.dll"]]),
        ("2.5us..3.5us", OF_40 + [(60, "C:\\short.dll")], [], [["C:\\program.exe", None]]),
        ("4.5us..6.5us", OF_40 + [(40, "C:\\loaded.dll"), (50, "C:\\child.exe"), (60, "C:\\short.dll")], [(50, "child.exe", 40)],
         [["C:\\child.exe"]]),
        ("5.5us..6.5us", OF_40 + [(40, "C:\\loaded.dll"), (50, "C:\\child.exe"), (60, "C:\\short.dll")], [(50, "child.exe", 40)],
         [["C:\\child.exe"]])):
    done = run(relog, "-f", "-q", "--check", "-o", "late-part.ptl", "--time", span, "late.ptl")
    check(f"only at the end, {span}: is cut", done.returncode == 0, done.stderr)
    equal(f"only at the end, {span}: images, processes, stacks", reported("late-part"),
          (sorted(images_left), sorted(ALL_PROCESSES + processes_left), stacks))
    check(f"only at the end, {span}: what is reported has schemas", all(one["fields"] for one in events("late-part") if one.get("injected")))
# The threads of a session that reports them at its end.
THREAD_END = struct.pack("<II", 40, 77) + struct.pack("<7Q", *[0] * 7) + struct.pack("<IBBBB", 0, 8, 0, 0, 0) + utf16("worker")
convert("late-thread", etl.File().buffer([event(PROVIDER, 1, pid=40, tid=77, ticks=START_TICKS + 10),
                                          system(0x0504, THREAD_END, version=4, ticks=START_TICKS + 900)]))
done = run(relog, "-f", "-q", "-o", "late-thread-part.ptl", "--time", "0.5us..1.5us", "late-thread.ptl")
found = [one for one in events("late-thread-part") if one.get("injected") and one["event"].startswith("Thread/")]
equal("only at the end: a thread's name", {one["fields"].get("ThreadName") for one in found}, {"worker"})
# Two inputs: what the end of the first reports, the second reports when it begins.
write("begins.etl", bytes(etl.File().buffer([process_event(1, 40, 41, "program.exe", 5), image_event(10, 0x400000, 0x1000, 40, "C:\\program.exe", 15),
                                             event(PROVIDER, 5, pid=40, ticks=START_TICKS + 20)])))
write("ends.etl", bytes(etl.File().buffer([event(PROVIDER, 6, pid=40, ticks=START_TICKS + 9, items=[(6, struct.pack("<QQ", 0, 0x400010))]),
                                           process_event(4, 40, 41, "program.exe", 900),
                                           image_event(4, 0x400000, 0x1000, 40, "C:\\program.exe", 901)])))
for inputs in (("begins.etl", "ends.etl"), ("ends.etl", "begins.etl")):
    done = run(relog, "-f", "-q", "-o", "late-two.ptl", "--time", "0us..1.2us", *inputs)
    check(f"only at the end, {inputs}: is cut", done.returncode == 0, done.stderr)
    equal(f"only at the end, {inputs}: another input reports when it came", reported("late-two")[0], [])

# ---- stacks with the images that their addresses are in -------------------------------------------------------------------------------------


def image_load(base, size, pid, name, **more):
    return system(0x1403, struct.pack("<QQIIIIQIIII", base, size, pid, 0, 0, 0, base, 0, 0, 0, 0) + utf16(name), version=2, **more)


convert("stack-images", etl.File().buffer([
    image_load(0xFFFFF80000000000, 0x100000, 0, "C:\\Windows\\ntoskrnl.exe"),
    image_load(0x7FF600000000, 0x10000, 40, "C:\\a b\\program.exe"),
    event(PROVIDER, 1, pid=40, tid=9, ticks=START_TICKS + 1),
    etl.perfinfo(0x1820, struct.pack("<QIIQ", START_TICKS + 1, 40, 9, 0xFFFFF80000001000), ticks=START_TICKS + 2),
    etl.perfinfo(0x1820, struct.pack("<QIIQQ", START_TICKS + 1, 40, 9, 0x7FF600002000, 0x123), ticks=START_TICKS + 3),
]))
one = next(one for one in events("stack-images", "--stacks") if one["id"] == 1)
equal("stacks with images: in JSON", one["stack"], [
    {"ip": "0xfffff80000001000", "image": "C:\\Windows\\ntoskrnl.exe", "image_offset": "0x1000"},
    {"ip": "0x7ff600002000", "image": "C:\\a b\\program.exe", "image_offset": "0x2000"}, {"ip": "0x123"}])
shown = run(dump, "events", "--stacks", "-p", PROVIDER, "stack-images.ptl").stdout.splitlines()
equal("stacks with images: under the event", [line.split() for line in shown[2:]],
      [["0xfffff80000001000", "ntoskrnl.exe+0x1000"], ["0x7ff600002000", "program.exe+0x2000"],
       ["0x123", "[no", "image]"]])
for other in ("--count", "--csv", "--xml", "--tree"):
    check(f"stacks: not with {other}", run(dump, "events", "--stacks", other, "stack-images.ptl").returncode == 2)
check("stacks: not without --stacks", "ntoskrnl" not in run(dump, "events", "-p", PROVIDER, "stack-images.ptl").stdout)

# ---- managed code -----------------------------------------------------------------------------------------------------------------------

RUNTIME, RUNDOWN = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "a669021c-c450-4609-a035-5af59af4df18"
JITTED, DYNAMIC, COMPILED_BEFORE = 8, 1, 0


def method(provider, number, name, address, size, ticks, flags=JITTED, pid=40, version=1, signature="void  (int32)"):
    payload = struct.pack("<QQQIII", address, 7, address, size, 0x06000001, flags) + utf16("My.Type") + utf16(name) + utf16(signature)
    payload += b"" if version == 0 else struct.pack("<H", 9) + (struct.pack("<Q", 0) if version == 2 else b"")
    return event(provider, number, version, payload=payload, pid=pid, ticks=START_TICKS + ticks)


def at(ticks, *addresses, pid=40):
    return event(PROVIDER, 1, pid=pid, ticks=START_TICKS + ticks, items=[(6, struct.pack(f"<Q{len(addresses)}Q", 0, *addresses))])


def frames(name, *options):
    return [[(frame.get("symbol"), frame.get("offset")) if "symbol" in frame else frame.get("image") for frame in one["stack"]]
            for one in events(name, "--stacks", *options) if one.get("stack")]


def of(name, offset=0):
    return (f"My.Type.{name}(int32)", offset)


MANAGED = [
    process_event(1, 50, 40, "child.exe", 1), process_event(2, 50, 40, "child.exe", 30),
    system(0x0301, struct.pack("<Q", 0x9999) + process_payload(3, True, 50, 40, "again.exe", "again.exe")[8:], 3, pid=50, ticks=START_TICKS + 40),
    # Known from the rundown at the end, from a load with and without an unload, and one that was compiled before.
    at(2, 0x100010, 0x100105, 0x100205, 0x200005, 0x300005),
    method(RUNTIME, 143, "Loaded", 0x100200, 0x40, 5), method(RUNTIME, 144, "Loaded", 0x100200, 0x40, 8),
    # One address, three methods, and one of them twice.
    at(6, 0x500004), method(RUNTIME, 143, "One", 0x500000, 0x20, 10, DYNAMIC, version=2), at(11, 0x500004),
    method(RUNTIME, 144, "One", 0x500000, 0x20, 12, DYNAMIC, version=2), at(13, 0x500004),
    method(RUNTIME, 143, "Two", 0x500008, 0x20, 14, DYNAMIC), at(15, 0x50000C, 0x500004),
    method(RUNTIME, 143, "Three", 0x500010, 0x20, 16), at(17, 0x500014, 0x50000C),
    method(RUNTIME, 143, "One", 0x500000, 0x20, 18, DYNAMIC), at(19, 0x500004, 0x500024),
    # Of two processes that had the same pid.
    method(RUNTIME, 143, "First", 0x700000, 0x10, 20, pid=50), at(21, 0x700001, pid=50),
    method(RUNTIME, 143, "Second", 0x700000, 0x10, 50, pid=50), at(51, 0x700001, pid=50),
    method(RUNDOWN, 143, "Began", 0x100100, 0x20, 60, version=0), method(RUNDOWN, 144, "Ended", 0x100000, 0x100, 900, version=2),
    method(RUNDOWN, 144, "Loaded", 0x100200, 0x40, 901), method(RUNDOWN, 144, "Native", 0x200000, 0x100, 902, COMPILED_BEFORE),
    method(RUNDOWN, 144, "Generic", 0x300000, 0x100, 903, signature="class !!0  (!!0,value class List`1<int32>)"),
]
EXPECTED_FRAMES = [
    [of("Ended", 0x10), of("Began", 5), of("Loaded", 5), None, ("My.Type.Generic(!!0,value class List`1<int32>)", 5)],
    [None], [of("One", 4)], [None], [of("Two", 4), None], [of("Three", 4), of("Two", 4)], [of("One", 4), of("Three", 0x14)],
    [of("First", 1)], [of("Second", 1)]]
for name, cpus in (("managed", (MANAGED,)), ("managed-cpus", (MANAGED[::2], MANAGED[1::2]))):
    file = etl.File(buffer_size=65536)
    for cpu, part in enumerate(cpus):
        file.buffer(part, cpu=cpu)
    convert(name, file)
    equal(f"{name}: frames by time", frames(name), EXPECTED_FRAMES)
for span, left in (("0.1us..0.3us", EXPECTED_FRAMES[:1]), ("1.05us..1.15us", EXPECTED_FRAMES[2:3]), ("1.45us..1.95us", EXPECTED_FRAMES[4:7]),
                   ("5.05us..", EXPECTED_FRAMES[8:])):
    done = run(relog, "-f", "-q", "--check", "-o", "managed-cut.ptl", "--time", span, "managed.ptl")
    check(f"managed code, {span}: is cut", done.returncode == 0, done.stderr)
    equal(f"managed code, {span}: frames", frames("managed-cut"), left)
# Beside images that only the end reports: of a process that was there, and of one that starts.
convert("managed-late", etl.File(buffer_size=65536).buffer([
    at(2, 0x100001, 0x400001), process_event(1, 50, 40, "child.exe", 5), at(6, 0x100001, 0x400001, pid=50),
    *[one for pid in (40, 50) for one in (process_event(4, pid, 41, f"p{pid}.exe", 900), image_event(4, 0x400000, 0x1000, pid, f"C:\\{pid}.dll", 901),
                                          method(RUNDOWN, 144, "Ended", 0x100000, 0x100, 902, pid=pid))]]))
late_frames = [[of("Ended", 1), "C:\\40.dll"], [of("Ended", 1), "C:\\50.dll"]]
equal("managed code beside images of the end: frames", frames("managed-late"), late_frames)
done = run(relog, "-f", "-q", "--check", "-o", "managed-cut.ptl", "--time", "0.55us..0.65us", "managed-late.ptl")
equal("managed code beside images of the end: frames of a cut", frames("managed-cut"), late_frames[1:])
done = run(relog, "-f", "-q", "--check", "-o", "managed-cut.ptl", "--time", "0.15us..0.25us", "managed-late.ptl")
equal("managed code beside images of the end: frames of an earlier cut", frames("managed-cut"), late_frames[:1])
# Sizes, names and ends that lie.
odd = [method(RUNTIME, 143, "x" * 5000, 0x100000, 0x10, 10), method(RUNTIME, 143, "Huge", 0x200000, 0xFFFFFFFF, 11),
       method(RUNTIME, 143, "High", 0xFFFFFFFFFFFFFFF0, 0x100, 12), method(RUNTIME, 143, "Last", 0xFFFFFFFFFFFFFE00, 0x100, 13),
       method(RUNTIME, 143, "Empty", 0x300000, 0, 14), at(20, 0x100008, 0x200008, 0xFFFFFFFFFFFFFE08)]
odd += [event(RUNTIME, 143, 1, payload=bytes(size), pid=40, ticks=START_TICKS + 15) for size in (0, 16, 35, 36, 37)]
odd += [event(RUNTIME, 143, 1, payload=struct.pack("<QQQIII", 1, 1, 0x400000, 16, 0, JITTED) + b"\1\2\3", pid=40, ticks=START_TICKS + 16)]
convert("managed-odd", etl.File(buffer_size=65536).buffer(odd))
found = frames("managed-odd")[0]
check("managed code: a long name is cut, sizes that lie are none", found[0][0].startswith("My.Type.xxx") and len(found[0][0]) == 1024 and
      found[1] is None and found[2] == of("Last", 8), found)

# ---- losses, and files that lie -----------------------------------------------------------------------------------------------------------

done = convert("lost", etl.File(lost=(17, 2)).buffer([event(PROVIDER, 1)]))
losses = json.loads(run(dump, "info", "--json", "lost.ptl").stdout)["losses"]
equal("lost: what Windows lost", sorted((one["kind"], one["count"]) for one in losses), [("buffers", 2), ("events", 17)])
check("lost: is said", "lost 17 events and 2 buffers" in done.stderr, done.stderr)

good = etl.File().buffer([event(PROVIDER, 1)], cpu=0).buffer([event(PROVIDER, 2)], cpu=1).buffer([event(PROVIDER, 3)], cpu=2)
data = bytes(good)


def ids(name):
    return [one["id"] for one in events(name)]


for name, change, expected, status in (
        ("cut-within", data[:-8192 + 72 + 40], [1, 2], 3),
        ("cut-between", data[:-8192], [1, 2], 0),
        ("cut-header", data[:-8192 + 20], [1, 2], 3),
        ("bad-size", data[:16384] + struct.pack("<I", 7) + data[16388:], [1, 3], 3),
        ("bad-end", data[:16384 + 0x30] + struct.pack("<I", 0xFFFFFF) + data[16384 + 0x34:], [1, 3], 3),
        ("bad-event", data[:16384 + 72] + struct.pack("<H", 0xFFF0) + data[16384 + 74:], [1, 3], 3),
        ("bad-kind", data[:16384 + 74] + b"\x63" + data[16384 + 75:], [1, 3], 3),
        ("unused", data + bytes(8192 * 3), [1, 2, 3], 0)):
    convert(name, change, status=status)
    equal(f"{name}: the other buffers' events", ids(name), expected)
for compression in (etl.LZNT1, etl.XPRESS, etl.HUFFMAN):
    file = etl.File(compression=compression, buffer_size=65536)
    for i in range(1, 4):
        file.buffer([event(PROVIDER, i, payload=b"payload" * 100)])
    size = len(file.parts[2])
    file.parts[2] = file.parts[2][:72] + b"\xff" * (size - 72)
    convert(f"bad-compressed-{compression}", file, status=3)
    equal(f"bad-compressed-{compression}: the other buffers' events", ids(f"bad-compressed-{compression}"), [1, 3])

# ---- several sessions, and what is done with a trace ------------------------------------------------------------------------------------------

write("one.etl", bytes(etl.File().buffer([event(PROVIDER, 1, ticks=START_TICKS + 1), event(PROVIDER, 3, ticks=START_TICKS + 3)])))
write("two.etl", bytes(etl.File(start=START_TICKS + 50).buffer([event(PROVIDER, 2, ticks=START_TICKS + 2)])))
done = run(relog, "-f", "-o", "both.ptl", "one.etl", "two.etl")
check("two sessions of one machine: are read", done.returncode == 0, done.stderr)
equal("two sessions of one machine: one order", [one["id"] for one in events("both") if one["id"]], [1, 2, 3])

# Only the first file describes the event. The second one's bytes are Windows' own, with pointers of 32 bits.
MOVED = MANIFEST.replace('<data name="count"', '<data name="at" inType="win:FILETIME"/><data name="count"')
first = utf16("n") + struct.pack("<QIQI", etl.EPOCH + 7, 1, 0x10, 1)
second = utf16("m") + struct.pack("<QIII", etl.EPOCH + 8, 1, 0x20, 2)
write("told.etl", bytes(etl.File(buffer_size=65536).buffer(
    [event(PROVIDER, 1, 2, 20, first, ticks=START_TICKS + 1)] + etl.manifest_pieces(PROVIDER, MOVED))))
write("untold.etl", bytes(etl.File(wide=False).buffer([
    event(PROVIDER, 1, 2, 20, second, ticks=START_TICKS + 2, wide=False),
    system(0x052C, b"\1\2\3", ticks=START_TICKS + 3, wide=False),
    system(0x0504, struct.pack("<I", 7), version=9, ticks=START_TICKS + 4, wide=False)])))
for name in ("told", "untold"):
    done = run(relog, "-f", "-o", name + ".ptl", name + ".etl")
    check(f"{name}: is read", done.returncode == 0, done.stderr)
for inputs in (("told.etl", "untold.etl"), ("untold.etl", "told.etl"), ("told.ptl", "untold.ptl"), ("untold.ptl", "told.etl")):
    what = "what one file describes, and another does not: " + " ".join(inputs)
    done = run(relog, "-f", "-o", "mixed.ptl", *inputs)
    check(what + ": are read", done.returncode == 0, done.stderr)
    found = [one for one in events("mixed") if one["id"] == 1]
    equal(what + ": fields of the first", [one["fields"].get("at") for one in found if not one["raw"]], [700])
    equal(what + ": bytes of the second", [(one.get("payload"), one["fields"]) for one in found if one["raw"]], [(second.hex(), {})])
shown = run(dump, "events", "--where", "count == 1", "--json", "mixed.ptl").stdout.splitlines()
equal("what nothing describes has no fields to look for", len(shown), 1)

# Images of versions 0 and 1 that were there, from a system with pointers of 32 bits.
for version in (0, 1):
    name = f"image-rundown-{version}"
    body = struct.pack("<II", 0x400000, 0x2000) + (struct.pack("<I", 40) if version else b"") + utf16("C:\\a.exe")
    convert(name, etl.File(wide=False).buffer([
        system(hook, body, version=version, pid=40, ticks=START_TICKS + i, wide=False) for i, hook in enumerate((0x1403, 0x1404))]))
    images = [json.loads(line) for line in run(dump, "images", "--json", name + ".ptl").stdout.splitlines()]
    equal(f"{name}: the image", [(one.get("pid"), one.get("base"), one.get("size"), one.get("path")) for one in images],
          [(40, "0x400000", 0x2000, "C:\\a.exe")])
plan()
