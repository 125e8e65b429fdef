# SPDX-License-Identifier: BSD-2-Clause
"""Sample trace files, made byte by byte from docs/format.md: good files, bad files, and files of newer versions.

samples() returns (name, bytes). A name begins with good-, bad- or unsupported-, and tells the special property
of the file.
"""
import hashlib
import struct

import xxhash
import zstandard

METADATA, EVENTS, PT, BLOB, INDEX, TRUTH = 1, 2, 3, 4, 5, 6
NONE = 0xFFFFFFFF
GUID = bytes(range(16))
FILE_ID = int.from_bytes(GUID[:8], "little")
PROVIDER = bytes.fromhex("11223344556677889900aabbccddeeff")
PSB = b"\x02\x82" * 8


def xxh64(data):
    return xxhash.xxh64(data, seed=0).intdigest()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


def item(kind, body):
    return varint(kind) + varint(len(body)) + body


def number(tag, value):
    return item(tag, varint(value))


def side(*items):
    data = b"".join(items)
    return data + struct.pack("<Q", xxh64(data))


def file_header(major=1, minor=0, reserved=0, tail=bytes(16), checksum=None):
    data = b"\x89PTL\r\n\x1a\n" + struct.pack("<HHI", major, minor, reserved) + GUID
    data += struct.pack("<q", 1700000000123456789) + tail
    return data + struct.pack("<Q", xxh64(data) if checksum is None else checksum)


class Buffer:
    """Makes a buffer. Any header field can be given; other fields follow from the given fields."""

    def __init__(self, kind, stream, payload=b"", side_area=b"", compress=False, **fields):
        stored = zstandard.ZstdCompressor().compress(payload) if compress else payload
        self.fields = dict(codec=int(compress), flags=0, reserved1=0, kind=kind, stream=stream, cpu=NONE, pid=NONE,
                           tid=NONE, records=0, side_size=len(side_area), raw_size=len(payload),
                           stored_size=len(stored), reserved2=0, sequence=0, first_time=0, last_time=0, position=0,
                           file_id=FILE_ID, checksum=xxh64(stored))
        self.side, self.stored = side_area, stored
        self.fields.update(fields)

    def header(self):
        data = b"PTLB" + struct.pack("<BBH10I6Q", *self.fields.values())
        return data + struct.pack("<Q", xxh64(data))

    def __bytes__(self):
        return self.header() + self.side + self.stored


def close(buffers, ends=(), gaps=(), items=b"", index_fields=None, trailer=None, header=None):
    """Makes a whole file. gaps: {number of the buffer: bytes before the buffer}. trailer: wrong fields."""
    gaps = dict(gaps)
    data, index = header or file_header(), b""
    for i, buffer in enumerate(buffers):
        gap = gaps.get(i, b"")
        data += gap + bytes(buffer)
        index += item(1, varint(len(gap)) + buffer.header() + buffer.side)
    for stream, sequence, position in ends:
        index += item(2, varint(stream) + varint(sequence) + varint(position))
    at = len(data)
    buffer = Buffer(INDEX, 99, index + items)
    buffer.fields.update(index_fields or {})
    data += bytes(buffer)
    fields = dict(magic=b"PTLINDEX", offset=at, count=1, reserved=0, file_id=FILE_ID)
    fields.update(trailer or {})
    end = struct.pack("<8sQIIQ", *fields.values())
    return data + end + struct.pack("<Q", xxh64(end))


def unclosed(buffers, header=None):
    return (header or file_header()) + b"".join(bytes(buffer) for buffer in buffers)


# ---- metadata -----------------------------------------------------------------------------------------------


def machine():
    body = item(1, b"qemu") + number(2, 1) + item(4, b"host") + item(5, b"6.1.0") + item(6, b"x86_64")
    body += number(7, 2) + item(8, b"A CPU") + number(9, 1) + number(10, 6) + number(11, 142) + number(12, 10)
    body += number(13, 64) + number(14, 1) + number(15, 1000) + number(16, 9000) + number(17, 2 * 1700000000)
    body += number(18, 50) + number(20, (1 << 64) - 5) + number(21, 0xFFFFFFFF) + number(22, 31)
    body += number(23, 2400000000) + number(24, 3) + number(25, 1) + number(26, 4096) + number(27, 3)
    body += number(28, 1) + number(29, 168) + number(30, 2) + number(31, 24)
    return item(1, body)


def schema_field(name, kind, form=0, array=0, length=0, array_length=0, value_map=b""):
    body = item(1, name) + number(2, kind)
    for tag, value in ((3, form), (4, array), (5, length), (6, array_length)):
        body += number(tag, value) if value else b""
    return item(10, body + (item(7, value_map) if value_map else b""))


def schema(event, fields):
    body = item(1, PROVIDER) + number(2, event) + number(3, 1) + item(5, b"Provider") + item(6, b"Event")
    return item(3, body + item(7, b"Task") + item(8, b"Opcode") + item(9, b"{0}") + b"".join(fields))


def all_types():
    return schema(1, [schema_field(b"f%d" % kind, kind) for kind in range(1, 22)] + [
        schema_field(b"six", 22, length=6), schema_field(b"array", 3, array=1, array_length=3),
        schema_field(b"counted", 5, form=1, array=2, value_map=b"Map"),
        schema_field(b"points", 23, array=2, length=3), schema_field(b"x", 2), schema_field(b"names", 23, length=1),
        schema_field(b"name", 17), schema_field(b"rest", 22)])


def all_types_payload():
    numbers = struct.pack("<BbHhIiQqfdBIQQq", 255, -1, 65535, -2, 1 << 31, -3, 1 << 63, -4, 1.5, -2.25, 1, 1, 7, 8, -9)
    strings = PROVIDER + b"utf8\xff\0" + "wide".encode("utf-16-le") + b"\0\0" + struct.pack("<H", 3) + b"abc"
    strings += struct.pack("<H", 2) + b"a\0b\0" + struct.pack("<H", 4) + b"\1\2\3\4" + b"sixsix"
    arrays = struct.pack("<HHH", 1, 2, 3) + struct.pack("<HII", 2, 10, 20)
    return numbers + strings + arrays + struct.pack("<H", 2) + b"\x05one\0" + b"\xfetwo\0" + b"the rest"


def value_map(entries, kind=0, name=b"Map", provider=PROVIDER):
    body = item(1, provider) + (number(2, kind) if kind else b"") + item(3, name)
    for value, called in entries:
        body += item(4, (number(1, value) if value else b"") + item(2, called))
    return item(6, body)


def maps():
    full = item(3, item(1, PROVIDER) + number(2, 77) + item(10, item(1, b"f") + number(2, 5) + item(7, b"Map") +
                                                            number(8, 9)) + number(11, 5) + number(12, 200) +
                number(13, 65535) + number(14, (1 << 64) - 1) + number(15, 0xFFFFFFFF))
    return [full, value_map([(7, b"seven"), (0, b"none"), (7, b"again"), ((1 << 64) - 1, b"minus one")]),
            value_map([(1 << 63, b"top"), (1, b"low")], kind=2, name=b""), value_map([], kind=1, name=b"Empty"),
            value_map([(3, b"three"), (7, b"late"), (0, b"")]), value_map([(1, b"x")], provider=bytes(16)),
            value_map([(1, b"unknown kind")], kind=4000000000)]


def longest_names():
    """Makes names of maximal length, except in the loss, which is shown once."""
    name = b"n" * 1024
    body = item(1, PROVIDER) + number(2, 78) + b"".join(item(tag, name) for tag in (5, 6, 7, 8)) + item(9, b"m" * 16384)
    return [item(3, body + schema_field(name, 5, value_map=name)), value_map([(1, name)], name=name),
            item(4, number(1, 2) + item(9, b"c" * 70000))]


def loss():
    return item(4, number(1, 2) + number(2, 4) + number(3, 8) + number(5, 3) + number(6, 4096) + number(7, 5) +
                number(8, 6) + item(9, b"disk full"))


def provenance():
    one = item(6, item(1, b"in.ptl") + number(2, 12345) + item(3, bytes(32)))
    return item(5, item(1, b"ptl-relog") + item(2, b"0.1.0") + item(3, b"ptl-relog 'a b'") + number(4, 2 * 17) +
                item(5, b"rule") + one + one)


def attachment():
    return item(7, number(1, 2) + number(2, 9) + item(3, b"libc.debug") + item(4, b"h" * 32) + item(5, b"build id"))


def recording():
    return item(8, item(1, GUID))


def stream_record(number_of, kind, cpu=None):
    return item(2, number(1, number_of) + number(2, kind) + (number(3, cpu + 1) if cpu is not None else b""))


def metadata(*records, **fields):
    return Buffer(METADATA, 0, b"".join(records), records=len(records), **fields)


# ---- events -------------------------------------------------------------------------------------------------


def planes(values, width):
    return b"".join(bytes(value >> 8 * k & 255 for value in values) for k in range(width))


def width(n):
    return 0 if n <= 1 else 1 if n <= 256 else 2


def event_payload(times, which, where, descriptors, contexts, payloads, guids=(PROVIDER,), extras=(), first=None,
                  time_width=None):
    """Makes a payload. descriptors: (provider, id, layout); extras: encoded bytes."""
    first = min(times) if first is None else first
    steps = [(a - b + (1 << 63)) % (1 << 64) - (1 << 63) for a, b in zip(times, [first] + times)]
    steps = [s * 2 if s >= 0 else -s * 2 - 1 for s in steps]
    time_width = time_width or max(1, (max(steps).bit_length() + 7) // 8)
    out = varint(len(guids)) + b"".join(guids) + varint(len(descriptors))
    for provider, number_of, layout in descriptors:
        out += varint(provider) + varint(number_of) + bytes([1, 0, 4, 0]) + varint(3) + varint(1 << 40)
        out += varint(layout)
    out += varint(len(contexts)) + b"".join(varint(v + 1 & NONE) for c in contexts for v in c)
    out += bytes([time_width]) + planes(which, width(len(descriptors))) + planes(where, width(len(contexts)))
    out += planes(steps, time_width)
    for d, (_, _, layout) in enumerate(descriptors):
        mine = [p for p, w in zip(payloads, which) if w == d]
        if layout:
            out += b"".join(bytes(p[k] for p in mine) for k in range(layout - 1))
        else:
            out += b"".join(varint(len(p)) for p in mine) + b"".join(mine)
    return out + varint(len(extras)) + b"".join(extras)


def events(times, stream=10, sequence=0, position=0, compress=False, fields=None, **changes):
    """Makes a buffer of events with payloads of four bytes."""
    arguments = dict(which=[0] * len(times), where=[0] * len(times), descriptors=[(0, 2, 5)], contexts=[(0, 7, 8)],
                     payloads=[struct.pack("<I", t & NONE) for t in times])
    arguments.update(changes)
    payload = event_payload(times, **arguments)
    header = dict(records=len(times), first_time=min(times), last_time=max(times), sequence=sequence,
                  position=position, cpu=stream)
    header.update(fields or {})
    return Buffer(EVENTS, stream, payload, compress=compress, **header)


def mixed_events():
    activity = bytes(range(100, 116))
    extras = [varint(0) + varint(3) + varint(1) + varint(0) + varint(0),
              varint(3) + varint(4) + varint(2) + varint(1) + varint(3) + b"abc" + varint(65535) + varint(0)]
    return events([500, 700, 600, 600, 1 << 40], which=[0, 1, 2, 0, 1], where=[0, 1, 0, 1, 0],
                  descriptors=[(0, 2, 5), (0, 1, 0), (1, 9, 1)], contexts=[(NONE, NONE, NONE), (3, 4, 5)],
                  payloads=[b"aaaa", all_types_payload(), b"", b"bbbb", all_types_payload()[:-30]],
                  guids=(PROVIDER, activity), extras=extras)


# ---- PT and blobs -------------------------------------------------------------------------------------------


def pt_bytes(size, seed=1):
    out = bytearray()
    while len(out) < size:
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        out.append(seed >> 33 & 255)
    return bytes(out)


def pt(data, sequence=0, position=0, psbs=(), stream=20, first=0, **fields):
    body, last = b"", (position, first)
    for offset, time in psbs:
        body += zigzag(offset - last[0]) + zigzag(time - last[1])
        last = (offset, time)
    header = dict(sequence=sequence, position=position, first_time=first, last_time=first, tid=77)
    header.update(fields)
    return Buffer(PT, stream, data, side(item(1, body)) if psbs else b"", **header)


def chunk(blob, offset=0, length=None, kind=1, name=None):
    length = len(blob) - offset if length is None else length
    return (name or hashlib.sha256(blob).digest()) + varint(kind) + varint(len(blob)) + varint(offset) + varint(length)


def blobs(chunks, payload, sequence=0, position=0, **fields):
    return Buffer(BLOB, 1, payload, side(item(2, b"".join(chunks))), sequence=sequence, position=position, **fields)


# ---- the samples --------------------------------------------------------------------------------------------


def everything():
    """Makes small buffers of every kind."""
    big = pt_bytes(300, 5)
    return [
        metadata(machine(), all_types(), loss(), provenance(), stream_record(50, PT, 3), compress=True),
        mixed_events(),
        events([100 + 20 * i for i in range(40)], stream=11, compress=True),
        pt(PSB + pt_bytes(40), psbs=[(0, 900)], first=800),
        blobs([chunk(b"first"), chunk(b""), chunk(big, 0, 100)], b"first" + big[:100]),
        pt(pt_bytes(50, 3) + PSB, sequence=1, position=56, psbs=[(106, 950)], first=940),
        blobs([chunk(big, 100)], big[100:], sequence=1, position=105),
        Buffer(TRUTH, 30, b"truth" * 9, compress=True, first_time=3, last_time=4),
        events([1000, 1000, 1200], stream=11, sequence=1, position=1000),
        pt(b"after a hole", sequence=2, position=1000),
    ]


def good():
    rest = everything()
    yield "empty", close([])
    yield "everything", close(rest, ends=[(20, 3, 1012), (11, 2, 2000)])
    yield "unclosed", unclosed(rest)
    yield "metadata-alone", close([metadata(machine(), loss(), provenance(), all_types())])
    yield "maps", close([metadata(machine(), *maps())])
    yield "attachments", close([metadata(machine(), attachment(), item(7, item(4, b"g" * 32)))])
    yield "recordings", close([metadata(machine(), recording(), item(8, item(1, b"another recording"[:16])))])
    yield "longest-names", close([metadata(machine(), *longest_names())])
    yield "machine-twice", close([metadata(machine(), item(1, item(1, b"raw")))])
    yield "machines", close([metadata(machine(), item(1, item(1, b"qemu") + number(32, 2) + item(33, b"boot" * 9) + number(
        34, 4026531836) + number(35, 5) + number(36, 7)), item(1, item(1, b"raw") + number(32, 1)), item(
            1, item(1, b"again") + number(32, 1)))])
    yield "machine-long-text", close([metadata(item(1, item(1, b"s" * 100) + item(8, b"")))])
    yield "schema-twice", close([metadata(schema(2, [schema_field(b"a", 5)]), schema(2, []))] + [events([1, 2])])
    yield "times-near-the-end", close([events([(1 << 64) - 3, (1 << 64) - 1, 5])])
    yield "many-descriptors", close([events(
        list(range(1000, 1600)), which=[i % 300 for i in range(600)], where=[i % 270 for i in range(600)],
        descriptors=[(0, i, 3) for i in range(300)], contexts=[(i, i, i) for i in range(270)],
        payloads=[struct.pack("<H", i) for i in range(600)])])
    yield "payloads-of-no-bytes", close([events([1, 2, 3], descriptors=[(0, 2, 1)], payloads=[b""] * 3)])
    yield "wide-times", close([events([1, 2, 3], time_width=8)])
    yield "no-psb-entries", close([pt(b"x" * 7 + PSB[:5]), pt(PSB[5:] + b"yy" + PSB * 2, 1, 12),
                                   pt(b"\x82", 2, 57), pt(PSB[:8], 3, 58), pt(PSB[8:], 4, 67)])
    yield "tiny-pt-buffers", close([pt(bytes([b]), i, i) for i, b in enumerate(b"a" + PSB + b"b" + PSB)])
    yield "hole-at-the-end", close([pt(b"abc"), pt(b"", 1, 100)], ends=[(20, 2, 200)])
    yield "psb-of-an-earlier-buffer", close([pt(PSB * 4), pt(b"abc", 1, 64, psbs=[(16, 5), (32, 0), (500, 9)])])
    yield "two-zstd-frames", close([Replaced(PT, 20, 180, frames(b"abcd" * 20, b"efghi" * 20))])
    yield "blob-in-any-order", close([blobs([chunk(b"abcdef", 3, 3), chunk(b"abcdef", 0, 3)], b"defabc")])


class Replaced(Buffer):
    """Makes a buffer with the given stored bytes."""

    def __init__(self, kind, stream, raw_size, stored, **fields):
        super().__init__(kind, stream, stored, raw_size=raw_size, codec=1, **fields)


def frames(*parts):
    return b"".join(zstandard.ZstdCompressor().compress(part) for part in parts)


def changed(data, at, new):
    return data[:at] + new + data[at + len(new):]


def bad_files():
    whole = close(everything())
    yield "no-bytes", b""
    yield "other-magic", changed(whole, 0, b"XPTL")[:64]
    yield "short-header", whole[:40]
    yield "short-other", b"not a trace"
    yield "header-alone-damaged", changed(whole, 20, b"!")[:64]
    yield "header-magic-damaged", changed(whole, 1, b"Q")
    yield "header-checksum", changed(whole, 60, b"\0\0")
    yield "header-reserved", close([events([1])], header=file_header(reserved=1))
    yield "header-reserved-end", close([events([1])], header=file_header(tail=bytes(15) + b"\1"))
    yield "garbage-behind", whole + b"garbage"
    yield "garbage-behind-long", whole + b"P" * 300
    yield "garbage-between", close(everything(), gaps={3: b"PTLB garbage"})
    yield "garbage-between-unclosed", unclosed(everything()[:3]) + b"PTLB" * 50 + unclosed(everything()[3:])[64:]
    yield "zeros-behind", unclosed(everything()) + bytes(500)
    yield "bytes-gone", whole[:1500] + whole[1550:]
    yield "buffer-within-buffer", unclosed([pt(bytes(events([1])) + b"tail")])
    yield "buffer-of-another-file-within", unclosed([pt(bytes(events([1], fields={"file_id": 1})) + b"tail")])


def bad_buffers():
    def lone(name, buffer):
        return name, close([metadata(machine()), buffer, events([5, 6], stream=12)])

    yield lone("flags", pt(b"abc", flags=1))
    yield lone("reserved1", pt(b"abc", reserved1=1))
    yield lone("reserved2", pt(b"abc", reserved2=1))
    yield lone("times", pt(b"abc", first_time=2, last_time=1))
    yield lone("raw-size", pt(b"abc", raw_size=(16 << 20) + 1, codec=1))
    yield lone("raw-and-stored-differ", pt(b"abc", raw_size=4))
    yield lone("position", pt(b"abc", position=(1 << 63) - 2))
    yield lone("sequence", pt(b"abc", sequence=1 << 63))
    yield lone("file-id", pt(b"abc", file_id=1))
    yield lone("side-size", pt(b"abc", side_size=8))
    yield lone("payload-checksum", pt(b"abc", checksum=1))
    yield lone("zstd-garbage", Replaced(PT, 20, 100, b"garbage"))
    yield lone("zstd-too-short", Replaced(PT, 20, 100, frames(b"a" * 99)))
    yield lone("zstd-too-long", Replaced(PT, 20, 100, frames(b"a" * 101)))
    yield lone("zstd-cut", Replaced(PT, 20, 100, frames(pt_bytes(90) + b"a" * 10)[:-1]))
    yield lone("side-checksum", Buffer(PT, 20, b"abc", side(item(1, b"\0\0"))[:-1] + b"!"))
    yield lone("side-item-too-long", Buffer(PT, 20, b"abc", side(varint(1) + varint(9) + b"\0\0")))
    yield lone("side-psb-half", Buffer(PT, 20, b"abc", side(item(1, b"\0"))))
    yield lone("side-psb-close", pt(b"abc", psbs=[(0, 0), (15, 0)]))
    yield lone("side-psb-far", pt(b"abc", psbs=[(1 << 63, 0)]))
    yield lone("side-varint-long", Buffer(PT, 20, b"abc", side(b"\x81\0" + b"\0")))
    yield lone("side-in-events", Buffer(EVENTS, 13, b"", side(item(1, b"\0\0"))))
    yield "sequence-jump", close([events([1]), events([2], sequence=3, position=50)], ends=[(10, 9, 100)])
    yield "sequence-from-one", close([events([1], sequence=1)])
    yield "sequence-again", close([events([1]), events([2], position=50)])
    yield "position-back", close([pt(b"abcd"), pt(b"efgh", 1, 2), pt(b"ijkl", 2, 8)])
    yield "other-stream-same-id", close([events([1]), events([2], sequence=1, position=50, fields={"cpu": 1})])
    yield "psbs-out-of-order", close([pt(b"x" * 64, psbs=[(32, 1)]), pt(b"y" * 64, 1, 64, psbs=[(40, 2)]),
                                      pt(b"z" * 64, 2, 128, psbs=[(130, 3)])])


def bad_blobs():
    yield "hash", close([blobs([chunk(b"abc", name=bytes(32))], b"abc")])
    yield "bytes-missing", close([blobs([chunk(b"abcdef", 0, 3)], b"abc")])
    yield "bytes-twice", close([blobs([chunk(b"abc"), chunk(b"abc", 1, 2)], b"abcbc")])
    yield "chunks-leave-bytes", close([blobs([chunk(b"abc")], b"abcd")])
    yield "chunks-too-long", close([blobs([chunk(b"abc")], b"ab")])
    yield "chunk-behind-the-end", close([blobs([chunk(b"abc", 2, 2)], b"ab")])
    yield "chunk-empty", close([blobs([chunk(b"abc", 0, 0), chunk(b"abc")], b"abc")])
    yield "types-differ", close([blobs([chunk(b"abc"), chunk(b"abc", kind=2)], b"abcabc")])
    yield "payload-damaged", close([blobs([chunk(b"abc")], b"abc", checksum=5)])


def bad_events():
    def one(name, payload, records=2, first=1, last=9):
        return name, close([events([1, 2]), Buffer(EVENTS, 10, payload, records=records, first_time=first, cpu=10,
                                                   last_time=last, sequence=1, position=99),
                            events([3, 4], sequence=2, position=999)])

    def of(**changes):
        arguments = dict(times=[1, 2], which=[0, 0], where=[0, 0], descriptors=[(0, 2, 5)], contexts=[(0, 7, 8)],
                         payloads=[b"aaaa", b"bbbb"])
        arguments.update(changes)
        return event_payload(**arguments)

    yield one("right-after-all", of())
    yield one("bytes-left-over", of() + b"\0")
    yield one("cut", of()[:-1])
    yield one("no-bytes", b"")
    yield one("bytes-without-events", of(), records=0)
    yield one("too-many", of(), records=3)
    yield one("far-too-many", of(), records=(1 << 20) + 1)
    yield one("time-before", of(first=2), first=2)
    yield one("time-behind", of(), last=1)
    yield one("provider", of(descriptors=[(1, 2, 5)]))
    yield one("no-guid", of(guids=()))
    yield one("no-descriptor", of(descriptors=[], payloads=[]))
    yield one("no-context", of(contexts=[]))
    yield one("descriptor-number", of(descriptors=[(0, 2, 5), (0, 3, 5)], which=[0, 2]))
    yield one("context-number", of(contexts=[(0, 7, 8), (0, 7, 9)], where=[0, 2]))
    yield one("id", of(descriptors=[(0, 65536, 5)]))
    yield one("payload-size", of(descriptors=[(0, 2, 0)], payloads=[b"a", b"b"]).replace(
        b"\x01\x01ab", b"\x81\x80\x40\x01ab"))
    yield one("time-width", of().replace(bytes([1]) + planes([0, 2], 1), bytes([9]) + planes([0, 2], 1)))
    yield one("extra-flags", of(extras=[varint(0) + varint(8) + varint(0)]))
    yield one("extra-activity", of(extras=[varint(0) + varint(1) + varint(1) + varint(0)]))
    yield one("extra-behind", of(extras=[varint(2) + varint(4) + varint(0)]))
    yield one("extra-twice", of(extras=[varint(1) + varint(4) + varint(0), varint(0) + varint(4) + varint(0)]))
    yield one("extra-items", of(extras=[varint(0) + varint(4) + varint(1025)]))
    yield one("counts", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + of()[1:])


def bad_metadata():
    def one(name, record, *more):
        return name, close([metadata(machine(), record, loss(), *more)])

    yield one("record-too-long", varint(4) + varint(1000) + b"x")
    yield one("field-too-long", item(4, varint(1) + varint(5) + b"x"))
    yield one("number-too-long", item(4, item(1, b"\x80\x00")))
    yield one("number-with-rest", item(4, item(5, b"\1\1")))
    yield one("number-too-large", item(1, number(10, 65536)))
    yield one("flag", item(1, number(2, 2)))
    yield one("machine-index", item(1, number(32, 429)))
    yield one("text-with-zero", item(4, item(9, b"a\0b")))
    yield one("schema-without-provider", item(3, number(2, 5)))
    yield one("schema-provider-short", item(3, item(1, b"short")))
    yield one("map-without-provider", item(6, number(2, 1)))
    yield one("map-entry", item(6, item(1, PROVIDER) + item(4, b"\1")))
    yield one("map-kind", item(6, item(1, PROVIDER) + number(2, 1 << 32)))
    yield one("too-many-entries", item(6, item(1, PROVIDER) + b"\4\0" * 16385))
    yield one("schema-level", item(3, item(1, PROVIDER) + number(11, 256)))
    yield one("schema-field", item(3, item(1, PROVIDER) + item(10, b"\1")))
    long_name, long_message = b"n" * 1025, b"m" * 16385
    for tag in (5, 6, 7, 8):
        yield one("schema-name-%d-too-long" % tag, item(3, item(1, PROVIDER) + item(tag, long_name)))
    yield one("schema-message-too-long", item(3, item(1, PROVIDER) + item(9, long_message)))
    yield one("schema-field-name-too-long", item(3, item(1, PROVIDER) + schema_field(long_name, 1)))
    yield one("schema-field-map-too-long", item(3, item(1, PROVIDER) + schema_field(b"f", 1, value_map=long_name)))
    yield one("map-name-too-long", value_map([(1, b"one")], name=long_name))
    yield one("map-entry-too-long", value_map([(1, b"one"), (2, long_name)]))
    yield one("provenance-hash", item(5, item(6, item(3, b"short"))))
    yield one("attachment-without-hash", item(7, number(1, 1)))
    yield one("attachment-hash", item(7, item(4, b"short")))
    yield one("attachment-id", item(7, item(4, b"h" * 32) + item(5, b"i" * 65)))
    yield one("recording-without-name", item(8, b""))
    yield one("recording-name", item(8, item(1, b"short")))
    yield one("stream-id", item(2, number(1, 1 << 32)))
    yield "too-much", close([metadata(item(900, bytes(6 << 20)), sequence=i, position=i * (7 << 20), compress=True)
                             for i in range(3)] + [metadata(loss(), sequence=3, position=30 << 20)])
    yield "too-many-records", close([metadata(b"\x63\0" * 900000, item(3, item(1, PROVIDER) + b"\x0a\0" * 16384),
                                              compress=True)] + [metadata(b"\x63\0" * 200000, sequence=1,
                                                                          position=2 << 20, compress=True)])
    yield one("too-many-fields", item(3, item(1, PROVIDER) + b"\x0a\0" * 16385))
    yield one("too-many-inputs", item(5, b"\6\0" * 16385))
    fields = {"struct-too-long": [schema_field(b"s", 23, length=2), schema_field(b"x", 5)],
              "type-unknown": [schema_field(b"a", 1), schema_field(b"t", 24)],
              "array-of-nothing": [schema_field(b"s", 23, array=1, array_length=1000000)],
              "fields-of-no-bytes": [schema_field(b"r", 22)] * 18,
              "nested-too-deep": [schema_field(b"s", 23, length=9 - i) for i in range(10)],
              "payload-too-short": [schema_field(b"a", 5), schema_field(b"b", 7)]}
    for name, members in fields.items():
        yield "schema-" + name, close([metadata(schema(2, members)), events([1, 2])])


def bad_index():
    rest = everything()
    yield "trailer-magic", close(rest, trailer={"magic": b"PTLINDEY"})
    yield "trailer-reserved", close(rest, trailer={"reserved": 1})
    yield "trailer-file-id", close(rest, trailer={"file_id": 1})
    yield "offset", close(rest, trailer={"offset": 64})
    yield "offset-far", close(rest, trailer={"offset": 1 << 60})
    yield "count-none", close(rest, trailer={"count": 0})
    yield "count-many", close(rest, trailer={"count": 0xFFFFFFFF})
    yield "checksum", close(rest, index_fields={"checksum": 3})
    yield "kind", close(rest, index_fields={"kind": PT})
    yield "sequence", close(rest, index_fields={"sequence": 1})
    yield "flags", close(rest, index_fields={"flags": 1})
    yield "item-too-long", close(rest, items=b"\1\x7f")
    yield "entry-no-buffer", close(rest, items=item(1, b"\0" + bytes(104)))
    yield "entry-behind", close(rest, items=item(1, b"\0" + events([1]).header()))
    yield "entry-side-missing", close(rest, items=item(1, b"\0" + rest[3].header()))
    yield "end-with-rest", close(rest, items=item(2, b"\1\1\1\1"))
    yield "entry-missing", fewer(rest)
    yield "cut", close(rest)[:-1]
    yield "trailer-gone", close(rest)[:-40]
    yield "middle-gone", close(rest)[:-70] + close(rest)[-60:]


def fewer(buffers):
    """Makes a file whose index lacks the last buffer."""
    short = close(buffers[:-1])
    index_at = len(unclosed(buffers[:-1]))
    data = short[:index_at] + bytes(buffers[-1]) + short[index_at:-40]
    end = struct.pack("<8sQIIQ", b"PTLINDEX", index_at + len(bytes(buffers[-1])), 1, 0, FILE_ID)
    return data + end + struct.pack("<Q", xxh64(end))


def unsupported():
    rest = everything()
    yield "major", close(rest, header=file_header(major=2))
    yield "minor", close(rest + [pt(b"abc", stream=21, flags=1)], header=file_header(minor=7, reserved=9))
    yield "codec", close(rest + [pt(b"abc", stream=21, codec=2, raw_size=1000)])
    yield "kind", close(rest + [Buffer(77, 70, b"future", side(item(5, b"x"))), Buffer(77, 70, b"more", sequence=1,
                                                                                     position=9)])
    yield "kind-zero", close(rest + [Buffer(0, 70, b"zero")])
    yield "record", close([metadata(machine(), item(99, b"future"), item(99, b""), item(100, b"x"), loss())] + rest[1:])
    yield "tag", close([metadata(item(1, item(1, b"a") + item(99, b"future")), item(3, item(1, PROVIDER) +
                                                                                    item(77, b"x")))])
    yield "side-item", close([Buffer(PT, 20, PSB, side(item(9, b"future"), item(1, zigzag(0) + zigzag(4))))])
    yield "index-item", close(rest, items=item(50, b"future"))
    yield "blob-type", close([blobs([chunk(b"abc", kind=4000000000)], b"abc")])


def samples():
    for name, data in good():
        yield "good-" + name, data
    for prefix, group in (("file-", bad_files), ("buffer-", bad_buffers), ("blob-", bad_blobs), ("events-", bad_events),
                          ("metadata-", bad_metadata), ("index-", bad_index)):
        for name, data in group():
            yield "bad-" + prefix + name, data
    for name, data in unsupported():
        yield "unsupported-" + name, data
