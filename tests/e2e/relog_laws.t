#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What holds of relogging whatever the trace: laws, on traces, rules and cuts made by chance. PTL_SEED=number tries others
# (the default is one seed, so that a run is as the last one), PTL_LAWS=number more of each.
import json
import os
import random

from scratch_test import DUMP, RELOG, labelled, output as run, plan, scratch

TOOLS = os.environ["PTL_TEST_TOOLS"]
SEED = int(os.environ.get("PTL_SEED", "1"))
ROUNDS = int(os.environ.get("PTL_LAWS", "4"))
GUID = "5d1e4a7c-3b52-4f19-9a20-7c1d2e3f4a5b"
START = 10_000_000
check = labelled(f"seed {SEED}")


def relog(*arguments):
    run(RELOG, "-q", "-f", *arguments)
    return arguments[arguments.index("-o") + 1]


def blocks(name):
    """The records and events of a trace, each with the lines that belong to it."""
    found = []
    for line in run(os.path.join(TOOLS, "ptl_canonical"), name).splitlines():
        if line.startswith("  ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def content(name, *without):
    """All but the file's own name, the layout of metadata, the history, and what else is named."""
    left_out = ("file ", "stream 0 ", "provenance", "  input", *without)
    return sorted(block for block in blocks(name) if not block.startswith(left_out))


def events(name, injected=False):
    """Sorted; those that rewriting has added only where they are wanted."""
    return sorted(block for block in blocks(name) if block.startswith("event ") and
                  (injected or not int(block.split()[13]) & 4))


def difference(left, right):
    for a, b in zip(left + [None], right + [None]):
        if a != b:
            return f"{len(left)} and {len(right)}\nleft  {a}\nright {b}"
    return "no difference"


def same(name, left, right):
    check(name, left == right, difference(left, right))


# ---- traces ------------------------------------------------------------------------------------------------------------

NAMES = ["/home/alice/plan.txt", "/usr/lib/libc.so", "/srv/secret/alice.key", "alice", "Bob", "", "x" * 40, "/tmp/ü"]


class Life:
    """A trace of processes that fork, execute, map, unmap, and write events; the same for the same generator."""

    def __init__(self, generator, first_pid=100, steps=60, wide=0, wall=1_700_000_000_000_000_000, losses=0):
        self.random, self.time, self.next, self.wide = generator, START, first_pid, wide
        self.live, self.lines = {}, []
        self.lines += [f"machine source=qemu software=1 clock=1 start={START} end={START + 500_000_000} wall={wall}",
                       "bytes CODE 90 90 c3", "bytes MORE 55 c3 90 90",
                       f"schema provider={GUID} id=1 version=0 opcode=0 provider_name=Life event_name=Told task_name= "
                       "opcode_name= fields=Number:5:0,Name:17:0,List:3:0:0:2,Last:7:0"]
        self.begin(0)
        for _ in range(steps):
            self.step()
        for _ in range(losses):
            self.lose()

    def lose(self):
        first, last = sorted(self.random.randint(START, START + 4_000_000) for _ in range(2))
        span = self.random.choice(["", f"first={first}", f"last={last}", f"first={first} last={last}"])
        self.lines += [f"loss kind={self.random.choice([1, 2])} count={self.random.randint(1, 3)} bytes={self.random.randint(0, 9)} "
                       f"pid={self.random.choice(['100', '4294967295'])} {span} "
                       f"cause=c{self.random.randint(0, 1)}"] * self.random.choice([1, 1, 2])

    def begin(self, parent):
        pid, self.next = self.next, self.next + 1
        self.live[pid] = set()
        self.lines += [f"process start pid={pid} parent={parent} time={self.time} key={pid} "
                       f"image=/bin/{self.random.choice('abc')} command=run opcode=1",
                       f"thread pid={pid} tid={pid} opcode=1 time={self.time} name=main"]

    def image(self, pid):
        base = 0x10000 * self.random.randint(1, 4)
        load = base not in self.live[pid]
        (self.live[pid].add if load else self.live[pid].remove)(base)
        self.lines.append(f"image pid={pid} opcode={10 if load else 2} base={base:#x} size=4096 offset=0 default=0 "
                          f"path={self.random.choice(NAMES[:3])} prot=5 code={self.random.choice(['CODE', 'MORE'])} "
                          f"time={self.time}")

    def event(self, pid):
        name = self.random.choice(NAMES)
        items = [self.random.randint(0, 65535) for _ in range(self.random.randint(0, 4))]
        payload = (self.random.randint(0, 2**32 - 1).to_bytes(4, "little") + name.encode() + b"\0" +
                   len(items).to_bytes(2, "little") + b"".join(i.to_bytes(2, "little") for i in items) +
                   self.random.randint(0, 2**64 - 1).to_bytes(8, "little") + self.random.randbytes(self.wide))
        self.lines.append(f"event provider={GUID} id=1 version=0 opcode=0 level={self.random.randint(1, 5)} channel=0 "
                          f"task=0 keyword={self.random.randint(0, 3)} pid={pid} tid={pid} time={self.time} "
                          f"payload={payload.hex()}")

    def step(self):
        self.time += self.random.randint(0, 100_000)
        pid, what = self.random.choice(list(self.live)), self.random.random()
        if what < 0.1 and len(self.live) < 6:
            self.begin(pid)
        elif what < 0.15 and len(self.live) > 1:
            del self.live[pid]
            self.lines += [f"thread pid={pid} tid={pid} opcode=2 time={self.time} name=main",
                           f"process end pid={pid} parent=0 time={self.time} key={pid} status=0 image=/bin/a command=run "
                           "opcode=2"]
        elif what < 0.4:
            self.image(pid)
        else:
            self.event(pid)

    def write(self, name):
        with open(f"{scratch}/{name}.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")
        run(os.path.join(TOOLS, "make_sample"), f"{name}.txt", f"{name}.ptl")
        return f"{name}.ptl"


# ---- rules -------------------------------------------------------------------------------------------------------------

def statement(generator):
    """One that changes nothing the second time."""
    wanted = generator.choice(["", f" level {generator.randint(1, 5)}", f" keyword {generator.randint(1, 2)}",
                               f" pid {generator.randint(100, 104)}", " where any(i in List, List[i] > 40000)",
                               f' where Name like "*{generator.choice("abx")}*"', " where count(i in List, true) == 2"])
    action = generator.choice([f"set event.level = {generator.randint(1, 5)};", "set Name = lower(Name);",
                               f"set Number = Number & {generator.randint(0, 2**32 - 1)};",
                               f"for i in List {{ set List[i] = List[i] | {generator.randint(0, 65535)}; }}",
                               "set Last = len(Name);", "drop;", "set Name = basename(Name);",
                               f"set event.cpu = {generator.randint(0, 3)};"])
    return f"on life{wanted} {{ {action} }}\n"


def rules(name, *statements):
    with open(f"{scratch}/{name}", "w", encoding="utf-8") as file:
        file.write(f'provider "{GUID}" as life;\n' + "".join(statements))
    return name


NOTHING = ["on any { keep; }\n", "on any where false { drop; }\n", "on life { set Number = Number; set Name = Name; }\n",
           "on life { for i in List { set List[i] = List[i] ^ 0; } set event.level = event.level; }\n",
           'rename "/nowhere/*" to "/$1";\n', "on life nth 100000.. { drop; }\n", "on process { set ParentId = ParentId; }\n"]

generator = random.Random(SEED)
for number in range(ROUNDS):
    whole = Life(generator).write("whole")
    relog(whole, "--rules", rules("nothing", *generator.sample(NOTHING, 3)), "-o", "same.ptl")
    same("rules that change nothing give equal content", content(whole), content("same.ptl"))

    # A rule by itself: of several, one may undo what another did.
    text = statement(generator)
    relog(whole, "--rules", rules("once", text), "-o", "once.ptl")
    relog("once.ptl", "--rules", "once", "-o", "twice.ptl")
    same(f"twice is once: {text.strip()}", content("once.ptl"), content("twice.ptl"))

    # ---- cuts ------------------------------------------------------------------------------------------------------------
    def window():
        low, high = sorted(generator.randint(0, 4_000_000) for _ in range(2))
        return low, high

    def cut(source, target, *options):
        return relog(source, *options, "-o", target)

    (a, b), (c, d) = window(), window()
    cut(whole, "cut.ptl", "--time", f"{a}ns..{b}ns")
    cut("cut.ptl", "again.ptl", "--time", f"{a}ns..{b}ns")
    same("a cut twice is the cut", content("cut.ptl", "loss", "stream"), content("again.ptl", "loss", "stream"))
    low, high = max(a, c), min(b, d)
    if low <= high:
        cut("cut.ptl", "inner.ptl", "--time", f"{c}ns..{d}ns")
        cut(whole, "both.ptl", "--time", f"{low}ns..{high}ns")
        same("cut and cut again is the cut to what both have", events("inner.ptl"), events("both.ptl"))
    pid = generator.choice(sorted({int(line.split("pid=")[1].split()[0]) for line in
                                   open(f"{scratch}/whole.txt", encoding="utf-8") if line.startswith("process start")}))
    cut(whole, "both.ptl", "--pid", str(pid), "--time", f"{a}ns..{b}ns")
    cut(whole, "pid.ptl", "--pid", str(pid))
    cut("pid.ptl", "pid-time.ptl", "--time", f"{a}ns..{b}ns")
    same("a process, then a time, is both at once", events("both.ptl"), events("pid-time.ptl"))

    # ---- merges ----------------------------------------------------------------------------------------------------------
    parts = [Life(generator, first_pid=100 * n, steps=30).write(f"part{n}") for n in (1, 2, 3)]
    relog(*parts, "-o", "three.ptl")
    relog(*parts[:2], "-o", "first.ptl")
    relog("first.ptl", parts[2], "-o", "left.ptl")
    relog(*parts[1:], "-o", "last.ptl")
    relog(parts[0], "last.ptl", "-o", "right.ptl")
    same("(a, b), c is a, b, c", content("left.ptl"), content("three.ptl"))
    same("a, (b, c) is a, b, c", content("right.ptl"), content("three.ptl"))

    # ---- losses, and machines without a wall clock -----------------------------------------------------------------------
    lossy = Life(generator, losses=6).write("lossy")
    relog(lossy, "-o", "copy.ptl")
    same("a copy has the content", content(lossy), content("copy.ptl"))
    relog(lossy, lossy, "-o", "copy.ptl")
    same("a trace merged with itself is the trace", content(lossy), content("copy.ptl"))
    one, other, third = (Life(generator, first_pid=100 * n, steps=20, losses=3, wall=wall).write(f"clock{n}")
                         for n, wall in ((1, 0), (2, 0), (3, 1_700_000_000_000_000_000 - generator.randint(0, 10**9))))
    relog(one, other, "-o", "machines.ptl")
    relog(third, one, "-o", "mixed.ptl")
    for title, trace in (("losses", lossy), ("no wall clock", one), ("two machines without a wall clock", "machines.ptl"),
                         ("a machine without a wall clock", "mixed.ptl")):
        low, high = sorted(generator.randint(0, 2_000_000) for _ in range(2))
        relog(trace, "--time", f"..{high}ns", "-o", "low.ptl")
        relog(trace, "--time", f"{low}ns..", "-o", "high.ptl")
        for order in (("low.ptl", "high.ptl"), ("high.ptl", "low.ptl")):
            relog(*order, "-o", "joined.ptl")
            same(f"{title}: {' and '.join(order)} together are the trace", content(trace, "stream"), content("joined.ptl", "stream"))

    # ---- redaction -------------------------------------------------------------------------------------------------------
    with open(f"{scratch}/key", "wb") as file:
        file.write(generator.randbytes(32))
    keyed = ["--redact", generator.choice(["all", "paths", "users"]), "--redact", "text:alice", "--redact-key", "key"]
    for trace, target in ((parts[0], "red0"), (parts[1], "red1"), (parts[0], "red2")):
        relog(trace, *keyed, "-o", f"{target}.ptl")
    same("redaction with a key is the same in every run", content("red0.ptl"), content("red2.ptl"))

    def tokens(before, after):
        """What became of each name, by the events in their order."""
        pairs = set()
        for old, new in zip(*(run(DUMP, "events", "--json", "--provider", "Life", name).splitlines()
                              for name in (before, after))):
            pairs.add((json.loads(old)["fields"]["Name"], json.loads(new)["fields"]["Name"]))
        return pairs

    one, two = tokens(parts[0], "red0.ptl"), tokens(parts[1], "red1.ptl")
    known = [old for old, _ in one | two]
    check("the same text has the same token, in every trace", len(set(known)) == len(one | two),
          sorted(one), sorted(two))
    check("and nothing of it is left", not any("alice" in new for _, new in one | two), one | two)

# ---- parts ---------------------------------------------------------------------------------------------------------------

whole = Life(generator, steps=4000, wide=60).write("large")
relog(whole, "--split", "96K", "-o", "split.ptl")
names = sorted((name for name in os.listdir(scratch) if name.startswith("split.")), key=lambda name: int(name.split(".")[1]))
relog(*names, "-o", "joined.ptl")
same(f"{len(names)} parts together have each event once", events(whole), events("joined.ptl"))
for view in ("processes", "images"):
    same(f"and report the same {view}", sorted(run(DUMP, view, "--json", whole).splitlines()),
         sorted(run(DUMP, view, "--json", "joined.ptl").splitlines()))
check("there were several", len(names) > 2 and len(events(whole)) > 3000, names)
backwards = relog(*reversed(names), "-o", "backwards.ptl")
same("in whatever order they are given", events("joined.ptl"), events(backwards))

plan()
