#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --values: the values of events are those that the programs write themselves, and those of gdb at the same calls.
import json
import os
import re
import shutil
import subprocess
import time

from scratch_test import DUMP, RECORD, check, output, path, plan, run, scratch, skip, write
from value_programs import C_VALUES, build, by_thread, compare, compare_with_gdb, compiler, plain, record, wrong_line

# ---- C ---------------------------------------------------------------------------------------------------------------

GCC, CLANG = compiler("gcc", "gcc-12"), compiler("clang")
THREADLESS = {"integers": ["a", "b", "c", "d", "e", "f", "g", "h", "calls_so_far"], "numbers": ["a", "b", "c", "d"],
              "text": ["a", "c"], "members": ["n->value", "n->next->name", "n->low", "n->high", "n->below", "index"]}
for name in (GCC, CLANG):
    for level in ("-O0", "-Og", "-O2"):
        if not name:
            continue
        program = build(f"values{level}", "values.c", name, "-g", level, "-pthread")
        if not program:
            skip(f"{name} {level}", "there is no gcc")
            continue
        shutil.move(program, path("values"))
        label = f"{name} {level}"
        compare(label, path("values"), C_VALUES.values(), 0 if level == "-O0" else 5)
        if shutil.which("gdb"):
            # At the first instruction, gdb reads arguments on the stack of clang's code from the wrong place.
            compare_with_gdb(label, path("values"), THREADLESS, level != "-O0" and name == GCC)
        else:
            skip(f"{label}: gdb's values", "there is no gdb")

# ---- C++ and Rust ----------------------------------------------------------------------------------------------------

CXX_VALUES = ["shop::counter::add(i.name, i.id, i.k, i.price, n, twice, this->total, shop::sold, $return)",
              "shop::counter::label(prefix, name, $return)"]
for name, title in ((compiler("g++", "g++-12"), "g++"), (compiler("clang++"), "clang")):
    for level in ("-O0", "-O2"):
        if name and build("classes", "value_classes.cpp", name, "-std=c++17", "-g", level):
            compare(f"{name} {level}", path("classes"), CXX_VALUES, 0 if level == "-O0" else 2)
        else:
            skip(f"C++ {level}", f"there is no {title}")
for level in ("0", "3"):
    if compiler("rustc") and build("types", "value_types.rs", "rustc", "-g", "-C", f"opt-level={level}"):
        done, found = record(path("types"), ["price(item.name, item.count, item.ratio, item.kind, factor, text, on, $return)",
                                             "title(n, $return)", "refer(name, short, count, kind, letter, $return)"])
        said_lines = [json.loads(text) for text in done.stdout.splitlines()]
        bad = [pair for pair in zip(map(plain, found), said_lines, strict=False) if wrong_line({**pair[0], "tid": 0}, pair[1])]
        check(f"Rust, opt-level {level}: {len(found)} events have the program's values", len(found) == len(said_lines) > 0 and not bad,
              len(found), len(said_lines), *bad[:5], done.stderr)
    else:
        skip(f"Rust, opt-level {level}", "there is no rustc")

# ---- places ----------------------------------------------------------------------------------------------------------

CALL = re.compile(r"\s*[\d.]+\s+\S+ \S+\s+\S+ \S+\s+\d+\s+\d+\s+\d+\s+(\S+)")


def misplaced(*options):
    """Number of events of values, and of those that ptl-dump calls shows outside of their function."""
    events, wrong, function = 0, 0, None
    for line in output(DUMP, "calls", "--no-fold", "--events", *options, "trace.ptl").splitlines():
        event, call = re.search(r"\*\* PTL-Values/(\w+)", line), CALL.match(line)
        if event:
            events += 1
            wrong += event.group(1) != function
        elif call:
            function = call.group(1)
    return events, wrong


def expected(i):
    return {"i": i, "p->value": i if i % 7 else "<cannot read memory at 0x0>", "s": "text" if i % 5 else "<cannot read memory at 0x10>"}


CALLS = 3000
if GCC and build("places", "value_places.c", GCC, "-g", "-O2", "-pthread"):
    natively = output(path("places"), str(CALLS))
    for options in ([], ["--clock", "virtual"], ["--no-retcomp"], ["--timing", "cyc"], ["--timing", "tsc", "--per-cpu", "2"]):
        label = " ".join(options) or "default options"
        for timer in ([], ["timer"]):
            done, found = record(path("places"), ["f(i, p->value, s, $return)"], *options, arguments=[str(CALLS), *timer])
            threads = by_thread(map(plain, found))
            right = [all(event == {"event": "f", **expected(at // 2)} if at % 2 == 0 else
                         event == {"event": "f/return", "$return": at // 2 * 3 + (at // 2 if at // 2 % 7 else -1)}
                         for at, event in enumerate(thread)) for thread in threads]
            check(f"{label}{', with signals' if timer else ''}: each call has its two events", done.stdout == natively and
                  sorted(map(len, threads)) == [2 * (CALLS + i) for i in range(3)] and all(right), list(map(len, threads)), right, done)
            if not timer:
                for engine in ("native", "libipt"):
                    events, wrong = misplaced("--engine", engine)
                    check(f"{label}: {engine} shows {events} events in their calls", events == 2 * (3 * CALLS + 3) and not wrong, wrong)
        verified = run(DUMP, "verify", "trace.ptl")
        check(f"{label}: both engines agree", verified.returncode == 0, verified)
else:
    skip("places", "there is no gcc")

# ---- results that no caller uses, and names of large numbers ---------------------------------------------------------

COPIES = """
enum small { LOW = 1, MID = 150, TOP = 255 };
enum large { FEW = 1, MANY = 60000 };
enum both { MINUS = -1, HIGH = 200, HUGE_NUMBER = 40000 };
volatile int sink;
static __attribute__((noinline)) int unused(int a) { for (int i = 0; i < a; i++) sink += i; return a * 3; }
__attribute__((noinline)) int named(enum small a, enum large b, enum both c) { sink += a + b; return (int)c; }
int main(int argc, char **argv)
{
	unused(argc * 5);
	named(MID, MANY, HUGE_NUMBER);
	named(TOP, FEW, MINUS);
	return !argv;
}
"""
write("copies.c", COPIES)
for level in "-O0", "-O2":
    if not GCC or run(GCC, "-g", level, "-o", "copies", "copies.c").returncode:
        skip(f"copies, {level}", "no compiler")
        continue
    done, found = record("./copies", ["unused(a, $return)", "named(a, b, c)"])
    fields = [{key: value["name"] if isinstance(value, dict) else value for key, value in event["fields"].items()} for event in found]
    check(f"names of large and negative numbers, {level}",
          [event for event in fields if "b" in event] == [{"a": "MID", "b": "MANY", "c": "HUGE_NUMBER"}, {"a": "TOP", "b": "FEW", "c": "MINUS"}],
          fields, done)
    # GCC's copy unused.isra.0 computes no result. Another compiler may keep the result.
    copy = ".isra." in output("nm", "copies")
    result = [event["$return"] for event in fields if "$return" in event]
    check(f"a result that may not exist is no number, {level}", result == (["<optimized out (no caller may use the result)>"] if copy else [15]),
          result, copy, done)

# ---- mistakes --------------------------------------------------------------------------------------------------------

if GCC and build("mistakes", "value_places.c", GCC, "-g", "-O2", "-pthread"):
    done, found = record(path("mistakes"), ["f(i, nothing, p->nothing)"], arguments=["1"])
    check("names that the function has not are told", "--values: nothing of f in " in done.stderr and "no parameter of this name" in done.stderr and
          "--values: p->nothing of f in " in done.stderr and "no member 'nothing'" in done.stderr, done)
    done = run(RECORD, "--source", "software", "--values", "f(i", "-o", "no.ptl", "--", path("mistakes"), "1")
    check("a bracket that is not closed is refused", done.returncode == 2 and "a bracket is not closed" in done.stderr and not done.stdout, done)

write("causes.c", """#include <stdio.h>
static inline __attribute__((always_inline)) int within(int a) { return a * 3; }
__attribute__((noinline)) int work(int a) { return printf("%d\\n", within(a)); }
int main(int count, char **words) { (void)words; return work(count) < 0; }
""")
if GCC and build("causes", path("causes.c"), GCC, "-g", "-O2"):
    run("strip", "-o", "bare", "causes")
    run("objcopy", "--strip-debug", "causes", "plain")
    for program, value, cause in (
            ("causes", "wrok(a)", f"no function of this name in {path('causes')}, "), ("causes", "wrok(a)", "(did you mean 'work'?)"),
            ("causes", "within(a)", f"{path('causes')} has the function in its callers only (inlining)"),
            ("causes", "absent.so:work(a)", "no recorded program or library is called absent.so"),
            ("causes", "causes:wrok(a)", f"no function of this name in {path('causes')} (did you mean 'work'?)"),
            ("bare", "bare:work(a)", f"{path('bare')} has no names of functions: see --debug-path and --debuginfod"),
            ("plain", "work(a)", "no debug information describes work (compile with -g, or see --debug-path and --debuginfod)")):
        done = run(RECORD, "-f", "--source", "software", "--values", value, "-o", "no.ptl", "--", path(program))
        check(f"--values '{value}' of {program}: the cause", done.returncode == 0 and cause in done.stderr, cause, done.stderr)

# ---- jumps, libraries and processes ----------------------------------------------------------------------------------

AWAY = "<it is the result of the function that is jumped to>"
JUMPS = {"direct": [2 * (i + 1) for i in range(7)], "indirect": [3 * (i + 1) for i in range(7)],
         "conditional": [i * 3 if i > 3 else i for i in range(7)], "table": [0, 10, 0, -2, 73, 10, 324]}
for name, title in ((GCC, "gcc"), (CLANG, "clang")):
    # Without endbr64, the loop begins with the function's first instruction.
    if not name or not build("jumps", "value_jumps.c", name, "-g", "-O2", "-fcf-protection=none"):
        skip("jumps", f"there is no {title}")
        continue
    done, found = record(path("jumps"), [f"{function}(a, $return)" for function in JUMPS] + ["loop(*v)"])
    for function, results in JUMPS.items():
        got = [event["fields"]["$return"] for event in found if event["event"] == f"{function}/return"]
        away = sum(value == AWAY for value in got)
        check(f"{name}: {function} has its results, or {away} times the jump to another function",
              len(got) == 7 and all(value in (want, AWAY) for value, want in zip(got, results, strict=True)) and
              away == {"direct": 7, "indirect": 7}.get(function, away) < 8, got, results, done)
    rounds = [event["fields"]["*v"] for event in found if event["event"] == "loop"]
    check(f"{name}: a jump back to the entry is no call", rounds == [10 * i for i in range(7)], rounds)

LIBRARY = """
int lib_total = 3;
__attribute__((noinline)) int lib_add(int a, const char *s) { lib_total += a; return lib_total + s[0]; }
"""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int call(int a, const char *s)
{
	void *library = dlopen("./library.so", RTLD_NOW);
	const int result = ((int (*)(int, const char *))dlsym(library, "lib_add"))(a, s);
	dlclose(library);
	return result;
}
int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 2;
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	for (; left > 0; left--) {
		char next[16];
		snprintf(next, sizeof(next), "%d", left - 1);
		call(left, "A");
		if (argc < 3 && !fork()) {
			call(-left, "B");
			execl(argv[0], argv[0], next, NULL);
			_exit(1);
		}
		wait(NULL);
	}
	return 0;
}
"""
write("library.c", LIBRARY)
write("loader.c", LOADER)
if GCC and run(GCC, "-g", "-O2", "-shared", "-fPIC", "-o", "library.so", "library.c").returncode == 0 and \
        run(GCC, "-o", "loader", "loader.c", "-ldl").returncode == 0:
    done, found = record("./loader", ["library.so:lib_add(a, s, lib_total, $return)"], arguments=["2"])
    calls = sorted((event["fields"]["a"], event["fields"]["s"], event["fields"]["lib_total"]) for event in found if "a" in event["fields"])
    results = sorted(event["fields"]["$return"] for event in found if "$return" in event["fields"])
    # A process with n left makes a call for n to 1, and a child for each, which makes a call and goes on with one less.
    wanted = []
    todo = [2]
    while todo:
        number = todo.pop()
        for left in range(number, 0, -1):
            wanted += [(left, "A", 3), (-left, "B", 3)]
            todo.append(left - 1)
    check(f"a library that is loaded {len(wanted)} times, by {len({event['pid'] for event in found})} processes and programs",
          calls == sorted(wanted) and results == sorted(3 + a + ord(s) for a, s, _ in wanted), calls, wanted, done)
    program = subprocess.Popen(["./loader", "50", "waits"], cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    recorder = subprocess.Popen([RECORD, "-f", "-o", "trace.ptl", "--source", "software", "--values", "lib_add(a, $return)", "--pid",
                                 str(program.pid)], cwd=scratch, stderr=subprocess.PIPE, text=True)
    # The process runs again once the runtime is in: its next system call is already translated.
    while recorder.poll() is None and "ptl-arena" not in output("cat", f"/proc/{program.pid}/maps"):
        time.sleep(0.05)
    program.communicate("go\n", timeout=60)
    _, said = recorder.communicate(timeout=60)
    found = [json.loads(text) for text in output(DUMP, "events", "--json", "-e", "PTL-Values/*", "trace.ptl").splitlines()]
    calls = [event["fields"]["a"] for event in found if "a" in event["fields"]]
    check("a process that runs already has the values from then on", recorder.returncode == 0 and calls == list(range(50, 0, -1)), calls, said)
else:
    skip("libraries and processes", "no compiler")

# ---- mistakes --------------------------------------------------------------------------------------------------------

for text, said in (("f(a b)", "expected a parameter"), ("f(a->)", "expected a parameter"), ("(a)", "names no function"),
                   ("f(a[x])", "expected a parameter"), ("f(" + ", ".join("a" * 40) + ")", "at most 32 expressions")):
    failed = run(RECORD, "-f", "-o", "mistake.ptl", "--source", "software", "--values", text, "--", "true")
    check(f"--values '{text[:20]}' is a mistake", failed.returncode == 2 and said in failed.stderr and not os.path.exists(path("mistake.ptl")), failed)
absent = run(RECORD, "-f", "-o", "absent.ptl", "--source", "software", "--values", "no_such_function", "--", "true")
check("an unknown function is reported, and the program runs", absent.returncode == 0 and "no_such_function" in absent.stderr, absent)
plan()
