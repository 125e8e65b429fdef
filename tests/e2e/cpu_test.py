# SPDX-License-Identifier: BSD-2-Clause
# Packets of a CPU that executes the code of recorded programs: for tests of threads that take turns on a CPU.
"""import cpu_test after putting tests/reader on sys.path."""
import json

from scratch_test import DUMP, run


def executed(trace, tid):
    """Returns the blocks of a thread, a list per period of enabled packets; and the addresses of all instructions."""
    lists, addresses = [], []
    for line in run(DUMP, "flow", "--json", "--tid", str(tid), trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "enabled":
            lists.append([])
        elif event["type"] == "block":
            lists[-1].append((int(event["ip"], 16), event["size"], event["branch"]))
    for line in run(DUMP, "flow", "-l", "insn", "--json", "--tid", str(tid), trace).stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "instruction":
            addresses.append(int(event["ip"], 16))
    return lists, addresses


class Cpu:
    """
    Writes packets of executed blocks like a CPU with return compression. The CPU forgets its calls only at a PSB, not
    at a context switch. A return to another place clears all calls, so it does not matter whether the return pops one.
    """

    def __init__(self):
        self.lines, self.bits, self.calls, self.compressed = [], "", [], 0
        self.own, self.over_switches = 0, 0

    def flush(self):
        self.lines += ["tnt " + self.bits] if self.bits else []
        self.bits = ""

    def bit(self, taken):
        self.bits += "t" if taken else "n"
        if len(self.bits) == 6:
            self.flush()

    def tip(self, address):
        self.flush()
        self.lines.append(f"tip {address:#x}")

    def psb(self, tsc):
        self.lines += ["psb", f"tsc {tsc:#x}", "mode.exec 64", "psbend"]
        self.calls = []

    def returns(self, address):
        if self.calls and self.calls[-1] == address:
            self.calls.pop()
            self.compressed += 1
            self.over_switches += self.own <= 0
            self.own -= 1
            self.bit(True)
        else:
            self.calls = []
            self.tip(address)

    def execute(self, blocks, tsc):
        """Executes blocks from the start of enabled packets to a system call."""
        self.lines += [f"tip.pge {blocks[0][0]:#x}", f"tsc {tsc:#x}"]
        self.own = 0
        for (address, size, branch), (after, _, _) in zip(blocks, blocks[1:] + [(None, 0, "")]):
            if branch in ("indirect-call", "indirect-jump"):
                self.tip(after)
            if branch in ("call", "indirect-call") and after != address + size:
                self.calls = (self.calls + [address + size])[-64:]
                self.own += 1
            elif branch == "conditional":
                self.bit(after != address + size)
            elif branch == "return":
                self.returns(after)
        self.flush()
        self.lines.append("tip.pgd -")
