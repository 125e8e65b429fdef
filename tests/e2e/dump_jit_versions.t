#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# A program writes several functions to one address, one after another. Code has the name and the lines of its time.
import collections
import glob
import json
import os
import re

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, write

SOURCE = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static FILE *map, *dump;
static int timed, early, pause_us;

/* x plus n times a number: instructions differ in all bytes but the first. */
static unsigned char *make(unsigned char *at, int n, int number)
{
    *at++ = 0x97; /* xchg eax, edi */
    for (int i = 0; i < n; i++, at += 5) {
        at[0] = number & 1 ? 0x05 : 0x2d;
        memset(at + 1, number, 4);
    }
    *at = 0xc3;
    return at + 1;
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void head(uint32_t id, uint32_t size)
{
    uint32_t numbers[] = {id, size + 16};
    uint64_t time = timed ? now() : 0;

    fwrite(numbers, 8, 1, dump);
    fwrite(&time, 8, 1, dump);
}

static void load(const char *name, unsigned char *at, unsigned char *end, uint64_t index)
{
    uint32_t ids[] = {getpid(), getpid()}, line[] = {100 * index, 0};
    uint64_t numbers[] = {(uintptr_t)at, (uintptr_t)at, end - at, index};
    uint64_t lines[] = {(uintptr_t)at, 1, (uintptr_t)at};

    fprintf(map, "%lx %lx %s\n", (long)at, (long)(end - at), name);
    if (early)
        fflush(map);
    head(2, 16 + 16 + 10);
    fwrite(lines, 24, 1, dump);
    fwrite(line, 8, 1, dump);
    fwrite("source.js", 10, 1, dump);
    head(0, 40 + strlen(name) + 1 + (end - at));
    fwrite(ids, 8, 1, dump);
    fwrite(numbers, 32, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(at, end - at, 1, dump);
    fflush(dump);
    usleep(pause_us);
}

static void call(unsigned char *at, int n)
{
    while (n--)
        ((int (*)(int))(uintptr_t)at)(n);
}

/* FOLDER FILE: a perf map there (nothing else), or a jitdump that is mapped: timed, untimed. */
int main(int argc, char **argv)
{
    unsigned char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *other = memory + 4096, *end;
    uint32_t header[] = {0x4a695444, 1, 40, 62, 0, getpid(), 0, 0, 0, 0};
    uint64_t move[6] = {0};
    char name[64];

    timed = !strcmp(argv[2], "timed");
    early = !strcmp(argv[2], "early");
    pause_us = early ? 30000 : 0;
    snprintf(name, sizeof(name), "%s/perf-%d.map", argv[1], getpid());
    map = fopen(name, "w");
    setvbuf(map, NULL, _IOFBF, 1 << 20);
    snprintf(name, sizeof(name), "jit-%d.dump", getpid());
    dump = fopen(name, "w+");
    fwrite(header, 40, 1, dump);
    fflush(dump);
    if (strstr(argv[2], "timed"))
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    /* One address: alpha, beta, gamma, alpha again. Beta is the longest. */
    end = make(memory, 5, 1);
    load("alpha", memory, end, 1);
    call(memory, 10);
    end = make(memory, 25, 2);
    load("beta", memory, end, 2);
    call(memory, 20);
    end = make(memory, 8, 3);
    load("gamma", memory, end, 3);
    call(memory, 30);
    end = make(memory, 5, 1);
    load("alpha", memory, end, 4);
    call(memory, 40);
    /* Two functions give way to one that lies on both. */
    load("left", other, make(other, 4, 5), 5);
    load("right", other + 64, make(other + 64, 4, 7), 6);
    call(other, 5);
    call(other + 64, 6);
    load("wide", other, make(other, 30, 8), 7);
    call(other, 7);
    /* One moves onto where another one was. */
    end = make(memory + 2048, 6, 9);
    load("moved", memory + 2048, end, 8);
    call(memory + 2048, 3);
    memcpy(memory, memory + 2048, end - memory - 2048);
    move[2] = (uintptr_t)memory + 2048;
    move[3] = (uintptr_t)memory;
    move[4] = end - memory - 2048;
    move[5] = 8;
    head(1, 48);
    fwrite(move, 48, 1, dump);
    fprintf(map, "%lx %lx moved\n", (long)memory, (long)move[4]);
    if (early)
        fflush(map);
    fflush(dump);
    usleep(pause_us);
    call(memory, 9);
    return fclose(map) || fclose(dump);
}
"""

WANTED = {"alpha": 50 * 7, "beta": 20 * 27, "gamma": 30 * 10, "left": 5 * 6, "right": 6 * 6, "wide": 7 * 32, "moved": 12 * 8}
CALLS = {"alpha": 50, "beta": 20, "gamma": 30, "left": 5, "right": 6, "wide": 7, "moved": 12}
LINES = {100: 10 * 7, 200: 20 * 27, 300: 30 * 10, 400: 40 * 7, 500: 5 * 6, 600: 6 * 6, 700: 7 * 32, 800: 12 * 8}

write("maker.c", SOURCE)
output("gcc", "-O1", "-o", "maker", "maker.c")


def recorded(name, mode, *options):
    """Records the program; the files that it wrote are taken away, and returned: the map, the jitdump."""
    folder = "/tmp" if mode in ("early", "late") else "."
    output(RECORD, "-q", "-f", *options, "-o", name, "--", path("maker"), folder, mode)
    dump, = glob.glob(path("jit-*.dump"))
    pid = re.search(r"jit-(\d+)\.dump", dump)[1]
    maps = os.path.join("/tmp" if folder == "/tmp" else path("."), f"perf-{pid}.map")
    kept = path(f"perf-{pid}.map.kept"), path("kept.dump")
    os.rename(dump, kept[1])
    with open(maps) as file:
        write(os.path.basename(kept[0]), file.read())
    os.remove(maps)
    return pid, kept


def counted(rows, column):
    found = collections.Counter()
    for row in rows:
        if row["function"] in WANTED:
            found[row["function"]] += row[column]
    return dict(found)


def rows_of(*arguments):
    done = run(DUMP, *arguments)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def names(trace, *more):
    rows, done = rows_of("report", "--json", *more, trace)
    return counted(rows, "self_instructions"), done.stderr


def calls(trace, *more):
    rows, _ = rows_of("report", "--json", *more, trace)
    return counted(rows, "calls")


def lines(trace, *more):
    rows, _ = rows_of("report", "--by", "line", "--json", *more, trace)
    return {row["line"]: row["self_instructions"] for row in rows if row["file"] == "source.js"}


def check_all(title, trace, has_lines, *more):
    found = names(trace, *more)
    check(f"{title}: each function has what ran while it was there", found == (WANTED, ""), found)
    check(f"{title}: and its calls", calls(trace, *more) == CALLS, calls(trace, *more))
    flame = output(DUMP, "flamegraph", "--folded", *more, trace) if has_flame else ""
    total = collections.Counter()
    for line in flame.splitlines():
        frames, _, count = line.rpartition(" ")
        total[frames.split(";")[-1]] += int(count)
    check(f"{title}: in a flame graph, too", not has_flame or {name: total[name] for name in WANTED} == WANTED, dict(total))
    if has_lines:
        check(f"{title}: lines", lines(trace, *more) == LINES, lines(trace, *more))
    for engine in ("native", "libipt"):
        found = names(trace, "--engine", engine, *more)[0]
        check(f"{title}: with the engine {engine}", found == WANTED, found)


has_flame = run(DUMP, "flamegraph", "--help").returncode == 0 and "--folded" in output(DUMP, "flamegraph", "--help")
recorded("timed.ptl", "timed")
check_all("jitdump with times", "timed.ptl", True)
recorded("untimed.ptl", "untimed")
check_all("jitdump without times", "untimed.ptl", True)
recorded("early.ptl", "early")
check_all("perf map that is written in time", "early.ptl", False)
recorded("late.ptl", "late")
check_all("perf map that is written at the end", "late.ptl", False)
recorded("virtual.ptl", "timed", "--clock", "virtual")
check_all("a virtual clock", "virtual.ptl", True)

# ---- annotate, and a file of the user ----------------------------------------------------------------

for name in "alpha", "beta", "moved":
    rows, done = rows_of("annotate", "--json", name, "timed.ptl")
    ran = sum(row["executed"] for row in rows)
    check(f"annotate {name}: what ran as such", ran == WANTED[name], ran, done.stderr, done.stdout[:600])
pid, (perf_map, jitdump) = recorded("bare.ptl", "timed", "--embed", "code")
check("without files there are no names", names("bare.ptl")[0] == {})
check_all("a jitdump that is named", "bare.ptl", True, "--jit", jitdump)
check_all("a perf map that is named", "bare.ptl", False, "--jit", f"{pid}={perf_map}")
check_all("both", "bare.ptl", True, "--jit", f"{pid}={perf_map}", "--jit", jitdump)

# ---- a rewritten trace -------------------------------------------------------------------------------

output(RELOG, "-q", "-f", "--process", "maker", "-o", "cut.ptl", "early.ptl")
check_all("a cut", "cut.ptl", False)
images = run(DUMP, "images", "timed.ptl").stdout
check("an image is listed once, however many names it has had", images.count("//anon") == run(DUMP, "images", "bare.ptl").stdout.count("//anon"),
      images)
plan()
