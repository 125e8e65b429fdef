#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/ci: its shell code is run as GitHub and GitLab would, with a test that passes and then fails; gh and curl only say what they got.
import os
import re
import textwrap

from scratch_test import BIN, check, path, plan, read, run, write

ROOT = os.path.dirname(os.environ["PTL_TESTS"])
PLACE = os.path.join(ROOT, "docs", "ci")
PROGRAM = """
static __attribute__((noinline)) int check(int number)
{
	if (number > 2)
		return 0;
	return number;
}

int main(int argc, char **argv)
{
	(void)argv;
	return check(argc) == 0;
}
"""


def blocks(name, head):
    """The shell code of a YAML file: what is indented behind lines that end so."""
    with open(os.path.join(PLACE, name), encoding="utf-8") as file:
        lines = file.read().splitlines()
    found = []
    for number, line in enumerate(lines):
        if re.fullmatch(r" *" + re.escape(head), line):
            depth = len(line) - len(line.lstrip())
            end = next((i for i in range(number + 1, len(lines)) if lines[i].strip() and
                        len(lines[i]) - len(lines[i].lstrip()) <= depth), len(lines))
            found.append(textwrap.dedent("\n".join(lines[number + 1:end])))
    return found


def shell(code, **variables):
    return run("/bin/sh", "-e", "-c", code, env={**ENVIRONMENT, **variables})


write("program.c", PROGRAM)
got = run(*(os.environ.get("CC") or "gcc").split(), "-g", "-O0", "-o", "program", "program.c")
check("a test is built", got.returncode == 0, got.stderr)
os.mkdir(path("tools"))
for tool in ("gh", "curl"):
    write("tools/" + tool, '#!/bin/sh\nprintf "%s\\n" "$@" >"$PTL_CALLED"\n')
    os.chmod(path("tools/" + tool), 0o755)
ENVIRONMENT = {**os.environ, "PATH": f"{path('tools')}:{BIN}:/usr/bin:/bin", "PTL_CALLED": path("called"),
               "PTL_RECORD_OPTIONS": "--embed debug --source software", "PTL_DIFF_OPTIONS": "--image program", "PTL_LINT_OPTIONS": "",
               "PTL_SCRIPTS": PLACE, "PTL_ACTION": PLACE}
for name in ("GITHUB_ACTIONS", "CI_MERGE_REQUEST_IID", "PTL_TOKEN"):
    ENVIRONMENT.pop(name, None)
GITHUB = {"GITHUB_ACTIONS": "true", "PTL_NAME": "hub", "GITHUB_STEP_SUMMARY": path("steps"), "GITHUB_OUTPUT": path("output"),
          "GITHUB_REPOSITORY": "some/where", "PTL_PULL_REQUEST": "12"}
GITLAB = {"PTL_NAME": "lab", "PTL_TOKEN": "secret", "CI_MERGE_REQUEST_IID": "34", "CI_API_V4_URL": "https://lab/api/v4",
          "CI_PROJECT_ID": "5"}

# ---- GitHub --------------------------------------------------------------------------------------------------------------

record, comment, result = blocks("action.yml", "run: |")
got = shell(record, PTL_COMMAND="./program", **GITHUB)
check("GitHub: a test that passes", got.returncode == 0 and read("output") == b"status=0\n" and b"passed" in read("steps") and
      os.path.getsize(path("ptl-hub/good.ptl")) > 0, got.stdout,
      got.stderr)
got = shell(record, PTL_COMMAND="./program 'a b' c", **GITHUB)
summary = read("ptl-hub/summary.md").decode()
check("GitHub: the same test fails", got.returncode == 0 and read("output").endswith(b"status=1\n") and
      b"**The test failed** with status 1" in read("steps"), got.stdout, got.stderr, summary)
check("the summary has the branch at which it parted", re.search(r"branch +check.*program.c:4", summary) and
      re.search(r"  B +check.*program.c:5", summary), summary)
check("what is to be kept is there", all(os.path.getsize(path("ptl-hub/" + name)) for name in (
    "trace.ptl", "good.ptl", "lint.xml", "codequality.json", "divergence.txt")))
got = shell(comment, **GITHUB)
check("it is commented on", got.returncode == 0 and read("called").decode().split() == [
    "pr", "comment", "12", "--repo", "some/where", "--body-file", "ptl-hub/summary.md"], got.stderr)
check("the job has the status of the test", shell(result, PTL_STATUS="1").returncode == 1 and
      shell(result, PTL_STATUS="0").returncode == 0)

# ---- GitLab --------------------------------------------------------------------------------------------------------------

[script] = blocks("gitlab.yml", "- |")
got = shell(script, PTL_COMMAND="./program a b", **GITLAB)
check("GitLab: a test that fails, and never passed", got.returncode == 1 and b"no trace of a good run" in read("ptl-lab/summary.md")
      and not os.path.exists(path("ptl-lab/good.ptl")), got.stdout, got.stderr)
called = read("called").decode()
check("it is commented on", "https://lab/api/v4/projects/5/merge_requests/34/notes" in called and
      "body@ptl-lab/summary.md" in called, called)
os.remove(path("called"))
got = shell(script, PTL_COMMAND="./program", **GITLAB)
check("GitLab: it passes, and nothing is commented on", got.returncode == 0 and not os.path.exists(path("called")), got.stderr)
got = shell(script, PTL_COMMAND="./program", PTL_NAME="lab", PTL_LINT_OPTIONS="--limit outside-images=0 --limit decoded=101")
check("a limit that is no limit is trouble", got.returncode != 0, got.stdout, got.stderr)
got = shell(script, PTL_COMMAND="./missing", PTL_NAME="lab")
check("a test that is not there has failed", got.returncode not in (0, None), got.stdout, got.stderr)

plan()
