# SPDX-License-Identifier: BSD-2-Clause
"""Judges whether a trace is damaged, by a second reader written from docs/format.md alone."""
import ptl_reader

SOUND, DAMAGED, REFUSED, EITHER = "sound", "damaged", "refused", "either"


def judge(data):
    """Returns SOUND, DAMAGED, REFUSED (not a trace), or EITHER (only parts of a newer version, or the end, are missing)."""
    try:
        trace = ptl_reader.Trace(data, False)
    except ptl_reader.Bad:
        return REFUSED
    for _ in trace.events():
        pass
    for buffer in trace.buffers:
        if buffer.header.usable:
            trace.read(buffer)
    trace.compare_index()
    blobs = all(trace.blob(name) is not None for name in trace.blobs)
    kinds = {kind for offset, size, kind in trace.damage if (offset, size) != (len(data), 0)}
    if kinds & {ptl_reader.CORRUPT, ptl_reader.TRUNCATED}:
        return DAMAGED
    return SOUND if blobs and not trace.damage else EITHER
