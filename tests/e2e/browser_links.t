#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The page of ptl-dump html in a browser: what a click on a process, a failure, a loss or a function leads to; the call tree and the
# inverted tree; sums of a span and of threads; folding; events by provider. Judges are graph, report and calls.
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from browser_test import CHROMIUM, Browser, Failed
from export_test import hostile, record, report
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, skip, write

PROGRAM = """#include <pthread.h>
#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void price(int n) { for (int i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void total(int n) { for (int i = 0; i < n; i++) price(i); }
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) void sorting(void)
{
	int list[60];
	for (int i = 0; i < 60; i++)
		list[i] = i * 7919 % 60;
	qsort(list, 60, sizeof(*list), compare);
}
static void *work(void *data) { total(40); fib(7); return data; }
__attribute__((noinline)) void fail(int *place)
{
	sum++;
	*place = 1; /* the failing line */
}
int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	total(15);
	sorting();
	if (argc > 1)
		fail((int *)16);
	return 0;
}
"""
ROWS = "(id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) => [...row.cells].map((cell) => cell.textContent))"


def page(browser, name, link=""):
    browser.complaints.clear()
    browser.open("file://" + urllib.parse.quote(path(name)) + (link and "#" + link))
    browser.until("document.documentElement?.dataset.ready")
    browser.frame()


def rows(browser, place):
    return browser.value(f"({ROWS})({json.dumps(place)})")


def shown(browser):
    return browser.value("document.documentElement.dataset.view")


def click(browser, expression):
    """A click of the mouse at the middle of an element."""
    browser.value(f"{expression}.scrollIntoView({{block: 'center'}})")
    browser.frame()
    box = browser.value(f"(({{x, y, width, height}}) => [x + Math.min(width / 2, 60), y + height / 2])({expression}.getBoundingClientRect())")
    browser.click(*box)


def function(browser):
    return browser.value("document.querySelector('#function-detail b')?.textContent")


def number(text):
    return int(text.replace(",", ""))


def calls(*arguments):
    return [row for row in map(json.loads, output(DUMP, "calls", "--json", "--no-fold", *arguments).splitlines()) if "function" in row]


def neighbours(name, kind):
    """Callers or callees of a function, without itself: {name: (calls, instructions with callees)}. A PLT stub and its function have one name."""
    found = {}
    for row in map(json.loads, output(DUMP, "graph", "--json", "--depth", "1", name, "a.ptl").splitlines()):
        if row["type"] == kind and row["depth"] == 1 and row["function"] and row["function"] != name:
            before = found.get(row["function"], (0, 0))
            found[row["function"]] = (before[0] + row["calls"], before[1] + row["total_instructions"])
    return found


def processes(browser):
    page(browser, "a.html")
    click(browser, "document.querySelector('#processes tbody tr')")
    said = browser.value("document.getElementById('selection').textContent")
    judge = report("a.ptl")
    check("a click on a process leads to its functions", shown(browser) == "functions" and f"({PID})" in said, said)
    check("the selection says the sums of the process", f"{sum(row['calls'] for row in judge):,} calls" in said and
          f"{sum(row['self_instructions'] for row in judge):,} instructions" in said and "about" not in said, said)
    got = browser.value("functionTable().rows.map((row) => [row.name, row.calls, row.self_instructions, row.total_instructions])")
    key = lambda row: (row[0], row[3])
    expected = [[row["function"] or "", row["calls"], row["self_instructions"], row["total_instructions"]] for row in judge if row["function"]]
    check("sums of the process are those of report", sorted((row for row in got if not row[0].startswith("[")), key=key) ==
          sorted(expected, key=key), [row for row in expected if row not in got][:4], [row for row in got if row not in expected][:4])
    link = browser.value("location.hash")
    browser.until("location.hash.includes('threads=')")
    link = browser.value("location.hash.slice(1)")
    page(browser, "a.html", link)
    check("a link keeps the selection", f"{sum(row['calls'] for row in judge):,} calls" in
          browser.value("document.getElementById('selection').textContent"), link)
    browser.value("[...document.querySelectorAll('#selection button')].find((one) => one.textContent === 'clear').click()")
    check("the selection can be cleared", browser.value("document.getElementById('selection').hidden"))


def failures(browser):
    page(browser, "a.html")
    box = browser.value("document.getElementById('crash').textContent")
    check("the failure has the line of source", "the failing line" in box, box)
    click(browser, "document.querySelector('#crash tr.link')")
    here = "document.getElementById('source-line')?.textContent"
    check("a click on the failed frame leads to its line of source", shown(browser) == "source" and
          "the failing line" in (browser.value(here) or ""), shown(browser), browser.value(here))
    page(browser, "a.html")
    click(browser, "[...document.querySelectorAll('#crash tr.link')].find((row) => row.cells[0].textContent === 'main')")
    check("so does a click on its caller", "fail((int *)16)" in (browser.value(here) or ""), browser.value(here))
    browser.value("[...document.querySelectorAll('#view-source button')].find((one) => one.textContent === 'callers and calls').click()")
    check("source leads to callers and calls", (shown(browser), function(browser)) == ("functions", "main"))
    page(browser, "a.html")
    browser.value("[...document.querySelectorAll('#crash button')].find((one) => one.textContent.startsWith('its end')).click()")
    end = browser.value("sideData('processes')[0].end")
    check("a failure leads to its end in the timeline", shown(browser) == "timeline" and
          browser.value(f"timeline.from <= {end} && timeline.to >= {end}"))
    page(browser, "a.html")
    browser.value("[...document.querySelectorAll('#crash button')].find((one) => one.textContent.startsWith('functions')).click()")
    check("a failure leads to its process", shown(browser) == "functions" and f"({PID})" in
          browser.value("document.getElementById('selection').textContent"))


def losses(browser):
    write("loss.sample", "\n".join(["machine source=qemu software=1 clock=4 start=1000 end=9000 timing=1",
        "process start pid=1 time=1000 key=1 image=/bin/a command=a", 'loss kind=1 count=3 pid=1 tid=1 cause="a lost buffer"', ""]))
    output(os.path.join(os.environ["PTL_TEST_TOOLS"], "make_sample"), path("loss.sample"), path("loss.ptl"))
    output(DUMP, "html", "-o", "loss.html", "loss.ptl")
    page(browser, "loss.html")
    browser.value("[...document.querySelectorAll('button.card')].find((one) => one.textContent.endsWith('losses')).click()")
    check("the number of losses leads to the losses", shown(browser) == "gaps")
    click(browser, "[...document.querySelectorAll('#view-gaps tr.link')].find((row) => row.textContent.includes('a lost buffer'))")
    check("a loss without a time leads to its process", shown(browser) == "functions" and
          "a (1)" in browser.value("document.getElementById('selection').textContent"), shown(browser))
    check("nothing is complained of in a trace without calls", not browser.complaints, browser.complaints)


def functions(browser):
    for name in "price", "total", "fib", "main", "sorting":
        page(browser, "a.html", "view=functions")
        click(browser, f"[...document.querySelectorAll('#view-functions > table tbody tr')].find((row) => row.cells[0].textContent === '{name}')")
        check(f"{name}: a click leads to the function", function(browser) == name)
        for place, kind in ("function-callers", "caller"), ("function-callees", "callee"):
            got = {}
            for row in rows(browser, place):
                before = got.get(row[0], (0, 0))
                if row[0] != name:
                    got[row[0]] = (before[0] + number(row[1] or "0"), before[1] + number(row[2]))
            judge = neighbours(name, kind)
            check(f"{name}: {kind}s are those of graph", got == judge, got, judge)
        longest = sorted((row["duration"], row["instructions"]) for row in calls("a.ptl") if row["function"] == name)[::-1]
        got = rows(browser, "function-calls")
        check(f"{name}: its calls are those of calls, the longest first", [number(row[2]) for row in got] ==
              [one[1] for one in longest[:6]], got, longest[:6])
    page(browser, "a.html", "view=functions&function=total")
    click(browser, "document.querySelector('#function-callees tbody tr')")
    check("a callee leads to its function", function(browser) == "price")
    click(browser, "document.querySelector('#function-callers tbody tr')")
    check("a caller leads to its function", function(browser) == "total")
    click(browser, "document.querySelector('#function-calls tbody tr')")
    check("a call leads to its place in the timeline", shown(browser) == "timeline" and
          browser.value("document.getElementById('time-detail').textContent").startswith("total"))
    page(browser, "a.html", "view=functions&function=total")
    browser.value("[...document.querySelectorAll('#function-detail button')].find((one) => one.textContent === 'source').click()")
    text = browser.value("document.getElementById('view-source').textContent")
    check("a function leads to its source", shown(browser) == "source" and "price(i)" in text, text[:200])


def trees(browser):
    judge = report("a.ptl")
    page(browser, "a.html", "view=tree")
    whole = sum(row["self_instructions"] for row in judge)
    check("the call tree has all instructions", browser.value("callTree().root.allInstructions") == whole)
    paths = {}
    for line in output(DUMP, "flamegraph", "--folded", "a.ptl").splitlines():
        frames, value = line.rsplit(" ", 1)
        paths[frames] = paths.get(frames, 0) + int(value)
    got = browser.value("""(() => { const found = {};
        for (const node of callTree().nodes) {
            if (!node.instructions) continue;
            const names = [];
            for (let up = node; up.parent; up = up.parent) names.unshift(up.name);
            found[names.join(";")] = (found[names.join(";")] || 0) + node.instructions;
        } return found; })()""")
    check("paths of the call tree are those of flamegraph", got == paths, {one for one in got if got[one] != paths.get(one)},
          {one for one in paths if got.get(one) != paths[one]})
    first = rows(browser, "tree-table")
    check("the hottest path is open at first", len(first) > 3 and first[0][3].endswith("100.0 %"), first[:3])
    click(browser, "document.querySelector('#tree-table .opener[aria-expanded=true]')")
    check("a click closes a row", len(rows(browser, "tree-table")) < len(first))
    browser.value("document.querySelector('#tree-table tbody tr').focus()")
    browser.key("ArrowRight")
    check("a key opens a row", len(rows(browser, "tree-table")) > 1 and browser.value("document.activeElement.tagName") == "TR")
    page(browser, "a.html", "view=tree&rows=up")
    got = {}
    for row in browser.value("treeView.roots.map((one) => [one.name, one.calls, one.instructions])"):
        got[row[0]] = [(got.get(row[0]) or [0, 0])[0] + row[1], (got.get(row[0]) or [0, 0])[1] + row[2]]
    expected = {}
    for row in judge:
        if row["function"]:
            before = expected.get(row["function"], [0, 0])
            expected[row["function"]] = [before[0] + row["calls"], before[1] + row["self_instructions"]]
    check("the inverted tree has the own instructions of each function", {one: got.get(one) for one in expected} == expected,
          {one: (got.get(one), expected[one]) for one in expected if got.get(one) != expected[one]})
    wanted = "treeView.roots.find((one) => one.name === 'price')"
    inverted = {name: value for name, value in browser.value(f"treeChildren({wanted}).map((one) => [one.name, [one.calls, one.instructions]])")}
    check("below a function are its callers", inverted == {name: list(value) for name, value in neighbours("price", "caller").items()}, inverted)
    index = browser.value(f"treeView.roots.indexOf({wanted})")
    browser.value(f"treeView.open.clear(); treeShow(); document.querySelectorAll('#tree-table tbody tr')[{index}].click()")
    check("a row of the tree leads to its function", function(browser) == "price")
    check("nothing is complained of in the trees", not browser.complaints, browser.complaints)


def spans(browser):
    worker = next(row["tid"] for row in calls("a.ptl") if row["function"] == "work")
    mine = calls("--tid", str(worker), "a.ptl")
    page(browser, "a.html", "view=timeline")
    place = browser.value(f"timeline.rows.find((one) => one.track.tid === {worker}).y")
    corner = "(({x, y}) => [x, y])(document.getElementById('time-canvas').getBoundingClientRect())"
    left, top = browser.value(corner)
    browser.click(left + 30, top + 24 + place + 10)
    said = browser.value("document.getElementById('selection').textContent")
    seen = sum("inferred" not in row["marks"] for row in mine)
    check("the box of a title selects a thread", "1 thread" in said and f"{seen:,} calls" in said, said)
    check("threads that are not selected are folded", browser.value(
        f"timeline.rows.every((one) => one.isFolded === (one.track.tid !== {worker}))"))
    start, end = min(row["time"] for row in mine), max(row["time"] + row["duration"] for row in mine)
    for first, last in (start, end), (start + (end - start) // 4, end - (end - start) // 4), (start, start + (end - start) // 2):
        if last <= first:
            continue
        browser.value(f"selectSpan({first}, {last})")
        got = {row[0]: row[1:] for row in browser.value("[...functionSums(callTree()).values()].map((one) => [one.name, one.calls, one.time])")}
        number_of, own = {}, {}
        stack = []
        for row in mine:
            begin, until = row["time"], row["time"] + row["duration"]
            inside = min(until, last) - max(begin, first)
            if (inside <= 0) if row["duration"] else not first <= begin <= last:
                continue
            while stack and stack[-1][1] >= row["depth"]:
                stack.pop()
            own[row["function"]] = own.get(row["function"], 0) + inside
            if stack:
                own[stack[-1][0]] -= inside
            stack.append((row["function"], row["depth"]))
            number_of[row["function"]] = number_of.get(row["function"], 0) + (begin >= first and "inferred" not in row["marks"])
        check(f"sums of a span are those of its calls: {first} to {last}", {name: [number_of[name], own[name]] for name in own if name} ==
              {name: got.get(name) for name in own if name}, [(name, got.get(name), number_of[name], own[name]) for name in own
                                                               if name and got.get(name) != [number_of[name], own[name]]][:5])
    browser.key("m")
    browser.value("selectionClear(); timelineSet(timeline.first, timeline.last)")
    browser.frame()
    left, top = browser.value(corner)
    width = browser.value("document.getElementById('time-canvas').clientWidth")
    for kind, x in ("mousePressed", 100), ("mouseMoved", 300), ("mouseReleased", 300):
        browser.ask("Input.dispatchMouseEvent", type=kind, x=left + x, y=top + 200, button="left", buttons=1, clickCount=1, modifiers=8)
    browser.frame()
    got = browser.value("[(selection.from - timeline.first), (selection.to - timeline.first), timeline.last - timeline.first]")
    check("dragging with Shift selects a span", abs(got[0] - got[2] * 100 / width) < got[2] / 100 and
          abs(got[1] - got[2] * 300 / width) < got[2] / 100, got)
    before = browser.value("timeline.height")
    browser.value("document.getElementById('time-fold').click()")
    left, top = browser.value(corner)
    folded = browser.value("timeline.height")
    browser.click(left + 200, top + 24 + 10)
    check("rows fold, and a click on a title opens one", folded < before and folded < browser.value("timeline.height") < before,
          before, folded, browser.value("timeline.height"))
    check("a call in a folded row is shown", browser.value(
        "(() => { foldTracks(true); const call = longestCall(functions().findIndex((one) => one.name === 'total')); timelineShow(call); "
        "return !timeline.rows[call.track].isFolded; })()"))
    check("nothing is complained of in the timeline", not browser.complaints, browser.complaints)


def folding(browser):
    judge = report("a.ptl")
    page(browser, "a.html", "view=functions")
    click(browser, "document.getElementById('functions-fold')")
    table = browser.value("functionTable().rows.map((row) => [row.name, row.image, row.self_instructions])")
    images = [row[1] for row in table if row[1]]
    check("folded libraries of the system are one row each", images and all(image == path("program") for image in images) and
          any(row[0].startswith("[libc.so") for row in table), table[:5])
    libc = sum(row["self_instructions"] for row in judge if os.path.basename(row["image"] or "").startswith("libc.so"))
    got = [row[2] for row in table if row[0].startswith("[libc.so")]
    check("a folded library has the instructions of its functions", got == [libc], got, libc)
    check("all instructions stay", sum(row[2] for row in table) == sum(row["self_instructions"] for row in judge))
    browser.key("4")
    check("a callback of a folded library is below the library", browser.value(
        "callTree().nodes.some((node) => node.name === 'compare' && node.parent.name.startsWith('[libc.so') && node.parent.parent.name === 'sorting')"))
    check("folding is in the link", "fold=1" in browser.value("pageLink()"))
    listed = browser.value("sideData('sources').map((one) => one.image)")
    own = [image == path("program") for image in listed]
    check("source of the program's own functions comes first", own[0] and own == sorted(own, reverse=True), listed)
    output(DUMP, "html", "-f", "--max-sources", "3", "-o", "few.html", "a.ptl")
    page(browser, "few.html")
    check("with few sources all are of the program", browser.value("sideData('sources').map((one) => one.image)") == [path("program")] * 3)
    check("the page says how many are left out", "sources of functions of the program" in browser.value("document.getElementById('left-out').textContent"))


def event_views(browser):
    page(browser, "a.html", "view=events")
    names = browser.value("events().map((one) => one.name)")
    table = "document.querySelectorAll('#view-events > table tbody tr').length"
    check("all events are shown", browser.value(table) == len(names) > 3)
    kernel = browser.value("document.getElementById('event-provider').options[1].value")
    check("providers are those of the events", browser.value("document.getElementById('event-provider').options.length") == 1 +
          len({name.split("/")[0] for name in names}), names)
    browser.value("{ const one = document.getElementById('event-provider'); one.value = 'none of these'; }")
    browser.value(f"{{ const one = document.getElementById('event-provider'); one.value = {json.dumps(kernel)}; one.dispatchEvent(new Event('change')); }}")
    check("one provider's events are shown", browser.value(table) == sum(name.split("/")[0] == kernel for name in names))
    text = browser.value("document.querySelector('#view-events > table').textContent")
    check("fields that are zero are folded, and counted", "=0 " not in text and "(+" in text and f"ProcessId={PID}" in text, text[:300])
    click(browser, "document.getElementById('event-zeros')")
    check("they can be shown", "=0 " in browser.value("document.querySelector('#view-events > table').textContent"))
    cases = {'A=0 B=1 C="" D=- E=0x0': "B=1  (+4 zero)", 'A="x=0 y  z" B=0': 'A="x=0 y  z"  (+1 zero)', "A=10 B=0x10": "A=10 B=0x10",
             "no field": "no field", "A=0": "(+1 zero)"}
    for text, expected in cases.items():
        got = browser.value(f"withoutZeros({json.dumps(text)})")
        check(f"zero fields of '{text}'", got.strip() == expected.strip(), got)


def redaction(browser):
    page(browser, "a.html")
    hint = "document.getElementById('redaction').textContent"
    check("the page says how to redact", "ptl-relog a.ptl --redact all" in browser.value(hint), browser.value(hint))
    output(RELOG, "-f", "-q", "--redact", "all", "a.ptl", "-o", "redacted.ptl")
    output(DUMP, "html", "-f", "-o", "redacted.html", "redacted.ptl")
    page(browser, "redacted.html")
    check("a redacted trace needs no hint", browser.value(hint) == "The trace is redacted.", browser.value(hint))


def two(browser):
    record("b.ptl", path("program"))
    output(DUMP, "html", "-f", "-o", "two.html", "a.ptl", "b.ptl")
    for side, name in ("A", "a.ptl"), ("B", "b.ptl"):
        page(browser, "two.html", f"view=tree&side={side}")
        whole = sum(row["self_instructions"] for row in report(name))
        check(f"side {side}: the call tree is of its trace", browser.value("callTree().root.allInstructions") == whole)
        browser.value("showProcess(sideData('processes')[0])")
        check(f"side {side}: so is a selected process", browser.value("callTree().root.allInstructions") == whole and
              browser.value("document.getElementById('crash') === null || sides[side] === 'A'"))
    page(browser, "two.html", "view=summary&side=B")
    check("a failure is shown with its trace only", browser.value("document.getElementById('crash') === null"))


def hostility(browser):
    hostile("hostile.ptl")
    output(DUMP, "html", "-f", "-o", "hostile.html", "hostile.ptl")
    page(browser, "hostile.html", "view=tree&rows=%3Cscript%3E&span=9-1&threads=%3Cimg%20src%3Dx%3E&provider=%3Cb%3E&fold=1")
    browser.value("selectionClear()")
    browser.value("treeView.inverted = false; showView('tree'); treeView.roots.forEach((one) => treeView.open.add(one)); treeShow()")
    browser.value("treeView.inverted = true; treeShow(); functions().slice(0, 30).forEach((row) => showFunction(row.number))")
    browser.value("showProcess(sideData('processes')[0]); showView('timeline'); timelineShowSelection()")
    found = browser.value("functions().findIndex((row) => row.name.includes('</title>'))")
    browser.value(f"showFunction({found})")
    check("a hostile name is a name in all lists", "</title>" in function(browser) and browser.value("neighbours(callTree(), "
          f"{found}).callers.length") > 0, function(browser))
    check("no list makes an element of a name", browser.value("document.querySelectorAll('main script, main img, header script, #selection img').length") == 0
          and not browser.complaints, browser.complaints)


def million(browser):
    """Processor time of scripts, with a million calls."""
    write("many.c", "#include <stdlib.h>\nstatic volatile long sum;\n__attribute__((noinline)) void add(int n) { sum += n; }\n"
          "__attribute__((noinline)) void many(int n) { for (int i = 0; i < n; i++) add(i); }\n"
          "int main(int argc, char **argv) { many(atoi(argv[1])); return argc == 100; }\n")
    output("gcc", "-g", "-O1", "-o", path("many"), path("many.c"))
    record("million.ptl", path("many"), "1000000")
    output(DUMP, "html", "-f", "-o", "million.html", "million.ptl")
    browser.ask("Performance.enable", timeDomain="threadTicks")
    page(browser, "million.html", "view=timeline")
    metric = lambda: {one["name"]: one["value"] for one in browser.ask("Performance.getMetrics")["metrics"]}["TaskDuration"]
    for what, action in (("a span is selected", "selectSpan(timeline.first, timeline.last - (timeline.last - timeline.first) / 3)"),
                         ("the call tree is shown", "showView('tree')"), ("libraries are folded", "{ selection.fold = true; selectionChanged(); }"),
                         ("a function is shown", "showFunction(functions().findIndex((row) => row.name === 'add'))")):
        before = metric()
        browser.value(action)
        browser.frame()
        took = metric() - before
        check(f"a million calls: {what} in 1.5 s", took < 1.5, took)
        print(f"# {what}: {took:.3f} s")


def all_tests(browser):
    for test in (processes, failures, losses, functions, trees, spans, folding, event_views, redaction, two, hostility):
        test(browser)
    if os.environ.get("PTL_BROWSER"):
        million(browser)
    else:
        skip("a million calls", "make check-browser measures it")


def started():
    """A browser; None if it does not start here."""
    try:
        return Browser().__enter__()
    except Failed as failure:
        if os.environ.get("PTL_BROWSER"):
            raise
        skip("the browser works", f"chromium does not start here: {failure}")
        return None


if CHROMIUM:
    write("program.c", PROGRAM)
    output("gcc", "-g", "-O1", "-pthread", "-o", path("program"), path("program.c"))
    run(RECORD, "-q", "-f", "--source", "software", "-o", "a.ptl", "--", path("program"), "fail")
    PID = json.loads(output(DUMP, "processes", "--json", "a.ptl").splitlines()[0])["pid"]
    output(DUMP, "html", "-f", "-o", "a.html", "a.ptl")
    BROWSER = started()
    if BROWSER:
        try:
            all_tests(BROWSER)
        except Failed as failure:
            check("the browser works", False, failure)
        finally:
            BROWSER.close()
else:
    skip("the page in a browser", "there is no chromium")
plan()
