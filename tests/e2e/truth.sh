# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the truth tests: records a command with its truth and compares every instruction address.
#
# A configuration is a number from 0 to 15: bit 0 return compression off, bits 1 and 2 the timing mode, bit 3
# the virtual clock. What is small runs in all of them; what is big takes the next one each time, so that the
# big programs together meet all of them. PTL_SOAK=1 runs everything in all.
# shellcheck shell=sh
set -u

# shellcheck source=tests/e2e/tap.sh
. "$PTL_TESTS/e2e/tap.sh"

record=$PTL_BIN/ptl-record
# shellcheck disable=SC2034 # for the tests
dump=$PTL_BIN/ptl-dump
compare=$PTL_TEST_TOOLS/truth_compare
programs=$PTL_PROGRAMS
python=${PYTHON:-/usr/bin/python3}

# The options of configuration $1.
options_of() {
	[ $(($1 & 1)) -eq 1 ] && printf '%s ' --no-retcomp
	case $(($1 >> 1 & 3)) in
	0) printf '%s ' --timing=none ;;
	1) printf '%s ' --timing=tsc ;;
	2) printf '%s ' --timing=mtc ;;
	3) printf '%s ' --timing=cyc ;;
	esac
	if [ $(($1 >> 3)) -eq 1 ]; then printf '%s' --clock=virtual; else printf '%s' --clock=real; fi
}

# Whether standard output of the recorded command is that of a run without recorder.
expected_output=

# truth NAME STATUS OPTIONS COMMAND...: records COMMAND with OPTIONS (words) and compares. STATUS is the exit
# status the command has to have.
truth() {
	name=$1 status=$2 options=$3
	shift 3
	rm -f "$scratch/trace.ptl" "$scratch/truth"
	# shellcheck disable=SC2086 # options are words
	"$record" -o "$scratch/trace.ptl" --truth "$scratch/truth" $options -- "$@" \
		>"$scratch/stdout" 2>"$scratch/stderr"
	got=$?
	if [ "$got" -ne "$status" ]; then
		result 1 "$name ($options)"
		note "exit status $got instead of $status"
		show "$scratch/stderr"
		return 1
	fi
	if [ -n "$expected_output" ] && ! cmp -s "$expected_output" "$scratch/stdout"; then
		result 1 "$name ($options)"
		note 'its output differs from that of a run without recorder'
		show "$scratch/stdout"
		return 1
	fi
	"$compare" "$scratch/trace.ptl" "$scratch/truth" >"$scratch/compare" 2>&1
	got=$?
	result $got "$name ($options)"
	if [ $got -ne 0 ]; then
		show "$scratch/compare"
		show "$scratch/stderr"
		[ -n "${PTL_KEEP:-}" ] && mkdir -p "$PTL_KEEP/$tests" &&
			cp "$scratch/trace.ptl" "$scratch/truth" "$PTL_KEEP/$tests"
	fi
	return $got
}

# Where the rotation of the big ones begins in this file; a test may set it before its first `big`.
turn=${turn:-0}

# big NAME COMMAND...: one configuration, another each time.
big() {
	name=$1
	shift
	if [ -n "${PTL_SOAK:-}" ]; then
		every "$name" "$@"
		return
	fi
	truth "$name" 0 "$(options_of $((turn % 16)))" "$@"
	# 5 and 16 have no common divisor: all are met, and neighbours differ in more than one thing.
	turn=$((turn + 5))
}

# some NAME COMMAND...: four configurations, which have every timing mode, and both of all else.
some() {
	name=$1
	shift
	if [ -n "${PTL_SOAK:-}" ]; then
		every "$name" "$@"
		return
	fi
	for configuration in 0 5 10 15; do
		truth "$name" 0 "$(options_of $configuration)" "$@"
	done
}

# every NAME COMMAND...: all configurations, and one with PSBs as close as can be.
every() {
	name=$1
	shift
	for configuration in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		truth "$name" 0 "$(options_of $configuration)" "$@"
	done
	truth "$name" 0 '--psb-period=256 --timing=tsc' "$@"
}

# program NAME: a program of testdata/programs in all configurations; its output must stay what it is.
program() {
	expected_output=$scratch/expected
	if ! "$programs/$1" >"$expected_output" 2>"$scratch/stderr"; then
		result 1 "$1 by itself"
		show "$scratch/stderr"
	else
		every "$1" "$programs/$1"
	fi
	expected_output=
}

# A text of as many bytes, the same every time: sentences of 4,000 made-up words, some of them frequent.
make_text() {
	"$python" - "$@" <<'END'
import random, sys
random.seed(27)
syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
words = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(4000)]
weights = [1 / (rank + 2) for rank in range(len(words))]
size, wanted = 0, int(sys.argv[2])
with open(sys.argv[1], "w") as file:
    while size < wanted:
        line = " ".join(random.choices(words, weights, k=2000)).replace(" ba ", ".\n")
        size += file.write(line[:wanted - size])
END
}
