#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The flow of a recorded program is the one that ptrace sees, instruction by instruction: every address of every thread, in order.
#
# Programs that everybody has, and corners of the software source. PTL_SOAK=1 takes more programs, and more of their instructions.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

# judge_flow NAME COMMAND...: two configurations, other ones each time.
judge_flow() {
	if ! is_wanted "$1"; then
		return
	elif ! command -v "$2" >/dev/null; then
		skip "$1" "$2 is not installed"
		return
	fi
	in_configurations "$((turn % 16)) $(((turn + 3) % 16))" "$@"
	turn=$((turn + 1))
}

make_text "$scratch/text" 3000
printf 'int f(int x) { return x > 3 ? f(x - 1) * 3 : 5; }\n' >"$scratch/small.c"
gzip -k "$scratch/text"
# What CI steps: some seconds each. Programs with threads wait more or less often in each run: none of them is here.
judge_flow addresses "$programs/fault_contexts" addresses
judge_flow write_and_execute "$programs/code_corners" write_and_execute
judge_flow changed_stub "$programs/code_corners" changed_stub
judge_flow faulting_pointer "$programs/code_corners" faulting_pointer
judge_flow masks "$programs/signal_delivery" masks
judge_flow ls ls -l "$scratch/text"
judge_flow gzip gzip -c "$scratch/text"
judge_flow pipeline sh -c "cat '$scratch/text' | tr a-z A-Z | wc -l"
if [ -n "${PTL_SOAK:-}${PTL_STEPPED:-}" ]; then
	for test in in_string repeated kinds bad_return bad_call; do
		judge_flow $test "$programs/fault_contexts" $test
	done
	for test in within_block replaced moved two_mappings beside_data into_next_page nothing_free_nearby; do
		judge_flow $test "$programs/code_corners" $test
	done
	for test in by_vfork by_spawn by_clone exec_from_thread failed_exec robust_lock filter; do
		judge_flow $test "$programs/system_corners" $test
	done
	judge_flow true true
	judge_flow gunzip gzip -dc "$scratch/text.gz"
	judge_flow sort sort "$scratch/text"
	judge_flow sed sed 's/an/AN/g' "$scratch/text"
	judge_flow awk awk '{ n += NF } END { print n }' "$scratch/text"
	# shellcheck disable=SC2016 # of perl
	judge_flow perl perl -e 'print join(",", map { $_ * 3 } 1..50), "\n"'
	judge_flow sqlite3 sqlite3 :memory: 'select sum(1 + 2)'
	# shellcheck disable=SC2016 # of bash
	judge_flow bash bash -c 'for i in 1 2 3; do x=$x$i; done; echo $x; true | cat'
	judge_flow bc sh -c 'echo "2^100" | bc'
	judge_flow python3 "$python" -S -E -c 'print(sum(range(100)))'
	judge_flow xz xz -c "$scratch/text"
	judge_flow zstd zstd -q -c "$scratch/text"
	judge_flow sha256sum sha256sum "$scratch/text"
	judge_flow find find "$scratch/text" -newer "$scratch/small.c"
	judge_flow grep grep -E '(an|er)+b' "$scratch/text"
	judge_flow gcc gcc -S -o /dev/null "$scratch/small.c"
	judge_flow luajit luajit -e 'local s = 0; for i = 1, 3000 do s = s + i end; print(s)'
	judge_flow jq jq -n '[range(20)] | add'
	judge_flow tclsh sh -c 'echo "puts [expr 3*4]" | tclsh'
fi
finish
