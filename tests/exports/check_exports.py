#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make check-exports: the target program of each export reads exports of real programs; results are compared with PTL's views.

    check_exports.py [TRACE...]     without traces: records gzip, python3, gcc and a C++ program of ours

Missing programs are skipped. The check takes minutes, and a few GB in TMPDIR.
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import sys
import urllib.parse
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "e2e"))
sys.dont_write_bytecode = True
import perfetto_file
from browser_test import CHROMIUM, Browser
from export_test import by_name, report, stats, total_by_name
from profile_file import annotated, sums, top
from scratch_test import DUMP, RECORD, check, output, path, plan, run, skip, write

PROGRAMS, TESTDATA = os.environ["PTL_PROGRAMS"], os.environ["PTL_TESTDATA"]
PERF_PERIOD = 1000  # instructions between samples
SLICES = 1000000    # slices of a timeline, whose reader is slow


def without(program):
    """Returns whether the program is missing, and prints that."""
    if not shutil.which(program):
        skip(f"{program} reads it", f"there is no {program}")
        return True
    return False


def differences(found, expected):
    """Returns differences as [(name, found, expected)], the largest first, at most 12."""
    wrong = [(name, found.get(name), expected.get(name)) for name in set(found) | set(expected) if found.get(name) != expected.get(name)]
    return sorted(wrong, key=lambda one: -abs((one[1] or 0) - (one[2] or 0)))[:12]


class Trace:
    """A trace, and its data by PTL's views."""

    def __init__(self, file):
        self.file = file
        self.name = os.path.splitext(os.path.basename(file))[0]
        self.rows = report(file)
        self.stats = stats(file)
        # Packets of a CPU may lack times.
        self.timed = not self.rows or any("self_time" in row for row in self.rows)
        # report only counts calls with a recorded beginning.
        lines = output(DUMP, "calls", "--json", "--no-fold", "--where", "marks ~ '*inferred*'", file).splitlines()
        self.inferred = [call for call in map(json.loads, lines) if call["type"] == "call" and "inferred" in call["marks"]]
        self.calls = sum(row["calls"] for row in self.rows) + len(self.inferred)

    def own(self, member):
        return by_name(self.rows, member if member == "calls" else "self_" + member)

    def export(self, command, name, *options):
        """Writes an export. Returns its path and the messages."""
        got = run(DUMP, command, "-f", "-o", name, *options, self.file, timeout=3600)
        check(f"{self.name}: {command} {' '.join(options)}".rstrip(), got.returncode == 0, got)
        return path(name), got.stderr

    def check(self, what, passed, *details):
        check(f"{self.name}: {what}", passed, *details)


# ---- paths of calls --------------------------------------------------------------------------------------

def pprof(trace):
    file, _ = trace.export("pprof", "out.pb.gz")
    if not trace.rows or without("go"):
        return
    for member in ("instructions", "time", "calls") if trace.timed else ("instructions", "calls"):
        shown = top(f"-sample_index={member}", file)
        wrong = differences({name: flat for name, (flat, _) in shown.items() if flat}, trace.own(member))
        trace.check(f"pprof's {member} of functions are those of report", not wrong, *wrong)
        if member != "calls":
            expected = total_by_name(trace.rows, "total_" + member)
            wrong = differences({name: shown[name][1] for name in expected if name in shown}, expected)
            trace.check(f"pprof's {member} with what was called, too", not wrong, *wrong)


def callgrind(trace):
    if not trace.timed:
        skip(f"{trace.name}: callgrind_annotate reads it", "the flow has no times")
        return
    if without("callgrind_annotate"):
        return
    file, _ = trace.export("callgrind", "callgrind.out.x")
    members = ("instructions", "time")
    found, all_of = annotated(file)
    trace.check("callgrind_annotate's sums are those of report",
                all_of == tuple(sum(row["self_" + member] for row in trace.rows) for member in members), all_of)
    for i, member in enumerate(members):
        wrong = differences({name: values[i] for name, values in found.items() if values[i]}, trace.own(member))
        trace.check(f"callgrind_annotate's {member} of functions, too", not wrong, *wrong)


def folded(trace):
    file, _ = trace.export("flamegraph", "out.folded", "--folded")
    own, count = collections.Counter(), 0
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            own[stack.rsplit(";", 1)[-1]] += int(value)
            count += int(value)
    trace.check("the folded stacks add up to stats", count == trace.stats["instructions"], count, trace.stats)
    wrong = differences(own, {name.replace(";", ":"): value for name, value in trace.own("instructions").items()})
    trace.check("and by function to report", not wrong, *wrong)
    file, _ = trace.export("flamegraph", "out.svg")
    root = xml.etree.ElementTree.parse(file).getroot()
    trace.check("the flame graph is SVG", root.tag == "{http://www.w3.org/2000/svg}svg", root.tag)


def speedscope(trace):
    file, _ = trace.export("speedscope", "out.speedscope.json")
    with open(file, encoding="utf-8") as text:
        document = json.load(text)
    own, total = sums(document)
    wrong = differences(own, trace.own("instructions"))
    trace.check("speedscope's self counts are those of report", not wrong, *wrong)
    expected = total_by_name(trace.rows, "total_instructions")
    wrong = differences({name: total[name] for name in expected if name in total}, expected)
    trace.check("speedscope's totals, too", not wrong, *wrong)


# ---- calls and events ------------------------------------------------------------------------------------

def left_out(said):
    match = re.search(r"left out: ([\d,]+) calls", said)
    return int(match[1].replace(",", "")) if match else 0


def timeline(trace):
    options = ("--max-slices", str(SLICES)) + (() if trace.timed else ("--by=instructions",))
    file, said = trace.export("timeline", "out.pftrace", *options)
    with open(file, "rb") as data:
        tracks = perfetto_file.read(data.read())
    names = collections.Counter(slice_[0] for track in tracks.values() for slice_ in track.slices)
    count = sum(names.values()) - names["[gap]"] + left_out(said)
    trace.check("Perfetto's slices and those left out are all calls", count == trace.calls, count, said, trace.calls)
    file, _ = trace.export("timeline", "out.json", "--format=chrome", *options)
    with open(file, encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    begun = collections.Counter(event["name"] for event in events if event["ph"] == "B")
    wrong = differences(begun, names)
    trace.check("Chrome's slices are the same", not wrong and sum(event["ph"] == "E" for event in events) == sum(begun.values()), *wrong)
    instants = collections.Counter(event["name"] for event in events if event["ph"] in "iX")
    expected = collections.Counter(one[1] for track in tracks.values() if track.name not in ("left out", "empty") for one in track.instants)
    wrong = differences(instants, expected)
    trace.check("and its events", not wrong, *wrong)


def ctf(trace):
    if without("babeltrace2"):
        return
    shutil.rmtree(path("out.ctf"), ignore_errors=True)
    folder, _ = trace.export("ctf", "out.ctf")
    got = run("babeltrace2", folder, env={**os.environ, "LC_ALL": "C"})
    found = collections.Counter(match[1].split(":")[-1].strip() for match in re.finditer(r"^\[.*?\] \([^)]*\) (.*?): \{ cpu = ", got.stdout, re.M))
    expected = collections.Counter(json.loads(line)["event"] for line in output(DUMP, "events", "--json", trace.file).splitlines())
    wrong = differences(found, expected)
    trace.check("babeltrace2 shows all events", got.returncode == 0 and not got.stderr and not wrong, got.stderr, *wrong)


def sqlite(trace):
    file, _ = trace.export("sqlite", "out.db")
    database = sqlite3.connect(file)
    (found,) = database.execute("SELECT count(*) FROM calls").fetchone()
    trace.check("the database has all calls", found == trace.calls, found, trace.calls)
    listed = dict(database.execute("SELECT function, sum(calls) FROM function_list WHERE function != '' GROUP BY function"))
    expected = collections.Counter(call["function"] for call in trace.inferred if call["function"])
    for row in trace.rows:
        if row["function"]:
            expected[row["function"]] += row["calls"]
    wrong = differences({name: count for name, count in listed.items() if name in expected}, {name: count for name, count in expected.items() if count})
    trace.check("and of each function as many", not wrong, *wrong)
    trace.check("it is sound", database.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    database.close()


# ---- other decoders and compilers ------------------------------------------------------------------------

def room(share):
    """Returns the permitted difference of a function from its share, in samples."""
    return 10 + 6 * share ** 0.5 + share / 100


def perf(trace):
    if without("perf"):
        return
    file, said = trace.export("perf", "out.data")
    if "code that neither" in said:
        skip(f"{trace.name}: perf script decodes it", "some of the code is nowhere")
        return
    options = ("--guest-code",) if "--guest-code" in said else ()
    got = run("perf", "--buildid-dir", file + ".debug", "script", *options, "--no-demangle", "-i", file, f"--itrace=i{PERF_PERIOD}i", "-F", "tid,period,ip,sym", timeout=3600)
    trace.check("perf script decodes it", got.returncode == 0 and "instruction trace error" not in got.stdout, got.stderr, got.stdout[:500])
    count, names, stubs = collections.Counter(), collections.Counter(), collections.Counter()
    for match in re.finditer(r"^ *(\d+) +(\d+) +[0-9a-f]+ (.*)$", got.stdout, re.M):
        count[int(match[1])] += int(match[2])
        name = match[3].split("+0x")[0]
        names[name] += 1
        # perf counts a PLT stub as a function of its own; PTL counts it for its target.
        stubs[name.removesuffix("@plt")] += name.endswith("@plt")
    # The last sample of a thread precedes its end, and perf restarts its count where tracing continues after a system call.
    threads = {row["tid"]: row["self_instructions"] for row in report("--by", "thread", trace.file)}
    wrong = [(tid, count[tid], all_of) for tid, all_of in threads.items() if not 0 <= all_of - count[tid] <= PERF_PERIOD + all_of / 200]
    trace.check("perf counts the instructions of each thread", not wrong, *wrong[:12])
    # perf may choose another name of the same address.
    rows = report("--no-demangle", trace.file)
    named = collections.Counter(row["function"] for row in rows)
    shares = {row["function"]: row["self_instructions"] / PERF_PERIOD for row in rows
              if row["function"] and named[row["function"]] == 1 and names[row["function"]]}
    wrong = [(name, names[name], share) for name, share in shares.items()
             if not names[name] - room(share) < share < names[name] + stubs[name] + room(share)]
    trace.check("and samples of functions as report has them", not wrong and (shares or not any(named)), *wrong[:12])


def coverage(trace):
    file, _ = trace.export("coverage", "out.info", "--format=lcov")
    if not os.path.getsize(file):
        skip(f"{trace.name}: genhtml renders the coverage", "no line is known of what ran")
        return
    got = run("genhtml", "-q", "--ignore-errors", "source", "-o", path("genhtml"), file) if shutil.which("genhtml") else None
    if got:
        trace.check("genhtml renders the coverage", got.returncode == 0, got)
    with open(file, encoding="utf-8") as text:
        lcov = text.read()
    files = re.findall(r"^SF:(.*?)\n(.*?)^end_of_record", lcov, re.M | re.S)
    # perf shows "./a.c" as "a.c".
    hit = {(name, int(line)) for name, part in files for line, count in re.findall(r"^DA:(\d+),(\d+)", part, re.M) if int(count)}
    ran = {(os.path.normpath(row["file"]), row["line"]) for row in report("--by", "line", trace.file)
           if row.get("line") and row["self_instructions"] and os.path.normpath(row["file"]) in dict(files)}
    # A function counts at the line of its name; the bracket at the start of its code follows.
    named = {(name, int(line)) for name, part in files for line in re.findall(r"^FN:(\d+),", part, re.M)}
    follows = {(name, line + i) for name, line in named for i in (1, 2, 3)}
    trace.check("the lines that were hit are those of report", hit - ran <= named and ran - hit <= follows and len(hit & ran) > len(hit) / 2,
                sorted(hit - ran - named)[:6], sorted(ran - hit - follows)[:6])
    if got:
        summary = run("lcov", "--summary", file)
        match = re.search(r"lines\.*: +[\d.]+% \((\d+) of (\d+) lines\)", summary.stdout + summary.stderr)
        trace.check("lcov counts as many lines", match and int(match[1]) == len(hit), summary)
    file, _ = trace.export("coverage", "out.xml", "--format=cobertura")
    root = xml.etree.ElementTree.parse(file).getroot()
    trace.check("Cobertura has as many", int(root.get("lines-covered")) == len(hit), root.attrib)


def autofdo(trace):
    file, _ = trace.export("autofdo", "out.afdo")
    if not os.path.getsize(file):
        skip(f"{trace.name}: llvm-profdata reads the sample profile", "no line is known of what ran")
        return
    program = next((name for name in ("llvm-profdata", "llvm-profdata-14") if shutil.which(name)), None)
    if not program:
        skip(f"{trace.name}: llvm-profdata reads the sample profile", "there is no llvm-profdata")
        return
    got = run(program, "show", "--sample", "--all-functions", file)
    with open(file, encoding="utf-8") as text:
        written = dict(re.findall(r"^(\S+):(\d+):\d+$", text.read(), re.M))
    shown = dict(re.findall(r"^Function: (\S+?): (\d+)", got.stdout, re.M))
    trace.check("llvm-profdata shows each function with its samples", got.returncode == 0 and written and shown == written, got.stderr,
                *differences({name: int(count) for name, count in shown.items()}, {name: int(count) for name, count in written.items()}))


# ---- the page --------------------------------------------------------------------------------------------

def page(trace):
    file, said = trace.export("html", "out.html")
    if not CHROMIUM:
        skip(f"{trace.name}: the page in Chromium", "there is no chromium")
        return
    with Browser() as browser:
        browser.open("file://" + urllib.parse.quote(file))
        browser.until("document.documentElement.dataset.ready")
        text = browser.value("document.body.innerText")
        for key in "1234567":
            browser.key(key)
        trace.check("the page opens without complaints", not browser.complaints, *browser.complaints[:5])
        trace.check("it has the instructions of stats", f"{trace.stats['instructions']:,}" in text, text[:1500])
        numbers = [number for number in re.findall(r"left out: ([\d,]+)", said)]
        trace.check("it says what was left out", all(number in browser.value("document.body.textContent") for number in numbers), numbers)


CHECKS = (pprof, callgrind, folded, speedscope, timeline, ctf, sqlite, perf, coverage, autofdo, page)


def recorded():
    """Returns traces of Debian's programs, and of a program with debug information and inlined calls."""
    write("text", "".join(f"line {i} of a text that is packed, {i * i % 7919}\n" for i in range(60000)))
    write("hello.c", '#include <stdio.h>\nint main(void) { return printf("%d\\n", 1) < 0; }\n')
    programs = {"gzip": ("gzip", "-kc", path("text")),
                "python3": ("/usr/bin/python3", "-S", "-c", "import json; print(len(json.dumps([json.loads('[1, 2.5]') for i in range(300)])))"),
                "gcc": ("gcc", "-O1", "-c", path("hello.c"), "-o", path("hello.o")),
                "inlined": (os.path.join(PROGRAMS, "inlined"),),
                "threads": (os.path.join(PROGRAMS, "thread_names"),)}
    for name, command in programs.items():
        output(RECORD, "-q", "-f", "--embed=debug", "-o", name + ".ptl", "--", *command)
        yield path(name + ".ptl")


for one in sys.argv[1:] or recorded():
    subject = Trace(os.path.abspath(one))
    for test in CHECKS:
        if os.environ.get("PTL_EXPORTS", test.__name__) == test.__name__:
            test(subject)
plan()
