#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# --samples: what views add up of stacks is what the stacks say, by an adding up of our own, and what perf report shows.
import collections
import gzip
import json
import os
import random
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
sys.dont_write_bytecode = True
import perfetto_file
from perf_file import entry, text
from scratch_test import DUMP, RELOG, check, output, path, plan, run, skip, write

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "recursion")
BASE = 0x555500000000
KERNEL = 0xffffffff81000000
NOWHERE = 0x10000
LONG = os.path.join(os.environ["PTL_PROGRAMS"], "endless")
TYPE = 0x1 | 0x2 | 0x4 | 0x20 | 0x80 | 0x100 | 0x10000  # IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER
CLOCK, FAULTS = 1, 2
NAMES = {CLOCK: "cpu-clock", FAULTS: "page-faults:u"}
THREADS = [(100, 100, "first"), (100, 101, "first"), (200, 200, "second"), (200, 201, "second")]
UNKNOWN = "[unknown]"


# ---- a perf.data file ------------------------------------------------------------------------------------

class Code:
    """The functions of the program, where it is mapped."""

    def __init__(self):
        for line in output("readelf", "-lW", PROGRAM).splitlines():
            match = re.match(r" +LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ +R E", line)
            if match:
                self.offset, self.address, self.size = (int(number, 16) for number in match.groups())
        self.functions = []
        for line in output("nm", "-S", "--defined-only", PROGRAM).splitlines():
            match = re.match(r"(\w+) (\w+) [Tt] ([a-z]\w*)$", line)
            if match and int(match[2], 16) >= 12:
                self.functions.append((match[3], int(match[1], 16), int(match[2], 16)))
        self.functions = sorted(self.functions)[:6]

    def at(self, address):
        return address - self.address + BASE

    def map(self, pid, name):
        """A copy of the program, under the name that the process has."""
        shutil.copy(PROGRAM, path(name))
        info, size = os.stat(path(name)), -(-self.size // 4096) * 4096
        body = struct.pack("<IIQQQIIQQII", pid, pid, BASE & -4096, size, self.offset & -4096, os.major(info.st_dev),
                           os.minor(info.st_dev), info.st_ino, 0, 5, 2) + text(path(name))
        return entry(10, body + bytes(-len(body) % 8) + trailer(pid, pid, 0), 2)


def cpu_of(time):
    return time // 1000 % 2


def trailer(pid, tid, time):
    return struct.pack("<IIQIIQ", pid, tid, time, 0, 0, CLOCK)


def sample(event, pid, tid, time, period, chain):
    body = struct.pack("<QQIIQIIQQ", event, chain[0], pid, tid, time, cpu_of(time), 0, period, len(chain))
    return entry(9, body + struct.pack(f"<{len(chain)}Q", *chain), 2)


def perf_data(records):
    """As perf writes it: two events of software, with their names."""
    data, size = b"".join(records), 112
    attrs, names = b"", struct.pack("<II", len(NAMES), size)
    for number, (event, name) in enumerate(NAMES.items()):
        attr = struct.pack("<IIQQQQQ", 1, size, 0 if event == CLOCK else 2, 1, TYPE, 0, 1 << 18).ljust(size, b"\0")
        attrs += attr + struct.pack("<QQ", 104 + 2 * (size + 16) + 8 * number, 8)
        name = text(name).ljust(64, b"\0")
        names += attr + struct.pack("<II", 1, len(name)) + name + struct.pack("<Q", event)
    ids = struct.pack("<QQ", *NAMES)
    start = 104 + len(attrs) + len(ids)
    head = struct.pack("<8sQQQQQQQ", b"PERFILE2", 104, size + 16, 104, len(attrs), start, len(data), 0)
    head += struct.pack("<QQ", 0, 1 << 7 | 1 << 12).ljust(40, b"\0")
    at, cpus = start + len(data) + 32, struct.pack("<II", 2, 2)
    return head + attrs + ids + data + struct.pack("<QQQQ", at, len(cpus), at + len(cpus), len(names)) + cpus + names


class Taken:
    """A sample: whose, when, how much, and the names of its functions, the innermost first."""

    def __init__(self, event, thread, time, period, names):
        self.event, self.thread, self.time, self.period, self.names = event, thread, time, period, names


def make(name, count):
    """Stacks of all kinds: recursion, addresses of nothing, functions of the kernel, returns to the end of a function."""
    code, chance, taken = Code(), random.Random(7), []
    records = [entry(3, struct.pack("<II", pid, pid) + text(word).ljust(8, b"\0") + trailer(pid, pid, 0))
               for pid, tid, word in THREADS if pid == tid]
    records += [code.map(pid, word) for pid, tid, word in THREADS if pid == tid]
    records += [entry(7, struct.pack("<IIIIQ", pid, pid, tid, pid, 999999) + trailer(pid, pid, 999999))
                for pid, tid, _ in THREADS if pid != tid]
    for i in range(count):
        time, thread = 1000000 + 1000 * i, chance.choice(THREADS)
        event = CLOCK if chance.random() < 0.8 else FAULTS
        # Half as wide as they could be, so that paths are met again.
        chosen = [chance.choice(code.functions[:1 + depth % 6]) for depth in range(chance.randint(1, 12))]
        chain = [0xfffffffffffffe00, code.at(chosen[0][1] + chance.randrange(chosen[0][2]))]
        chain += [code.at(start + chance.randint(1, size)) for _, start, size in chosen[1:]]
        names = [function for function, _, _ in chosen]
        if chance.random() < 0.1:
            chain, names = chain + [NOWHERE], names + [UNKNOWN]
        if chance.random() < 0.1:
            chain, names = [0xffffffffffffff80, KERNEL + i, *chain], [UNKNOWN, *names]
        taken.append(Taken(event, thread, time, chance.randint(1, 1000), names))
        records.append(sample(event, *thread[:2], time, taken[-1].period, chain))
    write(name + ".data", perf_data(records))
    done = run(RELOG, "-q", "-f", "-o", name + ".ptl", name + ".data")
    check("the file is read", done.returncode == 0 and not done.stderr, done)
    return taken


# ---- what it says ----------------------------------------------------------------------------------------

def added(taken, groups):
    """{group: [total samples, self samples, total period, self period]}: a group is counted once for a sample."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for one in taken:
        found = groups(one)
        for group in set(found):
            sums[group][0] += 1
            sums[group][2] += one.period
        sums[found[0]][1] += 1
        sums[found[0]][3] += one.period
    return dict(sums)


def report(*arguments):
    return [json.loads(line) for line in output(DUMP, "report", "-q", "--json", *arguments).splitlines()]


def reported(key, *arguments):
    return {key(row): [row["total_samples"], row["self_samples"], row["total_period"], row["self_period"]]
            for row in report(*arguments)}


def function_of(row):
    """Each program has functions of its own; what is in no file has no name."""
    return (row["function"], os.path.basename(row["image"])) if row["image"] else UNKNOWN if row["function"] is None else row["function"] + " of no file"


def of(taken, event):
    return [one for one in taken if one.event == event]


def names_of(one):
    return [name if name == UNKNOWN else (name, one.thread[2]) for name in one.names]


def same(name, got, expected):
    check(name, got == expected and expected, *[(key, got.get(key), expected.get(key)) for key in {*got, *expected}
                                                if got.get(key) != expected.get(key)][:5])


def reports(taken):
    clock = of(taken, CLOCK)
    same("functions, by themselves and with what they called", reported(function_of, "--samples=cpu-clock", "a.ptl"),
         added(clock, names_of))
    same("another event, by its name without what follows", reported(function_of, "--samples=page-faults", "a.ptl"),
         added(of(taken, FAULTS), names_of))
    same("images", reported(lambda row: row["image"] or "", "--samples=cpu-clock", "--by", "image", "a.ptl"),
         added(clock, lambda one: ["" if name == UNKNOWN else path(one.thread[2]) for name in one.names]))
    same("processes", reported(lambda row: (row["pid"], row["name"]), "--samples=cpu-clock", "--by", "process", "a.ptl"),
         added(clock, lambda one: [(one.thread[0], one.thread[2])]))
    same("threads", reported(lambda row: row["tid"], "--samples=cpu-clock", "--by", "thread", "a.ptl"),
         added(clock, lambda one: [one.thread[1]]))
    same("of one process", reported(function_of, "--samples=cpu-clock", "--process=second", "a.ptl"),
         added([one for one in clock if one.thread[0] == 200], names_of))
    same("of one thread", reported(function_of, "--samples=cpu-clock", "--pid=100", "--tid=101", "a.ptl"),
         added([one for one in clock if one.thread[1] == 101], names_of))
    same("of one CPU", reported(function_of, "--samples=cpu-clock", "--cpu=1", "a.ptl"),
         added([one for one in clock if cpu_of(one.time)], names_of))
    start = json.loads(output(DUMP, "info", "--json", "a.ptl"))["clock"]["start_time"]
    same("of a span of time", reported(function_of, "--samples=cpu-clock", "--time=500us..1ms", "a.ptl"),
         added([one for one in clock if 500000 <= one.time - start <= 1000000], names_of))
    same("those of which an expression is true", reported(function_of, "--samples=cpu-clock", "--where", "Period > 500 && event.cpu == 1",
                                                          "a.ptl"),
         added([one for one in clock if one.period > 500 and cpu_of(one.time)], names_of))
    rows = report("--samples=cpu-clock", "a.ptl")
    check("the largest come first, by what was counted", [row["self_period"] for row in rows] ==
          sorted((row["self_period"] for row in rows), reverse=True) and {row["event"] for row in rows} == {"cpu-clock"}, rows[:3])
    both = report("--samples=*", "a.ptl")
    expected = added(taken, names_of)
    check("of several events there is a number, and no period", {function_of(row): [row["total_samples"], row["self_samples"]]
                                                                for row in both} ==
          {name: sums[:2] for name, sums in expected.items()} and "self_period" not in both[0], both[:3])
    got = run(DUMP, "report", "--samples=cpu-clock", "a.ptl")
    check("the columns say what they are of", re.match("TOTAL SAMPLES +% +SELF SAMPLES +% +TOTAL TIME", got.stdout) and
          re.search(r": [\d,]+ samples of cpu-clock \(", got.stderr), got.stdout[:200], got.stderr)
    got = run(DUMP, "report", "--samples=page-faults", "a.ptl")
    check("of what is no clock, too", "TOTAL COUNT" in got.stdout and re.search(r"page-faults:u \([\d,]+ counted\)", got.stderr),
          got.stdout[:200], got.stderr)


def paths(taken, value):
    sums = collections.Counter()
    for one in of(taken, CLOCK):
        names = [os.path.basename(name) for name in one.names]
        sums[(one.thread[2], *reversed(names))] += value(one)
    return dict(sums)


def folded(*arguments):
    lines = output(DUMP, "flamegraph", "-q", "--folded", *arguments).splitlines()
    return {tuple(names.split(";")): int(number) for names, number in (line.rsplit(" ", 1) for line in lines)
            if number != "0"}


def graphs(taken):
    periods, numbers = paths(taken, lambda one: one.period), paths(taken, lambda one: 1)
    same("flamegraph: what was counted", folded("--samples=cpu-clock", "a.ptl"), periods)
    same("flamegraph --by samples: their number", folded("--samples=cpu-clock", "--by", "samples", "a.ptl"), numbers)
    same("flamegraph --reverse", folded("--samples=cpu-clock", "--reverse", "a.ptl"),
         {(names[0], *reversed(names[1:])): value for names, value in periods.items()})
    flat = folded("--samples=cpu-clock", "--depth=2", "a.ptl")
    got = run(DUMP, "flamegraph", "--samples=cpu-clock", "--depth=2", "--folded", "a.ptl")
    deep = sum(value for names, value in numbers.items() if len(names) > 3)
    check("--depth loses nothing, and says what is shown as others'", sum(flat.values()) == sum(periods.values()) and
          f"{deep:,} samples too deep" in got.stderr, got.stderr, deep)
    picture = output(DUMP, "flamegraph", "-q", "--samples=page-faults", "--by", "period", "a.ptl")
    check("the picture says what it is of", "page-faults:u, sampled, by path of calls" in picture and
          'data-unit="page-faults:u"' in picture, picture[:400])
    lines = output(DUMP, "flamegraph", "-q", "--folded", "--samples=cpu-clock", "a.ptl", "a.ptl").splitlines()
    check("two traces have a number each", all(line.split(" ")[-1] == line.split(" ")[-2] for line in lines) and lines, lines[:3])
    for jobs in "123":
        shown = [run(DUMP, command, *more, "-q", "-j", jobs, "--samples=cpu-clock", "a.ptl", text=False).stdout
                 for command, *more in (("report", "--json"), ("flamegraph",), ("speedscope",), ("callgrind",), ("pprof",))]
        if jobs == "1":
            first = shown
        check(f"-j {jobs} gives the same bytes", shown == first and all(shown))


def exports(taken):
    document = json.loads(output(DUMP, "speedscope", "-q", "--samples=cpu-clock", "a.ptl"))
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    sums = {(profile["name"], *(frames[number] for number in stack)): weight for profile in document["profiles"]
            for stack, weight in zip(profile["samples"], profile["weights"])}
    same("speedscope", sums, paths(taken, lambda one: one.period))
    check("speedscope: the unit of a clock", {profile["unit"] for profile in document["profiles"]} == {"nanoseconds"})
    output(DUMP, "pprof", "-q", "--samples=cpu-clock", "-o", "a.pb.gz", "a.ptl")
    with gzip.open(path("a.pb.gz")) as file:
        profile = perfetto_file.fields(file.read())
    texts = [value.decode() for value in perfetto_file.every(profile, 6)]
    kinds = [[texts[perfetto_file.one(perfetto_file.fields(one), number)] for number in (1, 2)]
             for one in perfetto_file.every(profile, 1)]
    sums = [0, 0]
    for one in perfetto_file.every(profile, 2):
        packed, at = perfetto_file.one(perfetto_file.fields(one), 2), 0
        for i in range(2):
            value, at = perfetto_file.varint(packed, at)
            sums[i] += value
        if at != len(packed):
            sums = None
            break
    clock = of(taken, CLOCK)
    check("pprof: samples, and what was counted", kinds == [["samples", "count"], ["cpu-clock", "nanoseconds"]] and
          sums == [len(clock), sum(one.period for one in clock)], kinds, sums)
    text_ = output(DUMP, "callgrind", "-q", "--samples=cpu-clock", "a.ptl")
    check("callgrind: the same sums", f"\ntotals: {len(clock)} {sum(one.period for one in clock)}\n" in text_ and
          "\nevents: Samples Periods\n" in text_, text_[:300], text_[-100:])
    name = Code().functions[0][0]
    rows = [json.loads(line) for line in output(DUMP, "graph", "-q", "--json", "--samples=cpu-clock", name, "a.ptl").splitlines()]
    whole = added(clock, lambda one: one.names)[name]
    check("graph: a function is what report says", [rows[0][member] for member in (
        "total_samples", "self_samples", "total_period", "self_period")] == whole and "calls" not in rows[0], rows[0], whole)


def large():
    """A trace that is gone through in several spans of time gives the same, with any number of threads."""
    taken = make("large", 90000)
    same("many samples", reported(function_of, "--samples=cpu-clock", "large.ptl"), added(of(taken, CLOCK), names_of))
    info = json.loads(output(DUMP, "info", "--json", "large.ptl"))
    check("they are several spans", sum(one["bytes"] for one in info["streams"] if one["kind"] == "events") > 2 << 22, info["streams"])
    for command in ("report", "speedscope", "callgrind"):
        shown = {run(DUMP, command, "-q", "-j", jobs, "--samples=*", "large.ptl").stdout for jobs in "124"}
        check(f"{command}: any number of threads gives the same", len(shown) == 1 and all(shown))


# ---- what cannot be -----------------------------------------------------------------------------------

def mistakes():
    got = run(DUMP, "report", "--samples", "a.ptl")
    check("several events: the user chooses", got.returncode == 2 and re.search(
        r"cpu-clock \([\d,]+\), page-faults:u \([\d,]+\)", got.stderr), got)
    got = run(DUMP, "flamegraph", "--samples=cycles", "a.ptl")
    check("an event that is not there: those that are", got.returncode == 2 and "'cycles'" in got.stderr and
          "page-faults:u (" in got.stderr and not got.stdout, got)
    got = run(DUMP, "report", "--samples=Image/*", "a.ptl")
    check("an event without stacks", got.returncode == 2 and "have no stacks" in got.stderr, got)
    for command in ("report", "flamegraph", "speedscope"):
        got = run(DUMP, command, "a.ptl")
        check(f"{command} without Intel PT says what there is", got.returncode == 0 and "has no Intel PT" in got.stderr and
              "try: --samples" in got.stderr, got)
    for words, said in ((("flamegraph", "--samples", "--by", "instructions"), "samples and period"),
                        (("flamegraph", "--by", "period"), "needs --samples"),
                        (("flamegraph", "--samples=*", "--by", "period"), "have periods"),
                        (("report", "--samples", "--by", "line"), "--by line"),
                        (("report", "--samples", "--sort", "calls"), "self, total or name"),
                        (("pprof", "--samples", "--lines", "-o", "x"), "--lines"),
                        (("graph", "--where", "Period > 1", "main"), "needs --samples"),
                        (("callgrind", "--samples", "--where", "Period >"), "--where"),
                        (("report", "--samples", "--partial", "part"), "--samples does not go with partial results")):
        got = run(DUMP, *words, "a.ptl")
        check(f"{' '.join(words)}: refused", got.returncode == 2 and said in got.stderr, got)
    got = run(DUMP, "report", "--samples", "-w", "Colour == 1", "a.ptl")
    check("no event has such a field", got.returncode == 0 and "has a field called Colour" in got.stderr, got)
    got = run(DUMP, "report", "--samples=cpu-clock", "--time=0..1ns", "a.ptl")
    check("nothing in the span of time", got.returncode == 0 and "in the span of --time" in got.stderr, got)


def fixed_period():
    """perf record -c: samples do not say what is the same for all of them."""
    global TYPE
    whole, TYPE = TYPE, TYPE & ~0x100
    body = struct.pack("<QQIIQIIQQ", CLOCK, NOWHERE, 100, 100, 1000000, 0, 0, 1, NOWHERE)
    write("fixed.data", perf_data([entry(9, body, 2)] * 3).replace(struct.pack("<QQ", 1, TYPE), struct.pack("<QQ", 4711, TYPE)))
    TYPE = whole
    run(RELOG, "-q", "-f", "-o", "fixed.ptl", "fixed.data")
    got = report("--samples", "fixed.ptl")
    check("a fixed period is that of each sample", got and (got[0]["total_samples"], got[0]["total_period"]) == (3, 3 * 4711), got)


# ---- losses -------------------------------------------------------------------------------------------

def losses():
    record = entry(2, struct.pack("<QQ", CLOCK, 17) + trailer(100, 100, 1500000))
    write("lost.data", perf_data([sample(CLOCK, 100, 100, 1000000, 5, [NOWHERE]), record]))
    run(RELOG, "-q", "-f", "-o", "lost.ptl", "lost.data")
    for words in (("events",), ("events", "--count"), ("report", "--samples")):
        got = run(DUMP, *words, "lost.ptl")
        check(f"{' '.join(words)}: what was lost is said", got.returncode == 0 and
              len(re.findall("warning: 17 events were lost", got.stderr)) == 1, got)
    got = run(DUMP, "events", "a.ptl")
    check("and nothing where nothing was", not got.stderr, got.stderr)


# ---- perf ---------------------------------------------------------------------------------------------

def with_perf():
    """Samples without stacks are those of the functions that they were taken in."""
    done = run("perf", "record", "-q", "-F", "5000", "-e", "cpu-clock:u", "-o", "p.data", "--", LONG) if shutil.which("perf") else None
    if not done or done.returncode:
        skip("perf script says the same", "perf cannot record here")
        return
    run(RELOG, "-q", "-f", "-o", "p.ptl", "p.data")
    ours = {row["function"]: row["self_samples"] for row in report("--samples", "--image=" + os.path.basename(LONG), "p.ptl")
            if row["function"]}
    shown = run("perf", "script", "-i", "p.data", "-F", "ip,sym,dso").stdout
    theirs = collections.Counter(re.findall(rf"^ *[0-9a-f]+ (\w+)(?:@plt)? \({LONG}\)$", shown, re.M))
    same("perf script says the same", ours, dict(theirs))


taken = make("a", 3000)
reports(taken)
graphs(taken)
exports(taken)
large()
mistakes()
fixed_period()
losses()
with_perf()
plan()
