#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Random programs: recorded, they end with the registers and the memory of the native run, and their flow is that of single steps.
#
# PTL_RANDOM_PROGRAMS=N takes N programs, PTL_RANDOM_FIRST=SEED begins with another seed, PTL_RANDOM_OPTIONS are options of
# random_program.py. Every PTL_RANDOM_STEPPED-th program is stepped, too (3).
# shellcheck source=tests/e2e/software.sh
. "$PTL_TESTS/e2e/software.sh"

need_source
programs_wanted=${PTL_RANDOM_PROGRAMS:-24}
first=${PTL_RANDOM_FIRST:-1}
stepped=${PTL_RANDOM_STEPPED:-3}
generator=${PTL_RANDOM_OPTIONS:-}
grep -qw avx2 /proc/cpuinfo || generator="$generator --without=avx"
if grep -qw avx512bw /proc/cpuinfo; then generator="$generator --avx512"; fi

# make_program SEED OPTION...: $scratch/program. The assembler is GNU's for each compiler: clang's reads Intel syntax otherwise.
make_program() {
	# shellcheck disable=SC2086 # options are words
	"$python" "$PTL_TESTS/e2e/random_program.py" $generator "$@" >"$scratch/program.s" &&
		as -o "$scratch/program.o" "$scratch/program.s" &&
		ld --no-warn-rwx-segments -o "$scratch/program" "$scratch/program.o"
}

# judge_program SEED OPTIONS
judge_program() {
	run_natively "$scratch/program"
	[ "$(cat "$scratch/native/status")" -eq 0 ] || return 1
	record_with "$2" "$scratch/program"
	same_outcome || return 1
	[ $(($1 % stepped)) -eq 0 ] || return 0
	step_through 3000000 "$scratch/program"
	same_flow
}

seed=$first
while [ "$seed" -lt $((first + programs_wanted)) ]; do
	words=$(options_of $((seed % 16)))
	if make_program "$seed"; then
		judge_program "$seed" "$words"
		status=$?
	else
		status=1
	fi
	if ! result $status "seed $seed ($words)"; then
		note "random_program.py $generator $seed"
		cp "$scratch/program" "$scratch/program.s" "$scratch/native"
		keep "$seed"
	fi
	seed=$((seed + 1))
done

# The same with a timer signal every 20 microseconds: how many there are differs, the result does not.
seed=$first
while [ "$seed" -lt $((first + programs_wanted / 3)) ]; do
	words=$(options_of $((seed * 3 % 8)))
	make_program --signals --rounds 300 "$seed" && run_natively "$scratch/program" && record_with "$words" "$scratch/program" &&
		[ "$(cat "$scratch/native/status")" -eq 0 ] && same_outcome && without_gaps
	if ! result $? "seed $seed with signals ($words)"; then
		note "random_program.py $generator --signals --rounds 300 $seed"
		cp "$scratch/program" "$scratch/program.s" "$scratch/native"
		keep "signals-$seed"
	fi
	seed=$((seed + 1))
done
finish
