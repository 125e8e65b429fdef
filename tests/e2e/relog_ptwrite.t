#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptwrite statements of rules: packets of known operands become typed events, which every command shows. Sites without a
# PTWRITE, operands of another size and unknown names are reported with line and cause.
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time

from scratch_test import DUMP, RELOG, check, path, plan, run, scratch, skip, write

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import perf_file  # noqa: E402
from perf_file import CYC, MTC, TSC, assemble  # noqa: E402

SOURCE = """
	.text
	.globl _start, note, pair
	.type _start, @function
_start:
	mov $6, %ebx
.Lagain:
	call note
	call pair
	dec %ebx
	jnz .Lagain
	syscall
	.size _start, . - _start
	.type note, @function
note:
	ptwritel %edi
	ret
	.size note, . - note
	.type pair, @function
pair:
	nop
	ptwriteq %rsi
	ptwritel %edx
	ret
	.size pair, . - pair
"""
LINE = {name: number for number, line in enumerate(SOURCE.splitlines(), 1) for name in ("edi", "rsi", "edx") if f"%{name}" in line and "ptwrite" in line}
NOTE, PAIR = 0x401015, 0x40101a
CALLS = 6
TRUTH = [{"length": i * 3, "id": 7 - i, "kind": i % 3, "delta": -i, "ratio": i / 4 - 1} for i in range(CALLS)]

write("queue.S", SOURCE)
compiler = shutil.which("gcc")
if not compiler or run(compiler, "-g", "-nostdlib", "-static", "-Wl,--build-id", "-o", "queue", "queue.S").returncode:
    skip("events of PTWRITE", "there is no gcc, or its assembler does not know PTWRITE")
    plan()
    sys.exit()


def packets(with_address=True, enabled=0x401000):
    """Packets of the program. Times are those of the TSC packets, in nanoseconds."""
    lines, tsc = ["psb", "tsc 0x1000", "mode.exec 64", "psbend", f"tip.pge {enabled:#x}"], 0x1000
    for i, one in enumerate(TRUTH):
        whole = int.from_bytes(struct.pack("<IBBh", one["id"], one["kind"], 0, one["delta"]), "little")
        ratio = int.from_bytes(struct.pack("<f", one["ratio"]), "little")
        tsc += 0x100
        lines += [f"tsc {tsc:#x}", f"ptw bytes=4 payload={one['length']}" + " ip" * with_address]
        lines += [f"fup {NOTE:#x}"] if with_address else []
        lines += [f"tsc {tsc + 0x10:#x}", "tnt t", f"tsc {tsc + 0x20:#x}", f"ptw bytes=8 payload={whole:#x}"]
        lines += [f"tsc {tsc + 0x30:#x}", f"ptw bytes=4 payload={ratio:#x}", f"tsc {tsc + 0x40 + 0x20 * (i == 4):#x}",
                  "tnt t" + "tn"[i == CALLS - 1]]
    return lines + ["tip.pgd -"]


def trace_of(lines, name, per_cpu=False, config=TSC, zero=0):
    file = perf_file.File(config=config | 1 << 12 | 1 << 5, per_cpu=int(per_cpu), zero=zero)
    file.program(100, 100, "queue")
    file.map(100, 100, 0x401000, 4096, 4096, 5, path("queue"), os.stat(path("queue")), 0x800)
    data = assemble(lines)
    if per_cpu:
        file.packets(data, 3, cpu=3, tid=100)
    else:
        file.packets(data, 0, tid=100)
    write(name, file.bytes())


def relog(trace, rules, out="out.ptl", *more):
    write("queue.rules", rules)
    return run(RELOG, "-f", trace, "--rules", "queue.rules", "-o", out, *more)


def lines_of(*command):
    done = run(DUMP, *command)
    return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else [{"failed": done.stderr}]


def events(trace="out.ptl"):
    return [event for event in lines_of("events", "--json", trace) if event.get("provider") == "Queue"]


def fields(event):
    return {name: value for name, value in event["fields"].items()}


RULES = """
provider "Queue" as queue;
ptwrite "note" as queue id 1 "Length" { u32 length; }
ptwrite "pair+1" as queue id 2 "Pair" {
    u32 id; u8 kind names { 0 = "CASH", 1 = "CARD", 2 = "POINTS" }; u8 flags flags { 1 = "OLD" }; i16 delta;
}
ptwrite "queue.S:%d" as queue id 3 "Ratio" { f32 ratio; }
""" % LINE["edx"]

# ---- events equal the truth --------------------------------------------------------------------------------

trace_of(packets(), "queue.data")
done = relog("queue.data", RULES)
check("rules name three PTWRITE instructions", done.returncode == 0 and "events of PTWRITE packets: 18; PTWRITE packets of no rule: 0" in
      done.stderr and "no event" not in done.stderr, done.stderr)
got = events()
check("each packet became an event", [e["event"] for e in got] == ["Length", "Pair", "Ratio"] * CALLS, got)
check("lengths are the operands", [fields(e) for e in got if e["event"] == "Length"] == [{"length": one["length"]} for one in TRUTH], got)
pairs = [fields(e) for e in got if e["event"] == "Pair"]
NAMES = ("CASH", "CARD", "POINTS")
check("an operand has several fields, some with names", [(p["id"], p["delta"]) for p in pairs] == [(one["id"], one["delta"]) for one in TRUTH] and
      all(NAMES[one["kind"]] in json.dumps(p["kind"]) for p, one in zip(pairs, TRUTH)), pairs)
check("floating point", [fields(e)["ratio"] for e in got if e["event"] == "Ratio"] == [one["ratio"] for one in TRUTH], got)
check("process and thread", {(e["pid"], e["tid"]) for e in got} == {(100, 100)}, got)
check("times are in order", len({e["time"] for e in got}) == len(got) and [e["time"] for e in got] == sorted(e["time"] for e in got), got)

text = run(DUMP, "events", "-w", "kind == CARD and delta < -1", "out.ptl").stdout
check("conditions know names and signs", text.count("Queue/Pair") == 1 and "kind=CARD" in text and "delta=-4" in text, text)
text = run(DUMP, "calls", "--events", "out.ptl").stdout
inner = [re.sub(r" {2,}", " ", line) for line in text.splitlines() if "Queue/" in line]
check("calls --events has every event in its call", len(inner) == 3 * CALLS, text)
calls = lines_of("calls", "--json", "-w", "length == 9", "out.ptl")
check("calls --where takes values of PTWRITE", [c.get("function") for c in calls] == ["note"], calls)
calls = lines_of("calls", "--json", "-w", "ratio == 0.25 or delta == 0", "out.ptl")
check("also of two instructions of a function", [c.get("function") for c in calls] == ["pair", "pair"], calls)
text = run(DUMP, "calls", "-w", "lenght == 9", "out.ptl")
check("a misspelled value is refused with the nearest name", text.returncode == 2 and "did you mean 'length'" in text.stderr, text.stderr)
done = run(DUMP, "why", "pair", "--slow", "id == 3", "out.ptl")
check("why counts values of PTWRITE", "Queue/Pair" in done.stdout and "id=3 in 1 of 1 slow" in done.stdout, done.stdout, done.stderr)
done = run(RELOG, "-f", "-q", "out.ptl", "--calls", "note: length == 9", "-o", "window.ptl")
check("windows by values of PTWRITE", done.returncode == 0 and [fields(e) for e in events("window.1.ptl") if e["event"] == "Length"] == [{"length": 9}],
      done.stderr)
run(DUMP, "html", "-f", "-o", "out.html", "out.ptl")
with open(path("out.html"), encoding="utf-8") as file:
    page = file.read()
check("html has the values", all(f"length={one['length']}" in page and f"id={one['id']} kind={NAMES[one['kind']]}" in page for one in TRUTH), len(page))
if shutil.which("gdb"):
    done = run(DUMP, "gdb", "--batch", "-x", "monitor events Queue/Pair", "out.ptl")
    found = re.findall(r"Queue/Pair  id=(\d+) kind=(\w+)", done.stdout + done.stderr)
    check("gdb lists the values", found == [(str(one["id"]), NAMES[one["kind"]]) for one in TRUTH], found, done)
else:
    skip("gdb lists the values", "there is no gdb")
done = run(DUMP, "info", "--check", "out.ptl")
check("the output is valid", done.returncode == 0, done.stdout, done.stderr)

# ---- where packets have no address, and on a CPU --------------------------------------------------------------

trace_of(packets(with_address=False), "bare.data")
done = relog("bare.data", RULES, "bare.ptl")
bare = events("bare.ptl")
check("flow tells the instruction of packets without an address", [(e["event"], fields(e)) for e in bare] == [(e["event"], fields(e)) for e in got],
      done.stderr, bare)
trace_of(packets(), "cpu.data", per_cpu=True)
done = relog("cpu.data", RULES, "cpu.ptl")
check("packets of a CPU: the events have its number", {e["cpu"] for e in events("cpu.ptl")} == {3} and len(events("cpu.ptl")) == 18,
      done.stderr, events("cpu.ptl")[:2])
trace_of([line for line in packets() if not line.startswith("tsc") or line == "tsc 0x1000"], "coarse.data", config=TSC)
done = relog("coarse.data", RULES, "coarse.ptl")
check("without times between the packets: all events, in order", [fields(e) for e in events("coarse.ptl")] == [fields(e) for e in got],
      done.stderr)
calls = lines_of("calls", "--json", "-w", "length >= 0", "coarse.ptl")
check("without times, no call gets the value of another call", calls == [], calls)

# ---- other ways to name a site, and rules that see the events ---------------------------------------------------

done = relog("queue.data", RULES.replace('"pair+1"', f'"queue:{PAIR + 1:#x}"').replace('"note"', '"queue:note+0x0", "nothing:0x10"'), "sites.ptl")
check("sites by image and address", done.returncode == 0 and [fields(e) for e in events("sites.ptl")] == [fields(e) for e in got], done.stderr)
check("a site without an event is named", "queue.rules:3:27: no event of PTWRITE at nothing:0x10: no image of the trace has this name" in
      done.stderr, done.stderr)
done = relog("queue.data", RULES + "on queue id 1 where length < 10 { drop; }\n", "dropped.ptl")
check("rules see the events", [fields(e)["length"] for e in events("dropped.ptl") if e["event"] == "Length"] == [12, 15], done.stderr)
done = relog("queue.data", 'provider "Queue" as queue;\nptwrite "note" as queue { u32 length hex; }\n', "some.ptl")
check("packets of no rule are counted", "events of PTWRITE packets: 6; PTWRITE packets of no rule: 12" in done.stderr and
      [e["event"] for e in events("some.ptl")] == ["note"] * CALLS, done.stderr)
flows = [run(DUMP, "flow", "--json", name).stdout for name in ("out.ptl", "some.ptl")]
check("the flow still has all packets", flows[0] == flows[1] and flows[0].count('"ptwrite"') == 18)
done = run(RELOG, "-f", "queue.data", "some.ptl", "--rules", "queue.rules", "-o", "both.ptl")
check("events of one provider, with those of the earlier run", [e["event"] for e in events("both.ptl")] == ["note"] * 18, events("both.ptl"))
check("a trace that has such events is told", "queue.rules:2:9: some.ptl has events of this number already" in done.stderr and
      "queue.data has" not in done.stderr, done.stderr)
check("two inputs", done.returncode == 0 and "events of PTWRITE packets: 12" in done.stderr, done.stderr)

# ---- operands that do not fit ---------------------------------------------------------------------------------

done = relog("queue.data", 'provider "Queue" as queue;\nptwrite "note" as queue { u64 length; }\n', "wide.ptl")
check("fields larger than the operand", "queue.rules:2:9: 6 PTWRITE packets do not fit the 8 bytes of the fields" in done.stderr and not
      events("wide.ptl"), done.stderr)
done = relog("queue.data", 'provider "Queue" as queue;\nptwrite "pair+1" as queue { u32 id; }\n', "narrow.ptl")
check("an operand with more than the fields is no event; one with zeros is",
      "5 PTWRITE packets do not fit the 4 bytes" in done.stderr and [fields(e) for e in events("narrow.ptl")] == [{"id": 7}],
      done.stderr, events("narrow.ptl"))

# ---- sites without a PTWRITE ----------------------------------------------------------------------------------

for site, cause in (("notes", "no image of the trace has a function of this name (did you mean 'note'?)"),
                    ("note+4", "the instruction there is no PTWRITE"),
                    ("note+64", "the function is smaller"),
                    ("queue:0x401000", "the instruction there is no PTWRITE"),
                    ("queue:0x900000", "the image has no such address"),
                    ("other:note", "no image of the trace has this name"),
                    ("queue.S:1000", "the debug information of the images has no code in this line"),
                    ("queue.S:8", "the trace has no such packet from there"),
                    ("_start", "the trace has no such packet from there")):
    done = relog("queue.data", f'provider "Queue" as queue;\n\nptwrite "{site}" as queue {{ u32 length; }}\n', "none.ptl")
    check(f"{site}: line and cause", done.returncode == 0 and f"queue.rules:3:9: no event of PTWRITE at {site}: {cause}" in done.stderr,
          done.stderr)
done = relog("queue.data", 'provider "Queue" as queue;\nptwrite "note" as queue { u32 a; }\nptwrite "note+0" as queue id 1 { u32 b; }\n', "twice.ptl")
check("the first of two statements counts", "queue.rules:3:9: no event of PTWRITE at note+0: a statement above has the instruction" in done.stderr,
      done.stderr)
text = run(DUMP, "info", "none.ptl").stdout
check("the trace records the site", "no event of PTWRITE at _start" in text, text)

# The last time that 64 bits hold: TSC packets of 0x5000.
last = ["psb", "tsc 0x1000", "mode.exec 64", "psbend", f"tip.pge {NOTE:#x}"]
for number in range(3):
    last += [f"tsc {0x3000 + number * 0x1000:#x}", f"ptw bytes=4 payload={number} ip", f"fup {NOTE:#x}"]
trace_of([*last, "tip.pgd -"], "last.data", zero=2**64 - 1 - 0x5000)
done = relog("last.data", 'provider "Queue" as queue;\nptwrite "note" as queue { u32 length; }\n', "last.ptl")
check("the last of all times: each event is there", done.returncode == 0 and "events of PTWRITE packets: 3" in done.stderr and
      [event["fields"]["length"] for event in events("last.ptl")] == [0, 1, 2], done, events("last.ptl"))

# ---- errors in the rules ----------------------------------------------------------------------------------------

for rule, message in (('ptwrite "note" as queue { utf8 t; }', "expected fields of a fixed size up to 8 bytes, found 't'"),
                      ('ptwrite "note" as queue { u64 a; u8 b; }', "expected at most 8 bytes of fields, found more (up to 'b')"),
                      ('ptwrite "note" as queue { u32 a[counted]; }', "expected fields of a fixed size"),
                      ('ptwrite "note" as queue { u32 a[400000]; }', "expected fields of a fixed size"),
                      ('ptwrite "note" as queue { }', "expected a field, found none"),
                      ('ptwrite "0x1234" as queue { u32 a; }', "expected an address in an image"),
                      ('ptwrite "queue:" as queue { u32 a; }', "expected a place such as"),
                      ('ptwrite note as queue { u32 a; }', "expected a place in quotes"),
                      ('ptwrite "note" as other { u32 a; }', "expected a provider that is named above"),
                      ('ptwrite "note" as queue { u8 a names { 1 = "A", 1 = "B" }; }', "expected another number, found one that is named 'A'"),
                      ('ptwrite "note" as queue { f32 a names { 1 = "A" }; }', "only integers have names or flags")):
    done = relog("queue.data", f'provider "Queue" as queue;\n{rule}\n', "bad.ptl")
    check(f"{rule}: refused", done.returncode != 0 and message in done.stderr and "queue.rules:2:" in done.stderr and not
          os.path.exists(path("bad.ptl")), done.stderr)
done = relog("out.ptl", 'provider "Queue" as queue;\nptwrite "note" as queue id 1 { u16 other; u16 more; }\n', "clash.ptl")
check("a number with another schema in the trace", done.returncode != 0 and "have another schema (Length)" in done.stderr, done.stderr)

# ---- traces that are being written ------------------------------------------------------------------------------------

run(RELOG, "-q", "-f", "queue.data", "-o", "plain.ptl")
with open(path("plain.ptl"), "rb") as file:
    whole = file.read()
with open(path("growing.ptl"), "wb") as growing:
    growing.write(whole[:len(whole) // 2])
    growing.flush()
    write("queue.rules", RULES)
    with subprocess.Popen([RELOG, "-f", "--follow", "growing.ptl", "--rules", "queue.rules", "-o", "followed.ptl"], cwd=scratch,
                          stderr=subprocess.PIPE, text=True) as follower:
        time.sleep(0.5)
        growing.write(whole[len(whole) // 2:])
        growing.close()
        said = follower.communicate(timeout=60)[1]
check("--follow waits for the whole trace", follower.returncode == 0 and [fields(e) for e in events("followed.ptl")] == [fields(e) for e in got],
      said)
for follow in ([], ["--follow"]):
    done = run("sh", "-c", f"cat queue.rules | {shlex.quote(RELOG)} -f {' '.join(follow)} plain.ptl --rules /dev/stdin -o piped.ptl")
    check(f"rules of a pipe {follow}", done.returncode == 0 and len(events("piped.ptl")) == 18, done.stderr)

# ---- options that choose events before the rules ----------------------------------------------------------------------

for option, chosen in (("--around", ["--around", "length == 9", "--after", "1us"]),
                       ("--between", ["--between", "length == 3", "--and", "length == 9"]),
                       ("--calls with an expression", ["--calls", "note: length == 9"]),
                       ("--order", ["--order", "length == 3", "--then", "length == 9"])):
    done = relog("plain.ptl", RULES, "choice.ptl", *chosen)
    check(f"{option} with ptwrite: is refused", done.returncode == 2 and f"ptwrite makes events, and {option} sees only events of the inputs" in
          done.stderr and "queue.rules:" in done.stderr and not os.path.exists(path("choice.1.ptl")), done)
done = relog("plain.ptl", RULES, "choice.ptl", "--calls", "note", "--slowest", "1")
check("--calls without an expression, with ptwrite", done.returncode == 0 and len(events("choice.1.ptl")) >= 1, done, events("choice.1.ptl"))
done = run(RELOG, "-f", "piped.ptl", "--around", "length == 9", "--after", "1us", "-o", "choice.ptl")
check("--around in a run of its own", done.returncode == 0 and any(event["fields"].get("length") == 9 for event in events("choice.1.ptl")), done)

plan()
