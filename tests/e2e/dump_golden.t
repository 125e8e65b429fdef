#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Commands of ptl-dump with what they print: tests/golden/*.golden, with traces made of tests/golden/samples.
"""Runs each command of each golden file and compares status, stdout and stderr.

A golden file is a sequence of cases:

    # comment
    $ ptl-dump info plain.ptl
    status 0
    stdout
    |a line
    stderr
    |a line

PTL_UPDATE=1 (or UPDATE=1) writes what the commands print now into the golden files; review the difference with
git diff. A command is run by sh in a folder that holds the traces.
"""
import difflib
import glob
import os
import re
import struct
import subprocess

from scratch_test import check, plan, scratch

tests = os.environ["PTL_TESTS"]
tools = os.environ["PTL_TEST_TOOLS"]
golden = os.path.join(tests, "golden")
samples = os.path.join(golden, "samples")
update = "1" in (os.environ.get("PTL_UPDATE"), os.environ.get("UPDATE"))
METADATA, EVENTS, PT, BLOBS = 1, 2, 3, 4
# What depends on the compressor, on how much metadata libptl writes, or on chance (the id of the file).
UNSTABLE = (
    (r"^size  .*", "size              SIZE"),
    (r"^(\x1b\[2msize +\x1b\[0m).*", r"\g<1>  SIZE"),
    (r'"size":\d+,"raw_size":\d+,"stored_size":\d+', '"size":0,"raw_size":0,"stored_size":0'),
    (r'"kind":"metadata","bytes":\d+', '"kind":"metadata","bytes":0'),
    (r'"offset":\d+,"size":\d+,"kind"', '"offset":0,"size":0,"kind"'),
    (r"(metadata .* )[0-9.]+ KiB", r"\g<1>SIZE"),
    (r"offset \d+: ", "offset N: "),
    (r"^ +\d+ +[0-9,]+(  stream \d+(: the file ends|, sequence))", r"         N      N\g<1>"),
    # Near the packet that reported it: engines differ.
    (r'"stream_offset":\d+', '"stream_offset":0'),
    (r'"offset":\d+,"bytes":', '"offset":0,"bytes":'),
    (r"(  \d+  +)0x[0-9a-f]+( +[0-9.]+ K?i?B  )", r"\g<1>0xN\g<2>"),
)


def make(*command):
    subprocess.run(command, cwd=scratch, check=True)


def first_buffer(data, kind):
    """Where the first buffer of this kind starts, and where its payload ends: docs/format.md, section 3."""
    at = data.index(b"PTLB")
    while struct.unpack_from("<I", data, at + 8)[0] != kind:
        at = data.index(b"PTLB", at + 4)
    side, _, stored = struct.unpack_from("<III", data, at + 32)
    return at, at + 104 + side + stored


def damage(data, kind):
    """Flips a bit in the last payload byte of the first buffer of this kind."""
    data = bytearray(data)
    data[first_buffer(data, kind)[1] - 1] ^= 1
    return data


def cut(data, kind):
    """The metadata, which come first, and the first half of the first buffer of this kind."""
    start, end = first_buffer(data, kind)
    return data[:first_buffer(data, METADATA)[1]] + data[start:(start + end) // 2]


def make_traces():
    for text in glob.glob(os.path.join(samples, "*.pt.txt")):
        make(os.path.join(tools, "pt_assemble"), "-o", os.path.basename(text)[:-len(".txt")], text)
    for text in sorted(glob.glob(os.path.join(samples, "*.sample"))):
        make(os.path.join(tools, "make_sample"), text, os.path.basename(text)[:-len(".sample")] + ".ptl")
    with open(os.path.join(samples, "plain.sample")) as file:
        plain = file.read()
    with open(os.path.join(scratch, "killed.sample"), "w") as file:
        file.write(plain + "abandon\n")
    make(os.path.join(tools, "make_sample"), "killed.sample", "killed.ptl")
    with open(os.path.join(scratch, "plain.ptl"), "rb") as file:
        whole = file.read()
    with open(os.path.join(scratch, "cut.ptl"), "wb") as file:
        file.write(cut(whole, BLOBS))
    with open(os.path.join(scratch, "flipped.ptl"), "wb") as file:
        file.write(damage(whole, EVENTS))
    with open(os.path.join(scratch, "badpt.ptl"), "wb") as file:
        file.write(damage(whole, PT))
    for name, data in (("perf.data", b"PERFILE2" + bytes(96)), ("text.txt", b"hello\n"), ("nothing", b""),
                       ("program", b"\x7fELF" + bytes(60)), ("trace.etl", bytes(72) + b"\2\0\2\xc0" + bytes(24))):
        with open(os.path.join(scratch, name), "wb") as file:
            file.write(data)


def run(command):
    env = {"PATH": os.environ["PTL_BIN"] + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm", "HOME": scratch,
           "TMPDIR": scratch}
    done = subprocess.run(["sh", "-c", command], cwd=scratch, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120)
    lines = [f"status {done.returncode}"]
    for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        if data:
            text = data.decode("utf-8", "backslashreplace")
            for pattern, stable in UNSTABLE:
                text = re.sub(pattern, stable, text, flags=re.M)
            lines += [name] + ["|" + line for line in text.removesuffix("\n").split("\n")]
            if not text.endswith("\n"):
                lines.append("(no newline at the end)")
    return lines


def read_cases(path):
    """The lines before the first command, and a list of (command, expected lines, comments behind)."""
    head, cases = [], []
    with open(path) as file:
        for line in file.read().splitlines():
            if line.startswith("$ "):
                cases.append((line[2:], [], []))
            elif not cases:
                head.append(line)
            elif line.startswith("#") or not line:
                cases[-1][2].append(line)
            else:
                cases[-1][1].append(line)
    return head, cases


def main():
    make_traces()
    for path in sorted(glob.glob(os.path.join(golden, "*.golden"))):
        head, cases = read_cases(path)
        written = head
        for command, expected, behind in cases:
            got = run(command)
            check(command.replace("#", "\\#"), update or got == expected, *difflib.unified_diff(expected, got, lineterm=""))
            written += ["$ " + command] + got + (behind or [""])
        if update:
            with open(path, "w") as file:
                file.write("\n".join(written).rstrip("\n") + "\n")
    plan()


main()
