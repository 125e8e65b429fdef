#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --check: what it calls sound, ptl-dump calls sound, and the flow of a redacted trace is that of the trace.
import os
import struct
import subprocess
import sys

import xxhash
import zstandard

from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import ptl_reader  # noqa: E402

HEADER, EVENTS, INDEX = 104, 2, 5
compiler = os.environ.get("CC", "gcc").split()
write("data.c", "int main(void) { return 0; }\n")
subprocess.run([*compiler, "-O1", "-o", path("data"), path("data.c")], check=True)


def relog(*options, output="out.ptl"):
    return run(RELOG, "-q", "-f", "--check", "-o", output, *options)


def leftovers():
    return [name for name in os.listdir(path(".")) if ".check-" in name]


for embed in ("code", "none"):
    run(RECORD, "-q", "-o", f"{embed}.ptl", "--embed", embed, "--", "./data")
done = relog("code.ptl", "--redact", "all")
check("a redacted trace is right", done.returncode == 0 and not done.stderr, done)
done = relog("code.ptl", "--redact", "all", "--time", "..1s")
check("with a cut, too", done.returncode == 0 and not done.stderr and not leftovers(), done)
done = relog("code.ptl", "none.ptl", "--redact", "users")
check("with a merge, too", done.returncode == 0 and not done.stderr and not leftovers(), done)
done = relog("none.ptl", "--redact", "users")
check("code that is not in the trace and keeps its path is found", done.returncode == 0, done)
done = relog("none.ptl", "--redact", "paths")
check("code that loses its path is missing, and that is said",
      done.returncode == 1 and "changed the flow" in done.stderr and "--embed code" in done.stderr, done)
check("the output stays", os.path.exists(path("out.ptl")))


def damaged_inside():
    """Events that are none, in a buffer whose checksums and sizes are right; without the index."""
    data = read("code.ptl")
    trace = ptl_reader.Trace(data, True)
    buffer = next(buffer for buffer in trace.buffers if buffer.header.kind == EVENTS)
    header = bytearray(data[buffer.offset:buffer.offset + HEADER])
    payload = zstandard.ZstdCompressor().compress(b"\xff" * buffer.header.raw_size)
    header[4] = 1  # zstd, whatever it was
    struct.pack_into("<I", header, 32, 0)
    struct.pack_into("<I", header, 40, len(payload))
    struct.pack_into("<Q", header, 88, xxhash.xxh64_intdigest(payload))
    struct.pack_into("<Q", header, 96, xxhash.xxh64_intdigest(bytes(header[:96])))
    end = next((other.offset for other in trace.buffers if other.header.kind == INDEX), None)
    return data[:buffer.offset] + bytes(header) + payload + data[buffer.offset + buffer.size:end]


write("inside.ptl", damaged_inside())
sound = run(DUMP, "info", "--check", "inside.ptl")
check("the judge finds damage inside of a buffer", sound.returncode == 3, sound)
done = relog("inside.ptl")
check("so does --check in the copy", done.returncode == 1 and "the output is damaged" in done.stderr, done)


def changed_at(place):
    """The first buffer with a side area, one bit of it changed. The index has all of it, as it was."""
    data = bytearray(read("code.ptl"))
    buffer = next(buffer for buffer in ptl_reader.Trace(bytes(data), False).buffers if buffer.header.side_size > 8)
    data[buffer.offset + place] ^= 1
    return bytes(data)


for name, place in (("header", 60), ("side area", HEADER)):
    write("changed.ptl", changed_at(place))
    plain, checked = run(DUMP, "info", "changed.ptl"), run(DUMP, "info", "--check", "changed.ptl")
    check(f"a {name} that the index has too is looked at by --check", plain.returncode == 0 and checked.returncode == 3 and
          f"the {name} is not the one that the index has" in checked.stderr, plain, checked)
    done = relog("changed.ptl")
    check(f"a copy of a trace whose {name} is damaged is sound, or ptl-relog says what is missing", done.returncode ==
          {"header": 0, "side area": 3}[name], done)


def refuses(name, options, text):
    got = run(RELOG, "-q", "-o", "no.ptl", "--check", *options)
    check(f"refused: {name}", got.returncode == 2 and text in got.stderr and not os.path.exists(path("no.ptl")), got)


refuses("--split", ["code.ptl", "--split", "64K"], "one output")
refuses("standard output", ["code.ptl", "-o", "-"], "one output")
refuses("standard input with redaction", ["-", "--redact", "all"], "several times")
os.makedirs(path("alone"))
write("alone/ptl-relog", open(RELOG, "rb").read())
os.chmod(path("alone/ptl-relog"), 0o755)
done = run(path("alone/ptl-relog"), "-q", "-o", "alone.ptl", "--check", "code.ptl")
check("it needs no other program", done.returncode == 0 and os.path.exists(path("alone.ptl")), done)
plan()
