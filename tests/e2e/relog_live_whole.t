#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog --live and --follow with windows of time, redaction and --embed: what becomes of a session is what becomes of its files.
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from growing_trace import count, differing, end, wait_until
from record_test import DUMP, expect, expect_equal, lines, path, run, wait_for
from scratch_test import RECORD, RELOG
from session_test import NAME, ask, query, run_sessions, stop_all, write_events
from trace_content import survivors

SCRIPT = "exec <go; while read word; do $word; done"
SERIES = ("--mode=newfile", "--part-time=300ms", "--flush-interval=20ms")
BLOB, INDEX = 4, 5  # kinds of buffers
SECRET = "0123456789abcdef0123"
STARTED = []


def relog(session, *options):
    """Writes a session again; returns when it reads that."""
    if os.path.exists(path("live.ptl")):
        os.unlink(path("live.ptl"))
    process = subprocess.Popen([RELOG, "-f", "--live", session, "-o", path("live.ptl"), *options], cwd=path(""), stderr=subprocess.PIPE)
    STARTED.append(process)
    wait_for(lambda: reads(process), options, process)
    return process


def reads(process):
    names = []
    for entry in os.listdir("/proc/%d/fd" % process.pid):
        try:
            names.append(os.path.basename(os.readlink("/proc/%d/fd/%s" % (process.pid, entry))))
        except FileNotFoundError:
            pass
    return any(name.startswith("session") and name.endswith(".ptl") for name in names)


def start_command(*options):
    """A session of a shell that runs what it is told; which has the terminal's descriptors."""
    os.mkfifo(path("go"))
    done = run(RECORD, "start", "session", "-f", "-q", "-o", path("session.ptl"), "--source=software", *options, "--", "sh", "-c", SCRIPT,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, capture_output=False)
    expect_equal(done.returncode, 0)


def whole(source, *options):
    done = run(RELOG, "-f", source, "-o", "whole.ptl", *options)
    expect_equal(done.returncode, 0, done.stderr)
    return done.stderr


def kept(file, *options):
    """Events of a provider, as they are in both."""
    done = run(DUMP, "events", "--json", *options, file)
    expect(done.returncode in (0, 3), done.stderr)
    return done.stdout


def packets():
    """a session with Intel PT: what needs all of its file is made of it when the session has completed it"""
    with open(path("key"), "w", encoding="ascii") as file:
        file.write(SECRET)
    start_command()
    choices = (("--time", "100ms..1.5s"), ("--last", "1ms"), ("--time", "-1s..-1ms", "--process", "true"), ("--redact", "all", "--redact-key", "key"),
               ("--redact", "text:Number", "--redact", "threads", "--redact-key", "key"), ("--attach-code", path("store")), ("--tid", "1"))
    os.mkdir(path("store"))
    with open(path("go"), "wb", buffering=0) as go:
        go.write(b"/bin/true\n")
        runs = []
        for number, options in enumerate(choices):
            process = subprocess.Popen([RELOG, "-f", "--live", "session", "-o", "live%d.ptl" % number, *options], cwd=path(""), stderr=subprocess.PIPE)
            STARTED.append(process)
            runs.append(process)
            wait_for(lambda process=process: reads(process), options, process)
        for word in (b"/bin/echo a\n", b"/bin/true\n"):
            time.sleep(0.4)
            go.write(word)
        expect(not [number for number in range(len(choices)) if os.path.exists(path("live%d.ptl" % number))])
    for number, (process, options) in enumerate(zip(runs, choices)):
        status, err = end(process)
        if options[0] == "--tid":
            tid = run(RELOG, "-f", "session.ptl", "-o", "whole.ptl", *options)
            expect_equal((status, tid.returncode), (2, 2), err)
            expect("there is no thread 1 in the trace" in err, err)
            continue
        said = whole("session.ptl", *options)
        found = differing("live%d.ptl" % number, "whole.ptl")
        expect(status == 0 and not found, options, status, err, found)
        expect("needs the whole of a file" in err and all(line in err for line in said.splitlines()), options, err, said)


def window(*options):
    """False: the machine is so busy that the window was over before events came."""
    ask("start", "session", "-f", "-o", path("session.ptl"), "-p", NAME, "--flush-interval=50ms")
    process = relog("session", *options)
    for _ in range(6):
        write_events("count=5")
        time.sleep(0.2)
    try:
        came = wait_until(lambda: count("live.ptl") > 3)
    except TimeoutError:
        came = False
    running = process.poll() is None
    ask("stop", "session")
    status, err = end(process)
    said = whole("session.ptl", *options)
    found = differing("live.ptl", "whole.ptl")
    expect(status == 0 and err == said == "" and not found, options, status, err, said, found)
    if not came and count("whole.ptl") <= 3:
        return False
    expect(came and running, options)
    expect(0 < len(kept("live.ptl", "-p", NAME).splitlines()) < 30 or options[1] == "1ms..", options, kept("live.ptl", "-p", NAME))
    return True


def windows():
    """a session without Intel PT: a window is cut as it comes"""
    for options in (("--time", "1ms.."), ("--time", "400ms..900ms"), ("--time", "..700ms"), ("--time", "500ms..", "--drop-pt", "--drop-code"),
                    ("--time", "300ms..", "--process", "provider_writer")):
        expect(any(window(*options) for _ in range(5)), options)


def without_packets():
    """of a session with Intel PT whose events alone are kept, a window is cut as it comes"""
    start_command("--flush-interval=50ms")
    options = ("--time", "200ms..5000s", "--drop-pt")
    with open(path("go"), "wb", buffering=0) as go:
        process = relog("session", *options)
        for _ in range(4):
            go.write(b"/bin/true\n")
            time.sleep(0.3)
        expect(wait_until(lambda: count("live.ptl") > 3) and process.poll() is None)
    status, err = end(process)
    said = whole("session.ptl", *options)
    expect(status == 0 and not differing("live.ptl", "whole.ptl"), status, err, said, differing("live.ptl", "whole.ptl"))


def series():
    """each file of a series becomes what it becomes afterwards, when the session has completed it; behind a window nothing is written"""
    with open(path("key"), "w", encoding="ascii") as file:
        file.write(SECRET)
    for options in (("--redact", "all", "--redact", "text:provider", "--redact-key", "key"), ("--time", "@0..2s")):
        for name in os.listdir(path("")):
            if name.startswith(("session.", "live")):
                os.unlink(path(name))
        ask("start", "session", "-p", NAME, "-o", path("session.ptl"), *SERIES)
        process = relog("session", *options)
        for _ in range(8):
            write_events("count=5")
            time.sleep(0.3)
        if options[0] == "--redact":
            expect(wait_until(lambda: os.path.exists(path("live.2.ptl"))) and process.poll() is None, "before the session is over")
        ask("stop", "session")
        status, err = end(process)
        files = sorted(name for name in os.listdir(path("")) if name.startswith("session.0"))
        outputs = sorted((name for name in os.listdir(path("")) if name.startswith("live")), key=lambda name: (len(name), name))
        expect(status == 0 and 1 < len(outputs) <= len(files), status, err, files, outputs)
        expect((len(outputs) == len(files)) == (options[0] == "--redact"), options, files, outputs)
        for output, file in zip(outputs, files):
            whole(file, *options)
            found = differing(output, "whole.ptl")
            expect(not found, options, output, file, found)
        if options[0] == "--redact":
            expect(all("provider" not in kept(output, "-p", "MSNT_*", "-e", "*") for output in outputs))


def interrupted():
    """an interruption takes what is there, also of what is made of a whole file"""
    ask("start", "session", "-f", "-o", path("session.ptl"), "-p", NAME)
    process = relog("session", "--redact", "commands")
    write_events("count=7")
    wait_for(lambda: query("session")["events"] == 7, "all events")
    ask("flush", "session")
    process.send_signal(signal.SIGINT)
    status, err = end(process)
    expect(status == 0 and "interrupted; what is there is taken" in err, status, err)
    expect_equal(len(kept("live.ptl", "-p", NAME, "-e", "Number").splitlines()), 7)
    ask("stop", "session")


def refused():
    """what reads its input several times says what to do instead"""
    done = run(RELOG, "--live", "session", "-o", "live.ptl", "--split", "1M")
    expect(done.returncode == 2 and "--split reads its input several times" in done.stderr and "split the output" in done.stderr, done.stderr)


def make_program():
    """one, which is stripped, and one.full; both have a text, and the latter a name, that may be redacted."""
    with open(path("one.c"), "w", encoding="ascii") as file:
        file.write("static __attribute__((noinline, noclone)) int hidden(int n) { int sum = n; while (n--) sum += sum ^ n; return sum; }\n"
                   "const char text[] = \"a hidden text\";\n"
                   "__attribute__((noinline, noclone)) int companion(int n) { return hidden(n) + 1; }\n"
                   "int main(int argc, char **argv) { return companion(argc + text[argc]) == 7; }\n")
    for words in (("gcc", "-O1", "-g", "-Wl,--build-id", "-o", "one.full", "one.c"), ("mkdir", "symbols"),
                  ("objcopy", "--only-keep-debug", "one.full", "symbols/one.debug"), ("objcopy", "--strip-all", "one.full", "one")):
        expect_equal(run(*words).returncode, 0, words)


def embedded():
    """symbols that a trace lacks are found when the image is there: later its files may be gone"""
    make_program()
    for what in "symbols", "debug":
        start_command("--flush-interval=50ms")
        options = ("--embed", what, "--debug-path", path("symbols"))
        with open(path("go"), "wb", buffering=0) as go:
            process = relog("session", *options)
            go.write(b"./one\n")
            go.write(b"/bin/true\n")
            go.write(b"/bin/sleep 1.5\n")
            wait_for(lambda: "hidden" in run(DUMP, "flow", "--image", "one", "live.ptl").stdout, "the name in the output", process)
            os.rename(path("symbols"), path("away"))
        status, err = end(process)
        expect("hidden" in run(DUMP, "flow", "--image", "one", "live.ptl").stdout, "at the end", what, status, err, run(DUMP, "flow", "--image", "one", "live.ptl"))
        os.rename(path("away"), path("symbols"))
        said = whole("session.ptl", *options)
        found = differing("live.ptl", "whole.ptl")
        expect(status == 0 and not found and err == said, what, status, err, said, found)
        os.unlink(path("go"))


def redacted():
    """rules that say what goes by itself are applied as the trace comes: the same as to the whole, code and names included"""
    make_program()
    with open(path("key"), "w", encoding="ascii") as file:
        file.write(SECRET)
    for rules in (("text:hidden", "host", "commands"), ("regex:[Hh]id+en|tr.e", "field:*/*.ThreadName"), ("field:*.CommandLine", "keep:/usr/*", "text:one"), ("host",)):
        start_command("--flush-interval=50ms", "--embed=debug")
        options = [word for rule in rules for word in ("--redact", rule)] + ["--redact-key", path("key")]
        with open(path("go"), "wb", buffering=0) as go:
            process = relog("session", *options)
            go.write(b"./one.full hidden\n")
            go.write(b"/bin/true hidden\n")
            go.write(b"/bin/sleep 1\n")
            expect(wait_until(lambda: count("live.ptl") > 10) and process.poll() is None, rules, process.poll(), count("live.ptl"), run(DUMP, "info", "live.ptl"))
            with open(path("live.ptl"), "rb") as file:
                torso = file.read()
        status, err = end(process)
        said = whole("session.ptl", *options)
        found = differing("live.ptl", "whole.ptl")
        expect(status == 0 and not found, rules, status, err, found)
        expect_equal(sorted(err.splitlines()), sorted(said.splitlines()), rules)
        if "text:hidden" in rules:
            for name in "live.ptl", "torso.ptl":
                with open(path("torso.ptl"), "wb") as file:
                    file.write(torso)
                for view in ("events", "--json"), ("images",), ("report",), ("info", "--json"):
                    done = run(DUMP, *view, name)
                    expect(done.returncode in (0, 3) and "hidden" not in done.stdout, name, view, done)
                expect(not re.search(rf"\b{re.escape(os.uname().nodename)}\b", run(DUMP, "info", "--json", name).stdout), name)
        os.unlink(path("go"))


def late_blobs():
    """code and names that come after the events which name them are left out if they had to be changed, which is said"""
    make_program()
    done = run(RECORD, "-q", "-f", "-o", "session.ptl", "--source=software", "--", path("one.full"))
    expect_equal(done.returncode, 0, done.stderr)
    with open(path("session.ptl"), "rb") as file:
        data = file.read()
    pieces = list(buffers(data))
    first = data[:64] + b"".join(piece for kind, piece in pieces if kind not in (BLOB, INDEX))
    rest = b"".join(piece for kind, piece in pieces if kind == BLOB)
    for order in "first", "late":
        if os.path.exists(path("live.ptl")):
            os.unlink(path("live.ptl"))
        with open(path("grows.ptl"), "wb", buffering=0) as file:
            process = subprocess.Popen([RELOG, "-f", "--follow", "grows.ptl", "-o", "live.ptl", "--redact", "text:hidden"], cwd=path(""),
                                       stderr=subprocess.PIPE)
            STARTED.append(process)
            file.write(first)
            if order == "late":
                wait_for(lambda: count("live.ptl") > 3, "events", process)
            file.write(rest)
        status, err = end(process)
        expect_equal(status, 0, err)
        # Left out, if it could not get another name any more.
        expect_equal("with text that was to go came later than what names it: it is left out" in err, order == "late", err)
        expect_equal(survivors("live.ptl", ["hidden"]), set(), order)
        expect_equal("companion" in survivors("live.ptl", ["companion"]), order == "first")


def buffers(data):
    """Kind and bytes of each buffer: docs/format.md, section 3."""
    at = 64
    while data[at:at + 4] == b"PTLB":
        kind, = struct.unpack_from("<I", data, at + 8)
        side, _, stored = struct.unpack_from("<3I", data, at + 32)
        yield kind, data[at:at + 104 + side + stored]
        at += 104 + side + stored


def clean_up():
    for process in STARTED:
        process.kill()
        process.wait()
    STARTED.clear()
    stop_all()


sys.exit(run_sessions([packets, windows, without_packets, series, interrupted, refused, embedded, redacted, late_blobs], clean_up))
