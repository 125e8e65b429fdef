#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Parts of one recording that are merged are what the recording was: the Intel PT, the events and the rundown at their
# borders are there once. Cuts and sizes are made by chance: PTL_SEED=number tries others, PTL_LAWS=number more of them.
import json
import os
import random
import struct

from scratch_test import DUMP, RECORD, RELOG, labelled, output as run, path, plan, read, run as try_run, scratch, write

CANONICAL = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_canonical")
PROGRAMS = os.environ["PTL_PROGRAMS"]
SEED = int(os.environ.get("PTL_SEED", "1"))
ROUNDS = int(os.environ.get("PTL_LAWS", "1"))
VIEWS = (("flow",), ("events", "--json"), ("processes", "--json"), ("images", "--json"), ("stats", "--hash", "--json"))
check = labelled(f"seed {SEED}")


def relog(*arguments):
    run(RELOG, "-q", "-f", *arguments)
    return arguments[-1]


def content(name):
    """All but the file's own name, how it lies in buffers, and the history."""
    kept = []
    for line in run(CANONICAL, name).splitlines():
        words = line.split()
        if words[0] == "stream":
            words = ["stream", *words[2:6], words[8] if words[2] == "3" else ""]  # not how it is numbered and stored
        if not line.startswith(("file ", "stream 0 ", "provenance", "  input", "loss 9 ")):
            kept.append(" ".join(words))
    return kept


def shown(name):
    """Every view, of the same name: some of them show it."""
    os.replace(path(name), path("shown.ptl"))
    found = {view[0]: run(DUMP, *view, "shown.ptl").splitlines() for view in VIEWS}
    os.replace(path("shown.ptl"), path(name))
    return found


def losses(name):
    return [loss for loss in json.loads(run(DUMP, "info", "--json", name))["losses"] if loss["kind"] == "cut away"]


def difference(left, right):
    for a, b in zip(left + [None], right + [None]):
        if a != b:
            return f"{len(left)} and {len(right)}\nleft  {a}\nright {b}"
    return "no difference"


def known(name):
    return {**shown(name), "content": sorted(content(name))}


def same(name, views, right):
    """The views that were taken of one trace are those of the other."""
    others = known(right)
    for view in views:
        check(f"{name}: {view}", views[view] == others[view], difference(views[view], others[view]))


def span(name):
    machine = json.loads(run(DUMP, "info", "--json", name))["clock"]
    return machine["end_time"] - machine["start_time"]


def parts_of(prefix):
    names = [name for name in os.listdir(scratch) if name.startswith(prefix + ".")]
    return sorted(names, key=lambda name: int(name.split(".")[-2]))


generator = random.Random(SEED)
RECORDINGS = {"threads": [os.path.join(PROGRAMS, "threads")], "forks": [os.path.join(PROGRAMS, "fork_no_exec")],
              "signals": [os.path.join(PROGRAMS, "signals")], "reuse": [os.path.join(PROGRAMS, "dlopen_reuse")],
              "shell": ["/bin/sh", "-c", "i=0; while [ $i -lt 1200 ]; do i=$((i+1)); done; (ls / | cat) >/dev/null"]}
for title, command in RECORDINGS.items():
    whole = f"{title}.ptl"
    run(RECORD, "-q", "--psb-period", "4K", "-o", whole, "--", *command)
    all_of_it = known(whole)
    for number in range(ROUNDS):
        # Whole again.
        size = generator.choice(["300K", "700K", "1100K", "1500K"])
        prefix = f"{title}-{number}"
        relog(whole, "--split", size, "-o", f"{prefix}.ptl")
        names = parts_of(prefix) if not os.path.exists(path(f"{prefix}.ptl")) else [f"{prefix}.ptl"]
        order = names[:]
        generator.shuffle(order)
        relog(*order, "-o", "joined.ptl")
        same(f"{title}: {len(names)} parts merged are the whole", all_of_it, "joined.ptl")
        check(f"{title}: nothing is cut away any more", not losses("joined.ptl"), losses("joined.ptl"))

        # Cuts that overlap, and a smaller whole.
        end = span(whole)
        a, b, c, d = sorted(generator.randint(0, end) for _ in range(4))
        relog(whole, "--time", f"{a}ns..{d}ns", "-o", "both.ptl")
        relog(whole, "--time", f"{a}ns..{c}ns", "-o", "left.ptl")
        relog(whole, "--time", f"{b}ns..{d}ns", "-o", "right.ptl")
        pair = ["left.ptl", "right.ptl"]
        generator.shuffle(pair)
        relog(*pair, "-o", "merged.ptl")
        same(f"{title}: overlapping cuts ({a}..{c}, {b}..{d}) merged are one cut", known("both.ptl"), "merged.ptl")
        check(f"{title}: and as much is reported to be cut away", losses("both.ptl") == losses("merged.ptl"),
              losses("both.ptl"), losses("merged.ptl"))
        relog(whole, "left.ptl", "-o", "again.ptl")
        same(f"{title}: a cut adds nothing to the whole", all_of_it, "again.ptl")
        relog(whole, "--time", f"0ns..{end}ns", "-o", "all.ptl")
        relog("all.ptl", "left.ptl", "-o", "again.ptl")
        same(f"{title}: a cut adds nothing to what nothing is cut away from", all_of_it, "again.ptl")
        check(f"{title}: and nothing is cut away", not losses("again.ptl"), losses("again.ptl"))
        # What parts were merged to, the later one first, is a part again.
        for part, low, high in (("first", "", f"{b}ns"), ("second", f"{b + 1}ns", f"{c}ns"), ("third", f"{c + 1}ns", "")):
            relog(whole, "--time", f"{low}..{high}", "-o", f"{part}.ptl")
        relog("second.ptl", "first.ptl", "-o", "merged.ptl")
        relog("third.ptl", "merged.ptl", "-o", "joined.ptl")
        same(f"{title}: parts up to {b}, up to {c} and behind, merged in two steps, are the whole", all_of_it, "joined.ptl")
        for name in names:
            os.unlink(path(name))

# ---- what is damaged in one is taken from the other -------------------------------------------------------------------

KINDS = {"events": 2, "Intel PT": 3, "code": 4}
HEADER = 104


def damage(name, kind):
    """The bytes of a trace whose largest buffer of this kind has a wrong byte."""
    data = bytearray(read(name))
    found = []
    at = data.find(b"PTLB")
    while at >= 0:
        side, raw, stored = struct.unpack_from("<III", data, at + 32)
        if struct.unpack_from("<I", data, at + 8)[0] == kind:
            found.append((raw, at + HEADER + side + stored // 2))
        at = data.find(b"PTLB", at + HEADER)
    data[max(found)[1]] ^= 0xff
    return data


# The loss that a damaged input had stays reported.
all_of_it = shown("threads.ptl")
for title, kind in KINDS.items():
    write("damaged.ptl", damage("threads.ptl", kind))
    alone = try_run(RELOG, "-q", "-f", "damaged.ptl", "-o", "alone.ptl")
    check(f"damaged {title} are reported", alone.returncode == 3 and "checksum differs" in alone.stderr, alone)
    for pair in (["damaged.ptl", "threads.ptl"], ["threads.ptl", "damaged.ptl"]):
        try_run(RELOG, "-q", "-f", *pair, "-o", "mended.ptl")
        same(f"damaged {title} come from the other of {' and '.join(pair)}", all_of_it, "mended.ptl")

plan()
