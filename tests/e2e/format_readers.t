#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""libptl and the independent reader must agree on every sample, on its truncations and on damaged copies of it."""
import contextlib
import io
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.dont_write_bytecode = True
import ptl_reader  # noqa: E402
import samples  # noqa: E402
from scratch_test import check, plan, scratch  # noqa: E402

TOOL = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_canonical")
MAKE = os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample")
DAMAGED = ("good-everything", "good-unclosed", "written-by-libptl")

# What libptl writes, in the words of tests/tools/make_sample.c.
WRITTEN = """
machine source=qemu software=1 clock=4 start=1000 end=9000 timing=1
provenance tool=ptl-record version=1 command="a 'b c'" wall=5
loss kind=1 count=2 bytes=10 pid=1 tid=1 cause="no space left"
bytes CODE 90 90 c3
symbols NAMES 401000:10:T:main 401010:0:t:part
process start pid=1 parent=0 time=0 key=1 image=/bin/a command="a \\xff b" status=0 opcode=1
thread pid=1 tid=1 opcode=1 time=10 name=main
image pid=1 opcode=10 base=0x401000 size=4096 offset=0 default=0x401000 path=/bin/a prot=5 build=0102 code=CODE symbols=NAMES time=20
code pid=1 base=0x401000 size=3 code=CODE time=500
pt pid=1 tid=1 cpu=4294967295 path=packets.pt time=100 end=900
hole 100
"""


def independent(data, ignore_index):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            ptl_reader.show(ptl_reader.Trace(data, ignore_index))
        except ptl_reader.Bad as bad:
            print("error", bad.kind)
    return out.getvalue().splitlines()


def library(path, data, ignore_index):
    with open(path, "wb") as file:
        file.write(data)
    run = subprocess.run([TOOL] + ["--ignore-index"] * ignore_index + [path], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=120, check=False)
    lines = run.stdout.decode().splitlines()
    return lines + ["exit %d: %s" % (run.returncode, run.stderr.decode())] if run.returncode else lines


def difference(path, data, ignore_index):
    """What the two say differently first, or None."""
    one, two = library(path, data, ignore_index), independent(data, ignore_index)
    for i in range(max(len(one), len(two))):
        left, right = (one[i:i + 1] or ["nothing"])[0], (two[i:i + 1] or ["nothing"])[0]
        if left != right:
            return "line %d: libptl: %s, the other: %s" % (i + 1, left[:300], right[:300])
    return None


def written_by_libptl(folder):
    """A file that libptl has written."""
    text, path = (os.path.join(folder, name) for name in ("text", "written.ptl"))
    with open(os.path.join(folder, "packets.pt"), "wb") as file:
        file.write((samples.PSB + samples.pt_bytes(200)) * 20)
    with open(text, "w", encoding="ascii") as file:
        file.write(WRITTEN)
    subprocess.run([MAKE, text, path], cwd=folder, check=True)
    with open(path, "rb") as file:
        return file.read()


def damage_lines(data):
    return [line for line in independent(data, False) if line.startswith(("damage", "error"))]


def variants(data):
    """Truncations and single changed bytes, spread evenly (the unit tests try every one with libptl)."""
    for size in range(0, len(data), 61):
        yield "cut to %d bytes" % size, data[:size]
    for at in range(0, len(data), 41):
        yield "byte %d changed" % at, data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:]


def dump_says(path, name, data):
    """What only a newer version knows costs ptl-dump's exit status where something known is missing, and is reported."""
    with open(path, "wb") as file:
        file.write(data)
    run = subprocess.run([os.path.join(os.environ["PTL_BIN"], "ptl-dump"), "info", "--check", path], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, timeout=120, check=False, text=True)
    lacks = name in ("unsupported-major", "unsupported-minor", "unsupported-codec")
    reported = name.rpartition("-")[2] not in ("kind", "zero", "record") or "a newer version wrote" in run.stderr
    check("ptl-dump's status for " + name, run.returncode == (3 if lacks else 0) and reported, run.returncode, run.stderr)


def same_version():
    """The page, its reader, and what libptl writes."""
    with open(os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "docs", "format.md"), encoding="utf-8") as file:
        text = file.read()
    written = written_by_libptl(scratch)
    check("docs/format.md and the independent reader are of the version that is written", list(written[8:12:2]) == [1, ptl_reader.MINOR] and
          text.startswith(f"# The .ptl trace file, version 1.{ptl_reader.MINOR}\n") and f"| minor version: {ptl_reader.MINOR} |" in text,
          written[8:12], ptl_reader.MINOR)


def main():
    path = os.path.join(scratch, "sample.ptl")
    same_version()
    for name, data in [*samples.samples(), ("written-by-libptl", written_by_libptl(scratch))]:
        for ignore_index in (False, True):
            found = difference(path, data, ignore_index)
            check("both readers agree on %s%s" % (name, ", scanned" if ignore_index else ""), found is None, found)
        lines = damage_lines(data)
        if name == "good-unclosed":
            right = len(lines) == 1 and lines[0].endswith("0 truncated")
        elif name.startswith(("good-", "written-")):
            right = not lines
        elif name.startswith("unsupported-"):
            right = all("unsupported" in line for line in lines)
            dump_says(path, name, data)
        else:
            right = name in QUIET or bool(lines)
        check(name + " is reported as its name says", right, *lines)
        if name in DAMAGED:
            found = [(what, difference(path, changed, False)) for what, changed in variants(data)]
            found = ["%s: %s" % pair for pair in found if pair[1]]
            check("both readers agree on %s when it is damaged" % name, not found, *found[:5])
    plan()


# Bad in a way that only a look at the content can tell: a schema does not fit its events, a blob is not whole.
QUIET = {"bad-events-right-after-all", "bad-events-bytes-without-events", "bad-buffer-side-in-events",
         "bad-blob-types-differ"}
QUIET |= {"bad-blob-" + name for name in ("hash", "bytes-missing", "bytes-twice")}
QUIET |= {"bad-metadata-schema-" + name for name in ("struct-too-long", "type-unknown", "array-of-nothing",
                                                     "nested-too-deep", "fields-of-no-bytes",
                                                     "payload-too-short")}

main()
