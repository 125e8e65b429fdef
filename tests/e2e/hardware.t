#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Traces of real Intel CPUs, if there are any: made a .ptl, decoded, and held against what libipt gave for them.
set -u

if [ ! -d "${PTL_SHARED_TRACES:-}" ]; then
	echo "1..0 # SKIP no hardware traces at ${PTL_SHARED_TRACES:-PTL_SHARED_TRACES, which is not set}"
	exit 0
fi

# shellcheck source=tests/e2e/tap.sh
. "$PTL_TESTS/e2e/tap.sh"
python=${PYTHON:-/usr/bin/python3}

# Prints what differs between expected.txt and the statistics of the only thread.
differences() {
	"$python" - "$1" "$2" <<'END'
import json, sys
expected = dict(line.split() for line in open(sys.argv[1]) if line.strip())
stats = json.load(open(sys.argv[2]))
threads = [t for p in stats["processes"] for t in p["threads"]]
if len(threads) != 1:
    sys.exit(f"{len(threads)} threads instead of one")
wanted = {"instructions": int(expected["instructions"]), "ip_sha256": expected["ip-sha256"]}
wrong = [f"{k}: {threads[0].get(k)} instead of {v}" for k, v in wanted.items() if threads[0].get(k) != v]
if stats["instructions"] != wanted["instructions"]:
    wrong.append(f"instructions in all: {stats['instructions']}")
sys.exit("; ".join(wrong) if wrong else 0)
END
}

for expected in "$PTL_SHARED_TRACES"/*/expected.txt; do
	[ -f "$expected" ] || continue
	folder=${expected%/*}
	name=${folder##*/}
	"$PTL_BIN/ptl-relog" -q --pt "$folder/trace.pt" --memory "$folder/memory.raw" \
		--memory-map "$folder/memory.map" -o "$scratch/$name.ptl" 2>"$scratch/errors"
	result $? "$name: ptl-relog makes a trace of it"
	"$PTL_BIN/ptl-dump" stats --hash --json "$scratch/$name.ptl" >"$scratch/stats" 2>>"$scratch/errors"
	result $? "$name: ptl-dump stats"
	differences "$expected" "$scratch/stats" 2>>"$scratch/errors"
	result $? "$name: every executed address is what libipt gave"
	# The copy of the trace gives the same.
	"$PTL_BIN/ptl-relog" -q "$scratch/$name.ptl" -o "$scratch/copy.ptl" --force 2>>"$scratch/errors" &&
		"$PTL_BIN/ptl-dump" stats --hash --json "$scratch/copy.ptl" >"$scratch/copy-stats" 2>>"$scratch/errors" &&
		cmp "$scratch/stats" "$scratch/copy-stats" >>"$scratch/errors"
	result $? "$name: so it is after copying the trace"
	sed 's/^/# /' "$scratch/errors"
done
finish
