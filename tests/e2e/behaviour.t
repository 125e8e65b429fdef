#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# What packets mean: code, packets and the flow they prove, from tests/ptt/*.ptt, with every engine.
import ctypes
import glob
import json
import os
import re
import shlex
import subprocess
import sys

from scratch_test import DUMP as dump, RELOG as relog, Failed, check, output as run, path, plan, run as try_run

assembler = os.path.join(os.environ["PTL_TEST_TOOLS"], "pt_assemble")
tests = os.path.join(os.environ["PTL_TESTS"], "ptt")
ENGINES = ("libipt", "libipt-insn", "native")
NEWER = " 2.1"  # of a section: what libipt 2.1 and later say
SECTIONS = {"relog", "code", "packets", "flow", "why", *(f"flow {engine}{since}" for engine in ENGINES for since in ("", NEWER))}
FEWEST = 120
# What an event may have besides addresses.
NAMES = ("event", "data")
NUMBERS = ("value", "vector", "block", "item")
FLAGS = ("guest", "interrupts", "resumed", "unplaced")


class Broken(Exception):
    """The test itself, or a program it needs, is wrong."""


FAILURES = (Broken, Failed, subprocess.TimeoutExpired, ValueError, KeyError)


class Version(ctypes.Structure):
    """struct pt_version"""
    _fields_ = [("major", ctypes.c_uint8), ("minor", ctypes.c_uint8), ("reserved", ctypes.c_uint16), ("build", ctypes.c_uint32),
                ("ext", ctypes.c_char_p)]


def is_newer_libipt():
    version = ctypes.CDLL("libipt.so.2").pt_library_version
    version.restype = Version
    return (version().major, version().minor) >= (2, 1)


newer = is_newer_libipt()


def sections(file_name):
    """The text of each [section], and the first line's comment."""
    parts, name = {}, None
    with open(file_name) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        heading = re.fullmatch(r"\[([a-z]+(?: [a-z-]+)?(?: 2\.1)?)\]", line)
        if heading:
            name = heading[1]
            if name not in SECTIONS:
                raise Broken(f"line {number}: no section is called {name}")
            parts[name] = []
        elif name:
            parts[name].append(line)
    missing = {"code", "packets", "flow"} - set(parts)
    if missing or not lines[0].startswith("# "):
        raise Broken(f"no {', '.join(missing) or 'comment that says what it is about'}")
    parts = {name: "\n".join(part) + "\n" for name, part in parts.items()}
    if any(name.startswith("flow ") for name in parts) != bool(parts.get("why", "").strip()):
        raise Broken("a flow of one engine alone needs a [why], and only that")
    return lines[0][2:], parts


def flows_of(engine, parts):
    """What this engine may say: its own, its family's, or everybody's. libipt 2.1 may say what libipt 2.0 does, or what is right."""
    family = engine.partition("-")[0]
    names = [f"flow {engine}", f"flow {family}", "flow"]
    if newer and family == "libipt":
        for name in (f"flow {engine}{NEWER}", f"flow {family}{NEWER}"):
            if name in parts:
                return [parts[name]]
        return [parts[name] for name in names if name in parts]
    return [next(parts[name] for name in names if name in parts)]


def assemble_code(text):
    """Makes memory.raw and memory.map; gives the labels' addresses."""
    origin = re.search(r"^\s*org\s+(\S+)", text, re.M)
    if not origin:
        raise Broken("no org in the code")
    with open(path("code.asm"), "w") as file:
        file.write("bits 64\n[map symbols code.map]\n" + text)
    run("nasm", "-f", "bin", "-o", "memory.raw", "code.asm")
    labels = {}
    with open(path("code.map")) as file:
        for line in file:
            row = re.fullmatch(r"\s*([0-9A-F]+)\s+[0-9A-F]+\s+(\w+)\s*", line)
            if row:
                labels[row[2]] = int(row[1], 16)
    with open(path("memory.map"), "w") as file:
        file.write(f"{origin[1]} {os.path.getsize(path('memory.raw'))} 0\n")
    return labels


def address(text, labels):
    name, plus, offset = text.partition("+")
    if name not in labels and not name[0].isdigit():
        raise Broken(f"{name} is no label of the code")
    return (labels[name] if name in labels else int(name, 0)) + (int(offset, 0) if plus else 0)


def name_of(ip, labels):
    near = [(value, name) for name, value in labels.items() if value <= ip < value + 256]
    if not near:
        return hex(ip)
    value, name = max(near)
    return name if ip == value else f"{name}+{ip - value}"


def event_text(kind, members, labels):
    """The one form of an event that expected and real ones are compared in."""
    words = ["-", kind]
    # Where a gap begins is reported as well as an engine knows it; for missing code it is the point. So is where an overflow ends.
    if kind == "gap" and members.get("cause") != "missing-code":
        members = {"cause": members.get("cause"), "to": members.get("to")}
    for key in ("cause", "from", "to"):
        if members.get(key) is not None:
            value = members[key]
            words.append(f"{key}={value if key == 'cause' else name_of(value, labels)}")
    words += [f"{key}={members[key]}" for key in NAMES if members.get(key) is not None]
    for key in NUMBERS:
        if members.get(key):
            words.append(f"{key}={members[key]:#x}")
    words += [key for key in FLAGS if members.get(key)]
    return " ".join(words)


def expected_flow(text, labels):
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] != ["-"]:
            for word in words:
                yield name_of(address(word, labels), labels)
            continue
        members = {}
        for word in words[2:]:
            key, equals, value = word.partition("=")
            if not equals and words[1] == "gap":
                members["cause"] = key
            elif key in ("from", "to"):
                members[key] = address(value, labels)
            elif key in NUMBERS and equals:
                members[key] = int(value, 0)
            elif key in NAMES and equals:
                members[key] = value
            elif key in FLAGS and not equals:
                members[key] = True
            else:
                raise Broken(f"{word} in \"{line}\"")
        yield event_text(words[1], members, labels)


def real_flow(engine, labels):
    for line in run(dump, "flow", "--level=insn", "--json", "--engine", engine, "test.ptl").splitlines():
        item = json.loads(line)
        if item["type"] == "instruction":
            yield name_of(int(item["ip"], 0), labels)
            continue
        members = {key: int(item[key]["ip"], 0) for key in ("from", "to") if item.get(key)}
        members.update({key: item[key] for key in ("cause", *NAMES, *NUMBERS, *FLAGS) if key in item})
        yield event_text(item["type"], members, labels)


def make_trace(parts):
    labels = assemble_code(parts["code"])
    with open(path("labels.txt"), "w") as file:
        file.writelines(f"{name} = {value:#x}\n" for name, value in labels.items())
    with open(path("packets.txt"), "w") as file:
        file.write(parts["packets"])
    run(assembler, "-o", "test.pt", "labels.txt", "packets.txt")
    run(relog, "-q", "-f", "--pt", "test.pt", "--memory", "memory.raw", "--memory-map", "memory.map",
        *shlex.split(parts.get("relog", "")), "-o", "test.ptl")
    return labels


def differences(want, got):
    for i in range(max(len(want), len(got))):
        a, b = (side[i] if i < len(side) else "(end)" for side in (want, got))
        yield f"{'  ' if a == b else '* '}{a:44} {b}"


def wrong(engine, about, parts, labels):
    """What is wrong; nothing if all is well."""
    try:
        wanted = [list(expected_flow(flow, labels)) for flow in flows_of(engine, parts)]
        got = list(real_flow(engine, labels))
        return [] if got in wanted else [f"{about}", f"  {'expected':44} got", *differences(wanted[0], got)]
    except FAILURES as error:
        return [f"{type(error).__name__}: {error}"]


verified = 0
for file_name in sorted(glob.glob(os.path.join(tests, "*.ptt"))):
    name = os.path.basename(file_name)[:-4]
    broken = None
    try:
        about, parts = sections(file_name)
        labels = make_trace(parts)
    except FAILURES as error:
        broken = [f"{type(error).__name__}: {error}"]
    for engine in ENGINES:
        notes = broken or wrong(engine, about, parts, labels)
        check(f"{name}, {engine}", not notes, *notes)
    # Two engines that say the same of it agree.
    if broken or any(section.startswith("flow ") and (newer or not section.endswith(NEWER)) for section in parts):
        continue
    done = try_run(dump, "verify", "-q", "test.ptl")
    check(f"{name}, verify", done.returncode == 0, done.stdout, done.stderr)
    verified += 1
# A jump to itself needs no packets: it must not be followed for ever, and flow goes on behind it.
make_trace({
    "code": "\torg 0x401000\nstart:\tjmp start\nagain:\tnop\n\tsyscall\n",
    "packets": "psb\nmode.exec 64\npsbend\ntip.pge start\ntip.pgd -\n"
               "psb\nmode.exec 64\nfup again\npsbend\ntip.pgd -\n",
})
for engine in ENGINES:
    try:
        stats = json.loads(run(dump, "stats", "--json", "--engine", engine, "test.ptl"))
        passed = stats["gaps"] == 1 and stats["instructions"] >= 2
    except FAILURES as error:
        passed, stats = False, error
    check(f"a jump to itself, {engine}", passed, stats)

# Much code without a branch: no engine takes it for bad code, and they end blocks at the same places.
make_trace({
    "code": "\torg 0x401003\nstart:\ttimes 2500000 nop\n\tsyscall\nend:\n",
    "packets": "psb\nmode.exec 64\npsbend\ntip.pge start\ntip.pgd -\n",
})
for engine in ENGINES:
    try:
        stats = json.loads(run(dump, "stats", "--json", "--engine", engine, "test.ptl"))
        passed = stats["gaps"] == 0 and stats["instructions"] == 2500001
    except FAILURES as error:
        passed, stats = False, error
    check(f"2,500,000 instructions without a branch, {engine}", passed, stats)
for engine in ("native", "libipt-insn"):
    done = try_run(dump, "verify", "-q", "--json", "--engine", engine, "test.ptl")
    passed = done.returncode == 0 and json.loads(done.stdout)["blocks"] == 3
    check(f"verify of code without a branch, {engine}", passed, done)

# verify compares up to a gap behind which only the native engine goes on in the segment, or to an instruction that libipt
# does not know, and finds what really differs.
for name, status, gaps, unknown in (("gap-resumes-tip", 0, 1, 0), ("psb-mismatch", 0, 1, 0),
                                    ("hardware-cut-within-flow", 0, 2, 0), ("direct-branches", 0, 0, 0), ("tnt-behind-fup", 1, 0, 0),
                                    ("newer-registers", 0, 0, 1), ("erets", 0, 0, 1), ("newer-instructions", 0, 0, 0)):
    _, parts = sections(os.path.join(tests, name + ".ptt"))
    make_trace(parts)
    done = try_run(dump, "verify", "--json", "test.ptl")
    # One that finds a difference in the first segment has not found nothing.
    reported = json.loads(done.stdout)
    passed = done.returncode == status and reported["segments_with_gaps"] == gaps and not done.stderr and \
        reported["segments_with_unknown_instructions"] == unknown
    check(f"verify {name}", passed, done)

if verified < FEWEST:
    print(f"Bail out! only {verified} tests in {tests} that engines agree about")
    sys.exit(1)
plan()
