# SPDX-License-Identifier: BSD-2-Clause
# Records programs with --values, and compares the values with those that the programs write and with gdb's.
import collections
import json
import os
import shutil

from scratch_test import DUMP, RECORD, check, output, path, run, skip, write

SOURCES = os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "testdata", "programs")
C_VALUES = {
    "integers": "integers(a, b, c, d, e, f, g, h, i, calls_so_far, $return)",
    "numbers": "numbers",
    "text": "text(a, b, c, $return)",
    "members": "members(n->value, n->next->name, n->low, n->high, n->below, n->many[2], *n->many, n->letters, n->word, "
               "n->next->bytes[1], n->wide, index, $return)",
    "structures": "structures(a, b, c.second, i, j, $return)",
    "small_result": "small_result($return)",
    "mixed_result": "mixed_result($return)",
    "large_result": "large_result($return.third)",
    "recursive": "recursive(n, $return)",
    "jumps": "jumps(depth)",
    "loops": "values:loops($return)",
}


def record(program, values, *options, arguments=(), source="software"):
    """Returns the recorder's process, and the events of values in order."""
    got = run(RECORD, "-f", "-o", "trace.ptl", "--source", source, *options,
              *(word for value in values for word in ("--values", value)), "--", program, *arguments)
    events = [json.loads(line) for line in output(DUMP, "events", "--json", "-e", "PTL-Values/*", "trace.ptl").splitlines()]
    return got, events


def plain(event):
    """An event as the programs write their lines."""
    named = {key: value["name"] if isinstance(value, dict) else value for key, value in event["fields"].items()}
    return {"tid": event["tid"], "event": event["event"], **named}


def alike(mine, said):
    """Whether a value is the one that the program wrote. A reason in angle brackets is no value."""
    return mine == said or (isinstance(said, float) and isinstance(mine, (int, float)) and abs(mine - said) <= abs(said) * 1e-7)


def by_thread(lines):
    found = collections.defaultdict(list)
    for line in lines:
        found[line["tid"]].append({key: value for key, value in line.items() if key != "tid"})
    return [found[tid] for tid in sorted(found)]


def wrong_line(mine, said):
    # A structure that is optimized out has a reason for itself, and no members.
    return mine["event"] != said["event"] or any(not alike(mine.get(key), value) and
                                                 not is_reason(mine.get(key, mine.get(key.split(".", maxsplit=1)[0])))
                                                 for key, value in said.items())


def is_reason(value):
    return isinstance(value, str) and value.startswith("<") and value.endswith(">")


def compare(label, program, values, reasons=0, options=(), source="software"):
    """Records the program. All values are right, and at most `reasons` of the values are reasons."""
    got, events = record(program, values, *options, source=source)
    said = by_thread(map(json.loads, got.stdout.splitlines()))
    mine = by_thread(map(plain, events))
    wrong = [(a, b) for x, y in zip(mine, said, strict=False) for a, b in zip(x, y, strict=False) if wrong_line(a, b)]
    counts = [(len(x), len(y)) for x, y in zip(mine, said, strict=False)]
    missing = sum(is_reason(value) for thread in mine for line in thread for value in line.values())
    total = sum(len(line) for thread in mine for line in thread)
    check(f"{label}: {sum(map(len, mine))} events have the program's values", got.returncode == 0 and said and not wrong and
          len(mine) == len(said) and all(a == b for a, b in counts), counts, *wrong[:5], got.stderr)
    check(f"{label}: {missing} of {total} values are reasons", missing <= reasons,
          *[line for thread in mine for line in thread if any(map(is_reason, line.values()))][:5])
    return events


def compiler(*names):
    """The first compiler that works: rustup's rustc is a script that needs the user's HOME."""
    return next((name for name in names if shutil.which(name) and run(name, "--version").returncode == 0), None)


def build(name, source, *command):
    """Returns the path of the compiled program; None if the compiler fails."""
    got = run(*command, "-o", path(name), os.path.join(SOURCES, source))
    check(f"{' '.join(command)} compiles {source}", got.returncode == 0, got)
    return path(name) if got.returncode == 0 else None


# ---- what gdb has ----------------------------------------------------------------------------------------------------

GDB = """
import gdb, json
def value(text):
    try:
        found = gdb.parse_and_eval(text)
        if found.is_optimized_out:
            return None
        if found.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and found.type.target().unqualified().sizeof == 1:
            return found.string(length=-1)[:256]
        if found.type.strip_typedefs().code == gdb.TYPE_CODE_ENUM:
            return str(found)
        return float(found) if found.type.strip_typedefs().code == gdb.TYPE_CODE_FLT else int(found)
    except (gdb.error, UnicodeError) as error:
        return None
class Place(gdb.Breakpoint):
    def stop(self):
        print("VALUES", json.dumps({"event": self.function, **{text: value(text) for text in self.expressions}}))
        return False
for function, expressions, at in WANTED:
    place = Place(at + function)
    place.function, place.expressions = function, expressions
gdb.execute("run >/dev/null")
"""


def compare_with_gdb(label, program, wanted, at_entry, source="software"):
    """gdb's values at breakpoints at the functions: at the first instruction, or where gdb assumes the end of the first ones."""
    write("places.py", "WANTED = %r\n" % [(name, expressions, "*" if at_entry else "") for name, expressions in wanted.items()] + GDB)
    got = run("gdb", "-q", "-nx", "--batch", "-ex", "set debuginfod enabled off", "-ex", "source places.py", program)
    lines = [json.loads(line.split(" ", 1)[1]) for line in got.stdout.splitlines() if line.startswith("VALUES ")]
    if not lines:
        skip(f"{label}: gdb's values", "gdb runs no program here")
        return
    _, events = record(program, ["%s(%s)" % (name, ", ".join(expressions)) for name, expressions in wanted.items()],
                       source=source)
    wrong, known = [], 0
    for a, b in zip(map(plain, events), lines, strict=False):
        for key, value in b.items():
            known += value is not None
            if value is not None and not alike(a.get(key), value) and not is_reason(a.get(key)):
                wrong.append((a, b))
    reasons = sum(is_reason(value) for event in map(plain, events) for value in event.values())
    check(f"{label}: {known} values of gdb", len(events) == len(lines) and not wrong and known > 2 * reasons, len(events), len(lines),
          reasons, *wrong[:5])
