#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --embed: symbols and debug information that a trace lacks, from a machine that has them, go into it.
import json
import os
import shutil

from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, write

SOURCE = """#include <stdlib.h>
static __attribute__((noinline, noclone)) int hidden(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i ^ sum;
    return sum;
}
__attribute__((noinline, noclone)) int shown(int n) { return hidden(n) + 1; }
int main(int argc, char **argv) { return shown(argc + 20) == atoi(argv[0]); }
"""
write("one.c", SOURCE)
output("gcc", "-O2", "-g", "-rdynamic", "-Wl,--build-id", "-o", "one.full", "one.c")
os.mkdir(path("symbols"))
output("objcopy", "--only-keep-debug", "one.full", "symbols/one.debug")
output("objcopy", "--strip-all", "one.full", "one")
BUILD_ID = output("readelf", "-n", "one").split("Build ID: ")[1].split()[0]
output(RECORD, "-q", "-f", "-o", "dynamic.ptl", "--", path("one"))
output(RECORD, "-q", "-f", "--embed", "code", "-o", "code.ptl", "--", path("one"))
output(RECORD, "-q", "-f", "--embed", "debug", "--debug-path", path("symbols"), "-o", "all.ptl", "--", path("one"))


def without_program(tool, *arguments):
    """On a machine that has the symbols, but not the program."""
    os.rename(path("one"), path("gone"))
    text = output(tool, *arguments)
    os.rename(path("gone"), path("one"))
    return text


def elsewhere(tool, *arguments):
    """On a machine that has neither the program nor its symbols."""
    os.rename(path("one"), path("gone"))
    os.rename(path("symbols"), path("gone.symbols"))
    text = output(tool, *arguments)
    os.rename(path("gone"), path("one"))
    os.rename(path("gone.symbols"), path("symbols"))
    return text


def names(trace):
    return {row["function"] for row in map(json.loads, elsewhere(DUMP, "report", "--json", "--image", "one", trace).splitlines())}


def lines(trace):
    rows = map(json.loads, elsewhere(DUMP, "report", "--by", "line", "--json", "--image", "one", trace).splitlines())
    return {os.path.basename(row["file"]) for row in rows if row.get("file")}


def symbols(show, *arguments):
    """Names that blocks of the program have."""
    return {json.loads(row).get("symbol") for row in show(DUMP, "flow", "--json", "--image", "one", *arguments).splitlines()}


def attached(trace):
    return [(one["kind"], one["id"]) for one in json.loads(output(DUMP, "info", "--json", trace))["attachments"]]


check("before, the traces have no such name", "hidden" not in names("dynamic.ptl") | names("code.ptl"))
for trace in "dynamic.ptl", "code.ptl":
    said = run(RELOG, "-f", trace, "--embed", "symbols", "--debug-path", path("symbols"), "-o", "out.ptl")
    check(f"{trace}: symbols are added", said.returncode == 0 and {"hidden", "shown", "main"} <= names("out.ptl") and
          (4, BUILD_ID) in attached("out.ptl"), said, attached("out.ptl"))
    check(f"{trace}: and counted", "symbol tables and debug files that the trace lacks" in said.stderr, said.stderr)
    check(f"{trace}: no debug information", all(kind == 4 for kind, _ in attached("out.ptl")) and "one.c" not in lines("out.ptl"))
    check(f"{trace}: the flow is as it was", output(DUMP, "stats", "--hash", "--json", trace).split('"hash"')[1:] ==
          output(DUMP, "stats", "--hash", "--json", "out.ptl").split('"hash"')[1:])
    got = run(DUMP, "info", "--check", "out.ptl")
    check(f"{trace}: what is written is sound", got.returncode == 0, got)
    before = attached("out.ptl")
    output(RELOG, "-q", "-f", "out.ptl", "--embed", "symbols", "--debug-path", path("symbols"), "-o", "again.ptl")
    check(f"{trace}: a second time adds nothing of it", attached("again.ptl") == before, before, attached("again.ptl"))

STUBS = {name for name in symbols(elsewhere, "dynamic.ptl") if name and "@plt" in name}
without_program(RELOG, "-q", "-f", "dynamic.ptl", "--embed", "symbols", "--debug-path", path("symbols"), "-o", "out.ptl")
for trace, show, *more in (("out.ptl", elsewhere), ("dynamic.ptl", without_program, "--debug-path", path("symbols"))):
    got = symbols(show, *more, trace)
    check(f"{trace}: names that the file alone has stay beside those of its debug file", STUBS and STUBS <= got and "hidden" in got,
          STUBS, got)
output(RELOG, "-q", "-f", "code.ptl", "--embed", "symbols", "--debug-path", path("symbols"), "-o", "out.ptl")

output(RELOG, "-q", "-f", "out.ptl", "--detach-code", "store", "-o", "small.ptl")
check("a code store takes what is attached", "hidden" not in names("small.ptl"))
output(RELOG, "-q", "-f", "small.ptl", "--attach-code", "store", "-o", "back.ptl")
types = {blob["sha256"]: blob["type"] for blob in json.loads(output(DUMP, "info", "--json", "back.ptl"))["blobs"]}
check("and gives it back as what it was", "hidden" in names("back.ptl") and
      all(types[one["sha256"]] == 2 for one in json.loads(output(DUMP, "info", "--json", "back.ptl"))["attachments"]), types)

output(RELOG, "-q", "-f", "code.ptl", "--embed", "debug", "--debug-path", path("symbols"), "-o", "out.ptl")
check("debug information is added where it is asked for", "one.c" in lines("out.ptl") and (5, BUILD_ID) in attached("out.ptl"),
      attached("out.ptl"))
shutil.copy(path("one.full"), path("one"))
output(RELOG, "-q", "-f", "code.ptl", "--embed", "debug", "-o", "out.ptl")
check("what has the build id may be the unstripped program", "hidden" in names("out.ptl") and "one.c" in lines("out.ptl"))
output("objcopy", "--strip-all", "one.full", "one")

output(RELOG, "-q", "-f", "all.ptl", "--embed", "debug", "--debug-path", path("symbols"), "-o", "out.ptl")
check("what a trace has is not looked for", BUILD_ID not in [name for _, name in attached("out.ptl")], attached("out.ptl"))
os.rename(path("symbols"), path("away"))
said = run(RELOG, "-f", "dynamic.ptl", "--embed", "symbols", "-o", "out.ptl")
check("what is nowhere is counted, and no failure", said.returncode == 0 and "hidden" not in json.dumps(attached("out.ptl")) and
      (4, BUILD_ID) not in attached("out.ptl"), said)
os.rename(path("away"), path("symbols"))
output(RELOG, "-q", "-f", "dynamic.ptl", "-o", "out.ptl")
check("nothing is looked for unasked", not attached("out.ptl"), attached("out.ptl"))
said = run(RELOG, "-f", "dynamic.ptl", "--embed", "symbols", "--debug-path", path("symbols"), "--redact", "users", "-o", "out.ptl")
check("with redaction it is left out, and said", said.returncode == 0 and "add it first" in said.stderr and not attached("out.ptl"),
      said)
plan()
