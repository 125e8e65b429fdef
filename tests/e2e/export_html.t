#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump html: what is in the page, without a browser: valid, safe, and with the numbers of other commands.
import base64
import hashlib
import html.parser
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import perfetto_file
from export_test import SWITCHES, hostile, record, report, stats, switched
from scratch_test import DUMP, check, output, path, plan, read, run, write


class Page(html.parser.HTMLParser):
    """The elements of a page as a browser's parser takes them: data by id, the script, the style, the policy."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.texts, self.open, self.policy, self.attributes = {}, None, "", []
        self.feed(text)
        self.data = {name[5:]: json.loads(words) for name, words in self.texts.items() if name.startswith("data-")}

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.attributes += [(tag, name) for name in attrs]
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if tag in ("script", "style", "title"):
            self.open = attrs.get("id", tag)
            self.texts[self.open] = ""

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open] += data


def page_of(*arguments):
    return Page(output(DUMP, "html", *arguments))


def varints(data):
    value = shift = 0
    for byte in base64.b64decode(data, validate=True):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def slices(page):
    """[(start, duration, level, function, flags, instructions)] of all tracks."""
    names = [None] + [row[0] for row in page.data["functions"]["rows"]]
    result = []
    for track in page.data["timeline"]["tracks"]:
        numbers, time = list(varints(track["data"])), 0
        for i in range(0, len(numbers), 6):
            time += numbers[i]
            result.append((time, numbers[i + 1], numbers[i + 2], names[numbers[i + 3]], numbers[i + 4], numbers[i + 5]))
        if len(numbers) != 6 * track["count"]:
            raise ValueError("a track has another size than it says")
    return result


def calls(*arguments):
    """The same of `calls`: (start, duration, depth, instructions) of each call."""
    rows = [json.loads(line) for line in output(DUMP, "calls", "--no-fold", "--json", *arguments).splitlines()]
    return sorted((row["time"], row["duration"], row["depth"], row["instructions"]) for row in rows if "function" in row)


def contents(page):
    rows = page.data["functions"]["rows"]
    columns = page.data["functions"]["columns"]
    judge = report("a.ptl")
    members = ("calls", "total_instructions", "self_instructions", "total_time", "self_time")
    mine = [[row[columns.index(member)] for member in members] + [row[1] or None, row[2]] for row in rows]
    theirs = [[row[member] for member in members] + [row["image"], row["address"]] for row in judge]
    check("functions are those of report, in its order", mine == theirs, mine[:3], theirs[:3])
    summary = page.data["summary"]
    check("instructions are those of stats", summary["instructions"] == stats("a.ptl")["instructions"], summary)
    paths = page.data["paths"]
    check("paths have all instructions", sum(row[3] for row in paths) == summary["instructions"])
    check("each path is behind its caller", all(row[0] <= i for i, row in enumerate(paths)))
    shown, judged = slices(page), calls("a.ptl")
    check("calls are those of calls, with times, depth and instructions",
          sorted((start, took, level, count) for start, took, level, _, _, count in shown) == judged, len(shown), len(judged))
    check("there are as many as the summary says", summary["calls"] == len(shown), summary["calls"])
    counters = page.data["timeline"]["counters"]
    numbers = [list(varints(one["data"])) for one in counters]
    packets = sum(row["bytes"] for row in json.loads(output(DUMP, "info", "--json", "a.ptl"))["streams"] if row["kind"] == "pt")
    check("counters of threads add up to all instructions, and all bytes of Intel PT but those without a time",
          sum(sum(one[::2]) for one in numbers) == summary["instructions"] and
          0.9 * packets <= sum(sum(one[1::2]) for one in numbers) <= packets, packets,
          [(sum(one[::2]), sum(one[1::2])) for one in numbers], summary)
    check("each has as many spans as it says, within the bound",
          [len(one) for one in numbers] == [2 * one["count"] for one in counters] and
          all(0 < one["count"] <= 1024 for one in counters), counters)
    processes = [json.loads(line) for line in output(DUMP, "processes", "--json", "a.ptl").splitlines()]
    check("processes are those of processes", sorted((one["pid"], one["command_line"]) for one in processes) ==
          sorted((one["pid"], one["command"]) for one in page.data["processes"]))
    events = [json.loads(line) for line in output(DUMP, "events", "--json", "a.ptl").splitlines()]
    check("events are those of events", [(row[0], row[2]) for row in page.data["events"]] ==
          [(one["time"], one.get("pid")) for one in events])


def annotated(page):
    one = next(source for source in page.data["sources"] if source["name"] == "work")
    judge = json.loads(output(DUMP, "annotate", "--json", "work", "a.ptl"))
    check("instructions of a function are those of annotate",
          [(row[0], row[1], row[2]) for row in one["instructions"]] ==
          [(row["address"], row["text"], row["count"]) for row in judge["instructions"]], one["instructions"][:3])
    lines = {row[0]: row for file in one["files"] for row in file["lines"]}
    check("lines have their counts", {row["line"]: row["count"] for row in judge["lines"]} ==
          {number: row[1] for number, row in lines.items() if row[1] is not None}, lines)
    check("lines have their words", any("sum += i" in (row[3] or "") for row in lines.values()), lines)


def safety(page, text):
    script, style = (base64.b64encode(hashlib.sha256(page.texts[name].encode()).digest()).decode() for name in ("script", "style"))
    check("the policy allows this script and style alone", page.policy == f"default-src 'none'; script-src 'sha256-{script}'; "
          f"style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'", page.policy)
    check("nothing comes from elsewhere", not re.search("https?:", text))
    check("no element has a style or a handler of its own",
          not [name for _, name in page.attributes if name == "style" or name.startswith("on")])
    check("no file's text is taken for markup", not re.search("innerHTML|outerHTML|insertAdjacent|document.write|\\beval\\(|new Function",
                                                               page.texts["script"]))


def limits():
    whole = page_of("a.ptl")
    got = run(DUMP, "html", "--max-slices", "50", "--max-functions", "10", "--max-paths", "20", "--max-events", "3", "--max-sources", "1",
              "a.ptl")
    small = Page(got.stdout)
    kept, every = slices(small), slices(whole)
    check("--max-slices keeps the longest", sorted(one[1] for one in kept) == sorted(one[1] for one in every)[-50:], len(kept))
    check("other limits hold", [len(small.data["functions"]["rows"]), len(small.data["events"]), len(small.data["sources"])] ==
          [10, 3, 1] and 0 < len(small.data["paths"]) <= 20)
    check("paths that are left out are part of their callers",
          sum(row[3] for row in small.data["paths"]) == whole.data["summary"]["instructions"])
    words = small.data["left-out"] or ""
    check("what is left out is said in the page", f"{len(every) - 50:,} calls" in words and "functions" in words and "events" in words, words)
    check("and on standard error", got.returncode == 0 and words in got.stderr, got.stderr)


def size():
    """Losses that take 6 MB in a page, and a command line that takes 600 KB."""
    cause = "<" * 1000
    write("large.sample", "\n".join([
        "machine source=qemu software=1 clock=4 start=1000 end=9000 timing=1",
        *(f'loss kind=1 count={i} pid=1 tid=1 cause="{cause}"' for i in range(1000)),
        "process start pid=1 time=1000 key=1 image=/bin/a command=\"" + "<" * 100000 + "\"", ""]))
    output(os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample"), path("large.sample"), path("large.ptl"))
    got = run(DUMP, "html", "--max-size", "1M", "large.ptl")
    page = Page(got.stdout)
    kept, said = len(page.data["losses"]["losses"]), page.data["left-out"] or ""
    check("--max-size holds", got.returncode == 0 and 20000 < len(got.stdout.encode()) <= 1 << 20, len(got.stdout), got.stderr)
    check("what does not fit is left out, and said", 0 < kept < 1000 and f"{1000 - kept:,} losses of the list" in said and
          said in got.stderr and not page.data["processes"], kept, said)
    got = run(DUMP, "html", "large.ptl")
    check("by default it has room", len(Page(got.stdout).data["losses"]["losses"]) == 1000 and "left out" not in got.stderr, got.stderr)
    check("the bound is at least 1M", run(DUMP, "html", "--max-size", "1000", "large.ptl").returncode == 2)


def switches():
    switched("switched.ptl")
    page = page_of("switched.ptl")
    found = {}
    for one in page.data["timeline"]["cpus"]:
        numbers, time = list(varints(one["data"])), 0
        for i in range(0, len(numbers), 3):
            time += numbers[i]
            found.setdefault(one["cpu"], []).append((page.data["timeline"]["running"][numbers[i + 2]], time, time + numbers[i + 1]))
    expected = {0: [("p7 7/7", 1000, 3000), ("p8 8/8", 3000, 4500)], 1: [("p8 8/8", 1400, 2900), ("p7 7/7", 3100, 6000)]}
    check("CPUs have what ran on them", found == expected and len(SWITCHES) == 7, found)
    output(DUMP, "timeline", "-o", "switched.pftrace", "switched.ptl")
    tracks = perfetto_file.read(read("switched.pftrace")).values()
    check("as they have in the timeline", {int(track.name[4:]): [tuple(what[:3]) for what in track.slices] for track in tracks
                                          if track.name.startswith("CPU ")} == expected)
    activities = [row[5] for row in page.data["events"] if len(row) > 5]
    check("events have a number for their activity", activities == [0, 0, 0, 1], activities)
    shown = page_of("--cpu", "1", "switched.ptl").data["timeline"]["cpus"]
    check("--cpu holds for them", [one["cpu"] for one in shown] == [1], shown)


def hostility():
    hostile("hostile.ptl")
    text = output(DUMP, "html", "hostile.ptl")
    page = Page(text)
    names = [row[0] for row in page.data["functions"]["rows"]]
    check("a hostile name is a name", any("alert('x')" in name and "</title>" in name for name in names), names[:5])
    check("and nothing else", text.count("<script") == page_count(text) and "</title><script>" not in text)


def page_count(text):
    """Script elements that the page has by itself: one for each kind of data, and its own."""
    return len(re.findall('<script type="application/json" id="data-[a-z0-9-]+">', text)) + 1


def two():
    record("b.ptl", path("work"), "30")
    text = output(DUMP, "html", "a.ptl", "b.ptl")
    page = Page(text)
    rows = {row[0]: row for row in page.data["functions-2"]["rows"]}
    judge = {row["function"]: row for row in report("b.ptl")}
    check("the second trace is there, too", rows["work"][3:6] == [judge["work"][name] for name in
                                                                  ("calls", "total_instructions", "self_instructions")])
    alone = Page(output(DUMP, "html", "b.ptl"))
    check("each part of the page has both traces", page.data["summary-2"]["file"] == "b.ptl" and
          {f"{name}-2" for name in alone.data if name != "left-out"} <= set(page.data), sorted(page.data))
    for name in "processes", "losses", "functions", "paths", "timeline", "events", "sources":
        check(f"{name} of the second trace are those of a page of its own", page.data[f"{name}-2"] == alone.data[name])
    check("three are refused", run(DUMP, "html", "a.ptl", "b.ptl", "a.ptl").returncode == 2)


def opening():
    write("browser", "#!/bin/sh\nprintf '%s\\n' \"$@\" >seen\n")
    os.chmod(path("browser"), 0o755)
    place = path("a folder")
    os.mkdir(place)
    env = {**os.environ, "TMPDIR": place, "BROWSER": path("browser")}
    name = output(DUMP, "open", "a.ptl", env=env).rstrip("\n")
    check("open writes the page, and opens it", read("seen").decode() == name + "\n" and name.startswith(place) and
          name.endswith(".html") and read(name).decode() == whole_text, name)
    check("it is for its owner alone", os.stat(name).st_mode & 0o777 == 0o600)
    name = json.loads(output(DUMP, "open", "--json", "a.ptl", env=env))["page"]
    check("--json names it", read("seen").decode() == name + "\n")
    got = run(DUMP, "open", "a.ptl", env={**env, "BROWSER": "/nowhere/browser", "PATH": place})
    check("without a browser it says where the page is", got.returncode == 4 and got.stdout.strip() in got.stderr and
          "no browser" in got.stderr and os.path.exists(got.stdout.strip()), got)
    before = len(os.listdir(place))
    got = run(DUMP, "open", "--pid", "1", "a.ptl", env=env)
    check("no page is left of what fails", got.returncode == 2 and len(os.listdir(place)) == before, got)


write("work.c", """#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void work(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		work(i);
	return 0;
}
""")
output("gcc", "-g", "-O1", "-o", path("work"), path("work.c"))
record("a.ptl", path("work"), "100")
whole_text = output(DUMP, "html", "a.ptl")
whole_page = Page(whole_text)
contents(whole_page)
annotated(whole_page)
safety(whole_page, whole_text)
limits()
size()
switches()
hostility()
two()
opening()
output(DUMP, "html", "-o", "a.html", "a.ptl")
check("-o writes the same", read("a.html").decode() == whole_text)
same = {run(DUMP, "html", "-j", jobs, "a.ptl").stdout for jobs in "13"}
check("any number of threads gives the same", len(same) == 1)
plan()
