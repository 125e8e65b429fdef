#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump io: known answers of made traces of Linux and Windows, sums of all lists, /proc's figures on the same load, a planted fault.
import atexit
import os
import re
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import etl_file as etl  # noqa: E402
from record_test import DUMP, PROGRAMS, SCRATCH, Skip, expect, expect_equal, main, path, record, run  # noqa: E402
from scratch_test import RELOG, write  # noqa: E402
from usage_test import Made, rows  # noqa: E402

NONE = "--source=none"
LOAD = os.path.join(PROGRAMS, "usage_load")
FLAGS = "--flags=disk-io,disk-io-init,file-io,file-io-init"
os.environ["XDG_RUNTIME_DIR"] = SCRATCH + ".run"
os.environ["PTL_SESSION_DIR"] = os.path.join("/dev/shm", "ptl-io-%d" % os.getpid())
os.makedirs(os.environ["XDG_RUNTIME_DIR"], mode=0o700, exist_ok=True)
for folder in ("XDG_RUNTIME_DIR", "PTL_SESSION_DIR"):
    atexit.register(shutil.rmtree, os.environ[folder], ignore_errors=True)

ISSUE = ("block", "block_rq_issue", ("dev", "u32"), ("sector", "u64"), ("nr_sector", "u32"), ("bytes", "u32"), ("rwbs", "text"))
INSERT = ("block", "block_rq_insert", *ISSUE[2:])
COMPLETE = ("block", "block_rq_complete", ("dev", "u32"), ("sector", "u64"), ("nr_sector", "u32"), ("error", "i32"), ("rwbs", "text"))
ENTER_READ = ("syscalls", "sys_enter_read", ("__syscall_nr", "i32"), ("fd", "u64"), ("count", "u64"))
EXIT_READ = ("syscalls", "sys_exit_read", ("__syscall_nr", "i32"), ("ret", "i64"))
ENTER_OPEN = ("syscalls", "sys_enter_openat", ("__syscall_nr", "i32"), ("dfd", "u64"), ("filename", "pointer"), ("__filename_val", "text"))
EXIT_OPEN = ("syscalls", "sys_exit_openat", ("__syscall_nr", "i32"), ("ret", "i64"))
ENTER_CLOSE = ("syscalls", "sys_enter_close", ("__syscall_nr", "i32"), ("fd", "u64"))
EXIT_CLOSE = ("syscalls", "sys_exit_close", ("__syscall_nr", "i32"), ("ret", "i64"))
RAW_EXIT = ("raw_syscalls", "sys_exit", ("id", "i64"), ("ret", "i64"))
CACHE = ("filemap", "mm_filemap_add_to_page_cache", ("i_ino", "u64"), ("s_dev", "u32"), ("order", "u8"))
SEND = ("sock", "sock_send_length", ("sk", "pointer"), ("ret", "i32"))
RECEIVE = ("sock", "sock_recv_length", ("sk", "pointer"), ("ret", "i32"))
STATE = ("sock", "inet_sock_set_state", ("skaddr", "pointer"), ("oldstate", "i32"), ("newstate", "i32"), ("sport", "u16"), ("dport", "u16"),
         ("family", "u16"), ("saddr", "bytes4"), ("daddr", "bytes4"), ("saddr_v6", "bytes16"), ("daddr_v6", "bytes16"))
QUEUE = ("net", "net_dev_queue", ("len", "u32"), ("name", "text"), ("common_flags", "u8"))
SUMS = ("reads", "read_bytes", "writes", "written_bytes", "others", "errors", "unfinished", "time", "timed", "unfinished_time")


def usage(*arguments):
    """Returns the rows. The lists of each medium have equal sums."""
    found = rows("io", *arguments)
    for medium in {one["medium"] for kind in ("object", "process", "use") for one in found.get(kind, [])}:
        sums = [{key: sum(one[key] for one in found[kind] if one["medium"] == medium) for key in SUMS} for kind in ("object", "process", "use")]
        expect_equal(sums[0], sums[1], medium)
        expect_equal(sums[0], sums[2], medium)
    return found


def of(found, medium, kind="object"):
    return {one.get("name", one.get("process")): one for one in found[kind] if one["medium"] == medium}


def numbers(one, *keys):
    return [one[key] for key in keys]


def made(name):
    trace = Made(1000)
    for pid, called in ((7, "reader"), (8, "writer"), (2, "kthreadd")):
        trace.process(pid, called)
    disk = 254 << 20
    # Two requests at the same time, one of them in two parts; a flush; one without an end, and an end without a beginning.
    # The kernel issues the first, which another process wants. One that is joined with another is never issued.
    trace.event(INSERT, 100, 0, 7, 7, disk, 64, 8, 8192, "RS")
    trace.event(INSERT, 100, 0, 7, 7, disk, 72, 8, 8192, "RS")
    trace.event(ISSUE, 110, 0, 2, 2, disk, 64, 16, 8192, "RS")
    trace.event(ISSUE, 200, 1, 8, 8, disk, 640, 8, 4096, "WS")
    trace.event(COMPLETE, 300, 0, 0, 0, disk, 64, 8, 0, "RS")
    trace.event(COMPLETE, 400, 1, 0, 0, disk, 640, 8, 0, "WS")
    trace.event(COMPLETE, 500, 0, 0, 0, disk, 72, 8, 0, "RS")
    trace.event(ISSUE, 600, 0, 8, 8, disk, 0, 0, 0, "FF")
    trace.event(COMPLETE, 650, 0, 0, 0, disk, 2 ** 64 - 1, 0, -5, "FF")
    trace.event(COMPLETE, 660, 0, 0, 0, disk, 0, 0, 0, "WS")
    trace.event(COMPLETE, 700, 0, 0, 0, disk, 9000, 8, 0, "R")
    trace.event(ISSUE, 900, 0, 7, 7, disk, 5000, 8, 4096, "R")
    # The kernel gives the name of an opened file. A closed descriptor has no name any more.
    trace.event(ENTER_OPEN, 100, 0, 7, 7, 257, 0, 0x1000, "/etc/motd")
    trace.event(EXIT_OPEN, 110, 0, 7, 7, 257, 3)
    trace.event(ENTER_READ, 120, 0, 7, 7, 0, 3, 512)
    trace.event(RAW_EXIT, 170, 0, 7, 7, 0, 100)
    trace.event(EXIT_READ, 170, 0, 7, 7, 0, 100)
    trace.event(ENTER_CLOSE, 180, 0, 7, 7, 3, 3)
    trace.event(EXIT_CLOSE, 190, 0, 7, 7, 3, 0)
    trace.event(ENTER_READ, 200, 0, 7, 7, 0, 3, 512)
    trace.event(EXIT_READ, 210, 0, 7, 7, 0, -9)
    trace.event(EXIT_READ, 50, 0, 8, 8, 0, 10)
    # The first of two calls has lost its end, and does not count.
    trace.event(ENTER_READ, 60, 0, 8, 8, 0, 5, 10)
    trace.event(ENTER_READ, 70, 0, 8, 8, 0, 5, 10)
    trace.event(EXIT_READ, 75, 0, 8, 8, 0, 4)
    trace.event(ENTER_READ, 800, 0, 8, 8, 0, 5, 10)
    # A page of a known file, and two pages of another.
    trace.lines.append("image pid=7 opcode=10 base=0x401000 size=4096 default=0x401000 path=/bin/reader time=1001 device_major=254 inode=77")
    trace.event(CACHE, 300, 0, 7, 7, 78, disk, 1)
    # A connection, whose addresses follow, and packets: one in an interrupt.
    trace.event(STATE, 100, 0, 8, 8, 0xffff0000, 7, 2, 50000, 80, 2, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), bytes(16), bytes(16))
    trace.event(SEND, 200, 0, 8, 8, 0xffff0000, 300)
    trace.event(RECEIVE, 210, 0, 8, 8, 0xffff0000, 500)
    trace.event(RECEIVE, 220, 0, 7, 7, 0xffff1111, -11)
    trace.event(QUEUE, 200, 0, 8, 8, 366, "eth0", 1)
    trace.event(QUEUE, 205, 0, 7, 7, 60, "eth0", 16)
    trace.lines.sort(key=lambda line: int(re.search(r" time=(\d+)", line)[1]) if line.startswith("event") else 0)
    trace.write(name)


def known_answers():
    """operations, bytes and times of disks, files, sockets and interfaces, of a made trace"""
    made("a.ptl")
    found = usage("a.ptl")
    disk, = of(found, "disk").values()
    expect_equal(disk["name"], "254:0")
    expect_equal(numbers(disk, "reads", "read_bytes", "writes", "written_bytes", "others", "errors", "unfinished"), [2, 12288, 2, 4096, 1, 1, 1])
    expect_equal(numbers(disk, "timed", "time", "longest", "longest_end"), [4, 400 + 200 + 50 + 60, 400, 500])
    by_process = of(found, "disk", "process")
    expect_equal(numbers(by_process["reader"], "reads", "read_bytes", "time", "unfinished"), [1, 8192, 400, 1])
    expect_equal(numbers(by_process["writer"], "writes", "written_bytes", "others"), [2, 4096, 1], "with the empty write that asked for a flush")
    expect_equal(numbers(by_process[""], "reads", "read_bytes", "timed"), [1, 4096, 0], "an end without a beginning has no process")
    files = of(found, "file")
    expect_equal(set(files), {"/etc/motd", "fd 3 of 7", "fd 5 of 8"})
    expect_equal(numbers(files["/etc/motd"], "reads", "read_bytes", "others", "time", "errors"), [1, 100, 2, 50 + 10 + 10, 0])
    expect_equal(numbers(files["fd 3 of 7"], "reads", "read_bytes", "errors"), [1, 0, 1], "a closed descriptor has lost its name")
    expect_equal(numbers(files["fd 5 of 8"], "reads", "read_bytes", "time", "unfinished", "unfinished_time"), [1, 4, 5, 1, 100])
    expect_equal(numbers(found["window"][0], "without_beginning", "without_end"), [2, 1])
    expect_equal(numbers(of(found, "file-on-disk")["inode 78 of 254:0"], "reads", "read_bytes"), [1, 8192])
    sockets = of(found, "socket")
    expect_equal(numbers(sockets["10.0.0.1:50000 > 10.0.0.2:80"], "writes", "written_bytes", "reads", "read_bytes"), [1, 300, 1, 500])
    expect_equal(numbers(sockets["socket 0xffff1111"], "reads", "read_bytes", "errors"), [1, 0, 1])
    expect_equal(numbers(of(found, "interface")["eth0"], "writes", "written_bytes"), [2, 426])
    expect_equal({one["process"]: one["writes"] for one in found["process"] if one["medium"] == "interface"}, {"writer": 1, "": 1})


def every_list():
    """the first lines, and --by, --of, --limit, --pid and --time"""
    made("a.ptl")
    done = run(DUMP, "io", "a.ptl")
    first = done.stdout.splitlines()[:6]
    for line, words in zip(first, ("window       900 ns, ", "disk         reader 7 used 254:0 most: 1 operations, 8.0 KiB read, 1 without an end, 400 ns (56.34 % of all)",
                                   "file-on-disk reader 7 used inode 78 of 254:0 most", "file         reader 7 used /etc/motd most: 3 operations, 100 B read, 70 ns",
                                   "socket       writer 8 used 10.0.0.1:50000 > 10.0.0.2:80 most", "interface    ")):
        expect(line.startswith(words), line, "instead of", words)
    expect("beginning is not in the trace: 2" in done.stderr, done.stderr)
    every = usage("a.ptl")
    for by in ("object", "process", "use"):
        found = rows("io", "--by", by, "--of", "file", "a.ptl")
        expect_equal(set(found), {"window", by})
        expect_equal(found[by], [one for one in every[by] if one["medium"] == "file"])
        expect_equal(len(rows("io", "--by", by, "--of", "file", "-n", "1", "a.ptl")[by]), 1)
    expect_equal({one["process"] for one in usage("--pid", "8", "a.ptl")["process"]}, {"writer"})
    window = of(usage("--time", "300ns..450ns", "a.ptl"), "disk")["254:0"]
    # The write ended within, and half of its time is; the read was on its way.
    expect_equal(numbers(window, "reads", "writes", "time", "unfinished", "unfinished_time"), [0, 1, 100, 1, 150])


def windows():
    """.etl files of Windows, read directly and as a trace: disks with their files, files, sockets"""
    key = 0xffff8000
    address = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
    start = struct.pack("<IIQQQQQQQIBBBB", 40, 9, *[0] * 7, 0, 0, 0, 0, 0)
    at = etl.START_TICKS
    file = etl.File().buffer([
        etl.system(0x0503, start, version=3, ticks=at + 1),
        etl.system(0x0400, struct.pack("<Q", key) + etl.utf16("C:\\data.bin"), ticks=at + 2),
        etl.system(0x010A, struct.pack("<IIIIQQQQ", 3, 0, 512, 0, 0, key, 1, 700) + struct.pack("<I", 9), version=3, ticks=at + 1000),
        etl.system(0x010B, struct.pack("<IIIIQQQQ", 3, 0, 1024, 0, 0, key, 1, 300) + struct.pack("<I", 9), version=3, ticks=at + 2000),
        etl.system(0x0443, struct.pack("<QQQQIII", 0, 5, key, key, 9, 4096, 0), version=3, ticks=at + 3000),
        etl.system(0x044C, struct.pack("<QQI", 5, 0, 0), version=2, ticks=at + 3500),
        etl.system(0x060A, struct.pack("<II", 40, 1460) + address[1] + address[0] + struct.pack(">HH", 80, 50000) + struct.pack("<IIIQ", 0, 0, 0, 0),
                   version=2, ticks=at + 4000),
    ])
    write("w.etl", bytes(file))
    expect_equal(run(RELOG, "-q", "-o", "w.ptl", "w.etl").returncode, 0)
    for name in ("w.etl", "w.ptl"):
        found = usage(name)
        # Response times are ticks of 100 ns.
        for medium, called in (("disk", "disk 3"), ("file-on-disk", "C:\\data.bin")):
            expect_equal(numbers(of(found, medium)[called], "reads", "read_bytes", "writes", "written_bytes", "time", "longest"),
                         [1, 512, 1, 1024, 100000, 70000], name)
        expect_equal([one["pid"] for one in found["process"] if one["medium"] == "disk"], [40])
        expect_equal(numbers(of(found, "file")["C:\\data.bin"], "reads", "read_bytes", "time"), [1, 4096, 50000])
        expect_equal(numbers(of(found, "socket")["10.0.0.1:50000 > 10.0.0.2:80"], "writes", "written_bytes"), [1, 1460])


def real_windows():
    """a real file: requests, bytes and files of the disk are those of its events"""
    folder = os.environ.get("PTL_SHARED_ETL", "")
    name = os.path.join(folder, "net.4.5.2.x86.etl")
    if not os.path.exists(name):
        raise Skip(name + " is missing")
    found = usage(name)
    disk, = of(found, "disk").values()
    expect_equal(numbers(disk, "reads", "writes", "others", "timed"), [2339, 50, 4, 2393])
    files = of(found, "file-on-disk")
    expect_equal(sum(one["reads"] + one["writes"] for one in files.values()), 2389)
    expect("C:\\Windows\\System32\\wow64.dll" in files, list(files)[:5])
    expect_equal(sum(one["reads"] + one["writes"] for one in of(found, "socket").values()), 2 + 1 + 232 + 241 + 16 + 14 + 12 + 6)


def works():
    done = record("-f", "-o", "works.ptl", NONE, FLAGS, "--", "true")
    if done.returncode:
        raise Skip("events of disks and files cannot be recorded here: " + done.stderr.splitlines()[0])


def disk_of(name):
    """Returns device number and statistics file of the disk that has the file; skips other file systems."""
    device = os.stat(name).st_dev
    folder = os.path.realpath("/sys/dev/block/%d:%d" % (os.major(device), os.minor(device)))
    if os.path.exists(os.path.join(folder, "partition")):
        folder = os.path.dirname(folder)
    if not os.path.exists(os.path.join(folder, "stat")):
        raise Skip("the test's folder is not on a disk")
    with open(os.path.join(folder, "dev"), encoding="ascii") as file:
        return file.read().strip(), os.path.join(folder, "stat")


def statistics(name):
    """Returns reads, bytes read, writes, bytes written of a disk."""
    with open(name, encoding="ascii") as file:
        words = list(map(int, file.read().split()))
    return [words[0], words[2] * 512, words[4], words[6] * 512]


def system_wide(load):
    """Records the whole system while the load runs. Returns its output, and the disk's statistics around both recording and load.

    Some virtual machines report nothing of an idle CPU, such as ends of requests. So no CPU is idle.
    """
    disk, place = disk_of(SCRATCH)
    busy = [subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        return record_load(load, disk, place)
    finally:
        for one in busy:
            one.kill()
            one.wait()


def record_load(load, disk, place):
    before = statistics(place)
    done = record("start", "io", "-o", path("s.ptl"), FLAGS)
    if done.returncode:
        raise Skip("the whole system cannot be recorded here: " + done.stderr.splitlines()[0])
    try:
        # The recorder has written the processes and waits.
        time.sleep(0.2)
        begin = statistics(place)
        told = subprocess.run(load, capture_output=True, text=True, check=True, timeout=100).stdout
        end = statistics(place)
    finally:
        done = record("stop", "io")
    expect_equal(done.returncode, 0, done.stderr)
    after = statistics(place)
    return told, disk, [b - a for a, b in zip(begin, end)], [b - a for a, b in zip(before, after)]


def as_proc():
    """calls and bytes of descriptors are /proc/PID/io's, and requests and bytes of the disk its statistics'"""
    works()
    count, block = 30, 64 << 10
    told, disk, within, around = system_wide([LOAD, "disk", path("load.bin"), str(count)])
    pid = int(re.search(r"^pid (\d+)", told, re.M)[1])
    before, after = ({key: int(value) for key, value in re.findall(r"(\w+): (\d+)", re.search(rf"^{key} \d+ (.*)", told, re.M)[1])}
                     for key in ("before", "after"))
    size, last = (int(re.search(rf"^{key} (\d+)", told, re.M)[1]) for key in ("before", "after"))
    printed = told[told.index("written"):told.index("after")]
    found = usage("s.ptl")
    if found["window"][0]["lost_events"]:
        raise Skip("events were lost")
    files = of(found, "file")
    written, read = (files["fd %s of %d" % (re.search(rf"^{key} (\d+)", told, re.M)[1], pid)] for key in ("written", "read"))
    expect_equal(numbers(written, "writes", "written_bytes"), [count, count * block])
    # The same descriptor read /proc/self/io at the end.
    expect_equal(numbers(read, "reads", "read_bytes"), [count + 1, count * block + last])
    # The first reading of /proc/self/io counts in the second.
    expect_equal((after["syscr"] - before["syscr"], after["rchar"] - before["rchar"]), (read["reads"], read["read_bytes"] - last + size))
    lines = after["syscw"] - before["syscw"] - written["writes"]
    expect(1 <= lines <= 3 and after["wchar"] - before["wchar"] - written["written_bytes"] <= len(printed) + size + 100, lines, before, after)
    mine, = [one for one in found["use"] if one["medium"] == "disk" and one.get("pid") == pid and one["name"] == disk]
    # The program's own file may have been read before.
    expect(0 <= mine["read_bytes"] - (after["read_bytes"] - before["read_bytes"]) <= 1 << 20, "read from the disk", mine, before, after)
    # The file system's own writes count for whoever syncs.
    expect(mine["written_bytes"] >= count * block, "written to the disk", mine, before, after)
    whole = of(found, "disk")[disk]
    # An end that met an idle CPU may be missing: the request is unfinished then, and counts as such.
    missing = whole["unfinished"]
    for i, key in enumerate(("reads", "read_bytes", "writes", "written_bytes")):
        expect(within[i] - (missing * (1 << 20) if "bytes" in key else missing) <= whole[key] <= around[i], key, "of the disk", whole[key], "and its statistics", within[i], "to", around[i])


def fault_disk():
    """a planted fault: who is bound by the disk, and which descriptor, is in the first five lines"""
    works()
    done = record("-o", "fault.ptl", NONE, FLAGS + ",cswitch", "--", LOAD, "disk", path("fault.bin"), "30")
    expect_equal(done.returncode, 0, done.stderr)
    first = run(DUMP, "io", "fault.ptl").stdout.splitlines()[:5]
    expect(any(re.match(r"disk +usage_load \d+ used \d+:\d+ most: ", line) for line in first), first)
    expect(any(re.match(r"file +usage_load \d+ used fd \d+ of \d+ most: .* written", line) for line in first), first)
    first = run(DUMP, "cpu", "fault.ptl").stdout.splitlines()[:5]
    expect(any(re.match(r"blocked  usage_load \d+/\d+ was blocked, mostly by a disk: ", line) for line in first), first)


def mistakes():
    """a trace without such events is no error, and says how to record them; wrong options are errors; odd events do no harm"""
    trace = Made(100)
    trace.process(7, "p")
    trace.write("none.ptl")
    done = run(DUMP, "io", "none.ptl")
    expect_equal((done.returncode, done.stdout), (0, ""))
    expect("--flags disk-io,disk-io-init" in done.stderr, done.stderr)
    for words in (["--by", "cpu"], ["--of", "tapes"], ["-n", "0"], ["--pid", "12345678"]):
        expect_equal(run(DUMP, "io", *words, "none.ptl").returncode, 2, words)
    trace = Made(100)
    for i in range(40):
        trace.event(("block", "block_rq_issue", ("dev", "text"), ("sector", "i64"), ("rwbs", "u8")), i, 0, 7, 7, "x", -i, 255)
        trace.event(("block", "block_rq_complete", ("dev", "u64"), ("sector", "i64"), ("nr_sector", "i64"), ("rwbs", "text")), i, 0, 7, 7, 2 ** 64 - 1, -i, -1, "")
        trace.event(("syscalls", "sys_enter_read", ("fd", "text")), i, 0, 7, 7, "")
        trace.event(("syscalls", "sys_exit_read", ("ret", "i64")), i, 0, 7, 7, 2 ** 63 - 1)
        trace.event(("sock", "inet_sock_set_state", ("skaddr", "text"), ("sport", "u16"), ("dport", "u16"), ("family", "u16"), ("saddr", "text")), i, 0, 7, 7,
                    "", 1, 1, 2, "abcd")
        trace.event(("net", "net_dev_queue", ("name", "u8"), ("len", "i64")), i, 0, 7, 7, 1, -1)
        trace.event(("Windows Kernel", "DiskIO/Read", ("DiskNumber", "i64"), ("TransferSize", "i64"), ("HighResResponseTime", "u64"), ("FileName", "u32")),
                    i, 0, 7, 7, -1, -1, 2 ** 64 - 1, 5)
    trace.write("odd.ptl")
    usage("odd.ptl")


TESTS = [known_answers, every_list, windows, real_windows, as_proc, fault_disk, mistakes]
sys.exit(main(TESTS))
