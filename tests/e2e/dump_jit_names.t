#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Names and lines of code that a program makes, from the perf map and the jitdump that it writes itself: it knows what it called.
import collections
import glob
import json
import os
import re

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, read, run, write

SOURCE = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* x plus as many ones as there are additions: of n instructions and a return. */
static unsigned char *make(unsigned char *at, int additions)
{
    memcpy(at, "\x89\xf8", 2);
    for (int i = 0; i < additions; i++)
        memcpy(at + 2 + 3 * i, "\x83\xc0\x01", 3);
    at[2 + 3 * additions] = 0xc3;
    return at + 3 + 3 * additions;
}

static void line(FILE *dump, uint64_t address, uint32_t number, const char *file)
{
    uint32_t numbers[] = {number, 0};

    fwrite(&address, 8, 1, dump);
    fwrite(numbers, 8, 1, dump);
    fwrite(file, strlen(file) + 1, 1, dump);
}

static void head(FILE *dump, uint32_t id, uint32_t size)
{
    uint32_t numbers[] = {id, size + 16};
    uint64_t time = 0;

    fwrite(numbers, 8, 1, dump);
    fwrite(&time, 8, 1, dump);
}

static void load(FILE *dump, FILE *map, const char *name, unsigned char *at, unsigned char *end, uint64_t index)
{
    uint32_t ids[] = {getpid(), getpid()};
    uint64_t numbers[] = {(uintptr_t)at, (uintptr_t)at, end - at, index};
    uint64_t lines[] = {(uintptr_t)at, 2};

    fprintf(map, "%lx %lx %s\n", (long)at, (long)(end - at), name);
    head(dump, 2, 16 + 2 * 16 + 10 + 2);
    fwrite(lines, 16, 1, dump);
    line(dump, (uintptr_t)at, 100 * index, "source.js");
    line(dump, (uintptr_t)at + 2, 100 * index + 1, "\xff");
    head(dump, 0, 40 + strlen(name) + 1 + (end - at));
    fwrite(ids, 8, 1, dump);
    fwrite(numbers, 32, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(at, end - at, 1, dump);
}

static int call(unsigned char *at, int n)
{
    int sum = 0;

    while (n--)
        sum += ((int (*)(int))(uintptr_t)at)(n);
    return sum;
}

int main(int argc, char **argv)
{
    /* With an argument where ptl-record looks for them: a map in /tmp, a jitdump that is mapped. */
    const char *folder = argc > 1 ? argv[1] : ".";
    unsigned char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t header[] = {0x4a695444, 1, 40, 62, 0, getpid(), 0, 0, 0, 0};
    uint64_t move[] = {0, 0, 0, 0, 0, 0};
    char name[64];
    FILE *map, *dump;

    snprintf(name, sizeof(name), "%s/perf-%d.map", folder, getpid());
    map = fopen(name, "w");
    snprintf(name, sizeof(name), "jit-%d.dump", getpid());
    dump = fopen(name, "w+");
    fwrite(header, 40, 1, dump);
    if (argc > 2)
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    load(dump, map, "gone before it ran", memory, make(memory, 20), 1);
    load(dump, map, "gone, too", memory + 64, make(memory + 64, 20), 2);
    /* Others come to lie over both. */
    load(dump, map, "LazyCompile:~first a.js:1", memory, make(memory, 5), 3);
    load(dump, map, "second<int>(\x1b[31m)", memory + 32, make(memory + 32, 15), 4);
    load(dump, map, "third", memory + 4096, make(memory + 4096, 8), 5);
    call(memory, 30);
    call(memory + 32, 20);
    call(memory + 4096, 10);
    /* The third moves: a perf map says it as one more function. */
    memcpy(memory + 6000, memory + 4096, 27);
    move[2] = (uintptr_t)memory + 4096;
    move[3] = (uintptr_t)memory + 6000;
    move[4] = 27;
    move[5] = 5;
    head(dump, 1, 48);
    fwrite(move, 48, 1, dump);
    fprintf(map, "%lx 1b third\n", (long)memory + 6000);
    call(memory + 6000, 5);
    head(dump, 3, 0);
    return fclose(map) || fclose(dump);
}
"""

FIRST, SECOND, THIRD = "LazyCompile:~first a.js:1", "second<int>(\x1b[31m)", "third"
WANTED = {FIRST: 30 * 7, SECOND: 20 * 17, THIRD: 15 * 10}

write("maker.c", SOURCE)
output("gcc", "-O1", "-o", "maker", "maker.c")
output(RECORD, "-q", "-f", "-o", "a.ptl", "--", path("maker"))
(perf_map,), (jitdump,) = (glob.glob(path(pattern)) for pattern in ("perf-*.map", "jit-*.dump"))
pid = int(re.search(r"(\d+)\.map$", perf_map)[1])


def names(*arguments, trace="a.ptl"):
    got = run(DUMP, "report", "--json", *arguments, trace)
    found = collections.Counter()
    for row in map(json.loads, got.stdout.splitlines()):
        if row["function"] in WANTED or "gone" in (row["function"] or ""):
            found[row["function"]] += row["self_instructions"]
    return dict(found), got.stderr


def lines(*arguments, trace="a.ptl"):
    got = run(DUMP, "report", "--by", "line", "--json", *arguments, trace)
    return {row["line"]: row["self_instructions"] for row in map(json.loads, got.stdout.splitlines())
            if row["file"] == "source.js"}, got.stderr


check("without a file there are no names", names()[0] == {}, names())
check("a perf map names what ran last at an address", names("--jit", perf_map) == (WANTED, ""), names("--jit", perf_map))
check("so does a jitdump", names("--jit", jitdump) == (WANTED, ""), names("--jit", jitdump))
LINES = {300: 30, 301: 180, 400: 20, 401: 320, 500: 15, 501: 135}
check("which has lines, too", lines("--jit", jitdump) == (LINES, ""), lines("--jit", jitdump))
check("both at once", names("--jit", perf_map, "--jit", jitdump)[0] == WANTED)
text = output(DUMP, "report", "--jit", jitdump, "a.ptl")
check("a name is made safe for a terminal", "\\x1b[31m" in text and "\x1b" not in text, text[:500])

# ---- whose names they are ----------------------------------------------------------------------------

os.rename(perf_map, path("names.map"))
check("a map of another name is of any process", names("--jit", "names.map")[0] == WANTED)
check("PID=FILE", names("--jit", f"{pid}=names.map")[0] == WANTED and names("--jit", f"{pid + 1}=names.map")[0] == {})
os.rename(path("names.map"), path(f"perf-{pid + 1}.map"))
check("the map of another process counts for nothing", names("--jit", f"perf-{pid + 1}.map")[0] == {})
os.rename(path(f"perf-{pid + 1}.map"), path("names.map"))
check("a jitdump of a process that is said", names("--jit", f"{pid + 1}={jitdump}")[0] == {} and
      names("--jit", f"{pid}={jitdump}")[0] == WANTED)

# ---- into the trace ----------------------------------------------------------------------------------

for file in "names.map", os.path.basename(jitdump):
    write("jit.rules", f'image process "maker" {{ symbols = perfmap("{file}"); }}')
    output(RELOG, "-q", "-f", "--rules", path("jit.rules"), "-o", "named.ptl", "a.ptl")
    check(f"ptl-relog puts the names of {file.split('-')[0]} into the trace", names(trace="named.ptl")[0] == WANTED,
          names(trace="named.ptl"))

# ---- from the recording itself -----------------------------------------------------------------------

os.rename(jitdump, path("kept.dump"))


def recorded(name, *arguments, record=()):
    """Records maker with a perf map in /tmp, or a jitdump that it maps; then takes both away."""
    output(RECORD, "-q", "-f", "-o", name, *record, "--", path("maker"), *arguments)
    files = set(glob.glob(path("perf-*.map")) + glob.glob(path("jit-*.dump")))
    owner = re.search(r"jit-(\d+)\.dump", " ".join(files))[1]
    for file in files | {f"/tmp/perf-{owner}.map"}:
        if os.path.exists(file):
            os.remove(file)
    return owner


owner = recorded("map.ptl", "/tmp")
check("ptl-record finds the perf map in /tmp; functions that never ran take nothing from later ones", names(trace="map.ptl") == (WANTED, ""),
      names(trace="map.ptl"))
recorded("none.ptl", "/tmp", record=["--embed", "code"])
check("but not with --embed code", names(trace="none.ptl")[0] == {})
recorded("dump.ptl", ".", "mapped")
check("a jitdump that the program maps", names(trace="dump.ptl") == (WANTED, ""), names(trace="dump.ptl"))
check("has lines", lines(trace="dump.ptl") == (LINES, ""), lines(trace="dump.ptl"))
check("ptl-dump info shows that there is a file", "files " in output(DUMP, "info", "dump.ptl"))
write("other.map", f"{0x10000:x} 10 nothing\n")
check("files that are named go before those of the trace",
      names("--jit", f"{owner}=other.map", trace="map.ptl")[0] == {})
output(RELOG, "-q", "-f", "--process", "maker", "-o", "cut.ptl", "map.ptl")
check("a cut keeps what its processes have", names(trace="cut.ptl")[0] == WANTED, names(trace="cut.ptl"))
output(RELOG, "-q", "-f", "--drop-code", "-o", "codeless.ptl", "dump.ptl")
check("--drop-code drops a jitdump, which has the code", "files " not in output(DUMP, "info", "codeless.ptl"))
output(RELOG, "-q", "-f", "--detach-code", "store", "-o", "detached.ptl", "map.ptl")
check("--detach-code takes it out, and a store gives it back", "files " not in output(DUMP, "info", "detached.ptl") and
      names("--code-store", "store", trace="detached.ptl")[0] == WANTED)
output(RELOG, "-q", "-f", "--attach-code", "store", "-o", "back.ptl", "detached.ptl")
check("and --attach-code puts it back", names(trace="back.ptl")[0] == WANTED and
      "files " in output(DUMP, "info", "back.ptl"))
output(RELOG, "-q", "-f", "--redact", "users", "-o", "redacted.ptl", "map.ptl")
check("redaction leaves it out", names(trace="redacted.ptl")[0] == {} and
      "files " not in output(DUMP, "info", "redacted.ptl"))
write("link.sh", "echo $$ > shell\nln -sf \"$PWD/elsewhere\" /tmp/perf-$$.map\nexec ./maker /tmp\n")
output(RECORD, "-q", "-f", "-o", "link.ptl", "--", "sh", path("link.sh"))
owner = int(read("shell"))
os.remove(f"/tmp/perf-{owner}.map")
os.remove(path(f"jit-{owner}.dump"))
check("a symbolic link in /tmp is not followed: it may lead anywhere", names(trace="link.ptl")[0] == {} and
      b"third" in read("elsewhere"))

# ---- what is wrong -----------------------------------------------------------------------------------

got = run(DUMP, "stats", "--jit", "nowhere.map", "a.ptl")
check("a file that is not there", got.returncode != 0 and "nowhere.map" in got.stderr and not got.stdout, got.stderr)
got = run(DUMP, "stats", "--jit", "x=names.map", "a.ptl")
check("a process that is none", got.returncode == 2 and "PID=FILE" in got.stderr, got.stderr)
data, text = read("kept.dump"), read("names.map")
write("cut.map", text[:text.index(b" third")])
found, said = names("--jit", "cut.map")
check("a perf map that is cut: what comes before it counts", found.keys() == {FIRST, SECOND} and
      "cut.map:5:" in said and "no names" in said, found, said)
write("cut.dump", data[:data.rindex(b"third") + 3])
found, said = names("--jit", "cut.dump")
check("a jitdump that is cut likewise", found.keys() == {FIRST, SECOND} and "cut.dump: offset" in said, found, said)
write("bad.dump", data[:44] + b"\x03\0\0\0" + data[48:])
found, said = names("--jit", "bad.dump")
check("a record that is too small", not found and "offset 40" in said, found, said)
write("swapped.dump", b"JiTD" + data[4:])
check("another byte order is said", "byte order" in names("--jit", "swapped.dump")[1], names("--jit", "swapped.dump"))
write("long.map", text + b"1000 10 " + b"x" * (3 << 20) + b"\n")
found, said = names("--jit", "long.map")
check("a name of megabytes", found == WANTED and "long.map:7:" in said, said)
start = data.rindex(b"third") - 56
record = bytearray(data[start:start + 56] + b"y" * (3 << 20) + b"\0")
record[4:8] = len(record).to_bytes(4, "little")
write("long.dump", data + bytes(record))
found, said = names("--jit", f"{pid}=long.dump")
check("in a jitdump, too", found.get(FIRST) == WANTED[FIRST] and THIRD in found, found, said)
plan()
