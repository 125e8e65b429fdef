# SPDX-License-Identifier: BSD-2-Clause
"""Reads pcapng strictly by its specification: read(data) returns interfaces and packets."""
import struct


class Bad(Exception):
    """The data violates pcapng."""


def need(condition, what):
    if not condition:
        raise Bad(what)


def options(data):
    """Returns (code, bytes) of each option; requires the end of the list."""
    found, at = [], 0
    while True:
        need(at + 4 <= len(data), "options without an end")
        code, size = struct.unpack_from("<HH", data, at)
        at += 4
        if code == 0:
            need(size == 0 and at == len(data), "bytes behind the end of options")
            return found
        need(at + size + -size % 4 <= len(data), "an option beyond its block")
        need(not any(data[at + size:at + size + -size % 4]), "padding that is not zero")
        found.append((code, data[at:at + size]))
        at += size + -size % 4


def blocks(data):
    at = 0
    while at < len(data):
        need(at + 12 <= len(data), "half a block")
        kind, size = struct.unpack_from("<II", data, at)
        need(size % 4 == 0 and 12 <= size <= len(data) - at, f"a block of {size} bytes")
        need(struct.unpack_from("<I", data, at + size - 4)[0] == size, "two sizes of one block")
        yield kind, data[at + 8:at + size - 4]
        at += size


def read(data):
    """Returns (section options, interfaces, packets, statistics), lists of dictionaries."""
    interfaces, packets, statistics, section = [], [], [], None
    for kind, body in blocks(data):
        need((section is None) == (kind == 0x0A0D0D0A), "a section is what begins the file, and nothing else")
        if kind == 0x0A0D0D0A:
            need(struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1), "another section")
            section = dict(options(body[16:]))
        elif kind == 1:
            link, reserved, snap = struct.unpack_from("<HHI", body)
            need(not reserved, "a reserved field")
            interfaces.append({"link": link, "snap": snap, "options": dict(options(body[8:]))})
        elif kind == 6:
            interface, high, low, size, original = struct.unpack_from("<5I", body)
            need(interface < len(interfaces), "a packet of an interface that is not there yet")
            need(size <= original and size <= interfaces[interface]["snap"], "a packet longer than it was")
            need(not any(body[20 + size:20 + size + -size % 4]), "padding that is not zero")
            more = dict(options(body[20 + size + -size % 4:]))
            packets.append({"interface": interface, "time": high << 32 | low, "data": body[20:20 + size], "original": original,
                            "comment": more.get(1, b"").decode(), "flags": struct.unpack("<I", more.get(2, bytes(4)))[0]})
        elif kind == 5:
            interface, high, low = struct.unpack_from("<III", body)
            need(interface < len(interfaces), "statistics of an interface that is not there")
            statistics.append({"interface": interface, "time": high << 32 | low, "options": dict(options(body[12:]))})
        else:
            raise Bad(f"a block of kind {kind}")
    need(section is not None, "no section")
    for one in interfaces:
        need(one["options"].get(9) == b"\x09", "times are not nanoseconds")
    return section, interfaces, packets, statistics
