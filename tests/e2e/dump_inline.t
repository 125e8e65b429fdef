#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump report --by inline against addr2line, asked for each instruction that ran.
import collections
import json
import os
import shutil

from scratch_test import DUMP, RECORD, check, output, plan, run, skip

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "inlined")


def objects(*arguments):
    return [json.loads(line) for line in output(DUMP, *arguments).splitlines()]


def chains(addresses):
    """Of each address the functions around it, innermost first, as (name, place)."""
    text = output("addr2line", "-a", "-f", "-i", "-C", "-e", PROGRAM, input="\n".join(map(hex, addresses)) + "\n")
    found = {}
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            chain = found.setdefault(int(line, 16), [])
        else:
            chain.append((line.split("(")[0], next(lines)))
    return found


output(RECORD, "-q", "-f", "-o", "inlined.ptl", "--", PROGRAM)
rows = objects("report", "--by", "inline", "--json", "inlined.ptl")
if not any("file" in row and row["file"] for row in rows if row["image"].endswith("/inlined")):
    skip("functions of the source", "the programs have no debug information")
elif not shutil.which("addr2line"):
    skip("functions of the source", "there is no addr2line")
else:
    executed = collections.Counter(
        int(line["image_address"], 16) for line in objects("flow", "--level", "insn", "--json", "--image", "inlined",
                                                           "inlined.ptl") if line["type"] == "instruction")
    own, total, inlined = collections.Counter(), collections.Counter(), collections.Counter()
    for address, chain in chains(executed).items():
        own[chain[0][0]] += executed[address]
        for name in {name for name, _ in chain}:
            total[name] += executed[address]
        # The outermost is no copy.
        for name in {name for name, _ in chain[:-1]}:
            inlined[name] += executed[address]
    described = {row["function"].split("(")[0].split(" ")[-1]: row for row in rows
                 if row["image"].endswith("/inlined") and row["file"]}
    names = {name.split("(")[0].split(" ")[-1] for name in own}
    check("functions of the source are there, inlined or not",
          {"arithmetic::twice", "arithmetic::four_times", "kept_between<int>", "both_ways", "plain", "main"} <=
          set(described), *sorted(described))
    for name, row in sorted(described.items()):
        match = next((key for key in total if key.split(" ")[-1] == name), name)
        check(f"{name}: instructions are where addr2line says", (
            row["self_instructions"], row["total_instructions"], row["inlined_instructions"]) == (
                own[match], total[match], inlined[match]), row, own[match], total[match], inlined[match])
    check("a function that is inlined here and called there is one row", 0 < described["both_ways"][
        "inlined_instructions"] < described["both_ways"]["total_instructions"], described["both_ways"])
    check("where it is declared", described["plain"]["file"].endswith("inlined.cpp") and
          described["plain"]["line"] == 1 + next(i for i, line in enumerate(open(os.path.join(
              os.path.dirname(os.path.abspath(__file__)), "../../testdata/programs/inlined.cpp"))) if "int plain" in line),
          described["plain"])

stats = json.loads(output(DUMP, "stats", "--json", "inlined.ptl"))
check("instructions add up to those of stats", sum(row["self_instructions"] for row in rows) == stats["instructions"])
text = output(DUMP, "report", "--by", "inline", "--sort", "total", "inlined.ptl")
check("as text too", "INLINED" in text.splitlines()[0] and "TIME" not in text.splitlines()[0], text[:300])
for jobs in "1", "8":
    check(f"-j{jobs} gives the same bytes", output(
        DUMP, "report", "--by", "inline", "--sort", "total", "-j", jobs, "inlined.ptl") == text)
plan()
