# SPDX-License-Identifier: BSD-2-Clause
# Reads the parts of Perfetto traces that timelines use: https://perfetto.dev/docs/reference/trace-packet-proto
"""read(data) returns the contents that a viewer shows. It is independent of PTL's writer, and stricter than a viewer."""
import struct

BOOT_TIME = 6


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Returns [(number, value)] of a message."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field ends behind its message")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        found.append((tag >> 3, value))
    return found


def one(message, number, default=None):
    return next((value for field, value in message if field == number), default)


def every(message, number):
    return [value for field, value in message if field == number]


class Track:
    def __init__(self, uuid, message):
        self.uuid = uuid
        self.name = one(message, 2, b"").decode("utf-8")
        self.parent = one(message, 5)
        process, thread = one(message, 3), one(message, 4)
        self.is_counter = one(message, 8) is not None
        self.pid = self.tid = None
        self.is_process = process is not None
        self.is_thread = thread is not None
        if process is not None:
            process = fields(process)
            self.pid, self.name = one(process, 1), one(process, 6, b"").decode("utf-8")
        if thread is not None:
            thread = fields(thread)
            self.pid, self.tid, self.name = one(thread, 1), one(thread, 2), one(thread, 5, b"").decode("utf-8")
        self.events = []    # (time, order, kind, name or value, flows)
        self.slices = []    # [name, start, end, depth], in order of starts
        self.instants = []  # (time, name, flows)
        self.values = []    # (time, value)

    def nest(self):
        """Makes slices from begin and end events, sorted by time as in a viewer."""
        open_slices = []
        for time, _, kind, what, flows in sorted(self.events, key=lambda event: event[:2]):
            if kind == 1:
                open_slices.append([what, time, None, len(open_slices)])
                self.slices.append(open_slices[-1])
            elif kind == 2:
                open_slices.pop()[2] = time
            elif kind == 3:
                self.instants.append((time, what, flows))
            else:
                self.values.append((time, what))
        if open_slices:
            raise ValueError(f"slices that do not end: {open_slices}")


class Sequence:
    def __init__(self):
        self.names = {}
        self.clocks = {}  # number: [is incremental, last time]
        self.clock = BOOT_TIME
        self.track = 0


def take_snapshot(sequence, snapshot):
    clocks = {one(clock, 1): clock for clock in map(fields, every(fields(snapshot), 1))}
    boot = one(clocks[BOOT_TIME], 2)
    for number, clock in clocks.items():
        if number != BOOT_TIME:
            if one(clock, 2) != boot or not 64 <= number < 128:
                raise ValueError("a clock that this reader does not know")
            sequence.clocks[number] = [bool(one(clock, 3)), boot]


def take_defaults(sequence, defaults):
    message = fields(defaults)
    sequence.clock = one(message, 58, BOOT_TIME)
    sequence.track = one(fields(one(message, 11, b"")), 11, 0)


def time_of(sequence, packet):
    time, clock = one(packet, 8, 0), one(packet, 58, sequence.clock)
    if clock == BOOT_TIME:
        return time
    incremental, last = sequence.clocks[clock]
    if incremental:
        time += last
        sequence.clocks[clock][1] = time
    return time


def take_event(sequence, tracks, time, order, event):
    event = fields(event)
    kind, iid = one(event, 9), one(event, 10)
    name = sequence.names[iid] if iid is not None else None
    value = one(event, 30)
    if kind not in (1, 2, 3, 4) or (kind in (1, 3)) != (name is not None) or (kind == 4) != (value is not None):
        raise ValueError(f"an event of no sense: {event}")
    track = tracks[one(event, 11, sequence.track)]
    if track.is_counter != (kind == 4):
        raise ValueError("a counter and slices on the same track")
    track.events.append((time, order, kind, name if kind != 4 else value, tuple(every(event, 47))))


def read(data):
    """Returns {uuid: Track}."""
    tracks, sequences = {}, {}
    for order, (number, packet) in enumerate(fields(data)):
        if number != 1:
            raise ValueError(f"field {number} of a trace")
        packet = fields(packet)
        sequence = sequences.setdefault(one(packet, 10), Sequence())
        flags = one(packet, 13, 0)
        if flags & 1:
            sequence = sequences[one(packet, 10)] = Sequence()
        descriptor = one(packet, 60)
        if descriptor is not None:
            message = fields(descriptor)
            uuid = one(message, 1)
            if uuid in tracks:
                raise ValueError(f"two tracks {uuid}")
            tracks[uuid] = Track(uuid, message)
        if one(packet, 6) is not None:
            take_snapshot(sequence, one(packet, 6))
        if one(packet, 59) is not None:
            take_defaults(sequence, one(packet, 59))
        for name in every(fields(one(packet, 12, b"")), 2):
            name = fields(name)
            sequence.names[one(name, 1)] = one(name, 2).decode("utf-8")
        if one(packet, 11) is not None:
            take_event(sequence, tracks, time_of(sequence, packet), order, one(packet, 11))
    for track in tracks.values():
        if track.parent is not None and track.parent not in tracks:
            raise ValueError(f"track {track.uuid} has a parent that is not there")
        track.nest()
    return tracks
