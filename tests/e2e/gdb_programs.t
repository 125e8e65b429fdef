#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump gdb with programs of many kinds: C++, stripped programs, deleted libraries, code of compilers and plugins.
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from gdb_test import GDB, build, flow, gdb, hits, record, same_history, same_lines
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, scratch, skip, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
RULES = os.path.join(os.environ["PTL_TESTDATA"], "plugins")


CXX = """#include <stdexcept>
static volatile int sink;
namespace numbers {
static inline __attribute__((always_inline)) int twice(int value) { return value * 2 + sink; }
template <typename type> inline __attribute__((always_inline)) type between(type value, type low, type high)
{
	sink = sink ^ 1;
	return value < low ? low : value > high ? high : twice(value);
}
struct Guard {
	int number;
	explicit Guard(int n) : number(n) {}
	~Guard() { sink = sink + number; }
};
template <typename type> __attribute__((noinline)) type deep(type depth)
{
	Guard guard(depth);

	if (depth == 0)
		throw std::out_of_range("bottom");
	return deep(depth - 1) + between(depth, 1, 9);
}
}
static __attribute__((noinline)) int caught(int depth)
{
	try {
		return numbers::deep(depth);
	} catch (const std::exception &) {
		return numbers::twice(depth);
	}
}
int main()
{
	int sum = 0;

	for (int i = 1; i < 4; i++)
		sum += caught(i);
	return sum == 0;
}
"""


def cxx(name, optimization):
    """C++ with inlined functions, templates and exceptions."""
    write("cxx.cpp", CXX)
    # The start of a shared libstdc++ takes a million instructions.
    run("g++", "-g", optimization, "-static-libstdc++", "-static-libgcc", "-o", name, "cxx.cpp")
    trace = record(name + ".ptl", path(name))
    # gdb and PTL write std::string in different ways.
    same_history(trace, path(name), like="numbers::|caught|main")
    # In optimized code, gdb leaves out lines at which no statement begins.
    if optimization == "-O0":
        same_lines(trace, path(name))
    hits(trace, "caught")
    hits(trace, "numbers::deep")
    got = gdb(trace, "break numbers::twice", "reverse-continue", "backtrace")
    check(f"{name}: a breakpoint in an inlined function stops backwards", re.search(r"^Breakpoint 1(\.\d)?, .*numbers::twice", got.stdout, re.M) and
          re.search(r"^#1 .* (caught|main) \(", got.stdout, re.M), got)


LIBRARY = """int library_sum(int number) { int sum = 0; for (int i = 0; i < number; i++) sum += i; return sum; }
"""
USER = """int library_sum(int number);
static int twice(int number) { return library_sum(number) * 2; }
int main(void) { int sum = 0; for (int i = 0; i < 20; i++) sum += twice(i); return sum == 0; }
"""


def deleted_library():
    """A position-independent program; the program and its library are gone, and the trace has what gdb needs."""
    write("library.c", LIBRARY)
    write("user.c", USER)
    run("gcc", "-g", "-shared", "-fPIC", "-o", "liblibrary.so", "library.c")
    run("gcc", "-g", "-pie", "-fPIE", "-o", "user", "user.c", "./liblibrary.so")
    trace = record("user.ptl", path("user"))
    before = gdb(trace, "break library_sum", "reverse-continue", "backtrace", "info sharedlibrary")
    os.remove(path("liblibrary.so"))
    os.remove(path("user"))
    flow.cache_clear()
    # The start files of both files have functions of equal names.
    same_history(trace, path("user"), like="main|twice")
    same_history(trace, path("liblibrary.so"), like="library_sum")
    same_lines(trace, path("user"))
    same_lines(trace, path("liblibrary.so"))
    hits(trace, "library_sum")
    hits(trace, "twice")
    got = gdb(trace, "break library_sum", "reverse-continue", "backtrace", "info sharedlibrary")
    wanted = r"#0 .*library_sum \(.*library\.c:1\n(#1 .*\n)?#\d .*twice \(.*user\.c:2\n#\d .*main \("
    check("callers are found through a library", re.search(wanted, before.stdout), before)
    check("and when program and library are deleted", re.search(wanted, got.stdout), got)
    check("the deleted library is listed with symbols", re.search(r"Yes .*liblibrary\.so", got.stdout), got)


def stripped():
    """Debug information in files elsewhere."""
    build("counted", "-O0")
    os.mkdir(path("debug"))
    run("objcopy", "--only-keep-debug", "counted", "debug/counted.debug")
    run("strip", "counted")
    run(RECORD, "-q", "--embed", "code", "-o", "counted.ptl", "--", path("counted"), "30")
    os.remove(path("counted"))
    options = ("--debug-path", path("debug"))
    got = gdb("counted.ptl", "break is_third", "reverse-continue", "backtrace", options=options)
    check("a stripped and deleted program has names and lines of a debug file",
          re.search(r"^Breakpoint 1, .*is_third .*counted\.c:\d+\n", got.stdout, re.M) and re.search(r"#1 .*counted\.c:\d+", got.stdout), got)
    same_history("counted.ptl", path("counted"), flow_options=options, options=options)
    same_lines("counted.ptl", path("counted"), *options, flow_options=options)


def jit():
    """Code that the program makes, with the names of its perf map."""
    record("jit.ptl", os.path.join(PROGRAMS, "call_jit"), "jit.log")
    images = [json.loads(line) for line in output(DUMP, "images", "--json", "jit.ptl").splitlines()]
    base = int(next(one["base"] for one in images if "anon" in one["path"]), 16)
    # The program goes on for a million instructions.
    blocks = [json.loads(line) for line in output(DUMP, "flow", "--json", "jit.ptl").splitlines()]
    blocks = [one for one in blocks if one["type"] == "block" and base <= int(one["ip"], 16) < base + 0x1000]
    check("code of a compiler is executed", blocks, hex(base))
    until = ("--time", f"..{blocks[min(200, len(blocks) - 1)]['time']}ns")
    made = sorted({one[0] for instructions in flow("jit.ptl", *until).values() for one in instructions if base <= one[0] < base + 0x1000})
    write("perf.map", f"{base:x} {made[-1] - base + 1:x} made_code\n")
    options = ("--jit", "perf.map", *until)
    same_history("jit.ptl", "//anon", flow_options=options, options=options)
    # The name covers several functions. Stops are at the first one.
    calls = sum(one[0] == made[0] for instructions in flow("jit.ptl", *until).values() for one in instructions)
    got = gdb("jit.ptl", f"break *{made[0]:#x}", *["reverse-continue"] * (calls + 1), options=options)
    check(f"a breakpoint in code of a compiler stops at {calls} executions, backwards",
          calls and len(re.findall(r"^Breakpoint 1, .*made_code", got.stdout, re.M)) == calls, got)
    # Without the code there are gaps.
    write("blind.rules", 'on code { drop; }\non image where FileName == "//anon" { drop; }\n')
    got = run(RELOG, "-q", "--rules", "blind.rules", "-o", "blind.ptl", "jit.ptl")
    check("code can be dropped from a trace", got.returncode == 0, got)
    gaps = [json.loads(line) for line in output(DUMP, "flow", "--json", *until, "blind.ptl").splitlines()]
    gaps = [one["cause"] for one in gaps if one["type"] == "gap"]
    got = gdb("blind.ptl", "monitor gaps", options=until)
    listed = re.findall(r"^thread \d+[^:]*: gdb's instruction (\d+), [\d.-]+ ms: (.*)$", got.stdout, re.M)
    check(f"monitor gaps has the causes of the {len(gaps)} gaps of flow", gaps and [cause for _, cause in listed[:200]] == gaps[:200], listed[:5], gaps[:5],
          got.stderr)
    got = gdb("blind.ptl", *[f"record instruction-history {number},+1" for number, _ in listed[:20]], options=until)
    shown = re.findall(r"^(\d+)\t\[decode error", got.stdout, re.M)
    check("gdb shows gaps at these numbers", shown and set(shown) >= {number for number, _ in listed[:20]}, shown[:5], listed[:5], got)
    got = gdb("blind.ptl", "monitor gaps", options=until)
    number = int(listed[0][0])
    thread = re.search(r"^thread (\d+)", got.stdout, re.M)[1]
    got = gdb("blind.ptl", f"monitor where {thread} {number}", options=until)
    check("monitor where tells the cause", f"behind a gap: {listed[0][1]}" in got.stdout, got)


def plugins():
    """Plugins that a program loads by itself, named by rules."""
    for name in ("plugin_host", "collatz.plugin", "collatz.sym", "sorter.plugin", "sorter.sym", "mixer.plugin", "mixer.sym"):
        shutil.copy(os.path.join(PROGRAMS, name), scratch)
    shutil.copy(os.path.join(RULES, "events.rules"), scratch)
    run(RECORD, "-q", "-p", "Plugin-Loader", "-o", "recorded.ptl", "--", "./plugin_host")
    got = run(RELOG, "-q", "--rules", "events.rules", "-o", "plugins.ptl", "recorded.ptl")
    check("the rules name the plugins", got.returncode == 0, got)
    images = {os.path.basename(one["path"]): one["path"] for one in map(json.loads, output(DUMP, "images", "--json", "plugins.ptl").splitlines())}
    same_history("plugins.ptl", images["collatz.plugin"])
    hits("plugins.ptl", "triple")
    # Two plugins had one address in turn: the window ends in the time of the first.
    loads = [json.loads(line) for line in output(DUMP, "images", "--json", "plugins.ptl").splitlines() if "sorter" in line]
    until = ("--time", f"..{loads[0]['unloaded'] - 1}ns")
    same_history("plugins.ptl", images["sorter.plugin"], flow_options=until, options=until)


if not shutil.which(GDB):
    skip("gdb steps backwards", "there is no gdb")
else:
    cxx("cxx", "-O0")
    cxx("optimized", "-O2")
    deleted_library()
    stripped()
    jit()
    plugins()
plan()
