#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# The law of cutting: what a cut shows is the slice of what the whole shows. Many cuts, the same ones in every run.
import json
import os
import random
import re

from scratch_test import DUMP as dump, RECORD as record, RELOG as relog, check, output as run, plan, run as try_run, scratch

programs = os.environ["PTL_PROGRAMS"]
CUTS = int(os.environ.get("PTL_CUTS", "4"))
FOREVER = 1 << 62


def lines(*command):
    return [json.loads(line) for line in run(dump, *command).splitlines()]


def span(window):
    """A window as options; None is no bound."""
    if window is None:
        return []
    low, high = ("" if bound is None else f"{bound}ns" for bound in window)
    return ["--time", f"{low}..{high}"]


def clip(value, window, otherwise):
    value = otherwise if value is None else value
    if window is None:
        return value
    low = -1 if window[0] is None else window[0]
    high = FOREVER if window[1] is None else window[1]
    return min(max(value, low), high)


# ---- what is compared: without what a cut cannot know (what was before, what came later) ----------------------------

def flow(path, window, select):
    """Offsets count from the start of the cut. Text: there is much of it."""
    return re.sub(r',"stream_offset":[0-9]+', "", run(dump, "flow", "--json", *span(window), *select, path)).splitlines()


def events(path, window, select):
    for item in lines("events", "--json", *span(window), *select, path):
        item.pop("process", None)  # the name is that of the last program
        yield json.dumps(item, sort_keys=True)


def images(path, window, select):
    for item in lines("images", "--json", *span(window), *[word for word in select if word]):
        item["loaded"] = clip(item["loaded"], window, -1)
        item["unloaded"] = clip(item["unloaded"], window, FOREVER)
        item.pop("process")
        item.pop("inherited")  # a cut reports it as of any other
        yield json.dumps(item, sort_keys=True)


def ran_in(programs_, window):
    low = -1 if window is None or window[0] is None else window[0]
    high = FOREVER if window is None or window[1] is None else window[1]
    before = [item for item in programs_ if (item["time"] or 0) <= low][-1:]
    within = [item for item in programs_ if low < (item["time"] or 0) <= high]
    return [(item["path"], item["command_line"]) for item in before + within]


def processes(path, window, select):
    low = -1 if window is None or window[0] is None else window[0]
    high = FOREVER if window is None or window[1] is None else window[1]
    for item in lines("processes", "--json", "--threads", *span(window), *select, path):
        threads = []
        for thread in item["threads"]:
            begin, end = clip(thread["start"], None, -1), clip(thread["end"], None, FOREVER)
            if begin <= high and end >= low:
                threads.append((thread["tid"], thread["name"], clip(begin, window, -1), clip(end, window, FOREVER)))
        ended = item["end"] is not None and item["end"] <= high
        yield json.dumps([item["pid"], item["parent_pid"], clip(item["start"], window, -1),
                          clip(item["end"], window, FOREVER), item["exit_status"] if ended else None,
                          ran_in(item["programs"], window), sorted(threads)])


def difference(whole, cut):
    for number, (left, right) in enumerate(zip(whole + [None], cut + [None])):
        if left != right:
            return f"item {number} of {len(whole)} and {len(cut)}:\nwhole {left}\ncut   {right}"
    return f"{len(whole)} and {len(cut)} items"


def compare(name, whole, cut, window, select=()):
    views = [("flow", flow, False), ("events", events, False), ("processes", processes, True)]
    good = True
    for word, view, unordered in views:
        left, right = list(view(whole, window, list(select))), list(view(cut, window, list(select)))
        if unordered:
            left.sort()
            right.sort()
        if left != right:
            good = check(f"{name}: {word}", False, difference(left, right))
    selected = [*select, whole], [*select, cut]
    left, right = (sorted(images(None, window, chosen)) for chosen in selected)
    if left != right:
        good = check(f"{name}: images", False, difference(left, right))
    if good:
        check(name, True)


def cut_to(source, target, *options):
    run(relog, "-q", source, *options, "-o", target, "-f")


# ---- recordings ------------------------------------------------------------------------------------------------------

def make(name, options, *command):
    run(record, "-q", "-o", f"{name}.ptl", *options, "--", *command)
    return f"{name}.ptl"


def duration(path):
    """From the first image to the end."""
    ends = [item["end"] for item in lines("processes", "--json", path)]
    return min(item["loaded"] for item in lines("images", "--json", path)), max(ends)


def windows(generator, first, last):
    while True:
        length = int((last - first) * 10 ** generator.uniform(-4, -1))
        begin = generator.randint(first, last)
        kind = generator.random()
        yield ((begin, begin + length) if kind < 0.8 else (last - length, None) if kind < 0.9
               else (None, first + length))


recordings = [
    make("fork", ["--clock=virtual"], f"{programs}/fork_no_exec"),
    make("threads", ["--timing=cyc"], f"{programs}/threads"),
    make("jit", ["--timing=tsc"], f"{programs}/jit"),
    make("dlopen", ["--timing=mtc"], f"{programs}/dlopen_reuse"),
    make("memfd", ["--timing=none"], f"{programs}/memfd_rewrite"),
    make("shell", ["--timing=tsc"], "/bin/sh", "-c", "for i in 1 2 3; do /bin/true; (exit 3); done; /bin/echo x | cat"),
]

for number, path in enumerate(recordings):
    generator = random.Random(number)
    first, last = duration(path)
    for _, window in zip(range(CUTS), windows(generator, first, last)):
        cut_to(path, "cut.ptl", *span(window))
        compare(f"{path} {' '.join(span(window))}", path, "cut.ptl", window)
        if window[0] is None or window[1] is None:
            continue
        cut_to("cut.ptl", "same.ptl", *span(window))
        left, right = (run(dump, "events", "--json", name) for name in ("cut.ptl", "same.ptl"))
        check(f"{path} cut to the same again", left == right, difference(left.splitlines(), right.splitlines()))
        # A cut of the cut is the smaller cut.
        inner = (generator.randint(*window), window[1])
        cut_to("cut.ptl", "again.ptl", *span(inner))
        compare(f"{path} cut again to {' '.join(span(inner))}", path, "again.ptl", inner)

# ---- times of streams --------------------------------------------------------------------------------------------------

# By its times a cut knows that a stream is needed: nothing that a thread executed lies outside of them.
for path in recordings:
    spans = {}
    for stream in lines("info", "--json", path)[0]["streams"]:
        if stream["kind"] == "pt":
            before = spans.get((stream["pid"], stream["tid"]), (FOREVER, -1))
            spans[stream["pid"], stream["tid"]] = (min(before[0], stream["first_time"]), max(before[1], stream["last_time"]))
    outside = []
    for item in lines("flow", "--json", path):
        low, high = spans[item["pid"], item["tid"]]
        if item.get("time") is not None and not low <= item["time"] <= high:
            outside.append((low, high, item))
    check(f"{path}: a stream's times span its packets", spans and not outside, len(outside), outside[:1], outside[-1:])

# The last thread to begin runs a loop until the exit ends it. It reports nothing but its start; what it executed behind
# that, up to its last packet, is later than all its messages, and may be later than its end.
started = [item for item in lines("events", "--json", "threads.ptl") if item["event"] == "Thread/Start"]
newest = max(started, key=lambda item: item["time"])
select = ["--tid", str(newest["fields"]["TThreadId"])]
times = sorted({item["time"] for item in lines("flow", "--json", *select, "threads.ptl") if item.get("time") is not None})
for begin in (newest["time"] + 1, times[-2] + 1, times[-1]):
    window = (begin, times[-1])
    cut_to("threads.ptl", "cut.ptl", *span(window))
    check(f"threads.ptl: the newest thread runs in {window}", list(flow("threads.ptl", window, select)))
    compare(f"threads.ptl {' '.join(span(window))}", "threads.ptl", "cut.ptl", window)

# ---- processes and threads -------------------------------------------------------------------------------------------

for path in ("fork.ptl", "threads.ptl", "shell.ptl"):
    generator = random.Random(path)
    first, last = duration(path)
    found = lines("processes", "--json", "--threads", path)
    for process in generator.sample(found, min(3, len(found))):
        pid = str(process["pid"])
        cut_to(path, "cut.ptl", "--pid", pid)
        compare(f"{path} --pid", path, "cut.ptl", None, ["--pid", pid])
        window = next(windows(generator, first, last))
        cut_to(path, "cut.ptl", "--pid", pid, *span(window))
        if any(item["pid"] == process["pid"] for item in lines("processes", "--json", *span(window), path)):
            compare(f"{path} --pid {' '.join(span(window))}", path, "cut.ptl", window, ["--pid", pid])
        thread = generator.choice(process["threads"])
        cut_to(path, "cut.ptl", "--tid", str(thread["tid"]))
        left, right = (list(flow(name, None, ["--tid", str(thread["tid"])])) for name in (path, "cut.ptl"))
        check(f"{path} --tid", left == right and left, difference(left, right))

names = {item["name"] for item in lines("processes", "--json", "shell.ptl")}
cut_to("shell.ptl", "cut.ptl", "--process", "true")
kept = {item["pid"] for item in lines("flow", "--json", "cut.ptl")}
wanted = {item["pid"] for item in lines("processes", "--json", "shell.ptl") if item["name"] == "true"}
check("--process takes those that ran the program", kept == wanted and len(wanted) == 3, names, kept, wanted)
cut_to("shell.ptl", "cut.ptl", "--process", os.path.realpath("/bin/sh"), "--tree")
left, right = list(flow("shell.ptl", None, [])), list(flow("cut.ptl", None, []))
check("--tree takes descendants", left == right, difference(left, right))
# ---- what keeps everything, and what drops one thing ------------------------------------------------------------------

cut_to("dlopen.ptl", "cut.ptl", "--time", "0s..1h")
compare("a cut that keeps everything", "dlopen.ptl", "cut.ptl", None)
check("nothing is said to be cut then", "cut away" not in run(dump, "info", "cut.ptl"))
cut_to("jit.ptl", "cut.ptl", "--time", "..@1s")
check("what was cut is said", "cut away" in run(dump, "info", "cut.ptl"), run(dump, "info", "cut.ptl"))

cut_to("jit.ptl", "cut.ptl", "--drop-pt")
check("--drop-pt leaves no PT, and events and images", lines("flow", "--json", "cut.ptl") == []
      and list(events("jit.ptl", None, [])) == list(events("cut.ptl", None, [])))
cut_to("jit.ptl", "cut.ptl", "--drop-code")
left, right = ([{**item, "code_stored": None, "code_captured": None} for item in lines("images", "--json", name)] for name in ("jit.ptl", "cut.ptl"))
check("--drop-code leaves images their hashes", left == right and left[0]["code"], left[0], right[0])
check("code that was captured as it ran is reported", any(item["code_captured"] and not item["code_stored"]
                                                         for item in lines("images", "--json", "jit.ptl")))
check("and no code but the vdso's, which no file has", not any((item["code_stored"] or item["code_captured"]) and item["path"] != "[vdso]"
                                                              for item in lines("images", "--json", "cut.ptl"))
      and os.path.getsize(f"{scratch}/cut.ptl") < os.path.getsize(f"{scratch}/jit.ptl") / 2)

# ---- rundown at the end ------------------------------------------------------------------------------------------------

first, last = duration("shell.ptl")
window = (first, (first + last) // 2)
cut_to("shell.ptl", "cut.ptl", *span(window))
reported = [item for item in lines("events", "--json", "cut.ptl") if item["time"] > window[1] and item["opcode"] == 4]
lived = [item for item in lines("processes", "--json", "--time", f"{window[1]}ns..{window[1]}ns", "shell.ptl")]
mapped = [item for item in lines("images", "--json", "--time", f"{window[1]}ns..{window[1]}ns", "shell.ptl")]
check("who lives on behind the cut is reported at its end", {item["fields"]["ProcessId"] for item in reported} ==
      {item["pid"] for item in lived} and all(item["time"] == window[1] + 1 for item in reported), reported[:2], lived)
check("and what is mapped then", {(item["fields"]["ProcessId"], int(item["fields"]["ImageBase"], 0)) for item in reported
                                  if "ImageBase" in item["fields"]} ==
      {(item["pid"], int(item["base"], 0)) for item in mapped}, reported[-2:], mapped[:2])
cut_to("shell.ptl", "cut.ptl", *span((first, None)))
check("where nothing is cut away behind, it is the recording's own",
      [item for item in lines("events", "--json", "cut.ptl") if item["opcode"] == 4] ==
      [item for item in lines("events", "--json", "shell.ptl") if item["opcode"] == 4])

# ---- small cuts are small, and gaps do not come from cutting ----------------------------------------------------------

first, last = duration("threads.ptl")
window = ((first + last) // 2, (first + last) // 2 + 1000)
cut_to("threads.ptl", "cut.ptl", *span(window))
whole_gaps = {item["cause"] for item in lines("flow", "--json", "threads.ptl") if item["type"] == "gap"}
gaps = {item["cause"] for item in lines("flow", "--json", "cut.ptl") if item["type"] == "gap"}
check("a cut decodes without gaps of its own", gaps <= whole_gaps, gaps)


def refuses(name, options, text):
    got = try_run(relog, "-q", "jit.ptl", "-o", "no.ptl", *options)
    check(f"refused: {name}", got.returncode == 2 and text in got.stderr and not os.path.exists(f"{scratch}/no.ptl"), got)


got = try_run(relog, "-q", "jit.ptl", "-o", "late.ptl", "--time", "3h..4h")
check("a span behind the trace is warned of", got.returncode == 0 and "nothing of the trace lies in the span of --time" in
      got.stderr and "a span within 0s.." in got.stderr, got.stderr)
first = min(item["time"] for item in lines("flow", "--json", "jit.ptl") if item.get("time"))
got = try_run(relog, "jit.ptl", "-o", "early.ptl", "--time", f"0s..{first // 4}ns")
noted = re.search(r"nothing ran in the span of --time: .* within ([0-9.]+)s\.\.([0-9.]+)s", got.stderr)
check("a span without Intel PT is told, with the span of the Intel PT", got.returncode == 0 and noted and
      float(noted[1]) * 1e9 >= first // 4 and try_run(relog, "-f", "jit.ptl", "-o", "early.ptl", "--time", f"{noted[1]}s..{noted[2]}s").stderr == "" and
      json.loads(run(dump, "stats", "--json", "early.ptl"))["instructions"] == json.loads(run(dump, "stats", "--json", "jit.ptl"))["instructions"],
      got.stderr)
refuses("a process that is not there", ["--pid", "999999"], "there is no process 999999")
refuses("a thread that is not there", ["--tid", "999999"], "there is no thread 999999")
refuses("a name that no process has", ["--process", "nobody"], "no process in the trace ran 'nobody'")
refuses("a span that is none", ["--time", "3s"], "'3s' is no span of time")
refuses("a span that ends first", ["--time", "3s..2s"], "ends before it begins")
refuses("descendants of nobody", ["--tree"], "--tree needs --pid or --process")

plan()
