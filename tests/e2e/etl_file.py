# SPDX-License-Identifier: BSD-2-Clause
# Makes .etl files in the form of Event Tracing for Windows, from the public descriptions listed in docs/etl.md.
"""File(...).buffer(cpu, events) collects buffers of events; bytes(file) is the file."""
import struct
import uuid

NONE, LZNT1, XPRESS, HUFFMAN = 0, 2, 3, 4
HEADER = 72
FREQUENCY = 10_000_000
START = 132_000_000_000_000_000  # FILETIME of the first event
START_TICKS = 5_000_000
BOOT = START - 36_000_000_000
EPOCH = 116_444_736_000_000_000


def guid(text):
    return uuid.UUID(text).bytes_le


def utf16(text):
    return text.encode("utf-16-le") + b"\0\0"


def ansi(text):
    return text.encode() + b"\0"


def sid(*parts):
    """Encodes the SID S-1-AUTHORITY-PARTS..."""
    return bytes([1, len(parts) - 1]) + parts[0].to_bytes(6, "big") + struct.pack(f"<{len(parts) - 1}I", *parts[1:])


# ---- compressions, by [MS-XCA], with a simple search for matches ------------------------------------------------

def matches(data, window, least, longest):
    """Yields tokens: (literal,) or (distance, length)."""
    seen, at = {}, 0
    while at < len(data):
        best = seen.get(data[at:at + 3], -1)
        length = 0
        if best >= 0 and at - best <= window:
            while length < longest and at + length < len(data) and data[best + length] == data[at + length]:
                length += 1
        step = length if length >= least else 1
        yield (at - best, length) if length >= least else (data[at],)
        for k in range(at, min(at + step, len(data) - 2)):
            seen[data[k:k + 3]] = k
        at += step


def lznt1(data):
    out = bytearray()
    for start in range(0, len(data), 4096):
        chunk, body, at = data[start:start + 4096], bytearray(), 0
        tokens = []
        for token in matches(chunk, 4096, 3, 18):
            bits = 4
            while at > 1 << bits:
                bits += 1
            if len(token) == 2 and token[1] <= (1 << 16 - bits) + 2 and token[0] <= 1 << bits:
                tokens.append((1, struct.pack("<H", (token[0] - 1) << 16 - bits | token[1] - 3)))
                at += token[1]
            elif len(token) == 2:
                # A match too long or too far for this format is written literally.
                tokens += [(0, chunk[at + k:at + k + 1]) for k in range(token[1])]
                at += token[1]
            else:
                tokens.append((0, bytes(token)))
                at += 1
        for k in range(0, len(tokens), 8):
            body.append(sum(flag << i for i, (flag, _) in enumerate(tokens[k:k + 8])))
            body += b"".join(text for _, text in tokens[k:k + 8])
        if len(body) < len(chunk):
            out += struct.pack("<H", 0xB000 | len(body) - 1) + body
        else:
            out += struct.pack("<H", 0x3000 | len(chunk) - 1) + chunk
    return bytes(out)


def xpress(data):
    out, flags, count, place, half = bytearray(4), 0, 0, 0, None
    for token in matches(data, 8192, 3, 65535 + 3):
        if count == 32:
            out[place:place + 4] = struct.pack("<I", flags)
            place, flags, count = len(out), 0, 0
            out += bytes(4)
        flags, count = flags << 1 | (len(token) == 2), count + 1
        if len(token) == 1:
            out += bytes(token)
            continue
        distance, length = token[0] - 1, token[1] - 3
        out += struct.pack("<H", distance << 3 | min(length, 7))
        if length < 7:
            continue
        length -= 7
        if half is None:
            half = len(out)
            out.append(min(length, 15))
        else:
            out[half] |= min(length, 15) << 4
            half = None
        if length < 15:
            continue
        length -= 15
        out.append(min(length, 255))
        if length >= 255:
            out += struct.pack("<H", length + 15 + 7)
    flags = flags << 32 - count | (1 << 32 - count) - 1
    out[place:place + 4] = struct.pack("<I", flags & 0xFFFFFFFF)
    return bytes(out)


class HuffmanBits:
    """Writes 16-bit words among bytes: each word is at the place where the reader expects it."""

    def __init__(self, out):
        self.out, self.word, self.free = out, 0, 16
        self.first = len(out)
        self.second = self.first + 2
        out += bytes(4)

    def write(self, value, count):
        if count <= self.free:
            self.word, self.free = self.word << count | value, self.free - count
            return
        left = count - self.free
        self.put(self.word << self.free | value >> left)
        self.word, self.free = value & (1 << left) - 1, 16 - left

    def put(self, word):
        self.out[self.first:self.first + 2] = struct.pack("<H", word & 0xFFFF)
        self.first, self.second = self.second, len(self.out)
        self.out += bytes(2)

    def end(self):
        self.out[self.first:self.first + 2] = struct.pack("<H", self.word << self.free & 0xFFFF)
        self.out[self.second:self.second + 2] = bytes(2)


def huffman(data):
    """All 512 symbols have 9-bit codes, equal to their numbers."""
    out = bytearray()
    for start in range(0, len(data), 65536):
        out += b"\x99" * 256
        bits = HuffmanBits(out)
        for token in matches(data[start:start + 65536], 32768, 3, 60000):
            if len(token) == 1:
                bits.write(token[0], 9)
                continue
            distance, length = token[0], token[1] - 3
            count = distance.bit_length() - 1
            bits.write(256 + count * 16 + min(length, 15), 9)
            if length >= 15:
                out.append(min(length - 15, 255))
                if length - 15 >= 255:
                    out += struct.pack("<H", length)
            bits.write(distance - (1 << count), count)
        if start + 65536 >= len(data):
            bits.write(256, 9)
        bits.end()
    return bytes(out)


COMPRESS = {LZNT1: lznt1, XPRESS: xpress, HUFFMAN: huffman}

# ---- headers of events -----------------------------------------------------------------------------------------------


def aligned(event):
    return event + bytes(-len(event) % 8)


def system(hook, payload=b"", version=2, tid=8, pid=4, ticks=START_TICKS, times=(0, 0), wide=True):
    return aligned(struct.pack("<HBBHHIIQII", version, 2 if wide else 1, 0xC0, 32 + len(payload), hook, tid, pid, ticks,
                               *times) + payload)


def compact(hook, payload=b"", version=2, tid=8, pid=4, ticks=START_TICKS, wide=True):
    return aligned(struct.pack("<HBBHHIIQ", version, 4 if wide else 3, 0xC0, 24 + len(payload), hook, tid, pid, ticks)
                   + payload)


def perfinfo(hook, payload=b"", version=2, ticks=START_TICKS, wide=True):
    return aligned(struct.pack("<HBBHHQ", version, 17 if wide else 16, 0xC0, 16 + len(payload), hook, ticks) + payload)


def full(provider, opcode, payload=b"", version=0, level=0, tid=8, pid=4, ticks=START_TICKS, wide=True):
    return aligned(struct.pack("<HBBBBHIIQ16sII", 48 + len(payload), 20 if wide else 10, 0xC0, opcode, level, version, tid,
                               pid, ticks, guid(provider), 0, 0) + payload)


def instance(provider, opcode, payload=b"", version=0, ticks=START_TICKS, wide=True):
    return aligned(struct.pack("<HBBBBHIIQ16sIIII16s", 72 + len(payload), 21 if wide else 11, 0xC0, opcode, 0, version, 8, 4,
                               ticks, guid(provider), 0, 0, 7, 6, bytes(16))[:72] + payload)


def extended(items):
    """Encodes items of (type, data)."""
    out = b""
    for i, (kind, data) in enumerate(items):
        size = 8 + len(data)
        out += struct.pack("<HHHH", size + -size % 8, kind, i + 1 < len(items), len(data)) + data + bytes(-size % 8)
    return out


def event(provider, number=0, version=0, opcode=0, payload=b"", level=4, task=0, keyword=0, channel=0, tid=8, pid=4,
          ticks=START_TICKS, times=(0, 0), activity=None, items=(), wide=True):
    more = extended(items)
    size = 80 + len(more) + len(payload)
    return aligned(struct.pack("<HBBHHIIQ16sHBBBBHQII16s", size, 19 if wide else 18, 0xC0, 1 if items else 0, 0, tid, pid, ticks,
                               guid(provider), number, version, channel, level, opcode, task, keyword, *times,
                               guid(activity) if activity else bytes(16)) + more + payload)


def message(number, provider, payload=b"", ticks=START_TICKS, tid=8, pid=4):
    """WPP: with GUID, time and thread."""
    body = guid(provider) + struct.pack("<QII", ticks, tid, pid) + payload
    return aligned(struct.pack("<HBBHH", 8 + len(body), 0, 0x90, number, 0x02 | 0x10 | 0x20) + body)


# ---- descriptions of events -------------------------------------------------------------------------------------------

def tracelogging(name, *fields):
    """Encodes the item of an event. fields: (name, in, out, more); more: bytes behind the types."""
    body = b"\0" + ansi(name)
    for field in fields:
        title, kind, out, more = (*field, 0, b"")[:4] if len(field) < 4 else field
        body += ansi(title) + (bytes([kind | 0x80, out]) if out else bytes([kind])) + (more or b"")
    return struct.pack("<H", 2 + len(body)) + body


def traits(name):
    return struct.pack("<H", 3 + len(name)) + ansi(name)


def event_info(provider, number, version, opcode, top, properties, texts):
    """Encodes TRACE_EVENT_INFO. Properties: (name, in, out, flags, count, length, map); the first `top` are not members."""
    strings, offset = b"", 112 + 24 * len(properties)

    def place(text):
        nonlocal strings
        if not text:
            return 0
        strings += utf16(text)
        return offset + len(strings) - len(utf16(text))

    heads = [place(texts[key]) if key in texts else 0 for key in
             ("provider", "level", "channel", "keywords", "task", "opcode", "message", "provider message")]
    body = b""
    for title, kind, out, flags, count, length, mapping in properties:
        body += struct.pack("<IIHHIHHI", flags, place(title), kind, out, place(mapping), count, length, 0)
    head = guid(provider) + bytes(16) + struct.pack("<HBBBBHQ", number, version, 0, 4, opcode, 0, 0)
    head += struct.pack("<16I", 0, *heads, 0, 0, 0, 0, len(properties), top, 0)
    return full("bbccf6c1-6cd1-48c4-80ff-839482e37671", 32, head + body + strings)


def map_info(provider, name, values, bits=False):
    offset, strings = 16 + 8 * len(values), utf16(name)
    body = b""
    for value, text in values:
        body += struct.pack("<II", offset + len(strings), value)
        strings += utf16(text + " ")
    return full("bbccf6c1-6cd1-48c4-80ff-839482e37671", 33,
                guid(provider) + struct.pack("<IIII", offset, 2 if bits else 1, len(values), 0) + body + strings)


def manifest_pieces(provider, text, size=60000, pid=4):
    data = text.encode()
    pieces = [data[at:at + size] for at in range(0, len(data), size)]
    return [event(provider, 65534, 1, 254, struct.pack("<BBBBHH", 1, 1, 0, 0x5B, len(pieces), i) + piece, pid=pid)
            for i, piece in enumerate(pieces)]


# ---- files -------------------------------------------------------------------------------------------------------------

class File:
    def __init__(self, buffer_size=8192, wide=True, clock=1, compression=NONE, lost=(0, 0), mhz=3000, start=START_TICKS):
        self.buffer_size, self.wide, self.compression = buffer_size, wide, compression
        self.sequence, self.parts = 0, []
        pointers = struct.pack("<QQ" if wide else "<II", 0, 0)
        head = struct.pack("<IIIIQIIIIIIII", buffer_size, 0x0A000105, 19045, 4, START + 10 * FREQUENCY, 156250, 0,
                           0x04000000 if compression else 0, 0, 1, 8 if wide else 4, lost[0], mhz)
        head += pointers + struct.pack("<i", -60) + bytes(172) + struct.pack(
            "<QQQII", BOOT, FREQUENCY, START, clock, lost[1]) + utf16("session") + utf16("file.etl")
        first = system(0x0000, head, pid=100, tid=101, ticks=start, wide=wide)
        self.parts.append(self.header(HEADER + len(first), 0, HEADER + len(first), kind=4,
                                      size=None if compression else buffer_size,
                                      state=compression or 3) + first)
        if not compression:
            self.parts[0] += bytes(b"\xff" * (buffer_size - len(self.parts[0])))

    def header(self, end, cpu, stored, flags=0, kind=0, size=None, state=3):
        self.sequence += 1
        return struct.pack("<IIIiQQQHHIIHHQQ", size or stored, end, end, 0, 0, self.sequence, 0, cpu, 1, state, end, 0x20 | flags,
                           kind, 0, 0)

    def buffer(self, events, cpu=0, end=None):
        body = b"".join(events)
        if self.compression:
            packed = COMPRESS[self.compression](body)
            self.parts.append(self.header(end or HEADER + len(body), cpu, HEADER + len(packed), 0x40) + packed)
        else:
            self.parts.append(self.header(end or HEADER + len(body), cpu, 0, size=self.buffer_size) + body +
                              b"\xff" * (self.buffer_size - HEADER - len(body)))
        return self

    def __bytes__(self):
        return b"".join(self.parts)
