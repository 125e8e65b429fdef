#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures decoding in a fuzzer's pattern: testdata/examples/edges opens and decodes the same packets again and again, with PTL's
# engine and with libipt. decoder_bench.c measures decoders that keep what they know of the code.
set -u
here=$(cd "$(dirname "$0")" && pwd)
edges=$(dirname "${PTL_BENCH:?names the folder of the built benchmarks: use make bench}")/examples/edges
case " $* " in
*' --json '*) exit 0 ;; # bench/run prints one object a benchmark; this one is for people
esac
for trace in "${PTL_SHARED_TRACES:-$here/../../shared/traces}"/*/trace.pt; do
	folder=${trace%/*}
	[ -f "$folder/memory.map" ] || { echo 'edges: there are no traces of real CPUs (TRACES=FOLDER)'; exit 0; }
	[ "$(grep -cv '^ *\(#\|$\)' "$folder/memory.map")" = 1 ] || continue
	address=$(grep -v '^ *\(#\|$\)' "$folder/memory.map" | awk '{ print $1 }')
	for engine in native libipt; do
		printf '%-8s %-7s ' "${folder##*/}" "$engine"
		{ "$edges" --engine "$engine" --rounds 20 "$trace" "$address" "$folder/memory.raw" >/dev/null || exit 1; } 2>&1
	done
done
