#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --values with damaged debug information: the program runs as without, the recorder ends, and the trace is readable. A value
# that differs from the program's is only possible if the damage is in the debug information of types and places, which has no checksum.
import json
import os
import random
import shutil

from hostile_elf_file import NAME, OFFSET, SIZE, headers_of
from scratch_test import DUMP, RECORD, check, path, plan, run, skip, write

SEEDS = int(os.environ.get("PTL_VALUES_SEEDS", "24"))
SOURCE = r"""
#include <stdio.h>
enum kind { CASH, CARD = 7 };
struct customer { const char *name; char tag[8]; };
struct order { int id; enum kind kind; struct customer *customer; unsigned low : 3, high : 5; };
long total;
__attribute__((noinline)) int rebate(struct order *o, int percent, double factor)
{
	__asm__ volatile("" : : "r"(o) : "memory");
	total += percent;
	return o->id % 2 ? -percent : (int)(percent * factor);
}
int main(void)
{
	struct customer eve = {"Eve", "abc"};
	for (int i = 0; i < 5; i++) {
		struct order o = {i, i % 2 ? CARD : CASH, i % 3 ? &eve : 0, i, i * 3};
		printf("%d\n", rebate(&o, i * 7, 0.5));
	}
	return 0;
}
"""
VALUES = "rebate(o->id, o->kind, o->customer->name, o->customer->tag, o->low, o->high, percent, factor, total, $return)"
write("orders.c", SOURCE)
compiler = shutil.which("gcc")
if not compiler or run(compiler, "-g", "-O2", "-o", "whole", "orders.c").returncode:
    skip("damaged debug information", "there is no gcc")
    plan()
    raise SystemExit


def sections(program):
    """Offset and size of the sections with debug information."""
    headers = headers_of(program)
    names = headers[int.from_bytes(program[62:64], "little")]
    found = {}
    for header in headers:
        start = names[OFFSET] + header[NAME]
        name = program[start:program.index(b"\0", start)].decode()
        if name.startswith(".debug_") or name == ".eh_frame":
            found[name] = (header[OFFSET], header[SIZE])
    return found


def damage(program, places, seed):
    dice = random.Random(seed)
    data = bytearray(program)
    for _ in range(dice.choice((1, 2, 8, 40))):
        # Most debug information is of no function that is recorded: .debug_abbrev and .debug_info decide most.
        name = dice.choice([name for name in places if places[name][1]])
        at = places[name][0] + dice.randrange(places[name][1])
        # .eh_frame is the program's own, too.
        if name != ".eh_frame":
            data[at] = dice.choice((0, 0xFF, 0x80, data[at] ^ 1 << dice.randrange(8), dice.randrange(256)))
    if seed % 6 == 0:
        # A section that is longer than the file, or that begins anywhere.
        headers, at = headers_of(program), int.from_bytes(program[40:48], "little")
        which = next(i for i, header in enumerate(headers) if header[OFFSET] == places[".debug_info"][0] and header[SIZE] ==
                     places[".debug_info"][1])
        field = at + which * 64 + dice.choice((24, 32))
        data[field:field + 8] = dice.choice((2**64 - 1, 2**40, len(program) - 3)).to_bytes(8, "little")
    return bytes(data)


ways = ["software"]
if run(RECORD, "-f", "-o", "n.ptl", "--source", "none", "--values", VALUES, "--", path("whole")).returncode == 0:
    ways.append("none")
else:
    skip("damaged debug information, natively", "this kernel has no uprobes, or this user may not use them")
for level in ("-O0", "-O2"):
    run(compiler, "-g", level, "-gdwarf-4" if level == "-O0" else "-gdwarf-5", "-o", "whole", "orders.c")
    with open(path("whole"), "rb") as file:
        program = file.read()
    places, said = sections(program), run(path("whole")).stdout
    check(f"{level}: the program has debug information", {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"} <= places.keys(), places)
    failed, known = [], 0
    for seed in range(SEEDS):
        write("damaged", damage(program, places, seed))
        os.chmod(path("damaged"), 0o755)
        source = ways[seed % len(ways)]
        got = run(RECORD, "-f", "-o", "damaged.ptl", "--source", source, "--values", VALUES, "--", path("damaged"), timeout=60)
        shown = run(DUMP, "events", "--json", "-e", "PTL-Values/*", "damaged.ptl", timeout=60)
        events = [json.loads(line) for line in shown.stdout.splitlines()] if shown.returncode == 0 else []
        known += len(events)
        # Fewer events than calls: a message says why.
        silent = len(events) != 10 and "--values" not in got.stderr
        if got.returncode or got.stdout != said or shown.returncode not in (0, 1) or silent:
            failed.append((seed, source, len(events), got, shown))
    check(f"{level}: {SEEDS} times damaged debug information: the program runs, the recorder ends, nothing is silently missing",
          not failed, len(failed), *failed[:3])
    check(f"{level}: {known} events of damaged programs", known > SEEDS, known)
plan()
