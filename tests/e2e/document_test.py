# SPDX-License-Identifier: BSD-2-Clause
# Runs the commands of a document as they stand there, and compares what they print with what stands there.
import os
import re

from scratch_test import BIN, check, run


def steps(text):
    """Commands, with the lines that they print."""
    found = []
    for line in re.findall(r"^ {4}(.*)$", text, re.M):
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith(">") and found and "<<" in found[-1][0]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        elif found:
            found[-1][1].append(line)
    return found


def plain(line):
    """Without numbers and widths of columns: offsets in functions are the compiler's."""
    line = re.sub(r"\+?0x[0-9a-f]+|\b[0-9a-f]*\d[0-9a-f,.]*(?: (?:ns|us|ms|s)\b)?", "N", line)
    return re.sub(r"(?:N ?)+", "N", " ".join(line.split()))


def as_written(written, printed):
    """Whether the lines are there in this order, with others only where there is a "..."."""
    printed = [plain(line) for line in printed if line.strip()]
    at, free = 0, False
    for line in map(plain, written):
        if line == "...":
            free = True
            continue
        found = next((i for i in range(at, len(printed)) if printed[i] == line), None)
        if found is None or found != at and not free:
            return False
        at, free = found + 1, False
    return free or at == len(printed)


def run_document(text, folder, fails=(), replace=()):
    """Runs all commands in the folder. fails: pairs of a part of a command and its status, if not 0; replace: pairs of texts."""
    commands = steps(text)
    check("the document has commands", len(commands) > 3)
    environment = {**os.environ, "PATH": BIN + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}
    for command, written in commands:
        title = command.splitlines()[0]
        for old, new in replace:
            command = command.replace(old, new)
        got = run("/bin/sh", "-c", command, cwd=folder, env=environment)
        wanted = next((status for part, status in fails if part in title), 0)
        check(f"$ {title}", got.returncode == wanted and as_written(written, (got.stdout + got.stderr).splitlines()), got.returncode,
              *written, "printed:", got.stdout[-1500:], got.stderr[-500:])
