#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# --embed sources: a trace keeps the source files that line tables name, and shows them where the files are gone. --source-map
# reads the files of another folder.
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, run, skip, write

os.mkdir(path("src"))
os.mkdir(path("src/sub"))
write("src/main.c", """#include "sub/twice.h"
#include "sub/absent.h"
int main(int argc, char **argv)
{
	return twice(argc) + absent(argc) == (long)argv; /* the main line */
}
""")
write("src/sub/twice.h", """static __attribute__((noinline)) int twice(int n)
{
	return n * 2; /* the doubled line */
}
""")
write("src/sub/absent.h", "static __attribute__((noinline)) int absent(int n) { return n * 3; }\n")
output("gcc", "-g", "-O1", "-o", path("program"), path("src/main.c"))
os.remove(path("src/sub/absent.h"))
LINE = "return n * 2; /* the doubled line */"


def record(name, *options):
    return run(RECORD, "-f", "--source", "software", "-o", name, *options, "--", path("program"))


def sources(name):
    """{path: hash} of the source files in a trace."""
    return {one["name"]: one["sha256"] for one in json.loads(output(DUMP, "info", "--json", name))["attachments"] if one["kind"] == 8}


def line_shown(name, *options):
    return LINE in output(DUMP, "annotate", *options, "twice", name)


def elsewhere(test):
    """Runs a test on a machine without the source files."""
    os.rename(path("src"), path("gone"))
    result = test()
    os.rename(path("gone"), path("src"))
    return result


got = record("all.ptl", "--embed", "sources")
check("a recording with source files works", got.returncode in (0, 1) and os.path.exists(path("all.ptl")), got)
found = sources("all.ptl")
check("the trace has the files that line tables name, by path",
      {path("src/main.c"), path("src/sub/twice.h")} <= set(found) and path("src/sub/absent.h") not in found, list(found))
check("the recorder counts source files that are not there", "source files that line tables name are not readable" in got.stderr, got)
blobs = {one["sha256"]: one for one in json.loads(output(DUMP, "info", "--json", "all.ptl"))["blobs"]}
judge = output("sha256sum", path("src/main.c")).split()[0]
check("the content is that of the file", found[path("src/main.c")] == judge and
      blobs[judge]["size"] == os.path.getsize(path("src/main.c")), found, judge)
record("debug.ptl", "--embed", "debug")
check("without the option a trace has no source file", sources("debug.ptl") == {} and line_shown("debug.ptl"))

check("lines are shown where the files are gone", elsewhere(lambda: line_shown("all.ptl")) and not elsewhere(lambda: line_shown("debug.ptl")))
page = elsewhere(lambda: output(DUMP, "html", "all.ptl"))
check("a page has the lines", "the doubled line" in page and "the main line" in page)
got = elsewhere(lambda: output(DUMP, "coverage", "--uncovered", "all.ptl") + output(DUMP, "crash", "all.ptl"))
check("coverage and crash read the files of the trace, too", "warning" not in got, got)
if shutil.which("gdb"):
    os.rename(path("program"), path("program.gone"))
    said = elsewhere(lambda: run(DUMP, "gdb", "--batch", "-x", "list twice", "all.ptl"))
    os.rename(path("program.gone"), path("program"))
    check("gdb lists the lines", LINE in said.stdout, said)
    # A build in a folder of its own: line tables name build/../src/main.c.
    os.mkdir(path("build"))
    write("src/sub/absent.h", "static __attribute__((noinline)) int absent(int n) { return n * 3; }\n")
    output("gcc", "-g", "-O1", "-o", path("build/program"), "../src/main.c", cwd=path("build"))
    os.remove(path("src/sub/absent.h"))
    run(RECORD, "-f", "--source", "software", "-o", "build.ptl", "--embed", "sources", "--", path("build/program"))
    os.rename(path("build"), path("build.gone"))
    said = elsewhere(lambda: run(DUMP, "gdb", "--batch", "-x", "list main", "-x", "list twice", "build.ptl"))
    check("gdb lists lines of a build in another folder", LINE in said.stdout and "the main line" in said.stdout and
          any("/../" in name for name in sources("build.ptl")) and elsewhere(lambda: line_shown("build.ptl")), said, sources("build.ptl"))
    check("gdb leaves no folder", not [one for one in os.listdir(os.environ.get("TMPDIR") or "/tmp") if
                                       one.startswith("ptl-gdb-") and os.path.exists(f"/tmp/{one}/source{path('src')}")])
else:
    skip("gdb lists the lines", "there is no gdb")

# The text of a file that was changed after the recording differs from the text in the trace.
before = output(DUMP, "annotate", "twice", "all.ptl")
shutil.copytree(path("src"), path("moved"))
write("src/sub/twice.h", "changed\nchanged\nchanged\n")
got = run(DUMP, "annotate", "twice", "all.ptl")
check("the content in the trace comes before a file of the same path", got.stdout == before and "newer" not in got.stderr, got)
got = run(DUMP, "annotate", "twice", "debug.ptl")
check("a file of this machine that is newer is warned of", "newer than the trace" in got.stderr and "changed" in got.stdout, got)
shutil.copy(path("moved/sub/twice.h"), path("src/sub/twice.h"))

check("--source-map reads the files of another folder",
      elsewhere(lambda: line_shown("debug.ptl", "--source-map", f"{path('src')}={path('moved')}")))
write("moved/sub/twice.h", "1\n2\nother text\n4\n")
for rule in f"{path('src')}={path('moved')}", f"{path('src')}/={path('moved')}/", f"{path('src/sub/twice.h')}={path('moved/sub/twice.h')}":
    check(f"a mapped file comes before the trace: {rule.count('/') - path('src').count('/')}",
          "other text" in output(DUMP, "annotate", "--source-map", rule, "twice", "all.ptl"))
check("the first rule counts", line_shown("all.ptl", "--source-map", f"{path('src')}=/nowhere", "--source-map", f"{path('src')}={path('moved')}"))
check("a rule fits whole names of folders", line_shown("all.ptl", "--source-map", f"{path('sr')}={path('moved')}"))
for rule in "x", "=x", "":
    got = run(DUMP, "annotate", "--source-map", rule, "twice", "all.ptl")
    check(f"--source-map '{rule}' is refused", got.returncode == 2 and "FROM=TO" in got.stderr, got)
check("an unknown word of --embed is refused", run(RECORD, "--embed", "source", "--", "true").returncode == 2)

output(RELOG, "-f", "-q", "all.ptl", "-o", "copy.ptl")
check("ptl-relog keeps source files", sources("copy.ptl") == found)
output(RELOG, "-f", "-q", "--detach-code", path("store"), "all.ptl", "-o", "detached.ptl")
output(RELOG, "-f", "-q", "--attach-code", path("store"), "detached.ptl", "-o", "attached.ptl")
check("a code store takes source files, and gives them back", sources("attached.ptl") == found and elsewhere(lambda: line_shown("attached.ptl")))
output(RELOG, "-f", "-q", "all.ptl", "debug.ptl", "-o", "both.ptl")
check("a merged trace has the source files once", sources("both.ptl") == found)
got = run(RELOG, "-f", "debug.ptl", "--embed", "sources", "-o", "added.ptl")
check("ptl-relog adds source files of this machine", set(sources("added.ptl")) >= {path("src/main.c"), path("src/sub/twice.h")} and
      elsewhere(lambda: line_shown("added.ptl")), got)
check("ptl-relog warns of a file that is newer than the trace", "newer than the trace" in got.stderr, got)
output(RELOG, "-f", "-q", "added.ptl", "--embed", "sources", "-o", "again.ptl")
check("a second time adds nothing", sources("again.ptl") == sources("added.ptl") and
      len(json.loads(output(DUMP, "info", "--json", "again.ptl"))["attachments"]) ==
      len(json.loads(output(DUMP, "info", "--json", "added.ptl"))["attachments"]))
got = run(RELOG, "-f", "--redact", "text:doubled", "all.ptl", "-o", "redacted.ptl")
check("redaction removes source files, and says so", sources("redacted.ptl") == {} and "blobs were left out" in got.stderr and
      b"doubled" not in open(path("redacted.ptl"), "rb").read(), got)

write("src/sub/twice.h", "static __attribute__((noinline)) int twice(int n)\n{\n\treturn n * 4;\n}\n")
record("other.ptl", "--embed", "sources")
output(RELOG, "-f", "-q", "all.ptl", "other.ptl", "-o", "both.ptl")
got = run(DUMP, "annotate", "twice", "both.ptl")
check("of several contents the first is shown, with a warning", LINE in got.stdout and "several contents of 1 source file," in got.stderr, got)

# Bounds: a file of at most 16 MiB.
with open(path("src/main.c"), "a", encoding="ascii") as file:
    for _ in range(17):
        file.write("/" * 2 + "x" * ((1 << 20) - 3) + "\n")
got = record("large.ptl", "--embed", "sources")
losses = json.loads(output(DUMP, "info", "--json", "large.ptl"))["losses"]
check("a file beyond the bound is left out", path("src/main.c") not in sources("large.ptl") and path("src/sub/twice.h") in sources("large.ptl"))
check("the recorder and the trace say so", "1 source file is not in the trace" in got.stderr and
      [one["count"] for one in losses if "source files are larger" in (one["cause"] or "")] == [1], got.stderr, losses)

if os.geteuid() == 0:
    # Root records a program of another user, whose lines name a file that the user cannot read.
    write("src/main.c", "#line 1 \"" + path("secret") + "\"\nint main(void) { return 0; }\n")
    output("gcc", "-g", "-o", path("program"), path("src/main.c"))
    write("secret", "a secret\n")
    os.chmod(path("secret"), 0o600)
    record("trusted.ptl", "--embed", "sources")
    os.chown(path("program"), 65534, 65534)
    record("hostile.ptl", "--embed", "sources")
    check("root stores no file that the owner of the program cannot read",
          path("secret") in sources("trusted.ptl") and path("secret") not in sources("hostile.ptl"))
else:
    skip("root stores no file that the owner of the program cannot read", "needs root")
plan()
