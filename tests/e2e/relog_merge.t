#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog merges traces, takes them apart and compresses them again; what they show stays what it was.
import json
import os

import xxhash

from scratch_test import DUMP, RECORD, RELOG, check, plan, path, run, scratch, skip

CANONICAL = os.path.join(os.environ["PTL_TEST_TOOLS"], "ptl_canonical")
PROGRAMS = os.environ["PTL_PROGRAMS"]


def stats(name):
    """What ran, by thread: instructions and the hash of the flow."""
    shown = json.loads(run(DUMP, "stats", "--hash", "--json", name).stdout or "{}")
    return {(process["pid"], thread["tid"]): (thread["instructions"], thread["ip_sha256"])
            for process in shown.get("processes", []) for thread in process["threads"]}


def info(name):
    return json.loads(run(DUMP, "info", "--json", name).stdout or "{}")


def content(name):
    """All that is in a trace but the file's own name, the layout of metadata, and the history."""
    lines = run(CANONICAL, name).stdout.splitlines()
    return [line for line in lines if not line.startswith(("file ", "stream 0 ", "provenance", "  input"))]


for name, program in (("a.ptl", "fork_no_exec"), ("b.ptl", "threads")):
    got = run(RECORD, "-q", "-o", name, "--", os.path.join(PROGRAMS, program))
    check(f"{program} is recorded", got.returncode == 0, got)

# One machine.
got = run(RELOG, "a.ptl", "b.ptl", "-o", "ab.ptl")
check("two traces of one machine are merged, without a word", (got.returncode, got.stderr) == (0, ""), got)
alone = {**stats("a.ptl"), **stats("b.ptl")}
check("each thread executed what it did", stats("ab.ptl") == alone and alone, stats("ab.ptl"), alone)
run(RELOG, "b.ptl", "a.ptl", "-o", "ba.ptl")
check("the order of the inputs does not matter for that", stats("ba.ptl") == alone)
merged, parts = info("ab.ptl"), [info("a.ptl"), info("b.ptl")]
blobs = [line for line in run(CANONICAL, "ab.ptl").stdout.splitlines() if line.startswith("blob ")]
before = [line for name in ("a.ptl", "b.ptl") for line in run(CANONICAL, name).stdout.splitlines()
          if line.startswith("blob ")]
check("equal code is stored once", sorted(blobs) == sorted(set(before)) and len(set(before)) < len(before),
      len(blobs), len(before))
check("the history of both is there, and the inputs' hashes",
      [step["tool"] for step in merged["provenance"]] == ["ptl-record", "ptl-record", "ptl-relog"] and
      [i["name"] for i in merged["provenance"][-1]["inputs"]] == ["a.ptl", "b.ptl"], merged.get("provenance"))
streams = [stream["id"] for stream in merged["streams"]]
check("no two streams have one id", len(set(streams)) == len(streams), streams)

# Another machine, as far as its process numbers go: a pid namespace of its own.
apart = run("unshare", "--fork", "--pid", "--mount-proc", RECORD, "-q", "-o", "c.ptl", "--",
            os.path.join(PROGRAMS, "fork_no_exec"))
if apart.returncode == 0:
    got = run(RELOG, "a.ptl", "c.ptl", "-o", "ac.ptl")
    others = {(pid + 10000000, tid + 10000000): ran for (pid, tid), ran in stats("c.ptl").items()}
    check("numbers of another pid namespace are kept apart", got.returncode == 0 and
          stats("ac.ptl") == {**stats("a.ptl"), **others}, got, stats("ac.ptl"), others)
    shown = run(DUMP, "processes", "--json", "ac.ptl").stdout
    pids = {pid for pid, _ in stats("a.ptl")} | {pid for pid, _ in others}
    check("processes shows both", all(f'"pid":{pid}' in shown for pid in pids), shown)
    machines = info("ac.ptl").get("other_machines", [])
    check("info names the other machine", [(m["index"], m["first_id"], m["time_shift"]) for m in machines] ==
          [(1, 10000000, 0)] and "machine 1" in run(DUMP, "info", "ac.ptl").stdout, machines)
    run(RELOG, "ac.ptl", "-o", "ac2.ptl")
    check("a copy of a merged trace is the same", content("ac.ptl") == content("ac2.ptl"))
else:
    skip("traces of two machines", f"no pid namespaces: {apart.stderr.strip()[:100]}")

# Nothing changes, in any form.
want = content("a.ptl")
for name, options in (("copy", []), ("stored", ["--recompress", "0"]), ("small", ["--recompress=19"]),
                      ("unhashed", ["--no-hash"])):
    got = run(RELOG, "a.ptl", "-o", f"{name}.ptl", *options)
    check(f"{name}: equal content", got.returncode == 0 and content(f"{name}.ptl") == want and len(want) > 50, got)
size = {name: os.path.getsize(path(name + ".ptl")) for name in ("a", "stored", "small")}
check("and another size", size["small"] < size["a"] < size["stored"], size)

# Parts.
got = run(RECORD, "-q", "--source", "software", "-o", "long.ptl", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done")
whole = stats("long.ptl")
got = run(RELOG, "long.ptl", "--split", "700K", "-o", "part.ptl")
names = sorted(name for name in os.listdir(scratch) if name.startswith("part."))
check("a trace is split into parts of a size", got.returncode == 0 and len(names) >= 2 and
      all(os.path.getsize(path(name)) <= 1600 << 10 for name in names), got, names)
ran = [stats(name) for name in names]
check("each part decodes alone, without a gap",
      all(part and not json.loads(run(DUMP, "stats", "--json", name).stdout)["gaps"]
          for name, part in zip(names, ran)), ran)
check("nothing is missing: all parts together have at least as much as the whole",
      whole and
      sum(part[thread][0] for thread in whole for part in ran if thread in part) >= sum(n for n, _ in whole.values()),
      whole, ran)
with open(path("long.ptl"), "rb") as file:
    hashed = xxhash.xxh3_128(file.read()).hexdigest()
check("each part names the input by its hash", [json.loads(run(DUMP, "info", "--json", name).stdout)["provenance"][-1]
      ["inputs"] for name in names] == [[{"name": "long.ptl", "size": os.path.getsize(path("long.ptl")),
                                          "xxh128": hashed}]] * len(names))
got = run(RELOG, "long.ptl", "--split", "700K", "-o", "part.ptl")
check("parts that exist are not replaced, and nothing is left over", got.returncode == 4 and "exists; -f replaces it, -o names another" in got.stderr and
      names == sorted(name for name in os.listdir(scratch) if "part." in name), got, os.listdir(scratch))
got = run(RELOG, *names, "-o", "joined.ptl")
shown = json.loads(run(DUMP, "stats", "--json", "joined.ptl").stdout or "{}")
check("parts can be merged again: one process", got.returncode == 0 and
      len({pid for pid, _ in stats("joined.ptl")}) == len({pid for pid, _ in whole}), got, shown)
for arguments, text in ((["-", "--split", "1M", "-o", "x.ptl"], "standard input is there once"),
                        (["a.ptl", "--split", "1M", "-o", "-"], "writes several files"),
                        (["a.ptl", "--split", "10", "-o", "x.ptl"], "at least 64K"),
                        (["a.ptl", "--recompress", "20", "-o", "x.ptl"], "at most 19")):
    got = run(RELOG, *arguments)
    check(f"{' '.join(arguments)}: refused", got.returncode == 2 and text in got.stderr, got)

plan()
