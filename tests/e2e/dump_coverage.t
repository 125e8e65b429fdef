#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump coverage: gcov counts the same lines, branches and functions; lcov, genhtml and an XML parser read what is written.
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, skip, write

PROGRAMS = os.path.join(os.environ["PTL_TESTDATA"], "programs")


def build(program, source, *options):
    """A copy of the source in a folder of its own, so that the test knows all names."""
    shutil.copyfile(os.path.join(PROGRAMS, source), path(source))
    compiler = "g++" if source.endswith("cpp") else "gcc"
    got = run(compiler, "-g", "-O0", "-D_GNU_SOURCE", "-I", PROGRAMS, "-o", program, *options, path(source))
    check(f"{program} is built", got.returncode == 0, got.stderr)


def record(program, *arguments, name=None):
    name = name or program + ".ptl"
    got = run(RECORD, "-q", "-o", name, "--", "./" + program, *arguments)
    check(f"{name} is recorded", got.returncode == 0, got)
    return name


def coverage(*arguments):
    got = run(DUMP, "coverage", "--format", "json", *arguments)
    check("coverage %s" % " ".join(arguments), got.returncode == 0, got.stderr)
    return {one["file"]: one for one in map(json.loads, got.stdout.splitlines())}


def gcov(program, source, *arguments):
    """What gcov has: counts of lines, counts of ways by line, functions with their lines and counts, first lines of switches."""
    run("./" + program, *arguments)
    data = [name for name in os.listdir(path("")) if name.endswith(".gcda")]
    got = run("gcov", "-b", "-c", "--json-format", "--stdout", *data)
    check(f"gcov shows {program}", got.returncode == 0, got)
    for name in data:
        os.unlink(path(name))
    lines, ways, functions = {}, {}, {}
    for document in map(json.loads, got.stdout.splitlines()):
        for file in document["files"]:
            if os.path.basename(file["file"]) != source:
                continue
            functions.update({one["name"]: (one["start_line"], one["execution_count"]) for one in file["functions"]})
            for one in file["lines"]:
                number = one["line_number"]
                lines[number] = lines.get(number, 0) + one["count"]
                ways.setdefault(number, []).extend(way["count"] for way in one["branches"] if not way["throw"])
    return lines, {number: sorted(counts) for number, counts in ways.items() if counts}, functions


def texts(source):
    return dict(enumerate(read(source).decode().splitlines(), 1))


def as_gcov(program, source, *arguments, others=()):
    """
    docs/coverage.md lists what may differ: the bracket at the end of a function and labels, switches by tables; and what the
    test names.
    """
    build(program, source)
    build(program + "-gcov", source, "--coverage")
    trace = record(program, *arguments)
    ours = coverage("--image", program, trace)[path(source)]
    lines, ways, functions = gcov(program + "-gcov", source, *arguments)
    source_text = texts(source)
    counts = {one["line"]: one["count"] for one in ours["lines"]}
    both = set(counts) & set(lines)
    wrong = {number: (counts[number], lines[number], source_text[number])
             for number in both if counts[number] != lines[number] and number not in others}
    check(f"{source}: {len(both)} lines have gcov's counts", len(both) > 25 and not wrong, wrong)
    extra = {number: source_text[number] for number in set(counts) - set(lines)
             if not re.match(r"\s*\}", source_text[number]) and number not in others}
    check(f"{source}: no line that gcov has not, but closing brackets", not extra, extra)
    missing = {number: source_text[number] for number in set(lines) - set(counts)
               if not re.match(r"\s*(case .*|default|\w+):", source_text[number]) and number not in others}
    check(f"{source}: all lines that gcov has, but labels", not missing, missing)
    branches = {}
    for one in ours["branches"]:
        branches.setdefault(one["line"], []).extend([one["taken"], one["not_taken"]])
    wrong = {number: (sorted(branches.get(number, [])), counts) for number, counts in ways.items()
             if sorted(branches.get(number, [])) != counts and "switch" not in source_text[number] and number not in others}
    check(f"{source}: branches went both ways as often", len(ways) > 1 and not wrong, wrong)
    went = sum((one["taken"] > 0) + (one["not_taken"] > 0) for one in ours["branches"])
    check(f"{source}: ways that branches went are counted once", ours["branches_run"] == went and ours["branches_found"] ==
          2 * len(ours["branches"]), ours)
    found = {one["name"]: (one["line"], one["count"]) for one in ours["functions"]}
    check(f"{source}: functions are gcov's", found and found == functions, found, functions)
    return trace, ours


def without_gcov(program, source, *arguments):
    build(program, source)
    trace = record(program, *arguments)
    return trace, coverage("--image", program, trace)[path(source)]


def numbers(ours):
    return ours["lines_found"], ours["lines_run"], ours["branches_found"], ours["branches_run"], ours["functions_found"], \
        ours["functions_run"]


def as_lcov(trace, ours):
    got = run(DUMP, "coverage", "--format", "lcov", "-o", "counted.info", "--image", "counted", trace)
    check("lcov is written", got.returncode == 0 and read("counted.info").startswith(b"SF:"), got)
    if not shutil.which("lcov") or not shutil.which("genhtml"):
        skip("lcov reads it", "lcov is not installed")
        return
    got = run("lcov", "--rc", "lcov_branch_coverage=1", "--summary", "counted.info")
    found = [(int(of), int(some)) for some, of in re.findall(r"\((\d+) of (\d+)", got.stdout + got.stderr)]
    lines, lines_run, branches, branches_run, functions, functions_run = numbers(ours)
    check("lcov counts the same", found == [(lines, lines_run), (functions, functions_run), (branches, branches_run)], got, ours)
    got = run("genhtml", "--branch-coverage", "-o", "html", "counted.info")
    pages = [os.path.join(folder, name) for folder, _, names in os.walk(path("html")) for name in names]
    page = "".join(read(name).decode() for name in pages if name.endswith("counted.c.gcov.html"))
    check("genhtml shows the source with its counts",
          got.returncode == 0 and "number % 3 == 0" in page and re.search(r"\b1000\b", page), got, pages)


def as_cobertura(trace, ours):
    got = run(DUMP, "coverage", "--format", "cobertura", "--image", "counted", trace)
    root = xml.etree.ElementTree.fromstring(got.stdout)
    lines, lines_run, branches, branches_run, functions, _ = numbers(ours)
    check("Cobertura has the sums", [int(root.get(key)) for key in ("lines-valid", "lines-covered", "branches-valid",
                                                                     "branches-covered")] ==
          [lines, lines_run, branches, branches_run], root.attrib)
    own = [one for one in root.iter("class") if "/" + one.get("filename") == path("counted.c")]
    hits = {int(line.get("number")): int(line.get("hits")) for line in own[0].find("lines")}
    check("Cobertura has the lines", hits == {one["line"]: one["count"] for one in ours["lines"]}, hits)
    check("Cobertura has the functions", len(list(own[0].iter("method"))) == functions, got.stdout[:2000])
    both = [line.get("condition-coverage") for line in own[0].find("lines") if line.get("branch") == "true"]
    check("Cobertura has the branches", "100% (2/2)" in both and "50% (1/2)" in both, both)


def merged(trace, ours):
    other = record("counted", "7", "5", name="other.ptl")
    one = coverage("--image", "counted", other)[path("counted.c")]
    both = coverage("--image", "counted", trace, other)[path("counted.c")]
    for kind, keys in (("lines", ("count",)), ("branches", ("count", "taken", "not_taken")), ("functions", ("count",))):
        sums = [tuple(a[key] + b[key] for key in keys) for a, b in zip(ours[kind], one[kind])]
        check(f"{kind} of two traces are added up", len(ours[kind]) == len(one[kind]) and
              sums == [tuple(c[key] for key in keys) for c in both[kind]], sums)
    got = run(DUMP, "coverage", trace, "nowhere.ptl")
    check("a trace that is not there is a failure", got.returncode == 4 and "nowhere.ptl" in got.stderr, got)
    got = run(DUMP, "coverage", "--process", "counted", "--source", "counted.c", trace, other)
    check("--process is of each trace", got.returncode == 0 and got.stdout.splitlines()[-1].endswith("all"), got)


def threads_alike(trace):
    for format_ in ("text", "lcov", "cobertura", "json"):
        outputs = {run(DUMP, "coverage", "--format", format_, *how, trace).stdout
                   for how in (("-j1",), ("-j2",), ("--engine", "libipt"))}
        check(f"{format_}: the same for all threads and engines", len(outputs) == 1 and outputs.pop(), *outputs)


def of_a_change(trace, ours):
    """Line 15 of counted.c ran, line 41 did not in a run of no rounds."""
    counts = {one["line"]: one["count"] for one in ours["lines"]}
    source = texts("counted.c")
    first, second = next(n for n in source if "number % 3" in source[n]), next(n for n in source if "case 1:" in source[n])
    text = "--- a/counted.c\t2026\n+++ b/counted.c\t2026\n"
    for line in (first, second):
        text += f"@@ -{line},2 +{line},2 @@ int x\n-old\n-old\n" + "".join(f"+{source[n]}\n" for n in (line, line + 1))
    text += "diff --git a/gone.c b/gone.c\n--- a/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    text += '--- "a/n\\"a\\155e.c"\n+++ "b/n\\"a\\155e.c"\n@@ -1,0 +2 @@\n+int x;\n'
    write("change.patch", text)
    got = run(DUMP, "coverage", "--format", "json", "--diff-base", "change.patch", trace)
    changed = {one["line"]: one["count"] for one in json.loads(got.stdout)["lines"]}
    wanted = {n: counts[n] for n in (first, first + 1, second, second + 1) if n in counts}
    check("a diff selects its lines", changed == wanted and len(wanted) > 2, changed, wanted)
    check("a changed file that did not run is named", ': n"ame.c is changed, but' in got.stderr and "gone.c" not in got.stderr, got)
    write("many.patch", "".join(f"--- a/{i}.c\n+++ b/{i}.c\n@@ -1 +1 @@\n-x\n+y\n" for i in range(20)))
    got = run(DUMP, "coverage", "--diff-base", "many.patch", trace)
    check("of many such files a few", got.stderr.count(".c is changed, but") == 5 and "15 more files are changed" in got.stderr, got)
    none = record("counted", "0", name="none.ptl")
    got = run(DUMP, "coverage", "--diff-base", "change.patch", none)
    check("changed lines that did not run are listed",
          re.search(rf"counted\.c: did not run: {first}(-{first + 1})?, {second + 1}$", got.stdout, re.M), got)
    for bad in ("no such range", "-x", "--", "broken.patch"):
        write("broken.patch", "--- a\n+++ b\n@@ -1 +1,9999999999 @@\n+x\n")
        got = run(DUMP, "coverage", "--diff-base=" + bad, trace)
        check(f"--diff-base {bad!r} is refused", got.returncode in (2, 3) and 0 < len(got.stderr.splitlines()) < 4 and not got.stdout, got)


def of_git(trace):
    if not shutil.which("git"):
        skip("--diff-base asks git", "git is not installed")
        return
    quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x",
             "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@x", "GIT_CEILING_DIRECTORIES": os.path.dirname(path("")[:-1])}
    environment = {**os.environ, **quiet}
    source = read("counted.c").decode()
    write("counted.c", source.replace("return 1;", "return 2;", 1))
    got = run(DUMP, "coverage", "--diff-base", "main...HEAD", trace, env=environment)
    check("where there is no repository, git says so in a line",
          got.returncode == 2 and "git: " in got.stderr and len(got.stderr.splitlines()) < 4, got)
    for command in (("init", "-q"), ("add", "counted.c"), ("commit", "-qm", "x")):
        run("git", *command, env=environment)
    write("counted.c", source)
    got = run(DUMP, "coverage", "--format", "json", "--diff-base", "HEAD", trace, env=environment)
    line = next(n for n, text in texts("counted.c").items() if "return 1;" in text)
    check("git gives a change", got.returncode == 0 and [one["line"] for one in json.loads(got.stdout)["lines"]] == [line], got)


def in_text(trace):
    got = run(DUMP, "coverage", trace)
    check("text has the file and all", "counted.c" in got.stdout and got.stdout.splitlines()[-1].endswith("all"), got)
    check("what has no lines is named", "libc.so.6" in got.stderr and "are left out" in got.stderr, got)
    got = run(DUMP, "coverage", "--source", "nothing*", "--source", "counted*", trace)
    check("a pattern that no source has is warned of", got.returncode == 0 and "such as --source nothing*" in got.stderr and
          "--source counted*" not in got.stderr and "counted.c" in got.stdout, got)
    got = run(DUMP, "coverage", "--source", "nothing*", "-q", trace)
    check("no such source is nothing", got.returncode == 0 and "counted.c" not in got.stdout, got)
    os.unlink(path("counted"))
    build("bare", "counted.c", "-s")
    got = run(DUMP, "coverage", record("bare"))
    check("a program without debug information is explained", "compile with -g" in got.stderr, got)


PLUGIN = """int work(int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		if (i % 3 == 0)
			sum += i;
		else
			sum--;
	}
	return sum;
}
#ifdef ALONE
int main(void) { return work(100) == 0; }
#endif
"""
HOST = """#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *code = mmap((void *)0x6000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED || argc < 2 || read(open(argv[1], O_RDONLY), code, 4096) <= 0)
		return 2;
	return ((int (*)(int))(void *)code)(100) == 0;
}
"""


def of_a_plugin():
    """Code that a loader of its own put into memory: a rule says whose it is, and where its line table is."""
    write("plugin.c", PLUGIN)
    write("host.c", HOST)
    for command in (("gcc", "-O1", "-o", "host", "host.c"),
                    ("gcc", "-g", "-O0", "-fno-pic", "-nostdlib", "-static", "-Wl,-Ttext=0x1000,-e,work,--build-id=none", "-o", "plugin.elf",
                     path("plugin.c")),
                    ("objcopy", "-O", "binary", "-j", ".text", "plugin.elf", "plugin.bin"),
                    ("gcc", "-g", "-O0", "-DALONE", "--coverage", "-o", "alone", path("plugin.c"))):
        got = run(*command)
        check(" ".join(command), got.returncode == 0, got.stderr)
    record("host", "plugin.bin", name="host.ptl")
    write("plugin.rules", 'image process "host" { path = "/plugins/plugin"; base = 0x6000000000; size = 0x1000; '
          'default_base = 0x1000; symbols = elf("plugin.elf", 0x1000); debug = "plugin.elf"; }')
    got = run(RELOG, "-q", "host.ptl", "--rules", "plugin.rules", "-o", "plugin.ptl")
    check("the plugin is put in", got.returncode == 0, got.stderr)
    os.unlink(path("plugin.elf"))
    ours = coverage("--image", "plugin", "plugin.ptl")[path("plugin.c")]
    counts = {one["line"]: one["count"] for one in ours["lines"]}
    check("lines of a plugin have their counts", counts[7] == 34 and counts[9] == 66 and counts[11] == 1, counts)
    check("so has its function", [(one["name"], one["line"], one["count"]) for one in ours["functions"]] == [("work", 1, 1)], ours)
    ways = {one["line"]: sorted((one["taken"], one["not_taken"])) for one in ours["branches"]}
    check("so have its branches", ways == {5: [1, 100], 6: [34, 66]}, ways)
    if shutil.which("gcov"):
        lines, _, _ = gcov("alone", "plugin.c")
        wrong = {number: (count, lines[number]) for number, count in counts.items() if number in lines and lines[number] != count}
        check("lines of a plugin are gcov's", len(set(lines) & set(counts)) > 6 and not wrong, wrong)


OPTIMISED = """__attribute__((noinline, noclone)) int fit(int size,
	int max)
{
	__asm__ volatile("nop" : "+r"(size));
	return size > max ? max : size;
}
int main(int argc, char **argv)
{
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 50; i++)
		sum += fit(i, 20 + argc);
	return sum == 0;
}
"""


def optimised():
    """A function whose code begins with that of a statement: addr2line says which, and it counts as the function's name does."""
    write("optimised.c", OPTIMISED)
    run("gcc", "-g", "-O2", "-o", "optimised", path("optimised.c"))
    (address,) = [line.split()[0] for line in run("nm", "optimised").stdout.splitlines() if line.split()[1:] == ["T", "fit"]]
    first = int(re.search(r":(\d+)", run("addr2line", "-e", "optimised", address).stdout)[1])
    ours = coverage("--image", "optimised", record("optimised"))[path("optimised.c")]
    counts = {one["line"]: one["count"] for one in ours["lines"]}
    check("a statement that a function begins with has its count", first == 4 and counts.get(first) == 50 == counts.get(1), first, counts)
    check("and its bracket has none", 3 not in counts, counts)


LINKED = {"linked.h": """template <class T> T at_most(T value, T top)
{
	if (value > top)
		return top;
	return value;
}
""", "linked.cpp": """#include "linked.h"
int other(int);
int left_out(int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++)
		sum += i * count;
	return sum;
}
int not_called(int number)
{
	return number * 3;
}
int (*volatile kept)(int) = not_called;
int main(int argc, char **)
{
	return at_most(argc, 3) + other(argc) + !kept > 1000;
}
""", "other.cpp": """#include "linked.h"
long left_out_too(long number)
{
	return number + 7;
}
int other(int number)
{
	return at_most(number, 2);
}
"""}


def left_out_by_linkers():
    """
    Functions that are not in the program have no code, also where its line table still has them, and its code is loaded together with
    address 0, where they begin. Templates are counted once.
    """
    for name, text in LINKED.items():
        write(name, text)
    for linker, options in (("bfd", ["-Wl,-z,noseparate-code"]), ("gold", []), ("lld", [])):
        if not shutil.which("ld." + linker):
            skip(f"{linker}: no line of a function that is not there", f"there is no ld.{linker}")
            continue
        got = run("g++", "-g", "-O0", "-ffunction-sections", "-fuse-ld=" + linker, "-Wl,--gc-sections", *options,
                  "-o", "linked-" + linker, path("linked.cpp"), path("other.cpp"))
        check(f"{linker} links", got.returncode == 0, got.stderr)
        ours = coverage("--image", "linked-" + linker, record("linked-" + linker))
        counts = {os.path.basename(name): {one["line"]: one["count"] for one in file["lines"]} for name, file in ours.items()}
        check(f"{linker}: no line of a function that is not there", counts == {
            "linked.h": {1: 2, 3: 2, 4: 0, 5: 2, 6: 2}, "linked.cpp": {10: 0, 12: 0, 13: 0, 15: 1, 17: 1, 18: 1},
            "other.cpp": {6: 1, 8: 1, 9: 1}}, counts)


if shutil.which("gcov"):
    RECORDED, COUNTED = as_gcov("counted", "counted.c", "1000")
    as_gcov("kinds", "call_kinds.c")
else:
    skip("gcov counts the same", "gcov is not installed")
    RECORDED, COUNTED = without_gcov("counted", "counted.c", "1000")
as_lcov(RECORDED, COUNTED)
as_cobertura(RECORDED, COUNTED)
merged(RECORDED, COUNTED)
threads_alike(RECORDED)
of_a_change(RECORDED, COUNTED)
of_git(RECORDED)
in_text(RECORDED)
of_a_plugin()
optimised()
left_out_by_linkers()
plan()
