#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Exports of names from strangers, of very long ones, and of times near the ends of what numbers hold: each output is of its
# format, byte for byte where a reader would not notice, and the names are in it.
import csv
import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

TESTS = os.environ["PTL_TESTS"]
sys.path[:0] = [os.path.join(TESTS, "e2e"), os.path.join(TESTS, "attack")]
sys.dont_write_bytecode = True
import exports
import perfetto_file
from scratch_test import DUMP, check, path, plan, read, run, scratch, write

TOOLS = os.environ["PTL_TEST_TOOLS"]
# Markup of all kinds, what separates in folded stacks, callgrind and sample profiles, control characters, no UTF-8.
HOSTILE = b"</script><script>alert('x')</script>]]>&quot;\\\";a b;c:1:2\n\t\r\x01\x1b[31m\x7f\xff\xc3(\xed\xa0\x80\xe2\x80\xae|`$(id)"
LONG = b"".join(b"%04d<&\"" % i for i in range(8571)) + b"end"  # 60,000 bytes
assert len(LONG) == 60000
SHOWN_LONG = LONG.decode()
# What is left of the hostile name anywhere: the rest is escaped as the format wants it.
PART = "alert"


def quoted(data):
    return '"' + "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}" for byte in data) + '"'


# Nanoseconds for a tick: packets hold 56 bits.
MULTIPLIER = 500
# main at 0x401000 calls 0x401020 and 0x401030, and again.
CODE = bytes.fromhex("e81b000000" "e826000000" "ebf4").ljust(0x20, b"\x90") + b"\xc3" + b"\x90" * 15 + b"\xc3"
PACKETS = """psb
tsc %d
mode.exec 64
fup 0x401000
psbend
tip 0x401005
tsc %d
tip 0x40100a
tsc %d
tip 0x401005
tip 0x40100a
tsc %d
tip.pgd -
"""


def make(name, times):
    write(name + ".pt.txt", PACKETS % tuple(time // MULTIPLIER for time in times))
    subprocess.run([os.path.join(TOOLS, "pt_assemble"), "-o", name + ".pt", name + ".pt.txt"], cwd=scratch, check=True)
    lines = [
        f"machine source=qemu software=1 clock=4 start={times[0]} end={times[-1]} timing=3 tsc_multiplier={MULTIPLIER}",
        "bytes code " + CODE.hex(),
        f"symbols names 401000:20:T:main 401020:10:T:{quoted(HOSTILE)} 401030:10:T:{quoted(LONG)}",
        f"process start pid=7 time={times[0]} key=1 image={quoted(b'/bin/' + HOSTILE.replace(b'/', b'-'))} command={quoted(HOSTILE)}",
        f"thread pid=7 tid=7 time={times[0]} name={quoted(HOSTILE)}",
        f"image pid=7 base=0x401000 size=4096 default=0x401000 code=code symbols=names time={times[0]} "
        f"path={quoted(b'/bin/' + HOSTILE.replace(b'/', b'-'))}",
        f"schema provider=11112222-3333-4444-5555-666677778888 id=1 provider_name={quoted(HOSTILE)} event_name={quoted(HOSTILE)} fields=A:17",
        f"event provider=11112222-3333-4444-5555-666677778888 id=1 pid=7 tid=7 time={times[1]} payload={HOSTILE.hex()}00",
        f"loss kind=1 count=18446744073709551615 bytes=18446744073709551615 pid=7 tid=7 cause={quoted(HOSTILE)}",
        f"pt pid=7 tid=7 path={name}.pt time={times[0]} end={times[-1]}",
    ]
    write(name + ".sample", "\n".join(lines) + "\n")
    subprocess.run([os.path.join(TOOLS, "make_sample"), name + ".sample", name + ".ptl"], cwd=scratch, check=True)


def export(name, command, *options):
    """The output of a command, which its reader accepts; None where it does not."""
    words = [*options, *exports.OPERANDS.get(command, [[]])[0]] if command != "table" else list(options)
    got = run(DUMP, command, *words, name, text=False, env={**os.environ, "BROWSER": "true", "TMPDIR": scratch})
    passed = check(f"{command} {' '.join(options)} of {name} ends well", got.returncode == 0, got.stderr)
    wrong = exports.wrong(command, scratch, got.stdout, words) if passed else "nothing"
    return got.stdout if check(f"{command} {' '.join(options)} of {name} is of its format", not wrong, wrong) else None


EVERY = [("flamegraph",), ("flamegraph", "--folded"), ("flamegraph", "--folded", "--by", "time"), ("speedscope",),
         ("speedscope", "--by", "time"), ("timeline",), ("timeline", "--format", "chrome"), ("pprof",), ("callgrind",), ("autofdo",), ("bolt",),
         ("coverage", "--format", "lcov"), ("coverage", "--format", "cobertura"), ("sqlite",), ("ctf",), ("pcapng",), ("perf",), ("html",),
         ("open",), *(("table", table, "--format", form) for table in exports.TABLES for form in ("tsv", "csv", "json"))]


def names():
    outputs = {words: export("names.ptl", *words) for words in EVERY}
    folded = outputs["flamegraph", "--folded"].decode()
    check("folded: names of 60,000 bytes are whole, and a separator in one is none",
          re.search(r"main;%s \d+$" % re.escape(SHOWN_LONG), folded, re.M) and
          len(re.findall(r"^[^;]+;main;[^;]*alert[^;]* \d+$", folded, re.M)) == 1, folded[:500])
    frames = json.loads(outputs["speedscope",])["shared"]["frames"]
    check("speedscope: so they are", {SHOWN_LONG, "main"} < {frame["name"] for frame in frames} and
          sum(PART in frame["name"] for frame in frames) == 1, [frame["name"][:100] for frame in frames])
    texts = [text.decode("utf-8") for text in perfetto_file.every(perfetto_file.fields(gzip.decompress(outputs["pprof",])), 6)]
    check("pprof: so they are", SHOWN_LONG in texts and any(PART in text for text in texts))
    tracks = perfetto_file.read(outputs["timeline",]).values()
    slices = {what[0] for track in tracks for what in track.slices}
    check("timeline: so they are", SHOWN_LONG in slices and any(PART in name for name in slices), [name[:100] for name in slices])
    callgrind = outputs["callgrind",].decode()
    check("callgrind: so they are, each on its line", re.search(r"^fn=\(\d+\) %s$" % re.escape(SHOWN_LONG), callgrind, re.M) and
          len(re.findall(r"^fn=\(\d+\) .*alert", callgrind, re.M)) == 1, callgrind[:500])
    rows = list(csv.DictReader(io.StringIO(outputs["table", "profile", "--format", "csv"].decode(), newline="")))
    check("csv: so they are", {SHOWN_LONG, "main"} < {row["function"] for row in rows}, [row["function"][:100] for row in rows])
    database = sqlite3.connect(path(exports.DATABASE))
    known = {name for (name,) in database.execute("select function from symbols")}
    database.close()
    check("sqlite: so they are", SHOWN_LONG in known and any(PART in name for name in known), [str(name)[:100] for name in known])
    page = outputs["html",].decode()
    check("html: so they are, and no name ends the element that it is in", page.count("</script>") == page.count("<script") and
          re.search(r"0001\\u003c&", page) and "<script>alert" not in page)
    picture = outputs["flamegraph",].decode()
    check("svg: so they are, as text", SHOWN_LONG[:4000].replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")[:2000]
          in picture and "<script>alert" not in picture, picture[:300])
    losses = json.loads(outputs["table", "losses", "--format", "json"])
    check("json: the largest number is whole", 18446744073709551615 in losses.values(), losses)


def times():
    """Clocks that begin at 0 and end where numbers do."""
    for name, span in (("late.ptl", (1 << 62, (1 << 62) + 1000, (1 << 62) + (1 << 61), (1 << 63) - 2)),
                       ("far.ptl", (1000, 2000, 1 << 62, (1 << 63) - 2)),
                       ("beyond.ptl", (1000, 2000, (1 << 63) + 1000, (1 << 64) - 1000))):
        make(name[:-4], span)
        for words in EVERY[:18] + [("table", table) for table in exports.TABLES]:
            export(name, *words)
        database = sqlite3.connect(path(exports.DATABASE))
        numbers = database.execute("select min(duration), min(self), (select min(bytes) from losses) from calls").fetchone()
        own = [value for value, in database.execute("select self from calls where symbol is not null")]
        # What sum() gives up at: SQLite ends the query with an error.
        database.execute("insert into calls select * from calls")
        database.execute("update calls set self = 9223372036854775807 where rowid > ?", (len(own),))
        sums = database.execute("select sum(self_time) from (select self_time * 1.0 as self_time from function_list)").fetchone()[0]
        twice = database.execute("select total(self) from calls where symbol is not null").fetchone()[0]
        check(f"sqlite: the views of {name} have no sum that ends a query", abs(sums - twice) <= 1e-9 * twice and
              all(database.execute(f"select * from {view}").fetchall() for view in ("function_list", "call_list", "event_list")),
              sums, twice)
        database.close()
        check(f"sqlite: no number of {name} is negative", min(numbers) >= 0, numbers)
        slices = [what for track in perfetto_file.read(export(name, "timeline")).values() for what in track.slices]
        check(f"timeline: no slice of {name} ends before it begins, or behind all times",
              slices and all(start <= end < 1 << 63 for _, start, end, _ in slices), [what[1:] for what in slices])


make("names", (1000, 2000, 3000, 4000))
names()
times()
plan()
