#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# libptl-flow as its users have it: public headers alone, the shared libraries, and flow that is what ptl-dump shows.
import glob
import hashlib
import json
import os
import re

from scratch_test import BIN, DUMP, RECORD, RELOG, check, path, plan, run, skip, write

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
LIB = os.environ["PTL_LIB"]
CC = (os.environ.get("CC") or "gcc").split()
EXAMPLE = os.path.join(os.path.dirname(BIN), "examples", "flow")
INCLUDES = ["-I%s/%s/include" % (ROOT, part) for part in ("format", "provider", "flow")]
ENGINES = ("native", "libipt", "libipt-insn")
# What libptl.so exports for libptl-flow.so alone: see the Makefile.
PRIVATE = {"common_fail", "common_fail_errno", "common_fail_in", "common_fail_memory"}


def exported(library):
    got = run("nm", "-D", "--defined-only", f"{LIB}/{library}")
    words = [line.split()[2] for line in got.stdout.splitlines() if len(line.split()) == 3]
    return {word.split("@")[0]: word.rpartition("@")[2] for word in words if not re.fullmatch("PTL_(0|PRIVATE)", word)}


def declared(header):
    """Names of functions: what stands before a parenthesis in the header, comments and structures' members left out."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/|static inline[^}]*}", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^\w[\w *]*?\b(ptl_\w+)\(", text, flags=re.MULTILINE))


def symbols():
    names = exported("libptl-flow.so.0")
    want = set().union(*(declared(header) for header in glob.glob(ROOT + "/flow/include/ptl/*.h")))
    check("libptl-flow.so exports what its headers declare", set(names) == want and len(want) > 15, set(names) ^ want)
    names = exported("libptl.so.0")
    want = set().union(*(declared(header) for header in glob.glob(ROOT + "/format/include/ptl/*.h")))
    functions = {name for name in names if not name.startswith("PTL_PROVIDER_")}
    check("libptl.so exports what its headers declare, and how failures are reported", functions == want | PRIVATE,
          functions ^ (want | PRIVATE))
    private = {name for name, version in names.items() if version == "PTL_PRIVATE"}
    check("what is private is versioned so", private == PRIVATE, private)
    needed = run("readelf", "-d", f"{LIB}/libptl-flow.so.0").stdout
    found = {re.sub(r"\.so.*", "", name) for name in re.findall(r"NEEDED.*\[(.*)\]", needed)}
    check("libptl-flow.so needs libptl and the decoders' libraries",
          found <= {"libptl", "libipt", "libZydis", "libnettle", "libc", "ld-linux-x86-64"} and "libptl" in found, found)


def flow_of(engine, *arguments):
    """What the example prints of counts, and the hash of all addresses."""
    counts = run(EXAMPLE, "--engine", engine, *arguments)
    addresses = run(EXAMPLE, "--engine", engine, "--addresses", *arguments, text=False)
    return (sorted(tuple(map(int, line.split())) for line in counts.stdout.splitlines()),
            hashlib.sha256(addresses.stdout).hexdigest(), len(addresses.stdout) // 8,
            (counts.returncode, addresses.returncode, counts.stderr))


def stats_of(engine, name):
    return json.loads(run(DUMP, "stats", "--hash", "--json", "--engine", engine, name).stdout)


def compare_threads(title, engine, name):
    """Each process and thread of the trace by itself."""
    for process in stats_of(engine, name)["processes"]:
        for thread in process["threads"]:
            pid, tid = process["pid"], thread["tid"]
            counts, digest, size, end = flow_of(engine, "--pid", str(pid), "--tid", str(tid), name)
            want = [(pid, tid, thread["instructions"], thread["blocks"], thread["branches"], thread["gaps"])]
            check(f"{title}, {engine}: counts as ptl-dump stats has them", counts == want, end, counts, want)
            check(f"{title}, {engine}: addresses as ptl-dump stats has them",
                  digest == thread["ip_sha256"] and size == thread["instructions"] > 0, end, digest, size, thread)


def compare_all(title, engine, name):
    stats = stats_of(engine, name)
    counts = run(EXAMPLE, "--engine", engine, name).stdout.splitlines()
    sums = [sum(map(int, column)) for column in list(zip(*map(str.split, counts)))[2:]]
    check(f"{title}, {engine}: all in one run",
          sums == [stats[key] for key in ("instructions", "blocks", "branches", "gaps")], sums, stats)


def recorded():
    for program in ("threads", "fork_no_exec", "jit"):
        name = program + ".ptl"
        got = run(RECORD, "-q", "-o", name, "--", os.path.join(os.environ["PTL_PROGRAMS"], program))
        if not check(f"{program} is recorded", got.returncode == 0, got):
            continue
        compare_threads(program, "native", name)
        for engine in ENGINES:
            compare_all(program, engine, name)
    got = run(DUMP, "flow", "--json", "fork_no_exec.ptl")
    blocks = sum(json.loads(line).get("type") == "block" for line in got.stdout.splitlines())
    counts = flow_of("native", "fork_no_exec.ptl")[0]
    check("as many blocks as ptl-dump flow prints", blocks == sum(thread[3] for thread in counts) > 0, blocks, counts)


def hardware():
    traces = sorted(glob.glob(os.environ.get("PTL_SHARED_TRACES", "") + "/*/expected.txt"))
    if not traces:
        skip("traces of real CPUs", "there are none")
    for expected in traces:
        folder = os.path.dirname(expected)
        name = os.path.basename(folder)
        with open(expected, encoding="ascii") as file:
            want = dict(line.split() for line in file if line.strip())
        with open(folder + "/memory.map", encoding="ascii") as file:
            ranges = [line.split() for line in file if line.strip() and line[0] != "#"]
        got = run(RELOG, "-q", "--pt", folder + "/trace.pt", "--memory", folder + "/memory.raw", "--memory-map",
                  folder + "/memory.map", "-o", name + ".ptl")
        check(f"{name} becomes a trace", got.returncode == 0, got)
        for engine in ENGINES:
            compare_threads(name, engine, name + ".ptl")
            if len(ranges) != 1 or int(ranges[0][2], 0):
                continue
            counts, digest, size, end = flow_of(engine, "--raw", folder + "/trace.pt", ranges[0][0], folder + "/memory.raw")
            check(f"{name}, {engine}: raw packets give every address that libipt gave",
                  digest == want["ip-sha256"] and size == int(want["instructions"]), end, digest, size)
            check(f"{name}, {engine}: raw packets give the counts of the trace", counts == flow_of(engine, name + ".ptl")[0],
                  counts)


def edges():
    """The example of a fuzzer: a loop of DEC, JNE and RET, whose branch is taken three times, and not the fourth time."""
    example = os.path.join(os.path.dirname(EXAMPLE), "edges")
    write("loop.txt", "psb\nmode.exec 64\npsbend\ntip.pge 0x1000\ntnt tttn\ntip.pgd -\n")
    write("loop.code", bytes.fromhex("48ffc9 75fb c3"))
    got = run(os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble"), "-o", "loop.pt", "loop.txt")
    check("packets of a loop are made", got.returncode == 0, got.stderr)
    for engine in ENGINES:
        got = run(example, "--engine", engine, "--rounds", "3", "loop.pt", "0x1000", "loop.code")
        check(f"edges of a loop, {engine}", sorted(got.stdout.splitlines()) == ["1000 1000 3", "1000 1005 1"] and
              "2 edges" in got.stderr and "new" not in got.stderr, got)
    got = run(example, "loop.pt", "0x1000", "none.code")
    check("edges: code that is not there is a failure", got.returncode == 1 and got.stderr, got)
    for expected in sorted(glob.glob(os.environ.get("PTL_SHARED_TRACES", "") + "/mruby/expected.txt")):
        folder = os.path.dirname(expected)
        with open(folder + "/memory.map", encoding="ascii") as file:
            address = next(line.split()[0] for line in file if line.strip() and line[0] != "#")
        found = [sorted(run(example, "--engine", engine, folder + "/trace.pt", address, folder + "/memory.raw").stdout.splitlines())
                 for engine in ENGINES[:2]]
        check("edges of a real CPU: as with libipt", len(found[0]) > 1000 and found[0] == found[1], len(found[0]), len(found[1]))


def failures():
    got = run(EXAMPLE, "none.ptl")
    check("a file that is not there", got.returncode == 1 and "none.ptl" in got.stderr, got)
    got = run(EXAMPLE, "--engine", "steam", "threads.ptl")
    check("the causes of a failure in libptl-flow.so arrive by libptl.so",
          got.returncode == 1 and "there is no engine 'steam'" in got.stderr, got)


def manual():
    with open(ROOT + "/man/libptl-flow.3", encoding="utf-8") as file:
        examples = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", file.read(), flags=re.DOTALL | re.MULTILINE)
    check("the manual page has examples", len(examples) >= 2)
    for number, text in enumerate(examples):
        write("page.c", text.replace("\\e", "\\").replace("\\&", ""))
        for linked in (["-L" + LIB, "-lptl-flow", "-lptl", "-Wl,-rpath," + LIB],
                       [LIB + "/libptl-flow.a", LIB + "/libptl.a", "-lipt", "-lZydis", "-lzstd", "-lxxhash", "-lnettle",
                        "-pthread"]):
            got = run(*CC, "-std=c11", "-Wall", "-Wextra", "-Werror", *INCLUDES, "-o", path("page"), path("page.c"), *linked)
            check(f"example {number + 1} of the manual page compiles with {os.path.basename(linked[0])}",
                  got.returncode == 0, got.stderr)
            got = run(path("page"), "fork_no_exec.ptl")
            check(f"example {number + 1} of the manual page runs", got.returncode == 0 and got.stdout, got)


symbols()
recorded()
hardware()
edges()
failures()
manual()
plan()
