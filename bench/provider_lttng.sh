#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures events of lttng-ust for comparison with libptl-provider: the same three fields, the same loop. The trace is a
# memory ring that is overwritten (a snapshot session), so that no consumer interferes.
set -u

here=$(dirname "$0")/lttng
json=
[ "${1:-}" != --json ] || json=1

skip() {
	echo "provider_lttng: skipped: $*" >&2
	exit 0
}

command -v lttng >/dev/null || skip 'lttng-tools is not installed'
folder=$(mktemp -d) || exit 1
daemon=
stop() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	[ -z "$daemon" ] || wait "$daemon" 2>/dev/null
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM

"${CC:-gcc}" -O2 -I"$here" "$here/bench_lttng.c" -o "$folder/bench" -llttng-ust -ldl 2>"$folder/errors" ||
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

off=$("$folder/bench") || exit 1
start() {
	lttng create "$1" --snapshot -o "$folder/trace" >/dev/null &&
		lttng enable-channel -s "$1" -u one --overwrite --subbuf-size=1M --num-subbuf=4 >/dev/null &&
		lttng enable-event -s "$1" -c one -u 'ptl_bench:*' >/dev/null
}
start plain && lttng start plain >/dev/null || exit 1
on=$("$folder/bench") || exit 1
lttng destroy plain >/dev/null
start ids && lttng add-context -s ids -c one -u -t vpid -t vtid >/dev/null && lttng start ids >/dev/null || exit 1
ids=$("$folder/bench") || exit 1
lttng destroy ids >/dev/null

value() {
	"${PTL_BENCH:-build/bench}/provider_bench" --json | sed -n "s/.*\"name\":\"$1\",\"value\":\([-0-9.]*\).*/\1/p"
}
ptl_off=$(value 'registered, nobody records')
ptl_on=$(value 'recorded, 3 fields of 32 bytes')

row() {
	if [ -n "$json" ]; then
		printf '{"bench":"provider_lttng","name":"%s","lttng":%s,"ptl":%s,"unit":"ns"}\n' "$1" "$2" "$3"
	else
		printf '%-40s lttng-ust %8.2f ns   libptl-provider %8.2f ns\n' "$1" "$2" "$3"
	fi
}
row 'not enabled' "$off" "$ptl_off"
row 'enabled, 3 fields of 32 bytes' "$on" "$ptl_on"
row 'the same with process and thread id' "$ids" "$ptl_on"
