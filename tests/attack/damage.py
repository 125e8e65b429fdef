# SPDX-License-Identifier: BSD-2-Clause
"""Damages trace files: parses a file by docs/format.md, changes it, and writes the file again with correct checksums."""
import struct

import samples
import xxhash
import zstandard

FILE_HEADER, BUFFER_HEADER, TRAILER = 64, 104, 40
METADATA, EVENTS, PT, BLOB, INDEX = 1, 2, 3, 4, 5
RAW_MAX = 16 << 20
EXTREMES = sorted({(1 << bits) + by for bits in (1, 7, 8, 14, 15, 16, 18, 20, 24, 31, 32, 48, 62, 63) for by in (-1, 0, 1)} |
                  {0, (1 << 64) - 1})
BUFFER_FIELDS = {"codec": (4, 1), "flags": (5, 1), "reserved1": (6, 2), "kind": (8, 4), "stream": (12, 4), "cpu": (16, 4),
                 "pid": (20, 4), "tid": (24, 4), "records": (28, 4), "side_size": (32, 4), "raw_size": (36, 4),
                 "stored_size": (40, 4), "reserved2": (44, 4), "sequence": (48, 8), "first_time": (56, 8),
                 "last_time": (64, 8), "position": (72, 8), "file_id": (80, 8)}
FILE_FIELDS = {"major": (8, 2), "minor": (10, 2), "reserved1": (12, 4), "guid": (16, 8), "wall": (32, 8), "reserved2": (40, 8)}
TRAILER_FIELDS = {"offset": (8, 8), "count": (16, 4), "reserved": (20, 4), "file_id": (24, 8)}


def xxh64(data):
    return xxhash.xxh64_intdigest(bytes(data))


def get(data, field):
    return int.from_bytes(data[field[0]:field[0] + field[1]], "little")


def put(data, field, value):
    at, size = field
    data[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


class Buffer:
    """A buffer; writing computes the checksums."""

    def __init__(self, data, at):
        self.header = bytearray(data[at:at + BUFFER_HEADER])
        side, stored = self.field("side_size"), self.field("stored_size")
        at += BUFFER_HEADER
        self.side = bytearray(data[at:at + side])
        self.stored = data[at + side:at + side + stored]

    def size(self):
        return len(self.header) + len(self.side) + len(self.stored)

    def copy(self):
        return Buffer(bytes(self), 0)

    def field(self, name):
        return get(self.header, BUFFER_FIELDS[name])

    def set(self, name, value):
        put(self.header, BUFFER_FIELDS[name], value)

    def raw(self):
        """Returns the payload, or the stored bytes if they are no longer a frame."""
        if self.field("codec") != 1:
            return bytearray(self.stored)
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(bytes(self.stored), read_across_frames=True)
            return bytearray(reader.read(RAW_MAX))
        except zstandard.ZstdError:
            return bytearray(self.stored)

    def set_raw(self, raw, codec, level=1, content_size=True):
        """Sets another payload, with matching sizes."""
        raw = bytes(raw)
        if codec == 1:
            stored = zstandard.ZstdCompressor(level=level, write_content_size=content_size).compress(raw)
            codec = 1 if len(stored) <= len(raw) else 0
        self.stored = stored if codec == 1 else raw
        self.set("codec", codec)
        self.set("raw_size", len(raw))
        self.set("stored_size", len(self.stored))

    def set_side(self, side):
        self.side = bytearray(side)
        self.set("side_size", len(self.side))

    def seal(self):
        if len(self.side) > 8:
            self.side[-8:] = struct.pack("<Q", xxh64(self.side[:-8]))
        put(self.header, (88, 8), xxh64(self.stored))
        put(self.header, (96, 8), xxh64(self.header[:96]))

    def __bytes__(self):
        return bytes(self.header) + bytes(self.side) + bytes(self.stored)


class File:
    """A parsed trace. Errors of the trace are kept."""

    def __init__(self, data):
        self.header, self.buffers, self.ends, self.closed = bytearray(data[:FILE_HEADER]), [], b"", False
        self.trailer, self.index_changes = {}, []
        at, index = FILE_HEADER, b""
        while data[at:at + 4] == b"PTLB":
            buffer = Buffer(data, at)
            at += buffer.size()
            if buffer.field("kind") == INDEX:
                index += buffer.raw()
                self.closed = True
            else:
                self.buffers.append(buffer)
        self.ends = b"".join(samples.item(kind, body) for kind, body in items(index) if kind != 1)

    def pick(self, random, *kinds):
        found = [buffer for buffer in self.buffers if not kinds or buffer.field("kind") in kinds]
        return random.choice(found) if found else None

    def index(self, at):
        """Returns the index of the preceding buffers, and the trailer."""
        body = b"".join(samples.item(1, b"\0" + bytes(buffer.header) + bytes(buffer.side)) for buffer in self.buffers)
        body = bytearray(body + self.ends)
        for change in self.index_changes:
            change(body)
        blank = bytearray(BUFFER_HEADER)
        blank[:4] = b"PTLB"
        buffer = Buffer(blank, 0)
        for name, value in (("kind", INDEX), ("stream", 0xFFFFFFFE), ("cpu", -1), ("pid", -1), ("tid", -1)):
            buffer.set(name, value)
        put(buffer.header, BUFFER_FIELDS["file_id"], get(self.header, (16, 8)))
        buffer.set_raw(body, 1 if len(body) > 4096 else 0)
        buffer.seal()
        trailer = bytearray(b"PTLINDEX" + struct.pack("<QIIQ", at, 1, 0, get(self.header, (16, 8))))
        for name, value in self.trailer.items():
            put(trailer, TRAILER_FIELDS[name], value)
        return bytes(buffer) + bytes(trailer) + struct.pack("<Q", xxh64(trailer))

    def __bytes__(self):
        put(self.header, (56, 8), xxh64(self.header[:56]))
        for buffer in self.buffers:
            buffer.seal()
        data = bytes(self.header) + b"".join(bytes(buffer) for buffer in self.buffers)
        return data + self.index(len(data)) if self.closed else data


def items(data):
    """Returns (type, body) of each complete item."""
    at = 0
    while at < len(data):
        numbers = []
        for _ in range(2):
            value = shift = 0
            while True:
                if at >= len(data) or shift > 63:
                    return
                byte = data[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            numbers.append(value)
        if numbers[1] > len(data) - at:
            return
        yield numbers[0], bytes(data[at:at + numbers[1]])
        at += numbers[1]


# ---- what can happen to bytes -----------------------------------------------------------------------------------


def extreme(random):
    return random.choice(EXTREMES)


def change_bytes(data, random):
    """Changes a bytearray at one to four places."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(BYTE_CHANGES)(data, random)


def flip_bit(data, random):
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def set_byte(data, random):
    if data:
        data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))


def set_number(data, random):
    size = random.choice((2, 4, 8))
    if len(data) >= size:
        put(data, (random.randrange(len(data) - size + 1), size), extreme(random))


def set_varint(data, random):
    at, new = random.randrange(len(data) + 1), samples.varint(extreme(random))
    data[at:at + random.choice((0, 1, len(new)))] = new


def remove_range(data, random):
    at = random.randrange(len(data) + 1)
    del data[at:at + random.choice((1, 8, 104, len(data) // 2))]


def repeat_range(data, random):
    at = random.randrange(len(data) + 1)
    part = data[at:at + random.choice((1, 8, 104, 1000))]
    data[at:at] = part * random.choice((1, 2, 50))


def cut_end(data, random):
    del data[random.randrange(len(data) + 1):]


BYTE_CHANGES = (flip_bit, set_byte, set_byte, set_number, set_varint, remove_range, repeat_range, cut_end)


# ---- what can happen to a file ----------------------------------------------------------------------------------


def drop_buffer(file, random):
    if file.buffers:
        del file.buffers[random.randrange(len(file.buffers))]


def repeat_buffer(file, random):
    buffer = file.pick(random)
    if buffer:
        file.buffers.insert(random.randrange(len(file.buffers) + 1), buffer.copy())


def swap_buffers(file, random):
    if len(file.buffers) > 1:
        i, j = random.sample(range(len(file.buffers)), 2)
        file.buffers[i], file.buffers[j] = file.buffers[j], file.buffers[i]


def renumber(file, random):
    """Renumbers sequences and positions, which hides dropped, repeated or swapped buffers."""
    random.choice((drop_buffer, repeat_buffer, swap_buffers))(file, random)
    following = {}
    for buffer in file.buffers:
        sequence, position = following.get(buffer.field("stream"), (0, 0))
        buffer.set("sequence", sequence)
        buffer.set("position", position)
        following[buffer.field("stream")] = sequence + 1, position + buffer.field("raw_size")


def header_field(file, random):
    buffer = file.pick(random)
    if buffer:
        name = random.choice(list(BUFFER_FIELDS))
        value = random.choice((extreme(random), extreme(random), buffer.field(name) + 1, buffer.field(name) - 1))
        buffer.set(name, value)


def file_field(file, random):
    put(file.header, random.choice(list(FILE_FIELDS.values())), extreme(random))


def trailer_field(file, random):
    file.trailer[random.choice(list(TRAILER_FIELDS))] = extreme(random)


def index_bytes(file, random):
    file.index_changes.append(lambda body: change_bytes(body, random))


def side_bytes(file, random):
    buffer = file.pick(random, PT, BLOB)
    if buffer and buffer.side:
        items_of = buffer.side[:-8]
        change_bytes(items_of, random)
        buffer.set_side(items_of + bytes(8))


def payload_bytes(file, random):
    """Changes the payload, and the sizes accordingly."""
    buffer = file.pick(random)
    if buffer:
        raw = buffer.raw()
        change_bytes(raw, random)
        buffer.set_raw(raw, random.choice((0, 1, buffer.field("codec"))), content_size=random.random() < 0.8)


def payload_size(file, random):
    """Changes the payload's size, but keeps the size in the header."""
    buffer = file.pick(random)
    if buffer:
        raw, stated = buffer.raw(), buffer.field("raw_size")
        raw = raw[:random.randrange(len(raw) + 1)] if random.random() < 0.5 else raw + bytes(random.randrange(1, 300))
        buffer.set_raw(raw, 1, content_size=random.random() < 0.5)
        buffer.set("raw_size", stated)


def frame_bytes(file, random):
    """Changes the compressed bytes."""
    buffer = file.pick(random)
    if buffer:
        if buffer.field("codec") != 1:
            buffer.set_raw(buffer.raw() + bytes(64), 1)
        stored = bytearray(buffer.stored)
        change_bytes(stored, random)
        buffer.stored = bytes(stored)
        buffer.set("stored_size", len(stored))


def metadata_field(file, random):
    buffer = file.pick(random, METADATA)
    records = list(items(buffer.raw())) if buffer else []
    if records:
        at = random.randrange(len(records))
        records[at] = records[at][0], change_fields(records[at][1], random)
        buffer.set_raw(b"".join(samples.item(kind, body) for kind, body in records), buffer.field("codec"))


def change_fields(body, random, depth=0):
    """Returns a record's body with one field extreme, removed, repeated, or changed inside."""
    fields = list(items(body))
    if not fields:
        return samples.number(random.randrange(40), extreme(random))
    at = random.randrange(len(fields))
    tag, value = fields[at]
    choice = random.randrange(7)
    if choice == 0:
        del fields[at]
    elif choice == 1:
        fields[at:at] = [fields[at]] * random.choice((1, 3, 300))
    elif choice == 2:
        fields[at] = tag, random.choice((b"", b"\0", b"\xff" * 40, b"A" * 70000, b"\x1b]0;x\x07\n{0:d99}{9999999999999}"))
    elif choice == 3:
        fields[at] = random.choice((extreme(random), random.randrange(40))), value
    elif choice == 4 and depth < 2 and len(value) > 8:
        fields[at] = tag, change_fields(value, random, depth + 1)
    else:
        fields[at] = tag, samples.varint(extreme(random))
    return b"".join(samples.item(tag, value) for tag, value in fields)


def foreign_buffer(file, random, others):
    """Inserts a buffer of another trace with this trace's id."""
    other = File(random.choice(others))
    buffer = other.pick(random)
    if buffer:
        put(buffer.header, BUFFER_FIELDS["file_id"], get(file.header, (16, 8)))
        file.buffers.insert(random.randrange(len(file.buffers) + 1), buffer)


def stop_writing(file, random):
    """Cuts the file, as a killed writer does."""
    file.closed = False
    if random.random() < 0.5 and file.buffers:
        del file.buffers[random.randrange(len(file.buffers)):]


CHANGES = (drop_buffer, repeat_buffer, swap_buffers, renumber, header_field, header_field, header_field, file_field,
           trailer_field, index_bytes, side_bytes, side_bytes, payload_bytes, payload_bytes, payload_bytes, payload_size,
           frame_bytes, metadata_field, metadata_field, foreign_buffer, stop_writing)


def mend(data):
    """Corrects the checksums of all headers after bytes have changed."""
    if len(data) < FILE_HEADER:
        return
    put(data, (56, 8), xxh64(data[:56]))
    at = data.find(b"PTLB", FILE_HEADER)
    while 0 <= at <= len(data) - BUFFER_HEADER:
        side, stored = (get(data, (at + place, 4)) for place in (32, 40))
        body, end = at + BUFFER_HEADER, at + BUFFER_HEADER + side + stored
        if end <= len(data):
            if side > 8:
                put(data, (body + side - 8, 8), xxh64(data[body:body + side - 8]))
            put(data, (at + 88, 8), xxh64(data[body + side:end]))
        put(data, (at + 96, 8), xxh64(data[at:at + 96]))
        at = data.find(b"PTLB", end if end <= len(data) else at + 4)
    if len(data) >= FILE_HEADER + TRAILER:
        put(data, (len(data) - 8, 8), xxh64(data[-TRAILER:-8]))


def damaged(data, random, others, changes=CHANGES):
    """Returns (changed file, description). changes: functions, some of which change the file."""
    done = []
    if random.random() < 0.75:
        file = File(data)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            change = random.choice(changes)
            done.append(change.__name__)
            change(file, random, *([others] if change is foreign_buffer else []))
        data = bytes(file)
    if not done or random.random() < 0.1:
        data = bytearray(data)
        change_bytes(data, random)
        done.append("bytes")
        if random.random() < 0.5:
            mend(data)
            done.append("mended")
    return bytes(data), "+".join(done)
