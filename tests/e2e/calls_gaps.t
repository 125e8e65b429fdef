#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# An overflow within nested calls of code without symbols: wherever flow goes on, the calls of later rounds are
# not nested in frames that are gone.
import itertools
import json
import os

from scratch_test import DUMP as dump, RELOG as relog, check, output, path, plan, write

ASSEMBLER = os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble")
FIRST = 0x401000
ROUNDS = 8
# main calls outer, that calls inner; each place is behind an instruction at which an overflow may end.
LAYOUTS = {
    "callers first": ("main", "outer", "inner"),
    "callees first": ("inner", "outer", "main"),
    "mixed": ("outer", "main", "inner"),
}
CODE = {
    "main": "main:\n call outer\nback:\n nop\nmain2: dec ecx\n jnz main\n syscall\n",
    "outer": "outer:\n nop\nouter1: call inner\nouter_back:\n nop\nouter2: ret\n",
    "inner": "inner:\n nop\ninner1: jz inner2\ninner2:\n nop\ninner3: ret\n",
}
# Where the overflow is found, and the packets of the rest of the round from there on.
REST = {
    "outer1": ["tnt n", "tip outer_back", "tip back"],
    "inner1": ["tnt n", "tip outer_back", "tip back"],
    "inner3": ["tip outer_back", "tip back"],
    "outer_back": ["tip back"],
    "outer2": ["tip back"],
    "back": [],
    "main2": [],
}


def assemble(order):
    text = f"bits 64\norg {FIRST:#x}\n[map symbols code.map]\n" + "align 64, nop\n".join(CODE[name] for name in order)
    write("code.asm", text)
    output("nasm", "-f", "bin", "-o", "memory.raw", "code.asm")
    write("memory.map", f"{FIRST:#x} {os.path.getsize(path('memory.raw'))} 0\n")
    labels = {}
    for line in open(path("code.map"), encoding="ascii"):
        words = line.split()
        if len(words) == 3 and words[2] in text.replace(":", " ").split():
            labels[words[2]] = int(words[0], 16)
    write("labels.txt", "".join(f"= {name} {value:#x}\n" for name, value in labels.items()))
    return labels


def packets(labels, lost_behind, goes_on):
    """The third round has an overflow behind so many of its packets, and goes on at a place."""
    whole = ["tnt n", "tip outer_back", "tip back"]
    lines = ["psb", "mode.exec 64", "psbend", "tip.pge main"]
    for i in range(ROUNDS):
        lines += whole if i != 2 else [*whole[:lost_behind], "ovf", f"fup {goes_on}", *REST[goes_on]]
        lines.append("tnt n" if i == ROUNDS - 1 else "tnt t")
    for name, value in labels.items():
        lines = [" ".join(f"{value:#x}" if word == name else word for word in line.split()) for line in lines]
    write("packets.txt", "\n".join([*lines, "tip.pgd -"]) + "\n")
    output(ASSEMBLER, "-o", "test.pt", "packets.txt")
    output(relog, "-q", "-f", "--pt", "test.pt", "--memory", "memory.raw", "--memory-map", "memory.map", "-o", "test.ptl")


def judge(labels, order):
    """Depth of the calls of the last rounds, and the law of report: roots sum up to all that was executed."""
    starts = sorted((labels[name], name) for name in order)
    depth = {name: i for i, name in enumerate(("main", "outer", "inner"))}
    calls = [json.loads(line) for line in output(dump, "calls", "-q", "--no-fold", "--json", "test.ptl").splitlines()]
    wrong = []
    for call in [call for call in calls if "address" in call][-6:]:
        name = max((value, name) for value, name in starts if value <= int(call["address"], 16))[1]
        if call["depth"] != depth[name]:
            wrong.append((name, call["depth"]))
    rows = [json.loads(line) for line in output(dump, "report", "-q", "--json", "test.ptl").splitlines()]
    executed = sum(row["self_instructions"] for row in rows)
    roots = sum(call["instructions"] for call in calls if call.get("depth") == 0)
    return [*wrong, *([("roots", roots, executed)] if roots != executed else []),
            *[row for row in rows if row["total_instructions"] > executed]]


for layout, order in LAYOUTS.items():
    places = assemble(order)
    failed = []
    for behind, place in itertools.product(range(3), REST):
        packets(places, behind, place)
        found = judge(places, order)
        if found:
            failed.append((behind, place, found[:3]))
    check(f"overflow in calls without symbols, {layout}", not failed, *failed[:6])
plan()
