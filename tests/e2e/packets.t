#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump packets: packets of all kinds, damage, filters, JSON, closed pipes, and streams larger than memory.
import glob
import json
import os
import random
import re

from scratch_test import DUMP as dump, RELOG as relog, check, plan, path, read, run, write

assembler = os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble")
samples = os.path.join(os.environ["PTL_TESTDATA"], "pt")
update = os.environ.get("PTL_UPDATE") == "1"


def assemble(name, text_path):
    done = run(assembler, "-o", name, text_path)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr}")


def trace(name, *streams):
    """A trace whose threads 1, 2, ... are the streams."""
    pt = [word for stream in streams for word in ("--pt", stream)]
    done = run(relog, "-q", "-f", *pt, "--memory", "memory.raw", "--memory-map", "memory.map", "-o", name)
    if done.returncode:
        raise SystemExit(f"Bail out! {done.stderr}")


def packets(*arguments):
    return run(dump, "packets", *arguments)


def texts(listing):
    """The packets of a listing without headings, offsets and what is no packet."""
    return [line[12:] for line in listing.splitlines() if line.startswith(" ") and line[12] != "!"]


write("memory.raw", "\x00" * 4096)
write("memory.map", "0x401000 4096 0\n")

# Every sample prints as the listing beside it says; those that are well formed come back from their text.
for sample in sorted(glob.glob(os.path.join(samples, "*.txt"))):
    name = os.path.basename(sample)[:-4]
    assemble("sample.pt", sample)
    trace("sample.ptl", "sample.pt")
    got = packets("sample.ptl")
    # Which number a stream has is the writer's choice.
    got.stdout = re.sub(r"^stream \d+", "stream N", got.stdout, flags=re.M)
    golden = sample[:-4] + ".dump"
    if update:
        with open(golden, "w") as file:
            file.write(got.stdout)
    want = read(golden).decode()
    check(f"{name}: text", got.returncode == 0 and got.stdout == want, got.stderr, got.stdout)

    if name.startswith("good-"):
        check(f"{name}: no warning", got.stderr == "", got.stderr)
        write("again.txt", "\n".join(texts(got.stdout)) + "\n")
        assemble("again.pt", path("again.txt"))
        check(f"{name}: the text makes the same bytes", read("again.pt") == read("sample.pt"), got.stdout)
    else:
        check(f"{name}: one warning", re.fullmatch(
            r"ptl-dump: warning: stream \d+: \d+ bytes in \d+ places? are no packets\n", got.stderr), got.stderr)

    objects = [json.loads(line) for line in packets("--json", "--raw", "sample.ptl").stdout.splitlines()]
    shown = objects[1:]
    raw = {item["offset"]: bytes.fromhex(item["raw"]) for item in shown if "raw" in item}
    covered = sum(len(data) for data in raw.values()) + sum(item.get("skipped", 0) for item in shown)
    check(f"{name}: JSON has the same packets", objects and objects[0]["bytes"] == covered == len(read("sample.pt")) and
          len(raw) == len(texts(got.stdout)) and
          all(read("sample.pt")[at:at + len(data)] == data for at, data in raw.items()), objects)

# JSON gives addresses resolved, and every field.
assemble("sample.pt", os.path.join(samples, "good-every-kind.txt"))
trace("sample.ptl", "sample.pt")
objects = [json.loads(line) for line in packets("--json", "sample.ptl").stdout.splitlines()]
first = {}
for item in objects:
    first.setdefault(item.get("packet"), item)
check("JSON of a stream", set(objects[0]) == {"stream", "pid", "tid", "bytes"} and objects[0]["pid"] == 1, objects[0])
check("JSON of a FUP", first["FUP"]["ip"] == "0x401136" and first["FUP"]["form"] == "sign48" and
      first["FUP"]["size"] == 7, first["FUP"])
check("JSON of a TIP.PGD without an address", first["TIP.PGD"]["ip"] is None, first["TIP.PGD"])
check("JSON of branches", first["TNT"]["branches"] == "ttn", first["TNT"])
check("JSON of flags and numbers", first["PTW"]["bytes"] == 4 and first["PTW"]["ip"] is False and
      first["PTW"]["payload"] == "0x2a", first["PTW"])

# --raw
got = packets("--raw", "--kind=tsc,cbr", "sample.ptl")
check("bytes in hexadecimal", texts(got.stdout) == ["1987d61200000000" + " " * 8 + "tsc 0x12d687",
                                                    "02032200" + " " * 16 + "cbr 34"], got.stdout)

# Packets that errata damage: the CPU's are known, and there is no warning.
write("errata.txt", "psb\npsbend\ntip.pge 0x401000\nbytes 07 02 f3\nfup 0x401000 form=full\n")
assemble("errata.pt", path("errata.txt"))
run(relog, "-q", "-f", "--pt", "errata.pt", "--memory", "memory.raw", "--memory-map", "memory.map", "--cpu", "6/78/3",
    "-o", "errata.ptl")
got = packets("errata.ptl")
check("a packet that an erratum damages", texts(got.stdout)[3:] == ["ovf", "fup 0x401000 form=full"] and got.stderr == "" and
      "! 1 byte damaged: CYC that OVF overwrites (erratum SKD007)" in got.stdout, got)
objects = [json.loads(line) for line in packets("--json", "errata.ptl").stdout.splitlines()]
check("JSON of it", {"damaged": 1, "cause": "CYC that OVF overwrites (erratum SKD007)"}.items() <= objects[4].items(),
      objects[4])

# --kind
kinds = [line.split()[0] for line in texts(packets("--kind", "TIP,tnt", "sample.ptl").stdout)]
check("some kinds only", set(kinds) == {"tip", "tnt", "tnt-64"} and len(kinds) == 5, kinds)
kinds = [line.split()[0] for line in texts(packets("--kind=tip.pge,mode", "sample.ptl").stdout)]
check("a name with a dot, and one without", set(kinds) == {"tip.pge", "mode.exec", "mode.tsx"}, kinds)
for words in (["--kind", "tipp"], ["--kind", "m"], ["--kind", ""], ["--kind", "psb,"]):
    got = packets(*words, "sample.ptl")
    check(f"no kind: {words}", got.returncode == 2 and got.stdout == "" and "--kind" in got.stderr and
          "is no kind of packet" in got.stderr, got)

# Two threads
write("other.txt", "psb\npsbend\ncbr 7\n")
assemble("other.pt", path("other.txt"))
trace("two.ptl", "sample.pt", "other.pt")
headings = [line for line in packets("two.ptl").stdout.splitlines() if not line.startswith(" ")]
check("a heading for each stream", [re.sub(r"^stream \d+", "stream", line) for line in headings] ==
      [f"stream  pid 1  tid 1  {len(read('sample.pt'))} bytes", "stream  pid 1  tid 2  22 bytes"], headings)
got = packets("--tid", "2", "two.ptl")
check("one thread", texts(got.stdout) == ["psb", "psbend", "cbr 7"], got.stdout)
got = packets("--pid", "2", "two.ptl")
check("no such process", got.stdout == "" and got.returncode == 2 and "there is no process 2" in got.stderr, got)
got = packets("--cpu", "0", "two.ptl")
check("no such CPU", got.stdout == "" and got.returncode == 2 and "there is no CPU 0" in got.stderr, got)

# Time: a program whose clock counts instructions, so that its packets are the same in each run.
record = os.path.join(os.environ["PTL_BIN"], "ptl-record")
got = run(record, "-q", "-o", "timed.ptl", "--clock=virtual", "--timing=tsc", "--psb-period=4K", "--", "/bin/ls", "-lR",
          os.environ["PTL_TESTDATA"])
every = [json.loads(line) for line in packets("--json", "timed.ptl").stdout.splitlines()]
times = [item["time"] for item in every if item.get("packet") == "TSC"]
check("TSC packets have the time of the trace", len(times) > 20 and times == sorted(times) and times[0] >= 0, got, times[:9])
text = re.findall(r"tsc 0x[0-9a-f]+  # (\d+)\.(\d{6}) ms\n", packets("timed.ptl").stdout)
check("in milliseconds", [int(a + b) for a, b in text] == times, text[:9])
first, last = times[len(times) // 3], times[len(times) // 2]
part = [json.loads(line) for line in packets("--json", f"--time={first}ns..{last}ns", "timed.ptl").stdout.splitlines()]
start = every.index(part[1]) if len(part) > 1 and part[1] in every else 0
inside = [item["offset"] for item in every if item.get("packet") == "TSC" and first <= item["time"] <= last]
shown = {item["offset"] for item in part[1:]}
check("--time shows whole segments", len(part) < len(every) and part[1]["packet"] == "PSB" and
      part[1:] == every[start:start + len(part) - 1], part[:3])
check("all that lie within it", set(inside) <= shown, sorted(set(inside) - shown)[:9])
got = packets("--time=1000s..", "timed.ptl")
check("no stream without a packet in it", got.stdout == "" and got.returncode == 0, got)
got = packets("--time=0..1s", "two.ptl")
check("a trace without a clock has no time", got.returncode == 2 and "no clock" in got.stderr, got)

# Large: 48 MB in packets of 1 to 8 bytes, several times the size of all buffers, with damage in the middle.
write("large.txt", "psb\npsbend\ntip.pge 0x401000\ntimes 2000000 tnt-64 tttnntttttttn\nbytes 05\npsb\n"
      "times 2000000 tsc 0x12345678\ntimes 1000000 tip 0x402000\n" "times 13000000 pad\ncbr 1\n")
assemble("large.pt", path("large.txt"))
trace("large.ptl", "large.pt")
got = packets("--kind=cbr,tip.pge", "large.ptl")
check("a large stream", texts(got.stdout) == ["tip.pge 0x401000", "cbr 1"] and got.returncode == 0 and
      len(read("large.pt")) > 45_000_000, got.stdout[:1000])
check("its damage", "! 1 byte skipped: unknown opcode 05" in got.stdout, got.stdout[:1000])
got = run("/bin/sh", "-c", f"ulimit -v 400000; exec '{dump}' packets --kind cbr large.ptl")
check("within 400 MB of address space", texts(got.stdout) == ["cbr 1"], got)

# A buffer of the file is damaged: its bytes are lost, and packets go on at the next PSB.
generator = random.Random(1)
with open(path("noise.pt"), "wb") as file:
    for _ in range(2000):
        file.write(b"\x02\x82" * 8 + bytes(generator.randrange(4, 256, 2) for _ in range(1008)))
trace("noise.ptl", "noise.pt")
data = bytearray(read("noise.ptl"))
data[len(data) // 2] ^= 1
with open(path("noise.ptl"), "wb") as file:
    file.write(data)
got = packets("--kind=psb", "noise.ptl")
lost = re.search(r"^ +([0-9a-f]+)  ! (\d+) bytes lost: buffers are missing or damaged\n(.*\n)?"
                 r" +([0-9a-f]+)  psb$", got.stdout, re.M)
check("lost bytes in their place", lost and int(lost[2]) >= 65536, got.stdout[:300])
check("goes on at the next PSB", lost and int(lost[1], 16) + int(lost[2]) <= int(lost[4], 16) and
      int(lost[4], 16) % 1024 == 0, lost)
check("and says so", got.returncode == 3 and "checksum" in got.stderr, got.stderr)

# Output that cannot be written.
got = run("/bin/sh", "-c", f"'{dump}' packets noise.ptl >/dev/full")
check("a full disk", got.returncode == 4 and
      got.stderr.startswith("ptl-dump: error: cannot write the output: No space left on device\n"), got)

# A reader that goes away early.
got = run("/bin/bash", "-c", f"'{dump}' packets large.ptl | head -n 2; echo ${{PIPESTATUS[0]}}")
check("a closed pipe ends it quietly", got.stderr == "" and got.stdout.splitlines()[1:] ==
      ["         0  psb", "0"], got)

plan()
