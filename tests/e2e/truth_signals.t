#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: signals, timers, faults and string instructions that are interrupted.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

program faults
program rep_string
# Signals come elsewhere in each run.
unstepped_every signals "$programs/signals"
unstepped_every signal_timer "$programs/signal_timer"

# How often an endless loop went round is not in the packets: no truth, but no gap either, and the flow goes on.
for timing in none tsc mtc cyc; do
	"$record" -q -f -o "$scratch/endless.ptl" --timing=$timing -- "$programs/endless" >"$scratch/stdout" \
		2>"$scratch/stderr" && "$dump" stats --json "$scratch/endless.ptl" >"$scratch/stats" 2>>"$scratch/stderr" &&
		"$python" -c '
import json, sys
stats = json.load(open(sys.argv[1]))
sys.exit(stats["gaps"] != 0 or stats["instructions"] < 100000 or len(stats["processes"]) != 2)' "$scratch/stats"
	result $? "endless loops, --timing=$timing: no gap" || show "$scratch/stats" "$scratch/stderr"
done
finish
