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
    """All but the header of the log."""
    done = run(dump, "events", "-v", "--json", name + ".ptl", *options)
    return [one for one in map(json.loads, done.stdout.splitlines()) if one.get("event") != "EventTrace/Header"]


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
convert("missing-piece", etl.File().buffer([work] + pieces[:1] + pieces[2:]))
equal("missing-piece: stays bytes", [one.get("payload") for one in events("missing-piece") if one["id"] == 1], [worked.hex()])
done = run(relog, "-f", "-o", "x.ptl", "--manifest", "none.man", "manifest.etl")
check("a manifest that is not there is named", done.returncode != 0 and "none.man" in done.stderr, done.stderr)
done = run(relog, "-f", "-o", "x.ptl", "--manifest", "example.man", "manifest.ptl")
check("a manifest explains nothing of a trace", done.returncode == 2 and "no input is one" in done.stderr and not os.path.exists("x.ptl"),
      done.stderr)

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
plan()
