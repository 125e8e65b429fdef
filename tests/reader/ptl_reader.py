#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An independent reader of .ptl files, written from docs/format.md alone.

    ptl_reader.py [--ignore-index] FILE

Prints everything in the file as lines of text, equal to the lines that tests/tools/ptl_canonical.c
prints with libptl. The code follows the text closely, at the cost of speed. "(n)" refers to a section of docs/format.md.
"""
import hashlib
import re
import struct
import sys

import xxhash
import zstandard

MINOR = 5  # the version of docs/format.md
NONE = 0xFFFFFFFF
RAW_MAX = 16 << 20
SIDE_MAX = 256 << 10
METADATA_MAX = 16 << 20
METADATA_ITEMS_MAX = 1 << 20
NAME_MAX = 1 << 10
MESSAGE_MAX = 16 << 10
RECORD_ITEMS_MAX = 16 << 10
PAYLOAD_MAX = 1 << 20
METADATA, EVENTS, PT, BLOB, INDEX, TRUTH = 1, 2, 3, 4, 5, 6
MASK64 = (1 << 64) - 1

NOT_OURS, UNSUPPORTED, CORRUPT, TRUNCATED = "not-ours", "unsupported", "corrupt", "truncated"


class Bad(Exception):
    """A failure of a kind above."""

    def __init__(self, kind, text=""):
        super().__init__(text)
        self.kind = kind


def xxh64(data):
    return xxhash.xxh64(data, seed=0).intdigest()


class Cursor:
    """Reads bytes by the conventions of (1); any violation is Bad(CORRUPT)."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Bad(CORRUPT)
        self.at += size
        return self.data[self.at - size:self.at]

    def u(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self, limit=MASK64):
        value = 0
        for i in range(10):
            byte = self.u(1)
            if (i == 9 and byte > 1) or (i and byte == 0):
                raise Bad(CORRUPT)
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                if value > limit:
                    raise Bad(CORRUPT)
                return value
        raise Bad(CORRUPT)

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def items(self):
        """Yields items: type, length, body."""
        while self.left():
            kind, length = self.varint(), self.varint()
            yield kind, self.take(length)


class Header:
    """A buffer header (3); Bad(CORRUPT) if the 104 bytes are invalid."""

    def __init__(self, data):
        if len(data) != 104 or data[:4] != b"PTLB" or xxh64(data[:96]) != int.from_bytes(data[96:], "little"):
            raise Bad(CORRUPT)
        (self.codec, self.flags, self.reserved1, self.kind, self.stream, self.cpu, self.pid, self.tid,
         self.records, self.side_size, self.raw_size, self.stored_size, self.reserved2, self.sequence,
         self.first_time, self.last_time, self.position, self.file_id,
         self.checksum) = struct.unpack("<BBH10I6Q", data[4:96])
        if self.side_size and not 9 <= self.side_size <= SIDE_MAX:
            raise Bad(CORRUPT)
        if self.codec == 0:
            fits = self.stored_size == self.raw_size
        elif self.codec == 1:
            fits = 1 <= self.stored_size <= self.raw_size
        else:
            fits = self.stored_size <= RAW_MAX
        if (not fits or self.raw_size > RAW_MAX or self.first_time > self.last_time or
                self.sequence >= 1 << 63 or self.position + self.raw_size >= 1 << 63):
            raise Bad(CORRUPT)
        self.reserved = self.flags or self.reserved1 or self.reserved2
        self.usable = self.codec <= 1 and not self.reserved

    def extent(self):
        return 104 + self.side_size + self.stored_size

    def identity(self):
        return (self.kind, self.cpu, self.pid, self.tid)


class Stream:
    def __init__(self, number, kind, cpu, pid, tid):
        self.id, self.kind, self.cpu, self.pid, self.tid = number, kind, cpu, pid, tid
        self.buffers, self.psbs, self.lost, self.next, self.end, self.size = [], [], 0, 0, 0, 0

    def identity(self):
        return (self.kind, self.cpu, self.pid, self.tid)

    def has_holes(self):
        return self.kind not in (METADATA, EVENTS, BLOB)

    def times(self):
        first = [b.header.first_time for b in self.buffers if b.header.first_time]
        return (min(first) if first else 0, max([b.header.last_time for b in self.buffers], default=0))


class Buffer:
    def __init__(self, header, offset):
        self.header, self.offset, self.reported = header, offset, False
        self.size = header.extent()


class Trace:
    def __init__(self, data, ignore_index):
        self.data, self.damage, self.index_copies = data, [], {}
        self.streams, self.buffers, self.blobs = {}, [], {}
        self.machines, self.schemas, self.maps, self.losses, self.provenance = {0: {}}, {}, {}, [], []
        self.attachments = []
        self.open_header()
        self.complete = self.trailer(len(data) - 40) is not None
        if not self.complete or ignore_index or not self.use_index():
            self.scan()
        self.read_metadata()

    def damaged(self, offset, size, kind):
        self.damage.append((offset, size, kind))

    def damaged_buffer(self, buffer, kind):
        if not buffer.reported:
            buffer.reported = True
            self.damaged(buffer.offset, buffer.size, kind)

    # (2.1)
    def open_header(self):
        data, magic = self.data, b"\x89PTL\r\n\x1a\n"
        if len(data) < 64:
            raise Bad(TRUNCATED if magic.startswith(data[:8]) else NOT_OURS)
        right_magic = data[:8] == magic
        if right_magic and xxh64(data[:56]) == int.from_bytes(data[56:64], "little"):
            self.major, self.minor, reserved1 = struct.unpack("<HHI", data[8:16])
            self.guid = data[16:32]
            self.wall_time, reserved2, reserved3 = struct.unpack("<qQQ", data[32:56])
            self.file_id = int.from_bytes(self.guid[:8], "little")
            if self.major != 1:
                raise Bad(UNSUPPORTED)
            if (reserved1 or reserved2 or reserved3) and self.minor <= MINOR:
                self.damaged(0, 64, CORRUPT)
            return
        try:
            self.file_id = Header(data[64:168]).file_id
        except Bad:
            raise Bad(CORRUPT if right_magic else NOT_OURS) from None
        self.damaged(0, 64, CORRUPT)
        self.major, self.minor, self.guid, self.wall_time = 1, 0, bytes(16), 0

    # (7)
    def header(self, at):
        try:
            header = Header(self.data[at:at + 104])
        except Bad:
            return None
        return header if header.file_id == self.file_id else None

    # (8): offset and number of the INDEX buffers, or None
    def trailer(self, at):
        if at < 64 or at != len(self.data) - 40:
            return None
        data = self.data[at:]
        magic, offset, count, reserved, file_id, checksum = struct.unpack("<8sQIIQQ", data)
        if magic != b"PTLINDEX" or reserved or file_id != self.file_id or checksum != xxh64(data[:32]):
            return None
        return offset, count

    def following(self, at):
        size = len(self.data)
        while True:
            at = self.data.find(b"PTLB", at)
            if at < 0:
                return size - 40 if self.complete else size
            if self.header(at):
                return at
            at += 1

    def scan(self):
        size, at = len(self.data), 64
        while at < size and not (self.complete and at == size - 40):
            header = self.header(at)
            if not header:
                q = self.next_place(at + 1)
                self.damaged(at, q - at, TRUNCATED if q == size and q - at < 104 else CORRUPT)
                at = q
                continue
            end = at + header.extent()
            if end <= size and (end == size or self.header(end) or (self.complete and end == size - 40)):
                self.register(header, at)
                at = end
                continue
            q = self.next_place(at + 104)
            if q < end and q < size:
                self.damaged(at, q - at, CORRUPT)
                at = q
            elif end <= size:
                self.register(header, at)
                self.damaged(end, q - end, TRUNCATED if q == size and q - end < 104 else CORRUPT)
                at = q
            else:
                self.damaged(at, size - at, TRUNCATED)
                at = size
        if not self.complete:
            self.damaged(size, 0, TRUNCATED)

    def next_place(self, at):
        """next(x) of (7)"""
        place = self.following(at)
        end = len(self.data) - 40
        return min(place, end) if self.complete and end >= at else min(max(place, at), len(self.data))

    # (8)
    def use_index(self):
        try:
            entries, ends, index = self.read_index()
        except Bad:
            self.damaged(len(self.data) - 40, 0, CORRUPT)
            return False
        self.index_copies = dict(self.index_seen)
        end = 64
        for header, offset in entries:
            if offset != end:
                self.damaged(end, offset - end, CORRUPT)
            self.register(header, offset, side=self.index_sides[offset])
            end = offset + header.extent()
        for number, sequence, position in ends:
            self.end_stream(number, sequence, position, index)
        if end < index:
            self.damaged(end, index - end, CORRUPT)
        return True

    def compare_index(self):
        """Returns whether headers and side areas of the buffers equal the index."""
        for offset, there in self.index_copies.items():
            if self.data[offset:offset + len(there)] != there:
                self.damaged(offset, 0, CORRUPT)

    def read_index(self):
        limit = len(self.data) - 40
        index, count = self.trailer(limit)
        if not count or index < 64:
            raise Bad(CORRUPT)
        at, end, total, entries, ends = index, 64, 0, [], []
        self.index_sides, self.index_seen = {}, {}
        parts = []
        for sequence in range(count):
            header = self.header(at) if at < limit else None
            if (not header or header.kind != INDEX or header.sequence != sequence or not header.usable or
                    header.extent() > limit - at):
                raise Bad(CORRUPT)
            total += header.raw_size
            if total > 2 * len(self.data):
                raise Bad(CORRUPT)
            parts.append(self.payload(Buffer(header, at)))
            at += header.extent()
        if at != limit:
            raise Bad(CORRUPT)
        for part in parts:
            for kind, body in Cursor(part).items():
                item = Cursor(body)
                if kind == 1:
                    offset = end + item.varint()
                    header = Header(item.take(104))
                    side = item.take(header.side_size)
                    end = offset + header.extent()
                    if header.file_id != self.file_id or header.kind == INDEX or item.left() or end > index:
                        raise Bad(CORRUPT)
                    entries.append((header, offset))
                    self.index_sides[offset] = side
                    self.index_seen[offset] = body[item.at - header.side_size - 104:item.at]
                elif kind == 2:
                    ends.append((item.varint(NONE), item.varint(), item.varint()))
                    if item.left():
                        raise Bad(CORRUPT)
        return entries, ends, index

    def end_stream(self, number, sequence, position, index):
        stream = self.streams.get(number)
        if not stream:
            return
        if stream.has_holes():
            stream.size = max(stream.size, position)
        if sequence > stream.next:
            stream.lost += sequence - stream.next
            stream.next = sequence
            self.damaged(index, 0, TRUNCATED)

    # (3)
    def register(self, header, offset, side=None):
        if header.kind == INDEX:
            return
        stream = self.streams.get(header.stream)
        if not stream:
            stream = self.streams[header.stream] = Stream(header.stream, *header.identity())
        elif (stream.identity() != header.identity() or
              stream.buffers and (header.sequence < stream.next or header.position < stream.end)):
            self.damaged(offset, header.extent(), CORRUPT)
            return
        if header.sequence != stream.next:
            self.damaged(offset, 0, TRUNCATED)
        if not stream.buffers and not 1 <= header.kind <= 6:
            self.damaged(offset, 0, UNSUPPORTED)
        stream.lost += header.sequence - stream.next
        stream.next, stream.end = header.sequence + 1, header.position + header.raw_size
        stream.size = stream.end if stream.has_holes() else stream.size + header.raw_size
        buffer = Buffer(header, offset)
        stream.buffers.append(buffer)
        self.buffers.append(buffer)
        if not header.usable:
            newer = header.codec > 1 or self.minor > MINOR
            self.damaged_buffer(buffer, UNSUPPORTED if newer else CORRUPT)
        if side is None:
            side = self.data[offset + 104:offset + 104 + header.side_size]
        try:
            self.take_side(stream, buffer, side)
        except Bad:
            self.damaged(offset, 0, CORRUPT)

    # (3.1)
    def take_side(self, stream, buffer, side):
        header = buffer.header
        psbs, chunks, at = [], [], 0
        if not side:
            return
        if xxh64(side[:-8]) != int.from_bytes(side[-8:], "little"):
            raise Bad(CORRUPT)
        before = stream.psbs[-1][0] if stream.psbs else None
        for kind, body in Cursor(side[:-8]).items():
            item = Cursor(body)
            if kind == 1 and header.kind == PT:
                if not psbs:
                    offset, time = header.position, header.first_time
                while item.left():
                    offset = (offset + item.zigzag()) & MASK64
                    time = (time + item.zigzag()) & MASK64
                    if offset >= 1 << 63 or (before is not None and offset < before + 16):
                        raise Bad(CORRUPT)
                    psbs.append((offset, time))
                    before = offset
            elif kind == 2 and header.kind == BLOB:
                while item.left():
                    name, blob_type, blob_size = item.take(32), item.varint(NONE), item.varint()
                    offset, length = item.varint(), item.varint()
                    if (at + length > header.raw_size or offset + length > blob_size or
                            (length == 0) != (blob_size == 0)):
                        raise Bad(CORRUPT)
                    chunks.append((name, blob_type, blob_size, offset, length, at))
                    at += length
        if chunks and at != header.raw_size:
            raise Bad(CORRUPT)
        stream.psbs += psbs
        for name, blob_type, blob_size, offset, length, at in chunks:
            blob = self.blobs.setdefault(name, (blob_type, blob_size, []))
            if blob[:2] == (blob_type, blob_size):
                blob[2].append((offset, length, buffer, at))

    def payload(self, buffer):
        """Returns the raw payload (3); Bad if unreadable."""
        header = buffer.header
        if not header.usable:
            raise Bad(UNSUPPORTED)
        start = buffer.offset + 104 + header.side_size
        stored = self.data[start:start + header.stored_size]
        if len(stored) < header.stored_size:
            raise Bad(TRUNCATED)
        if xxh64(stored) != header.checksum:
            raise Bad(CORRUPT)
        if header.codec == 0:
            return stored
        if header.kind == EVENTS and header.raw_size > 256 * header.extent():
            raise Bad(CORRUPT)
        return decompress(stored, header.raw_size)

    def read(self, buffer):
        """Returns the payload of a registered buffer; adds damage to the list and returns None."""
        try:
            return self.payload(buffer)
        except Bad as bad:
            self.damaged_buffer(buffer, bad.kind)
            return None

    # (5)
    def read_metadata(self):
        total, unknown, self.items = 0, set(), 0
        for buffer in self.buffers:
            if buffer.header.kind != METADATA or not buffer.header.usable:
                continue
            total += buffer.header.raw_size
            if total > METADATA_MAX:
                total -= buffer.header.raw_size
                self.damaged_buffer(buffer, CORRUPT)
                continue
            payload = self.read(buffer)
            if payload is None:
                continue
            try:
                for kind, body in Cursor(payload).items():
                    self.items += 1
                    if self.items > METADATA_ITEMS_MAX:
                        raise Bad(CORRUPT)
                    if kind in RECORDS:
                        try:
                            RECORDS[kind](self, body)
                        except Bad:
                            self.damaged(buffer.offset, 0, CORRUPT)
                    elif kind not in unknown:
                        unknown.add(kind)
                        self.damaged(buffer.offset, 0, UNSUPPORTED)
            except Bad:
                self.damaged(buffer.offset, 0, CORRUPT)

    def take_machine(self, body):
        machine = fields(body, MACHINE)
        if machine[32] > 428:
            raise Bad(CORRUPT)
        self.machines[machine[32]] = machine

    def take_stream(self, body):
        f = fields(body, {1: num(32), 2: num(32), 3: num(32), 4: num(32), 5: num(32)})
        identity = (f[2], f[3] - 1 & NONE, f[4] - 1 & NONE, f[5] - 1 & NONE)
        self.streams.setdefault(f[1], Stream(f[1], *identity))

    def take_schema(self, body):
        member = {1: name(), 2: num(8), 3: num(8), 4: num(8), 5: num(32), 6: num(32), 7: name(),
                  8: num(32)}
        f = fields(body, {1: fixed(16), 2: num(16), 3: num(8), 4: num(8), 5: name(), 6: name(), 7: name(),
                          8: name(), 9: name(MESSAGE_MAX), 10: many(lambda b: fields(b, member)), 11: num(8), 12: num(8),
                          13: num(16), 14: num(), 15: num(32)})
        if f[1] is None:
            raise Bad(CORRUPT)
        if self.schemas.setdefault((f[1], f[2], f[3], f[4]), f) is f:
            self.items += len(f[10])

    def take_map(self, body):
        f = fields(body, {1: fixed(16), 2: num(32), 3: name(),
                          4: many(lambda b: fields(b, {1: num(), 2: name()}))})
        if f[1] is None:
            raise Bad(CORRUPT)
        names = self.maps.setdefault((f[1], f[2], f[3]), {})
        for entry in f[4]:
            names.setdefault(entry[1], entry[2])
        self.items += len(f[4])

    def take_loss(self, body):
        self.losses.append(fields(body, {1: num(32), 2: num(32), 3: num(32), 4: num(32), 5: num(), 6: num(),
                                         7: num(), 8: num(), 9: text()}))

    def take_provenance(self, body):
        inner = {1: text(), 2: num(), 3: fixed(32), 4: fixed(16)}
        self.provenance.append(fields(body, {1: text(), 2: text(), 3: text(), 4: signed(), 5: text(),
                                             6: many(lambda b: fields(b, inner))}))
        self.items += len(self.provenance[-1][6])

    def take_attachment(self, body):
        f = fields(body, {1: num(32), 2: num(32), 3: text(), 4: fixed(32), 5: fixed(*range(65))})
        if f[4] is None:
            raise Bad(CORRUPT)
        self.attachments.append(f)

    def take_recording(self, body):
        if fields(body, {1: fixed(16)})[1] is None:
            raise Bad(CORRUPT)

    # (6)
    def stream_events(self, stream):
        for buffer in stream.buffers:
            if not buffer.header.usable or not buffer.header.records:
                continue
            payload = self.read(buffer)
            if payload is None:
                continue
            try:
                events = decode_events(payload, buffer.header)
            except Bad:
                self.damaged_buffer(buffer, CORRUPT)
                continue
            yield from events

    def events(self):
        heads = []
        for number in sorted(self.streams):
            if self.streams[number].kind == EVENTS:
                source = self.stream_events(self.streams[number])
                head = next(source, None)
                if head:
                    heads.append([head["time"], number, head, source])
        while heads:
            lowest = min(heads, key=lambda h: h[:2])
            yield lowest[2]
            head = next(lowest[3], None)
            if head:
                lowest[0], lowest[2] = head["time"], head
            else:
                heads.remove(lowest)

    # (4)
    def stream_bytes(self, stream):
        """Yields (offset, bytes) of each run without a hole."""
        runs = []
        for buffer in stream.buffers:
            payload = self.read(buffer) if buffer.header.usable else None
            if not payload:
                continue
            if runs and runs[-1][0] + len(runs[-1][1]) == buffer.header.position:
                runs[-1][1].extend(payload)
            else:
                runs.append((buffer.header.position, bytearray(payload)))
        return runs

    def stream_psbs(self, stream, runs):
        if stream.psbs:
            return stream.psbs
        found = []
        for start, data in runs:
            found += [(start + run.end() - 16, 0) for run in re.finditer(rb"(?:\x02\x82){8,}", data)]
        return found

    def blob(self, name):
        kind, size, chunks = self.blobs[name]
        data = b""
        for offset, length, buffer, at in sorted(chunks, key=lambda c: c[0]):
            if offset != len(data):
                return None
            if length:
                payload = self.read(buffer) if buffer.header.usable else None
                if payload is None:
                    return None
                data += payload[at:at + length]
        return data if len(data) == size and hashlib.sha256(data).digest() == name else None


def decompress(stored, raw_size):
    """Decompresses all frames; the result must have exactly raw_size bytes."""
    out, rest = b"", stored
    try:
        while rest:
            frame = zstandard.ZstdDecompressor().decompressobj()
            out += frame.decompress(rest)
            if len(out) > raw_size or not frame.unused_data and not frame_ended(frame):
                raise Bad(CORRUPT)
            rest = frame.unused_data
    except zstandard.ZstdError:
        raise Bad(CORRUPT) from None
    if len(out) != raw_size:
        raise Bad(CORRUPT)
    return out


def frame_ended(frame):
    """Decompresses one frame; a finished frame refuses further input."""
    try:
        frame.decompress(b"\0")
    except zstandard.ZstdError:
        return True
    return False


# ---- values of metadata fields (5): each is (start value, function of the old value and the bytes) ----------


def number(data, bits):
    cursor = Cursor(data)
    value = cursor.varint((1 << bits) - 1)
    if cursor.left():
        raise Bad(CORRUPT)
    return value


def num(bits=64):
    return 0, lambda old, data: number(data, bits)


def flag():
    return 0, lambda old, data: number(data, 1)


def signed():
    def take(old, data):
        value = number(data, 64)
        return (value >> 1) ^ -(value & 1)
    return 0, take


def text(longest=None):
    def take(old, data):
        if b"\0" in data:
            raise Bad(CORRUPT)
        return bytes(data[:longest])
    return b"", take


def name(most=NAME_MAX):
    def take(old, data):
        if len(data) > most:
            raise Bad(CORRUPT)
        return text()[1](old, data)
    return b"", take


def fixed(*sizes):
    def take(old, data):
        if len(data) not in sizes:
            raise Bad(CORRUPT)
        return bytes(data)
    return None, take


def many(read):
    def take(old, data):
        if len(old) == RECORD_ITEMS_MAX:
            raise Bad(CORRUPT)
        old.append(read(data))
        return old
    return [], take


def fields(body, known):
    values = {tag: list(start) if isinstance(start, list) else start for tag, (start, take) in known.items()}
    for tag, data in Cursor(body).items():
        if tag in known:
            values[tag] = known[tag][1](values[tag], data)
    return values


MACHINE = {1: text(31), 2: flag(), 3: flag(), 4: text(64), 5: text(129), 6: text(32), 7: num(32), 8: text(63),
           9: num(32), 10: num(16), 11: num(8), 12: num(8), 13: num(8), 14: num(32), 15: num(), 16: num(),
           17: signed(), 18: num(), 20: num(), 21: num(32), 22: num(8), 23: num(), 24: num(32), 25: flag(),
           26: num(), 27: num(8), 28: num(8), 29: num(32), 30: num(32), 31: num(8), 32: num(16), 33: text(36), 34: num(),
           35: signed(), 36: num(), 37: num(8)}
RECORDS = {1: Trace.take_machine, 2: Trace.take_stream, 3: Trace.take_schema, 4: Trace.take_loss,
           5: Trace.take_provenance, 6: Trace.take_map, 7: Trace.take_attachment, 8: Trace.take_recording}


# ---- events (6) -------------------------------------------------------------------------------------------------


def width(n):
    return 0 if n <= 1 else 1 if n <= 256 else 2 if n <= 65536 else 3 if n <= 1 << 24 else 4


def column(cursor, count, size):
    planes = [cursor.take(count) for _ in range(size)]
    return [sum(planes[k][i] << 8 * k for k in range(size)) for i in range(count)]


def decode_events(payload, header):
    n, cursor = header.records, Cursor(payload)
    if not 1 <= n <= 1 << 20:
        raise Bad(CORRUPT)
    guids = [cursor.take(16) for _ in range(bounded(cursor, 16))]
    descriptors = []
    for _ in range(bounded(cursor, 9)):
        d = {"provider": guids[cursor.varint(len(guids) - 1)] if guids else cursor.take(1 << 40)}
        d["id"] = cursor.varint(0xFFFF)
        for name in ("version", "channel", "level", "opcode"):
            d[name] = cursor.u(1)
        d["task"], d["keyword"] = cursor.varint(0xFFFF), cursor.varint()
        descriptors.append((d, cursor.varint(PAYLOAD_MAX + 1)))
    contexts = [tuple(cursor.varint(NONE) - 1 & NONE for _ in range(3)) for _ in range(bounded(cursor, 3))]
    if not descriptors or not contexts:
        raise Bad(CORRUPT)
    time_width = cursor.u(1)
    if not 1 <= time_width <= 8 or n > cursor.left():
        raise Bad(CORRUPT)
    which = column(cursor, n, width(len(descriptors)))
    where = column(cursor, n, width(len(contexts)))
    steps = column(cursor, n, time_width)
    if max(which) >= len(descriptors) or max(where) >= len(contexts):
        raise Bad(CORRUPT)
    events, time = [], header.first_time
    for i in range(n):
        time = (time + ((steps[i] >> 1) ^ -(steps[i] & 1))) & MASK64
        if not header.first_time <= time <= header.last_time:
            raise Bad(CORRUPT)
        cpu, pid, tid = contexts[where[i]]
        events.append(dict(descriptors[which[i]][0], time=time, cpu=cpu, pid=pid, tid=tid, flags=0,
                           activity=None, related=None, extended=[]))
    for number_of, (_, layout) in enumerate(descriptors):
        mine = [event for event, w in zip(events, which) if w == number_of]
        if layout:
            planes = [cursor.take(len(mine)) for _ in range(layout - 1)]
            for i, event in enumerate(mine):
                event["payload"] = bytes(plane[i] for plane in planes)
        else:
            sizes = [cursor.varint(PAYLOAD_MAX) for _ in mine]
            for event, size in zip(mine, sizes):
                event["payload"] = cursor.take(size)
    extras(cursor, guids, events)
    if cursor.left():
        raise Bad(CORRUPT)
    return events


def bounded(cursor, least):
    """Reads a count of items with a minimal size in bytes each."""
    count = cursor.varint()
    if count * least > cursor.left():
        raise Bad(CORRUPT)
    return count


def extras(cursor, guids, events):
    at = 0
    for i in range(bounded(cursor, 3)):
        distance = cursor.varint()
        at += distance
        if (i and not distance) or at >= len(events):
            raise Bad(CORRUPT)
        event = events[at]
        event["flags"] = cursor.varint(7)
        for bit, name in ((1, "activity"), (2, "related")):
            if event["flags"] & bit:
                number_of = cursor.varint()
                if number_of >= len(guids):
                    raise Bad(CORRUPT)
                event[name] = guids[number_of]
        for _ in range(cursor.varint(1024)):
            kind, size = cursor.varint(0xFFFF), cursor.varint(0xFFFF)
            event["extended"].append((kind, cursor.take(size)))


# ---- fields of payloads (6.2) -----------------------------------------------------------------------------------

SCALARS = {1: (1, "u"), 2: (1, "i"), 3: (2, "u"), 4: (2, "i"), 5: (4, "u"), 6: (4, "i"), 7: (8, "u"), 8: (8, "i"),
           9: (4, "f"), 10: (8, "f"), 11: (1, "u"), 12: (4, "u"), 13: (8, "u"), 14: (8, "u"), 15: (8, "i")}


def payload_value(cursor, field):
    kind = field[2]
    if kind in SCALARS:
        size, shape = SCALARS[kind]
        data = cursor.take(size)
        return "x" + data.hex() if shape == "f" else str(int.from_bytes(data, "little", signed=shape == "i"))
    if kind == 16:
        return "x" + cursor.take(16).hex()
    if kind in (17, 18):
        unit, data = kind - 16, b""
        while True:
            part = cursor.take(unit)
            if not any(part):
                return "x" + data.hex()
            data += part
    if kind in (19, 20, 21):
        return "x" + cursor.take(cursor.u(2) * (2 if kind == 20 else 1)).hex()
    return "x" + cursor.take(field[5] or cursor.left()).hex()


def payload_fields(cursor, members, depth=0, steps=None):
    at, steps = 0, steps or [0, 0]
    while at < len(members):
        field, inner = members[at], []
        if not 1 <= field[2] <= 23:
            raise Bad(UNSUPPORTED)
        if field[2] == 23:
            if depth == 8 or field[5] > len(members) - at - 1:
                raise Bad(CORRUPT)
            inner = members[at + 1:at + 1 + field[5]]
        steps[0] += 1
        if steps[0] > 4 << 20:
            raise Bad(CORRUPT)
        start = cursor.at
        count = field[6] if field[4] == 1 else cursor.u(2) if field[4] == 2 else 1
        for i in range(count):
            before = cursor.at
            name = field[1].hex() + "[%d]" % i
            if field[2] == 23:
                yield name + "={}"
                yield from payload_fields(cursor, inner, depth + 1, steps)
            else:
                yield name + "=" + payload_value(cursor, field)
            if field[4] and cursor.at == before:
                raise Bad(CORRUPT)
        steps[1] += cursor.at == start
        if steps[1] > 16:
            raise Bad(CORRUPT)
        at += 1 + len(inner)


# ---- output -------------------------------------------------------------------------------------------------------


def show_event(trace, event):
    line = "event %d %d %d %d %s %d %d %d %d %d %d %d %d" % (
        event["time"], event["cpu"], event["pid"], event["tid"], event["provider"].hex(), event["id"],
        event["version"], event["channel"], event["level"], event["opcode"], event["task"], event["keyword"],
        event["flags"])
    for name in ("activity", "related"):
        line += " " + (event[name].hex() if event[name] else "-")
    line += "".join(" ext:%d:%s" % (kind, data.hex()) for kind, data in event["extended"])
    print(line, "payload:" + event["payload"].hex())
    schema = trace.schemas.get((event["provider"], event["id"], event["version"], event["opcode"]))
    if not schema:
        return
    cursor = Cursor(event["payload"])
    try:
        for shown in payload_fields(cursor, schema[10]):
            print("  " + shown)
        print("  rest", cursor.left())
    except Bad as bad:
        print("  stops")


def plain(value):
    return "x" + value.hex() if isinstance(value, bytes) else str(value)


def show(trace):
    print("file", trace.major, trace.minor, trace.guid.hex(), trace.wall_time, int(trace.complete))
    for _, machine in sorted(trace.machines.items()):
        print("machine", *("%d:%s" % (tag, plain(value)) for tag, value in sorted(machine.items()) if value))
    for event in trace.events():
        show_event(trace, event)
    for number_of in sorted(trace.streams):
        stream = trace.streams[number_of]
        print("stream", number_of, *stream.identity(), len(stream.buffers), stream.lost, stream.size,
              *stream.times())
        if stream.kind in (PT, TRUTH):
            runs = trace.stream_bytes(stream)
            for offset, data in runs:
                print("  bytes", offset, len(data), hashlib.sha256(data).hexdigest())
            if stream.kind == PT:
                for offset, time in trace.stream_psbs(stream, runs):
                    print("  psb", offset, time)
    for schema in trace.schemas.values():
        print("schema", schema[1].hex(), *schema_words(schema))
        for field in schema[10]:
            print("  field", *(plain(field[tag]) for tag in range(1, 9)))
    for (provider, kind, name), names in trace.maps.items():
        print("map", provider.hex(), kind, plain(name))
        for value, called in sorted(names.items()):
            print("  entry", value, plain(called))
    for loss in trace.losses:
        print("loss", loss[1], *(loss[tag] - 1 & NONE for tag in (2, 3, 4)),
              *(plain(loss[tag]) for tag in range(5, 10)))
    for step in trace.provenance:
        print("provenance", *(plain(step[tag]) for tag in range(1, 6)))
        for one in step[6]:
            print("  input", plain(one[1]), one[2], (one[3] or bytes(32)).hex())
    for one in trace.attachments:
        print("attachment", one[1], one[2] - 1 & NONE, plain(one[3]), one[4].hex(), (one[5] or b"").hex())
    for name in sorted(trace.blobs):
        kind, size, _ = trace.blobs[name]
        print("blob", name.hex(), kind, size, "whole" if trace.blob(name) is not None else "damaged")
    for buffer in trace.buffers:
        if buffer.header.usable:
            trace.read(buffer)
    for offset, size, kind in sorted(trace.damage):
        print("damage", offset, size, kind)


def schema_words(schema):
    return (plain(schema[tag]) for tag in (*range(2, 10), *range(11, 16)))


def main(arguments):
    ignore_index = "--ignore-index" in arguments
    names = [a for a in arguments if not a.startswith("--")]
    if len(names) != 1:
        sys.exit("usage: ptl_reader.py [--ignore-index] FILE")
    with open(names[0], "rb") as file:
        data = file.read()
    try:
        trace = Trace(data, ignore_index)
    except Bad as bad:
        print("error", bad.kind)
        return
    show(trace)


if __name__ == "__main__":
    main(sys.argv[1:])
