#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What `make lint` says of messages of commits and of functions that another folder defines.
import os
import shutil
import subprocess
import sys

from scratch_test import check, path, plan, run, scratch, skip

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
PLACE = path("sources")
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": scratch, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


def git(*arguments):
    return run("git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *arguments, cwd=PLACE, env=ENVIRONMENT)


def lint(script, *arguments):
    return run(os.path.join(PLACE, "tests", script), *arguments, cwd=PLACE, env=ENVIRONMENT)


def commit(subject, body=""):
    return git("commit", "-q", "--allow-empty", "-m", subject, *(["-m", body] if body else []))


def replace(name, old, new):
    with open(os.path.join(PLACE, name), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(PLACE, name), "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))
    return old in text


if not shutil.which("git"):
    skip("messages of commits and declarations", "there is no git")
    plan()
    sys.exit(0)

os.makedirs(PLACE)
for name in ("subjects", "layout"):
    os.makedirs(os.path.join(PLACE, "tests"), exist_ok=True)
    shutil.copy(os.path.join(ROOT, "tests", name), os.path.join(PLACE, "tests", name))

# ---- messages of commits -------------------------------------------------------------------------------------------------

done = lint("subjects")
check("sources without history have no messages", done.returncode == 0 and not done.stderr, done.stderr)
made = [git("init", "-q"), commit("x" * 100), git("add", "-A"), commit("lint comes", "")]
check("a repository is made", all(step.returncode == 0 for step in made), *(step.stderr for step in made))
done = lint("subjects")
check("what came before the check is not checked, nor is the check", done.returncode == 0 and not done.stderr, done.stderr)
commit("ü" * 72, "For a reason.")
done = lint("subjects")
check("72 characters and a body are right", done.returncode == 0 and not done.stderr, done.stderr)
commit("y" * 73, "For a reason.")
done = lint("subjects")
check("73 characters are too many", done.returncode == 1 and "a subject of 73 characters" in done.stderr and done.stderr.count("lint: commit ") == 1,
      done.stderr)
git("tag", "v9.9")
done = lint("subjects")
check("what is released is not checked again", done.returncode == 0 and not done.stderr, done.stderr)
commit("no reason", "Signed-off-by: Test <test@example.org>")
done = lint("subjects")
check("a commit has a body", done.returncode == 1 and "no body that says why: no reason" in done.stderr, done.stderr)
subprocess.run(["git", "clone", "-q", "--depth=1", "file://" + PLACE, path("shallow")], check=True, env=ENVIRONMENT)
done = run(path("shallow/tests/subjects"), env=ENVIRONMENT)
check("a shallow clone is checked as far as it goes", done.returncode == 0 and not done.stderr, done.stderr)

# ---- functions that another folder defines --------------------------------------------------------------------------------

folders = [name for name in os.listdir(ROOT) if os.path.isfile(os.path.join(ROOT, "docs/ARCHITECTURE.md"))
           and name in ("analysis", "bindings", "common", "docs", "dump", "elf", "flow", "format", "import", "perf", "provider", "query",
                        "record", "relog")]
for name in folders:
    subprocess.run(["cp", "-rL", "--no-preserve=mode", os.path.join(ROOT, name), os.path.join(PLACE, name)], check=True)
git("add", "-A")
done = lint("layout")
check("the sources are as the layout has them", done.returncode == 0 and not done.stderr, done.stderr)
moved = replace("flow/engine/engine.h", "\n#endif\n", "\nint flow_engine_find(const char *name);\n\n#endif\n")
moved = moved and replace("common/text/utf8.h", "\n#endif\n", "\nint common_utf8_of_nobody(const char *text,\n\t\t\t   int (*take)(int one));\n\n#endif\n")
done = lint("layout")
check("a header declares what its own folder defines", moved and done.returncode == 1
      and "flow/engine/engine.h: declares flow_engine_find, which flow/view defines" in done.stderr, done.stderr)
check("what nothing defines is not declared", "common/text/utf8.h: declares common_utf8_of_nobody, and nothing defines that function" in done.stderr
      and done.stderr.count("\n") == 2, done.stderr)
plan()
