#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks ptl-dump and ptl-relog with damaged files and with small files that expand to much data.

    make attack SECONDS=N

builds both with sanitizers and runs this program. A case is a file, made from a seed alone, and some commands that read the file. These
laws must hold:

  - a command reports a damaged input (judge.py tells which are) by exit status 3 and a message, and no undamaged input
  - if any command reports damage, ptl-dump info --check does, too
  - an output that ptl-relog writes with exit status 0 is sound, or its input was damaged inside a buffer with correct checksums,
    which ptl-relog copies and --check finds; also for inputs of other formats
  - commands end for a file by name, by standard input, by a pipe, and with --follow if the file has no writer
  - exports.py can read the output of each export
  - no command crashes, hangs, leaks, or exceeds the time and memory that law.py states for the size of the file

A case that breaks a law is reported with the command that repeats the case, and its files are kept. In the environment:

    PTL_ATTACK_FIRST=SEED     seed of the first case, counted up for further cases; random by default
    PTL_ATTACK_CASES=N        number of cases, instead of SECONDS
    PTL_ATTACK_JOBS=N         number of parallel cases; by default one per CPU
    PTL_ATTACK_KEEP=FOLDER    folder for files of broken laws
"""
import glob
import multiprocessing
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = os.environ["PTL_TESTS"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TESTS, "reader"))
sys.path.insert(0, os.path.join(TESTS, "e2e"))
import bombs  # noqa: E402
import damage  # noqa: E402
import exports  # noqa: E402
import foreign  # noqa: E402
import judge  # noqa: E402
import law  # noqa: E402
import samples  # noqa: E402
import structure  # noqa: E402

TOOLS = os.environ["PTL_TEST_TOOLS"]
BROKEN_MAX = 5  # broken laws after which the attack ends
BOMB_SHARE = 40  # one of BOMB_SHARE cases is a bomb; the first bomb cases cover every bomb
RULES = """provider 11112222-3333-4444-5555-666677778888 as work;
on work id 7 { drop; }
on work id 8 { image load { base = 0x700000; size = 4096; path = "plugin"; } }
image process "a" { path = "plugin"; base = 0x600000; size = 4096; load = start; }
"""
# Commands of ptl-dump with options: a case takes some of the options, and one of the words with a bar between them.
DUMP = {
    "info": ["--json", "--ignore-index"],
    "processes": ["--threads", "--json", "--time ..1ms", "--ignore-index", "--pid 101"],
    "crash": ["--json", "--most 9", "--jobs 1", "--ignore-index"],
    "images": ["--json", "--unmapped|--unmapped --engine libipt|--image *a*", "--time 1us..", "--ignore-index"],
    "events": ["--json|--csv|--xml|--count|--tree|--count --json|--tree --json", "--verbose", "--time ..500us",
               "--provider My-*", "--event *Work*", "--level warning",
               "--where Count>1", "--tid 101,102", "--absolute", "--ignore-index"],
    "cpu": ["--json", "--by slice|--by thread|--by waker|--by chain", "--time ..500us", "--limit 3", "--ignore-index"],
    "io": ["--json", "--by use|--by process", "--of disk|--of file", "--time 1us..", "--limit 3", "--ignore-index"],
    "packets": ["--raw", "--json", "--kind psb,tnt,tip", "--time 1us..", "--ignore-index"],
    "flow": ["--level insn", "--level branch", "--merge", "--source", "--bounds", "--json", "--time ..500us",
             "--jobs 1", "--demangle", "--ignore-index", "--image *a*"],
    "stats": ["--hash", "--json", "--gaps 100", "--engine libipt", "--jobs 1", "--ignore-index", "--time 1us.."],
    "verify": ["--json", "--against libipt-insn", "--jobs 1", "--ignore-index"],
    "lint": ["--json|--github", "--limit decoded=50", "--limit damage=any", "--jobs 1", "--ignore-index"],
    "annotate": ["--json", "--executed", "--jobs 1", "--ignore-index"],
    "diff": ["--json", "--first", "--ignore a*", "--jobs 1", "--ignore-index"],
    "calls": ["--json", "--min-time 10ns", "--depth 3", "--time ..500us", "--jobs 1", "--ignore-index"],
    "report": ["--by thread|--by image|--by line|--by inline", "--json", "--time 1us..", "--jobs 1", "--ignore-index"],
    "latency": ["--json", "--time ..500us", "--jobs 1", "--ignore-index"],
    "why": ["--json", "--slowest 50%|--slower-than 1ns|--slow depth==1", "--instructions", "--time ..500us", "--limit 3", "--jobs 1",
            "--ignore-index"],
    "graph": ["--json", "--depth 3", "--jobs 1", "--ignore-index"],
    **exports.DUMP,
}
# Arguments before the trace, one of each list: some code, and an equal trace.
OPERANDS = {"annotate": [["0x0..0xffffffffffff"]], "diff": [["in.ptl"]], "latency": [["*"]], "graph": [["*"]], "why": [["*"], ["square"]],
            **exports.OPERANDS}
# Further statuses of some commands: a requested thread did not run, or the flow has no times.
MORE = {"verify": (1,), "lint": (1,), "crash": (1,), "annotate": (2,), "latency": (2,), "graph": (2,), "why": (2,), "timeline": (2,)}
SELECTIONS = {"--pid", "--tid", "--where", "--image", "--provider", "--event", "--time", "--last", "--source"}
WINDOWS = ["--around event.id==1 --before 1us --after 1us", "--around event.level<=5 --after 2us --together",
           "--between event.id==1 --and event.id==2", "--calls square --slowest 2", "--calls square --together --before 10us"]
# These need whole inputs, and do not go with standard input or --follow.
TWICE = {"--around", "--between", "--calls", "--anchor", "--order", "--offset"}
RELOG = ["", "--recompress 3", "--recompress 0", "--time ..500us", "--time 1us..2us", "--pid 101", "--tid 102", "--process a",
         "--process a --tree", "--drop-pt", "--drop-code", "--redact all", "--redact paths --redact regex:[a-z]+[0-9]*",
         "--redact field:*", "--rules RULES", "--rules RULES --replace", "OTHER", "OTHER --redact users", "INPUT", "--hash none",
         "--split 64K", "--memory-limit 64M", "--sync", "--time ..1ms --redact commands --pid 101", "--hash sha256", *WINDOWS,
         "OTHER --offset other.ptl=+1us --machine other.ptl=other", "OTHER --anchor event.id==1",
         "OTHER --order event.id==1 --then event.id==2"]


def settings():
    first = os.environ.get("PTL_ATTACK_FIRST") or str(random.SystemRandom().randrange(1 << 32))
    return int(first), int(os.environ.get("PTL_ATTACK_CASES") or 0), float(os.environ.get("PTL_ATTACK_SECONDS") or 60)


def seeds(folder):
    """Returns small files to damage: (sound traces, other inputs of ptl-relog)."""
    made, others, texts = [], {"packets": []}, os.path.join(TESTS, "golden", "samples")
    for name in sorted(glob.glob(os.path.join(texts, "*.pt.txt"))):
        out = os.path.join(folder, os.path.basename(name)[:-len(".txt")])
        subprocess.run([os.path.join(TOOLS, "pt_assemble"), "-o", out, name], check=True)
        with open(out, "rb") as file:
            others["packets"].append(file.read())
    for name in sorted(glob.glob(os.path.join(texts, "*.sample"))):
        out = os.path.join(folder, os.path.basename(name)[:-len("sample")] + "ptl")
        subprocess.run([os.path.join(TOOLS, "make_sample"), name, out], cwd=folder, check=True)
        with open(out, "rb") as file:
            # The file's id is random, but the same seed must make the same file.
            made.append(with_id(file.read(), samples.GUID))
    made += recorded(folder)
    # Files that take the second reader too long are left out.
    made += [data for _, data in samples.good() if len(data) < 100000]
    for name in ("perf_data", "etl", "event_header_file"):
        others[name] = list(foreign.corpus(TESTS, name))
    return made, others


# A program with few packets and with all kinds of debug information: functions, inlined calls, types and lines.
PROGRAM = """static int square(int x) { return x * x; }
static inline __attribute__((always_inline)) int sum(int x) { int s = 0; for (int i = 0; i < x; i++) s += square(i); return s; }
void _start(void) { volatile int r = sum(5) + sum(3); (void)r; __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall"); }
"""


def recorded(folder):
    """Returns traces of a program, with the program's ELF file and DWARF. Each recording differs from the last."""
    source, program, traces = os.path.join(folder, "program.c"), os.path.join(folder, "program"), []
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    for embed, options in (("sources", ["-gdwarf-5"]), ("debug", ["-gdwarf-4", "-ffunction-sections"])):
        subprocess.run(["gcc", "-O1", "-fno-inline", "-nostdlib", "-static", *options, "-o", program, source], check=True)
        out = os.path.join(folder, "recorded.ptl")
        subprocess.run([os.path.join(os.environ["PTL_BIN"], "ptl-record"), "-q", "-f", f"--embed={embed}", "-o", out, "--", program], check=True)
        with open(out, "rb") as file:
            traces.append(file.read())
    return traces


def with_id(data, guid):
    file = damage.File(data)
    file.header[16:32] = guid
    for buffer in file.buffers:
        damage.put(buffer.header, damage.BUFFER_FIELDS["file_id"], int.from_bytes(guid[:8], "little"))
    return bytes(file)


class Case:
    """A file and the commands for the file. say() gets broken laws."""

    def __init__(self, seed, folder, traces, others, bomb=None):
        self.random, self.folder, self.traces, self.others = random.Random(seed), folder, traces, others
        self.runs, self.broken, self.bomb = 0, [], bomb
        self.damage = ""  # what info --check says of the input

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def run(self, statuses, *command):
        """Returns the finished run, or None after a broken law."""
        return self.run_from(None, None, statuses, *command)

    def run_from(self, source, way, statuses, *command):
        done = law.run(list(command), self.folder, *self.size, source=source, way=way)
        self.runs += 1
        what = law.broken(done, statuses)
        if what:
            self.say(what, done)
            return None
        return done

    def say(self, what, *dones):
        lines = [f"{self.what}: {what}"]
        for done in dones:
            lines += [f"  $ {done.words()}", f"  status {done.status}"]
            lines += ["  |" + line[:300] for line in done.stderr.splitlines()[:40]]
        self.broken.append("\n".join(lines))

    # ---- traces ----

    def attack(self):
        choice = self.random.random()
        if self.bomb:
            self.what, data = self.bomb[0], self.bomb[1]()
            self.size = measure(data)
            self.write("in.ptl", data)
            self.attack_trace(None)
        elif choice < 0.8:
            data, self.what = damage.damaged(self.random.choice(self.traces), self.random, self.traces,
                                             structure.CHANGES if self.random.random() < 0.5 else damage.CHANGES)
            self.size = measure(data)
            self.write("in.ptl", data)
            self.attack_trace(judge.judge(data))
        else:
            self.random.choice((self.attack_perf, self.attack_etl, self.attack_event_header, self.attack_raw))()

    def attack_trace(self, verdict):
        statuses = {judge.SOUND: (0,), judge.DAMAGED: (3,), judge.REFUSED: (3,)}.get(verdict, (0, 3))
        checked = self.run(statuses, law.DUMP, "info", "--check", "in.ptl")
        if not checked:
            return
        self.damage = checked.stderr
        if checked.status == 3 and "in.ptl" not in checked.stderr:
            self.say("a message that does not name the file", checked)
        for name in self.random.sample(list(DUMP), 8 if self.bomb else 3):
            self.dump(name, checked, verdict)
        for options in self.random.sample(RELOG, 4 if self.bomb else 2):
            self.relog(options.split(), checked, verdict)

    def dump(self, name, checked, verdict):
        options = [word for option in self.random.sample(DUMP[name], self.random.choice((0, 1, 1, 2)))
                   for word in self.random.choice(option.split("|")).split()]
        # Selections may name ids missing in the trace, and engines may differ.
        statuses = (0, 2, 3) if SELECTIONS & set(options) else (0, 3)
        statuses = (3,) if verdict == judge.REFUSED else statuses + MORE.get(name, ())
        operands = self.random.choice(OPERANDS.get(name, [[]]))
        # A second, equal trace stands behind the other words.
        more = ["in.ptl"] if "in.ptl" in options else []
        options = [word for word in options if word != "in.ptl"]
        done = self.run(statuses, law.DUMP, name, *options, *operands, "in.ptl", *more)
        if done and done.status == 3 and checked.status == 0 and "--ignore-index" not in options:
            self.say("damaged for one command, and sound for info --check", checked, done)
        if done and name == "lint" and done.status == 0 and checked.status == 3 and not {"damage=any", "--ignore-index"} & set(options):
            self.say("damage that lint passes over", checked, done)
        self.judge_export(name, done)
        if done and not self.bomb and not more and self.random.random() < 0.15:
            self.again("in.ptl", done, law.DUMP, name, *options, *operands, "-")

    def judge_export(self, name, done):
        """Checks that an output has its format, even for a damaged trace. A bomb's output may be long."""
        if not done or done.status not in (0, 3) or not (name in exports.READERS or name in exports.FOLDER_READERS):
            return
        if done.status == 3 and (not done.output or name in exports.FOLDER_READERS):
            return
        if len(done.output) < law.OUTPUT_MAX:
            what = exports.wrong(name, self.folder, done.output, done.command)
            if what:
                self.say(f"an output that is not of its format: {what}", done)

    def again(self, source, done, *command):
        """Checks that a command ends equally for standard input and for the file's name."""
        way = self.random.choice(("file", "pipe"))
        other = self.run_from(source, way, (0, 1, 2, 3), *command)
        if other and other.status != done.status and not ("--follow" in command and self.is_late(done, other)):
            self.say("another exit status by standard input", done, other)

    def relog(self, options, checked, verdict):
        more = {"INPUT": "in.ptl", "OTHER": "other.ptl", "RULES": "rules"}
        if "OTHER" in options:
            self.write("other.ptl", self.random.choice(self.traces))
        self.write("rules", RULES.encode())
        options = [more.get(word, word) for word in options]
        check = ["--check"] if self.random.random() < 0.25 and "--split" not in options else []
        self.relog_into(options + check, checked, verdict, bool(check))

    def relog_into(self, options, checked, verdict, check):
        for name in glob.glob(self.path("out*")):
            os.remove(name)
        # A requested id may be missing, or may not fit a damaged trace.
        # A bomb may need more memory than --memory-limit allows.
        statuses = (0, 2, 3) + ((1,) if check else ()) + ((4,) if self.bomb else ())
        done = self.run(statuses, law.RELOG, "-q", "-o", "out.ptl", "in.ptl", *options)
        outputs = sorted(glob.glob(self.path("out*.ptl")))
        if not done:
            return
        if done.status == 4 and "--memory-limit" not in done.stderr:
            self.say("refused by the system", done)
        if not self.bomb and not check and not TWICE & set(options) and self.random.random() < 0.15:
            self.relog_otherwise("in.ptl", done, options)
        if verdict == judge.REFUSED and (done.status == 0 or outputs):
            self.say("an output of no trace", done)
        if done.status == 0 and not outputs:
            self.say("no output", done)
        if done.status == 3 and checked.status == 0 and outputs:
            self.say("damaged for ptl-relog, and sound for info --check", checked, done)
        for output in outputs:
            self.judge_output(output, options, done, checked, check)

    def relog_otherwise(self, name, done, options):
        """Runs ptl-relog with standard input, or with --follow, which must not wait for a file without a writer."""
        start = (law.RELOG, "-q", "-f", "-o", "out-otherwise")
        # Parts need several passes over the input, which standard input does not allow.
        choice = self.random.randrange(3) if "--split" not in options else 2
        if choice == 0:
            self.again(name, done, *start, "-", *options)
        elif choice == 1:
            self.again(name, done, *start, "--follow", "-", *options)
        else:
            other = self.run((0, 1, 2, 3), *start, "--follow", name, *options)
            if other and other.status != done.status and not self.is_late(done, other):
                self.say("another exit status with --follow", done, other)

    def judge_output(self, output, options, done, checked, check):
        sound = self.run((0, 3), law.DUMP, "info", "--check", os.path.basename(output))
        if not sound or sound.status == 0 or done.status:
            return
        if check or checked.status == 0:
            self.say("an output of exit status 0 is damaged", checked, done, sound)
        elif "--split" not in options:
            os.remove(output)
            again = self.run((1, 3), law.RELOG, "-q", "-o", "out.ptl", "in.ptl", *options, "--check")
            if not again:
                self.say("an output of exit status 0 is damaged, and --check does not say so", sound)

    def is_late(self, done, followed):
        """Returns whether a followed run may end otherwise: its index is not read, and a requested process may still come."""
        if done.status == 2:
            return followed.status in (0, 3) and "in the trace" in followed.stderr
        return followed.status == 0 and "index" in done.stderr + self.damage

    # ---- other inputs ----

    def attack_perf(self):
        self.attack_foreign("perf.data", foreign.changed_perf(self.random.choice(self.others["perf_data"]), self.random))

    def attack_etl(self):
        if self.random.random() < 0.7:
            self.attack_foreign(".etl", foreign.made_etl(self.random))
        else:
            self.attack_foreign(".etl", self.changed("etl"))

    def attack_event_header(self):
        self.attack_foreign("EventHeader", self.changed("event_header_file"))

    def changed(self, kind):
        data = bytearray(self.random.choice(self.others[kind]))
        for _ in range(self.random.choice((1, 1, 3))):
            damage.change_bytes(data, self.random)
        return bytes(data)

    def attack_foreign(self, what, data):
        self.what = what
        self.write("in.foreign", data)
        options = self.random.choice(RELOG[:14]).split()
        done = self.convert(len(data), "in.foreign", *options)
        if done and self.random.random() < 0.3:
            self.relog_otherwise("in.foreign", done, options)

    def attack_raw(self):
        packets, code = bytearray(self.random.choice(self.others["packets"])), bytearray(b"\x85\xc0\x75\xfc\x0f\x05" * 9)
        lines = bytearray(b"0x1000 6 0\n0x401000 32 6\n# none\n0x7fff0000 16 38\n")
        damage.change_bytes(self.random.choice((packets, packets, code, lines)), self.random)
        for name, data in (("in.pt", packets), ("in.raw", code), ("in.map", lines)):
            self.write(name, bytes(data))
        self.what = "raw Intel PT"
        self.convert(len(packets) + len(code), "--pt", "in.pt", "--memory", "in.raw", "--memory-map", "in.map")

    def convert(self, size, *words):
        """Converts another format to a trace, which a command then reads."""
        self.size = size / 1e6, 0
        done = self.run((0, 2, 3), law.RELOG, "-q", "-o", "out.ptl", *words)
        if not done or not os.path.exists(self.path("out.ptl")):
            return done
        with open(self.path("out.ptl"), "rb") as file:
            self.size = measure(file.read())
        sound = self.run((0, 3), law.DUMP, "info", "--check", "out.ptl")
        if sound and sound.status and done.status == 0:
            self.say("an output of exit status 0 is damaged", done, sound)
        name = self.random.choice(list(DUMP))
        operands = ["out.ptl"] if name == "diff" else self.random.choice(OPERANDS.get(name, [[]]))
        self.judge_export(name, self.run((0, 3) + MORE.get(name, ()), law.DUMP, name, *operands, "out.ptl"))
        return done


def measure(data):
    """Returns MB (stated size of all buffers, or size of the file) and the number of events."""
    total, events, at = len(data), 0, data.find(b"PTLB")
    while 0 <= at <= len(data) - damage.BUFFER_HEADER:
        kind, records, raw = (int.from_bytes(data[at + place:at + place + 4], "little") for place in (8, 28, 36))
        total += raw if raw <= damage.RAW_MAX else 0
        events += records if kind == damage.EVENTS and records <= 1 << 20 else 0
        at = data.find(b"PTLB", at + 4)
    return total / 1e6, events


def work(number, first, cases, jobs, deadline, results, traces, others, keep):
    every = bombs.every(traces)
    for i in range(number, cases or sys.maxsize, jobs):
        if not cases and time.monotonic() > deadline:
            break
        seed = first + i
        # The seed alone decides whether the case is a bomb, so that any case can be repeated.
        bomb = every[seed // BOMB_SHARE % len(every)] if seed % BOMB_SHARE == 0 else None
        folder = tempfile.mkdtemp(prefix="ptl-attack-")
        try:
            case = Case(seed, folder, traces, others, bomb)
            case.attack()
            if case.broken:
                kept = os.path.join(keep, f"attack-{seed}")
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept)
            results.put((seed, case.runs, case.broken))
        except Exception as error:  # pylint: disable=broad-except
            results.put((seed, 0, [f"the attack itself failed: {error!r}"]))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    results.put(None)


def main():
    first, cases, seconds = settings()
    jobs = int(os.environ.get("PTL_ATTACK_JOBS") or len(os.sched_getaffinity(0)))
    keep = os.environ.get("PTL_ATTACK_KEEP") or tempfile.gettempdir()
    print(f"attack: PTL_ATTACK_FIRST={first}", f"PTL_ATTACK_CASES={cases}" if cases else f"SECONDS={seconds:.0f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ptl-attack-seeds-") as folder:
        traces, others = seeds(folder)
    results = multiprocessing.Queue()
    deadline = time.monotonic() + seconds
    workers = [multiprocessing.Process(target=work, args=(n, first, cases, jobs, deadline, results, traces, others, keep),
                                       daemon=True) for n in range(jobs)]
    for worker in workers:
        worker.start()
    files = runs = broken = ended = 0
    while ended < jobs and broken < BROKEN_MAX:
        try:
            result = results.get(timeout=10)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                sys.exit("attack: it failed itself, as said above")
            continue
        if result is None:
            ended += 1
            continue
        seed, count, laws = result
        files, runs, broken = files + 1, runs + count, broken + bool(laws)
        for text in laws:
            print(f"broken: {text}\n  repeat: PTL_ATTACK_FIRST={seed} PTL_ATTACK_CASES=1 make attack"
                  f"\n  files: {os.path.join(keep, f'attack-{seed}')}", flush=True)
    for worker in workers:
        worker.terminate()
    print(f"attack: {files} files, {runs} runs, {broken} files broke a law")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
