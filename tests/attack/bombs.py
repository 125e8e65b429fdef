# SPDX-License-Identifier: BSD-2-Clause
"""Small files that expand to much data: each kind of object in a reader's memory, as often as a small file can state."""
import struct

import samples
import zstandard
from damage import BLOB, EVENTS, METADATA, PT, File, items
from samples import NONE, PROVIDER, item, number, varint

MANY = 1 << 19
# First bytes of the GUIDs of the kernel's classes in a file.
PROCESS, THREAD, IMAGE = "d0a86f3d", "d1a86f3d", "1d5db12c"


def packed(kind, stream, raw, expansion=0, **fields):
    """Returns a compressed buffer. expansion: limit of content size to buffer size, kept by a skippable frame."""
    stored = zstandard.ZstdCompressor(level=3).compress(raw)
    if len(stored) > len(raw):
        return samples.Buffer(kind, stream, raw, **fields)
    missing = len(raw) // expansion - len(stored) if expansion else 0
    if missing > 8:
        stored += struct.pack("<II", 0x184D2A50, missing - 8) + bytes(missing - 8)
    buffer = samples.Replaced(kind, stream, len(raw), stored)
    buffer.fields.update(fields)
    return buffer


def metadata(*records, sequence=0, position=0):
    return packed(METADATA, 0, b"".join(records), sequence=sequence, position=position)


def counter(count, at, width=3):
    """Returns planes of rising numbers at offset `at` of otherwise equal payloads."""
    return {at + k: bytes(i >> 8 * k & 0xFF for i in range(count)) for k in range(width)}


def same_events(count, payload=b"", planes=(), provider=PROVIDER, descriptor=(2, 1, 4, 0), contexts=((0, 7, 8),), sequence=0,
                expansion=250):
    """Returns a buffer of events that differ only in planes of their payloads. descriptor: id, version, level, opcode."""
    number_of, version, level, opcode = descriptor
    raw = varint(1) + provider + varint(1) + varint(0) + varint(number_of) + bytes([version, 0, level, opcode])
    raw += varint(0) + varint(0) + varint(len(payload) + 1) + varint(len(contexts))
    raw += b"".join(varint(value + 1 & NONE) for context in contexts for value in context) + b"\1"
    width = samples.width(len(contexts)) if len(contexts) <= 65536 else 3
    raw += b"".join(bytes(i % len(contexts) >> 8 * k & 0xFF for i in range(count)) for k in range(width)) + bytes(count)
    planes = dict(planes)
    raw += b"".join(planes.get(k) or payload[k:k + 1] * count for k in range(len(payload))) + varint(0)
    return packed(EVENTS, 10, raw, expansion, records=count, first_time=1000, last_time=1000, sequence=sequence,
                  position=sequence << 24)


def machine():
    return item(1, item(1, b"qemu") + number(2, 1) + number(14, 4) + number(15, 1000) + number(16, 9000))


def with_machine(*buffers, records=()):
    return samples.close([metadata(machine(), *records), *buffers])


# ---- events -----------------------------------------------------------------------------------------------------


def empty_events():
    return with_machine(*(same_events(MANY, sequence=i) for i in range(2)))


def thread_events():
    return with_machine(same_events(MANY // 4, contexts=[(0, i, i) for i in range(MANY // 4)]))


def kernel_events(trace, provider_start, at, count):
    """Repeats the first event of a kernel class in another trace, with a rising number at an offset of the payload."""
    for buffer in File(trace).buffers:
        if buffer.field("kind") == EVENTS:
            for event in decoded(buffer):
                if event["provider"].hex().startswith(provider_start):
                    descriptor = event["id"], event["version"], event["level"], event["opcode"]
                    payload = event["payload"]
                    return with_machine(same_events(count, payload, counter(count, at), event["provider"], descriptor,
                                                    ((NONE, event["pid"], event["tid"]),)))
    raise ValueError(f"no event of {provider_start}")


def decoded(buffer):
    import ptl_reader
    return ptl_reader.decode_events(bytes(buffer.raw()), ptl_reader.Header(bytes(buffer.header)))


def many_fields():
    """Many events without a payload, with fields that take no bytes."""
    schema = samples.schema(2, [samples.schema_field(b"", 22)] * 16384)
    return with_machine(same_events(MANY // 8), records=[schema])


def many_elements():
    """Arrays in arrays, with the maximal number of elements of a payload."""
    members = [samples.schema_field(b"", 23, array=1, array_length=1000, length=2),
               samples.schema_field(b"", 23, array=1, array_length=1000, length=1), samples.schema_field(b"", 1)]
    return with_machine(same_events(4, bytes(1 << 20)), records=[samples.schema(2, members)])


def long_names():
    """Many events with names and a message of maximal length."""
    name = b"n" * 1024
    schema = item(3, item(1, PROVIDER) + number(2, 2) + number(3, 1) + b"".join(item(tag, name) for tag in (5, 6, 7, 8)) +
                  item(9, b"m" * 16384) + samples.schema_field(name, 5, value_map=name))
    return with_machine(same_events(20000, bytes(4)), records=[schema, samples.value_map([(0, name)], name=name)])


def long_flags():
    """A value with a name of maximal length for each bit."""
    entries = samples.value_map([(1 << bit, b"n" * 1024) for bit in range(64)], kind=1, name=b"Bits")
    schema = samples.schema(2, [samples.schema_field(b"v", 7, value_map=b"Bits")])
    return with_machine(same_events(2000, b"\xff" * 8), records=[entries, schema])


def extended_items():
    extra = varint(0) + varint(4) + varint(1024) + (varint(1) + varint(0)) * 1024
    further = varint(1) + extra[1:]
    raw = samples.event_payload(times=[5] * 2000, which=[0] * 2000, where=[0] * 2000, descriptors=[(0, 2, 1)],
                                contexts=[(0, 7, 8)], payloads=[b""] * 2000, extras=[extra] + [further] * 1999)
    return with_machine(packed(EVENTS, 10, raw, 250, records=2000, first_time=5, last_time=5))


# ---- metadata ---------------------------------------------------------------------------------------------------


def streams():
    return samples.close([metadata(machine(), *(samples.stream_record(i, PT, i) for i in range(1, MANY // 4)))])


def records(kind, body, count=1 << 18):
    return lambda: samples.close([metadata(machine(), *[item(kind, body)] * count)])


def schemas():
    return samples.close([metadata(machine(), *(samples.schema(i, [samples.schema_field(b"a", 5)] * 4) for i in range(65536)))])


def names():
    """A map with very many names, and fields that use the map."""
    entries = samples.value_map([(i, b"n%d" % i) for i in range(16384)])
    schema = samples.schema(2, [samples.schema_field(b"v", 5, value_map=b"Map")] * 1000)
    return with_machine(same_events(500, bytes(4000)), records=[entries, schema])


def messages():
    """Messages that repeat a long field."""
    schema = item(3, item(1, PROVIDER) + number(2, 2) + number(3, 1) + item(5, b"P") + item(6, b"E") +
                  item(9, b"{0}" * 300000) + samples.schema_field(b"x", 17))
    return with_machine(same_events(4, b"A" * 60000 + b"\0"), records=[schema])


# ---- packets, blobs, buffers ------------------------------------------------------------------------------------


def padding():
    return with_machine(*(packed(PT, 20, bytes(16 << 20), sequence=i, position=i << 24, pid=7, tid=7) for i in range(2)))


def packets(unit, count, trace):
    """The same packets repeated behind a PSB, in the streams of another trace."""
    file = File(trace)
    buffer = next(buffer for buffer in file.buffers if buffer.field("kind") == PT)
    buffer.set_raw(bytes(buffer.raw()) + unit * count, 1)
    buffer.set_side(b"")
    file.buffers = [other for other in file.buffers if other.field("kind") != PT] + [buffer]
    return bytes(file)


def encoded(events):
    """The payload of a buffer of events with distinct descriptors and contexts, without extras."""
    guids = sorted({event["provider"] for event in events})
    raw = varint(len(guids)) + b"".join(guids) + varint(len(events))
    for event in events:
        raw += varint(guids.index(event["provider"])) + varint(event["id"])
        raw += bytes(event[name] for name in ("version", "channel", "level", "opcode"))
        raw += varint(event["task"]) + varint(event["keyword"]) + varint(0)
    raw += varint(len(events)) + b"".join(varint(event[name] + 1 & NONE) for event in events for name in ("cpu", "pid", "tid"))
    width, times = samples.width(len(events)), [event["time"] for event in events]
    steps = [time - before for time, before in zip(times, [min(times)] + times)]
    raw += b"\x08" + samples.planes(range(len(events)), width) * 2
    raw += samples.planes([step * 2 if step >= 0 else -step * 2 - 1 for step in steps], 8)
    return raw + b"".join(varint(len(event["payload"])) + event["payload"] for event in events) + varint(0)


def long_paths(trace):
    """Taken branches in images with paths of maximal length."""
    file = File(packets(b"\xfe", 1 << 16, trace))
    for buffer in file.buffers:
        if buffer.field("kind") != EVENTS:
            continue
        events = decoded(buffer)
        for event in events:
            if event["provider"].hex().startswith(IMAGE):
                payload = event["payload"]
                end = 56
                while payload[end:end + 2] != b"\0\0":
                    end += 2
                event["payload"] = payload[:56] + ("/" + "p" * 4095).encode("utf-16-le") + payload[end:]
        buffer.set_raw(encoded(events), 1)
    return bytes(file)


def psbs():
    """Buffers with side areas full of entries."""
    side = samples.side(item(1, (varint(32) + varint(0)) * 130000))
    return samples.close([metadata(machine())] + [
        samples.Buffer(PT, 20, b"", side, sequence=i, position=i * 16 * 130000) for i in range(3)])


def blobs():
    """Empty blobs with distinct hashes, distinguished only by an index."""
    return samples.close([metadata(machine())] + [
        samples.Buffer(BLOB, 1, b"", samples.side(item(2, b"".join(
            (i << 16 | j).to_bytes(32, "big") + b"\1\0\0\0" for j in range(7000)))), sequence=i) for i in range(6)])


def buffers(kind):
    """Empty buffers, each of a separate stream."""
    return lambda: samples.close([metadata(machine())] + [samples.Buffer(kind, 100 + i, b"", pid=i, tid=i)
                                                          for i in range(10000)])


def frames():
    """A byte after a million empty frames."""
    empty, one = (zstandard.ZstdCompressor().compress(part) for part in (b"", b"a" * (4 << 20)))
    return with_machine(samples.Replaced(PT, 20, 4 << 20, empty * 200000 + one))


def every(traces):
    """Returns the bombs: (name, function that makes the file)."""
    plain = next(data for data in traces if any(kind == 3 for kind in kinds(data)) and kernel(data))
    return [
        ("empty events", empty_events), ("events of many threads", thread_events), ("many fields", many_fields),
        ("many elements", many_elements), ("extended items", extended_items),
        ("image events", lambda: kernel_events(plain, IMAGE, 1, 60000)),
        ("process events", lambda: kernel_events(plain, PROCESS, 8, 60000)),
        ("thread events", lambda: kernel_events(plain, THREAD, 4, 60000)),
        ("streams", streams), ("losses", records(4, number(1, 1) + item(9, b"why"))),
        ("provenance", records(5, item(1, b"t") + item(6, b""), (1 << 19) - 5)), ("unknown records", records(99, b"")),
        ("machines", records(1, item(1, b"m") + number(32, 3))), ("schemas", schemas), ("names", names), ("messages", messages),
        ("long names", long_names), ("long flags", long_flags), ("long paths", lambda: long_paths(plain)),
        ("padding", padding), ("taken branches", lambda: packets(b"\xfe", 1 << 20, plain)),
        ("branches not taken", lambda: packets(b"\x80", 1 << 20, plain)),
        ("synchronisation", lambda: packets(samples.PSB + b"\x02\x23", 1 << 17, plain)),
        ("overflows", lambda: packets(b"\x02\xf3", 1 << 19, plain)), ("PSBs", psbs), ("blobs", blobs),
        ("PT streams", buffers(PT)), ("event streams", buffers(EVENTS)), ("frames", frames),
    ]


def kinds(data):
    return {buffer.field("kind") for buffer in File(data).buffers}


def kernel(data):
    return any(event["provider"].hex().startswith(PROCESS) for buffer in File(data).buffers
               if buffer.field("kind") == EVENTS for event in decoded(buffer))
