# SPDX-License-Identifier: BSD-2-Clause
# Shared by tests of perf.data: writing files with records of other kernel versions and other machines.
"""import perf_made after putting the folder of the test on sys.path."""
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, RAW = (1 << bit for bit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 10))
BRANCH_STACK, REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER = (1 << bit for bit in (11, 12, 13, 14, 15, 16))
SAMPLE_ID_ALL, COMM_EXEC = 1 << 18, 1 << 24
KERNEL, USER, EXEC = 1, 2, 0x2000
BUILD_ID, EVENT_DESC = 2, 12
OUTSIDE = 0xffffffff


def entry(kind, body, misc=0):
    """Makes a record, with the body padded to a multiple of 8 bytes."""
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value):
    """Encodes a string: zero-terminated, padded to a multiple of 8 bytes."""
    data = value.encode() + b"\0"
    return data + bytes(-len(data) % 8)


class Event:
    """Makes the attributes of an event. extra: offsets and values of further attributes."""

    def __init__(self, sample_type, kind=1, config=0, name=None, flags=COMM_EXEC, period=1000, read_format=0, extra=()):
        self.sample_type, self.kind, self.config, self.name = sample_type | IDENTIFIER, kind, config, name
        self.flags, self.period, self.read_format, self.extra = flags | SAMPLE_ID_ALL, period, read_format, extra

    def attr(self):
        data = bytearray(struct.pack("<IIQQQQQ", self.kind, 128, self.config, self.period, self.sample_type,
                                     self.read_format, self.flags).ljust(128, b"\0"))
        for offset, form, value in self.extra:
            struct.pack_into(form, data, offset, value)
        return bytes(data)


class Data:
    """A perf.data file. All events have TID, TIME and CPU, so all trailers have the same form."""

    def __init__(self, *events):
        self.events, self.records = events, []

    def add(self, kind, body, misc=0, pid=0, tid=0, time=0, number=0, cpu=0):
        """Adds a record of the kernel with its trailer."""
        trailer = struct.pack("<IIQIIQ", pid, tid, time, cpu, 0, 100 + number)
        self.records.append(entry(kind, body + bytes(-len(body) % 8) + trailer, misc))

    def comm(self, pid, tid, name, time=0, misc=0):
        self.add(3, struct.pack("<II", pid, tid) + text(name), misc, pid, tid, time)

    def fork(self, pid, parent, tid, parent_tid, time=0):
        self.add(7, struct.pack("<IIIIQ", pid, parent, tid, parent_tid, time), 0, parent, parent_tid, time)

    def exit(self, pid, tid, time, parent=1):
        self.add(4, struct.pack("<IIIIQ", pid, parent, tid, parent, time), 0, pid, tid, time)

    def map(self, pid, tid, base, size, name, time=0, offset=0, misc=USER, inode=0, device=(0, 0)):
        self.add(10, struct.pack("<IIQQQIIQQII", pid, tid, base, size, offset, *device, inode, 0, 5, 2) + text(name), misc,
                 0 if pid == OUTSIDE else pid, 0 if tid == OUTSIDE else tid, time)

    def old_map(self, pid, tid, base, size, name, offset=0, misc=KERNEL, time=0):
        self.add(1, struct.pack("<IIQQQ", pid, tid, base, size, offset) + text(name), misc, 0, 0, time)

    def sample(self, ip, pid, tid, time, behind=b"", misc=USER, number=0, cpu=0):
        """Adds a sample. behind: bytes behind CPU and, if the event has it, the period."""
        self.records.append(entry(9, struct.pack("<QQIIQII", 100 + number, ip, pid, tid, time, cpu, 0) + behind, misc))

    def names(self):
        body = struct.pack("<II", len(self.events), 128)
        for number, event in enumerate(self.events):
            name = (event.name or "").encode() + b"\0"
            name += bytes(-len(name) % 64)
            body += event.attr() + struct.pack("<II", 1, len(name)) + name + struct.pack("<Q", 100 + number)
        return body

    def bytes(self, magic=b"PERFILE2", types=(), features=()):
        """
        Returns the file: header, ids, attributes, records, and names if any event has a name. types: tracepoint names of old files;
        features: further (number, bytes).
        """
        data = b"".join(self.records)
        ids = b"".join(struct.pack("<Q", 100 + number) for number in range(len(self.events)))
        attrs_at = 104 + len(ids)
        attrs = b"".join(event.attr() + struct.pack("<QQ", 104 + 8 * number, 8)
                         for number, event in enumerate(self.events))
        attrs += b"".join(struct.pack("<Q64s", number, name.encode()) for number, name in types)
        types_at, types_size = attrs_at + len(attrs) - 72 * len(types), 72 * len(types)
        start = attrs_at + len(attrs)
        features = dict(features)
        if any(event.name for event in self.events):
            features.setdefault(EVENT_DESC, self.names())
        bits = bytearray(32)
        for number in features:
            bits[number // 8] |= 1 << number % 8
        head = struct.pack("<8sQQQQQQQQ", magic, 104, 144, attrs_at, 144 * len(self.events), start,
                           len(data), types_at, types_size) + bytes(bits)
        whole = head + ids + attrs + data
        at = len(whole) + 16 * len(features)
        for _, body in sorted(features.items()):
            whole += struct.pack("<QQ", at, len(body))
            at += len(body)
        return whole + b"".join(body for _, body in sorted(features.items()))
