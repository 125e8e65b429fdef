# SPDX-License-Identifier: BSD-2-Clause
# Shared by tests of exports: a program with a hostile function name, a browser, sums of ptl-dump report.
"""hostile() records; browse() returns the text of a page."""
import collections
import json
import os
import shutil

from scratch_test import DUMP, RECORD, check, output, path, run, scratch, write

# As long as the compiled name; with all kinds of markup, control characters and bytes other than UTF-8.
HOSTILE = b"</title><script>alert('x')</script>]]>&quot;\\\";--\x01\x1b[31m\xff\xc3(\xe2\x80\xae\xef\xbf\xbf{}|\t`$(id)"
PLAIN = "h" * len(HOSTILE)
SOURCE = """
static volatile int sum;
__attribute__((noinline)) void %s(int n) { for (int i = 0; i < n; i++) sum += i; }
int main(void) { for (int i = 0; i < 50; i++) %s(i); return 0; }
""" % (PLAIN, PLAIN)


def hostile(name):
    """Records a program that has a function with the hostile name."""
    write("hostile.c", SOURCE)
    output("gcc", "-g0", "-O1", "-o", path("hostile"), path("hostile.c"))
    with open(path("hostile"), "rb") as file:
        code = file.read()
    with open(path("hostile"), "wb") as file:
        file.write(code.replace(PLAIN.encode(), HOSTILE))
    record(name, path("hostile"))


def record(name, *command, options=()):
    got = run(RECORD, "-q", "-o", name, *options, "--", *command)
    check(f"{name} is recorded", got.returncode == 0, got)


SWITCH_EVENT = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c opcode=36 version=131"  # the kernel's class of threads
# Switches of CPUs, in nanoseconds since the start: (time, CPU, process and thread, 0 for idle).
SWITCHES = ((1000, 0, 7), (1400, 1, 8), (2900, 1, 0), (3000, 0, 8), (3100, 1, 7), (4500, 0, 0), (6000, 1, 0))


def switched(name):
    """Makes a trace of two threads with calls. The threads take turns on two CPUs and write events of an activity."""
    tools = os.environ["PTL_TEST_TOOLS"]
    write("switched.txt", "psb\ntsc 1500\nmode.exec 64\nfup 0x401000\npsbend\ntip 0x401005\ntsc 3000\ntip 0x401005\ntsc 5000\ntip.pgd -\n")
    output(os.path.join(tools, "pt_assemble"), "-o", path("switched.pt"), path("switched.txt"))
    lines = ["machine source=qemu software=1 clock=4 start=1000 end=8000 timing=3 tsc_multiplier=1 cpus=2",
             "bytes code e80b000000ebf9" + "90" * 9 + "c3", "symbols names 401000:10:T:main 401010:1:T:work"]
    for pid in (7, 8):
        lines += [f"process start pid={pid} time=1000 key={pid} image=/bin/p{pid} command=p{pid}", f"thread pid={pid} tid={pid} time=1000 name=p{pid}",
                  f"image pid={pid} base=0x401000 size=4096 default=0x401000 path=/bin/p{pid} code=code symbols=names time=1000"]
    last = {0: 0, 1: 0}
    for time, cpu, tid in SWITCHES:
        lines.append(f"event provider={SWITCH_EVENT} cpu={cpu} pid={tid or 4294967295} tid={tid} time={time + 1000} "
                     f"payload={tid.to_bytes(4, 'little').hex()}{last[cpu].to_bytes(4, 'little').hex()}{'00' * 16}")
        last[cpu] = tid
    for i, (time, tid) in enumerate(((1700, 7), (2500, 8), (3600, 7), (3700, 8))):
        activity = f"activity=aaaaaaaa-0000-0000-0000-00000000000{1 if i != 3 else 2}"
        lines.append(f"event provider=11112222-3333-4444-5555-666677778888 id=1 pid={tid} tid={tid} time={time + 1000} {activity} payload=00")
    lines += [f"pt pid={pid} tid={pid} path=switched.pt time=1500 end=5000" for pid in (7, 8)]
    write("switched.sample", "\n".join(lines) + "\n")
    output(os.path.join(tools, "make_sample"), "switched.sample", name)


def report(*arguments):
    return [json.loads(line) for line in output(DUMP, "report", "--json", *arguments).splitlines()]


def by_name(rows, member):
    """Returns {function: sum of the member}; code without a symbol is "image+0x...", as in exports."""
    sums = {}
    for row in rows:
        name = row["function"]
        if name is None:
            name = os.path.basename(row["image"] or "") + ("+" if row["image"] else "") + row["address"]
        sums[name] = sums.get(name, 0) + row[member]
    return {name: value for name, value in sums.items() if value}


def total_by_name(rows, member):
    """Returns the totals of functions with a unique name."""
    named = collections.Counter(row["function"] for row in rows)
    return {row["function"]: row[member] for row in rows if row["function"] and named[row["function"]] == 1 and row[member]}


def stats(*arguments):
    return json.loads(output(DUMP, "stats", "--json", *arguments))


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(url):
    """Returns a page's document after its scripts have run; None if the browser does not start."""
    home = os.path.join(scratch, "browser")
    got = run(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--user-data-dir=" + home,
              "--allow-file-access-from-files", "--virtual-time-budget=8000", "--dump-dom", url, env={**os.environ, "HOME": home})
    return got.stdout if got.returncode == 0 and got.stdout else None
