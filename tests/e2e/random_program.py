#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Writes a random static x86-64 program as assembly text: instructions of all classes around branches of all kinds.
"""
    random_program.py [--size N] [--steps N] [--rounds N] [--signals] [--without FEATURE,...] [--only FEATURE,...] SEED >program.s
    gcc -nostdlib -static -no-pie -o program program.s

At its end the program writes all registers, the flags, and sums of its memory and vector registers to standard output.
A seed always makes the same program. Its output must be equal natively and recorded, and its flow equal to single_step's.

--size N        statements in each function (30)
--steps N       upper bound of executed instructions, about (20000)
--rounds N      runs the whole program N times (1)
--signals       a timer signal every 20 microseconds, with the handler on a separate stack
--without, --only   features, of FEATURES below; --only keeps plain arithmetic
"""
import argparse
import random

FEATURES = {
    "memory": "memory operands, relative to rip, absolute, with base and index, 32-bit addresses",
    "stack": "push, pop, enter, leave, arithmetic with rsp, odd stack pointers",
    "redzone": "values below rsp across branches",
    "wild_stack": "branches while rsp is no address of memory",
    "string": "string instructions, with and without rep",
    "flags": "lahf, sahf, pushf, popf",
    "system": "system calls, which show the address of the next instruction in rcx",
    "fs": "operands in the segment fs",
    "sse": "SSE2",
    "avx": "AVX2, BMI",
    "avx512": "AVX-512 (off, unless --only names it or --avx512 is given)",
    "x87": "x87",
    "conditional": "conditional jumps, if and else",
    "loop": "loop, loope, loopne, jrcxz, jecxz, counted loops",
    "direct": "direct jumps, calls and returns, also with prefixes",
    "indirect": "indirect jumps and calls, with all kinds of operands",
    "table": "jump tables",
    "odd_return": "push and ret, call and pop, ret with a number, changed return addresses, jumps out of calls",
    "recursion": "recursion deeper than 64 calls",
    "overlap": "jumps into an instruction",
    "change": "code that the program changes",
}

NAMES = ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi"] + ["r%d" % i for i in range(8, 16)]
LOW = {"rax": "al", "rcx": "cl", "rdx": "dl", "rbx": "bl", "rbp": "bpl", "rsi": "sil", "rdi": "dil"}
HIGH = {"rax": "ah", "rcx": "ch", "rdx": "dh", "rbx": "bh"}
CONDITIONS = "o no b nb z nz be nbe s ns p np l nl le nle".split()
MEMORY = 4096
WORD = {8: "byte", 16: "word", 32: "dword", 64: "qword", 128: "xmmword", 256: "ymmword", 512: "zmmword"}
VECTORS = 16


def sub(name, bits):
    """Returns the part of a register with this number of bits."""
    if bits == 64:
        return name
    if name[1].isdigit():
        return name + {32: "d", 16: "w", 8: "b"}[bits]
    return {32: "e" + name[1:], 16: name[1:], 8: LOW[name]}[bits]


class Program:
    def __init__(self, arguments):
        self.random = random.Random(arguments.seed)
        self.features = features_of(arguments)
        self.size = arguments.size
        self.steps = arguments.steps
        self.rounds = arguments.rounds
        self.signals = arguments.signals
        self.lines = []
        self.data = []
        self.stubs = []  # linkage stubs behind all functions
        self.labels = 0
        self.cost = 0      # upper bound of the function's executed instructions so far
        self.keep = set()  # registers that must not be written
        self.has_stack = True
        self.depth = 0
        self.functions = []  # (name, cost, bytes of arguments removed on return)
        self.kinds = [(weight, method) for feature, weight, method in self.table() if feature in self.features]

    # ---- text ---------------------------------------------------------------------------------

    def put(self, text, cost=1):
        self.lines.append("\t" + text)
        self.cost += cost

    def label(self):
        self.labels += 1
        return "L%d" % self.labels

    def mark(self, label):
        self.lines.append(label + ":")

    def datum(self, text):
        """Adds a label with data. Returns the label."""
        label = "D%d" % len(self.data)
        self.data.append("%s: %s" % (label, text))
        return label

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    # ---- operands -----------------------------------------------------------------------------

    def size_of(self):
        return self.pick(8, 16, 32, 64, 64, 32)

    def source(self):
        return self.random.choice(NAMES)

    def target(self, *others):
        """Returns a writable register, other than the given registers."""
        return self.random.choice([n for n in NAMES if n not in self.keep and n not in others])

    def free(self, *names):
        return not self.keep & set(names)

    def register(self, bits, name):
        if bits == 8 and name in HIGH and self.chance(20):
            return HIGH[name]
        return sub(name, bits)

    def number(self, bits):
        """Returns an immediate operand: at most 32 bits, signed."""
        bits = min(bits, 32)
        value = self.pick(0, 1, -1, 127, -128, self.random.getrandbits(bits), self.random.getrandbits(7))
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    def memory(self, bits, aligned=False, plain=False):
        """Returns a memory operand. May first write an address into a register."""
        align = bits // 8 if aligned else self.pick(1, bits // 8)
        offset = self.random.randrange(0, (MEMORY - bits // 8) // align) * align
        word = WORD[bits] + " ptr "
        kind = self.random.randrange(10)
        if plain or kind < 5:
            return word + "[rip + memory + %d]" % offset
        if kind < 6:
            return word + "[memory + %d]" % offset  # absolute, 32 bits
        base = self.target()
        if kind < 7:
            self.put("lea %s, [rip + memory + %d]" % (base, offset))
            return word + "[%s]" % base
        if kind < 8:
            self.put("lea %s, [rip + memory + %d]" % (sub(base, 32), offset))
            return word + "[%s]" % sub(base, 32)
        if kind < 9 and "fs" in self.features:
            if self.chance(50):
                return word + "fs:[%d]" % offset
            self.put("mov %s, %d" % (base, offset))
            return word + "fs:[%s]" % base
        self.put("mov %s, %d" % (sub(base, 32), offset // 8))
        return word + "[%s*8 + memory + %d]" % (base, offset % 8)

    def memory_or(self, bits, register):
        if "memory" in self.features and self.chance(40):
            return self.memory(bits)
        return register

    # ---- plain instructions -------------------------------------------------------------------

    def arithmetic(self):
        name = self.pick("add", "adc", "sub", "sbb", "and", "or", "xor", "cmp", "test", "mov")
        bits = self.size_of()
        form = self.random.randrange(4 if "memory" in self.features else 2)
        if form == 0:
            self.put("%s %s, %s" % (name, sub(self.target(), bits), sub(self.source(), bits)))
        elif form == 1:
            self.put("%s %s, %d" % (name, self.register(bits, self.target()), self.number(bits)))
        elif form == 2:
            place = self.memory(bits)
            if name == "test" or self.chance(60):
                self.put("%s %s, %s" % (name, place, sub(self.source(), bits)))
            else:
                self.put("%s %s, %s" % (name, sub(self.target(), bits), place))
        else:
            lock = "lock " if name not in ("cmp", "test", "mov") and self.chance(10) else ""
            self.put("%s%s %s, %d" % (lock, name, self.memory(bits), self.number(bits)))

    def one_operand(self):
        bits = self.size_of()
        place = self.memory_or(bits, self.register(bits, self.target()))
        self.put("%s %s" % (self.pick("inc", "dec", "neg", "not"), place))

    def shift(self):
        bits = self.size_of()
        name = self.pick("shl", "shr", "sar", "rol", "ror", "rcl", "rcr")
        count = self.pick("1", "cl", str(self.random.randrange(bits)))
        self.put("%s %s, %s" % (name, self.memory_or(bits, sub(self.target(), bits)), count))

    def double_shift(self):
        bits = self.pick(32, 64)
        place = self.memory_or(bits, sub(self.target(), bits))
        self.put("%s %s, %s, %s" % (self.pick("shld", "shrd"), place, sub(self.source(), bits),
                                    self.pick("cl", str(self.random.randrange(32)))))

    def multiply(self):
        bits = self.pick(16, 32, 64)
        if self.chance(50):
            source = self.memory_or(bits, sub(self.source(), bits))
            end = ", %d" % self.number(bits) if self.chance(50) else ""
            self.put("imul %s, %s%s" % (sub(self.target(), bits), source, end))
        elif self.free("rax", "rdx"):
            self.put("%s %s" % (self.pick("mul", "imul"), self.memory_or(bits, sub(self.source(), bits))))

    def divide(self):
        if not self.free("rax", "rdx"):
            return
        bits = self.pick(16, 32, 64)
        name = self.target("rax", "rdx")
        self.put("or %s, 1" % sub(name, bits))
        self.put("mov edx, 0")
        if self.chance(50):
            self.put("div %s" % sub(name, bits))
            return
        self.put("shr rax, 2")
        self.put("mov %s, %d" % (sub(name, bits), self.random.randrange(3, 100)))
        self.put("movzx eax, ax")
        self.put("shr eax, 1")
        self.put("idiv %s" % sub(name, bits))

    def bit(self):
        bits = self.pick(16, 32, 64)
        name = self.pick("bt", "bts", "btr", "btc")
        if self.chance(50):
            self.put("%s %s, %d" % (name, self.memory_or(bits, sub(self.target(), bits)),
                                    self.random.randrange(bits)))
        elif self.chance(50):
            self.put("%s %s, %s" % (name, sub(self.target(), bits), sub(self.source(), bits)))
        else:
            self.put("or %s, 1" % sub(self.target(), bits))
            name = self.target()
            self.put("or %s, 4" % name)
            self.put("%s %s, %s" % (self.pick("bsf", "bsr"), sub(self.target(), bits), sub(name, bits)))

    def move(self):
        bits = self.pick(16, 32, 64)
        kind = self.random.randrange(9)
        if kind == 0:
            self.put("movabs %s, %d" % (self.target(), self.random.getrandbits(64) - (1 << 63)))
        elif kind == 1:
            self.put("lea %s, [%s + %s*%d + %d]" % (sub(self.target(), bits), self.source(), self.source(),
                                                   self.pick(1, 2, 4, 8), self.number(32)))
        elif kind == 2:
            self.put("lea %s, [rip + memory + %d]" % (self.target(), self.random.randrange(MEMORY)))
        elif kind == 3:
            less = 8 if bits == 16 else self.pick(8, 16)
            self.put("%s %s, %s" % (self.pick("movzx", "movsx"), sub(self.target(), bits),
                                    self.memory_or(less, sub(self.source(), less))))
        elif kind == 4:
            self.put("movsxd %s, %s" % (self.target(), self.memory_or(32, sub(self.source(), 32))))
        elif kind == 5:
            self.put("bswap %s" % sub(self.target(), self.pick(32, 64)))
        elif kind == 6:
            self.put("xchg %s, %s" % (self.memory_or(bits, sub(self.target(), bits)), sub(self.target(), bits)))
        elif kind == 7 and self.free("rax", "rdx"):
            self.put(self.pick("cbw", "cwde", "cdqe", "cwd", "cdq", "cqo"))
        elif kind == 8 and self.free("rax") and "memory" in self.features:
            name = self.pick("al", "ax", "eax", "rax")
            place = "[memory + %d]" % self.random.randrange(MEMORY - 8)
            self.put("movabs %s, %s" % (name, place) if self.chance(50) else "movabs %s, %s" % (place, name))

    def condition(self):
        condition = self.random.choice(CONDITIONS)
        if self.chance(50):
            self.put("set%s %s" % (condition, self.memory_or(8, self.register(8, self.target()))))
        else:
            bits = self.pick(16, 32, 64)
            self.put("cmov%s %s, %s" % (condition, sub(self.target(), bits), self.memory_or(bits, sub(self.source(), bits))))

    def exchange(self):
        bits = self.pick(8, 16, 32, 64)
        lock = self.pick("", "lock ")
        if self.chance(40):
            self.put("%sxadd %s, %s" % (lock, self.memory(bits), sub(self.target(), bits)))
        elif self.free("rax") and self.chance(60):
            self.put("%scmpxchg %s, %s" % (lock, self.memory(bits), sub(self.source(), bits)))
        elif self.free("rax", "rdx"):
            name = self.pick("cmpxchg8b qword", "cmpxchg16b xmmword")
            self.put("%s%s ptr [rip + memory + %d]" % (lock, name, 16 * self.random.randrange(MEMORY // 16)))

    def flag(self):
        kind = self.random.randrange(6)
        if kind == 0:
            self.put(self.pick("clc", "stc", "cmc"))
        elif kind == 1 and self.free("rax"):
            self.put(self.pick("lahf", "sahf"))
        elif kind == 2 and self.has_stack:
            self.put("pushfq")
            self.put("pop %s" % self.target())
        elif kind == 3 and self.has_stack:
            self.put("pushfq")
            self.body(2)
            self.put("popfq")
        elif kind == 4 and self.has_stack:
            name = self.target()
            self.put("mov %s, %s" % (name, self.source()))
            self.put("and %s, 0x8d5" % sub(name, 32))
            self.put("push %s" % name)
            self.put("popfq")
        elif kind == 5:
            self.put("std")
            self.body(1)
            self.put("cld")

    def string(self):
        if not self.free("rsi", "rdi", "rcx", "rax"):
            return
        bits = self.pick("b", "w", "d", "q")
        name = self.pick("movs", "stos", "lods", "scas", "cmps")
        prefix = self.pick("", "rep ", "rep ") if name in ("movs", "stos", "lods") else self.pick("", "repe ", "repne ")
        backward = self.chance(20)
        self.put("lea rsi, [rip + memory + %d]" % self.random.randrange(512, 1024))
        self.put("lea rdi, [rip + memory + %d]" % self.random.randrange(1536, 3072))
        self.put("mov ecx, %d" % self.pick(0, 1, 2, self.random.randrange(60)))
        if backward:
            self.put("std")
        self.put("%s%s%s" % (prefix, name, bits))
        if backward:
            self.put("cld")

    def translate(self):
        if self.free("rbx", "rax"):
            self.put("lea rbx, [rip + memory + %d]" % self.random.randrange(MEMORY - 256))
            self.put("xlatb")

    def system(self):
        if not self.free("rax", "rcx", "r11"):
            return
        self.put("mov eax, 1000")  # no system call has this number
        self.put("syscall")
        self.put("and r11, ~0x100")

    def segment(self):
        bits = self.size_of()
        place = "%s ptr fs:[%d]" % (WORD[bits], self.random.randrange(MEMORY - 8))
        name = self.pick("mov", "add", "xor", "cmp", "adc")
        if self.chance(50):
            self.put("%s %s, %s" % (name, place, sub(self.source(), bits)))
        else:
            self.put("%s %s, %s" % (name, sub(self.target(), bits), place))

    def vector(self, count=VECTORS):
        return self.random.randrange(count)

    def sse(self):
        kind = self.random.randrange(9)
        x, y = "xmm%d" % self.vector(), "xmm%d" % self.vector()
        place = self.pick(y, self.memory(128, aligned=True))
        if kind == 0:
            self.put("%s %s, %s" % (self.pick("movdqu", "movups", "movdqa", "movaps"), x, place))
        elif kind == 1:
            self.put("%s %s, %s" % (self.pick("movdqu", "movups", "movaps"), self.memory(128, aligned=True), x))
        elif kind == 2:
            self.put("%s %s, %s" % (self.pick("paddd", "pxor", "psubb", "pand", "por", "pmuludq", "pcmpeqb", "pshufb",
                                              "punpcklbw", "pmaxub"), x, place))
        elif kind == 3:
            self.put("pshufd %s, %s, %d" % (x, place, self.random.getrandbits(8)))
        elif kind == 4:
            self.put("movq %s, %s" % (x, self.memory_or(64, self.source())))
        elif kind == 5:
            self.put("pmovmskb %s, %s" % (sub(self.target(), 32), x))
        elif kind == 6:
            self.put("%s %s, %s" % (self.pick("ucomisd", "comisd"), x, self.pick(y, self.memory(64))))
        elif kind == 7:
            self.put("ptest %s, %s" % (x, place))
        elif kind == 8:
            self.put("pextrq %s, %s, %d" % (self.target(), x, self.random.randrange(2)))

    def avx(self):
        kind = self.random.randrange(8)
        x, y = "ymm%d" % self.vector(), "ymm%d" % self.vector()
        if kind < 2:
            self.put("%s %s, %s, %s" % (self.pick("vpaddd", "vpxor", "vpsubq", "vpcmpgtb", "vpunpckhbw"), x, y,
                                        self.pick("ymm%d" % self.vector(), self.memory(256))))
        elif kind == 2:
            self.put("vmovdqu %s, %s" % (self.pick((x, self.memory(256)), (self.memory(256), x))))
        elif kind == 3:
            self.put("vinserti128 %s, %s, %s, %d" % (x, y, self.memory(128), self.random.randrange(2)))
        elif kind == 4:
            bits = self.pick(32, 64)
            a, b, c = sub(self.target(), bits), sub(self.source(), bits), sub(self.source(), bits)
            name = self.pick("andn", "pdep", "pext", "shlx", "sarx", "bextr")
            swapped = name in ("shlx", "sarx", "bextr")
            last = self.memory_or(bits, c)
            self.put("%s %s, %s, %s" % ((name, a, last, b) if swapped else (name, a, b, last)))
        elif kind == 5:
            bits = self.pick(32, 64)
            self.put("rorx %s, %s, %d" % (sub(self.target(), bits), self.memory_or(bits, sub(self.source(), bits)),
                                          self.random.randrange(bits)))
        elif kind == 6:
            self.put("%s %s, %s" % (self.pick("tzcnt", "lzcnt", "popcnt", "adcx", "adox"), self.target(), self.memory_or(64, self.source())))
        else:
            self.put("vptest %s, %s" % (x, self.pick(y, self.memory(256))))

    def avx512(self):
        kind = self.random.randrange(4)
        x, y, z = ("zmm%d" % self.vector(32) for _ in range(3))
        if kind == 0:
            self.put("vpternlogd %s, %s, %s, %d" % (x, y, self.pick(z, self.memory(512)), self.random.getrandbits(8)))
        elif kind == 1:
            self.put("vpaddd %s{k1}, %s, %s" % (x, y, self.pick(z, self.memory(512))))
        elif kind == 2:
            self.put("vpcmpd k%d, %s, %s, %d" % (self.random.randrange(1, 8), y, self.pick(z, self.memory(512)), self.pick(1, 2, 4)))
        else:
            self.put("vmovdqu64 %s, %s" % (self.pick((x, self.memory(512)), (self.memory(512), x))))

    def x87(self):
        self.put("fild %s" % self.memory(64))
        self.put(self.pick("fld1", "fldpi", "fldz"))
        self.put(self.pick("faddp", "fmulp", "fsubp"))
        if self.chance(40):
            self.put("fld1")
            self.put("fcomip st, st(1)")
        self.put("fstp %s" % self.memory(64))

    # ---- the stack ----------------------------------------------------------------------------

    def stack(self):
        if not self.has_stack:
            return
        kind = self.random.randrange(10)
        if kind == 0:
            what = self.pick(self.source(), "qword ptr [rip + memory + %d]" % self.random.randrange(MEMORY - 8),
                             str(self.number(32)), "qword ptr [rsp]", "qword ptr [rsp - 16]", "rsp")
            self.put("push " + what)
            self.body(3)
            self.put("pop " + self.pick(self.target(), self.target(),
                                        "qword ptr [rip + memory + %d]" % self.random.randrange(MEMORY - 8)))
        elif kind == 1:
            self.put("push %s" % sub(self.source(), 16))
            self.body(2)
            self.put("pop %s" % sub(self.target(), 16))
        elif kind == 2 and self.free("rbp"):
            self.keep.add("rbp")
            self.put("push rbp")
            self.put("mov rbp, rsp")
            self.put("sub rsp, %d" % self.random.randrange(1, 200))
            self.body(4)
            self.put(self.pick("leave", "mov rsp, rbp\n\tpop rbp"), 2)
            self.keep.discard("rbp")
        elif kind == 3 and self.free("rbp"):
            self.put("mov rbp, rsp")
            self.put("enter %d, %d" % (self.random.randrange(0, 300), self.random.randrange(2)))
            self.keep.add("rbp")
            self.body(3)
            self.keep.discard("rbp")
            self.put("leave")
        elif kind in (4, 5):
            distance = self.random.randrange(1, 300)
            self.put(self.pick("sub rsp, %d", "lea rsp, [rsp - %d]") % distance)
            self.body(4)
            self.put(self.pick("add rsp, %d", "lea rsp, [rsp + %d]", "sub rsp, -%d") % distance)
        elif kind == 6:
            name = self.target()
            self.put("mov %s, rsp" % name)
            self.keep.add(name)
            self.put("and rsp, -%d" % self.pick(16, 32, 64))
            self.body(3)
            self.keep.discard(name)
            self.put(self.pick("mov rsp, %s", "xchg rsp, %s", "lea rsp, [%s]") % name)
        elif kind == 7:
            self.put("push %s" % self.source())
            self.put("push %s" % self.source())
            self.put("pop qword ptr [rsp]")
            self.put("pop %s" % self.target())
        elif kind == 8:
            self.put("%s %s, rsp" % (self.pick("mov", "add", "cmp"), self.target()))
        else:
            name = self.target()
            self.put("lea %s, [rsp + %s*2]" % (name, self.source()))

    def redzone(self):
        if not self.has_stack:
            return
        offset = self.random.randrange(8, 129)
        self.put("mov qword ptr [rsp - %d], %s" % (offset, self.source()))
        stack, self.has_stack = self.has_stack, False
        self.body(4)
        self.has_stack = stack
        self.put("%s %s, qword ptr [rsp - %d]" % (self.pick("mov", "add", "adc"), self.target(), offset))

    def wild_stack(self):
        if not self.has_stack or self.depth > 4:
            return
        save = self.datum(".quad 0")
        self.put("mov qword ptr [rip + %s], rsp" % save)
        # All values are canonical: with others, some CPUs raise a general protection fault at each return from the kernel.
        self.put("movabs rsp, %d" % self.pick(0, 8, 0x123456789, -(1 << 40), 0x7fffffffffff, 1 << 46))
        stack, self.has_stack = self.has_stack, False
        self.body(4)
        self.has_stack = stack
        self.put("mov rsp, qword ptr [rip + %s]" % save)

    # ---- branches -----------------------------------------------------------------------------

    def conditional(self):
        end = self.label()
        condition = self.random.choice(CONDITIONS)
        if self.chance(50):
            self.put("j%s %s" % (condition, end))
            self.body(4)
        else:
            other = self.label()
            self.put("j%s %s" % (condition, other))
            self.body(3)
            self.put("jmp " + end)
            self.mark(other)
            self.body(3)
        self.mark(end)

    def counted_loop(self):
        times = self.random.randrange(1, 9)
        begin = self.label()
        kind = self.random.randrange(4)
        before = self.cost
        if kind < 2 and self.free("rcx"):
            self.put("mov ecx, %d" % times)
            self.keep.add("rcx")
            self.mark(begin)
            self.body(3)
            self.put("%s %s" % (self.pick("loop", "loop", "loope", "loopne"), self.near(begin)))
            self.keep.discard("rcx")
        elif kind == 2 and self.free("rcx"):
            # jrcxz leaves the loop.
            end = self.label()
            self.put("mov ecx, %d" % times)
            self.keep.add("rcx")
            self.mark(begin)
            self.put("%s %s" % (self.pick("jrcxz", "jecxz"), self.near(end)))
            self.body(3)
            self.put("lea rcx, [rcx - 1]")
            self.put("jmp " + begin)
            self.mark(end)
            self.keep.discard("rcx")
        else:
            counter = self.datum(".quad 0")
            self.put("mov qword ptr [rip + %s], %d" % (counter, times))
            self.mark(begin)
            self.body(4)
            self.put("dec qword ptr [rip + %s]" % counter)
            self.put("jnz " + begin)
        self.cost = before + (self.cost - before) * times

    def near(self, target):
        """Returns a nearby label that leads to target: loop and jrcxz reach 128 bytes."""
        trampoline, over = self.label(), self.label()
        self.put("jmp short " + over)
        self.mark(trampoline)
        self.put("jmp " + target)
        self.mark(over)
        return trampoline

    def skip_if_zero(self):
        end = self.label()
        self.put("%s %s" % (self.pick("jrcxz", "jecxz"), end))
        for _ in range(self.random.randrange(1, 4)):
            self.put("inc %s" % sub(self.target(), 32))
        self.mark(end)

    def direct(self):
        end = self.label()
        kind = self.random.randrange(3)
        if kind == 0:
            self.put(self.pick("jmp ", "jmp ", ".byte 0xf2; jmp ") + end)
            self.junk()
            self.mark(end)
        elif kind == 1 and self.has_stack:
            # a function inside the function
            inner = self.label()
            self.put("jmp " + end)
            self.mark(inner)
            saved = self.keep
            self.keep = set(saved)
            self.body(3)
            self.keep = saved
            self.put(self.pick("ret", "ret", "rep ret", ".byte 0xf2; ret"))
            self.mark(end)
            self.put(self.pick("call ", ".byte 0xf2; call ") + inner)
        else:
            self.call()

    def junk(self):
        """Writes bytes that are never executed."""
        self.lines.append("\t.fill %d, 1, %d" % (self.random.randrange(6), self.random.getrandbits(8)))

    def call(self, index=None):
        """Calls an earlier function, directly or indirectly."""
        if not self.has_stack or not self.functions:
            return
        name, cost, removed = self.functions[index] if index is not None else self.random.choice(self.functions)
        if self.cost + cost > self.steps // 2:
            return
        kept = sorted(self.keep)
        for register in kept:
            self.put("push " + register)
        for _ in range(removed // 8):
            self.put("push %s" % self.source())
        keep, self.keep = self.keep, set(kept)
        if "indirect" in self.features and self.chance(50):
            self.indirect_call(name)
        elif "indirect" in self.features and self.chance(40):
            self.put("call " + self.stub(name), 2)
        else:
            self.put("call " + name)
        self.cost += cost
        for register in reversed(kept):
            self.put("pop " + register)
        self.keep = keep

    def pointer(self, target):
        return self.datum(".quad " + target)

    def stub(self, name):
        """Adds a linkage stub that jumps to a function. Returns the stub's label."""
        label = "S%d" % len(self.stubs)
        self.stubs.append("%s:%s\tjmp qword ptr [rip + %s]" % (label, self.pick("", "\tendbr64\n"), self.pointer(name)))
        return label

    def indirect_call(self, name):
        register = self.target()
        kind = self.random.randrange(7)
        if kind == 0:
            self.put("call qword ptr [rip + %s]" % self.pointer(name))
        elif kind == 1:
            self.put("lea %s, [rip + %s]" % (register, name))
            self.put(self.pick("call ", "notrack call ") + register)
        elif kind == 2:
            self.put("mov %s, %d" % (sub(register, 32), self.random.randrange(50)))
            self.put("call qword ptr [%s*8 + %s]" % (register, self.datum(".quad " + ", ".join([name] * 50))))
        elif kind == 3 and "fs" in self.features:
            self.put("lea %s, [rip + %s]" % (register, name))
            self.put("mov fs:[4096], " + register)
            self.put("call qword ptr fs:[4096]")
        elif kind == 4:
            # The CPU reads the operand before it writes the return address.
            self.put("lea %s, [rip + %s]" % (register, name))
            self.put("mov qword ptr [rsp - 8], " + register)
            self.put("call qword ptr [rsp - 8]")
        elif kind == 5:
            self.put("lea %s, [rip + %s]" % (sub(register, 32), self.pointer(name)))
            self.put("call qword ptr [%s]" % sub(register, 32))
        else:
            self.put("call qword ptr [%s]" % self.pointer(name))

    def indirect(self):
        end = self.label()
        register = self.target()
        kind = self.random.randrange(8)
        if kind == 0:
            self.put("lea %s, [rip + %s]" % (register, end))
            self.put(self.pick("jmp ", "notrack jmp ") + register)
        elif kind == 1:
            self.put("jmp qword ptr [rip + %s]" % self.pointer(end))
        elif kind == 2:
            self.put("mov %s, %d" % (sub(register, 32), self.random.randrange(9)))
            self.put("jmp qword ptr [%s*8 + %s]" % (register, self.datum(".quad " + ", ".join([end] * 9))))
        elif kind == 3 and self.has_stack:
            self.put("lea %s, [rip + %s]" % (register, end))
            self.put("push " + register)
            self.put("jmp qword ptr [rsp]")
            self.junk()
            self.mark(end)
            self.put("pop " + self.target())
            return
        elif kind == 4 and "fs" in self.features:
            self.put("lea %s, [rip + %s]" % (register, end))
            self.put("mov fs:[4096], " + register)
            self.put("jmp qword ptr fs:[4096]")
        elif kind == 5 and self.has_stack and "wild_stack" in self.features:
            save = self.datum(".quad 0")
            self.put("mov qword ptr [rip + %s], rsp" % save)
            self.put("lea rsp, [rip + %s]" % end)
            self.put("jmp rsp")
            self.junk()
            self.mark(end)
            self.put("mov rsp, qword ptr [rip + %s]" % save)
            return
        elif kind == 6:
            self.put("mov %s, offset %s" % (sub(register, 32), end))
            self.put("jmp " + register)
        else:
            self.put("jmp qword ptr [%s]" % self.pointer(end))
        self.junk()
        self.mark(end)

    def table_jump(self):
        count = self.pick(2, 4, 8)
        register = self.target()
        end = self.label()
        cases = [self.label() for _ in range(count)]
        in_code = self.chance(30)
        if in_code:
            table = self.label()
        else:
            table = self.datum(".quad " + ", ".join(cases))
        self.put("mov %s, %s" % (sub(register, 32), sub(self.source(), 32)))
        self.put("and %s, %d" % (sub(register, 32), count - 1))
        self.put(self.pick("jmp qword ptr [%s*8 + %s]" % (register, table),
                           "mov %s, qword ptr [%s*8 + %s]\n\tjmp %s" % (register, register, table, register)), 2)
        if in_code:
            self.lines.append("%s: .quad %s" % (table, ", ".join(cases)))
        for case in cases:
            self.mark(case)
            self.body(2)
            self.put("jmp " + end)
        self.mark(end)

    def odd_return(self):
        if not self.has_stack:
            return
        end = self.label()
        register = self.target()
        kind = self.random.randrange(7)
        if kind == 0:
            self.put("lea %s, [rip + %s]" % (register, end))
            self.put("push " + register)
            self.put("ret")
            self.junk()
            self.mark(end)
        elif kind == 1:
            self.put("call " + end)
            self.mark(end)
            self.put("pop " + register)
        elif kind == 2:
            # The callee returns behind the instructions after the call.
            inner = self.label()
            self.put("jmp " + end)
            self.mark(inner)
            self.body(2)
            self.put("add qword ptr [rsp], 3")
            self.put("ret")
            self.mark(end)
            self.put("call " + inner)
            self.lines.append("\t.byte 0x0f, 0x0b, 0xcc")
        elif kind == 3:
            # returns from two calls at once
            one, two, save = self.label(), self.label(), self.datum(".quad 0")
            begin = self.label()
            self.put("jmp " + begin)
            self.mark(one)
            self.body(1)
            self.put("call " + two)
            self.put("ud2")
            self.mark(two)
            self.body(1)
            self.put("mov rsp, qword ptr [rip + %s]" % save)
            self.put("jmp " + end)
            self.mark(begin)
            self.put("mov qword ptr [rip + %s], rsp" % save)
            self.put("call " + one)
            self.put("ud2")
            self.mark(end)
        elif kind == 4:
            # ret removes arguments.
            inner, words = self.label(), self.random.randrange(1, 5)
            self.put("jmp " + end)
            self.mark(inner)
            self.body(2)
            self.put("ret %d" % (words * 8))
            self.mark(end)
            for _ in range(words):
                self.put("push %s" % self.source())
            self.put("call " + inner)
        elif kind == 5:
            # successive returns to addresses pushed earlier
            places = [self.label() for _ in range(self.random.randrange(2, 6))]
            for place in reversed(places):
                self.put("push offset " + place)
            self.put("ret")
            for place in places:
                self.mark(place)
                self.put("adc %s, %s" % (self.target(), self.source()))
                if place != places[-1]:
                    self.put("ret")
        else:
            # two stacks of return addresses are exchanged: coroutines
            other, save, inner = self.datum(".fill 64, 8, 0"), self.datum(".quad 0"), self.label()
            self.put("jmp " + end)
            self.mark(inner)
            self.put("xchg rsp, qword ptr [rip + %s]" % save)
            self.put("ret")
            self.mark(end)
            back = self.label()
            self.put("mov qword ptr [rip + %s + 496], offset %s" % (other, back))
            self.put("mov qword ptr [rip + %s], offset %s + 496" % (save, other))
            self.put("call " + inner)
            last = self.label()
            self.put("jmp " + last)
            self.mark(back)
            self.put("mov %s, rsp" % self.target())
            self.put("xchg rsp, qword ptr [rip + %s]" % save)
            self.put("ret")
            self.mark(last)

    def recursion(self):
        if not self.has_stack or not self.free("rcx") or self.cost > self.steps // 4:
            return
        depth, end, inner, out = self.random.randrange(60, 140), self.label(), self.label(), self.label()
        self.put("jmp " + end)
        self.mark(inner)
        self.put("lea rcx, [rcx - 1]")
        self.put("jrcxz " + out)
        self.put("call " + inner)
        self.put("adc %s, %d" % (self.target("rcx"), self.number(32)))
        self.mark(out)
        self.put("ret")
        self.mark(end)
        self.put("mov ecx, %d" % depth)
        self.put("call " + inner)
        self.cost += depth * 5

    def overlap(self):
        if not self.free("rax", "rcx"):
            return
        middle = self.label()
        self.put("j%s %s + 1" % (self.random.choice(CONDITIONS), middle))
        self.mark(middle)
        # test eax, imm32; or, from the second byte on: inc eax; inc ecx
        self.lines.append("\t.byte 0xa9, 0xff, 0xc0, 0xff, 0xc1")
        self.cost += 2

    def change(self):
        if not self.has_stack or not self.free("rax"):
            return
        # mov eax, N in a writable and executable page; N changes each time
        self.put("%s dword ptr [rip + changing + 1], %d" % (self.pick("add", "mov", "xor"), self.random.getrandbits(31)))
        self.put("call changing")

    # ---- putting together ---------------------------------------------------------------------

    def table(self):
        """Returns (feature, weight, method); "plain" is always present."""
        return [
            ("plain", 30, self.arithmetic), ("plain", 6, self.one_operand), ("plain", 8, self.shift),
            ("plain", 3, self.double_shift), ("plain", 4, self.multiply), ("plain", 2, self.divide), ("plain", 4, self.bit),
            ("plain", 14, self.move), ("plain", 14, self.condition), ("memory", 5, self.exchange), ("flags", 7, self.flag),
            ("string", 4, self.string), ("memory", 2, self.translate), ("system", 3, self.system), ("fs", 5, self.segment),
            ("sse", 10, self.sse), ("avx", 8, self.avx), ("avx512", 6, self.avx512), ("x87", 2, self.x87),
            ("stack", 12, self.stack), ("redzone", 5, self.redzone), ("wild_stack", 4, self.wild_stack),
            ("conditional", 25, self.conditional), ("loop", 8, self.counted_loop), ("loop", 4, self.skip_if_zero),
            ("direct", 14, self.direct), ("direct", 8, self.call), ("indirect", 12, self.indirect), ("table", 5, self.table_jump),
            ("odd_return", 8, self.odd_return), ("recursion", 1, self.recursion), ("overlap", 3, self.overlap),
            ("change", 3, self.change),
        ]

    def statement(self):
        if self.depth > 7 or self.cost > self.steps // 2:
            self.arithmetic()
            return
        self.depth += 1
        weights, methods = zip(*self.kinds)
        self.random.choices(methods, weights)[0]()
        self.depth -= 1

    def body(self, most):
        for _ in range(self.random.randrange(1, most + 1)):
            self.statement()

    def function(self, name):
        self.cost = 0
        self.mark(name)
        for i in range(self.size):
            self.statement()
            if i < len(self.functions):
                self.call(i)
        removed = self.pick(0, 0, 0, 8, 24) if "odd_return" in self.features else 0
        self.put("ret %d" % removed if removed else self.pick("ret", "rep ret"))
        self.functions.append((name, self.cost, removed))

    def write(self):
        for i in range(6):
            if i == 0 or "direct" in self.features:
                self.function("function%d" % i)
        name, _, removed = self.functions[-1]
        chosen = self.random
        print(".intel_syntax noprefix\n.globl _start\n.text\n_start:")
        print(START + (SIGNALS if self.signals else ""))
        for register in NAMES:
            print("\tmovabs %s, %d" % (register, chosen.getrandbits(64) - (1 << 63)))
        print("\tmov qword ptr [rip + rounds], %d\nround:" % self.rounds)
        for _ in range(removed // 8):
            print("\tpush rax")
        print("\tcall " + name)
        print("\tdec qword ptr [rip + rounds]\n\tjnz round")
        print(END_AVX if "avx" in self.features else END)
        print("\n".join(self.lines + self.stubs))
        print(".section .changing, \"awx\", @progbits\nchanging: mov eax, 0x12345678\n\tret")
        print(".data\n.balign 4096\nmemory:")
        for _ in range(MEMORY // 32):
            print("\t.quad " + ", ".join(str(chosen.getrandbits(64)) for _ in range(4)))
        print("\t.fill 4096")
        print("\n".join(self.data))
        print(".section .note.GNU-stack, \"\", @progbits")


START = """	lea rsp, [rip + stack_end - 4096]
	mov eax, 158
	mov edi, 0x1002
	lea rsi, [rip + thread_area]
	syscall
	fninit
	push 0x1f80
	ldmxcsr [rsp]
	pop rax
	lea rsi, [rip + memory]
""" + "".join("\tmovdqu xmm%d, [rsi + %d]\n" % (i, 16 * i) for i in range(16)) + """	mov r11d, 0x202
	push r11
	popfq"""

SIGNALS = """
	mov eax, 131
	lea rdi, [rip + alternate_stack]
	xor esi, esi
	syscall
	mov eax, 13
	mov edi, 14
	lea rsi, [rip + action]
	xor edx, edx
	mov r10d, 8
	syscall
	mov eax, 38
	xor edi, edi
	lea rsi, [rip + timer]
	xor edx, edx
	syscall
	jmp begin
handler: inc qword ptr [rip + signals]
	pxor xmm0, xmm0
	mov ecx, 70
1:	call 2f
	loop 1b
	std
	stc
	lea rax, [rip + 3f]
	jmp rax
2:	ret
3:	ret
restorer: mov eax, 15
	syscall
.data
.balign 8
alternate_stack: .quad handler_stack, 0, 65536
action:	.quad handler, 0x0c000000, restorer, 0
timer:	.quad 0, 20, 0, 20
signals: .quad 0
.bss
.balign 16
handler_stack: .skip 65536
.text
begin:"""

ENDING = """	mov [rip + state], rax
	lea rax, [rip + state]
%s	mov [rax + 120], rsp
	pushfq
	pop rcx
	and ecx, ~0x100
	mov [rax + 128], rcx
	cld
%s	stmxcsr [rax + 136]
	lea rsi, [rip + memory]
	mov ecx, 8192/8
	mov rbx, 14695981039346656037
	call sum
	mov [rax + 144], rbx
	lea rsi, [rip + vectors]
	mov ecx, 512/8
	mov rbx, 14695981039346656037
	call sum
	mov [rax + 152], rbx
	lea rsi, [rip + thread_area]
	mov ecx, 4096/8
	call sum
	mov [rax + 160], rbx
	lea rsi, [rip + state]
	lea rdi, [rip + text]
	mov ecx, 21
1:	mov rax, [rsi]
	mov edx, 16
2:	rol rax, 4
	mov ebx, eax
	and ebx, 15
	lea r8, [rip + digits]
	mov bl, [r8 + rbx]
	mov [rdi], bl
	inc rdi
	dec edx
	jnz 2b
	mov byte ptr [rdi], 10
	inc rdi
	add rsi, 8
	dec ecx
	jnz 1b
	mov eax, 1
	mov edi, 1
	lea rsi, [rip + text]
	mov edx, 21*17
	syscall
	mov eax, 231
	xor edi, edi
	syscall
	ud2
sum:	xor rbx, [rsi]
	mov rdx, 1099511628211
	imul rbx, rdx
	add rsi, 8
	dec ecx
	jnz sum
	ret
.section .rodata
digits:	.ascii "0123456789abcdef"
.bss
.balign 64
state:	.skip 168
text:	.skip 21*17
.balign 8
rounds:	.skip 8
.balign 64
vectors: .skip 512
.balign 4096
thread_area: .skip 8192
.skip 262144
stack_end:
.text
"""
STORED = "".join("\tmov [rax + %d], %s\n" % (8 * i, name) for i, name in enumerate(NAMES) if name != "rax")
END = ENDING % (STORED, "".join("\tmovups [rip + vectors + %d], xmm%d\n" % (32 * i, i) for i in range(16)))
END_AVX = ENDING % (STORED, "".join("\tvmovdqu [rip + vectors + %d], ymm%d\n" % (32 * i, i) for i in range(16)))


def features_of(arguments):
    wanted = set(FEATURES) - {"avx512"}
    if arguments.only is not None:
        wanted = set(filter(None, arguments.only.split(",")))
    if arguments.avx512:
        wanted.add("avx512")
    unwanted = set(filter(None, arguments.without.split(",")))
    unknown = (wanted | unwanted) - set(FEATURES)
    if unknown:
        raise SystemExit("random_program.py: unknown feature %s" % ", ".join(sorted(unknown)))
    return (wanted - unwanted) | {"plain"}


def main():
    parser = argparse.ArgumentParser(description="Writes a random x86-64 program as assembly text.")
    parser.add_argument("--size", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--signals", action="store_true")
    parser.add_argument("--without", default="")
    parser.add_argument("--only")
    parser.add_argument("--avx512", action="store_true")
    parser.add_argument("seed", type=int)
    Program(parser.parse_args()).write()


if __name__ == "__main__":
    main()
