#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Redaction: nothing that is redacted survives anywhere in the file, equal texts get equal tokens, and the flow stays.
import json
import os
import re
import shlex

from scratch_test import DUMP as dump, RECORD as record, RELOG as relog, check, output as run, plan, run as try_run, scratch, skip
from trace_content import survivors

programs = os.environ["PTL_PROGRAMS"]

SOURCE = r"""
#include <stdio.h>
static const char where[] = "/home/alice/secret-project/sources/wonderful.c";
const char *very_private_function(void);
__attribute__((noinline)) const char *very_private_function(void) { return where; }
int main(void) { return puts(very_private_function()) < 0; }
"""


def lines(*command):
    return [json.loads(line) for line in run(dump, *command).splitlines()]


def flow(path):
    """What ran where, without names."""
    text = run(dump, "flow", "--json", path)
    return re.sub(r'"(symbol|image)":"[^"]*"', "", text)


home = os.path.join(scratch, "home", "alice", "secret-project")
os.makedirs(home)
with open(os.path.join(home, "wonderful.c"), "w") as file:
    file.write(SOURCE)
run(*os.environ.get("CC", "gcc").split(), "-O1", "-g", "-Wl,-z,noseparate-code", "-o",
    "wonderful-tool.bin", "wonderful.c", cwd=home)
run(record, "-q", "-o", "secret.ptl", "--embed", "debug", "--", f"{home}/wonderful-tool.bin", "--password=hunter2-password",
    "/home/robert/letters.txt")

SECRETS = ["alice", "secret-project", "wonderful-tool", "hunter2-password", "robert", "letters",
           "wonderful.c", scratch.strip("/").split("/")[-1]]
before = survivors("secret.ptl", SECRETS)
check("everything secret is in the original", before == set(SECRETS), before)

run(relog, "-q", "secret.ptl", "--redact", "all", "-o", "all.ptl")
check("nothing secret is left", not survivors("all.ptl", SECRETS), survivors("all.ptl", SECRETS))
check("the flow is the same", flow("secret.ptl") == flow("all.ptl"))
check("the trace says that it is redacted", "redacted" in run(dump, "info", "all.ptl"))
check("and is whole", not run(dump, "info", "all.ptl").count("damage"))
machine = lines("info", "--json", "all.ptl")[0]["machine"]
check("the host has no name", re.fullmatch(r"x[a-z0-9]{10}", machine["hostname"]), machine)
image = next(item for item in lines("images", "--json", "all.ptl") if item["path"].endswith(".bin"))
check("structure and extensions stay", re.search(r"/x[a-z0-9]{10}/home(/x[a-z0-9]{10}){3}\.bin$", image["path"]),
      image["path"])
check("system libraries keep their names", any(item["path"].startswith("/usr/lib/") for item in
                                               lines("images", "--json", "all.ptl")))
check("command lines keep their number of words",
      len(shlex.split(lines("processes", "--json", "all.ptl")[0]["command_line"])) == 3)

# Consistent: the same key, the same tokens; another key, others.
for name, key in (("one", b"k" * 32), ("two", b"k" * 32), ("three", b"K" * 32)):
    with open(os.path.join(scratch, f"{name}.key"), "wb") as file:
        file.write(key)
    run(relog, "-q", "secret.ptl", "--redact", "all", "--redact-key", f"{name}.key", "-o", f"{name}.ptl")
one, two, three = ([item["path"] for item in lines("images", "--json", f"{name}.ptl")] for name in ("one", "two", "three"))
check("the same key gives the same tokens", one == two)
check("another key gives others", one != three)
program = lines("processes", "--json", "all.ptl")[0]["programs"][0]["path"]
check("a path is one path wherever it stands", program == image["path"], program, image["path"])

# One thing at a time.
run(relog, "-q", "secret.ptl", "--redact", "users", "-o", "users.ptl")
check("users: nothing but names of users", survivors("users.ptl", SECRETS) == set(SECRETS) - {"alice", "robert"},
      survivors("users.ptl", SECRETS))
with open(os.path.join(scratch, "rules"), "w") as file:
    file.write("# what is ours\ntext:very_private\n\n  regex:hunter[0-9]+\n")
run(relog, "-q", "secret.ptl", "--redact-file", "rules", "-o", "text.ptl")
check("text and regex: in symbols, too", survivors("secret.ptl", ["very_private", "hunter2"]) and
      not survivors("text.ptl", ["very_private", "hunter2"]), survivors("text.ptl", ["very_private", "hunter2"]))
check("and the flow is the same", flow("secret.ptl") == flow("text.ptl"))
run(relog, "-q", "secret.ptl", "--redact", "paths", "--redact", "keep:*/wonderful-tool*", "-o", "keep.ptl")
if " " in scratch:
    skip("keep: a path stays", "in texts without quotes, what is between blanks is taken for paths of their own")
else:
    check("keep: a path stays", f"{home}/wonderful-tool.bin" in
          [item["path"] for item in lines("images", "--json", "keep.ptl")], lines("images", "--json", "keep.ptl"))
run(relog, "-q", "secret.ptl", "--redact", "path:/usr/lib/*", "-o", "path.ptl")
check("path: a path of the system goes", not any(item["path"].startswith("/usr/lib/x") and "libc" in item["path"]
                                                 for item in lines("images", "--json", "path.ptl")))

# Strings of programs' own events, by field and by text.
run(record, "-q", "-o", "auth.ptl", "--provider", "*", "--source", "none", "--", f"{programs}/authentication")
run(relog, "-q", "auth.ptl", "--redact", "field:Example-Authentication/*.User", "--redact", "text:Gehälter", "-o", "a.ptl")
people = ["Zoë Müller", "Łukasz", "李小龙", "Gehälter"]
check("fields and texts of events", survivors("auth.ptl", people) == set(people) and not survivors("a.ptl", people),
      survivors("auth.ptl", people), survivors("a.ptl", people))
fields = [item["fields"] for item in lines("events", "--json", "a.ptl") if "User" in item.get("fields", {})]
check("the other fields stay", [item["User"][0] for item in fields] == ["x"] * 3 and fields[0]["Session"] == 4711
      and fields[1]["Attempt"] == 3 and fields[2]["Path"].endswith(".ods"), fields)

# With a cut: what is left out is not searched for, and nothing comes back.
run(relog, "-q", "secret.ptl", "--redact", "all", "--time", "..@1s", "-o", "cut.ptl")
check("redaction and cutting go together", not survivors("cut.ptl", SECRETS))


# ---- rules that meet nothing -------------------------------------------------------------------------------------------


def warned(*options, source="secret.ptl"):
    rules = [word for rule in options for word in ("--redact", rule)]
    got = try_run(relog, "-f", source, *rules, "-o", "warned.ptl")
    found = re.search(r"warning: (\d+ of \d+) rules of redaction matched nothing: (.*)\n", got.stderr)
    return got.returncode, found and found.groups()


# The command line of the run itself has each of them.
for rule in ("text:wonderfull-tool", "path:/nosuch/*", "keep:/nosuch/*", "regex:wonderfull?-tol", "field:Nosuch/*"):
    check(f"a rule that meets nothing is told: {rule}", warned(rule) == (0, ("1 of 1", f"'{rule}'")), warned(rule))
met = ["text:wonderful", "text:wonderful-tool", "regex:hunter[0-9]", "path:*/letters.txt", "path:*/letters*", "path:/usr/lib/*"]
check("those that meet something are not", warned(*met) == (0, None), warned(*met))
check("nor those of a field", warned("field:Example-Authentication/*.User", source="auth.ptl") == (0, None))
check("one within bytes that may be instructions is met", warned("text:sources/wonderful.c") == (0, None))
slips = [f"text:slip-{i}" for i in range(7)]
check("many are told together", warned("all", *slips, "text:robert") ==
      (0, ("7 of 8", ", ".join(f"'{slip}'" for slip in slips[:5]) + ", ...")), warned("all", *slips, "text:robert"))
split = try_run(relog, "-f", "secret.ptl", "--split", "64K", "--drop-code", "--redact", "text:robert", "--redact", "text:slip",
                "-o", "part.ptl")
check("of all parts at once", split.returncode == 0 and split.stderr.count("1 of 2 rules of redaction matched nothing: 'text:slip'") == 1,
      split)


def refuses(name, options, text):
    got = try_run(relog, "-q", "secret.ptl", "-o", "no.ptl", *options)
    check(f"refused: {name}", got.returncode == 2 and text in got.stderr and not os.path.exists(f"{scratch}/no.ptl"), got)


refuses("an unknown rule", ["--redact", "path"], "expected paths, users, host")
refuses("a broken pattern", ["--redact", "regex:("], "is no regular expression")
refuses("a pattern that matches nothing at all", ["--redact", "regex:x*"], "matches the empty string")
with open(os.path.join(scratch, "short.key"), "w") as file:
    file.write("short")
refuses("a short key", ["--redact", "all", "--redact-key", "short.key"], "at least 16 bytes")
with open(os.path.join(scratch, "bad.rules"), "w") as file:
    file.write("paths\nnonsense\n")
refuses("a bad line", ["--redact-file", "bad.rules"], "bad.rules:2")

plan()
