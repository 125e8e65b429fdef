#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog reads perf.data: what perf itself says of the same file, processes, mappings, switches and samples, is there.
import collections
import json
import os
import re
import shlex
import shutil
import struct
import subprocess

from scratch_test import DUMP as dump, RELOG as relog, check, plan, path, read, run, scratch, skip, write

programs = os.environ["PTL_PROGRAMS"]


def listing(*arguments):
    return [json.loads(line) for line in run(dump, *arguments).stdout.splitlines()]


def fields(event):
    return event["fields"]


# ---- what perf says --------------------------------------------------------------------------------------

LINE = re.compile(r"^ *\S.*? +(?P<tid>-?\d+) +(?:\[(?P<cpu>\d+)\] )? *(?P<time>[\d.]+): PERF_RECORD_(?P<rest>.*)$")
MAP = re.compile(r"MMAP2? (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0)(?: .*?[\]>])?[^\]]*?\]: "
                 r"(\S+) (.*)$")


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction)


def perf_records(data):
    """Multisets of what perf script shows: mappings, starts, ends and programs of processes, samples."""
    said = collections.defaultdict(collections.Counter)
    shown = run("perf", "script", "-i", data, "--ns", "--show-task-events", "--show-mmap-events")
    for line in shown.stdout.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        time, rest = nanoseconds(match["time"]), match["rest"]
        if rest.startswith("MMAP"):
            pid, base, size, offset, protection, name = MAP.match(rest).groups()
            if "x" in protection:
                name = re.sub(r" \(deleted\)$", "", name)
                said["map"][(0 if pid == "-1" else int(pid), int(base, 16), int(size, 16), int(offset, 16),
                             re.sub(r"^/memfd:", "memfd:", name), time)] += 1
        elif rest.startswith("FORK"):
            pid, tid, parent, _ = map(int, re.findall(r"\d+", rest))
            if time:
                said["start" if pid == tid else "thread"][(pid, parent if pid == tid else tid, time)] += 1
        elif rest.startswith("EXIT"):
            pid, tid = map(int, re.findall(r"\d+", rest)[:2])
            said["end"][(pid, tid, time)] += 1
        elif rest.startswith("COMM exec"):
            said["exec"][(int(re.findall(r":(\d+)/", rest)[0]), time)] += 1
    shown = run("perf", "script", "-i", data, "--ns", "-F", "pid,tid,time,event,ip", "-G")
    for line in shown.stdout.splitlines():
        match = re.match(r" *(-?\d+)/(-?\d+) +([\d.]+): +(\S+): +([0-9a-f]+)", line)
        if match:
            pid, tid, time, event, ip = match.groups()
            said["sample"][(int(pid), int(tid), nanoseconds(time), event, int(ip, 16))] += 1
    return said


# ---- what the trace says ---------------------------------------------------------------------------------

def trace_records(trace, start):
    said = collections.defaultdict(collections.Counter)
    for event in listing("events", "--json", trace):
        time, name, data = event["time"] + start, event["event"], fields(event)
        if name in ("Image/Load", "Image/DCStart"):
            said["map"][(event["pid"], int(data["ImageBase"], 16), int(data["ImageSize"], 16),
                         int(data["FileOffset"], 16), data["FileName"], time if name == "Image/Load" else 0)] += 1
        elif name == "Process/Start":
            said["start"][(data["ProcessId"], data["ParentId"], time)] += 1
        elif name == "Thread/Start" and data["ProcessId"] != data["TThreadId"]:
            said["thread"][(data["ProcessId"], data["TThreadId"], time)] += 1
        elif name == "Thread/End":
            said["end"][(data["ProcessId"], data["TThreadId"], time)] += 1
        elif event["provider"] == "Linux-Perf" and name == "Exit":
            # A process whose threads started in records that perf lost ends with the last known thread. The ends of the others are kept.
            said["end"][(data["ProcessId"], data["ThreadId"], time)] += 1
        elif name == "Process/Exec":
            said["exec"][(data["ProcessId"], time)] += 1
        elif name == "Sample":
            said["sample"][(event.get("pid", -1), event.get("tid", -1), time, data["Event"],
                            int(data["InstructionPointer"], 16))] += 1
    return said


def compare(name, data, kinds, *options):
    trace = name + ".ptl"
    done = run(relog, "-f", "-q", "--embed=none", *options, data, "-o", trace)
    # On a busy machine perf loses events of its own.
    strange = [line for line in done.stderr.splitlines() if "perf lost" not in line]
    if not check(f"{name}: is read", done.returncode == 0 and not strange, done.returncode, done.stderr):
        return
    info = json.loads(run(dump, "info", "--json", trace).stdout)
    perf, ours = perf_records(data), trace_records(trace, info["clock"]["start_time"])
    for kind in kinds:
        check(f"{name}: {kind}: {sum(perf[kind].values())} as perf says", perf[kind] == ours[kind] and perf[kind],
              "only perf:", *sorted((perf[kind] - ours[kind]).items())[:8],
              "only the trace:", *sorted((ours[kind] - perf[kind]).items())[:8])


SCRIPT = "ls / >/dev/null; (true; cat /dev/null) | cat; " + shlex.quote(os.path.join(programs, "threads")) + " >/dev/null"
ALL = ("map", "start", "thread", "end", "exec", "sample")
VARIANTS = (
    ("plain", [], ALL),
    ("compressed", ["-z"], ALL),
    ("stacks", ["-g", "-T", "-P"], ALL),
    ("build ids", ["--buildid-mmap"], ALL),
    ("data mappings", ["-d", "-F", "2000"], ALL),
    ("two events", ["-e", "task-clock", "-c", "100000"], ALL),
    ("monotonic clock", ["-k", "monotonic"], ALL),
    ("per thread", ["--per-thread", "-T"], ("map", "exec", "sample")),
    ("all sideband", ["--namespaces", "--switch-events"], ALL),
    ("all of the machine", ["-a", "--switch-events", "-F", "2000"], ("start", "end", "exec", "sample")),
    ("a folder of threads", ["-a", "--threads=cpu", "-F", "2000"], ("start", "end", "exec", "sample")),
    ("a compressed folder", ["-a", "--threads=cpu", "-z", "-F", "2000"], ("start", "end", "exec", "sample")),
)


def with_perf():
    for name, options, kinds in VARIANTS:
        data = name.replace(" ", "-") + ".data"
        event = [] if "-e" in options and name != "two events" else ["-e", "cpu-clock"]
        # A clock that ticks a thousand times a second may find none of these programs at work.
        for _ in range(10):
            done = run("perf", "record", "-q", "-o", data, *event, *options, "--", "sh", "-c", SCRIPT)
            if done.returncode or perf_records(data)["sample"]:
                break
        if done.returncode:
            skip(name, "perf record fails here: " + " ".join(done.stderr.split())[:80])
            continue
        compare(name, data, kinds)
    with open(path("pipe.data"), "wb") as file:
        subprocess.run(["perf", "record", "-q", "-o", "-", "-e", "cpu-clock", "--", "sh", "-c", SCRIPT], cwd=scratch,
                       stdout=file, stderr=subprocess.DEVNULL, timeout=120, check=False)
    compare("pipe", "pipe.data", ALL)
    with open(path("pipe.data"), "rb") as file:
        done = subprocess.run([relog, "-f", "-q", "--embed=none", "-", "-o", "stdin.ptl"], cwd=scratch, input=file.read(),
                              capture_output=True, timeout=120, check=False)
    check("standard input: the same", done.returncode == 0 and
          run(dump, "events", "stdin.ptl").stdout == run(dump, "events", "pipe.ptl").stdout, done.stderr)
    switches()
    stacks()
    code()
    folders()
    damage()
    tracepoints()
    damaged_formats()


def switches():
    """Each switch to a thread is a context switch of its CPU."""
    if not os.path.exists(path("all of the machine.ptl")):
        skip("context switches", "perf may not record the machine here")
        return
    done = run(relog, "-f", "-q", "--embed=none", "all-of-the-machine.data", "-o", "switches.ptl")
    events = [event for event in listing("events", "--json", "switches.ptl") if event["event"] in ("Thread/CSwitch", "SwitchCpuWide")]
    shown = run("perf", "script", "-i", "all-of-the-machine.data", "--show-switch-events", "--ns").stdout
    ins = len(re.findall(r"PERF_RECORD_SWITCH(?:_CPU_WIDE)? +IN", shown))
    # A thread that is dying has no number any more: its switches are kept as they are, out and in.
    switches_said = len(re.findall(r"PERF_RECORD_SWITCH", shown))
    check("context switches: one for each that perf has", done.returncode == 0 and ins and ins <= len(events) <= switches_said,
          ins, len(events))


def stacks():
    """Each sample's stack: the addresses, and the user's images, that perf script shows."""
    if not os.path.exists(path("stacks.ptl")):
        skip("stacks", "perf takes none here")
        return

    # Of an address in a file perf shows the offset in it: pages start at other ones.
    def place(address):
        return address if address >> 63 else address & 0xfff

    said, found, their_files, our_files = (collections.Counter() for _ in range(4))
    for sample in run("perf", "script", "-i", "stacks.data", "-F", "tid,ip,dso").stdout.split("\n\n"):
        frames = re.findall(r"^\s+([0-9a-f]+) .*?\(([^()]*)\)$", sample, re.MULTILINE)
        if frames:
            said[(int(sample.split()[0]), *(place(int(ip, 16)) for ip, _ in frames))] += 1
            their_files.update(name for _, name in frames if name[:1] == "/")
    for event in listing("events", "--stacks", "--json", "stacks.ptl"):
        if event.get("stack"):
            found[(event["tid"], *(place(int(one["ip"], 16)) for one in event["stack"]))] += 1
            our_files.update(one["image"] for one in event["stack"] if one.get("image", "")[:1] == "/")
    check(f"stacks: all {sum(said.values())} as perf shows them", said and said == found,
          "only perf:", *list((said - found).items())[:2], "only the trace:", *list((found - said).items())[:2])
    # While a process runs another program, or maps a file, perf may know of it a little before the trace does, or after.
    check("stacks: the files of their addresses are perf's", their_files and
          sum((their_files - our_files).values()) * 10 <= sum(their_files.values()), their_files, our_files)
    done = run(relog, "-f", "-q", "stacks.data", "-o", "stacks-code.ptl")
    text = run(dump, "events", "--stacks", "stacks-code.ptl").stdout
    check("stacks: functions where symbols are known", done.returncode == 0 and
          re.search(r"^ +0x[0-9a-f]+ +[\w.@]+\+0x[0-9a-f]+ \(l", text, re.MULTILINE), text[:400])


def code():
    """Code, symbols and build ids come from the files that were mapped."""
    run(relog, "-f", "-q", "plain.data", "-o", "code.ptl")
    images = [image for image in listing("images", "--json", "code.ptl") if re.match("/[^/]", image["path"])]
    check("code: every file on this machine is in the trace", images and all(image["code"] for image in images),
          [image for image in images if not image["code"]])
    listed = run("perf", "buildid-list", "-i", "plain.data").stdout.splitlines()
    ids = {name: number for number, name in (line.split(None, 1) for line in listed)}
    both = [image for image in images if image["path"] in ids]
    check("build ids are perf's", both and all(image["build_id"] == ids[image["path"]] for image in both),
          ids, both[:3])
    program = path("replaced")
    shutil.copy("/bin/true", program)
    run("perf", "record", "-q", "-o", "replaced.data", "-e", "cpu-clock", "--", program)
    os.unlink(program)
    shutil.copy("/bin/ls", program)
    done = run(relog, "-f", "replaced.data", "-o", "replaced.ptl")
    image = [image for image in listing("images", "--json", "replaced.ptl") if image["path"] == program]
    check("code: another file under the same name is not taken",
          done.returncode == 0 and "another version" in done.stderr and image and not any(i["code"] for i in image),
          done.stderr, image)


def folders():
    """A folder that is none of perf's, and one of which a file is cut off."""
    if not os.path.exists(path("a folder of threads.ptl")):
        skip("folders", "this perf writes none")
        return
    os.mkdir(path("empty"))
    done = run(relog, "-f", "empty", "-o", "empty.ptl")
    check("a folder without perf's files: refused", done.returncode == 4 and "perf record --threads" in done.stderr
          and not os.path.exists(path("empty.ptl")), done.returncode, done.stderr)
    part = path("a-folder-of-threads.data/data.0")
    os.truncate(part, os.path.getsize(part) - 5)
    done = run(relog, "-f", "-q", "--embed=none", "a-folder-of-threads.data", "-o", "folder.ptl")
    check("a folder of which a file is cut off: the others are read", done.returncode == 3 and
          "what follows is missing" in done.stderr, done.returncode, done.stderr)


def damage():
    """What is cut or damaged is read up to there, and said to be."""
    data = read("plain.data")
    start, size = struct.unpack_from("<QQ", data, 40)
    write("cut.data", data[:start + size // 2 + 3])
    done = run(relog, "-f", "--embed=none", "cut.data", "-o", "cut.ptl")
    info = json.loads(run(dump, "info", "--json", "cut.ptl").stdout)
    check("cut: the rest is a loss and a warning", done.returncode == 3 and "cut.data: offset" in done.stderr and
          "what follows is missing" in done.stderr and info["losses"], done.returncode, done.stderr, info.get("losses"))
    write("killed.data", data[:48] + bytes(8) + data[56:start + size])
    done = run(relog, "-f", "--embed=none", "killed.data", "-o", "killed.ptl")
    check("killed: a file whose writer was killed has all its records", done.returncode == 0 and
          len(listing("events", "--json", "killed.ptl")) == len(listing("events", "--json", "plain.ptl")), done.stderr)
    bad = bytearray(data)
    struct.pack_into("<H", bad, start + 6, 4)
    write("bad.data", bad)
    done = run(relog, "-f", "bad.data", "-o", "bad.ptl")
    check("damaged: the message has the offset", done.returncode == 3 and f"bad.data: offset {start}: a record of 4 bytes"
          in done.stderr, done.returncode, done.stderr)
    swapped = b"2ELIFREP" + data[8:]
    write("swapped.data", swapped)
    done = run(relog, "-f", "swapped.data", "-o", "swapped.ptl")
    check("of a big-endian machine: refused", done.returncode == 3 and "big-endian" in done.stderr and
          not os.path.exists(path("swapped.ptl")), done.returncode, done.stderr)


# ---- tracepoints -------------------------------------------------------------------------------------------

TRACEPOINTS = ("sched:sched_switch,sched:sched_waking,sched:sched_process_exec,syscalls:sys_enter_openat,"
               "syscalls:sys_exit_openat,raw_syscalls:sys_enter,kmem:kmalloc,irq:softirq_entry,timer:hrtimer_start,"
               "task:task_newtask,signal:signal_generate,block:block_rq_issue,writeback:writeback_dirty_folio")
SHOWN = re.compile(r"^ *(-?\d+)/(-?\d+) +\[(\d+)\] +([\d.]+): +(\S+?:\S+?): (.*)$")
VALUE = re.compile(r"(\w+)(?:=|: )(\S+?),?(?= |$)")


def is_same(shown, field):
    """Whether perf's text is what the field has; None: perf shows something else than the field itself."""
    name = None
    if isinstance(field, dict):
        name, field = field.get("name"), field["value"]
    if shown == name or shown == field:
        return True
    if isinstance(field, bool):
        field = int(field)
    if isinstance(field, str) and field.startswith("0x"):
        field = int(field, 16)
    if not isinstance(field, int):
        return None if not isinstance(field, str) else False
    for base in (10, 16):
        try:
            if (int(shown, base) - field) % 2**32 == 0:
                return True
        except ValueError:
            pass
    # A symbol, or names of bits joined.
    return None if re.search("[a-zA-Z]", shown) else False


def tracepoints():
    """Their fields are those that perf prints, for a file and for a pipe."""
    script = "ls -R /etc >/dev/null; cat /etc/passwd >copy; sync copy; (exit 3); kill -0 $$"
    for name, output in (("tracepoints", "-o tracepoints.data"), ("tracepoints in a pipe", "-o - >pipe-tracepoints.data")):
        data = output.split()[-1].lstrip(">")
        done = run("sh", "-c", f"perf record -q -a -e {TRACEPOINTS} {output} -- sh -c '{script}'")
        if done.returncode:
            skip(name, "perf record fails here: " + " ".join(done.stderr.split())[:80])
            continue
        done = run(relog, "-f", "-q", "--embed=none", data, "-o", "tracepoints.ptl")
        check(f"{name}: is read", done.returncode == 0, done.stderr)
        ours, systems = collections.defaultdict(list), {event.split(":")[0] for event in TRACEPOINTS.split(",")}
        start = json.loads(run(dump, "info", "--json", "tracepoints.ptl").stdout)["clock"]["start_time"]
        kept = 0
        for event in listing("events", "--json", "tracepoints.ptl"):
            if event.get("provider") in systems:
                # A thread that is dying has no number any more: perf shows -1.
                key = (event.get("tid", -1), event["cpu"], event["time"] + start, f"{event['provider']}:{event['event']}")
                ours[key].append(event["fields"])
            kept += event["event"] == "Tracepoint"
        check(f"{name}: all are typed", ours and not kept, len(ours), kept)
        compared, wrong, missing = collections.Counter(), [], []
        for line in run("perf", "script", "-i", data, "--ns", "-G", "-F", "pid,tid,cpu,time,event,trace").stdout.splitlines():
            match = SHOWN.match(line)
            if not match:
                continue
            _, tid, cpu, time, event, shown = match.groups()
            found = ours.get((int(tid), int(cpu), nanoseconds(time), event))
            if not found:
                missing.append(line)
                continue
            fields_ = found.pop(0)
            for field, value in VALUE.findall(shown):
                # Names with spaces in them cannot be distinguished from what follows.
                if field in fields_ and not (isinstance(fields_[field], str) and " " in fields_[field]):
                    same = is_same(value, fields_[field])
                    compared[event] += same is True
                    if same is False:
                        wrong.append((field, value, fields_[field], line))
        check(f"{name}: {sum(compared.values())} values of {len(compared)} tracepoints as perf prints them",
              not wrong and not missing and len(compared) > 6, *wrong[:8], *missing[:4], compared)


def damaged_formats():
    """A format that is invalid leaves its samples as they are; the others are typed."""
    if not os.path.exists(path("tracepoints.data")):
        skip("damaged descriptions of tracepoints", "perf may not record them here")
        return
    data = bytearray(read("tracepoints.data"))
    at = data.find(b"offset:8;", data.find(b"name: sched_waking"))
    data[at:at + 9] = b"offset;8;"
    write("formats.data", data)
    done = run(relog, "-f", "-q", "--embed=none", "formats.data", "-o", "formats.ptl")
    events = collections.Counter((event.get("provider"), event["event"]) for event in listing("events", "--json", "formats.ptl"))
    check("damaged formats: what cannot be understood is kept as it is", done.returncode == 0 and events["Linux-Perf", "Tracepoint"]
          and not events["sched", "sched_waking"] and events["sched", "sched_switch"], done.stderr, events)


# ---- events that describe themselves ---------------------------------------------------------------------

def entry(kind, body, misc=0):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def described():
    """An event that describes itself (EventHeader, of user_events) becomes a typed event of its provider."""
    metadata = b"SignIn\0" + b"User\0\x0a" + b"Count\0\x04"
    body = struct.pack("<BBHHBB", 3 | 4, 1, 7, 0, 0, 3) + struct.pack("<HH", len(metadata), 1) + metadata
    body += struct.pack("<H", 4) + "Zoë".encode() + struct.pack("<I", 7)
    sample_type = 0x2 | 0x4 | 0x80 | 0x400 | 0x10000
    attr = struct.pack("<IIQQQQQ", 2, 112, 0x600, 1, sample_type, 0, 1 << 18).ljust(112, b"\0")

    def sample(raw):
        padded = (raw + bytes(-(len(raw) + 4) % 8))
        return entry(9, struct.pack("<QIIQII", 1, 50, 51, 12345, 1, 0) + struct.pack("<I", len(padded)) + padded)

    def whole(raw):
        """As user_events makes it whole words, with zeros; what the kernel adds to that is left from what was there before."""
        raw += bytes(-len(raw) % 8)
        return raw + b"\xaa" * (-(len(raw) + 4) % 8)

    long = "C" * 200 + "_Auth"
    data = sample(whole(bytes(8) + body)) + sample(bytes(8) + b"\xff" * 24)
    name = f"user_events:{long}_L3K1a\0".encode()
    name = name.ljust(-(-len(name) // 64) * 64, b"\0")
    described_by = struct.pack("<II", 1, 112) + attr + struct.pack("<II", 0, len(name)) + name
    start, bits = 232, bytearray(32)
    bits[12 // 8] |= 1 << 12 % 8
    at = start + len(data) + 16
    write("described.data", struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 128, 104, 128, start, len(data), 0, 0) + bytes(bits) +
          attr + struct.pack("<QQ", 0, 0) + data + struct.pack("<QQ", at, len(described_by)) + described_by)
    done = run(relog, "-f", "-q", "described.data", "-o", "described.ptl")
    events = listing("events", "--json", "described.ptl")
    mine = [event for event in events if event.get("provider") == long]
    check("EventHeader: a typed event", done.returncode == 0 and len(mine) == 1 and mine[0]["event"] == "SignIn" and
          mine[0]["fields"] == {"User": "Zoë", "Count": 7} and (mine[0]["level"], mine[0]["keyword"], mine[0]["tid"]) ==
          (3, "0x1a", 51), done.stderr, events)
    check("EventHeader: what cannot be understood is kept as it is", len(events) == 2 and
          any(event["event"] == "Tracepoint" for event in events), events)


def archived():
    """The files of a recording come from perf archive, when the machine does not have them any more."""
    if " " in path("spin"):
        skip("perf archive", "perf archive does not take blanks in paths")
        return
    if not shutil.which("bzip2"):
        skip("perf archive", "there is no bzip2")
        return
    write("spin.c", b"int main(void) { volatile unsigned i = 0; while (i < 100000000) i++; return 0; }")
    built = run("gcc", "-O0", "-Wl,--build-id", "-o", "spin", "spin.c")
    home = {**os.environ, "HOME": path("home")}
    os.mkdir(path("home"))
    run("perf", "record", "-q", "-o", "archived.data", "-e", "cpu-clock", "--", path("spin"), env=home)
    packed = run("perf", "archive", "archived.data", env=home)
    if built.returncode or packed.returncode or not os.path.exists(path("archived.data.tar.bz2")):
        skip("perf archive", f"perf archive does not work here: {packed.stderr.strip()[-100:]}")
        return
    os.unlink(path("spin"))
    shutil.rmtree(path("home"))
    done = run(relog, "-f", "archived.data", "-o", "archived.ptl", env=home)
    check("perf archive: an archive beside the file is named", "archived.data.tar.bz2" in done.stderr and "--buildid-dir" in done.stderr, done)
    os.mkdir(path("files"))
    run("tar", "xf", "archived.data.tar.bz2", "-C", "files")
    done = run(relog, "-f", "--buildid-dir", "files", "archived.data", "-o", "archived.ptl", env=home)
    found = [image for image in listing("images", "--json", "archived.ptl") if image["path"].endswith("/spin")]
    check("perf archive: code and names come from it", found and all(image["code_stored"] and image["symbols"] for image in found) and
          "archived.data.tar.bz2" not in done.stderr, found, done)
    functions = run(dump, "report", "--samples", "archived.ptl").stdout
    check("perf archive: functions have names", re.search(r" main +spin", functions), functions)


def series_of(work):
    """The files of perf record --switch-output of a shell's work."""
    for name in os.listdir(path("")):
        if name.startswith("series.data."):
            os.unlink(path(name))
    run("perf", "record", "-q", "-o", "series.data", "--switch-output=signal", "-e", "cpu-clock", "-F", "9999", "--", "sh", "-c", work)
    return sorted(name for name in os.listdir(path("")) if re.fullmatch(r"series\.data\.[0-9]{16}", name))


def one_recording(title, files):
    """The files are one recording, in which nothing is there twice."""
    said = [perf_records(name) for name in files]
    done = run(relog, "-f", *files, "-o", "series.ptl")
    info = json.loads(run(dump, "info", "--json", "series.ptl").stdout)
    check(f"{title}: is one machine with one clock", done.returncode == 0 and "clock" not in done.stderr and
          not info.get("machines"), done, info.get("machines"))
    events = listing("events", "--json", "series.ptl")
    samples = sum(event["event"] == "Sample" for event in events)
    check(f"{title}: has the samples of all files", samples == sum(sum(one["sample"].values()) for one in said), samples)
    starts = collections.Counter(event["pid"] for event in events if event["event"] in ("Process/Start", "Process/DCStart"))
    expected = {pid for one in said for pid, _, _ in one["start"]}
    check(f"{title}: each process starts once", set(starts.values()) == {1} and expected <= set(starts), starts, expected)
    check(f"{title}: each file is in the provenance", [entry["name"] for entry in info["provenance"][-1]["inputs"]] == files, info["provenance"])


def in_series():
    """perf record --switch-output begins a file at each signal."""
    files = series_of("for i in 1 2 3 4; do sh -c true; kill -USR2 $PPID; sleep 0.1; done; sh -c true")
    if len(files) < 2:
        skip("perf record --switch-output", f"perf makes no series here: {files}")
        return
    one_recording("a series", files)
    shutil.copy(path(files[0]), path("series.data.9999999999999999"))
    done = run(relog, "-f", files[1], "series.data.9999999999999999", "-o", "apart.ptl")
    check("a file that is older than the file before: is another machine, which is said", "clock" in done.stderr, done)
    # The program may end before perf begins the last file, in which nothing has a time.
    files = series_of("sh -c true; kill -USR2 $PPID; sleep 0.2; sh -c true; kill -USR2 $PPID")
    empty = [name for name in files if "PERF_RECORD_EXIT" not in run("perf", "report", "-D", "-i", name).stdout]
    check("a series: its last file may be empty", files and empty in ([], files[-1:]), files, empty)
    one_recording("a series that ends with a signal", files)


described()
if not shutil.which("perf"):
    skip("perf.data as perf writes it", "there is no perf here: apt-get install linux-perf")
elif run("perf", "record", "-q", "-o", "probe.data", "-e", "cpu-clock", "--", "true").returncode:
    skip("perf.data as perf writes it", "perf may not record here: see /proc/sys/kernel/perf_event_paranoid")
else:
    with_perf()
    archived()
    in_series()
plan()
