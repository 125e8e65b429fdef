#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes compile_commands.json to standard output, from the output of `make --dry-run V=1` on standard input."""
import json
import os
import re
import shlex
import sys

COMPILES = re.compile(r"\s-c -o (\S+) (\S+\.c)\s*$")


def main():
    commands = []
    for line in sys.stdin:
        found = COMPILES.search(line)
        if found:
            commands.append({"directory": os.getcwd(), "file": found[2], "output": found[1],
                             "arguments": shlex.split(line.replace("$PWD", os.getcwd()))})
    json.dump(commands, sys.stdout, indent=1)
    print()


main()
