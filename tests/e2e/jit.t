#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/jit.md: the example compiler prints which function it called how often, and every way to name its code says the same. The
# document's commands print what stands there.
import json
import os
import re
import shutil

from document_test import run_document
from scratch_test import BIN, DUMP, RECORD, RELOG, check, output, path, plan, run, write

EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
JIT = os.path.join(EXAMPLES, "jit")
RULES = os.path.join(os.environ["PTL_TESTDATA"], "examples", "jit.rules")


def calls(trace):
    """Calls of functions of the compiler, by name."""
    rows = [json.loads(line) for line in output(DUMP, "report", "--json", trace).splitlines()]
    return {row["function"]: row["calls"] for row in rows if "(tier " in (row.get("function") or "")}


def executed(trace):
    stats = json.loads(output(DUMP, "stats", "--hash", "--json", trace))
    return [(thread["ip_sha256"], thread["instructions"], thread["gaps"]) for process in stats["processes"] for thread in process["threads"]]


def record(how, *options):
    """Records the compiler. Returns what it printed: address, name and calls."""
    got = run(RECORD, "-q", "--source=software", *options, "-o", how + ".ptl", "--", JIT, how)
    check(f"{how}: the compiler is recorded", got.returncode == 0, got.stderr)
    return re.findall(r"^(0x[0-9a-f]+) (\S+ \(tier \d\)) (\d+) calls", got.stdout, re.M)


said = record("silent")
check("the compiler reuses memory", len(said) == 3 and said[0][0] == said[2][0] and len({name for _, name, _ in said}) == 3, said)
want = {name: int(count) for _, name, count in said}
check("silent: no function has a name", calls("silent.ptl") == {}, calls("silent.ptl"))
before = executed("silent.ptl")
check("silent: nothing is missing", before and all(gaps == 0 for _, _, gaps in before), before)
for how in ("map", "dump"):
    record(how)
    check(f"{how}: functions have their names", calls(how + ".ptl") == want, calls(how + ".ptl"), want)

# ---- events and rules -----------------------------------------------------------------------------------------------------

record("events", "-p", "Example-JIT")
got = run(RELOG, "-q", "events.ptl", "--rules", RULES, "-o", "named.ptl")
check("events: the rules apply", got.returncode == 0 and not got.stderr, got.stderr)
check("events: functions have their names", calls("named.ptl") == want, calls("named.ptl"), want)
check("events: what was executed is the same", executed("named.ptl") == executed("events.ptl"))
got = run(RELOG, "-q", "named.ptl", "--rules", RULES, "-o", "twice.ptl")
check("events: applied twice, the rules give the same names", got.returncode == 0 and calls("twice.ptl") == want, got.stderr,
      calls("twice.ptl"))

with open(RULES, encoding="utf-8") as file:
    rules = file.read()
write("again.rules", rules[:rules.index("on jit id 2")])
got = run(RELOG, "-q", "events.ptl", "--rules", "again.rules", "-o", "again.ptl")
check("without the event of the discarded function, the next one takes its place", got.returncode == 0 and
      set(calls("again.ptl")) == set(want) and sum(calls("again.ptl").values()) == sum(want.values()), calls("again.ptl"))
write("empty.rules", rules.replace('Name + " (tier " + str(Tier) + ")"', '""'))
got = run(RELOG, "-q", "events.ptl", "--rules", "empty.rules", "-o", "empty.ptl")
check("an empty name names nothing", got.returncode == 0 and calls("empty.ptl") == {} and
      '"path":"[jit]"' in output(DUMP, "images", "--json", "empty.ptl").replace(" ", ""), got.stderr)
for wrong, why in (('symbol = Name; symbols = nm("a");', "expected symbol = ... or symbols = ..., found both"),
                   ("symbol = Size;", "expected a text"), ("symbol = Name; symbol = Name;", "found a second 'symbol'")):
    write("wrong.rules", re.sub(r"symbol = .*", wrong, rules))
    got = run(RELOG, "-q", "events.ptl", "--rules", "wrong.rules", "-o", "wrong.ptl")
    check(f"{wrong} is refused", got.returncode == 3 and why in got.stderr and not os.path.exists(path("wrong.ptl")),
          got.returncode, got.stderr)
write("long.rules", rules.replace("symbol = Name", 'symbol = ' + ' + '.join(['"' + "x" * 4000 + '"'] * 17) + " + Name"))
got = run(RELOG, "-q", "events.ptl", "--rules", "long.rules", "-o", "long.ptl")
check("a name of more than 65535 bytes is refused", got.returncode == 3 and "at most 65535 bytes" in got.stderr, got.stderr[:300])

# ---- a program of its own -------------------------------------------------------------------------------------------------

pid = json.loads(output(DUMP, "processes", "--json", "silent.ptl").splitlines()[0])["pid"]
address = said[1][0]
got = run(os.path.join(EXAMPLES, "namer"), "silent.ptl", "byhand.ptl", str(pid), address, "128", "by hand (tier 2)")
check("libptl: the example names a function", got.returncode == 0 and got.stdout == "1 times named\n", got.stdout, got.stderr)
check("libptl: its calls have the name", calls("byhand.ptl") == {"by hand (tier 2)": want["area (tier 2)"]}, calls("byhand.ptl"))
check("libptl: what was executed is the same", executed("byhand.ptl") == before)

# ---- the document ---------------------------------------------------------------------------------------------------------

with open(os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "docs", "jit.md"), encoding="utf-8") as file:
    text = file.read()
stated = re.search(r"^    (provider .*?\n    }\n)\n", text, re.M | re.S).group(1)
check("the rules in docs/jit.md are those of the example", [line.split() for line in stated.splitlines()] ==
      [line.split() for line in rules.splitlines() if not line.startswith("#")], stated)
os.mkdir(path("document"))
shutil.copy(RULES, path("document"))
run_document(re.sub(r"^    provider .*?\n    }\n\n", "", text, flags=re.M | re.S), path("document"),
             replace=(("cc -o jit jit.c $(pkg-config --cflags --libs ptl-provider)", f"ln -s '{JIT}' jit"),))
plan()
