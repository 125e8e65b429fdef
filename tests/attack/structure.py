# SPDX-License-Identifier: BSD-2-Clause
"""Changes encoded contents of a trace: fields of events, packets of Intel PT, and contents of blobs, such as ELF and DWARF.

Contents are decoded, changed, and encoded again, with new blob hashes wherever the trace refers to a blob. So the changed parts
reach the code that trusts the encoding.
"""
import hashlib
import struct

import ptl_reader
import samples
from damage import BLOB, EVENTS, METADATA, PT, change_bytes, extreme, items, put

TIME_MAX = (1 << 64) - 1

# ---- events -----------------------------------------------------------------------------------------------------


class Batch:
    """Values of the buffer header that decoding an EVENTS payload needs."""

    def __init__(self, buffer):
        self.records, self.first_time, self.last_time = (buffer.field(name) for name in ("records", "first_time", "last_time"))


def events_of(buffer):
    """Returns the events of a buffer, or none if damaged."""
    try:
        return ptl_reader.decode_events(bytes(buffer.raw()), Batch(buffer))
    except ptl_reader.Bad:
        return []


def planes(values, size):
    return b"".join(bytes(value >> 8 * k & 0xFF for value in values) for k in range(size))


def descriptor_of(event):
    return tuple(event[name] for name in ("provider", "id", "version", "channel", "level", "opcode", "task", "keyword"))


def encode_events(events, first):
    """Encodes events, sorted by time, as a payload."""
    descriptors = list(dict.fromkeys(map(descriptor_of, events)))
    contexts = list(dict.fromkeys((event["cpu"], event["pid"], event["tid"]) for event in events))
    guids = list(dict.fromkeys([one[0] for one in descriptors] +
                               [event[name] for event in events for name in ("activity", "related") if event[name]]))
    groups = [[event for event in events if descriptor_of(event) == one] for one in descriptors]
    fixed = [len({len(event["payload"]) for event in group}) == 1 for group in groups]
    out = samples.varint(len(guids)) + b"".join(guids) + samples.varint(len(descriptors))
    for one, group, same in zip(descriptors, groups, fixed):
        out += samples.varint(guids.index(one[0])) + samples.varint(one[1]) + bytes(one[2:6]) + samples.varint(one[6])
        out += samples.varint(one[7]) + samples.varint(len(group[0]["payload"]) + 1 if same else 0)
    out += samples.varint(len(contexts)) + b"".join(samples.varint(value + 1 & 0xFFFFFFFF) for one in contexts for value in one)
    steps, time = [], first
    for event in events:
        steps.append(event["time"] - time << 1)
        time = event["time"]
    width = max(1, (max(steps).bit_length() + 7) // 8)
    out += bytes([width]) + planes([descriptors.index(descriptor_of(event)) for event in events], ptl_reader.width(len(descriptors)))
    out += planes([contexts.index((event["cpu"], event["pid"], event["tid"])) for event in events], ptl_reader.width(len(contexts)))
    out += planes(steps, width)
    for group, same in zip(groups, fixed):
        payloads = [event["payload"] for event in group]
        if same:
            out += b"".join(bytes(payload[k] for payload in payloads) for k in range(len(payloads[0])))
        else:
            out += b"".join(samples.varint(len(payload)) for payload in payloads) + b"".join(payloads)
    return out + encode_extras(events, guids)


def encode_extras(events, guids):
    out, at, count = b"", 0, 0
    for i, event in enumerate(events):
        flags = event["flags"] & ~3 | bool(event["activity"]) | bool(event["related"]) << 1
        if not flags and not event["extended"]:
            continue
        out += samples.varint(i - at) + samples.varint(flags)
        out += b"".join(samples.varint(guids.index(event[name])) for name in ("activity", "related") if event[name])
        out += samples.varint(len(event["extended"]))
        out += b"".join(samples.varint(kind) + samples.varint(len(data)) + data for kind, data in event["extended"])
        at, count = i, count + 1
    return samples.varint(count) + out


def put_events(buffer, events):
    """Puts events into the buffer if they can be encoded: a step of 2^63 ns does not fit in eight bytes."""
    events.sort(key=lambda event: event["time"])
    first, last = events[0]["time"], events[-1]["time"]
    if last - first >= 1 << 62 or len(events) > 1 << 16:
        return
    buffer.set("records", len(events))
    buffer.set("first_time", first)
    buffer.set("last_time", last)
    buffer.set_raw(encode_events(events, first), buffer.field("codec"))


def other_id(event, random):
    event[random.choice(("pid", "tid", "cpu"))] = random.choice((0, 1, 2, 101, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF))


def other_descriptor(event, random):
    name = random.choice(("id", "version", "channel", "level", "opcode", "task", "keyword"))
    event[name] = random.choice((0, 1, 2, 3, 4, 10, 16, 255)) if name != "keyword" else extreme(random)


def other_time(event, random):
    step = random.choice((1, 1000, 10 ** 6, 10 ** 12))
    event["time"] = min(TIME_MAX, max(0, event["time"] + random.choice((-step, step))))


def other_payload(event, random):
    payload = bytearray(event["payload"])
    change_bytes(payload, random)
    event["payload"] = bytes(payload[:65000])


def other_number(event, random):
    """Changes a number at an offset of a kernel event's fields."""
    payload = bytearray(event["payload"])
    size = random.choice((4, 8))
    if len(payload) >= size:
        put(payload, (random.randrange(0, len(payload) - size + 1, random.choice((1, 4))), size), extreme(random))
        event["payload"] = bytes(payload)


def other_end(event, random):
    event["payload"] = event["payload"][:random.randrange(len(event["payload"]) + 1)] + bytes(random.choice((0, 1, 8)))


def other_ids(event, random):
    event[random.choice(("activity", "related"))] = random.choice((bytes(16), samples.PROVIDER, None))
    event["flags"] = random.choice((0, 4))


def other_extended(event, random):
    event["extended"] = [(random.choice((1, 5, 9, 12, 0xFFFF)), bytes(random.choice((0, 1, 2, 8, 400)))) for _ in range(random.choice((1, 2, 40)))]


EVENT_CHANGES = (other_id, other_descriptor, other_time, other_payload, other_number, other_number, other_end, other_ids, other_extended)


def events_again(file, random):
    """Changes events: fields, repetitions, omissions, times."""
    buffer = file.pick(random, EVENTS)
    events = events_of(buffer) if buffer else []
    if not events:
        return
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(events))
        choice = random.random()
        if choice < 0.1 and len(events) > 1:
            del events[at]
        elif choice < 0.25:
            events[at:at] = [dict(events[at]) for _ in range(random.choice((1, 3, 200)))]
        elif choice < 0.35:
            other = random.choice(events)
            events[at]["time"], other["time"] = other["time"], events[at]["time"]
        else:
            random.choice(EVENT_CHANGES)(events[at], random)
    put_events(buffer, events)


# ---- packets ----------------------------------------------------------------------------------------------------


def number(random, size):
    return random.choice((extreme(random), random.getrandbits(64), 0x401000 + random.randrange(64))).to_bytes(9, "little")[:size]


def target(random):
    """Returns a packet with an address: TIP, TIP.PGE, TIP.PGD or FUP, with any compression."""
    ways, kind = random.randrange(8), random.choice((0x0D, 0x11, 0x01, 0x1D))
    return bytes([ways << 5 | kind]) + number(random, (0, 2, 4, 6, 6, 0, 8, 0)[ways])


PACKETS = (
    lambda random: bytes([random.randrange(2, 256, 2)]),                      # TNT of 8 bits, or the start of an extended packet
    lambda random: b"\x02\xa3" + number(random, 6),                           # TNT of 64 bits
    target, target, target,
    lambda random: b"\x99" + bytes([random.choice((0, 1, 2, 3, 0x20, 0x21, 0x22, 0x80))]),  # MODE
    lambda random: b"\x02\x43" + number(random, 6),                           # PIP
    lambda random: b"\x02\xc8" + number(random, 5),                           # VMCS
    lambda random: b"\x19" + number(random, 7),                               # TSC
    lambda random: b"\x59" + number(random, 1),                               # MTC
    lambda random: b"\x02\x73" + number(random, 5),                           # TMA
    lambda random: b"\x02\x03" + number(random, 2),                           # CBR
    lambda random: bytes([random.choice((3, 7, 0xFF)), 0xFF, random.randrange(256)]),       # CYC
    lambda random: samples.PSB, lambda random: b"\x02\x23", lambda random: samples.PSB + b"\x02\x23",
    lambda random: b"\x02\xf3", lambda random: b"\x02\x83",                   # OVF, TraceStop
    lambda random: b"\x02\x12" + number(random, 4), lambda random: b"\x02\xb2" + number(random, 8),  # PTWRITE
    lambda random: b"\x02\x62" + number(random, 1), lambda random: b"\x02\xc2" + number(random, 8),  # EXSTOP, MWAIT
    lambda random: b"\x02\x22" + number(random, 2), lambda random: b"\x02\xa2" + number(random, 5),  # PWRE, PWRX
    lambda random: b"\x02\x63" + number(random, 1), lambda random: b"\x02\x33" + number(random, 1),  # BBP, BEP
    lambda random: b"\x02\x13" + number(random, 2), lambda random: b"\x02\x53" + number(random, 9),  # CFE, EVD
)


def packets(file, random):
    """Overwrites packets with other packets, or inserts packets."""
    buffer = file.pick(random, PT)
    if not buffer:
        return
    raw = buffer.raw()
    for _ in range(random.choice((1, 1, 3, 20))):
        new = b"".join(random.choice(PACKETS)(random) for _ in range(random.choice((1, 1, 2, 6))))
        at = random.randrange(len(raw) + 1)
        # Overwriting keeps the positions in the side area and in later buffers.
        raw[at:at + (len(new) if random.random() < 0.7 else 0)] = new
    if buffer.field("raw_size") <= len(raw):
        raw = raw[:buffer.field("raw_size")] if random.random() < 0.7 else raw
    buffer.set_raw(raw, buffer.field("codec"))


# ---- blobs ------------------------------------------------------------------------------------------------------


def whole_blobs(buffer):
    """Returns (hash, type, bytes) of a buffer's blobs, or None if any blob is incomplete."""
    raw, at, found = bytes(buffer.raw()), 0, []
    for kind, body in items(buffer.side[:-8]):
        cursor = ptl_reader.Cursor(body)
        while kind == 2 and cursor.left():
            name, blob_type, size, offset, length = cursor.take(32), cursor.varint(), cursor.varint(), cursor.varint(), cursor.varint()
            if offset or length != size or at + size > len(raw):
                return None
            found.append((name, blob_type, raw[at:at + size]))
            at += size
    return found


def rename(file, old, new):
    """Replaces a blob's hash in events, in metadata, and in chunks of other buffers."""
    for buffer in file.buffers:
        kind = buffer.field("kind")
        if kind == EVENTS:
            events = events_of(buffer)
            if any(old in event["payload"] for event in events):
                for event in events:
                    event["payload"] = event["payload"].replace(old, new)
                put_events(buffer, events)
        elif kind == METADATA:
            buffer.set_raw(buffer.raw().replace(old, new), buffer.field("codec"))


def blob_again(file, random):
    """Changes a blob's contents, and replaces its hash throughout the trace."""
    buffer = file.pick(random, BLOB)
    try:
        blobs = whole_blobs(buffer) if buffer else None
    except ptl_reader.Bad:
        return
    if not blobs:
        return
    # Structured blobs are few and small compared with code.
    at = random.choice([i for i, blob in enumerate(blobs) if blob[1] != 1] or range(len(blobs))) if random.random() < 0.8 else random.randrange(len(blobs))
    old, blob_type, data = blobs[at]
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        (elf_header if data[:4] == b"\x7fELF" and random.random() < 0.9 else change_bytes)(data, random)
    new = hashlib.sha256(data).digest()
    blobs[at] = new, blob_type, bytes(data)
    body = b"".join(name + samples.varint(kind) + samples.varint(len(one)) + samples.varint(0) + samples.varint(len(one)) for name, kind, one in blobs)
    buffer.set_raw(b"".join(one for _, _, one in blobs), buffer.field("codec"))
    buffer.set_side(samples.item(2, body) + bytes(8))
    rename(file, old, new)


# ---- ELF and DWARF ----------------------------------------------------------------------------------------------

HEADER = {"type": (16, 2), "machine": (18, 2), "entry": (24, 8), "phoff": (32, 8), "shoff": (40, 8), "phentsize": (54, 2),
          "phnum": (56, 2), "shentsize": (58, 2), "shnum": (60, 2), "shstrndx": (62, 2)}
SECTION = {"name": (0, 4), "type": (4, 4), "flags": (8, 8), "address": (16, 8), "offset": (24, 8), "size": (32, 8), "link": (40, 4),
           "info": (44, 4), "alignment": (48, 8), "entry": (56, 8)}
SYMBOL = {"name": (0, 4), "info": (4, 1), "other": (5, 1), "section": (6, 2), "value": (8, 8), "size": (16, 8)}
SEGMENT = {"type": (0, 4), "flags": (4, 4), "offset": (8, 8), "address": (16, 8), "file": (32, 8), "memory": (40, 8), "alignment": (48, 8)}


def field_at(data, at, fields, random, value=None):
    place, size = fields[random.choice(list(fields))]
    if at >= 0 and at + place + size <= len(data):
        put(data, (at + place, size), extreme(random) if value is None else value)


def section_headers(data):
    """Returns the offsets of the section headers inside the data."""
    shoff, = struct.unpack_from("<Q", data, 40)
    count, = struct.unpack_from("<H", data, 60)
    return [shoff + 64 * i for i in range(min(count, 100)) if shoff + 64 * (i + 1) <= len(data)]


def elf_header(data, random):
    """Changes an ELF file: a field of headers or symbols, or bytes inside a section, such as DWARF."""
    if len(data) < 64:
        return
    choice, headers = random.random(), section_headers(data)
    if choice < 0.1:
        field_at(data, 0, HEADER, random)
    elif choice < 0.2:
        count, = struct.unpack_from("<H", data, 56)
        field_at(data, struct.unpack_from("<Q", data, 32)[0] + 56 * random.randrange(max(1, min(count, 20))), SEGMENT, random)
    elif choice < 0.4 and headers:
        one, other = random.choice(headers), random.choice(headers)
        if random.random() < 0.5:
            field_at(data, one, SECTION, random)
        else:  # offset or type of another section
            place, size = random.choice(((4, 4), (24, 8), (32, 8), (40, 4)))
            data[one + place:one + place + size] = data[other + place:other + place + size]
    elif headers:
        within_section(data, random.choice(headers), random)


def within_section(data, header, random):
    kind, = struct.unpack_from("<I", data, header + 4)
    offset, size = struct.unpack_from("<QQ", data, header + 24)
    if kind == 8 or not size or offset + size > len(data):
        return
    if kind in (2, 11) and random.random() < 0.7:
        field_at(data, offset + 24 * random.randrange(max(1, size // 24)), SYMBOL, random,
                 random.choice((None, random.randrange(1 << 12))))
        return
    part = data[offset:offset + size]
    change_bytes(part, random)
    # The section keeps its size, so that the offsets in the headers stay right.
    data[offset:offset + size] = (part + bytes(size))[:size]


CHANGES = (events_again, events_again, events_again, packets, packets, blob_again, blob_again, blob_again)
