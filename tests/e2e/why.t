#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump why names planted faults in its first five lines, and --calls limits commands to the same calls.
import json
import os
import re
import shutil

from dump_test import dump, objects, record
from scratch_test import BIN, DUMP, check, path, plan, run, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
SOURCE = os.path.join(os.environ["PTL_TESTDATA"], "programs", "slow_calls.c")


def line_of(words):
    """The number of the source line with these words."""
    with open(SOURCE, encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if words in line)


# A clock that counts instructions: the machine's other work makes no call slow. Waiting needs a real clock.
EXACT = ("--clock", "virtual", "--timing", "cyc")
for reason in "data", "lock", "branch", "callee":
    record(f"{reason}.ptl", os.path.join(PROGRAMS, "slow_calls"), reason, options=() if reason == "lock" else EXACT)

# ---- planted faults ----------------------------------------------------------------------------------------

planted = {
    "data": ["serve > find_entry at slow_calls.c", f"slow_calls.c:{line_of('while (entry && entry->key != key)')} in find_entry"],
    "lock": [f"add_to_total at slow_calls.c:{line_of('add_to_total(value);')} > ",
             f"pthread_mutex_lock at slow_calls.c:{line_of('the lock that the other thread holds')}", "of it in the kernel"],
    "branch": [f"branch slow_calls.c:{line_of('the branch that decides')} in serve", "in 10 of 10 slow calls, in 0 of 190 others",
               "serve > verify_value"],
    "callee": [f"branch slow_calls.c:{line_of('value = request->finish(value);')} in serve goes to finish_thoroughly",
               "serve > finish_thoroughly at "],
}
for reason, wanted in planted.items():
    for how in (), ("--slowest", "5 %"), ("--engine", "libipt", "-j", "1"):
        first = dump("why", *how, "serve", f"{reason}.ptl").splitlines()[:5]
        check(f"the first five lines name the planted {reason} {' '.join(how)}".rstrip(),
              re.match(r"serve: 10 of 200 calls (are|stand out as) slow", first[0]) and all(any(words in line for line in first) for words in wanted),
              *wanted, *first)

slowest = json.loads(dump("latency", "--json", "--slowest", "10", "serve", "lock.ptl"))["slowest"]
bound = (slowest[-1]["duration"] - 1) / 1000
why = json.loads(dump("why", "--json", "--limit", "0", "--slower-than", f"{bound:f}us", "serve", "lock.ptl"))
check("--slower-than takes the calls that took longer", (why["slow_calls"], why["other_calls"], why["slow_from"]) ==
      (10, 190, slowest[-1]["duration"]), why["slow_calls"], why["slow_from"], slowest)
check("the slow calls have the time of latency's slowest calls", why["slow"]["time"] == sum(call["duration"] for call in slowest) and
      why["slow"]["kernel"] == sum(call["spent"]["kernel"] for call in slowest), why["slow"], slowest)
again = json.loads(dump("why", "--json", "--limit", "0", "--slow", f"duration >= {slowest[-1]['duration']}", "serve", "lock.ptl"))
check("--slow takes an expression", {**again, "examples": 0} == {**why, "examples": 0} and again["examples"] == why["examples"])
check("the time of functions by themselves is the time of the calls",
      all(abs(sum(row["self"][side]["time"] for row in why["functions"]) - why[side]["time"]) <= why[side]["time"] / 1000
          for side in ("slow", "other")) and
      all(sum(row["self"][side]["instructions"] for row in why["functions"]) == why[side]["instructions"] for side in ("slow", "other")),
      why["slow"], why["other"])
check("lines have their time between its bounds", why["lines"] and all(
    line[side]["time_least"] <= line[side]["time"] + 1000 and line[side]["time"] <= line[side]["time_most"] + 1000
    for line in why["lines"] for side in ("slow", "other")), why["lines"][:3])
check("no place is in more calls than there are", all(place[side]["calls"] <= why[f"{side}_calls"]
                                                     for place in why["lines"] + why["branches"] for side in ("slow", "other")))

exact = json.loads(dump("why", "--json", "--limit", "0", "serve", "branch.ptl"))
check("the virtual clock counts a cycle for an instruction: so does the rate", abs(exact["ipc_slow"] - 1) < 0.01 and
      0.5 < exact["ipc_other"] < 2 and "ipc_slow" not in why, exact["ipc_slow"], exact["ipc_other"])
hot = exact["lines"][0]
check("so do lines, whose time is the time of the calls", abs(hot["slow"]["cycle_instructions"] / hot["slow"]["cycles"] - 1) < 0.01 and
      0.98 < sum(line["slow"]["time"] for line in exact["lines"]) / exact["slow"]["time"] < 1.02,
      hot, sum(line["slow"]["time"] for line in exact["lines"]), exact["slow"])
check("the first line has the rates", re.search(r"; IPC 1\.00, the others \d\.\d\d$", dump("why", "serve", "branch.ptl").splitlines()[0]) and
      "IPC SLOW" in dump("why", "serve", "branch.ptl"))
instructions = dump("why", "--instructions", "serve", "data.ptl").splitlines()
check("--instructions compares instructions", re.search(r"mean 1\d\d,\d\d\d instructions; the others \d+ instructions", instructions[0]) and
      "TIME" not in instructions[7], *instructions[:8])
record("untimed.ptl", os.path.join(PROGRAMS, "slow_calls"), "branch", options=["--timing=none"])
untimed = dump("why", "serve", "untimed.ptl").splitlines()
check("without times, instructions are compared, too", "instructions; the others" in untimed[0] and
      any("the branch that decides" in line for line in untimed[:5]), *untimed[:5])

# ---- events ------------------------------------------------------------------------------------------------

# Each thread calls its function once; one of twenty writes more events.
record("events.ptl", os.path.join(PROGRAMS, "provider_writer"), *(["threads=1,1"] * 19 + ["threads=1,300"]) * 2,
       options=["--provider", "PTL-Test-Writer"])
found = json.loads(dump("why", "--json", "--instructions", "run_thread", "events.ptl"))
numbers = [event for event in found["events"] if event["event"].endswith("/Number")]
check("events of the slow calls are counted", (found["slow_calls"], found["other_calls"]) == (2, 38) and len(numbers) == 1 and
      numbers[0]["slow"] == {"calls": 2, "count": 600} and numbers[0]["other"] == {"calls": 38, "count": 38}, found["slow_calls"], numbers)
check("text shows them, for each call", re.search(r"^ +300 +1 +100 % +100 % +PTL-Test-Writer/Number$", dump("why", "--instructions", "run_thread", "events.ptl"),
                                                 re.M), dump("why", "run_thread", "events.ptl")[-600:])

# ---- real programs -----------------------------------------------------------------------------------------

if shutil.which("sqlite3"):
    with open(path("queries.sql"), "w", encoding="utf-8") as out:
        out.write("""create table t(id integer primary key, name text, city text);
create index by_city on t(city);
insert into t(name, city) with recursive c(x) as (select 1 union all select x+1 from c where x<3000)
select 'name'||x, 'city'||(x%100) from c;
""")
        for i in range(200):
            out.write(f"select count(*) from t where name like '%e{i}%';\n" if i % 20 == 19 else
                      f"select count(*) from t where city='city{i % 100}' and id > 5;\n")
    record("queries.ptl", "sqlite3", "-init", "/dev/null", ":memory:", f'.read "{path("queries.sql")}"')
    first = dump("why", "--slow", "instructions > 1000000", "sqlite3_step", "queries.ptl").splitlines()[:5]
    check("a slow query of sqlite3 scans the table, which fast queries do not", "sqlite3_step > sqlite3VdbeExec" in first[1] and
          re.search(r"^  branch .* in (\d+) of \1 slow calls, in 0 of", first[2]), *first)
    by_instructions = json.loads(dump("why", "--json", "--slow", "instructions > 1000000", "sqlite3_step", "queries.ptl"))
    check("ten queries and the insert are slow", by_instructions["slow_calls"] == 11 and
          "sqlite3VdbeExec" in by_instructions["path"], by_instructions["slow_calls"], by_instructions["path"])
else:
    skip("a slow query of sqlite3", "there is no sqlite3")
with open(path("slow.pl"), "w", encoding="utf-8") as out:
    out.write("""my $hits = 0;
for my $i (1..200) {
	my $text = $i % 20 ? "key$i=value$i;" : ("a" x 14) . "b;";
	$hits++ if $text =~ /^(?:key(\\d+)=\\w+|(a|aa|aaa)+\\2);$/;
}
print "$hits\\n";
""".replace("\\\\", "\\"))
record("slow.ptl", "perl", path("slow.pl"), options=EXACT)
regexes = json.loads(dump("why", "--json", "Perl_regexec_flags", "slow.ptl"))
first = dump("why", "Perl_regexec_flags", "slow.ptl").splitlines()[:5]
check("slow matches of perl stand out, and a branch of the matcher tells them from others", regexes["slow_calls"] == 10 and
      [regexes["branches"][0][side]["calls"] for side in ("slow", "other")] == [10, 0] and len(regexes["path"]) >= 2 and
      "stand out as slow" in first[0] and re.search(r"in 10 of 10 slow calls, in 0 of 190 others", first[2]), *first)

# ---- the calls to open, and --calls ------------------------------------------------------------------------

for side, example in zip(("slow", "other"), why["examples"]):
    command = example["command"].split(" ", 1)
    shown = run("/bin/sh", "-c", f"'{DUMP}' {command[1]} --json").stdout.splitlines()
    outer = [call for call in map(json.loads, shown) if call["type"] == "call" and call["depth"] == 0]
    check(f"the command of the {side} call shows the call alone", len(outer) == 1 and outer[0]["function"] == "serve" and
          (outer[0]["time"], outer[0]["duration"], outer[0]["instructions"]) ==
          (example["time"], example["duration"], example["instructions"]), command, outer)

middle = sorted(call["time"] for call in objects("calls", "--json", "--no-fold", "-F", "serve", "branch.ptl") if call["depth"] == 0)[100]
later = json.loads(dump("why", "--json", "--time", f"{middle - 1}ns..", "serve", "branch.ptl"))["examples"][0]
shown = run("/bin/sh", "-c", f"'{DUMP}' {later['command'].split(' ', 1)[1]} --json").stdout.splitlines()
check("the command has the selection of the flow", [json.loads(line)["time"] for line in shown][:1] == [later["time"]] and
      later["time"] >= middle, later, shown[:1])
everything = [call for call in objects("calls", "--json", "--no-fold", "branch.ptl") if call["type"] == "call"]
serves = [call for call in everything if call["function"] == "serve"]
for number, call in enumerate(serves, 1):
    call["number"] = number
long = sorted(call["instructions"] for call in serves)[-10]
for reason, expression, wanted in (
        ("branch", f"instructions >= {long}", lambda call: call["instructions"] >= long),
        ("branch", "number > 195 or number == 7", lambda call: call["number"] > 195 or call["number"] == 7),
        ("branch", "caller == main and nested == 0", lambda call: True)):
    selection = ["--calls", f"serve: {expression}", f"{reason}.ptl"]
    mine = [call for call in serves if wanted(call)]
    total = sum(call["instructions"] for call in mine)
    name = f"--calls 'serve: {expression}'".replace(str(long), "N")
    rows = objects("report", "--json", *selection)
    check(f"{name}: report has their calls and instructions", sum(row["self_instructions"] for row in rows) == total and
          [(row["calls"], row["total_instructions"]) for row in rows if row["function"] == "serve"] == [(len(mine), total)],
          total, *rows)
    check(f"{name}: report --by line has the same instructions",
          sum(row["self_instructions"] for row in objects("report", "--by", "line", "--json", *selection)) == total)
    shown = [call for call in objects("calls", "--json", "--no-fold", *selection) if call["type"] == "call"]
    check(f"{name}: calls shows them, as outermost calls",
          [call["instructions"] for call in shown if call["depth"] == 0] == [call["instructions"] for call in mine] and
          sum(call["self_instructions"] for call in shown) == total)
    callees = [row for row in objects("graph", "--json", "--depth", "0", *selection[:2], "serve", selection[2])
               if row["type"] == "callee"]
    check(f"{name}: graph has their callees alone", sum(row["self_instructions"] for row in callees) == total and
          callees[0]["calls"] == len(mine), *callees)
    folded = dump("flamegraph", "--folded", *selection).splitlines()
    check(f"{name}: so has flamegraph", sum(int(line.rsplit(" ", 1)[1]) for line in folded) == total and
          all(line.startswith("slow_calls;serve") for line in folded), *folded)
    annotated = objects("annotate", "--json", *selection[:2], "serve", selection[2])
    check(f"{name}: annotate counts the function's own instructions", [row["executed"] for row in annotated] ==
          [sum(call["self_instructions"] for call in mine)], annotated)
    first = annotated[0]["instructions"][0]
    check(f"{name}: annotate counts the calls", first["count"] == len(mine), first)
    with open(path("calls.json"), "w", encoding="utf-8") as out:
        out.write(dump("timeline", "--format", "chrome", *selection))
    with open(path("calls.json"), encoding="utf-8") as timeline:
        slices = [event for event in json.load(timeline)["traceEvents"] if event["ph"] == "B"]
    check(f"{name}: timeline has their slices alone", len(slices) == len(shown) and
          sum(event["name"] == "serve" for event in slices) == len(mine), len(slices), len(shown))
    for jobs in ("1", "5"):
        check(f"{name}: the result does not depend on threads ({jobs})", objects("report", "--json", "-j", jobs, *selection) == rows)

decides = next(call for call in annotated[0]["instructions"] if call["line"] == line_of("the branch that decides") and "taken" in call)
taken = objects("annotate", "--json", "--calls", f"serve: instructions >= {long}", "serve", "branch.ptl")[0]["instructions"]
check("annotate of the slow calls shows the way of the branch", [
    (each["taken"], each["not_taken"]) for each in taken if each["address"] == decides["address"]] == [(0, 10)], taken)

# Calls within calls, calls that another thread makes, calls that the flow does not have whole.
record("nested.ptl", os.path.join(PROGRAMS, "recursion"))
record("fibres.ptl", os.path.join(PROGRAMS, "fibres"))
for trace in "nested.ptl", "fibres.ptl", "data.ptl":
    for function in sorted({row["function"] for row in objects("report", "--json", "--limit", "12", trace) if row["function"]} | {"main"}):
        if re.search(r"[:*?]", function):
            continue
        rows = objects("report", "--json", "--calls", f"{function}: calls > 0 or calls == 0", trace)
        lines = dump("report", "--by", "inline", "--json", "--calls", function, trace).splitlines()
        check(f"{trace}: the flow of the calls of {function} is the flow of its blocks",
              sum(row["self_instructions"] for row in rows) == sum(json.loads(line)["self_instructions"] for line in lines),
              sum(row["self_instructions"] for row in rows), sum(json.loads(line)["self_instructions"] for line in lines))

# ---- diff ----------------------------------------------------------------------------------------------------

done = run(DUMP, "diff", "--calls", "serve: number == 19", "--with-calls", "serve: number == 20", "branch.ptl", "branch.ptl")
check("diff of two calls of one trace shows what one did more", done.returncode == 1 and
      re.search(r"^ *0 +80,0\d\d +new +(?:[\d.]+ \w+ +)?verify_value", done.stdout, re.M), done)
done = run(DUMP, "diff", "--first", "--calls", "serve: number == 19", "--with-calls", "serve: number == 20", "branch.ptl", "branch.ptl")
check("diff --first of two calls shows the branch", done.returncode == 1 and
      re.search(rf"branch +serve\+\w+ \(slow_calls\)  slow_calls.c:{line_of('the branch that decides')}$", done.stdout, re.M), done)
done = run(DUMP, "diff", "--calls", "serve: number > 30 and number < 36", "data.ptl", "branch.ptl")
check("diff of like calls of two traces finds nothing", done.returncode == 0, done)

# ---- values ----------------------------------------------------------------------------------------------------

record("values.ptl", os.path.join(PROGRAMS, "slow_calls"), "data", options=(*EXACT, "--values", "serve(request->key, request->flags)"))
got = dump("why", "serve", "values.ptl")
check("why names the value that only slow calls have", re.search(
    r"^  value PTL-Values/serve request->key=7 in 10 of 10 slow calls, in 0 of 190 others$", got, re.M), got)
rows = re.findall(r"^ *([\d.]+ %) +([\d.]+ %)  PTL-Values/serve request->(\w+=\d+)$", got, re.M)
check("values that do not tell have no row", rows == [("100 %", "0.00 %", "key=7"), ("100 %", "21.05 %", "flags=3")], rows, got)
found = json.loads(dump("why", "--json", "serve", "values.ptl"))
check("--json has the value", found["values"][:1] == [{"event": "PTL-Values/serve", "field": "request->key", "value": "7",
                                                   "slow": {"calls": 10}, "other": {"calls": 0}}], found["values"])

# ---- mistakes --------------------------------------------------------------------------------------------------

for arguments, text in (
        (["report", "--calls", "servee: number == 1", "data.ptl"], "--calls: no function that ran is called 'servee' (did you mean 'serve'?)"),
        (["report", "--calls", "serve: length > 1", "data.ptl"], "--calls:1:1: there is no field 'length' here"),
        (["report", "--calls", ": number == 1", "data.ptl"], "--calls: missing FUNCTION"),
        (["calls", "--events", "--calls", "serve", "data.ptl"], "--events does not go with --calls"),
        (["report", "--samples", "--calls", "serve", "data.ptl"], "--samples and --calls exclude each other"),
        (["report", "--calls", "serve", "--partial", "x", "data.ptl"], "--calls does not go with partial results"),
        (["diff", "--with-calls", "serve", "data.ptl", "lock.ptl"], "--with-calls needs --calls"),
        (["why", "--slower-than", "1h", "serve", "data.ptl"], "serve: none of the 200 calls is slow (they took "),
        (["why", "--slow", "duration >= 0", "serve", "data.ptl"], "serve: each of the 200 calls is slow (they took "),
        (["why", "--slowest", "100", "serve", "data.ptl"], "expected a share of the calls, above 0 and below 100"),
        (["why", "--slowest", "1", "--slower-than", "1ms", "serve", "data.ptl"], "exclude each other"),
        (["why", "nobody", "data.ptl"], "FUNCTION: no function that ran is called 'nobody'"),
        (["why", "--slower-than", "1ms", "serve", "untimed.ptl"], "--slower-than: no call has a time")):
    done = run(DUMP, *arguments)
    check(f"{' '.join(arguments)}: a message", done.returncode == 2 and text in done.stderr and not done.stdout, done)
done = run(DUMP, "report", "--calls", "serve: number == 1000", "data.ptl")
check("a selection without calls says so", done.returncode == 0 and "none of 200 calls is selected" in done.stderr, done)

plan()
