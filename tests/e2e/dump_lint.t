#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump lint: its checks on sound, incomplete and damaged traces, its limits, and its reports.
import glob
import json
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, RELOG, check, path, plan, read, run, skip, write

PROGRAM = os.path.join(os.environ["PTL_PROGRAMS"], "branches")
TRACES = os.environ.get("PTL_SHARED_TRACES", "")


def lint(*arguments):
    """Exit status and checks by name."""
    got = run(DUMP, "lint", "--json", *arguments)
    try:
        found = {one["check"]: one for one in json.loads(got.stdout)["checks"]}
    except ValueError:
        found = {}
    return got.returncode, found, got


def record():
    shutil.copy(PROGRAM, path("program"))
    got = run(RECORD, "-q", "-o", "sound.ptl", "--", path("program"))
    check("a program is recorded", got.returncode == 0, got)


def sound():
    status, found, got = lint("sound.ptl")
    check("a sound trace passes", status == 0 and all(one["passed"] for one in found.values()), got)
    check("all of it is decoded", found["decoded"]["value"] == 100 and found["decoded"]["part"] > 0, found)
    stats = json.loads(run(DUMP, "stats", "--json", "sound.ptl").stdout)
    check("as many instructions as stats counts", found["unresolved"]["whole"] == stats["instructions"], found, stats)
    outputs = {run(DUMP, "lint", "-j", threads, "sound.ptl").stdout for threads in ("1", "2", "5")}
    check("any number of threads gives the same", len(outputs) == 1, *outputs)


def missing_code():
    """Code that is not in the trace, and whose file has gone."""
    got = run(RELOG, "-q", "--drop-code", "-o", "bare.ptl", "sound.ptl")
    status, found, lint_got = lint("bare.ptl")
    check("code of files that are still there is no finding", got.returncode == 0 and status == 0, got, lint_got)
    os.unlink(path("program"))
    status, found, got = lint("bare.ptl")
    unknown = found["unknown-code"]
    check("missing code is a finding", status == 1 and not unknown["passed"] and not found["decoded"]["passed"] and
          not found["gaps.missing-code"]["passed"], got)
    check("the image that is missing is named", unknown["value"] == len(unknown["findings"]) and
          all("likely " + path("program") in one for one in unknown["findings"]), unknown)
    gaps = json.loads(run(DUMP, "stats", "--json", "bare.ptl").stdout)
    check("gaps are those of stats", found["gaps"]["value"] == gaps["gaps"] > 0, found["gaps"], gaps["gaps"])
    shares = 100.0 * gaps["decoded_bytes"] / gaps["pt_bytes"]
    check("the share is that of stats", abs(found["decoded"]["value"] - shares) < 1e-9, found["decoded"], shares)


def limits():
    status, found, got = lint("bare.ptl")
    share = found["decoded"]["value"]
    loose = ["--limit", "unknown-code=any", "--limit", "gaps.missing-code=any"]
    check("a limit that is not reached passes", lint(*loose, "--limit", f"decoded={int(share)}", "bare.ptl")[0] == 0, share)
    check("a limit that is passed fails", lint(*loose, "--limit", f"decoded={int(share) + 1}", "bare.ptl")[0] == 1, share)
    write("limits", "# of this project\nunknown-code = any\ngaps.missing-code = any # too\n\n decoded = 0 %\n")
    check("limits come from a file", lint("--rules", "limits", "bare.ptl")[0] == 0)
    check("the last limit counts", lint("--rules", "limits", "--limit", "decoded=100", "bare.ptl")[0] == 1)
    check("the last limit counts, file or not", lint("--limit", "decoded=100", "--rules", "limits", "bare.ptl")[0] == 0)
    for text, words in (("decoded=100.1", "PERCENT"), ("gaps=-1", "NUMBER"), ("gaps=1.5", "NUMBER"), ("holes=1", "no check"),
                        ("decoded", "PERCENT"), ("=1", "no check")):
        got = run(DUMP, "lint", "--limit", text, "bare.ptl")
        check(f"'{text}' is no limit", got.returncode == 2 and words in got.stderr, got)
    write("wrong", "decoded = 99\n# fine\ngaps == 3\n")
    got = run(DUMP, "lint", "--rules", "wrong", "bare.ptl")
    check("a file's mistake is reported with its line", got.returncode == 2 and "wrong:3: " in got.stderr, got)


def damage():
    data = bytearray(read("sound.ptl"))
    data[len(data) // 2] ^= 0xff
    write("damaged.ptl", data)
    status, found, got = lint("damaged.ptl")
    check("damage is a finding", status == 1 and (found["damage"]["value"] or found["broken-blobs"]["value"]), got)
    everything = [word for name in found for word in ("--limit", name + "=any")]
    check("damage can be allowed", lint(*everything, "damaged.ptl")[0] == 0)
    write("cut.ptl", read("sound.ptl")[:-100])
    status, found, got = lint("cut.ptl")
    check("a file without an end is a finding", status == 1 and found["incomplete"]["value"] == 1, got)
    write("none.ptl", b"no trace at all")
    check("what is no trace is trouble", run(DUMP, "lint", "none.ptl").returncode == 3)


def reports():
    got = run(DUMP, "lint", "--junit", "report.xml", "--gitlab", "report.json", "--github", "bare.ptl")
    _, found, _ = lint("bare.ptl")
    failed = {name for name, one in found.items() if not one["passed"]}
    suite = ElementTree.fromstring(read("report.xml")).find("testsuite")
    cases = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    check("JUnit has a test for each check", set(cases) == set(found) and int(suite.get("tests")) == len(found), cases)
    check("JUnit has the failures", {name for name, case in cases.items() if case is not None} == failed and
          int(suite.get("failures")) == len(failed), cases, failed)
    check("JUnit has the findings", path("program") in cases["unknown-code"].text, cases["unknown-code"].text)
    issues = json.loads(read("report.json"))
    check("GitLab has the checks that fail", {issue["check_name"] for issue in issues} == failed, issues)
    check("GitLab has what its format asks for", all(
        issue["location"]["path"] == "bare.ptl" and issue["location"]["lines"]["begin"] == 1 and issue["description"] and
        issue["severity"] in ("info", "minor", "major", "critical", "blocker") for issue in issues), issues)
    check("GitLab has fingerprints of their own", len({issue["fingerprint"] for issue in issues}) == len(issues), issues)
    lines = [line for line in got.stdout.splitlines() if line.startswith("::")]
    check("GitHub has a line for each check that fails", len(lines) == len(failed) and
          all(line.startswith("::error file=bare.ptl,title=ptl-dump lint ") and "%0A" in line for line in lines
              if "missing-code" in line), lines)
    got = run(DUMP, "lint", "--junit", "/nowhere/report.xml", "bare.ptl")
    check("a report that cannot be written is trouble", got.returncode == 4 and "/nowhere" in got.stderr, got)


def rules():
    """Rules that matched nothing stay in the trace, through further runs and redaction."""
    write("two.rules", 'on any id 60000 { drop; }\nimage process "nowhere" { path = "x"; base = 4096; size = 16; }\n'
          'on any id 1 { keep; }\n')
    got = run(RELOG, "--rules", "two.rules", "-o", "ruled.ptl", "sound.ptl")
    again = run(RELOG, "-q", "--redact", "regex:two.rules", "-o", "again.ptl", "ruled.ptl")
    status, found, lint_got = lint("ruled.ptl")
    lines = [line for line in got.stderr.splitlines() if ".rules:" in line]
    check("rules that matched nothing are a finding", got.returncode == 0 and status == 1 and
          found["unmatched-rules"]["value"] == len(lines) > 1 and
          all(any(one in line for line in lines) for one in found["unmatched-rules"]["findings"]), got, lint_got)
    status, found, lint_got = lint("again.ptl")
    check("and are after a redaction, which takes names out of them", again.returncode == 0 and
          found["unmatched-rules"]["value"] == len(lines) and
          not any("two.rules" in one for one in found["unmatched-rules"]["findings"]), again, lint_got)
    check("they can be allowed", lint("--limit", f"unmatched-rules={len(lines)}", "ruled.ptl")[0] == 0, lines)


def hardware():
    for folder in sorted(glob.glob(TRACES + "/*/trace.pt")) if TRACES else []:
        folder, name = os.path.dirname(folder), os.path.basename(os.path.dirname(folder)) + ".ptl"
        run(RELOG, "-q", "--pt", folder + "/trace.pt", "--memory", folder + "/memory.raw", "--memory-map",
            folder + "/memory.map", "-o", name)
        with open(folder + "/expected.txt", encoding="ascii") as file:
            want = dict(line.split() for line in file if line.strip())
        status, found, got = lint("--limit", "gaps.overflow=1", name)
        check(f"{name} passes", status == 0 and found["decoded"]["value"] == 100, got)
        check(f"{name} has every instruction", found["unresolved"]["whole"] == int(want["instructions"]), got)
    if not TRACES:
        skip("traces of real CPUs", "there are none")


record()
sound()
missing_code()
limits()
damage()
reports()
rules()
hardware()
plan()
