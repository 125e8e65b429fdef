# SPDX-License-Identifier: BSD-2-Clause
# Shared by end-to-end tests of perf.data with Intel PT: writing such files, for machines without Intel PT.
"""import perf_file after putting the folder of the test, and tests/reader, on sys.path."""
import os
import struct
import subprocess

import ptl_reader
from scratch_test import DUMP, run, scratch, write

PMU = 8                         # a possible type of the PMU intel_pt
TSC, NORETCOMP, MTC, CYC = 1 << 10, 1 << 11, 1 << 9, 1 << 1
EVERYWHERE = 0xffffffff         # any CPU, or any thread
SAMPLE_TYPE = 0x1 | 0x2 | 0x4 | 0x80 | 0x10000  # IP, TID, TIME, CPU, IDENTIFIER
SAMPLE_AUX = 1 << 20
SWITCH, SWITCH_CPU_WIDE, OUT = 14, 15, 1 << 13
MMAP_BUILD_ID = 1 << 14
IMAGE = "1d5db12c"              # start of the GUID of image events


def entry(kind, body, misc=0):
    """A record."""
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value):
    return value.encode() + b"\0"


def vdso_build_id():
    """Returns the build id of this machine's vdso, whose code programs of Debian 13 execute."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps, open("/proc/self/mem", "rb") as memory:
        spans = [line.split()[0].split("-") for line in maps if line.rstrip().endswith("[vdso]")]
        for first, last in spans:
            memory.seek(int(first, 16))
            code = memory.read(int(last, 16) - int(first, 16))
            at = code.find(struct.pack("<III4s", 4, 20, 3, b"GNU\0"))
            return code[at + 16:at + 36] if at >= 0 else None
    return None


class File:
    """
    A perf.data file being made. TSC t has the time zero + (t * mult >> shift). The CPU's TSC leads t: packets hold the
    lower 56 bits of t + lead.
    """
    attr_size = 128             # of perf_event_attr: of Linux 5.13 to 6.2
    user = 0                    # mode of the CPU in records of processes

    def __init__(self, shift=0, mult=1, zero=0, config=TSC, per_cpu=0, switches=0, snapshots=0, lead=0, filters=""):
        self.lead, self.filters = lead, filters
        self.shift, self.mult, self.zero = shift, mult, zero
        self.config, self.per_cpu, self.switches, self.snapshots = config, per_cpu, switches, snapshots
        self.records, self.positions, self.reference, self.features = [], {}, 1, {}
        self.more = []          # further events, with ids from 2 on: type, config, sample type, flags, values of attributes
        self.first = b""        # records before the description of the packets

    def time(self, tsc):
        return self.zero + (tsc * self.mult >> self.shift)

    def trailer(self, pid, tid, tsc, cpu=0):
        return struct.pack("<IIQIIQ", pid, tid, self.time(tsc) if tsc else 0, cpu, 0, 1)

    def info(self):
        zero = (self.zero - (self.lead * self.mult >> self.shift)) % (1 << 64)
        filters = text(self.filters) if self.filters else b""
        filters += bytes(-len(filters) % 8)
        return entry(70, struct.pack("<II17Q", 1, 0, PMU, self.shift, self.mult, zero, 1, TSC, NORETCOMP,
                                     self.switches, self.snapshots, self.per_cpu, MTC, 0xf << 14, 40, 1, CYC, 10, len(self.filters)) + filters)

    def program(self, pid, tid, name="traced"):
        self.records.append(entry(3, struct.pack("<II", pid, tid) + text(name).ljust(8 + len(name) // 8 * 8, b"\0") +
                                  self.trailer(pid, tid, 0), self.user))

    def fork(self, pid, parent, tid, tsc):
        self.records.append(entry(7, struct.pack("<IIIIQ", pid, parent, tid, parent, self.time(tsc)) +
                                  self.trailer(parent, parent, tsc)))

    def map(self, pid, tid, base, size, offset, protection, name, info, tsc, build_id=None):
        device = (os.major(info.st_dev), os.minor(info.st_dev), info.st_ino) if info else (0, 0, 0)
        identity, misc = struct.pack("<IIQQ", *device, 0), self.user
        build_id = vdso_build_id() if name == "[vdso]" else build_id
        if build_id:
            identity, misc = struct.pack("<BBH", 20, 0, 0) + build_id, MMAP_BUILD_ID | self.user
        body = struct.pack("<IIQQQ", pid, tid, base, size, offset) + identity + struct.pack("<II", protection, 2) + text(name)
        body += bytes(-len(body) % 8)
        self.records.append(entry(10, body + self.trailer(pid, tid, tsc), misc))

    def mappings(self, trace, pid, tid, earliest):
        """Adds the code of a process of the trace as MMAP2 records."""
        for event in trace.events():
            if event["pid"] == pid and event["provider"].hex().startswith(IMAGE) and event["opcode"] == 10:
                base, size = struct.unpack_from("<QQ", event["payload"])
                name = event["payload"][56:].decode("utf-16-le", "replace").split("\0")[0]
                after = 56 + 2 * (len(name) + 1)
                offset, protection = struct.unpack_from("<QI", event["payload"], after)
                self.map(pid, tid, base, size, offset, protection, name, os.stat(name) if os.path.isfile(name) else None,
                         event["time"] or earliest)

    def switch_in(self, pid, tid, before, tsc, cpu=0):
        kind, body = (SWITCH_CPU_WIDE, struct.pack("<II", 0, before)) if self.switches == 3 else (SWITCH, b"")
        self.records.append(entry(kind, body + self.trailer(pid, tid, tsc, cpu)))

    def switch_out(self, pid, tid, after, tsc, cpu=0, after_pid=None):
        """Adds a switch. after: the next thread, the first of its process unless after_pid is given."""
        next_ids = struct.pack("<II", after if after_pid is None else after_pid, after)
        kind, body = (SWITCH_CPU_WIDE, next_ids) if self.switches == 3 else (SWITCH, b"")
        self.records.append(entry(kind, body + self.trailer(pid, tid, tsc, cpu), OUT))

    def packets(self, data, index, cpu=EVERYWHERE, tid=EVERYWHERE, position=None, reference=None):
        """Adds a record of trace data: perf pads it to 8 bytes, and the next record's data continues at its last byte."""
        at = self.positions.get(index, 0) if position is None else position
        self.positions[index] = at + len(data)
        self.records.append(entry(71, struct.pack("<QQQIIII", len(data) + -len(data) % 8, at,
                                                  (reference or self.reference) + self.lead, index, tid, cpu, 0)))
        self.records.append(data + bytes(-len(data) % 8))

    def index(self, cpu, tid):
        """Sets the ring of both events, of a CPU or of a thread."""
        rings = b"".join(struct.pack("<QQQQ", event, 0, *(0xffffffffffffffff if number == EVERYWHERE else number for number in (cpu, tid)))
                         for event in (1, 2))
        self.first = entry(69, struct.pack("<Q", 2) + rings)

    def sample(self, data, pid, tid, tsc, cpu=0, ip=0):
        """Adds a sample with the latest packets (perf record --aux-sample), padded as the kernel does."""
        data += bytes(-len(data) % 8)
        self.more = [(1, 1, SAMPLE_TYPE | SAMPLE_AUX, 0, ((112, "<I", 4096),))]
        self.records.append(entry(9, struct.pack("<QQIIQIIQ", 2, ip, pid, tid, self.time(tsc), cpu, 0, len(data)) + data, 2))

    def truncated(self, tsc, pid, tid, cpu=0):
        """Adds an AUX record of a full buffer."""
        self.filled(tsc, pid, tid, cpu, 1)

    def filled(self, tsc, pid, tid, cpu=0, flags=0):
        """Adds an AUX record."""
        self.records.append(entry(11, struct.pack("<QQQ", 0, 0, flags) + self.trailer(pid, tid, tsc, cpu)))

    def attrs(self):
        flags = 1 << 18 | (1 << 26 if self.switches else 0)  # sample_id_all, context_switch
        attrs = [struct.pack("<IIQQQQQ", PMU, self.attr_size, self.config, 1, SAMPLE_TYPE, 0, flags).ljust(self.attr_size, b"\0")]
        for kind, config, sample_type, own, values in self.more:
            attr = bytearray(struct.pack("<IIQQQQQ", kind, self.attr_size, config, 1, sample_type, 0, flags | own).ljust(self.attr_size, b"\0"))
            for offset, form, value in values:
                struct.pack_into(form, attr, offset, value)
            attrs.append(bytes(attr))
        return attrs

    def bytes(self):
        data, attrs = self.first + self.info() + b"".join(self.records), self.attrs()
        ids = b"".join(struct.pack("<Q", number) for number in range(1, 1 + len(attrs)))
        table = b"".join(attr + struct.pack("<QQ", 104 + 8 * number, 8) for number, attr in enumerate(attrs))
        start = 104 + len(ids) + len(table)
        bits = sum(1 << number for number in self.features)
        head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 16 + self.attr_size, 104 + len(ids), len(table), start, len(data), 0, 0)
        whole = head + bits.to_bytes(32, "little") + ids + table + data
        at, bodies = len(whole) + 16 * len(self.features), b""
        for _, body in sorted(self.features.items()):
            whole += struct.pack("<QQ", at + len(bodies), len(body))
            bodies += body
        return whole + bodies

    def pipe(self):
        """The same, as perf record -o - writes it: attributes are records."""
        attrs = b"".join(entry(64, attr + struct.pack("<Q", 1 + number)) for number, attr in enumerate(self.attrs()))
        return struct.pack("<8sQ", b"PERFILE2", 16) + attrs + self.first + self.info() + b"".join(self.records)


def streams_of(trace):
    """Returns the PT streams of a trace: (pid, tid, bytes)."""
    found = []
    for stream in trace.streams.values():
        if stream.kind == ptl_reader.PT:
            found.append((*stream.identity()[2:4], b"".join(data for _, data in trace.stream_bytes(stream))))
    return found


def load(name):
    with open(name, "rb") as file:
        return ptl_reader.Trace(file.read(), False)


def stretches(trace, tid):
    """Returns a thread's packets as text without times, in lists up to each TIP.PGD."""
    lists = [[]]
    for line in run(DUMP, "packets", "--tid", str(tid), trace).stdout.splitlines():
        if not line.startswith(" "):
            continue
        packet = line.split(None, 1)[1].split("#")[0].strip()
        if not packet.startswith("tsc"):
            lists[-1].append(packet)
        if packet.startswith("tip.pgd"):
            lists.append([])
    return [packets for packets in lists if packets]


def assemble(lines, lead=0):
    """lead: as in File, for TSC packets."""
    if lead:
        lines = [f"tsc {(int(line.split()[1], 0) + lead) % (1 << 56):#x}" if line.startswith("tsc ") else line for line in lines]
    write("lines.txt", "\n".join(lines).encode())
    return subprocess.run([os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "lines.txt"], cwd=scratch,
                          capture_output=True, timeout=60, check=True).stdout
