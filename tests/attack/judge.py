# SPDX-License-Identifier: BSD-2-Clause
"""What a second reader, written from docs/format.md alone, says of a trace: the judge of what is damaged."""
import ptl_reader

SOUND, DAMAGED, REFUSED, EITHER = "sound", "damaged", "refused", "either"


def judge(data):
    """SOUND, DAMAGED, REFUSED (no trace at all), or EITHER, where only what a newer version has, or the end, is missing."""
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
