#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-record --debuginfod: what servers have of a stripped program is in the trace, and nobody waits for them while it runs.
import json
import os
import signal
import subprocess
import threading
import time

import debuginfod_server
from scratch_test import DUMP, RECORD, RELOG, check, output, path, plan, read, run, scratch, skip, write

write("one.c", """static __attribute__((noinline, noclone)) int hidden(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i ^ sum;
    return sum;
}
int main(int argc, char **argv) { (void)argv; return hidden(argc + 20) == 0; }
""")
output("gcc", "-O2", "-g", "-Wl,--build-id", "-o", "one.full", "one.c")
output("objcopy", "--only-keep-debug", "one.full", "away.debug")
output("objcopy", "--strip-all", "one.full", "one")
BUILD_ID = output("readelf", "-n", "one").split("Build ID: ")[1].split()[0]
COMMAND = ["/bin/sh", "-c", '"$0"; echo >"$1"', path("one"), path("ended")]
hangs, asked, too_early = threading.Event(), [], []


def find_debug_file(wanted):
    asked.append(wanted)
    if not os.path.exists(path("ended")):
        too_early.append(wanted)
    if hangs.is_set():
        hangs.wait_until_over()
    return read("away.debug") if wanted == f"/buildid/{BUILD_ID}/debuginfo" else None


over = threading.Event()
hangs.wait_until_over = over.wait
server = debuginfod_server.serve(find_debug_file)


def settings(cache, **more):
    kept = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return {**kept, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}/", "DEBUGINFOD_CACHE_PATH": path(cache),
            "DEBUGINFOD_TIMEOUT": "60", **more}


def record(name, *arguments, cache="cache", **more):
    if os.path.exists(path("ended")):
        os.unlink(path("ended"))
    return run(RECORD, "-q", "-f", "-o", name, "--debuginfod", *arguments, "--", *COMMAND, env=settings(cache, **more))


def names(trace, *arguments):
    return {row["function"] for row in map(json.loads, output(DUMP, "report", "--json", "--image", "one", *arguments,
                                                              trace).splitlines())}


def attached(trace):
    return [(one["kind"], one["id"]) for one in json.loads(output(DUMP, "info", "--json", trace))["attachments"]
            if one["id"] == BUILD_ID]


def lines(trace):
    rows = map(json.loads, output(DUMP, "report", "--by", "line", "--json", "--image", "one", trace).splitlines())
    return {os.path.basename(row["file"]) for row in rows if row.get("file")}


got = record("one.ptl")
if "libdebuginfod" in got.stderr:
    skip("debuginfod", "there is no client of it")
    plan()
    raise SystemExit(0)
check("the trace has the names that a server has", got.returncode == 0 and not got.stderr and "hidden" in names("one.ptl"), got,
      names("one.ptl"))
check("no server is asked before the command has ended", asked and not too_early, too_early)
check("each file is asked for once", len(asked) == len(set(asked)), asked)
check("symbols are attached, and no debug information", [kind for kind, _ in attached("one.ptl")] == [4], attached("one.ptl"))
got = run(DUMP, "info", "one.ptl")
check("info says what they are", "symbols, by build id" in got.stdout, got)
got = run(DUMP, "info", "--check", "one.ptl")
check("the trace is sound", got.returncode == 0, got)
output(RECORD, "-q", "-f", "-o", "without.ptl", "--", *COMMAND)
check("without the option it has not", "hidden" not in names("without.ptl"))

output(RELOG, "-q", "-f", "one.ptl", "--process", "one", "-o", "cut.ptl")
check("a cut has them", "hidden" in names("cut.ptl"))
output(RELOG, "-q", "-f", "cut.ptl", "without.ptl", "-o", "both.ptl")
check("they serve all images with this build id", "hidden" in names("both.ptl"))
output(RELOG, "-q", "-f", "one.ptl", "--redact", "text:hidden", "--redact", "users", "-o", "redacted.ptl")
redacted = names("redacted.ptl")
check("redaction keeps them, and changes what is asked for", "main" in redacted and "hidden" not in redacted, redacted)
output(RELOG, "-q", "-f", "one.ptl", "--redact", "all", "-o", "redacted.ptl")
shown = output(DUMP, "report", "--json", "redacted.ptl")
info = output(DUMP, "info", "--json", "redacted.ptl")
check("paths go with names kept", '"hidden"' in shown and BUILD_ID in info and scratch not in info and scratch not in shown, shown, info)

got = record("lines.ptl", "--embed", "debug")
check("debug information is attached where it is wanted", got.returncode == 0 and
      sorted(kind for kind, _ in attached("lines.ptl")) == [4, 5] and "one.c" in lines("lines.ptl"), got, attached("lines.ptl"))
check("else there are no lines", "one.c" not in lines("one.ptl"))

got = run(RELOG, "-q", "-f", "without.ptl", "--debuginfod", "-o", "later.ptl", env=settings("cache"))
check("ptl-relog adds them to a trace later", got.returncode == 0 and "hidden" in names("later.ptl"), got)

# ---- servers that do not answer ---------------------------------------------------------------------------------

hangs.set()
asked.clear()
os.unlink(path("ended"))
with subprocess.Popen([RECORD, "-q", "-f", "-o", "stopped.ptl", "--debuginfod", "--", *COMMAND], cwd=scratch,
                      env=settings("second"), stderr=subprocess.PIPE, text=True) as recorder:
    until = time.monotonic() + 60
    while not asked and time.monotonic() < until:
        time.sleep(0.01)
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=120)[1]
check("Ctrl-C ends the asking alone", recorder.returncode == 0 and not said and len(asked) == 1, recorder.returncode, said, asked)
got = run(DUMP, "info", "--check", "stopped.ptl")
check("the trace is whole", got.returncode == 0, got)
over.set()
server.shutdown()
server.server_close()
got = record("gone.ptl", cache="third")
check("a server that is gone is said", got.returncode == 0 and "debuginfod: a server gave no answer" in got.stderr, got)
for arguments, more, word in (((), {"DEBUGINFOD_URLS": ""}, "DEBUGINFOD_URLS"), (("--embed", "code"), {}, "--embed symbols"),
                              (("--source", "none"), {}, "--embed symbols")):
    got = record("x.ptl", *arguments, **more)
    check(f"{arguments or 'no server'}: refused, and said what to do", got.returncode == 2 and word in got.stderr and
          not os.path.exists(path("x.ptl")), got)
plan()
