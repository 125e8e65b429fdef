#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What the relogger makes of traces of real programs: the same flow, the names that this machine has, also where it has nothing, and
# nothing that is redacted. PTL_EVERY_PROGRAM=1 (make check-programs) takes all programs; else a few.
import json
import os
import re
import shutil

import debuginfod_server
from real_programs import COMMANDS, prepare
from scratch_test import BIN, DUMP, RECORD, RELOG, check, output, path, plan, run, scratch, skip, write
from trace_content import survivors

PROGRAMS = list(COMMANDS) if os.environ.get("PTL_EVERY_PROGRAM") else ["awk", "C++", "bash"]
FOLDER = path("away")
WHERE = os.path.join(FOLDER, "work")
# Long enough that no token, which is letters and digits by chance, has one in it.
SECRETS = ["annabelle", "project-", "numbers.txt", "numbers.json", "loop.lua", "hello.c", "safe.directory", "folders", os.path.basename(scratch)]
REDACTION = [word for rule in ("all", "text:project-", "text:memcpy", "regex:[Aa]nnabelle", "text:folders") for word in ("--redact", rule)]


# ---- a machine with nothing but PTL -------------------------------------------------------------------------


def make_away():
    """A root folder with the tools and their libraries; False where it cannot be entered."""
    files = {os.path.join(BIN, tool): f"/{tool}" for tool in ("ptl-dump", "ptl-relog")}
    client = "/usr/lib/x86_64-linux-gnu/libdebuginfod.so.1"
    for program in [*files, *([client] if os.path.exists(client) else [])]:
        files.update({name: name for name in [program, *output("ldd", program).split()] if name.startswith(("/usr/", "/lib"))})
    for source, place in files.items():
        os.makedirs(os.path.dirname(FOLDER + place), exist_ok=True)
        shutil.copy(source, FOLDER + place)
    for name in ("work", "tmp", "proc", "dev"):
        os.makedirs(os.path.join(FOLDER, name), exist_ok=True)
    return within("/ptl-dump", "--version").returncode == 0


def within(*command, **environment):
    script = 'mount --rbind /proc "$0/proc" && cd "$0" && PATH=/usr/sbin:/usr/bin && exec chroot . "$@"'
    return run("unshare", "-Urm", "sh", "-c", script, FOLDER, *command,
               env={key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")} | {"HOME": "/tmp"} | environment)


def sorted_rows(got):
    if got.returncode:
        raise RuntimeError(got.stderr)
    return sorted(got.stdout.splitlines())


def elsewhere(name, *arguments):
    shutil.copy(path(name), os.path.join(WHERE, "t.ptl"))
    return sorted_rows(within("/ptl-dump", "report", "--json", *arguments, "/work/t.ptl"))


def here(name, *arguments):
    return sorted_rows(run(DUMP, "report", "--json", *arguments, name))


def by_line(rows):
    """Lines of source; what has none is named by its file's path."""
    return [row for row in rows if '"line":' in row]


# ---- a server of debug files ---------------------------------------------------------------------------------


def find_debug_file(asked):
    found = re.fullmatch("/buildid/([0-9a-f]{3,})/debuginfo", asked)
    name = found and f"/usr/lib/debug/.build-id/{found[1][:2]}/{found[1][2:]}.debug"
    if found and found[1] == own_id():
        name = path("boxes.debug")
    if not name or not os.path.exists(name):
        return None
    with open(name, "rb") as file:
        return file.read()


def own_id():
    found = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", "boxes").stdout)
    return found and found[1]


# ---- checks ----------------------------------------------------------------------------------------------------


def flow(name):
    """Every instruction of each thread, and what is missing."""
    stats = json.loads(output(DUMP, "stats", "--hash", "--json", name))
    return sorted((process["pid"], thread["tid"], thread["ip_sha256"], thread["instructions"], thread["gaps"])
                  for process in stats["processes"] for thread in process["threads"])


def difference(left, right):
    return [f"{side}: {sorted(set(one) - set(other))[:3]}" for side, one, other in (("left", left, right), ("right", right, left))]


def relog(*arguments):
    got = run(RELOG, "-q", "-f", *arguments)
    if got.returncode or got.stderr:
        check(f"ptl-relog {' '.join(arguments)}", False, got)


class Judge:
    """Holds traces that were made of one against it."""

    def __init__(self, program, name):
        self.program, self.flow, self.names = program, flow(name), here(name, *DEBUG)
        self.lines = by_line(here(name, "--by", "line", *DEBUG))

    def same(self, what, name, lines=False):
        # A difference in one is a difference in what was made of it: one line for each thing made.
        got = elsewhere(name) if AWAY else here(name)
        sound = run(DUMP, "info", "--check", name)
        check(f"{self.program}: {what}: flow and names are the same", flow(name) == self.flow and got == self.names and sound.returncode == 0,
              flow(name) == self.flow, *difference(self.names, got), sound)
        if lines:
            got = by_line(elsewhere(name, "--by", "line") if AWAY else here(name, "--by", "line"))
            check(f"{self.program}: {what}: lines are the same", got == self.lines, *difference(self.lines, got))


def check_names(program):
    judge = Judge(program, "code.ptl")
    for what in ("symbols", "debug"):
        relog("code.ptl", "--embed", what, *DEBUG, "-o", f"{what}.ptl")
        judge.same(f"--embed {what}", f"{what}.ptl", what == "debug")
    got = run(DUMP, "diff", *DEBUG, "code.ptl", "debug.ptl")
    check(f"{program}: diff says that they are equal", got.returncode == 0, got)
    got = run(DUMP, "verify", "--json", "debug.ptl")
    check(f"{program}: decoders agree", got.returncode == 0 and json.loads(got.stdout)["equal"], got)
    return judge


def check_rewritten(judge):
    relog("debug.ptl", "--recompress", "1", "-o", "o.ptl")
    judge.same("--recompress", "o.ptl", True)
    relog("debug.ptl", "--detach-code", path("store"), "-o", "d.ptl")
    relog("d.ptl", "--attach-code", path("store"), "-o", "o.ptl")
    judge.same("code that was detached and attached", "o.ptl", True)
    run(RELOG, "-q", "-f", "symbols.ptl", "--split", "200K", "-o", "part.ptl")
    parts = sorted(name for name in os.listdir(scratch) if re.fullmatch(r"part\.\d+\.ptl", name))
    relog(*reversed(parts), "-o", "o.ptl")
    judge.same("parts that are merged", "o.ptl")
    for name in parts:
        os.unlink(path(name))
    clock = json.loads(output(DUMP, "info", "--json", "debug.ptl"))["clock"]
    middle = (clock["end_time"] - clock["start_time"]) // 2
    relog("debug.ptl", "--time", f"..{middle}ns", "-o", "first.ptl")
    relog("debug.ptl", "--time", f"{middle - 1000}ns..", "-o", "second.ptl")
    relog("second.ptl", "first.ptl", "-o", "o.ptl")
    judge.same("cuts that overlap and are merged", "o.ptl", True)
    relog("code.ptl", "symbols.ptl", "-o", "o.ptl")
    judge.same("merged with the one that lacks names", "o.ptl")
    relog("debug.ptl", "--rules", "rules", "-o", "o.ptl")
    check(f"{judge.program}: rules for every event about processes and images: the flow is the same", flow("o.ptl") == judge.flow and
          '"/opt/moved/' in output(DUMP, "images", "--json", "o.ptl"))


def check_redacted(program):
    for name in ("dynamic.ptl", "debug.ptl"):
        got = run(RELOG, "-f", name, *REDACTION, "--check", "-o", "redacted.ptl")
        check(f"{program}: {name} redacted: the flow stays", got.returncode == 0 and flow(name) == flow("redacted.ptl"), got)
        had, left = survivors(name, SECRETS), survivors("redacted.ptl", [*SECRETS, "memcpy"])
        check(f"{program}: {name} redacted: nothing of it is left", not left, had, left, got.stderr)


def check_servers(program):
    """A trace with dynamic symbols, on a machine that has none of the files."""
    rows = Judge(program, "dynamic.ptl")
    shutil.copy(path("dynamic.ptl"), os.path.join(WHERE, "t.ptl"))
    got = within("/ptl-relog", "-q", "-f", "/work/t.ptl", "--embed", "debug", "--debuginfod", "-o", "/work/o.ptl",
                 DEBUGINFOD_URLS=f"http://127.0.0.1:{server.server_port}/", DEBUGINFOD_CACHE_PATH="/tmp/cache")
    if "libdebuginfod" in got.stderr:
        skip(f"{program}: names of a server", "there is no client of it")
        return
    if not check(f"{program}: a server is asked", got.returncode == 0 and not got.stderr, got):
        return
    shutil.copy(os.path.join(WHERE, "o.ptl"), path("o.ptl"))
    rows.same("names of a server", "o.ptl", True)


server = debuginfod_server.serve(find_debug_file)
missing = prepare(PROGRAMS)
write("rules", """on image { set event.level = 4; }
on process { add u32 Mark = 7; set event.version = 77; }
rename "/*" to "/opt/moved/$1";
""")
DEBUG = ["--debug-path", scratch] if "C++" in PROGRAMS else []
AWAY = make_away()
if not AWAY:
    skip("names on a machine that has no files", "no root folder of one's own may be entered here")
for one in PROGRAMS:
    if one in missing:
        skip(f"{one}: flow and names are the same", missing[one])
        continue
    status = [run(RECORD, "-q", "-f", "--embed", embed, "-o", name, "--", *COMMANDS[one], text=False).returncode
              for embed, name in (("code", "code.ptl"), ("symbols", "dynamic.ptl"))]
    if check(f"{one}: is recorded", status == [0, 0], status):
        check_rewritten(check_names(one))
        check_redacted(one)
        if AWAY:
            check_servers(one)
server.shutdown()
plan()
