#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# libptl-analysis as its users have it: public headers alone, the shared library, and the results of ptl-dump.
import collections
import json
import os
import re

from scratch_test import BIN, DUMP, RECORD, check, path, plan, run, write

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
LIB = os.environ["PTL_LIB"]
CC = (os.environ.get("CC") or "gcc").split()
EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
PROGRAMS = os.environ["PTL_PROGRAMS"]
HEADERS = [os.path.join(ROOT, "analysis/include/ptl", name) for name in ("analysis.h", "calls.h", "profile.h")]
INCLUDES = [f"-I{ROOT}/{part}/include" for part in ("format", "flow", "analysis")]
TRACES = {}


def exported():
    got = run("nm", "-D", "--defined-only", LIB + "/libptl-analysis.so.0").stdout
    return {line.split()[2].split("@")[0] for line in got.splitlines()} - {"PTL_0"}


def declared(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^\w[\w *]*?\b(ptl_\w+)\(", text, flags=re.MULTILINE))


def record(name, program, *arguments):
    TRACES[name] = path(name + ".ptl")
    done = run(RECORD, "-q", "-f", "-o", TRACES[name], "--", os.path.join(PROGRAMS, program), *arguments)
    check(f"{name} is recorded", os.path.exists(TRACES[name]), done.stderr)


def rows(kind, name):
    done = run(os.path.join(EXAMPLES, "profile"), kind, TRACES[name])
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    check(f"{name}: a profile by {kind}", done.returncode == 0 and not done.stderr and len(lines) > 1, done)
    return lines[:-1], int(lines[-1][0])


def reported(name, by):
    lines = run(DUMP, "report", "--json", "--by", by, TRACES[name]).stdout.splitlines()
    return list(map(json.loads, lines))


def profiles(name):
    total = json.loads(run(DUMP, "stats", "--json", TRACES[name]).stdout)["instructions"]
    for kind in ("function", "image", "line"):
        found, instructions = rows(kind, name)
        check(f"{name}: rows by {kind} add up to all instructions", sum(int(row[0]) for row in found) == total == instructions,
              total, instructions)
        report = reported(name, kind)
        want = collections.Counter()
        have = collections.Counter()
        for row in report:
            want[row["self_instructions"]] += 1
        for row in found:
            have[int(row[0])] += 1
        check(f"{name}: by {kind}, the rows of ptl-dump report", want == have, want - have, have - want)
    found, _ = rows("branch", name)
    check(f"{name}: ways of a branch are part of its executions", all(int(row[1]) + int(row[2]) <= int(row[0]) for row in found))
    conditional = sum(json.loads(line)["branch"] == "conditional"
                      for line in run(DUMP, "flow", "--json", TRACES[name]).stdout.splitlines()
                      if '"branch"' in line and '"type":"block"' in line.replace(" ", ""))
    check(f"{name}: each execution of a conditional branch", sum(int(row[0]) for row in found) == conditional,
          sum(int(row[0]) for row in found), conditional)
    places = [tuple(row[3:5]) for row in found]
    check(f"{name}: one row a branch", len(places) == len(set(places)))
    found, _ = rows("edge", name)
    places = [tuple(row[1:]) for row in found]
    check(f"{name}: one row an edge", len(places) == len(set(places)))


def calls(name):
    """The example's lines are the calls of ptl-dump calls without folding."""
    done = run(os.path.join(EXAMPLES, "calls"), TRACES[name])
    lines = done.stdout.splitlines()
    enters = collections.Counter(re.sub(r"^ *> ", "", line) for line in lines if line.lstrip().startswith("> "))
    leaves = collections.Counter(re.sub(r"^ *< (.*)  \d+ ns, .*", r"\1", line) for line in lines if line.lstrip().startswith("< "))
    check(f"{name}: calls are shown", done.returncode == 0 and enters, done)
    check(f"{name}: each call that begins ends", sum(enters.values()) <= sum(leaves.values()), enters, leaves)
    want = collections.Counter()
    for line in run(DUMP, "calls", "--json", "--no-fold", TRACES[name]).stdout.splitlines():
        call = json.loads(line)
        if call["type"] == "call":
            want[call["function"] or ""] += call["repeats"]
    check(f"{name}: the calls of ptl-dump calls", want == leaves, want - leaves, leaves - want)


def misuse():
    write("misuse.c", r"""
#include <stdio.h>
#include <string.h>
#include <ptl/calls.h>
#include <ptl/profile.h>
#include <ptl/reader.h>
static int stop(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call)
{
	(void)thread; (void)call;
	return *(int *)context;
}
int main(int argc, char **argv)
{
	struct ptl_trace *trace;
	struct ptl_analysis *analysis;
	struct ptl_profile *profile;
	struct ptl_calls_callbacks callbacks = {.size = sizeof(callbacks), .enter = stop}, none = {0};
	struct ptl_flow_options unknown = {.size = sizeof(unknown), .engine = "nobody"};
	int cancelled = PTL_CANCELLED, positive = 1;

	if (argc != 2 || ptl_open(argv[1], NULL, &trace))
		return 1;
	printf("%d\n", ptl_analysis_open(NULL, NULL, &analysis) == PTL_MISUSE && !ptl_analysis_open(trace, NULL, &analysis));
	printf("%d\n", ptl_calls_run(analysis, NULL, NULL, NULL) == PTL_MISUSE);
	printf("%d\n", ptl_calls_run(analysis, NULL, &none, NULL) == PTL_MISUSE);
	printf("%d\n", ptl_calls_run(analysis, &unknown, &callbacks, &cancelled) == PTL_MISUSE && strstr(ptl_error_text(), "nobody"));
	printf("%d\n", ptl_calls_run(analysis, NULL, &callbacks, &cancelled) == PTL_CANCELLED);
	printf("%d\n", ptl_calls_run(analysis, NULL, &callbacks, &positive) == PTL_MISUSE);
	printf("%d\n", ptl_profile_run(analysis, (enum ptl_profile_by)77, NULL, &profile) == PTL_MISUSE && !profile);
	/* An analysis can run again, also after a failure. */
	for (int i = 0; i < 3; i++) {
		if (ptl_profile_run(analysis, PTL_PROFILE_FUNCTION, NULL, &profile))
			return 1;
		printf("%d\n", profile->count > 3 && profile->rows[0].self_instructions >= profile->rows[1].self_instructions);
		ptl_profile_free(profile);
	}
	ptl_profile_free(NULL);
	ptl_analysis_close(analysis);
	ptl_analysis_close(NULL);
	ptl_close(trace);
	return 0;
}
""")
    got = run(*CC, "-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c11", *INCLUDES, "-o", "misuse", "misuse.c", "-L" + LIB, "-lptl-analysis",
              "-lptl", "-Wl,-rpath," + LIB)
    check("a program builds with the public headers alone", got.returncode == 0, got.stderr)
    got = run("./misuse", TRACES["call_kinds"])
    check("misuse is an error, and an analysis runs again", got.returncode == 0 and set(got.stdout.split()) == {"1"}, got)


check("libptl-analysis.so exports what its headers declare", exported() == set().union(*map(declared, HEADERS)),
      exported() ^ set().union(*map(declared, HEADERS)))
record("call_kinds", "call_kinds")
record("exceptions", "exceptions")
record("threads", "threads")
for trace in TRACES:
    profiles(trace)
    calls(trace)
misuse()
plan()
