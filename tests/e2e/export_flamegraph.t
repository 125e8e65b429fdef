#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump flamegraph: folded stacks and pictures hold all that ran, by path; and where exports write.
import os
import re
import signal
import stat
import subprocess
import sys
import urllib.parse
import xml.dom.minidom

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from export_test import BROWSER, browse, by_name, hostile, record, report, stats
from scratch_test import DUMP, check, output, path, plan, read, run, skip, write

COUNTED = os.path.join(os.environ["PTL_PROGRAMS"], "counted")


def folded(*arguments):
    """{path: number}"""
    found = {}
    for line in output(DUMP, "flamegraph", "--folded", *arguments).splitlines():
        names, number = line.rsplit(" ", 1)
        found[tuple(names.split(";"))] = int(number)
    return found


def paths():
    stacks = folded("a.ptl")
    instructions = stats("a.ptl")["instructions"]
    check("every instruction is in one path", sum(stacks.values()) == instructions, instructions, stacks)
    ran = {}
    for names, number in stacks.items():
        if len(names) > 1:
            ran[names[-1]] = ran.get(names[-1], 0) + number
    check("functions have what report says", ran == by_name(report("a.ptl"), "self_instructions"), ran)
    check("paths begin with the program", {names[0] for names in stacks} == {"counted"}, stacks)
    check("main calls thrice", any(names[-2:] == ("main", "thrice") for names in stacks), stacks)
    by_time = folded("--by", "time", "a.ptl")
    rows = report("--by", "process", "a.ptl")
    check("times are those of report", sum(by_time.values()) == sum(row["self_time"] for row in rows), by_time, rows)
    reverse = folded("--reverse", "a.ptl")
    turned = {(names[0], *reversed(names[1:])): number for names, number in stacks.items() if number}
    check("reversed, paths are the same the other way round", reverse == turned, set(reverse) ^ set(turned))
    flat = folded("--depth", "1", "a.ptl")
    check("a limited depth loses nothing", sum(flat.values()) == instructions and
          all(len(names) <= 2 for names in flat), flat)
    got = run(DUMP, "flamegraph", "--folded", "--depth", "1", "a.ptl")
    check("what is too deep is named", "left out" in got.stderr and "calls too deep" in got.stderr, got.stderr)
    per_thread = folded("--per", "thread", "a.ptl")
    check("a path for each thread", sum(per_thread.values()) == instructions and
          all("/" in names[0] for names in per_thread), per_thread)
    same = {run(DUMP, "flamegraph", "--folded", "-j", jobs, "a.ptl").stdout for jobs in "123"}
    check("any number of threads gives the same", len(same) == 1)


def two_traces():
    lines = output(DUMP, "flamegraph", "--folded", "a.ptl", "b.ptl").splitlines()
    first, second = folded("a.ptl"), folded("b.ptl")
    both = {tuple(line.rsplit(" ", 2)[0].split(";")): tuple(map(int, line.rsplit(" ", 2)[1:])) for line in lines}
    wrong = [names for names in set(first) | set(second)
             if both.get(names, (0, 0)) != (first.get(names, 0), second.get(names, 0))]
    check("two traces have a number each", not wrong, wrong[:5])
    got = run(DUMP, "flamegraph", "--folded", "a.ptl", "b.ptl", "a.ptl")
    check("three are too many", got.returncode == 2 and "two traces" in got.stderr, got)


def output_files():
    whole = output(DUMP, "flamegraph", "--folded", "a.ptl")
    got = run(DUMP, "flamegraph", "--folded", "-o", "out.txt", "a.ptl")
    check("-o writes the same to a file", got.returncode == 0 and not got.stdout and read("out.txt").decode() == whole, got)
    check("which only its owner can read", stat.S_IMODE(os.stat(path("out.txt")).st_mode) == 0o600)
    write("out.txt", "mine")
    got = run(DUMP, "flamegraph", "--folded", "-o", "out.txt", "a.ptl")
    check("a file that exists stays", got.returncode == 4 and read("out.txt") == b"mine" and "-f replaces it" in got.stderr, got)
    got = run(DUMP, "flamegraph", "--folded", "-f", "-o", "out.txt", "a.ptl")
    check("--force replaces it", got.returncode == 0 and read("out.txt").decode() == whole, got)
    before = read("a.ptl")
    os.link(path("a.ptl"), path("same.ptl"))
    for name in ("a.ptl", "same.ptl"):
        got = run(DUMP, "flamegraph", "--folded", "-f", "-o", name, "a.ptl")
        check(f"the trace is no output: {name}", got.returncode == 2 and read("a.ptl") == before, got)
    got = run(DUMP, "flamegraph", "--folded", "-f", "-o", "b.ptl", "a.ptl", "b.ptl")
    check("nor is the second one", got.returncode == 2, got)
    got = run(DUMP, "flamegraph", "--folded", "-o", "none.txt", "--pid", "1", "a.ptl")
    check("a failure leaves no file", got.returncode == 2 and not os.path.exists(path("none.txt")), got)
    got = run(DUMP, "flamegraph", "--folded", "-o", "none/none.txt", "a.ptl")
    check("a folder that is not there is reported", got.returncode == 4 and "none/none.txt" in got.stderr, got)
    check("nothing temporary is left", not [name for name in os.listdir(path("")) if ".tmp-" in name], os.listdir(path("")))
    got = run(DUMP, "flamegraph", "--folded", "-o", "-", "a.ptl")
    check("- is standard output", got.stdout == whole and not os.path.exists(path("-")), got)


def interrupted():
    os.mkfifo(path("in"))
    out = path("stopped.txt")
    # The second trace never comes, so that the command waits with its output open.
    process = subprocess.Popen([DUMP, "flamegraph", "--folded", "-o", out, path("a.ptl"), path("in")])
    while process.poll() is None and not any(name.startswith("stopped.txt.tmp-") for name in os.listdir(path(""))):
        pass
    process.send_signal(signal.SIGTERM)
    check("an interrupt ends it", process.wait(60) == -signal.SIGTERM)
    check("and leaves nothing", not [name for name in os.listdir(path("")) if name.startswith("stopped")],
          os.listdir(path("")))


def frames(document):
    """[(name, depth, number, number before)] of a picture"""
    found = []
    for group in document.getElementsByTagName("g"):
        if group.hasAttribute("data-d"):
            title = group.getElementsByTagName("title")[0].firstChild.data
            found.append((title.split("\n")[0], int(group.getAttribute("data-d")), int(group.getAttribute("data-v")),
                          int(group.getAttribute("data-w") or 0)))
    return found


def picture():
    got = run(DUMP, "flamegraph", "-o", "a.svg", "a.ptl")
    stacks = folded("a.ptl")
    text = read("a.svg").decode("utf-8")
    found = frames(xml.dom.minidom.parseString(text))
    whole = sum(stacks.values())
    totals, trail = {}, []
    for name, depth, number, _ in found:
        trail[depth:] = [name]
        totals[tuple(trail[1:])] = number
    wrong = [names for names, number in totals.items()
             if number != sum(value for other, value in stacks.items() if other[:len(names)] == names)]
    check("frames are as wide as their paths", not wrong and len(totals) > 10, wrong, totals)
    wide = {names[:i] for names in stacks for i in range(1, len(names) + 1)
            if sum(value for other, value in stacks.items() if other[:i] == names[:i]) * 11800 > whole * 1.001}
    check("all that is wide enough is there", wide <= set(totals), wide - set(totals))
    left = re.search("left out: ([0-9,]+) frames", text)
    check("the picture and a message say what is left out", bool(left) == ("left out" in got.stderr) and
          (not left or left.group(0) in got.stderr), got.stderr, left)
    check("nothing is loaded from elsewhere", not re.search(r"(href|src)\s*=|url\(|@import", text))
    output(DUMP, "flamegraph", "-o", "two.svg", "a.ptl", "b.ptl")
    before = frames(xml.dom.minidom.parseString(read("two.svg").decode()))[0]
    check("two traces: widths are of the second", before[2:] == (stats("b.ptl")["instructions"], whole), before)
    only_one()


def only_one():
    """Paths that one of two traces has alone: drawn with the widths of that one, and counted with those of the other."""
    record("c.ptl", "env", COUNTED, "0")
    first, second = folded("a.ptl"), folded("c.ptl")
    for which, mine, other in (("first", first, second), ("second", second, first)):
        got = run(DUMP, "flamegraph", "--widths", which, "a.ptl", "c.ptl")
        found, trail, shown = frames(xml.dom.minidom.parseString(got.stdout)), [], {}
        for name, depth, *numbers in found:
            trail[depth:] = [name]
            shown[tuple(trail[1:])] = tuple(numbers)
        alone = {names: value for names, value in mine.items() if not any(one[:len(names)] == names for one in other)}
        wide = [names for names, value in alone.items() if value * 11800 > sum(mine.values()) * 1.001]
        check(f"paths of the {which} trace alone are in the picture with its widths",
              wide and all(shown[names][0] >= alone[names] and shown[names][1] == 0 for names in wide), wide[:3])
        missing = sum(value for names, value in other.items() if not any(one[:len(names)] == names for one in mine))
        gone = re.search(r"paths that only the (\w+) trace has, ([0-9.]+ ?%) of it \(--widths (\w+) shows them\)", got.stdout)
        check("and how much only the other one has is said", gone and {gone[1], gone[3]} == {"first", "second"} - {which} and
              gone[0] in got.stderr and abs(float(gone[2].strip("% ")) - 100 * missing / sum(other.values())) < 0.1, gone, missing,
              got.stderr)
    got = run(DUMP, "flamegraph", "--widths", "first", "a.ptl")
    check("--widths needs two traces", got.returncode == 2 and "second trace" in got.stderr, got)


def hostile_names():
    hostile("hostile.ptl")
    output(DUMP, "flamegraph", "-o", "hostile.svg", "hostile.ptl")
    text = read("hostile.svg").decode()
    # What a parser refuses would raise.
    document = xml.dom.minidom.parseString(text)
    check("a hostile name is no markup", len(document.getElementsByTagName("script")) == 1 and
          any("alert('x')" in name for name, *_ in frames(document)), text[:3000])
    lines = output(DUMP, "flamegraph", "--folded", "hostile.ptl").splitlines()
    found = [line for line in lines if "alert" in line]
    check("nor does it end a folded line", found and all(re.fullmatch(r"hostile(;[^;]+)* \d+", line) for line in found), found)


def in_browser():
    name = "pictures in a browser: search, reverse, zoom"
    if not BROWSER:
        skip(name, "there is no chromium")
        return
    url = "file://" + urllib.parse.quote(path("a.svg"))
    page = browse(url + "#search=" + urllib.parse.quote("^main$"))
    if page is None:
        skip(name, "chromium does not start here")
        return
    stacks = folded("a.ptl")
    whole = sum(stacks.values())
    within = sum(number for names, number in stacks.items() if "main" in names)
    said = re.search(">found: ([0-9.]+) %<", page)
    check("search adds up what it finds", said and abs(float(said.group(1)) - 100 * within / whole) < 0.01, said, within, whole)
    drawn = frames(xml.dom.minidom.parseString(read("a.svg").decode()))
    titles = re.findall("<title>([^<\n]*)", browse(url + "#zoom=main"))
    check("zoom leaves what calls it and what it calls", "main" in titles and "_dl_start" not in titles and "_start" in titles and
          any(name == "_dl_start" for name, *_ in drawn), titles)
    page = browse(url + "#reverse")
    first = re.search(r"<title>counted\n([0-9,]+) instructions", page)
    check("reversed, the whole is the same", first and int(first.group(1).replace(",", "")) == whole, first)
    page = browse("file://" + urllib.parse.quote(path("hostile.svg")) + "#search=alert")
    check("a hostile name does nothing", page and ">found: " in page and page.count("<script") == 1, page)


for name, rounds in (("a.ptl", "300"), ("b.ptl", "500")):
    record(name, COUNTED, rounds, "9999")
for test in (paths, two_traces, output_files, interrupted, picture, hostile_names, in_browser):
    test()
plan()
