#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# ptl-relog reads .etl files of Windows: every event of real ones is there, with what others read in them.
import collections
import glob
import json
import os

from scratch_test import DUMP as dump, RELOG as relog, check, path, plan, run, skip

FOLDER = os.environ.get("PTL_SHARED_ETL", "")
# Groups of the kernel's hooks, and the classes that they are.
GROUPS = {
    0x00: "68fdd900-4a3e-11d1-84f4-0000f80464e3", 0x01: "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",
    0x02: "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", 0x03: "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
    0x04: "90cbdc39-4a3e-11d1-84f4-0000f80464e3", 0x05: "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",
    0x06: "9a280ac0-c8e0-11d1-84e2-00c04fb998a2", 0x08: "bf3a50c5-a9c9-4988-a005-2df0b7c80f80",
    0x0b: "01853a65-418f-4f36-aefc-dc0f1d2fd235", 0x0f: "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",
    0x14: "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 0x18: "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",
}


def expected_counts(name):
    """(provider, id or opcode, version): count; of TraceLogging, whose events have no ids, the provider's sum."""
    counts = collections.Counter()
    with open(name, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            kind, provider, number, version, count = line.rstrip("\n").split("\t")
            number = int(number)
            if kind == "system":
                provider = GROUPS[int(provider.split()[1], 16)]
                if (provider, number) == (GROUPS[3], 10):
                    provider = GROUPS[0x14]
            key = (provider,) if kind == "event" and number == 0 else (provider, number, int(version))
            counts[key] += int(count)
    return counts


def shown_counts(trace, expected):
    counts = collections.Counter()
    done = run(dump, "events", "--count", "--json", trace)
    for line in done.stdout.splitlines():
        row = json.loads(line)
        provider = row["provider_guid"]
        number = row["id"] or row["opcode"]
        key = (provider,) if (provider,) in expected else (provider, number, row["version"])
        counts[key] += row["count"]
    return counts, done


def real_file(name):
    base = os.path.splitext(os.path.basename(name))[0]
    trace = path(base + ".ptl")
    done = run(relog, name, "-q", "-o", trace)
    check(f"{base}: is read", done.returncode == 0, done.stderr)
    expected = expected_counts(os.path.splitext(name)[0] + ".events.tsv")
    counts, done = shown_counts(trace, expected)
    check(f"{base}: as many events of each kind as its headers tell", counts == expected,
          "missing", expected - counts, "more", counts - expected, done.stderr)
    check(f"{base}: the trace is sound", run(dump, "info", trace).returncode == 0)


files = sorted(glob.glob(os.path.join(FOLDER, "*.etl")))
for one in files:
    real_file(one)
if not files:
    skip("real .etl files", f"none in {FOLDER or 'PTL_SHARED_ETL, which is not set'}")
plan()
