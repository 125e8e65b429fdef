#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The page of ptl-dump html in a browser: nothing fails, search finds, zoom changes what is drawn, a million calls are there
# soon, hostile names do nothing. Skipped where there is no chromium: make check-browser installs it.
import hashlib
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from browser_test import CHROMIUM, Browser, Failed
from export_test import HOSTILE, hostile, record, report, switched
from scratch_test import DUMP, check, output, path, plan, read, skip, write

PROGRAM = """#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void add(int n) { sum += n; }
__attribute__((noinline)) void many(int n) { for (int i = 0; i < n; i++) add(i); }
int main(int argc, char **argv) { many(atoi(argv[1])); return argc == 100; }
"""
VIEWS = ["summary", "timeline", "functions", "tree", "flame", "source", "events", "gaps"]


def url(name, link=""):
    return "file://" + urllib.parse.quote(path(name)) + (link and "#" + link)


def page(browser, name, link=""):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(url(name, link))
    browser.until("document.documentElement?.dataset.ready")
    browser.frame()


def drawn(browser, canvas="time-canvas"):
    """What a canvas shows, as a hash of its pixels."""
    browser.frame()
    return hashlib.sha256(browser.value(f"document.getElementById('{canvas}').toDataURL()").encode()).hexdigest()


def shown(browser):
    return browser.value("document.documentElement.dataset.view")


def views(browser):
    page(browser, "a.html")
    seen = []
    for i in range(len(VIEWS)):
        browser.key(str(i + 1))
        seen.append(shown(browser))
    check("keys lead to all views", seen == VIEWS, seen)
    browser.key("t")
    browser.key("2")
    browser.key("4")
    check("nothing is complained of", not browser.complaints, browser.complaints)
    check("nothing but the file is asked for", [one for one in browser.requests if not one.startswith("about:")] == [url("a.html")],
          browser.requests)
    browser.key("3")
    rows = browser.value("[...document.querySelectorAll('#view-functions tbody tr')].map((row) => "
                         "[...row.cells].map((cell) => cell.textContent))")
    judge = report("a.ptl")
    check("the first function is that of report", rows[0][0] == judge[0]["function"] and
          rows[0][2] == f"{judge[0]['calls']:,}" and rows[0][3] == f"{judge[0]['self_instructions']:,}", rows[0], judge[0])
    browser.value("document.querySelector('#view-functions th:nth-child(3) button').click()")
    most = browser.value("document.querySelector('#view-functions tbody tr').cells[2].textContent")
    check("a heading sorts", most == f"{max(row['calls'] for row in judge):,}", most)


def searching(browser):
    page(browser, "a.html", "view=functions")
    browser.key("/")
    browser.type("man")
    browser.key("Enter")
    names = browser.value("[...document.querySelectorAll('#view-functions tbody tr')].map((row) => row.cells[0].textContent)")
    judge = sorted(row["function"] for row in report("a.ptl") if row["function"] and "man" in row["function"].lower())
    check("search finds what report has", sorted(names) == judge and "many" in names, names, judge)
    check("and marks it", browser.value("document.querySelectorAll('#view-functions td:first-child mark').length") == len(judge))
    browser.key("2")
    marked = drawn(browser)
    browser.key("n")
    check("the next call is chosen", browser.value("document.getElementById('time-detail').textContent").startswith("many"))
    browser.value("searchFor('')")
    browser.key("0")
    browser.key("Escape")
    check("what is found is seen in the timeline", drawn(browser) != marked)
    browser.value("searchFor('no such function')")
    check("what is not there is not found", browser.value("document.getElementById('found').textContent").startswith("0 functions"))


def zooming(browser):
    page(browser, "a.html", "view=timeline")
    check("counters are drawn above the calls of their thread", 0 < int(browser.value(
        "document.getElementById('time-canvas').dataset.graphed")) <= 1024)
    told = browser.value("countersAt(document.getElementById('time-canvas').clientWidth / 2, RULER + HEAD + 5)")
    check("and said where the pointer is", told and told[0].endswith("instructions/µs") and told[1].endswith("PT bytes/ms"), told)
    span = "(({from, to}) => [Number(from), Number(to)])(document.getElementById('time-canvas').dataset)"
    whole, first = drawn(browser), browser.value(span)
    browser.key("w")
    nearer, second = drawn(browser), browser.value(span)
    check("zoom changes what is drawn", nearer != whole and second[0] > first[0] and second[1] < first[1], first, second)
    browser.key("d")
    check("so does a step", drawn(browser) not in (nearer, whole))
    browser.key("0")
    check("and all is back", drawn(browser) == whole and browser.value(span) == first)
    call = next(row for row in map(json.loads, output(DUMP, "calls", "--json", "--no-fold", "a.ptl").splitlines())
                if row.get("function") == "many")
    page(browser, "a.html", "view=timeline&function=many")
    got = browser.value(span)
    check("a link leads to a function's call", got[0] < call["time"] and got[1] > call["time"] + call["duration"] and
          browser.value("document.getElementById('time-detail').textContent").startswith("many"), got, call)
    page(browser, "a.html", f"view=timeline&from={call['time']}&to={call['time'] + 1000}")
    check("a link leads to a time", browser.value(span) == [call["time"], call["time"] + 1000], browser.value(span))
    browser.until("location.hash.includes('from=%d')" % call["time"])
    page(browser, "a.html", "view=flame")
    before = drawn(browser, "flame-canvas")
    for _ in range(6):
        browser.key("ArrowDown")
    check("the flame graph zooms", drawn(browser, "flame-canvas") != before)
    browser.key("0")
    check("and goes back", drawn(browser, "flame-canvas") == before)
    check("nothing was complained of", not browser.complaints, browser.complaints)


def looks(browser):
    for scheme in ("dark", "light"):
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page(browser, "a.html")
        check(f"{scheme} where the desktop is", browser.value("document.documentElement.dataset.theme") == scheme)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    check("what is printed has no buttons", browser.value("getComputedStyle(document.getElementById('tabs')).display") == "none")
    browser.ask("Emulation.setEmulatedMedia", media="")


def hostility(browser):
    page(browser, "hostile.html")
    for i in range(len(VIEWS)):
        browser.key(str(i + 1))
    browser.value("functions().slice(0, 50).forEach((row) => showFunction(row.number))")
    browser.value("searchFor('<script>')")
    text = browser.value("document.getElementById('view-functions').textContent")
    check("a hostile name is shown", "alert('x')" in text and "</title>" in text, text[:300])
    own = browser.value("document.querySelectorAll('script').length")
    check("and makes no element", own == 1 + browser.value("document.querySelectorAll('script[type]').length") and
          browser.value("document.querySelectorAll('main script, main img, header script').length") == 0)
    check("and does nothing", not browser.complaints, browser.complaints)
    browser.value("{ const one = document.createElement('script'); one.textContent = 'window.evil = 1'; document.body.append(one); }")
    check("the policy lets no other script run", browser.value("window.evil === undefined") and
          any("Content Security Policy" in one for one in browser.complaints), browser.complaints)


def million(browser):
    """Processor time of the page's thread, so that it does not depend on what else the machine does."""
    record("million.ptl", path("many"), "1000000")
    output(DUMP, "html", "-o", "million.html", "million.ptl")
    browser.ask("Performance.enable", timeDomain="threadTicks")
    page(browser, "million.html", "view=timeline")
    metrics = {one["name"]: one["value"] for one in browser.ask("Performance.getMetrics")["metrics"]}
    total = browser.value("tracks().reduce((sum, track) => sum + track.count, 0)")
    check("a million calls are there", total == 1000000, total)
    check("within 3 s", metrics["TaskDuration"] < 3, metrics["TaskDuration"])
    took = []
    for _ in range(12):
        browser.key("w")
        took.append(float(browser.value("document.getElementById('time-canvas').dataset.took")))
    took.sort()
    check("a step is drawn in 50 ms", took[len(took) // 2] < 50, took)
    seen = int(browser.value("document.getElementById('time-canvas').dataset.drawn"))
    check("what is drawn goes by the window", 0 < seen < 40000, seen)
    print(f"# {len(read('million.html')):,} bytes; {metrics['TaskDuration']:.2f} s to load; {took[len(took) // 2]:.1f} ms a step")


def two(browser):
    record("b.ptl", path("many"), "40")
    output(DUMP, "html", "-o", "two.html", "a.ptl", "b.ptl")
    for name in "a", "b":
        output(DUMP, "html", "-o", f"{name}-alone.html", f"{name}.ptl")
    page(browser, "two.html", "view=diff")
    rows = browser.value("[...document.querySelectorAll('#view-diff tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    one = next(row for row in rows if row[0] == "add")
    check("what differs is shown", one[5:8] == ["−20", "60", "40"], rows[:4])
    calls = "[...document.querySelectorAll('#view-functions tbody tr')].find((row) => row.cells[0].textContent === 'add').cells[2].textContent"
    said = "document.getElementById('side').textContent"
    for side, name, number in ("A", "a.ptl", "60"), ("B", "b.ptl", "40"):
        page(browser, "two.html", f"view=functions&side={side}")
        check(f"side {side}: functions are of its trace, and the page says so",
              (browser.value(calls), browser.value(said)) == (number, f"{side}: {name}"), browser.value(calls), browser.value(said))
        for i in range(len(VIEWS)):
            browser.key(str(i + 1))
            check(f"side {side}: the view {VIEWS[i]} says which trace it shows", name in browser.value(said), browser.value(said))
        tracks = browser.value("tracks().map((track) => track.title)")
        page(browser, f"{name[0]}-alone.html")
        check(f"side {side}: its timeline is that of its page", tracks == browser.value("tracks().map((track) => track.title)"), tracks)
    page(browser, "two.html", "view=functions")
    browser.value("document.querySelectorAll('#sides button')[1].click()")
    browser.until("document.documentElement?.dataset.ready && document.getElementById('side')?.textContent === 'B: b.ptl'")
    check("a button shows the other trace", browser.value(calls) == "40" and shown(browser) == "functions")
    page(browser, "two.html", "view=flame")
    wide = drawn(browser, "flame-canvas")
    browser.value("{ const one = document.getElementById('flame-side'); one.value = '0'; one.dispatchEvent(new Event('change')); }")
    check("widths of the flame graph are of B, and can be of A", drawn(browser, "flame-canvas") != wide)
    check("nothing is complained of in two traces", not browser.complaints, browser.complaints)


def switching(browser):
    switched("switched.ptl")
    output(DUMP, "html", "-o", "switched.html", "switched.ptl")
    page(browser, "switched.html", "view=timeline")
    titles = browser.value("tracks().map((track) => track.title)")
    check("CPUs are rows above threads", titles == ["CPU 0", "CPU 1", "p7 (7)", "p8 (8)"], titles)
    data = "document.getElementById('time-canvas').dataset"
    check("events are marks, and those of an activity are joined",
          (browser.value(data + ".marks"), browser.value(data + ".flows")) == ("8", "2"), browser.value(f"({{...{data}}})"))
    call = browser.value("describeCall({track: 0, level: 0, at: 1})")
    check("what ran on a CPU has its name and time", call[0] == "p8 8/8" and call[1] == "1.500 µs", call)
    browser.value("timelineChoose({track: 0, level: 0, at: 1})")
    before = drawn(browser)
    browser.key("Enter")
    check("it is no function", shown(browser) == "timeline" and drawn(browser) == before)
    where = browser.value("eventPlace({width: document.getElementById('time-canvas').clientWidth}, eventFlows()[0][0])")
    found = browser.value(f"describeEvent(eventAt({where[0]}, {where[1] - 2}))")
    check("a mark says what it is of", found[2] == "at 0.001700 ms" and found[3] == "p7 (7)", found)
    check("nothing is complained of", not browser.complaints, browser.complaints)


def all_tests():
    write("many.c", PROGRAM)
    output("gcc", "-g", "-O1", "-o", path("many"), path("many.c"))
    record("a.ptl", path("many"), "60")
    output(DUMP, "html", "-o", "a.html", "a.ptl")
    hostile("hostile.ptl")
    output(DUMP, "html", "-o", "hostile.html", "hostile.ptl")
    with Browser() as browser:
        for test in (views, searching, zooming, looks, hostility, two, switching):
            test(browser)
        if os.environ.get("PTL_BROWSER"):
            million(browser)
        else:
            skip("a million calls", "make check-browser measures it")


if CHROMIUM:
    try:
        all_tests()
    except Failed as failure:
        if os.environ.get("PTL_BROWSER"):
            check("the browser works", False, failure)
        else:
            skip("the browser works", f"chromium does not start here: {failure}")
else:
    skip("the page in a browser", "there is no chromium")
plan()
