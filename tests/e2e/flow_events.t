#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump flow --events: every event once, in its place by time; and the recipe of ptl-dump(1) for calls into a library.
import json
import os
import re
import shlex

from scratch_test import DUMP, RECORD, check, plan, run, scratch, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
MAN = os.path.join(os.environ["PTL_TESTS"], os.pardir, "man", "ptl-dump.1")


def dump(*arguments):
    got = run(DUMP, *arguments)
    check(f"{arguments} ends well", got.returncode == 0, got.stderr)
    return got.stdout.splitlines()


def objects(*arguments):
    return [json.loads(line) for line in dump(*arguments)]


got = run(RECORD, "-q", "-p", "Example-Authentication", "-o", "a.ptl", "--", "sh", "-c",
          shlex.quote(os.path.join(PROGRAMS, "authentication")) + " & true; wait")
check("a program with events is recorded", got.returncode == 0, got.stderr)
events = objects("events", "--json", "a.ptl")
own = [event for event in events if event["provider"] == "Example-Authentication"]
check("which are there", len(own) == 3, events)

for options in ([], ["--merge"], ["--level", "branch"], ["--level", "insn"], ["--merge", "-j", "1"], ["-j", "3"], ["--bounds"]):
    shown = dump("flow", "--events", *options, "a.ptl")
    lines = [line for line in shown if "  ** " in line]
    check(f"{options}: each event has a line", len(lines) == len(events), len(lines), len(events))
    check(f"{options}: the rest is as without events", [line for line in shown if "  ** " not in line] ==
          dump("flow", *options, "a.ptl"))
    check(f"{options}: with message and fields", sum("Address=192.0.2.7" in line for line in lines) == 1, *lines)

for options in ([], ["--merge"]):
    shown = objects("flow", "--events", "--json", *options, "a.ptl")
    found = [{key: value for key, value in line.items() if key != "type"} for line in shown if line["type"] == "event"]
    check(f"{options}: JSON has what events shows",
          sorted(json.dumps(event) for event in found) == sorted(json.dumps(event) for event in events), found[:3])
    orders = {}
    for line in shown:
        orders.setdefault(None if options else line["tid"], []).append(line["time"])
    check(f"{options}: all is in order of time", all(order == sorted(order) for order in orders.values()))

# An event of the program comes while it writes events, and nothing between its two neighbours has another time.
shown = [line for line in objects("flow", "--events", "--json", "a.ptl") if line["tid"] == own[0]["tid"]]
at = [i for i, line in enumerate(shown) if line["type"] == "event" and line.get("provider") == "Example-Authentication"]
check("events are among blocks", len(at) == 3 and all(0 < i < len(shown) - 1 and shown[i - 1]["time"] < shown[i]["time"]
      for i in at), at)
span = ["--time", f"{own[1]['time']}ns..{own[1]['time']}ns"]
check("of a span", [line["id"] for line in objects("flow", "--events", "--json", *span, "a.ptl") if line["type"] == "event"] ==
      [own[1]["id"]])
check("of a process alone", {line["pid"] for line in objects("flow", "--events", "--json", "--process", "authentication",
                                                             "a.ptl")} == {own[0]["pid"]})

# ---- which functions of a library are called -------------------------------------------------------------------------------

write("counted.c", """__attribute__((noinline, visibility("hidden"))) int inner(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int by_call(int n) { int a = inner(n); __asm__ volatile("" : "+r"(a)); return a + inner(n); }
int by_tail(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int by_pointer(int n) { __asm__ volatile("" : "+r"(n)); return n - 1; }
int calls_back(int (*f)(int), int n) { int a = f(n); __asm__ volatile("" : "+r"(a)); return a + f(n + 1); }
""")
write("user.c", """int by_call(int), by_tail(int), by_pointer(int), calls_back(int (*)(int), int);
__attribute__((noinline)) static int tail(int n) { return by_tail(n + 1); }
static int own(int n) { __asm__ volatile("" : "+r"(n)); return n; }
static int (*volatile pointer)(int) = by_pointer;
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 5; i++) sum += by_call(i);
	for (int i = 0; i < 4; i++) sum += tail(i);
	for (int i = 0; i < 3; i++) sum += pointer(i);
	for (int i = 0; i < 2; i++) sum += calls_back(own, i);
	return sum & 0;
}
""")
with open(MAN, encoding="utf-8") as file:
    recipe = re.search(r"^\$ (ptl-dump flow -l branch .*?)^\.Ed", file.read(), re.M | re.S).group(1)
recipe = recipe.replace("\\e", "\\").replace("libz", "libcounted").replace("ptl-dump", shlex.quote(DUMP))
for kind, options in (("lazy", ["-Wl,-z,lazy"]), ("at once", ["-Wl,-z,now"]), ("no PLT", ["-fno-plt"]),
                      ("with -z ibtplt", ["-Wl,-z,ibtplt", "-fcf-protection"])):
    got = run(*os.environ.get("CC", "gcc").split(), "-O2", "-shared", "-fPIC", "-o", "libcounted.so", "counted.c")
    got = run(*os.environ.get("CC", "gcc").split(), "-O2", *options, "-o", "user", "user.c", "-L.", "-lcounted", f"-Wl,-rpath,{scratch}")
    got = run(RECORD, "-q", "-f", "-o", "a.ptl", "--", "./user")
    check(f"{kind}: a program is recorded", got.returncode == 0, got.stderr)
    got = run("sh", "-c", recipe)
    found = {name: int(number) for number, name in (line.split() for line in got.stdout.splitlines())}
    wanted = {"by_call": 5, "by_tail": 4, "by_pointer": 3, "calls_back": 2}
    check(f"{kind}: the manual's recipe finds the calls", {name: found.get(name) for name in wanted} == wanted and
          not found.keys() & {"inner"}, found, got.stderr)

plan()
