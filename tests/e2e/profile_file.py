# SPDX-License-Identifier: BSD-2-Clause
# Profiles of functions as shown by their target programs: go tool pprof, callgrind_annotate, speedscope.
import os
import re

from scratch_test import check, path, run


def pprof(*arguments):
    """Runs Debian's Go with folders of the test."""
    environment = {**os.environ, "HOME": path(""), "PPROF_TMPDIR": path("pprof"), "GOCACHE": path("gocache"), "LC_ALL": "C.UTF-8"}
    got = run("go", "tool", "pprof", *arguments, env=environment)
    check("go tool pprof %s" % " ".join(arguments), got.returncode == 0, got)
    return got.stdout


def top(*arguments):
    """Returns {function: (flat, cumulative)}."""
    text = pprof("-top", "-nodecount=100000", "-nodefraction=0", "-unit=ns" if "-sample_index=time" in arguments else "-unit=count",
                 *arguments)
    found = {}
    for line in text.split("cum%\n", 1)[1].splitlines():
        numbers = line.split(None, 5)
        found[numbers[5]] = tuple(int(re.match(r"\d+", number).group(0)) for number in (numbers[0], numbers[3]))
    return found


def annotated(*arguments):
    """Returns {function: (instructions, nanoseconds)}, and the sums."""
    # Perl prints a warning for a missing locale.
    got = run("callgrind_annotate", "--auto=no", "--threshold=100", *arguments, env={**os.environ, "LC_ALL": "C"})
    check("callgrind_annotate %s" % " ".join(arguments), got.returncode == 0 and not got.stderr, got)
    number = r"([\d,]+|\.)(?: \([^)]*\))?"
    found, sums = {}, None
    for line in got.stdout.splitlines():
        match = re.match(rf" *{number} +{number} +(.*)", line)
        if not match:
            continue
        values = tuple(int(value.replace(",", "").replace(".", "0")) for value in match.group(1, 2))
        if match.group(3) == "PROGRAM TOTALS":
            sums = values
        else:
            name = re.match(r"[^:]*:(.*?)(?: \[[^]]*\])?$", match.group(3)).group(1)
            found[name] = tuple(map(sum, zip(found.get(name, (0, 0)), values)))
    return found, sums


def sums(document):
    """Returns {function: self}, {function: total}."""
    own, total = {}, {}
    names = [frame["name"] for frame in document["shared"]["frames"]]
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            if stack:
                own[names[stack[-1]]] = own.get(names[stack[-1]], 0) + weight
            for name in {names[frame] for frame in stack}:
                total[name] = total.get(name, 0) + weight
    return own, total
