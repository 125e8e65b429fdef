#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump diff: runs that are the same, a bug that is switched on, builds, several runs a side, what is ignored.
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, skip, without_randomisation, write

PROGRAMS = os.environ["PTL_PROGRAMS"]
SOURCE = os.path.join(os.environ["PTL_TESTDATA"], "programs", "counted.c")
TRACES = os.environ.get("PTL_SHARED_TRACES", "")
STILL = without_randomisation()
# Both have as many characters, so that the stack is the same: 9999 is beyond the rounds, 1500 is not.
GOOD, BAD = ("2000", "9999"), ("2000", "1500")


def build(name, *options):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    got = run("gcc", "-g", "-Wl,--build-id", "-o", path(name), *options, SOURCE)
    check(f"{name} is built", got.returncode == 0, got.stderr)
    return path(name)


# A clock that counts instructions, and tells it at each branch: with the rarer packets of mtc, how long a short function took
# depends on where the environment puts the stack.
EXACT = ("--clock", "virtual", "--timing", "cyc")


def record(name, program, *arguments, options=()):
    got = run(*STILL, RECORD, "-q", "-o", name, *options, "--", program, *arguments)
    check(f"{name} is recorded", got.returncode == 0, got)
    return name


def diff(*arguments, status):
    """status None: 0 or 1."""
    got = run(DUMP, "diff", "--json", *arguments)
    check("diff %s: status %s" % (" ".join(arguments), status), got.returncode == status or (status is None and got.returncode in (0, 1)), got)
    items = [json.loads(line) for line in got.stdout.splitlines()]
    if "--first" in arguments:
        return items
    summary, *items = items
    kinds = {key: value for key, value in summary.items() if isinstance(value, dict)}
    check("the first line sums up the others", summary["type"] == "summary" and summary["equal"] == (not items) and
          set(kinds) - {"times", "work"} == {"functions", "blocks", "edges"} and
          sum(one["compared"] - one["same"] for one in kinds.values()) == len(items) and
          all(one["compared"] == sum(one.values()) - one["compared"] for one in kinds.values()), summary, len(items))
    for key, kind in (("functions", "function"), ("blocks", "block"), ("edges", "edge")):
        for change in ("new", "gone", "more", "fewer"):
            counted = [one for one in items if (one["type"], one["change"]) == (kind, change)]
            check(f"it counts {key}: {change}", kinds[key][change] == len(counted), summary, len(counted))
    return items


def line_of(words):
    with open(SOURCE, encoding="ascii") as file:
        return next(number for number, line in enumerate(file, 1) if words in line)


def same_runs():
    for kind, options in (("real", ()), ("virtual", EXACT)):
        a, b = (record(f"{kind}{i}.ptl", program, *GOOD, options=options) for i in "ab")
        check(f"{kind} clock: the same counts", diff(a, b, status=0) == [])
        summary = json.loads(run(DUMP, "diff", "--json", a, b).stdout)
        check(f"{kind} clock: something was compared", all(summary[key]["compared"] > 10 for key in (
            "functions", "blocks", "edges")), summary)
        pairs = diff("--first", a, b, status=0)
        stats = json.loads(run(DUMP, "stats", "--json", a).stdout)
        check(f"{kind} clock: the same way", len(pairs) == 1 and pairs[0]["equal"] and pairs[0]["process"] == "counted" and
              0 < pairs[0]["common"] == pairs[0]["a"]["branches"] == pairs[0]["b"]["branches"] <= stats["blocks"], pairs, stats)
        check(f"{kind} clock: pids do not matter", pairs[0]["a"]["pid"] != pairs[0]["b"]["pid"], pairs)
    check("clocks do not matter", diff("--first", "reala.ptl", "virtualb.ptl", status=0)[0]["equal"])


def the_bug():
    record("bad.ptl", program, *BAD)
    wrong = line_of("if (number == wrong_at)")
    # What reads the numbers, which differ, and finds the functions for that; they need not have names.
    ignore = ("--ignore", "image:libc.so*", "--ignore", "image:ld-*")
    pair, = diff("--first", *ignore, "reala.ptl", "bad.ptl", status=1)
    parting = pair["parting"]
    check("--first names the very branch", (parting["symbol"], parting["line"], parting["branch"]) ==
          ("step", wrong, "conditional") and parting["file"] == SOURCE, pair)
    check("both continuations are there", {pair["then_a"][0]["line"], pair["then_b"][0]["line"]} ==
          {line_of("return -1;"), line_of("return change(number);")} and
          pair["then_b"][0]["line"] == line_of("return -1;"), pair)
    check("so is what was before", pair["before"][-1]["symbol"] == "step" and len(pair["before"]) == 5, pair)
    got = run(DUMP, "diff", "--first", *ignore, "-C", "2", "reala.ptl", "bad.ptl")
    labels = [line.split()[0] for line in got.stdout.splitlines()[2:]]
    check("text shows the same", got.returncode == 1 and labels == ["both", "both", "branch", "A", "A", "B", "B"] and
          "counted.c:%d" % wrong in got.stdout, got.stdout)
    outputs = {run(DUMP, "diff", "--first", "-j", threads, "reala.ptl", "bad.ptl").stdout for threads in "123"}
    check("--first: any number of threads gives the same", len(outputs) == 1, *outputs)
    items = diff("--image", "counted", "reala.ptl", "bad.ptl", status=1)
    edges = {(one["symbol"], one["line"], one["way"]): one for one in items if one["type"] == "edge"}
    new = [key for key, one in edges.items() if one["change"] == "new"]
    check("a new edge is the branch of the bug", len(new) == 1 and new[0][:2] == ("step", wrong), edges)
    functions = {one["symbol"]: (one["change"], one["a"]["most"], one["b"]["most"]) for one in items
                 if one["type"] == "function"}
    check("the function that was not called has less", functions["thrice"][0] == "fewer" and
          functions["thrice"][1] > functions["thrice"][2], functions)
    outputs = {run(DUMP, "diff", "-j", threads, "reala.ptl", "bad.ptl").stdout for threads in "123"}
    check("any number of threads gives the same", len(outputs) == 1, *outputs)


def sides():
    record("bad2.ptl", program, *BAD)
    record("short.ptl", program, "1999", "1500")
    items = diff("--image", "counted", "reala.ptl", "realb.ptl", "--with", "bad.ptl", "--with", "bad2.ptl", status=1)
    check("several runs a side", items == diff("--image", "counted", "reala.ptl", "bad.ptl", status=1), items)
    # One run of A has more, one of B less: what is between them is no difference.
    items = diff("--image", "counted", "reala.ptl", "short.ptl", "--with", "bad.ptl", "--with", "short.ptl", status=0)
    check("what varies within both sides is no difference", items == [], items)


def times():
    """Runs that are the same take the same time."""
    untimed = ("--clock", "virtual", "--timing", "none")
    for name, options in ("long", EXACT), ("timeless", untimed):
        record(f"{name}.ptl", program, "8000", "9999", options=options)
    record("timeless_short.ptl", program, *GOOD, options=untimed)
    check("times of runs that are the same are, too", diff("--slower", "1", "virtuala.ptl", "virtualb.ptl", status=0) == [])
    for unit, a, b, more in (("nanoseconds", "virtuala.ptl", "long.ptl", "slower"),
                             ("nanoseconds", "long.ptl", "virtuala.ptl", "faster"),
                             ("instructions", "timeless_short.ptl", "timeless.ptl", "slower")):
        items = [one for one in diff("--slower", "10", "--image", "counted", a, b, status=1)
                 if one["change"] in ("slower", "faster")]
        check(f"what takes longer is {more}, in {unit}", {one["change"] for one in items} == {more} and
              {one["unit"] for one in items} == {unit} and {"step", "choose"} <= {one["symbol"] for one in items}, *items)
        less, greater = ("a", "b") if more == "slower" else ("b", "a")
        check("four rounds for one take four times as long", all(
            3.5 < one[greater]["least"] / one[less]["most"] < 4.5 for one in items if one["symbol"] in ("step", "choose")), *items)
    rows = {row["function"]: row for row in map(json.loads, run(DUMP, "report", "--json", "long.ptl").stdout.splitlines())}
    items = {one["symbol"]: one for one in diff("--slower", "10", "virtuala.ptl", "long.ptl", status=1) if one[
        "change"] == "slower"}
    check("times are those of report", items["step"]["b"] == {
        "least": rows["step"]["self_time"], "most": rows["step"]["self_time"]}, items["step"], rows["step"])
    check("more percent, fewer functions", not [one for one in diff("--slower", "500", "virtuala.ptl", "long.ptl", status=1)
                                                if one["change"] == "slower"])
    text = run(DUMP, "diff", "--slower", "10", "virtuala.ptl", "long.ptl").stdout
    check("text tells by how much", "took another time by themselves" in text and "slower +" in text, text[-600:])


def ignored():
    every = ("--ignore", "step", "--ignore", "th*ce", "--ignore", "main", "--ignore", "image:libc.so*", "--ignore", "image:ld-*")
    check("what differs can be ignored", diff(*every, "reala.ptl", "bad.ptl", status=0) == [])
    write("ignored", "# functions\nstep\nthrice # too\nmain\n\nrange:counted:0x0..0xffffff\nimage:libc.so*\nimage:ld-*\n")
    check("a file lists it", diff("--ignore-file", "ignored", "reala.ptl", "bad.ptl", status=0) == [])
    check("--first ignores it, too", diff("--first", "--ignore-file", "ignored", "reala.ptl", "bad.ptl", status=0)[0]["equal"])
    for what in ("range:x", "range:x:0x5..0x1", "image:", ""):
        got = run(DUMP, "diff", "--ignore", what, "reala.ptl", "bad.ptl")
        check(f"'{what}' is nothing to ignore", got.returncode == 2 and "ptl-dump: error" in got.stderr, got)
    write("wrong", "step\nrange:x\n")
    got = run(DUMP, "diff", "--ignore-file", "wrong", "reala.ptl", "bad.ptl")
    check("a mistake is reported with its line", got.returncode == 2 and "wrong:2" in got.stderr, got)


def rebuilt():
    """The same source, another build: addresses mean nothing, names do."""
    other = build("other/counted", "-O0", "-fno-omit-frame-pointer", "-falign-functions=64", "-DANOTHER")
    record("rebuilt.ptl", other, *GOOD)
    record("rebuilt_bad.ptl", other, *BAD)
    image = ("--image", "counted")
    check("another build is equal", diff(*image, "reala.ptl", "rebuilt.ptl", status=0) == [])
    check("it goes the same way", diff("--first", *image, "reala.ptl", "rebuilt.ptl", status=0)[0]["equal"])
    items = diff(*image, "reala.ptl", "rebuilt_bad.ptl", status=1)
    calls = {one["symbol"]: (one["unit"], one["a"]["most"] - one["b"]["most"]) for one in items}
    check("calls are compared by name", calls == {"thrice": ("calls", 1), "atoi@plt": calls.get("atoi@plt")} or
          calls == {"thrice": ("calls", 1)}, items)
    pair, = diff("--first", *image, "reala.ptl", "rebuilt_bad.ptl", status=1)
    check("the function that one did not call is named", pair["then_a"][0]["symbol"] == "thrice" and
          pair["then_b"][0]["symbol"] != "thrice", pair)


def processes():
    a, b = (record(f"threads{i}.ptl", os.path.join(PROGRAMS, "processes"), options=("--clock", "virtual")) for i in "ab")
    pairs = [json.loads(line) for line in run(DUMP, "diff", "--first", "--json", a, b).stdout.splitlines()]
    threads = sum(len(one["threads"]) for one in json.loads(run(DUMP, "stats", "--json", a).stdout)["processes"])
    keys = {(one["process"], one["process_number"], one["thread"], one["thread_number"]) for one in pairs}
    check("each thread has its partner", len(pairs) == threads == len(keys) and
          all(one["a"] and one["b"] for one in pairs), pairs)
    items = diff("--first", a, "reala.ptl", status=1)
    check("threads without a partner are reported", {"counted"} == {one["process"] for one in items if not one["a"]} and
          all(not one["equal"] for one in items), items)


def ends():
    """New and gone code comes first, the last executed first; a judge counts the instructions after each last execution."""
    ignore = ("--ignore", "image:libc.so*", "--ignore", "image:ld-*")
    items = diff(*ignore, "reala.ptl", "bad.ptl", status=1)
    for kind in "function", "block", "edge":
        mine = [one for one in items if one["type"] == kind]
        first = [one for one in mine if one["change"] in ("new", "gone")]
        check(f"{kind}: new and gone come first, and alone have a distance", mine[:len(first)] == first and
              all("instructions_left" in one for one in first) and not any("instructions_left" in one for one in mine[len(first):]), mine)
        lefts = [(one["time_left"], one["instructions_left"]) for one in first]
        check(f"{kind}: the last executed comes first", lefts == sorted(lefts), lefts)
    flow = [json.loads(line) for line in run(DUMP, "flow", "--json", "bad.ptl").stdout.splitlines()]
    blocks = [one for one in flow if one["type"] == "block"]
    total, executed, last = sum(one["instructions"] for one in blocks), 0, {}
    for one in blocks:
        last[one.get("image"), int(one.get("image_address", "0x0"), 16)] = total - executed
        executed += one["instructions"]
    items = [one for one in diff(*ignore, "reala.ptl", "bad.ptl", status=1) if one["change"] == "new"] + \
        [one for one in diff(*ignore, "bad.ptl", "reala.ptl", status=1) if one["change"] == "gone"]
    items = [one for one in items if one["type"] == "block"]
    # The place of a block is its last instruction; it begins at most some bytes before.
    check("the distance is that of the last execution of the block", items and all(
        one["instructions_left"] in {last.get((one["image"], int(one["address"], 16) - back)) for back in range(80)}
        for one in items), items)
    text = run(DUMP, "diff", *ignore, "reala.ptl", "bad.ptl").stdout
    check("text has a column for the distance", "BEFORE END" in text, text[:300])
    every = diff("reala.ptl", "bad.ptl", status=1)
    for change in "new", "gone", "more", "fewer":
        got = run(DUMP, "diff", "--json", "--change", change, "reala.ptl", "bad.ptl")
        mine = [json.loads(line) for line in got.stdout.splitlines()][1:]
        wanted = [one for one in every if one["change"] == change]
        check(f"--change {change} shows these alone", mine == wanted and got.returncode == (1 if wanted else 0), got)
    got = run(DUMP, "diff", "--json", "--change", "new", "--change", "gone", "reala.ptl", "bad.ptl").stdout.splitlines()
    check("several --change", [json.loads(line) for line in got[1:]] == [one for one in every if one["change"] in ("new", "gone")])
    check("--change of runs that are the same", run(DUMP, "diff", "--change", "new", "reala.ptl", "realb.ptl").returncode == 0)
    got = run(DUMP, "diff", "--change", "other", "reala.ptl", "bad.ptl")
    check("--change takes changes", got.returncode == 2 and "new, gone" in got.stderr, got)


def any_order():
    """Threads of one name that do other works in the other run: the pairs are those that did the same."""
    traces = [record(f"order{i}.ptl", os.path.join(PROGRAMS, "any_order"), str(i)) for i in (1, 2, 3)]
    ignore = ("--ignore", "image:libc.so*", "--ignore", "image:ld-*")
    for a, b in (traces[:2], traces[1:], traces[::2]):
        pairs = diff("--first", *ignore, a, b, status=0)
        check("each thread is compared with the thread that did the same", len(pairs) == 5 and all(one["equal"] for one in pairs) and
              len({one["a"]["tid"] for one in pairs}) == len({one["b"]["tid"] for one in pairs}) == 5, *pairs)
        # Pairs are listed as the threads began to run, which depends on load; numbers of threads tell who was created first.
        others = [one["b"]["tid"] for one in sorted(pairs, key=lambda one: one["a"]["tid"])]
        check("the order of the threads is another", others != sorted(others), pairs)
    # glibc 2.41: the first thread that starts asks the kernel to name stacks, and no other thread.
    whole = diff("--first", traces[0], traces[1], status=None)
    check("the main thread did the same, and the others parted nowhere but in libc", whole[0]["equal"] and
          all(one["equal"] or "/libc.so" in one["parting"]["image"] for one in whole), whole)
    check("code that waits is not compared, and counted", all(one["a"]["waiting"] > 0 and one["b"]["waiting"] > 0 for one in whole), whole)
    text = run(DUMP, "diff", "--first", *traces[:2]).stdout
    check("text says so", "in functions that wait, which are not compared" in text, text)
    pairs = json.loads(run(DUMP, "diff", "--first", "--json", "--waiting", traces[0], traces[0]).stdout.splitlines()[0])
    check("--waiting compares it", pairs["equal"] and pairs["a"]["waiting"] == 0 and
          pairs["common"] == whole[0]["common"] + whole[0]["a"]["waiting"], pairs, whole[0])
    outputs = {run(DUMP, "diff", "--first", "-j", threads, *traces[:2]).stdout for threads in "125"}
    check("any number of threads gives the same pairs", len(outputs) == 1, *outputs)


def mistakes():
    for status, arguments in ((2, ("reala.ptl",)), (2, ("reala.ptl", "realb.ptl", "bad.ptl")),
                              (2, ("--first", "reala.ptl", "realb.ptl", "--with", "bad.ptl")),
                              (2, ("-C", "1", "reala.ptl", "bad.ptl")), (4, ("reala.ptl", "none.ptl")),
                              (4, ("none.ptl", "reala.ptl")), (3, ("reala.ptl", "text"))):
        write("text", b"no trace")
        got = run(DUMP, "diff", *arguments)
        check("diff %s: status %d" % (" ".join(arguments), status), got.returncode == status and "error" in got.stderr, got)
    data = bytearray(read("realb.ptl"))
    data[len(data) // 2] ^= 0xff
    write("damaged.ptl", data)
    got = run(DUMP, "diff", "reala.ptl", "damaged.ptl")
    check("damage of the second trace is trouble", got.returncode == 3 and "damaged.ptl" in got.stderr, got)


def hardware():
    names = []
    for folder in sorted(glob.glob(TRACES + "/*/trace.pt")) if TRACES else []:
        folder, name = os.path.dirname(folder), os.path.basename(os.path.dirname(folder)) + ".ptl"
        names.append(name)
        run(RELOG, "-q", "--pt", folder + "/trace.pt", "--memory", folder + "/memory.raw", "--memory-map",
            folder + "/memory.map", "-o", name)
        check(f"{name} has itself's counts", diff(name, name, status=0) == [])
        check(f"{name} goes its own way", diff("--first", name, name, status=0)[0]["equal"])
    if not TRACES:
        skip("traces of real CPUs", "there are none")
    elif len(names) > 1:
        check("two traces part at once", diff("--first", *names[:2], status=1)[0]["common"] == 0)
        check("nothing is in both", {one["change"] for one in diff(*names[:2], status=1)} == {"new", "gone"})


program = build("counted", "-O0")
same_runs()
the_bug()
sides()
times()
ignored()
rebuilt()
processes()
ends()
any_order()
mistakes()
hardware()
plan()
