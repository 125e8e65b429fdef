#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump pcapng: packets that netsh trace and pktmon of Windows recorded come out byte for byte, and tshark reads them.
import os
import shlex
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import etl_file as etl
import pcapng_file
from etl_file import FREQUENCY, START, START_TICKS, event, sid, system, utf16, ansi
from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, read, run, skip, write

NDIS, PKTMON = "2ed6006e-4729-4609-b423-3ee7bcd678ef", "4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac"
FIRST, LAST, SEND, RECEIVE, WIFI, WAN, CUT = 0x40000000, 0x80000000, 0x100000000, 0x200000000, 0x10000, 0x200, 0x2000000
WHOLE = FIRST | LAST
TICK = 10**9 // FREQUENCY
EPOCH_START = (START - etl.EPOCH) * 100  # nanoseconds of START_TICKS


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp(size, port=5000, number=1):
    """An IPv4 packet of UDP whose payload has so many bytes."""
    data = bytes((i * 7 + number) & 0xFF for i in range(size))
    head = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 28 + size, number, 0, 64, 17, 0, 192, 0, 2, 1, 198, 51, 100, 2)
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return head + struct.pack(">HHHH", port, 53, 8 + size, 0) + data


def udp6(size):
    return struct.pack(">IHBB", 0x60000000, 8 + size, 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + struct.pack(
        ">HHHH", 7, 9, 8 + size, 0) + bytes(size)


def ethernet(data, kind=0x0800, tags=()):
    return bytes.fromhex("021122334455" "02aabbccddee") + b"".join(struct.pack(">HH", 0x8100, tag) for tag in tags) + struct.pack(
        ">H", kind) + data


def wifi(data):
    """A data frame to an access point."""
    return bytes.fromhex("08010000" "021122334455" "02aabbccddee" "02ffeeddccbb" "1000") + bytes.fromhex("aaaa030000000800") + data


def fragment(data, keyword, ticks, lower=11, miniport=11, pid=40, tid=44, more=bytes(16)):
    return event(NDIS, 1001, payload=struct.pack("<III", miniport, lower, len(data)) + data + more, keyword=keyword | 0x40000000000,
                 pid=pid, tid=tid, ticks=START_TICKS + ticks)


def frame(data, kind, component, ticks, direction=1, number=160, original=None, group=9, appearance=1, drop=(0, 0)):
    head = struct.pack("<Q7HIIHH", group, 1, appearance, direction, kind, component, 3, 0, *drop,
                       len(data) if original is None else original, len(data))
    return event(PKTMON, number, payload=head + data, keyword=0x10, pid=4, tid=8, ticks=START_TICKS + ticks)


def component(number, name, description):
    return event(PKTMON, 20, payload=struct.pack("<HH", number, 2) + utf16(name) + utf16(description), ticks=START_TICKS + 900)


def process(pid, image):
    payload = struct.pack("<QIIIiQI", 0x1000 + pid, pid, 4, 1, 0, 0x5000, 0) + struct.pack("<QQ", 1, 0)
    payload += sid(5, 21, 1, 2, 1001) + ansi(image) + utf16(image) + utf16("") * 2
    return system(0x0301, payload, 4, pid=pid, ticks=START_TICKS + 1)


def convert(name, file, status=0):
    write(name + ".etl", bytes(file))
    done = run(relog, "-f", "-q", "-o", name + ".ptl", name + ".etl")
    check(f"{name}: is read", done.returncode == status, done.stderr)


def export(name, *options):
    done = run(dump, "pcapng", "-f", "-o", name + ".pcapng", *options, name + ".ptl")
    check(f"{name}: is exported", done.returncode == 0, done.stderr)
    try:
        return (*pcapng_file.read(read(name + ".pcapng")), done.stderr)
    except pcapng_file.Bad as bad:
        check(f"{name}: is pcapng", False, bad)
        return {}, [], [], [], done.stderr


def equal(what, found, expected):
    check(what, found == expected, "found", found, "expected", expected)


def split(data, count):
    size = -(-len(data) // count)
    return [data[at:at + size] for at in range(0, len(data), size)]


# ---- whole packets of all links ---------------------------------------------------------------------------------------------

PACKETS = [
    (ethernet(udp(20)), WHOLE | SEND, 11, 11),
    (ethernet(udp(21, number=2)), WHOLE | RECEIVE, 11, 11),
    (wifi(udp(22, number=3)), WHOLE | RECEIVE | WIFI, 12, 12),
    (udp(23, number=4), WHOLE | SEND | WAN, 13, 13),
    (ethernet(udp(24, number=5)), WHOLE | SEND, 14, 11),
    (ethernet(udp6(25), 0x86DD), WHOLE, 11, 11),
    (b"\xff" * 3, WHOLE | SEND, 11, 11),
    (b"", WHOLE | SEND, 11, 11),
]
convert("links", etl.File(buffer_size=65536).buffer(
    [process(40, "browser.exe")] + [fragment(data, keyword, 10 + i, lower, miniport) for i, (data, keyword, lower, miniport) in enumerate(PACKETS)] +
    [event(NDIS, 1002, payload=struct.pack("<III", 12, 12, 4) + b"abcd", ticks=START_TICKS + 50)]))
section, interfaces, packets, statistics, said = export("links")
equal("links: bytes", [one["data"] for one in packets], [data for data, *_ in PACKETS])
equal("links: lengths", [one["original"] for one in packets], [len(data) for data, *_ in PACKETS])
equal("links: interfaces", [(one["link"], one["options"][2]) for one in interfaces],
      [(1, b"ethernet 11"), (105, b"wifi 12"), (101, b"ip 13"), (1, b"ethernet 14")])
equal("links: a filter says what it is above", [one["options"].get(3) for one in interfaces], [None] * 3 + [b"filter above interface 11"])
equal("links: which packet is of which", [one["interface"] for one in packets], [0, 0, 1, 2, 3, 0, 0, 0])
equal("links: directions", [one["flags"] for one in packets], [2, 1, 1, 2, 2, 0, 2, 2])
equal("links: times", [one["time"] for one in packets], [EPOCH_START + (10 + i) * TICK for i in range(len(PACKETS))])
equal("links: comments", [one["comment"] for one in packets][:3],
      ["browser.exe (40), thread 44, ethernet 11"] * 2 + ["browser.exe (40), thread 44, wifi 12"])
equal("links: counts", [(one["interface"], struct.unpack("<Q", one["options"][4])[0]) for one in statistics], [(0, 5), (1, 1), (2, 1), (3, 1)])
check("links: system and program", section[3].startswith(b"Windows 5.1.19045") and section[4].startswith(b"ptl-dump "), section)
check("links: nothing is left out", "left out" not in said, said)
equal("links: a span of time", len(export("links", "--time", "1.05us..1.25us")[2]), 2)
equal("links: a process without packets", len(export("links", "--pid", "4")[2]), 0)
equal("links: a process", len(export("links", "--pid", "40")[2]), len(PACKETS))

if shutil.which("tshark"):
    FIELDS = ("frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_name", "frame.interface_description", "frame.packet_flags_direction",
              "frame.comment", "ip.src", "udp.srcport", "ipv6.dst", "wlan.da", "frame.protocols")

    def shark(name):
        export(name)
        options = [word for field in FIELDS for word in ("-e", field)]
        done = run("tshark", "-n", "-r", name + ".pcapng", "-T", "fields", "-E", "separator=|", *options, env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"})
        check(f"{name}: tshark reads it", done.returncode == 0, done.stderr)
        check(f"{name}: tshark finds nothing wrong", not [line for line in done.stderr.splitlines() if "Running as" not in line and "GLib WARNING" not in line], done.stderr)
        return [dict(zip(FIELDS, line.split("|"))) for line in done.stdout.splitlines()]

    shown = shark("links")
    equal("tshark: how many", len(shown), len(PACKETS))
    for one, packet, (data, keyword, lower, _) in zip(shown, packets, PACKETS):
        seconds, rest = divmod(packet["time"], 10**9)
        equal("tshark: time, lengths, interface", (one["frame.time_epoch"], one["frame.len"], one["frame.cap_len"], one["frame.interface_name"]),
              (f"{seconds}.{rest:09}", str(len(data)), str(len(data)), interfaces[packet["interface"]]["options"][2].decode()))
        equal("tshark: comment", one["frame.comment"], packet["comment"])
    equal("tshark: addresses", [(one["ip.src"], one["udp.srcport"]) for one in shown[:5]], [("192.0.2.1", "5000")] * 5)
    equal("tshark: IPv6", shown[5]["ipv6.dst"], "::2")
    equal("tshark: Wi-Fi", shown[2]["frame.protocols"].split(":")[:2], ["wlan_radio", "wlan"] if "wlan_radio" in shown[2]["frame.protocols"] else
          ["wlan", "llc"])
else:
    skip("tshark reads it", "there is no tshark here")

# Windows records what a driver has decrypted; the header still says that it is encrypted.
protected = wifi(udp(5))
protected = protected[:1] + b"\x41" + protected[2:]
convert("protected", etl.File().buffer([fragment(protected, WHOLE | WIFI | RECEIVE, 10), *[
    fragment(part, keyword | WIFI, 20) for part, keyword in zip(split(protected, 2), (FIRST, LAST))], fragment(b"\x08", WHOLE | WIFI, 30)]))
packets = export("protected")[2]
equal("protected frames: the bit is cleared", [one["data"] for one in packets], [wifi(udp(5)), wifi(udp(5)), b"\x08"])
equal("protected frames: the comment says so", [one["comment"].endswith(", protected bit cleared") for one in packets], [True, True, False])

# ---- fragments -------------------------------------------------------------------------------------------------------------

large, other = ethernet(udp(3000)), ethernet(udp(1000, number=8))
a, b = split(large, 3), split(other, 2)
convert("fragments", etl.File(buffer_size=65536).buffer([
    # Of two interfaces, one within the other.
    fragment(a[0], FIRST | SEND, 10), fragment(b[0], FIRST | RECEIVE, 11, lower=12), fragment(a[1], SEND, 12),
    fragment(b[1], LAST | RECEIVE, 13, lower=12), fragment(a[2], LAST | SEND, 14),
    # Without an end, then without a beginning.
    fragment(a[0], FIRST, 20), fragment(ethernet(udp(5)), WHOLE, 21), fragment(a[1], 0, 22), fragment(a[2], LAST, 23),
    fragment(a[0], FIRST, 24, lower=12), fragment(a[0], FIRST, 25, lower=12), fragment(b"".join(a[1:]), LAST, 26, lower=12),
    fragment(a[0], FIRST, 30),
], cpu=0).buffer([fragment(other, WHOLE, 11), fragment(other, WHOLE, 13)], cpu=1))
section, interfaces, packets, statistics, said = export("fragments")
equal("fragments: joined, in order of their ends", [one["data"] for one in packets],
      [other, other, other, large, ethernet(udp(5)), large])
check("fragments: what is missing is counted", "3 packets whose last fragment is missing; 2 fragments whose packets did not begin" in said, said)
check("fragments: and in the file", b"3 packets whose last fragment" in statistics[0]["options"].get(1, b""), statistics)
whole = b"".join(split(b"\x45" * 400000, 10))
convert("longest", etl.File(buffer_size=524288).buffer([
    fragment(part, (FIRST if i == 0 else 0) | (LAST if i == 9 else 0), 10 + i) for i, part in enumerate(split(whole, 10))]))
packets, said = export("longest")[2::2]
equal("fragments: more than a reader takes", [(len(one["data"]), one["original"]) for one in packets], [(262144, 400000)])
check("fragments: that is counted", "1 end of a packet of more than 262,144 bytes" in said, said)

# ---- packets that were recorded in part ------------------------------------------------------------------------------------

v4, v6, tagged = ethernet(udp(1000)), ethernet(udp6(500), 0x86DD), ethernet(udp(700), tags=(5,))
convert("cut", etl.File(buffer_size=65536).buffer([
    fragment(v4[:100], WHOLE | CUT, 10), fragment(v6[:60], WHOLE | CUT, 11), fragment(tagged[:64], WHOLE | CUT, 12),
    fragment(udp(300)[:40], WHOLE | WAN | CUT, 13, lower=12), fragment(wifi(udp(9))[:30], WHOLE | WIFI | CUT, 14, lower=13),
    # Longer than its header says, as Ethernet pads short packets.
    fragment(ethernet(udp(1)) + bytes(20), WHOLE, 15),
    frame(v4[:128], 1, 7, 20, original=len(v4)),
]))
packets, said = export("cut")[2::2]
equal("cut: lengths by the IP header, or as PktMon has them", [one["original"] for one in packets],
      [len(v4), len(v6), len(tagged), len(udp(300)), 30, len(ethernet(udp(1))) + 20, len(v4)])
check("cut: they are counted", "6 ends of packets that were recorded in part" in said, said)

# ---- PktMon ------------------------------------------------------------------------------------------------------------------

convert("pktmon", etl.File(buffer_size=65536).buffer([
    frame(ethernet(udp(20)), 1, 7, 10, direction=4, appearance=1), frame(ethernet(udp(20)), 1, 8, 11, direction=2, appearance=2),
    frame(wifi(udp(21)), 2, 9, 12, direction=3), frame(udp(22), 3, 10, 13, direction=6),
    frame(ethernet(udp(23)), 1, 7, 14, direction=5, number=170, drop=(8, 0xE0001234)),
    frame(b"abc", 0, 7, 15), frame(b"abc", 9, 7, 16), frame(ethernet(udp(24)), 1, 99, 17, direction=77),
    component(7, "nic.sys", "Ethernet \u202e adapter"), component(8, "", "Unnamed"), component(9, "wifi.sys", ""),
]))
section, interfaces, packets, statistics, said = export("pktmon")
equal("pktmon: bytes", [one["data"] for one in packets],
      [ethernet(udp(20)), ethernet(udp(20)), wifi(udp(21)), udp(22), ethernet(udp(23)), ethernet(udp(24))])
equal("pktmon: components are interfaces", [(one["link"], one["options"].get(2), one["options"].get(3)) for one in interfaces],
      [(1, b"component 7 nic.sys", b"Ethernet \\xe2\\x80\\xae adapter"), (1, b"component 8", b"Unnamed"),
       (105, b"component 9 wifi.sys", None), (101, b"component 10", None), (1, b"component 99", None)])
equal("pktmon: directions", [one["flags"] for one in packets], [2, 2, 1, 2, 1, 0])
equal("pktmon: comments", [packets[1]["comment"], packets[4]["comment"]],
      ["process (4), thread 8, component 8, edge 3, packet 9.1 appearance 2",
       "process (4), thread 8, component 7 nic.sys, edge 3, packet 9.1 appearance 1, dropped: filtered, reason 8 location 0xe0001234"])
check("pktmon: what has no link type is counted", "2 packets of kinds that pcapng has no link type for" in said, said)
if shutil.which("tshark"):
    equal("pktmon: tshark", [one["frame.interface_name"] for one in shark("pktmon")],
          ["component 7 nic.sys", "component 8", "component 9 wifi.sys", "component 10", "component 7 nic.sys", "component 99"])

# ---- ports of a virtual switch, whose event a manifest describes ---------------------------------------------------------

write("switch.man", f'''<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="Microsoft-Windows-NDIS-PacketCapture" guid="{{{NDIS}}}"><events><event value="1003" version="0" template="S"/></events>
<templates><template tid="S"><data name="MiniportIfIndex" inType="win:UInt32"/><data name="LowerIfIndex" inType="win:UInt32"/>
<data name="SourcePortId" inType="win:UInt32"/><data name="SourcePortName" inType="win:UnicodeString"/><data name="SourceNicName" inType="win:UnicodeString"/>
<data name="FragmentSize" inType="win:UInt32"/><data name="Fragment" inType="win:Binary" length="FragmentSize"/></template></templates>
</provider></events></instrumentation></instrumentationManifest>'''.encode())


def switched(port, nic, data, ticks):
    payload = struct.pack("<III", 5, 5, port) + utf16(f"port {port}") + utf16(nic) + struct.pack("<I", len(data)) + data
    return event(NDIS, 1003, payload=payload, keyword=WHOLE | RECEIVE | 0x1000000, ticks=START_TICKS + ticks)


write("switch.etl", bytes(etl.File(buffer_size=65536).buffer([
    switched(1, "vm-a", ethernet(udp(10)), 10), switched(2, "vm-b", ethernet(udp(11)), 11), switched(1, "vm-a", ethernet(udp(12)), 12)])))
done = run(relog, "-f", "-q", "-o", "switch.ptl", "--manifest", "switch.man", "switch.etl")
section, interfaces, packets, statistics, said = export("switch")
equal("switch: ports are interfaces", [(one["options"][2], one["options"][3]) for one in interfaces],
      [(b"switch port 1 vm-a", b"port 1"), (b"switch port 2 vm-b", b"port 2")])
equal("switch: packets", [(one["interface"], one["data"]) for one in packets],
      [(0, ethernet(udp(10))), (1, ethernet(udp(11))), (0, ethernet(udp(12)))])
done = run(relog, "-f", "-q", "-o", "switch.ptl", "switch.etl")
check("switch: counted where nothing describes the event", "3 events with packets that no description fits" in export("switch")[4])

# ---- sizes that lie, and many of everything ------------------------------------------------------------------------------------

lies = [event(NDIS, 1001, payload=struct.pack("<III", 1, 1, size) + b"abcdef", keyword=WHOLE, ticks=START_TICKS + 10)
        for size in (7, 23, 0x7FFFFFFF, 0xFFFFFFFF)]
lies += [event(NDIS, 1001, payload=bytes(size), keyword=WHOLE, ticks=START_TICKS + 11) for size in (0, 4, 11)]
lies += [event(PKTMON, 160, payload=bytes(size), keyword=WHOLE, ticks=START_TICKS + 12) for size in (0, 8, 33)]
lies += [event(PKTMON, 160, payload=struct.pack("<Q7HIIHH", 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 9, 0xFFFF) + b"abc", ticks=START_TICKS + 13),
         event(NDIS, 1001, version=3, payload=struct.pack("<III", 1, 1, 3) + b"abc", keyword=WHOLE, ticks=START_TICKS + 14),
         # The size that it had is less than what is there.
         frame(ethernet(udp(9)), 1, 1, 15, original=3), event(PKTMON, 20, payload=b"\1", ticks=START_TICKS + 16)]
convert("lies", etl.File(buffer_size=65536).buffer(lies))
packets, said = export("lies")[2::2]
equal("lies: what is right", [(one["data"], one["original"]) for one in packets], [(ethernet(udp(9)), len(ethernet(udp(9))))])
check("lies: all others are counted", "12 events with packets that no description fits" in said, said)
opened = etl.File(buffer_size=65536)
for at in range(0, 1000, 250):
    opened.buffer([fragment(b"x" * 40, FIRST, 10 + i, lower=i, miniport=i) for i in range(at, at + 250)])
convert("open", opened)
packets, said = export("open")[2::2]
check("open: a packet of each of 1,000 interfaces begins, and none ends", not packets and "1,000 packets whose last fragment" in said, said)
many = etl.File(buffer_size=65536)
for at in range(0, 66000, 500):
    many.buffer([fragment(b"x", WHOLE, 10 + i, lower=i, miniport=i, more=b"") for i in range(at, at + 500)])
convert("many", many)
section, interfaces, packets, statistics, said = export("many")
equal("many: interfaces", (len(interfaces), len(packets)), (65536, 65536))
check("many: packets beyond are counted", "464 packets of interfaces beyond 65,536" in said, said)

# ---- the .etl file itself --------------------------------------------------------------------------------------------------

for name in ("links", "pktmon", "fragments", "lies"):
    done = run(dump, "pcapng", "-f", "-o", "direct.pcapng", name + ".etl")
    export(name)
    check(f"{name}: an .etl file gives what its trace gives", done.returncode == 0 and read("direct.pcapng") == read(name + ".pcapng"), done.stderr)
damaged = bytes(read("links.etl"))
write("damaged.etl", damaged + damaged[-65536:-65536 + 48] + struct.pack("<I", 0xFFFFFF) + damaged[-65536 + 52:])
done = run(dump, "pcapng", "-f", "-o", "direct.pcapng", "damaged.etl")
check("a damaged .etl file: what can be read, and status 3", done.returncode == 3 and "damaged.etl" in done.stderr and
      pcapng_file.read(read("direct.pcapng"))[2], done)
before = read("links.etl")
done = run(dump, "pcapng", "-f", "-o", "links.etl", "links.etl")
check("the input is not the output", done.returncode == 2 and read("links.etl") == before, done)
done = run(dump, "info", "links.etl")
check("other commands take traces", done.returncode != 0 and "ptl-relog" in done.stderr, done)
write("text.etl", b"no trace")
done = run(dump, "pcapng", "-o", "x.pcapng", "text.etl")
check("another file is none", done.returncode == 3 and "text.etl: not a trace file" in done.stderr, done)

# ---- where it goes -------------------------------------------------------------------------------------------------------------

convert("none", etl.File().buffer([event(PKTMON, 7)]))
section, interfaces, packets, statistics, said = export("none")
check("none: says so", not packets and "none.ptl has no packets of a network" in said, said)
done = run(dump, "pcapng", "-o", "links.pcapng", "links.ptl")
check("a file that is there stays", done.returncode == 4 and "links.pcapng exists; -f replaces it" in done.stderr, done)
done = run(dump, "pcapng", "links.ptl", text=False)
pcapng_file.read(done.stdout)
check("to a pipe", done.returncode == 0 and done.stdout == read("links.pcapng"), done.stderr)
done = run("script", "-qec", f"{shlex.quote(dump)} pcapng links.ptl", "/dev/null")
check("not to a terminal", done.returncode == 2 and "-o FILE" in done.stdout, done)
plan()
