#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Programs with hostile symbol tables take time and memory of the three tools in proportion to their size. PTL_SOAK tries a file of 72 MB.
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import hostile_elf_file
from record_test import DUMP, PROGRAMS, SCRATCH, expect, expect_equal, main, path
from scratch_test import RECORD, RELOG

SECONDS = 30  # of CPU: names were once looked through for each symbol
# Symbols, bytes of strings, MiB that each tool may take.
FILES = [(17500, 65000, 64), (56000, 130000, 80), (800000, 1000000, 192)] + [(2900000, 1000000, 256)] * bool(os.environ.get("PTL_SOAK"))
G = 1 << 30


def program():
    with open(os.path.join(PROGRAMS, "branches"), "rb") as file:
        return file.read()


# What a process took before exec counts as memory of the program: the process that starts the program has to be small.
MEASURE = """import os, sys
_, status, usage = os.wait4(os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print("measured", usage.ru_maxrss >> 10, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status))"""


def measured(*command):
    """(what was printed and said, MiB) of a command."""
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], cwd=SCRATCH, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=True, timeout=600)
    memory, seconds, status = done.stdout.rsplit("measured ", 1)[1].split()
    expect_equal(int(status), 0, command, done.stdout[-1000:])
    expect(float(seconds) < SECONDS, command, seconds)
    return done.stdout, int(memory)


def overlapping():
    """names that overlap take memory in proportion to the file, and the names that are cut are counted"""
    for symbols, strings, most in FILES:
        hostile_elf_file.write(path("program"), hostile_elf_file.with_names(program(), symbols, strings))
        said, memory = measured(RECORD, "-f", "-o", "whole.ptl", "--", "./program")
        expect(memory <= most, "ptl-record", symbols, memory)
        expect("names of functions overlap in a mapped file, and were cut" in said, said)
        measured(RECORD, "-f", "-o", "code.ptl", "--embed=code", "--", "./program")
        said, memory = measured(RELOG, "-f", "--embed", "symbols", "-o", "added.ptl", "code.ptl")
        expect(memory <= most, "ptl-relog", symbols, memory)
        expect("names of functions overlap in a file, and were cut" in said, said)
        for name in ("whole.ptl", "code.ptl", "added.ptl"):
            said, memory = measured(DUMP, "report", name)
            expect(memory <= most, "ptl-dump report", name, symbols, memory)
            expect("FUNCTION" in said, said[:1000])


def sparse():
    """a section that a sparse file makes large is not read"""
    for which, size in (("symbols", 4096 * G), ("strings", 20 * G), ("names", 20 * G), ("dynamic", 20 * G)):
        hostile_elf_file.write_sparse(path("program"), hostile_elf_file.with_names(program(), 5000, 65000), which, size)
        _, memory = measured(RECORD, "-f", "-o", "whole.ptl", "--", "./program")
        expect(memory <= 64, "ptl-record", which, memory)


def sound():
    """no name of a sound program is cut"""
    hostile_elf_file.write(path("program"), program())
    said, _ = measured(RECORD, "-f", "-o", "whole.ptl", "--", "./program")
    expect_equal("cut" in said, False, said)


sys.exit(main([overlapping, sparse, sound]))
