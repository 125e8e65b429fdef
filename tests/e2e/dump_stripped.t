#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Functions of a stripped program, by its unwind tables, against its own symbols before it was stripped.
import json
import os

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, write

SOURCE = """#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf out;
static __attribute__((noinline, noclone)) int leaf(int x) { return 3 * x; }
static __attribute__((noinline, noclone)) int tail(int x) { return x & 1 ? leaf(x + 1) : leaf(x); }
static __attribute__((noinline, cold)) void rare(int x, char *text) { snprintf(text, 20, "%d", x); }
static __attribute__((noinline, noclone)) int parted(int x)
{
    char text[20] = "";
    if (x > 2)
        rare(x, text);
    return x + text[0];
}
static __attribute__((noinline, noclone)) int again(int n) { return n < 2 ? leaf(n) : again(n - 1) + again(n - 2); }
static __attribute__((noinline, noclone)) void jumps(int n) { if (n) jumps(n - 1); else longjmp(out, 1); }
static int (*volatile pointer)(int) = tail;
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += pointer(i) + parted(i);
    if (!setjmp(out))
        jumps(3);
    return sum + again(5) == 0;
}
"""
OWN = {"main", "leaf", "tail", "rare", "parted", "again", "jumps"}


def record(name, source):
    os.replace(path(source), path("prog"))
    output(RECORD, "-q", "-o", name, "--clock", "virtual", "--", path("prog"))


def rows(command, trace, *arguments):
    return [json.loads(line) for line in output(DUMP, command, "--json", *arguments, trace).splitlines()]


write("prog.c", SOURCE)
output("gcc", "-O2", "-Wl,--build-id", "-o", "full", "prog.c")
output("strip", "-o", "stripped", "full")
symbols = {}
for line in output("nm", "full").splitlines():
    fields = line.split()
    if len(fields) == 3 and fields[1] in "tT":
        symbols[int(fields[0], 16)] = fields[2]
record("full.ptl", "full")
record("stripped.ptl", "stripped")


def report(trace):
    """Calls and instructions of each function of ours, by its address."""
    return {symbols[int(row["address"], 16)]: (row["calls"], row["total_instructions"], row["self_instructions"])
            for row in rows("report", trace, "--image", "prog") if symbols.get(int(row["address"], 16)) in OWN}


truth = report("full.ptl")
check("all functions ran", set(truth) == OWN, truth)
check("a stripped program's functions have the same calls and instructions", report("stripped.ptl") == truth, truth,
      report("stripped.ptl"))


def tree(trace):
    """Depth, function and marks of each call of ours, in order."""
    return [(row["depth"], symbols[int(row["address"], 16)], row["marks"]) for row in rows("calls", trace, "--no-fold")
            if row["type"] == "call" and os.path.basename(row["image"] or "") == "prog" and symbols.get(int(row["address"], 16)) in OWN]


calls = tree("full.ptl")
check("its tail calls are seen, and what longjmp left", [name for _, name, marks in calls if "tail-call" in marks].count("leaf") == 5 and
      tree("stripped.ptl") == calls, calls, tree("stripped.ptl"))

by_address = {name: address for address, name in symbols.items()}
leaf = "+0x%x" % by_address["leaf"]
check("a function is meant by its address", {row["address"] for row in rows("calls", "stripped.ptl", "--function", leaf)
                                             if row["type"] == "call"} == {hex(by_address["leaf"])},
      output(DUMP, "calls", "--function", leaf, "stripped.ptl"))
inlined = output(DUMP, "report", "--by", "inline", "--image", "prog", "stripped.ptl")
check("code without debug information is of its function", leaf in inlined and
      "+0x%x" % by_address["parted"] in inlined, inlined)
check("lint still says that symbols are missing", [found["part"] > 0 for found in rows("lint", "stripped.ptl")[0]["checks"]
                                                   if found["check"] == "unresolved"] == [True])

# ---- what is kept of it ------------------------------------------------------------------------------

output(RELOG, "stripped.ptl", "-o", "copy.ptl")
check("a copy has them", report("copy.ptl") == truth)
with open(path("prog"), "rb") as file:
    data = bytearray(file.read())
sections = [line.split() for line in output("readelf", "-SW", "prog").replace("[ ", "[").splitlines()]
at = next(int(fields[4], 16) for fields in sections if len(fields) > 5 and fields[1] == ".eh_frame")
data[at:at + 4] = b"\xff\xff\xff\x7f"
with open(path("broken"), "wb") as file:
    file.write(data)
os.chmod(path("broken"), 0o755)
record("broken.ptl", "broken")
got = run(DUMP, "report", "--image", "prog", "broken.ptl")
check("damaged tables give no functions, and take nothing else", got.returncode == 0 and "main" not in got.stdout and
      "+0x" in got.stdout, got)
plan()
