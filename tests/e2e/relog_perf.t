#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog reads perf.data: what perf itself says of the same file, processes, mappings, switches and samples, is there.
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
import ptl_reader  # noqa: E402

binaries, programs = os.environ["PTL_BIN"], os.environ["PTL_PROGRAMS"]
relog, dump, record = (os.path.join(binaries, name) for name in ("ptl-relog", "ptl-dump", "ptl-record"))
scratch = tempfile.mkdtemp(prefix="ptl-relog-perf-")
count = 0


def run(*command, text=True, **more):
    return subprocess.run(command, cwd=scratch, capture_output=True, text=text, timeout=120, **more)


def check(name, passed, *details):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)
    if not passed:
        for line in "\n".join(map(str, details)).splitlines()[:40]:
            print("#", line[:400])
    return passed


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def path(name):
    return os.path.join(scratch, name)


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def write(name, data):
    with open(path(name), "wb") as file:
        file.write(data)


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


SCRIPT = "ls / >/dev/null; (true; cat /dev/null) | cat; " + os.path.join(programs, "threads") + " >/dev/null"
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
    ("all of the machine", ["-a", "--switch-events", "-F", "99"], ("start", "end", "exec", "sample")),
)


def with_perf():
    for name, options, kinds in VARIANTS:
        data = name.replace(" ", "-") + ".data"
        event = [] if "-e" in options and name != "two events" else ["-e", "cpu-clock"]
        done = run("perf", "record", "-q", "-o", data, *event, *options, "--", "sh", "-c", SCRIPT)
        if done.returncode:
            skip(name, "perf record fails here: " + (done.stderr.splitlines() or [""])[0])
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
    code()
    damage()


def switches():
    """Each switch to a thread is a context switch of its CPU."""
    done = run(relog, "-f", "-q", "--embed=none", "all-of-the-machine.data", "-o", "switches.ptl")
    events = [event for event in listing("events", "--json", "switches.ptl") if event["event"] in ("Thread/CSwitch", "SwitchCpuWide")]
    shown = run("perf", "script", "-i", "all-of-the-machine.data", "--show-switch-events", "--ns").stdout
    ins = len(re.findall(r"PERF_RECORD_SWITCH(?:_CPU_WIDE)? +IN", shown))
    # A thread that is dying has no number any more: its switches are kept as they are, out and in.
    switches_said = len(re.findall(r"PERF_RECORD_SWITCH", shown))
    check("context switches: one for each that perf has", done.returncode == 0 and ins and ins <= len(events) <= switches_said,
          ins, len(events))


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


# ---- Intel PT, which no machine of ours makes: files written here, of packets recorded by ptl-record --------

def entry(kind, body, misc=0):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value):
    return value.encode() + b"\0"


def auxtrace_info(per_cpu):
    return entry(70, struct.pack("<II16Q", 1, 0, 8, 0, 1, 0, 1, 1 << 10, 1 << 11, 0, 0, per_cpu, 1 << 9, 0xf << 14, 2, 1,
                                 1 << 1, 30))


def trailer(pid, tid, time):
    return struct.pack("<IIQIIQ", pid, tid, time, 0, 0, 1)


def mappings(trace, pid, tid, earliest):
    """The code that a process of the trace had, as MMAP2 records."""
    records = []
    for event in trace.events():
        if event["pid"] == pid and event["provider"].hex().startswith("1d5db12c") and event["opcode"] == 10:
            base, size = struct.unpack_from("<QQ", event["payload"])
            name = event["payload"][56:].decode("utf-16-le", "replace").split("\0")[0]
            after = 56 + 2 * (len(name) + 1)
            offset, protection = struct.unpack_from("<QI", event["payload"], after)
            info = os.stat(name) if os.path.isfile(name) else None
            device = (os.major(info.st_dev), os.minor(info.st_dev), info.st_ino) if info else (0, 0, 0)
            body = struct.pack("<IIQQQIIQQII", pid, tid, base, size, offset, *device, 0, protection, 2) + text(name)
            body += bytes(-len(body) % 8)
            records.append(entry(10, body + trailer(pid, tid, event["time"] or earliest)))
    return records


def program(pid, tid):
    return entry(3, struct.pack("<II", pid, tid) + text("traced").ljust(8, b"\0") + trailer(pid, tid, 0))


def perf_file(records):
    data = b"".join(records)
    sample_type = 0x2 | 0x4 | 0x80 | 0x10000  # TID, TIME, CPU, IDENTIFIER
    attr = struct.pack("<IIQQQQQ", 8, 112, 0x400, 0, sample_type, 0, 1 << 18).ljust(112, b"\0")
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 128, 104, 128, 232, len(data), 0, 0) + bytes(32)
    return head + attr + struct.pack("<QQ", 0, 0) + data


def perf_data(events, chunk, per_cpu):
    """A perf.data file of one process whose PT is in `events`: a trace that ptl-record made with --timing=tsc."""
    with open(events, "rb") as file:
        trace = ptl_reader.Trace(file.read(), False)
    records = [auxtrace_info(per_cpu)]
    start = min((event["time"] for event in trace.events()), default=0)
    packets = [stream for stream in trace.streams.values() if stream.kind == ptl_reader.PT]
    for index, stream in enumerate(packets):
        _, cpu, pid, tid = stream.identity()[:4]
        records += mappings(trace, pid, tid, start)
        position = 0
        for _, data in trace.stream_bytes(stream):
            for at in range(0, len(data), chunk):
                piece = data[at:at + chunk]
                records.append(entry(71, struct.pack("<QQQIIII", len(piece), position, 0, 0,
                                                     0xffffffff if per_cpu else tid, index if per_cpu else 0xffffffff, 0)))
                records.append(piece)
                position += len(piece)
        records.insert(1, program(pid, tid))
    return perf_file(records)


def streams(trace):
    with open(path(trace), "rb") as file:
        read_trace = ptl_reader.Trace(file.read(), False)
    return [b"".join(data for _, data in read_trace.stream_bytes(stream)) for stream in read_trace.streams.values()
            if stream.kind == ptl_reader.PT]


def with_pt():
    run(record, "-q", "-o", "pt.ptl", "--timing=tsc", "--", os.path.join(programs, "static"))
    expected = json.loads(run(dump, "stats", "--json", "--hash", "pt.ptl").stdout)
    for name, chunk, per_cpu in (("a thread's PT", 1 << 20, 0), ("PT in small pieces", 1000, 0), ("a CPU's PT", 4096, 1)):
        write("pt.data", perf_data(path("pt.ptl"), chunk, per_cpu))
        done = run(relog, "-f", "pt.data", "-o", "from.ptl")
        check(f"{name}: the bytes are the same", done.returncode == 0 and streams("from.ptl") == streams("pt.ptl"),
              done.stderr)
        with open(path("from.ptl"), "rb") as file:
            psbs = [len(stream.psbs) for stream in ptl_reader.Trace(file.read(), False).streams.values()
                    if stream.kind == ptl_reader.PT]
        check(f"{name}: its PSBs are known", psbs and all(psbs), psbs)
        if per_cpu:
            continue
        got = json.loads(run(dump, "stats", "--json", "--hash", "from.ptl").stdout)
        hashes = [sorted(thread["ip_sha256"] for process in stats["processes"] for thread in process["threads"]
                         if thread["instructions"]) for stats in (expected, got)]
        check(f"{name}: decodes to the same instructions", hashes[0] and hashes[0] == hashes[1] and not got["gaps"],
              hashes, got["gaps"])
    write("short.data", perf_data(path("pt.ptl"), 1 << 20, 0)[:-10])
    done = run(relog, "-f", "short.data", "-o", "short.ptl")
    check("PT that is cut short: what is there is kept", done.returncode == 3 and streams("short.ptl") ==
          streams("pt.ptl")[:-1] + [streams("pt.ptl")[-1][:-10]], done.returncode, done.stderr)


def stretches(trace, tid):
    """The packets of a thread without their times, as text, each list up to a TIP.PGD."""
    lists = [[]]
    for line in run(dump, "packets", "--tid", str(tid), trace).stdout.splitlines():
        if not line.startswith(" "):
            continue
        packet = line.split(None, 1)[1].split("#")[0].strip()
        if not packet.startswith("tsc"):
            lists[-1].append(packet)
        if packet.startswith("tip.pgd"):
            lists.append([])
    return [packets for packets in lists if packets]


def on_one_cpu(threads, start):
    """Packets and switches of a CPU on which the threads take turns, two stretches each; time is told twice a stretch."""
    packets, records, now, before = [], [], start, 0
    queues = [(pid, tid, stretches(trace, tid)) for trace, pid, tid in threads]
    turn = 0
    while any(queue for _, _, queue in queues):
        pid, tid, queue = queues[turn % len(queues)]
        turn += 1
        if not queue:
            continue
        records.append(entry(15, struct.pack("<II", 0, before) + trailer(pid, tid, now + 50)))
        before = tid
        for stretch in queue[:2]:
            now += 100
            if "psb" not in stretch:
                packets.append(f"tsc {now:#x}")
            for packet in stretch:
                packets.append(packet)
                now += 1
                if packet == "psb" or packet.startswith("tip.pge"):
                    packets.append(f"tsc {now:#x}")
        del queue[:2]
        records.append(entry(15, struct.pack("<II", 0, 0) + trailer(pid, tid, now + 10), 1 << 13))
    return packets, records


def of_several_threads():
    """The PT of a CPU on which two processes ran is told apart by context switches, instruction by instruction."""
    records, threads, expected, latest = [auxtrace_info(1)], [], {}, 0
    for name in ("static", "static_pie"):
        run(record, "-q", "-o", name + ".ptl", "--timing=tsc", "--no-retcomp", "--", os.path.join(programs, name))
        with open(path(name + ".ptl"), "rb") as file:
            trace = ptl_reader.Trace(file.read(), False)
        _, _, pid, tid = next(s for s in trace.streams.values() if s.kind == ptl_reader.PT).identity()[:4]
        events = list(trace.events())
        latest = max(latest, *(event["time"] for event in events))
        records += [program(pid, tid)] + mappings(trace, pid, tid, min(event["time"] for event in events))
        threads.append((name + ".ptl", pid, tid))
        expected[tid] = of_threads(name + ".ptl")[tid]
    lines, switches_between = on_one_cpu(threads, latest + 1000)
    write("lines.txt", "\n".join(lines).encode())
    data = subprocess.run([os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "lines.txt"], cwd=scratch,
                          capture_output=True, timeout=60, check=True).stdout
    records += switches_between
    records += [entry(71, struct.pack("<QQQIIII", len(data), 0, 0, 0, 0xffffffff, 0, 0)), data]
    write("shared.data", perf_file(records))
    done = run(relog, "-f", "shared.data", "-o", "shared.ptl")
    for options in (["-j", "1"], ["-j", "3"], ["--engine", "libipt"]):
        check(f"a CPU of several processes: {' '.join(options)}: the instructions of each", done.returncode == 0 and
              len(expected) == 2 and of_threads("shared.ptl", *options) == expected, done.stderr, expected,
              of_threads("shared.ptl", *options))
    for trace, pid, tid in threads:
        check(f"a CPU of several processes: that of {trace}", of_threads("shared.ptl", "--pid", str(pid)) ==
              {tid: expected[tid]}, of_threads("shared.ptl", "--pid", str(pid)))


def of_threads(trace, *options):
    stats = json.loads(run(dump, "stats", "--json", "--hash", *options, trace).stdout)
    return {thread["tid"]: (thread["instructions"], thread["ip_sha256"], thread["gaps"]) for process in stats["processes"]
            for thread in process["threads"]}


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

    data = sample(bytes(8) + body) + sample(bytes(8) + b"\xff" * 24)
    name = b"user_events:Contoso_Auth_L3K1a\0".ljust(40, b"\0")
    described_by = struct.pack("<II", 1, 112) + attr + struct.pack("<II", 0, len(name)) + name
    start, bits = 232, bytearray(32)
    bits[12 // 8] |= 1 << 12 % 8
    at = start + len(data) + 16
    write("described.data", struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 128, 104, 128, start, len(data), 0, 0) + bytes(bits) +
          attr + struct.pack("<QQ", 0, 0) + data + struct.pack("<QQ", at, len(described_by)) + described_by)
    done = run(relog, "-f", "-q", "described.data", "-o", "described.ptl")
    events = listing("events", "--json", "described.ptl")
    mine = [event for event in events if event.get("provider") == "Contoso_Auth"]
    check("EventHeader: a typed event", done.returncode == 0 and len(mine) == 1 and mine[0]["event"] == "SignIn" and
          mine[0]["fields"] == {"User": "Zoë", "Count": 7} and (mine[0]["level"], mine[0]["keyword"], mine[0]["tid"]) ==
          (3, "0x1a", 51), done.stderr, events)
    check("EventHeader: what cannot be understood is kept as it is", len(events) == 2 and
          any(event["event"] == "Tracepoint" for event in events), events)


try:
    described()
    if shutil.which("perf"):
        with_perf()
    else:
        skip("perf.data as perf writes it", "there is no perf here: apt-get install linux-perf")
    with_pt()
    of_several_threads()
    print(f"1..{count}")
finally:
    shutil.rmtree(scratch, ignore_errors=True)
