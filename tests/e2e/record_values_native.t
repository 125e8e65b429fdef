#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --values --source none: the values of uprobes are those that the programs write themselves, those of gdb, and those of the
# software source.
import json
import os
import re
import shutil
import signal
import subprocess
import time

from scratch_test import DUMP, RECORD, check, output, path, plan, run, scratch, skip, write
from value_programs import C_VALUES, build, by_thread, compare, compare_with_gdb, compiler, is_reason, plain, record

PROBES = "/sys/kernel/tracing/uprobe_events"
NATIVE = {"source": "none"}
GCC, CLANG = compiler("gcc", "gcc-12"), compiler("clang")


def probes():
    """The lines of probes that recorders have made, without those of recorders that still run."""
    with open(PROBES, encoding="utf-8") as file:
        return [line for line in file if re.match(r"[pr]:ptl_\d+", line) and
                not os.path.exists("/proc/" + re.match(r"[pr]:ptl_(\d+)", line).group(1))]


write("works.c", "__attribute__((noinline)) int f(int a) { return a + 1; }\nint main(void) { return f(1) - 2; }\n")
if not GCC or run(GCC, "-g", "-o", "works", "works.c").returncode:
    skip("values of native programs", "there is no gcc")
    plan()
    raise SystemExit
works = run(RECORD, "-f", "-o", "works.ptl", "--source", "none", "--values", "f(a, $return)", "--", path("works"))
if works.returncode:
    skip("values of native programs", "this kernel has no uprobes, or this user may not use them")
    plan()
    raise SystemExit
fields = [json.loads(line)["fields"] for line in output(DUMP, "events", "--json", "-e", "PTL-Values/*", "works.ptl").splitlines()]
check("an argument and a result", fields == [{"a": 1}, {"$return": 2}], fields, works)
check("the number of events is told", "2 events" in works.stderr, works)

# ---- the programs' own values, and gdb's -----------------------------------------------------------------------------

THREADLESS = {"integers": ["a", "b", "c", "d", "e", "f", "g", "h", "calls_so_far"], "text": ["a", "c"],
              "members": ["n->value", "n->next->name", "n->low", "n->high", "n->below", "index"]}
for name in (GCC, CLANG):
    for level in ("-O0", "-O2"):
        if not name:
            skip(f"C, clang {level}", "there is no clang")
            continue
        program = build(f"values{level}", "values.c", name, "-g", level, "-pthread")
        shutil.move(program, path("values"))
        # Floating point in registers is a reason.
        compare(f"{name} {level}", path("values"), C_VALUES.values(), 8 if level == "-O0" else 23, **NATIVE)
        if shutil.which("gdb"):
            compare_with_gdb(f"{name} {level}", path("values"), THREADLESS, level != "-O0" and name == GCC, **NATIVE)
        else:
            skip(f"{name} {level}: gdb's values", "there is no gdb")
CXX_VALUES = ["shop::counter::add(i.name, i.id, i.k, i.price, n, twice, this->total, shop::sold, $return)",
              "shop::counter::label(prefix, name, $return)"]
RUST_VALUES = ["price(item.name, item.count, item.ratio, item.kind, factor, text, on, $return)", "title(n, $return)",
               "refer(name, short, count, kind, letter, $return)"]


def same_as_software(label, program, values):
    """The events are those of the software source, with the same types, except for reasons."""
    _, native = record(program, values, source="none")
    _, found = record(program, values, source="software")
    differ = []
    for a, b in zip(native, found, strict=False):
        # JSON has numbers, texts, and enumerations with number and name.
        mine, other = {"event": a["event"], **a["fields"]}, {"event": b["event"], **b["fields"]}
        if list(mine) != list(other) or any(mine[key] != other[key] and not is_reason(mine[key]) for key in mine):
            differ.append((mine, other))
    check(f"{label}: {len(native)} events are those of the software source", len(native) == len(found) > 0 and not differ,
          len(native), len(found), *differ[:5])


for name in (compiler("g++", "g++-12"), compiler("clang++")):
    for level in ("-O0", "-O2"):
        if name and build("classes", "value_classes.cpp", name, "-std=c++17", "-g", level):
            compare(f"{name} {level}", path("classes"), CXX_VALUES, 0 if level == "-O0" else 2, **NATIVE)
            same_as_software(f"{name} {level}", path("classes"), CXX_VALUES)
        else:
            skip(f"C++ {level}", "there is no g++")
for level in ("0", "3"):
    if compiler("rustc") and build("types", "value_types.rs", "rustc", "-g", "-C", f"opt-level={level}"):
        same_as_software(f"Rust, opt-level {level}", path("types"), RUST_VALUES)
    else:
        skip(f"Rust, opt-level {level}", "there is no rustc")

# ---- results, threads, memory ----------------------------------------------------------------------------------------

JUMPS = ["direct", "indirect", "conditional", "table"]
for name in (GCC, CLANG):
    if name and build("jumps", "value_jumps.c", name, "-g", "-O2", "-fcf-protection=none"):
        same_as_software(f"{name}: jumps to other functions", path("jumps"), [f"{function}(a, $return)" for function in JUMPS])
        done, found = record(path("jumps"), ["loop(*v)"], source="none")
        check(f"{name}: arguments at a loop are not recorded, which is told", not found and "a loop begins at its first instructions" in
              done.stderr, found, done)
    else:
        skip("jumps", "there is no clang")
if build("places", "value_places.c", GCC, "-g", "-O2", "-pthread"):
    for timer in ([], ["timer"]):
        done, found = record(path("places"), ["f(i, p->value, s, $return)"], arguments=["500", *timer], source="none")
        threads = by_thread(map(plain, found))
        right = [all(event == {"event": "f", "i": at // 2, "p->value": at // 2 if at // 2 % 7 else "<cannot read memory at 0x0>",
                               "s": "text" if at // 2 % 5 else "<cannot read memory at 0x10>"} if at % 2 == 0 else
                     event == {"event": "f/return", "$return": at // 2 * 3 + (at // 2 if at // 2 % 7 else -1)}
                     for at, event in enumerate(thread)) for thread in threads]
        check(f"threads{', with signals' if timer else ''}: each call has its two events", sorted(map(len, threads)) ==
              [2 * (500 + i) for i in range(3)] and all(right), list(map(len, threads)), right, done)

# A number of 0 next to memory that cannot be read, in two pages, and text without a zero byte.
EDGES = r"""
#include <string.h>
#include <sys/mman.h>
struct pair { char *name; unsigned zero; unsigned long in_two; };
__attribute__((noinline)) int edge(const unsigned *number, const unsigned long *word, struct pair *p, const char *text)
{
	__asm__ volatile("" : : "r"(number), "r"(word), "r"(p), "r"(text) : "memory");
	return 3;
}
int main(void)
{
	char *pages = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char longer[700];
	struct pair p = {longer, 0, 5};
	munmap(pages + 2 * 4096, 4096);
	memset(longer, 'a', sizeof(longer));
	longer[699] = 0;
	edge((unsigned *)(pages + 2 * 4096 - 4), (unsigned long *)(pages + 4096 - 4), &p, longer);
	memset(pages, 0xff, 2 * 4096);
	edge((unsigned *)(pages + 2 * 4096 - 4), (unsigned long *)(pages + 4096 - 4), &p, pages + 2 * 4096 - 3);
	edge((unsigned *)(pages + 2 * 4096), (unsigned long *)(pages + 2 * 4096 - 4), 0, pages + 2 * 4096 - 4000);
	edge((unsigned *)8, 0, (struct pair *)(pages + 16), "");
	return 0;
}
"""
write("edges.c", EDGES)
NO_ROOM = "<no room in the event>"
TWO = "<a number in two pages, whose second may not be readable>"
run(GCC, "-g", "-O2", "-o", "edges", "edges.c")
done, found = record(path("edges"), ["edge(*number, *word, p->name, p->zero, p->in_two, text)"], source="none")
got = [list(event["fields"].values()) for event in found]
check("memory at the edge of what can be read", len(got) == 4 and got[0] == [0, TWO, "a" * 256, 0, 5, "a" * 256] and
      got[1] == [0xffffffff, 2**64 - 1, "a" * 256, NO_ROOM, 5, NO_ROOM] and
      got[2] == [NO_ROOM, TWO, NO_ROOM, NO_ROOM, NO_ROOM, NO_ROOM] and
      got[3] == [NO_ROOM, NO_ROOM, "<cannot read memory at 0xffffffffffffffff>", 0xffffffff, 2**64 - 1, ""], *got, done)

# ---- files, processes, mistakes --------------------------------------------------------------------------------------

write("library.c", "int total = 3;\n__attribute__((noinline)) int add(int a, const char *s) { total += a; return total + s[0]; }\n")
write("user.c", """
#include <stdio.h>
#include <unistd.h>
int add(int a, const char *s);
int main(void)
{
	char line[8];
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	return add(1, "A") + add(2, "B") == 0;
}
""")
run(GCC, "-g", "-O2", "-shared", "-fPIC", "-o", "library.so", "library.c")
run(GCC, "-g", "-O2", "-o", "user", "user.c", "./library.so")
WANT = [{"a": 1, "s": "A", "total": 3}, {"$return": 4 + 65}, {"a": 2, "s": "B", "total": 4}, {"$return": 6 + 66}]
done, found = record("sh", ["./library.so:add(a, s, total, $return)"], arguments=["-c", "echo | ./user"], source="none")
check("a library that is named, in a child", [event["fields"] for event in found] == WANT, found, done)
program = subprocess.Popen(["./user"], cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
program.stdout.readline()
name = f"values-{os.getpid()}"
said = [run(RECORD, "start", name, "-f", "-o", "trace.ptl", "--source", "none", "--values", "add(a, s, total, $return)", "--only",
            f"pid={program.pid}")]
program.communicate("go\n", timeout=60)
said.append(run(RECORD, "stop", name))
fields = [json.loads(line)["fields"] for line in output(DUMP, "events", "--json", "-e", "PTL-Values/*", "trace.ptl").splitlines()]
check("a process that runs already", fields == WANT, fields, *said)
absent = run(RECORD, "-f", "-o", "absent.ptl", "--source", "none", "--values", "no_such_function", "--", "true")
check("an unknown function is reported, and the program runs", absent.returncode == 0 and "no_such_function" in absent.stderr and
      "/PATH:FUNCTION" in absent.stderr, absent)

# ---- probes that stay ------------------------------------------------------------------------------------------------

write("sleeps.c", "#include <unistd.h>\n__attribute__((noinline)) int f(int a) { return a + 1; }\n"
      "int main(void) { f(1); write(1, \"x\", 1); pause(); return 0; }\n")
run(GCC, "-g", "-o", "sleeps", "sleeps.c")
recorder = subprocess.Popen([RECORD, "-f", "-o", "killed.ptl", "--source", "none", "--values", "f", "--", path("sleeps")], cwd=scratch,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
recorder.stdout.read(1)
children = output("ps", "-o", "pid=", "--ppid", str(recorder.pid)).split() if shutil.which("ps") else []
recorder.send_signal(signal.SIGKILL)
recorder.wait()
for child in children:
    os.kill(int(child), signal.SIGKILL)
for _ in range(100):
    after = run(RECORD, "-f", "-o", "works.ptl", "--source", "none", "--values", "f(a, $return)", "--", path("works"))
    if not probes():
        break
    time.sleep(0.1)
check("no probe stays, also if a recorder was killed", after.returncode == 0 and not probes(), probes(), after)
if os.getuid() == 0 and shutil.which("setpriv"):
    os.chmod(scratch, 0o777)
    refused = run("setpriv", "--reuid=65534", "--clear-groups", RECORD, "-f", "-o", "refused.ptl", "--source", "none", "--values", "f",
                  "--", path("works"))
    check("without root, the message says so", refused.returncode and "takes root" in refused.stderr and "f" in refused.stderr, refused)
else:
    skip("without root", "the test does not run as root")
plan()
