#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures how many events of a burst are kept: 8 threads write a million small events each, at full speed. ptl-record and
# lttng-ust run with their default buffers, and write to the same folder.
set -u

here=$(dirname "$0")/lttng
json=
[ "${1:-}" != --json ] || json=1
threads=8 events=1000000
folder=$(mktemp -d) || exit 1
shared=$(mktemp -d /dev/shm/ptl-burst-XXXXXX) || exit 1
daemon=
stop() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	[ -z "$daemon" ] || wait "$daemon" 2>/dev/null
	rm -rf "$folder" "$shared"
}
trap stop EXIT
trap 'exit 1' INT TERM

row() {
	if [ -n "$json" ]; then
		printf '{"bench":"provider_burst","name":"%s","value":%s,"unit":"events"}\n' "$1" "$2"
	else
		printf '%-40s %10s of %s events kept\n' "$1" "$2" $((threads * events))
	fi
}

# In shared memory, like the default folder.
export PTL_SESSION_DIR="$shared/ptl"
# Check the number of written events in the recorder's last line: events could be missing without being counted as lost.
"$PTL_BIN/ptl-record" --no-progress -o "$folder/burst.ptl" --source=none -p PTL-Test-Writer -- "$PTL_PROGRAMS/provider_writer" \
	threads=$threads,$events 2>"$folder/said"
kept=$(sed -n 's/.*, \([0-9,]*\) events;.*/\1/p' "$folder/said" | tr -d ,)
lost=$("$PTL_BIN/ptl-dump" info --json "$folder/burst.ptl" | grep -o '"count":[0-9]*' |
	sed 's/.*://' | awk '{ sum += $1 } END { print sum + 0 }')
[ "${kept:-0}" -eq $((threads * events - lost)) ] || {
	echo "provider_burst: of $((threads * events)) events $kept were written and $lost counted as lost" >&2
	exit 1
}
row 'ptl-record' "$kept"

skip() {
	echo "provider_burst: lttng-ust is skipped: $*" >&2
	exit 0
}

command -v lttng >/dev/null || skip 'lttng-tools is not installed'
"${CC:-gcc}" -O2 -I"$here" "$here/bench_lttng.c" -o "$folder/bench" -llttng-ust -ldl -pthread 2>"$folder/errors" ||
	skip 'liblttng-ust-dev is not installed'
# Use a separate daemon, so that other sessions stay untouched.
export LTTNG_HOME="$folder" LTTNG_UST_REGISTER_TIMEOUT=5000
pgrep -x lttng-sessiond >/dev/null && skip 'an lttng-sessiond runs already'
lttng-sessiond --no-kernel >"$folder/daemon" 2>&1 &
daemon=$!
tries=0
until lttng list >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 50 ] || skip "lttng-sessiond does not start: $(tail -n 1 "$folder/daemon")"
	sleep 0.1
done
lttng create burst -o "$folder/trace" >/dev/null && lttng enable-event -s burst -u 'ptl_bench:*' >/dev/null &&
	lttng start burst >/dev/null || exit 1
"$folder/bench" $threads $events || exit 1
lttng stop burst >/dev/null
lost=$(lttng list burst | sed -n 's/.*Discarded events: *//p' | head -n 1)
[ -n "$lost" ] || skip 'lttng list does not say what was lost'
lttng destroy burst >/dev/null
# lttng list sometimes prints the largest number for an unknown count.
[ ${#lost} -le 12 ] || skip "lttng list says that $lost events were discarded"
row 'lttng-ust' $((threads * events - lost))
