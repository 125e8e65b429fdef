#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-dump ctf: babeltrace2 reads every event, with the fields that `events --json` shows.
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from scratch_test import DUMP, RECORD, check, path, plan, read, run, skip

PROGRAMS = os.environ["PTL_PROGRAMS"]
NONE = 0xffffffff
TOKEN = re.compile(r'\s*(?:([{}\[\],=])|"((?:[^"\\]|\\.)*)"|([^\s{}\[\],=]+))')
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


class Line:
    """A line of babeltrace2: values as { name = value, ... } and [ [0] = value, ... ]."""

    def __init__(self, text):
        self.tokens = [(mark, None if string is None else re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), string), word)
                       for mark, string, word in ((m[1], m[2], m[3]) for m in TOKEN.finditer(text))]
        self.at = 0

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def is_next(self, mark):
        return self.at < len(self.tokens) and self.tokens[self.at][0] == mark

    def value(self):
        mark, string, word = self.next()
        if mark == "{":
            return self.members("}", {})
        if mark == "[":
            return self.members("]", [])
        if string is not None:
            return string
        return int(word, 16) if word.startswith("0x") else float(word) if re.search(r"[.einE]", word) else int(word)

    def members(self, end, into):
        while not self.is_next(end):
            if end == "}":
                name = self.next()[2]
            else:
                self.at += 3  # [0]
            assert self.next()[0] == "="
            value = self.value()
            if end == "}":
                into[name] = value
            else:
                into.append(value)
            if self.is_next(","):
                self.next()
        self.next()
        return into


def events_of(folder):
    """(time, name, context, fields) of each event, as babeltrace2 shows them."""
    # Numbers with a comma would be two.
    got = run("babeltrace2", "--clock-cycles", folder, env={**os.environ, "LC_ALL": "C"})
    check("babeltrace2 reads it", got.returncode == 0 and not got.stderr, got)
    found = []
    for line in got.stdout.splitlines():
        match = re.match(r"\[(\d+)\] \(\S+\) (.*?): (\{ cpu = .*)$", line)
        rest = Line(match[3])
        context = rest.value()
        rest.next()
        found.append((int(match[1]), match[2], context, rest.value()))
    return found


def like_json(value):
    """Bytes as hexadecimal text."""
    if isinstance(value, dict) and set(value) == {"length", "data"}:
        return bytes(value["data"]).hex()
    if isinstance(value, dict):
        return {name: like_json(member) for name, member in value.items() if not name.endswith("_length")}
    return [like_json(element) for element in value] if isinstance(value, list) else value


def plain(value):
    """What JSON shows, as numbers."""
    if isinstance(value, dict) and set(value) <= {"value", "name"} and "value" in value:
        return plain(value["value"])
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, str) and re.fullmatch("0x[0-9a-f]+", value):
        return int(value, 16)
    return int(value) if isinstance(value, bool) else value


def same(trace, folder, *options):
    shutil.rmtree(path(folder), ignore_errors=True)
    got = run(DUMP, "ctf", "-q", "-o", folder, *options, trace)
    check(f"{trace} {' '.join(options)}: is written", got.returncode == 0 and not got.stderr, got)
    found = events_of(folder)
    start = json.loads(run(DUMP, "info", "--json", trace).stdout)["clock"]["start_time"]
    want = [json.loads(line) for line in run(DUMP, "events", "--json", *options, trace).stdout.splitlines()]
    check(f"{trace}: all {len(want)} events are there", want and len(found) == len(want), len(found))
    wrong = [(one[3], event["fields"]) for one, event in zip(found, want) if like_json(one[3]) != plain(event["fields"])]
    check(f"{trace}: with their fields", not wrong, *wrong[:2])
    keys = ("id", "version", "level", "opcode", "task", "channel")
    wrong = [(one, event) for one, event in zip(found, want) if
             [one[2][key] for key in keys] != [event[key] for key in keys] or
             [one[2][key] for key in ("pid", "tid", "cpu")] != [event.get(key, NONE) for key in ("pid", "tid", "cpu")] or
             one[2]["keyword"] != int(event["keyword"], 16) or one[2]["activity"] != event.get("activity", "") or
             not one[1].endswith(f"{event['provider']}:{event['event']}")]
    check(f"{trace}: with their descriptors", not wrong, *wrong[:1])
    wrong = [(one[0], event["time"] + start) for one, event in zip(found, want) if one[0] != event["time"] + start]
    check(f"{trace}: at their times", not wrong, *wrong[:2])
    return found


def mistakes(trace):
    got = run(DUMP, "ctf", trace)
    check("ctf needs a folder", got.returncode == 2 and "-o DIR" in got.stderr, got)
    got = run(DUMP, "ctf", "-o", "kernel.ctf", trace)
    check("files are not replaced without --force", got.returncode == 4 and "exists; -f replaces it, -o names another" in got.stderr, got)
    first = read("kernel.ctf/stream"), read("kernel.ctf/metadata")
    got = run(DUMP, "ctf", "-f", "-o", "kernel.ctf", trace)
    check("the same trace gives the same bytes", got.returncode == 0 and
          (read("kernel.ctf/stream"), read("kernel.ctf/metadata")) == first, got)


if shutil.which("babeltrace2"):
    run(RECORD, "-q", "-o", "cxx.ptl", "--source=none", "-p", "*", "--", os.path.join(PROGRAMS, "events_cxx"))
    EVENTS = same("cxx.ptl", "cxx.ctf")
    check("every kind of field was there", {"Example-Cxx:Numbers", "Example-Cxx:Texts", "Example-Cxx:Arrays"} <=
          {one[1].split(" ")[-1] for one in EVENTS}, {one[1] for one in EVENTS})
    run(RECORD, "-q", "-o", "kernel.ptl", "--", os.path.join(PROGRAMS, "static"))
    TIDS = [one[2]["tid"] for one in same("kernel.ptl", "kernel.ctf")]
    same("kernel.ptl", "part.ctf", "--tid", str(max(TIDS)))
    mistakes("kernel.ptl")
else:
    skip("babeltrace2 reads it", "there is no babeltrace2 here")
plan()
