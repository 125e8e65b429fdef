#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump pprof and callgrind: go tool pprof and callgrind_annotate read them, and show what report says.
import collections
import gzip
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import perfetto_file
from export_test import by_name, hostile, record, report, stats, total_by_name
from profile_file import annotated, pprof, top
from scratch_test import DUMP, check, output, path, plan, read, run, skip, write

PROGRAMS = os.environ["PTL_PROGRAMS"]


# ---- pprof -----------------------------------------------------------------------------------------------

def with_go():
    rows = report("a.ptl")
    for index, member in (("instructions", "instructions"), ("time", "time")):
        shown = top(f"-sample_index={index}", "a.pb.gz")
        own = {name: flat for name, (flat, _) in shown.items() if flat}
        check(f"pprof: {index} of functions are those of report", own == by_name(rows, "self_" + member),
              collections.Counter(own) - collections.Counter(by_name(rows, "self_" + member)))
        expected = total_by_name(rows, "total_" + member)
        wrong = {name: (shown.get(name), value) for name, value in expected.items()
                 if name not in shown or shown[name][1] != value}
        check(f"pprof: {index} with what they called, too", not wrong, wrong)
    calls = {name: flat for name, (flat, _) in top("-sample_index=calls", "a.pb.gz").items() if flat}
    check("pprof: so are calls", calls == by_name(rows, "calls"), calls)
    # Of a C++ function pprof would leave out the arguments, and take those of one name for one function.
    names = set(top("-sample_index=calls", "inlined.pb.gz"))
    wanted = {row["function"] for row in report("--image", "inlined", "inlined.ptl") if "(" in (row["function"] or "")}
    check("pprof: functions of C++ have their arguments", wanted and wanted <= names, wanted - names)
    tags = pprof("-tags", "threads.pb.gz")
    expected = report("--by", "thread", "threads.ptl")
    check("pprof: threads are tags", all(re.search(r"^ *%d\.0 .*: %d$" % (row["self_instructions"], row["tid"]), tags, re.M)
                                         for row in expected) and "process: Total" in tags, tags, expected)
    pprof("-top", "hostile.pb.gz")
    text = pprof("-list", "^main$", "threads.pb.gz")
    source = os.path.join(os.environ["PTL_TESTDATA"], "programs", "thread_names.c")
    row = next(row for row in report("threads.ptl") if row["function"] == "main")
    with open(source, encoding="utf-8") as file:
        number = next(i for i, line in enumerate(file, 1) if line.startswith("int main("))
    check("pprof -list finds the source of a function, with what it took at the line where it begins",
          re.search(r"^ROUTINE =+ main in .*thread_names\.c$", text, re.M) and
          any(re.match(rf" +{row['self_instructions']} +{row['total_instructions']} +{line}:", one)
              for one in text.splitlines() for line in (number, number + 1)), text, row)
    lines = {row["line"]: row["self_instructions"] for row in report("--by", "line", "threads.ptl")
             if row["file"] and os.path.basename(row["file"]) == os.path.basename(source)}
    output(DUMP, "pprof", "--lines", "-f", "-o", "lines.pb.gz", "threads.ptl")
    text = pprof("-list", ".", "lines.pb.gz")
    text = text[text.index("thread_names.c"):]
    found = collections.Counter()
    for part in re.split(r"^ROUTINE", text, flags=re.M):
        if "thread_names.c\n" in part or part is text:
            for match in re.finditer(r"^ +(\d+) +\S+ +(\d+):", part, re.M):
                found[int(match[2])] += int(match[1])
    check("pprof --lines: each line of the source has what report says", found == lines and len(lines) > 5, found, lines)
    check("pprof --lines: functions still have what report says",
          {name: flat for name, (flat, _) in top("lines.pb.gz").items() if flat} == by_name(report("threads.ptl"),
                                                                                            "self_instructions"))


def messages():
    """Without Go: the message as its public schema says."""
    for name in ("a", "threads", "hostile", "inlined"):
        output(DUMP, "pprof", "-o", name + ".pb.gz", name + ".ptl")
    profile = perfetto_file.fields(gzip.decompress(read("a.pb.gz")))
    texts = [value.decode("utf-8") for value in perfetto_file.every(profile, 6)]
    sums = [0, 0, 0]
    for sample in perfetto_file.every(profile, 2):
        packed, at = perfetto_file.one(perfetto_file.fields(sample), 2), 0
        for i in range(3):
            value, at = perfetto_file.varint(packed, at)
            sums[i] += value
    check("pprof: samples add up to all", texts[0] == "" and sums[1] == stats("a.ptl")["instructions"] and
          sums[0] == sum(row["calls"] for row in report("a.ptl")), sums)
    check("pprof: a hostile name is text", any("alert('x')" in value.decode("utf-8") for value in perfetto_file.every(
        perfetto_file.fields(gzip.decompress(read("hostile.pb.gz"))), 6)))
    profile = perfetto_file.fields(gzip.decompress(read("inlined.pb.gz")))
    texts = [value.decode("utf-8") for value in perfetto_file.every(profile, 6)]
    functions = map(perfetto_file.fields, perfetto_file.every(profile, 5))
    names = [(texts[perfetto_file.one(one, 2)], texts[perfetto_file.one(one, 3)]) for one in functions]
    mangled = [(name, linked) for name, linked in names if linked.startswith("_Z")]
    plain = run("c++filt", input="\n".join(linked for _, linked in mangled)).stdout.splitlines()
    check("pprof: functions of C++ have the linker's names, too", mangled and [name for name, _ in mangled] == plain, mangled)
    same = {run(DUMP, "pprof", "-j", jobs, "a.ptl", text=False).stdout for jobs in "123"}
    check("pprof: any number of threads gives the same", len(same) == 1)


# ---- callgrind -------------------------------------------------------------------------------------------

def callgrind():
    for name in ("a", "hostile"):
        output(DUMP, "callgrind", "-o", "callgrind.out." + name, name + ".ptl")
    same = {run(DUMP, "callgrind", "-j", jobs, "a.ptl").stdout for jobs in "123"}
    check("callgrind: any number of threads gives the same", len(same) == 1)
    if not shutil.which("callgrind_annotate"):
        skip("callgrind_annotate shows what report says", "there is no callgrind_annotate (Debian's valgrind)")
        return
    rows = report("a.ptl")
    found, sums = annotated("callgrind.out.a")
    check("callgrind: the sums are those of report", sums == (sum(row["self_instructions"] for row in rows),
                                                             sum(row["self_time"] for row in rows)), sums)
    own = {name: values[0] for name, values in found.items() if values[0]}
    check("callgrind: functions have what report says", own == by_name(rows, "self_instructions"),
          collections.Counter(own) - collections.Counter(by_name(rows, "self_instructions")))
    found, _ = annotated("--inclusive=yes", "callgrind.out.a")
    expected = total_by_name(rows, "total_instructions")
    wrong = {name: (found.get(name), value) for name, value in expected.items() if found.get(name, (0,))[0] != value}
    check("callgrind: and so with what they called, but for recursion", len(wrong) < 5, wrong)
    output(DUMP, "callgrind", "--lines", "-o", "callgrind.out.lines", "threads.ptl")
    rows = report("threads.ptl")
    found, sums = annotated("callgrind.out.lines")
    check("callgrind --lines: the sums are those of report", sums == (sum(row["self_instructions"] for row in rows),
                                                                     sum(row["self_time"] for row in rows)), sums)
    text = run("callgrind_annotate", "--threshold=100", "--auto=yes", "callgrind.out.lines",
               os.path.join(os.environ["PTL_TESTDATA"], "programs", "thread_names.c")).stdout
    lines = {row["line"]: row["self_instructions"] for row in report("--by", "line", "threads.ptl")
             if row["file"] and os.path.basename(row["file"]) == "thread_names.c"}
    with open(os.path.join(os.environ["PTL_TESTDATA"], "programs", "thread_names.c"), encoding="utf-8") as file:
        source = file.read().splitlines()
    shown = [int(match[1].replace(",", "")) for match in re.finditer(
        r"^ *([\d,]+) \([ \d.]+%\) +\S+(?: \([ \d.]+%\))? {2}(?! *=>)(.*)$", text, re.M) if match[2].strip() and
             any(match[2].strip() == line.strip() for line in source)]
    check("callgrind_annotate shows at the lines of the source what report says",
          len(lines) > 5 and sorted(shown) == sorted(lines.values()), shown, lines)
    found, _ = annotated("callgrind.out.hostile")
    check("callgrind: a hostile name is text", any("alert('x')" in name for name in found), found)


write("text", "".join("line %d of a text that is packed\n" % i for i in range(300)))
record("a.ptl", "gzip", "-kc", path("text"))
record("threads.ptl", os.path.join(PROGRAMS, "thread_names"))
record("inlined.ptl", os.path.join(PROGRAMS, "inlined"))
hostile("hostile.ptl")
messages()
if shutil.which("go"):
    with_go()
else:
    skip("go tool pprof shows what report says", "there is no go (Debian's golang-go)")
callgrind()
plan()
