# SPDX-License-Identifier: BSD-2-Clause
"""Damages inputs of other formats for ptl-relog: .etl files of Windows and perf.data are parsed, changed and written again."""
import glob
import os
import struct

import damage
import etl_file
from etl_file import START_TICKS, ansi, event, extended, full, perfinfo, system, utf16

PROVIDER = "11112222-3333-4444-5555-666677778888"
PERF_HEADER = 104


# ---- seeds ------------------------------------------------------------------------------------------------------


def corpus(tests, name):
    """Returns the corpus of a fuzz target, which is stored as text."""
    for path in sorted(glob.glob(os.path.join(tests, "fuzz", "corpus", name, "*.hex"))):
        with open(path, encoding="utf-8") as file:
            yield bytes.fromhex("".join(line.split("#")[0] for line in file))


def etl_events():
    """Returns events with each form of header, and descriptions of some events."""
    info = etl_file.event_info(PROVIDER, 5, 0, 0, 2, [("Count", 8, 0, 0, 1, 4, ""), ("Name", 1, 0, 0, 1, 0, "")],
                               {"provider": "Made", "task": "Work", "message": "did %1 of %2"})
    described = etl_file.tracelogging("Started", ("size", 8), ("name", 1), ("parts", 8 | 0x40, 0, b""))
    return [
        info, etl_file.map_info(PROVIDER, "Colours", [(1, "red"), (2, "green")]),
        event(PROVIDER, 5, payload=struct.pack("<I", 3) + utf16("abc")),
        event(PROVIDER, 0, channel=11, payload=struct.pack("<I", 9) + utf16("name") + struct.pack("<HII", 2, 1, 2),
              items=[(11, described), (12, etl_file.traits("Logged"))]),
        event(PROVIDER, 7, payload=bytes(30), items=[(3, etl_file.sid(5, 21, 1, 2, 3)), (1, bytes(16)), (9, bytes(8))]),
        system(0x0301, struct.pack("<QIIiQQI", 1, 9, 4, 0, 0, 0, 0) + etl_file.sid(5, 18) + ansi("a.exe") + utf16("a.exe x"),
               version=4),
        system(0x0503, struct.pack("<II6Q8x", 9, 10, 1, 2, 3, 4, 5, 6), version=3),
        system(0x140A, struct.pack("<QQIIIIQIIII", 0x400000, 0x1000, 9, 0, 0, 0, 0x400000, 0, 0, 0, 0) +
               utf16("\\Device\\HarddiskVolume1\\a.exe"), version=3),
        perfinfo(0x0F2E, bytes(16)), etl_file.compact(0x0524, struct.pack("<II16x", 10, 0)),
        etl_file.instance(PROVIDER, 1, bytes(12)), full(PROVIDER, 10, bytes(20)),
        etl_file.message(3, PROVIDER, struct.pack("<I", 5) + ansi("wpp")),
    ]


# ---- .etl -------------------------------------------------------------------------------------------------------


def change_event(data, random):
    """Changes bytes of an event, rarely its sizes."""
    data = bytearray(data)
    if random.random() < 0.3:
        damage.change_bytes(data, random)
    else:
        at = random.randrange(len(data))
        data[at:at + 1] = bytes([random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))])
    return bytes(data)


def change_item(events, random):
    """Adds an event with extended items of any type and bytes, like the description of a TraceLogging event."""
    kind = random.choice((1, 3, 4, 5, 6, 9, 11, 11, 11, 12, 14))
    body = bytearray(etl_file.tracelogging("E", ("a", 1), ("b", 8 | 0x20, 0, struct.pack("<H", 3)), ("c", 24, 0, b"\2")))
    damage.change_bytes(body, random)
    items = [(kind, bytes(body[:60000]))] * random.choice((1, 1, 2, 40))
    if sum(len(extended([item])) for item in items) < 60000:
        events.append(event(PROVIDER, 0, channel=11, payload=random.randbytes(random.randrange(200)), items=items))


def change_events(events, random):
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(events))
        choice = random.randrange(8)
        if choice == 0:
            events[at:at] = [events[at]] * random.choice((1, 30))
        elif choice == 1 and len(events) > 1:
            del events[at]
        elif choice == 2:
            change_item(events, random)
        else:
            events[at] = change_event(events[at], random)


def made_etl(random):
    """Returns a file of events, some of them damaged, with matching headers."""
    file = etl_file.File(buffer_size=65536, compression=random.choice((0, 0, 0, *etl_file.COMPRESS)),
                         clock=random.choice((1, 1, 2, 3)), start=START_TICKS)
    for cpu in range(random.choice((1, 2))):
        events = etl_events()
        change_events(events, random)
        if sum(map(len, events)) < 65536 - etl_file.HEADER:
            file.buffer(events, cpu)
    parts = [bytearray(part) for part in file.parts]
    if random.random() < 0.2:
        part = random.choice(parts)
        damage.put(part, random.choice(((0, 4), (4, 4), (8, 4), (16, 8), (44, 2), (48, 4), (52, 2), (54, 2))), damage.extreme(random))
    if random.random() < 0.2:
        damage.change_bytes(random.choice(parts), random)
    if random.random() < 0.1:
        parts[1:] = parts[1:] * random.choice((2, 5))
    return b"".join(parts)


# ---- perf.data --------------------------------------------------------------------------------------------------


def records(data):
    """Splits bytes into records; the rest at the end is one piece."""
    at = 0
    while len(data) - at >= 8:
        size = int.from_bytes(data[at + 6:at + 8], "little")
        if not 8 <= size <= len(data) - at:
            break
        yield bytes(data[at:at + size])
        at += size
    if at < len(data):
        yield bytes(data[at:])


def change_record(data, random):
    """Changes a record's content; the size is either kept or corrected."""
    data = bytearray(data)
    choice = random.randrange(4)
    if choice == 0:
        damage.put(data, random.choice(((0, 4), (4, 2), (6, 2))), damage.extreme(random))
    elif choice == 1 and len(data) >= 16:
        size = random.choice((4, 8))
        damage.put(data, (random.randrange(8, len(data) - size + 1) & ~3, size), damage.extreme(random))
    else:
        damage.change_bytes(data, random)
        if len(data) >= 8 and random.random() < 0.7:
            del data[0xFFF8:]
            data += bytes(-len(data) % 8)
            damage.put(data, (6, 2), len(data))
    return bytes(data)


def changed_perf(data, random):
    """Changes records of a file, and sets the new size in the header."""
    data = bytearray(data)
    start, size = (damage.get(data, (at, 8)) for at in (40, 48))
    if len(data) < PERF_HEADER or start < PERF_HEADER or start + size > len(data):
        damage.change_bytes(data, random)
        return bytes(data)
    parts = list(records(data[start:start + size]))
    for _ in range(random.choice((1, 1, 2, 4)) if parts else 0):
        at, choice = random.randrange(len(parts)), random.randrange(8)
        if choice == 0:
            parts[at:at] = [parts[at]] * random.choice((1, 3, 50))
        elif choice == 1 and len(parts) > 1:
            del parts[at]
        elif choice == 2:
            parts.insert(random.randrange(len(parts)), parts.pop(at))
        else:
            parts[at] = change_record(parts[at], random)
    head = bytearray(data[:start])
    body = b"".join(parts)
    damage.put(head, (48, 8), len(body))
    if random.random() < 0.15:
        damage.change_bytes(head, random)
    return bytes(head + body + data[start + size:])
