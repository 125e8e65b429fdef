#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Which part of a trace users mean, the same in all tools: names of programs, times from the end, spans where nothing ran.
import json
import os
import shutil

from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, scratch, write

shutil.copy(shutil.which("true"), path("its own name"))
os.symlink("its own name", path("link"))
NAMES = ("link", "./link", "its own name", os.path.join(scratch, "its own name"), "its*")
got = run(RECORD, "-q", "-o", "a.ptl", "--", "sh", "-c", "./link one; true; :")
check("a program that a link leads to is recorded", got.returncode == 0, got.stderr)


def pids(name, *options):
    return [json.loads(line)["pid"] for line in run(DUMP, "processes", "--json", *options, name).stdout.splitlines()]


shell, program = pids("a.ptl")[:2]
for name in NAMES:
    check(f"ptl-dump processes: '{name}'", pids("a.ptl", "--process", name) == [program], pids("a.ptl", "--process", name))
    for command in ("flow", "stats", "packets", "verify", "events", "images"):
        by_name, by_pid = (run(DUMP, command, *words, "a.ptl") for words in (("--process", name), ("--pid", str(program))))
        check(f"ptl-dump {command}: '{name}' is the process", by_name.returncode == 0 and by_name.stdout == by_pid.stdout
              and by_name.stdout != run(DUMP, command, "a.ptl").stdout, by_name.stderr)
    got = run(RELOG, "-f", "-o", "b.ptl", "--process", name, "a.ptl")
    check(f"ptl-relog: '{name}' is kept", got.returncode == 0 and pids("b.ptl") == [program], got.stderr, pids("b.ptl"))
    write("drop.rules", f'on any process "{name}" {{ drop; }}\n')
    got = run(RELOG, "-f", "-o", "b.ptl", "--rules", "drop.rules", "a.ptl")
    left = run(DUMP, "events", "--json", "b.ptl").stdout
    check(f"ptl-rules: process \"{name}\"", got.returncode == 0 and f'"pid":{shell}' in left
          and 'FileName":"' + scratch not in left, got.stderr, left)

got = run(DUMP, "flow", "--process", "link", "--pid", str(shell), "a.ptl")
check("beside --pid", got.stdout == run(DUMP, "flow", "a.ptl").stdout, got.stderr)
for tool in ([DUMP, "flow"], [DUMP, "packets"], [RELOG, "-o", "c.ptl"]):
    got = run(*tool, "--process", "lin", "a.ptl")
    check("a name that nothing has is an error", got.returncode == 2 and "'lin'" in got.stderr, got.stderr)

# ---- times from the end ------------------------------------------------------------------------------------------------

times = [json.loads(line)["time"] for line in run(DUMP, "flow", "--json", "--merge", "a.ptl").stdout.splitlines()]
events = [json.loads(line) for line in run(DUMP, "events", "--json", "a.ptl").stdout.splitlines()]
end = max(times + [event["time"] for event in events])
for back in (0, 1000, 1000000, end, 10 * end):
    first = end - back
    for options in (["--last", f"{back}ns"], ["--time", f"-{back}ns.."], [f"--time=-{back}ns.."]):
        got = [json.loads(line) for line in run(DUMP, "events", "--json", *options, "a.ptl").stdout.splitlines()]
        check(f"events: {options}", [event for event in events if event["time"] >= first] == got, end, first)
    wanted = run(DUMP, "flow", "--time", f"{max(first, 0)}ns..", "a.ptl").stdout
    check(f"flow: the last {back} ns", run(DUMP, "flow", "--last", f"{back}ns", "a.ptl").stdout == wanted)
    kept = []
    for options in (["--last", f"{back}ns"], ["--time", f"{max(first, 0)}ns.."]):
        got = run(RELOG, "-q", "-f", "-o", "b.ptl", *options, "a.ptl")
        kept.append((got.returncode, run(DUMP, "events", "b.ptl").stdout, run(DUMP, "flow", "b.ptl").stdout))
    check(f"ptl-relog: the last {back} ns", kept[0] == kept[1] and not kept[0][0], got.stderr)
check("both ends", run(DUMP, "flow", "--time=-2ms..-1ms", "a.ptl").stdout ==
      run(DUMP, "flow", "--time", f"{end - 2000000}ns..{end - 1000000}ns", "a.ptl").stdout)

for options in (["--last", "1ms", "--time", "..2ms"], ["--time", "..2ms", "--last", "1ms"]):
    for command in ([DUMP, "flow"], [RELOG, "-q", "-o", "no.ptl"]):
        got = run(*command, *options, "a.ptl")
        check(f"only one of --time and --last: {options}", got.returncode == 2 and "says already which span" in got.stderr, got)
check("of two alike the last one counts", run(DUMP, "flow", "--last", "1ns", "--last", "1ms", "a.ptl").stdout ==
      run(DUMP, "flow", "--last", "1ms", "a.ptl").stdout)

# ---- nothing ran there -------------------------------------------------------------------------------------------------

for command in ("flow", "stats", "verify"):
    got = run(DUMP, command, "--time", "1ns..2ns", "a.ptl")
    check(f"{command}: nothing ran in a span", got.returncode == 0 and "nothing ran in the span" in got.stderr, got.stderr)
    got = run(DUMP, command, "--time", "1ns..2ns", "--process", "link", "a.ptl")
    check(f"{command}: nothing of a process", "nothing of what was asked for ran in the span" in got.stderr, got.stderr)
got = run(RELOG, "--drop-pt", "-o", "none.ptl", "a.ptl")
got = run(DUMP, "flow", "--time", "1ns..2ns", "none.ptl")
check("a trace without packets", "has no Intel PT" in got.stderr and "try: ptl-dump events none.ptl " in got.stderr, got.stderr)

plan()
