#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Names and lines of stripped programs from separate debug files, against addr2line on the program as it was before it was stripped.
import collections
import fcntl
import glob
import json
import lzma
import os
import pty
import shutil
import struct
import subprocess
import termios

import debuginfod_server
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, read, run, scratch, skip, write

SOURCE = """#include <stdlib.h>
static inline __attribute__((always_inline)) int twice(int x)
{
    __asm__ volatile("" : "+r"(x));
    return 2 * x + 1;
}
static __attribute__((noinline, noclone)) int %s_hidden(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += twice(i) ^ sum;
    return sum;
}
__attribute__((noinline)) int %s_exported(int n) { return %s_hidden(n) + 1; }
int main(int argc, char **argv) { (void)argv; return %s_exported(argc + 20) == 0; }
"""


def build(name, *more):
    write(f"{name}.c", SOURCE % (name, name, name, name))
    output("gcc", "-O2", "-g", "-rdynamic", "-Wl,--build-id", "-o", f"{name}.full", f"{name}.c", *more)
    output("objcopy", "--only-keep-debug", f"{name}.full", f"{name}.debug")


def strip(name):
    """After all changes to the debug file, whose CRC the link has."""
    output("objcopy", "--strip-all", f"--add-gnu-debuglink={name}.debug", f"{name}.full", name)


def judged(name):
    """Of each function how many instructions addr2line says ran in it; inlined ones count as themselves, too."""
    lines = [json.loads(line) for line in output(DUMP, "flow", "--level", "insn", "--json", "--image", name,
                                                 f"{name}.ptl").splitlines()]
    counts = collections.Counter(int(line["image_address"], 16) for line in lines if line["type"] == "instruction")
    text = output("addr2line", "-f", "-i", "-a", "-e", f"{name}.full", input="\n".join(map(hex, counts)) + "\n")
    functions, own, address, first = collections.Counter(), collections.Counter(), 0, False
    rows = iter(text.splitlines())
    for row in rows:
        if row.startswith("0x"):
            address, first = int(row, 16), True
        else:
            if first:
                own[row] += counts[address]
            functions[row] += counts[address]
            first = False
            next(rows)
    return functions, own


def names(*arguments, trace="one.ptl", image="one", **more):
    """Names of functions that ran, from the symbol tables, and what was said."""
    got = run(DUMP, "report", "--json", "--image", image, *arguments, trace, **more)
    return {row["function"] for row in map(json.loads, got.stdout.splitlines()) if row["function"]}, got.stderr


def inlined(*arguments, trace="one.ptl", image="one", **more):
    """Total instructions of functions that have a place in the source."""
    got = run(DUMP, "report", "--by", "inline", "--json", "--image", image, *arguments, trace, **more)
    return {row["function"]: row["total_instructions"] for row in map(json.loads, got.stdout.splitlines())
            if row["function"] and row["file"]}, got.stderr


def browsed(trace, keys):
    """What ptl-dump browse writes to a terminal, where these keys are pressed."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 150, 0, 0))
    os.write(here, keys.encode())
    with subprocess.Popen([DUMP, "browse", trace], stdin=there, stdout=there, stderr=there, cwd=scratch,
                          env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}) as program:
        os.close(there)
        said = b""
        while True:
            try:
                part = os.read(here, 1 << 16)
            except OSError:  # the other end is closed
                break
            said += part
        program.wait()
    os.close(here)
    return said


def build_id_name(name):
    text = output("readelf", "-n", name)
    found = text.split("Build ID: ")[1].split()[0]
    return f".build-id/{found[:2]}/{found[2:]}.debug"


build("one")
build("two")
strip("one")
strip("two")
output(RECORD, "-q", "-f", "-o", "one.ptl", "--embed", "code", "--", path("one"))
truth, own = judged("one")
LINES = {"one_hidden", "one_exported", "main", "twice"}
check("addr2line knows the program", LINES <= set(truth), truth)

# ---- .gnu_debuglink ---------------------------------------------------------------------------------

check("the debug file beside the program gives names", {"one_hidden", "one_exported", "main"} <= names()[0], names())
found, said = inlined()
check("and inlined functions, as addr2line has them", {name: found.get(name) for name in LINES} ==
      {name: truth[name] for name in LINES} and not said, found, truth, said)
output(RECORD, "-q", "-f", "-o", "named.ptl", "--embed", "debug", "--", path("one"))
os.makedirs(path("away"))
for name in "one", "one.debug":
    os.rename(path(name), path(f"away/{name}"))
check("ptl-record finds it, too: the trace needs neither", {"one_hidden", "main"} <= names(trace="named.ptl")[0] and
      {name: inlined(trace="named.ptl")[0].get(name) for name in LINES} == {name: truth[name] for name in LINES},
      names(trace="named.ptl"), inlined(trace="named.ptl"))
for name in "one", "one.debug":
    os.rename(path(f"away/{name}"), path(name))

os.makedirs(path(".debug"))
os.rename(path("one.debug"), path(".debug/one.debug"))
check("it may be in .debug", "one_hidden" in names()[0], names())
shutil.copy(path(".debug/one.debug"), path("right"))
with open(path(".debug/one.debug"), "ab") as file:
    file.write(b"\0")
check("a file of another CRC is not taken", "one_hidden" not in names()[0] and "one_exported" in names()[0] and
      not inlined()[0], names(), inlined())
check("which is said of lines", "no inlined functions" in inlined()[1] and "--debug-path" in inlined()[1], inlined()[1])
shutil.copy(path("two.debug"), path(".debug/one.debug"))
check("nor one of another program", "one_hidden" not in names()[0] and not inlined()[0])
os.remove(path(".debug/one.debug"))
os.mkfifo(path(".debug/one.debug"))
check("nor a pipe, which nobody writes to", "one_hidden" not in names(timeout=120)[0])
os.remove(path(".debug/one.debug"))

# ---- folders of debug files --------------------------------------------------------------------------

place = path(f"store/{build_id_name('one')}")
os.makedirs(os.path.dirname(place))
shutil.copy(path("right"), place)
check("a folder by build id", "one_hidden" in names("--debug-path", "store")[0], names("--debug-path", "store"))
check("several of them, with one that is not there", "one_hidden" in names("--debug-path", "nowhere:store")[0] and
      {name: inlined("--debug-path", "nowhere", "--debug-path", "store")[0].get(name) for name in LINES} ==
      {name: truth[name] for name in LINES})
environment = dict(os.environ, PTL_DEBUG_PATH=path("store"))
check("PTL_DEBUG_PATH", "one_hidden" in names(env=environment)[0])
output(RECORD, "-q", "-f", "-o", "poor.ptl", "--debug-path", "store", "--", path("one"))
check("ptl-record has the option, too", "one_hidden" in names(trace="poor.ptl")[0])
shutil.copy(path("two.debug"), place)
check("a file of another build id is not taken", "one_hidden" not in names("--debug-path", "store")[0])
write(f"store/{build_id_name('one')}", b"\x7fELF" + bytes(500))
check("nor a damaged one", "one_hidden" not in names("--debug-path", "store")[0])
os.makedirs(path("loose"))
for name in "one.full", "one.debug", "one":
    shutil.copy(path("one.full"), path(f"loose/{name}"))
    os.rename(path("one"), path("away/one"))
    check(f"a folder with the unstripped program as {name}", ("one_hidden" in names("--debug-path", "loose")[0]) ==
          (name != "one.full"), names("--debug-path", "loose"))
    os.rename(path("away/one"), path("one"))
    os.remove(path(f"loose/{name}"))
whole = os.path.join(path("root"), path("one").lstrip("/"))
os.makedirs(os.path.dirname(whole))
shutil.copy(path("right"), f"{whole}.debug")
check("a copy of the root folder", "one_hidden" in names("--debug-path", "root")[0])

# ---- ways to write DWARF -----------------------------------------------------------------------------

build("forms", "-Wl,--build-id=0x0123456789abcdef")
strip("forms")
output(RECORD, "-q", "-f", "-o", "forms.ptl", "--embed", "code", "--", path("forms"))
os.remove(path("forms.debug"))
counts = collections.Counter(int(line["image_address"], 16) for line in map(json.loads, output(
    DUMP, "flow", "--level", "insn", "--json", "--image", "forms", "forms.ptl").splitlines()) if line["type"] == "instruction")
places = output("addr2line", "-e", "forms.full", input="\n".join(map(hex, counts)) + "\n").splitlines()
expected = collections.Counter()
for count, text in zip(counts.values(), places, strict=True):
    if "?" not in text:
        expected[text.split(" (")[0]] += count
os.makedirs(path("forms-store"))
for way, root in [(way, "") for way in ("-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf64", "-gz=zlib", "-gz=zlib-gnu",
                                        "-gdwarf-4 -gz=zlib-gnu", "-gsplit-dwarf")] + [("-ffile-prefix-map=/=./", ".")]:
    build("forms", "-Wl,--build-id=0x0123456789abcdef", *way.split())
    os.rename(path("forms.debug"), path("forms-store/forms.debug"))
    rows = map(json.loads, output(DUMP, "report", "--by", "line", "--json", "--image", "forms", "--debug-path", "forms-store",
                                  "forms.ptl").splitlines())
    found = {f"{row['file']}:{row['line']}": row["self_instructions"] for row in rows if "line" in row}
    check(f"{way}: lines are those of addr2line", len(expected) > 3 and found == {
        root + line: count for line, count in expected.items()}, found, expected)

# ---- debuginfod --------------------------------------------------------------------------------------

asked, served = [], b""


def find_debug_file(wanted):
    asked.append(wanted)
    return served if wanted == f"/buildid/{BUILD_ID}/debuginfo" else None


def ask(*arguments, cache="cache", urls=None, **more):
    settings = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    settings.update({"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}/" if urls is None else urls,
                     "DEBUGINFOD_CACHE_PATH": path(cache), "DEBUGINFOD_TIMEOUT": "20"})
    return names(*arguments, env=settings, **more)


BUILD_ID = "".join(build_id_name("one").removesuffix(".debug").split("/")[1:])
server = debuginfod_server.serve(find_debug_file)
found, said = ask("--debuginfod", cache="first")
if "libdebuginfod" in said:
    skip("debuginfod", "there is no client of it")
else:
    check("a server that has it not", "one_hidden" not in found and f"/buildid/{BUILD_ID}/debuginfo" in asked and
          not said, found, said, asked)
    asked.clear()
    check("no server is asked without the option", "one_hidden" not in ask(cache="second")[0] and not asked, asked)
    served = read("two.debug")
    check("what a server gives must have the build id", "one_hidden" not in ask("--debuginfod", cache="third")[0] and asked)
    served = read("right")
    found, said = ask("--debuginfod", cache="fourth")
    check("a server has the debug file", {"one_hidden", "one_exported", "main"} <= found and not said, found, said)
    output(RECORD, "-q", "-f", "-o", "dynamic.ptl", "--", path("one"))
    found, said = ask("--debuginfod", cache="fourth", trace="dynamic.ptl")
    check("it goes before dynamic symbols in the trace", "one_hidden" in found and
          "one_hidden" not in names(trace="dynamic.ptl")[0], found, said)
    server.shutdown()
    server.server_close()
    found, said = ask("--debuginfod", cache="fourth")
    check("it is kept", "one_hidden" in found, found, said)
    found, said = ask("--debuginfod", cache="fifth")
    check("a server that is gone is said", "one_hidden" not in found and "debuginfod: a server gave no answer" in said,
          found, said)
    for program in (DUMP, "stats"), (RELOG, "-o", "x.ptl"):
        got = run(*program, "--debuginfod", "one.ptl", env=dict(os.environ, DEBUGINFOD_URLS=""))
        check(f"{os.path.basename(program[0])}: an option without a server", got.returncode == 2 and
              "DEBUGINFOD_URLS" in got.stderr and not os.path.exists(path("x.ptl")), got.returncode, got.stderr)

# ---- what several debug files share ------------------------------------------------------------------

if not shutil.which("dwz"):
    skip("debug files of dwz", "there is no dwz")
else:
    shutil.copy(path("right"), path("one.debug"))
    subprocess.run(["dwz", "-m", "shared.dwz", "-M", "shared.dwz", "one.debug", "two.debug"], cwd=scratch, check=True,
                   capture_output=True)
    if "alt" not in output("readelf", "-S", "one.debug"):
        skip("debug files of dwz", "dwz found nothing to share")
    else:
        strip("one")
        wanted = {name: truth[name] for name in LINES}
        found, said = inlined()
        check("dwz: names that lie in the shared file", {name: found.get(name) for name in LINES} == wanted and
              not said, found, truth, said)
        output(RECORD, "-q", "-f", "-o", "shared.ptl", "--embed", "debug", "--", path("one"))
        os.makedirs(path("dwz"))
        os.rename(path("shared.dwz"), path("dwz/shared.dwz"))
        found, said = inlined()
        check("without it names are missing, and that is said", "twice" not in found and "one_hidden" in found and
              "shared.dwz" in said, found, said)
        output(RECORD, "-q", "-f", "-o", "more.ptl", "--embed", "code", "--", path("one"), "x")
        got = run(DUMP, "diff", "--first", "--image", "one", "one.ptl", "more.ptl")
        check("diff says so, too", got.returncode == 1 and "shared.dwz" in got.stderr, got.stdout, got.stderr)
        got = run(DUMP, "html", "--max-sources", "1000", "one.ptl")
        check("so does html", got.returncode == 0 and "warning: debug information refers to shared.dwz" in got.stderr, got.stderr)
        if "browse" in output(DUMP, "--list-commands").split():
            said = browsed("one.ptl", "r/one_hidden\rsqqq")
            check("and browse, when its screen is gone", b"debug information refers to shared.dwz" in said.rpartition(b"\x1b[?1049l")[2], said[-600:])
        else:
            skip("and browse, when its screen is gone", "ptl-dump was built without ncurses")
        rows = [json.loads(line) for line in output(DUMP, "report", "--by", "inline", "--json", "--image", "one",
                                                     "one.ptl").splitlines()]
        own_rows = {row["function"]: row["self_instructions"] for row in rows if row["file"] or row["function"]}
        check("what was inlined is then the function's that it lies in",
              own_rows.get("one_hidden") == own["one_hidden"] + own["twice"] and
              all(row["function"] for row in rows if row["file"]), rows, own)
        for name in "one", "one.debug":
            os.rename(path(name), path(f"away/{name}"))
        found, said = inlined(trace="shared.ptl")
        check("--embed debug puts it into the trace", {name: found.get(name) for name in LINES} == wanted and not said,
              found, said)
        check("as ptl-dump info shows", "shared.dwz" in output(DUMP, "info", "shared.ptl"))
        for name in "one", "one.debug":
            os.rename(path(f"away/{name}"), path(name))
        found = inlined("--debug-path", "dwz")[0]
        check("--debug-path finds it", {name: found.get(name) for name in LINES} == wanted, found)
        shutil.copy(path("dwz/shared.dwz"), path("shared.dwz"))
        loop = b"shared.dwz\0" + bytes.fromhex(output("readelf", "-n", "shared.dwz").split("Build ID: ")[1].split()[0])
        write("loop", loop)
        output("objcopy", "--add-section", ".gnu_debugaltlink=loop", "shared.dwz")
        found, said = inlined(timeout=120)
        check("a shared file that refers to itself", {name: found.get(name) for name in LINES} == wanted, found, said)
        shutil.copy(path("two.full"), path("shared.dwz"))
        check("one of another build id is not taken", "twice" not in inlined()[0])

# ---- split DWARF -------------------------------------------------------------------------------------


def split_names(*arguments, trace="split.ptl"):
    found, said = inlined(*arguments, trace=trace, image="split", timeout=120)
    return {name: found.get(name) for name in wanted}, said


def import_perf(name):
    """A trace of the perf.data that split.ptl is exported to, whose code is found where it was mapped from."""
    output(DUMP, "perf", "-f", "-o", "split.data", "split.ptl")
    shutil.rmtree(path("split.data.debug"))
    output(RELOG, "-q", "-f", "--embed", "debug", "-o", name, "split.data")


def lines(trace):
    """The lines of the source that ran."""
    rows = (json.loads(line) for line in output(DUMP, "report", "--by", "line", "--json", "--image", "split", trace).splitlines())
    return {(os.path.basename(row["file"]), row["line"]): row["self_instructions"] for row in rows if row.get("line")}


def move(folder, *names):
    os.makedirs(path(folder), exist_ok=True)
    for name in names:
        os.rename(path(name), path(f"{folder}/{os.path.basename(name)}"))


for version in 4, 5:
    # Ranges of several sections, and sections that are packed.
    build("split", "-gsplit-dwarf", f"-gdwarf-{version}", "-ffunction-sections", *(["-gz"] if version == 5 else []))
    shutil.copy(path("split.full"), path("split"))
    (dwo,) = (os.path.basename(name) for name in glob.glob(path("*split*.dwo")))
    with_package = version == 4 and shutil.which("dwp") is not None
    if with_package:
        output("dwp", "-e", "split.full", "-o", "package")
    output(RECORD, "-q", "-f", "-o", "split.ptl", "--embed", "code", "--", path("split"))
    output(RECORD, "-q", "-f", "-o", "embedded.ptl", "--embed", "debug", "--", path("split"))
    import_perf("imported.ptl")
    # addr2line does not read .dwo files: it sees the same code with all of its debug information.
    move("there", "split", dwo)
    build("split")
    truth = judged("split")[0]
    wanted = {name: truth[name] for name in ("split_hidden", "split_exported", "main", "twice")}
    os.remove(path("split.full"))
    os.remove(path("split.debug"))
    check(f"DWARF {version}: functions of .dwo files", split_names("--debug-path", "there") == (wanted, ""),
          split_names("--debug-path", "there"), wanted)
    check("--embed debug puts them into the trace", split_names(trace="embedded.ptl") == (wanted, "") and
          dwo in output(DUMP, "info", "embedded.ptl"), split_names(trace="embedded.ptl"), wanted)
    check("so does ptl-relog, of perf.data", split_names(trace="imported.ptl") == (wanted, "") and
          dwo in output(DUMP, "info", "imported.ptl"), split_names(trace="imported.ptl"), wanted)
    check("and the lines are there", lines("imported.ptl") and lines("imported.ptl") == lines("embedded.ptl"), lines("imported.ptl"), lines("embedded.ptl"))
    move("files", f"there/{dwo}")
    found, said = split_names("--debug-path", "there")
    check("without them they are missing, and that is said", found["twice"] is None and ".dwo" in said, found, said)
    whole = read(f"files/{dwo}")
    write("other.c", "int other(void) { return 1; }\n")
    output("gcc", "-c", "-gsplit-dwarf", f"-gdwarf-{version}", "-o", "other.o", "other.c")
    os.rename(path("other.dwo"), path(f"there/{dwo}"))
    wrong = {"cut": whole[:len(whole) // 2], "no ELF file": b"nonsense\n" * 100, "empty": b"", "of another unit": read(f"there/{dwo}")}
    for what, data in wrong.items():
        write(f"there/{dwo}", data)
        found, said = split_names("--debug-path", "there")
        check(f"a .dwo file that is {what} is passed over", found["twice"] is None and ".dwo" in said, found, said)
    os.remove(path(f"there/{dwo}"))
    os.mkfifo(path(f"there/{dwo}"))
    found, said = split_names("--debug-path", "there")
    check("a pipe with its name is not opened", found["twice"] is None and ".dwo" in said, found, said)
    os.remove(path(f"there/{dwo}"))
    if version == 4 and not with_package:
        skip("a package of .dwo files (.dwp)", "there is no dwp (binutils-gold)")
    if with_package:
        shutil.copy(path("package"), path("there/split.dwp"))
        check("a package of .dwo files (.dwp)", split_names("--debug-path", "there") == (wanted, ""),
              split_names("--debug-path", "there"), wanted)
        shutil.copy(path("there/split"), path("split"))
        os.rename(path("there/split.dwp"), path("split.dwp"))
        check("beside the program", split_names() == (wanted, ""), split_names(), wanted)
        output(RECORD, "-q", "-f", "-o", "packed.ptl", "--embed", "debug", "--", path("split"))
        import_perf("imported.ptl")
        os.remove(path("split.dwp"))
        check("its units are put into the trace", split_names(trace="packed.ptl") == (wanted, "") and
              dwo in output(DUMP, "info", "packed.ptl"), split_names(trace="packed.ptl"), wanted)
        check("of perf.data, too", split_names(trace="imported.ptl") == (wanted, "") and lines("imported.ptl") == lines("packed.ptl") and
              dwo in output(DUMP, "info", "imported.ptl"), split_names(trace="imported.ptl"), wanted, lines("imported.ptl"))
        for what, data in ("cut", read("package")[:1000]), ("no package", whole):
            write("split.dwp", data)
            found, said = split_names()
            check(f"a package that is {what} is passed over", found["twice"] is None and ".dwo" in said, found, said)
        os.remove(path("split"))
        os.remove(path("split.dwp"))
    shutil.rmtree(path("there"))
    shutil.rmtree(path("files"))

# clang's functions are of file 0, which DWARF 5 has.
if shutil.which("clang"):
    build("split")
    output("clang", "-O2", "-g", "-gdwarf-5", "-Wl,--build-id", "-o", "split", "split.c")
    output(RECORD, "-q", "-f", "-o", "clang.ptl", "--embed", "debug", "--", path("split"))
    rows = [json.loads(line) for line in output(DUMP, "report", "--by", "inline", "--json", "--image", "split", "clang.ptl").splitlines()]
    found = {row["function"]: os.path.basename(row["file"] or "") for row in rows}
    check("clang: where functions are declared", found.get("twice") == found.get("main") == "split.c", found)
    for name in "split", "split.full", "split.debug":
        os.remove(path(name))
else:
    skip("clang: where functions are declared", "clang is not installed")

# ---- MiniDebugInfo -----------------------------------------------------------------------------------

os.remove(path("one.debug"))
symbols = [line.split()[2] for line in output("nm", "one.full").splitlines() if len(line.split()) == 3]
dynamic = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "one.full").splitlines()}
write("keep", "\n".join(name for name in symbols if name not in dynamic) + "\n")
output("objcopy", "-S", "--remove-section=.comment", "--keep-symbols=keep", "right", "mini")
packed = lzma.compress(read("mini"))
output("objcopy", "--strip-all", "one.full", "one.stripped")


def with_mini(data):
    write("mini.xz", data)
    output("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "one.stripped", "one")


with_mini(packed)
rows = [json.loads(line) for line in output(DUMP, "report", "--json", "--image", "one", "one.ptl").splitlines()]
found = {row["function"]: row["self_instructions"] for row in rows if row["function"]}
check("MiniDebugInfo has names that the dynamic symbols have not", {name: found.get(name) for name in (
    "one_hidden", "one_exported", "main")} == {name: own[name] + (own["twice"] if name == "one_hidden" else 0) for name in (
        "one_hidden", "one_exported", "main")}, found, own)
output(RECORD, "-q", "-f", "-o", "mini.ptl", "--", path("one"))
bomb = lzma.compress(bytes(100 << 20), preset=0)
for what, data in ("cut", packed[:len(packed) // 2]), ("no xz at all", b"nonsense"), ("of 100 MiB", bomb):
    with_mini(data)
    found, said = names(trace="one.ptl", image="one")
    check(f"MiniDebugInfo that is {what}: the other names are there", "one_hidden" not in found and
          "one_exported" in found, found, said)
os.remove(path("one"))
check("ptl-record puts its names into the trace", "one_hidden" in names(trace="mini.ptl", image="one")[0])
plan()
