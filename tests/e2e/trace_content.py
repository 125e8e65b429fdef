# SPDX-License-Identifier: BSD-2-Clause
# All contents of a trace, decoded by the second reader.
import os
import sys

from scratch_test import read

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import ptl_reader  # noqa: E402


def names_of(table):
    """Returns the names of a symbol table: docs/format.md, section 10."""
    cursor = ptl_reader.Cursor(table[8:])
    before = b""
    for _ in range(cursor.varint()):
        cursor.varint()
        cursor.varint()
        cursor.take(1)
        shared = cursor.take(1)[0]
        before = before[:shared] + bytes(cursor.take(cursor.varint()))
        yield before


def everything(name):
    """Yields all content as bytes: raw buffers, and their decoded parts."""
    trace = ptl_reader.Trace(read(name), False)
    for stream in trace.streams.values():
        for buffer in stream.buffers:
            yield bytes(trace.read(buffer))
    for event in trace.events():
        yield bytes(event["payload"])
    for blob_name, (kind, _, _) in trace.blobs.items():
        blob = trace.blob(blob_name)
        yield bytes(blob)
        if kind == 2:
            yield b"\0".join(names_of(blob))


def survivors(name, secrets):
    """Returns the secrets found in the trace."""
    found = set()
    for piece in everything(name):
        for secret in secrets:
            if secret.encode() in piece or secret.encode("utf-16-le") in piece:
                found.add(secret)
    return found
