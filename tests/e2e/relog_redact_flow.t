#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Redaction leaves the flow of real programs as it was: the hash of every thread's instructions, and what is missing.
import json
import os
import shutil
import subprocess
import sys

from scratch_test import DUMP, RECORD, RELOG, check, path, plan, run, skip, write

write("numbers.txt", "".join(f"{n} {n * n} /home/anna/project-{n % 7}/file.c\n" for n in range(400)))
write("hello.c", "#include <stdio.h>\nint main(void) { return puts(\"/home/anna/hello\") < 0; }\n")
write("loop.lua", "local s = 0 for i = 1, 3000 do s = s + i % 7 end print(s)\n")
os.makedirs(path("many/folders"))
for name in ("a.txt", "folders/b.txt"):
    write(f"many/{name}", "text\n" * 100)

COMMANDS = [
    ("ls", "ls", "-la", "/"),
    ("gzip", "gzip", "-9", "-k", "-c", "numbers.txt"),
    ("xz", "xz", "-k", "-c", "numbers.txt"),
    ("zstd", "zstd", "-q", "-c", "numbers.txt"),
    ("python3", "/usr/bin/python3", "-I", "-S", "-c", "import json; print(json.dumps({'path': '/home/anna/x'}))"),
    ("perl", "perl", "-ne", "print if /project-3/", "numbers.txt"),
    ("gcc", "gcc", "-O1", "-S", "-o", "-", "hello.c"),
    ("luajit", "luajit", "loop.lua"),
    ("awk", "awk", "{ n += $2 } END { print n }", "numbers.txt"),
    ("sed", "sed", "s/anna/robert/g", "numbers.txt"),
    ("grep", "grep", "-c", "project-[35]", "numbers.txt"),
    ("tar", "tar", "cf", "-", "many"),
    ("sort", "sort", "-k2", "numbers.txt"),
    ("find", "find", "many", "-name", "*.txt"),
    ("sh", "sh", "-c", "for i in 1 2 3; do echo /home/anna/$i; done | wc -l"),
    ("git", "git", "-c", "safe.directory=*", "--git-dir=repository", "log", "--stat", "-n", "5"),
    ("sqlite3", "sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300) "
     "select sum(i), '/home/anna' from n"),
]
CHECKED = {"ls", "sh", "perl"}
OPTIONAL = {"git", "sqlite3"}  # the others belong to Debian's base, or to the packages that tests need


def make_repository():
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    for name in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{name}_NAME": "Anna", f"GIT_{name}_EMAIL": "anna@example.org"})
    for command in (["init", "-q"], ["add", "numbers.txt", "hello.c"], ["commit", "-q", "-m", "All of it"]):
        run("git", "--git-dir=repository", "--work-tree=.", *command, env=environment)


def flow(name):
    """What ran and what is missing, by thread: everything but names."""
    got = run(DUMP, "stats", "--hash", "--json", name)
    if got.returncode:
        raise RuntimeError(got.stderr)
    stats = json.loads(got.stdout)
    for process in stats["processes"]:
        del process["name"]
    return stats


if shutil.which("git"):
    make_repository()
for program, *command in COMMANDS:
    if not shutil.which(command[0]):
        if program in OPTIONAL:
            skip(f"{program}: the flow stays", f"{program} is not installed")
        else:
            check(f"{program} is there", False)
        continue
    recorded = run(RECORD, "-q", "-o", f"{program}.ptl", "--", *command, text=False)
    redacted = run(RELOG, "-q", f"{program}.ptl", "--redact", "all", "--redact", "regex:/home/[a-z]+", "--redact",
                   "text:anna", *(["--check"] if program in CHECKED else []), "-o", f"{program}.r.ptl")
    if not check(f"{program}: is recorded and redacted", recorded.returncode == 0 and redacted.returncode == 0,
                 recorded.stderr, redacted.stderr):
        continue
    before, after = flow(f"{program}.ptl"), flow(f"{program}.r.ptl")
    check(f"{program}: the flow stays", before == after and before["instructions"] > 10000,
          {key: (before[key], after[key]) for key in before if before[key] != after[key]})
    os.unlink(path(f"{program}.ptl"))
    os.unlink(path(f"{program}.r.ptl"))

# Code whose data nobody tells from instructions stays as it is, and that is said.
write("data.c", 'const char where[] = "/home/anna/secret-project/data.c"; int main(void) { return where[0] != 47; }\n')
compiler = os.environ.get("CC", "gcc").split()
subprocess.run([*compiler, "-O1", "-g", "-Wl,-z,noseparate-code", "-o", path("data"), path("data.c")], check=True)
secret = b"secret-project"


def holds_secret(name):
    sys.path.insert(0, os.path.join(os.environ["PTL_TESTS"], "reader"))
    import ptl_reader
    with open(path(name), "rb") as file:
        trace = ptl_reader.Trace(file.read(), False)
    return any(secret in bytes(trace.blob(blob)) for blob in trace.blobs)


for embed in ("symbols", "debug"):
    run(RECORD, "-q", "-f", "-o", "data.ptl", "--embed", embed, "--", "./data")
    redacted = run(RELOG, "-f", "data.ptl", "--redact", "paths", "-o", "data.r.ptl")
    check(f"--embed {embed}: the flow stays", flow("data.ptl") == flow("data.r.ptl"), redacted.stderr)
    check(f"--embed {embed}: what stays among instructions is reported, what are data goes",
          holds_secret("data.ptl") and holds_secret("data.r.ptl") == (embed == "symbols") and
          ("may be instructions" in redacted.stderr) == (embed == "symbols"), redacted.stderr)

# What no engine could decode is counted: engines agree on all of a trace without code, because there is nothing.
run(RELOG, "-q", "-f", "data.ptl", "--drop-code", "-o", "code.ptl")
run(RELOG, "-q", "-f", "code.ptl", "--redact", "path:*", "-o", "none.ptl")
for name, some in (("data", False), ("none", True)):
    verified = json.loads(run(DUMP, "verify", "--json", f"{name}.ptl").stdout)
    stats = flow(f"{name}.ptl")
    check(f"verify of {name}.ptl counts what is not decoded", verified["equal"] and
          verified["pt_bytes"] == stats["pt_bytes"] and (verified["undecoded_bytes"] > 1000) == some and
          verified["undecoded_bytes"] == stats["pt_bytes"] - stats["decoded_bytes"] and
          ("no engine could decode" in run(DUMP, "verify", f"{name}.ptl").stdout) == some, verified, stats)
plan()
