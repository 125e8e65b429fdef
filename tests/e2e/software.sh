# SPDX-License-Identifier: BSD-2-Clause
# Sourced by tests of --source software: compares a recorded program with its native run, and its flow with single steps.
#
# PTL_KEEP=FOLDER keeps the files of differing runs.
# shellcheck shell=sh
set -u

# shellcheck source=tests/e2e/tap.sh
. "$PTL_TESTS/e2e/tap.sh"

record=$PTL_BIN/ptl-record
dump=$PTL_BIN/ptl-dump
# shellcheck disable=SC2034 # for the tests
programs=$PTL_PROGRAMS
python=${PYTHON:-/usr/bin/python3}
source=software
step=$PTL_TEST_TOOLS/single_step
flow=$PTL_TEST_TOOLS/flow_compare
# Commands run in separate folders, without standard input and terminal.
mkdir "$scratch/work" "$scratch/native" "$scratch/recorded" "$scratch/stepped"
export LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PERL_HASH_SEED=0 TZ=UTC
# Limit of a command's run in seconds.
limit=${PTL_COMMAND_LIMIT:-60}

# Prints the options of configuration $1, a number from 0 to 15: bit 0 return compression off, bits 1 and 2 the timing mode, bit 3 the
# virtual clock. 16: timing mode tsc with the smallest distance of PSBs.
options_of() {
	if [ "$1" -eq 16 ]; then
		printf '%s' '--psb-period=256 --timing=tsc'
		return
	fi
	[ $(($1 & 1)) -eq 1 ] && printf '%s ' --no-retcomp
	case $(($1 >> 1 & 3)) in
	0) printf '%s ' --timing=none ;;
	1) printf '%s ' --timing=tsc ;;
	2) printf '%s ' --timing=mtc ;;
	3) printf '%s ' --timing=cyc ;;
	esac
	if [ $(($1 >> 3)) -eq 1 ]; then printf '%s' --clock=virtual; else printf '%s' --clock=real; fi
}

# Ends the test if the source does not work here.
need_source() {
	if ! "$record" --list-sources 2>/dev/null | grep -Eq "^ *$source +works"; then
		echo "1..0 # SKIP ptl-record has no source $source"
		exit 0
	fi
	if ! setarch -R true 2>/dev/null; then
		echo '1..0 # SKIP address space randomization cannot be turned off here'
		exit 0
	fi
	"$record" -q -f --source "$source" -o "$scratch/first.ptl" -- true >"$scratch/first" 2>&1 && return
	result 1 "true is recorded with --source $source"
	show "$scratch/first"
	finish
	exit 1
}

# keep NAME: keeps the files of a failure for later.
keep() {
	[ -n "${PTL_KEEP:-}" ] || return 0
	kept=$PTL_KEEP/$(echo "${0##*/}-$1" | tr -c 'A-Za-z0-9._\n-' _)
	rm -rf "$kept"
	mkdir -p "$kept"
	cp -r "$scratch/native" "$scratch/recorded" "$scratch/stepped" "$kept"
	note "kept in $kept"
}

# run_in FOLDER COMMAND...: runs a command. Output, errors and exit status become files of FOLDER.
# The status of a process killed by a signal is 128 + signal in both runs.
run_in() {
	place=$1
	shift
	rm -rf "$scratch/work"
	mkdir "$scratch/work"
	(cd "$scratch/work" && exec timeout -k 5 "$limit" "$@") >"$place/out" 2>"$place/err" </dev/null
	echo $? >"$place/status"
}

run_natively() {
	run_in "$scratch/native" setarch -R "$@"
}

# record_with OPTIONS COMMAND...: records the command. OPTIONS: words in one string.
record_with() {
	record_options=$1
	shift
	rm -f "$scratch/recorded/trace.ptl"
	# shellcheck disable=SC2086 # options are words
	run_in "$scratch/recorded" setarch -R "$record" -q --source "$source" -o "$scratch/recorded/trace.ptl" $record_options -- "$@"
}

# step_through MOST COMMAND...
step_through() {
	most=$1
	shift
	saved_limit=$limit
	limit=600
	run_in "$scratch/stepped" "$step" --most "$most" -o "$scratch/stepped/steps" -- "$@"
	limit=$saved_limit
}

# Compares output, errors and exit status of both runs, and prints differences.
same_outcome() {
	# Prints the recorder's messages, and removes them from the program's errors.
	grep -a '^ptl-record: ' "$scratch/recorded/err" | head -n 3 | sed 's/^/# /'
	grep -av '^ptl-record: ' "$scratch/recorded/err" >"$scratch/recorded/err.program"
	mv "$scratch/recorded/err.program" "$scratch/recorded/err"
	for file in status out err; do
		cmp -s "$scratch/native/$file" "$scratch/recorded/$file" && continue
		note "$file differs: native <, recorded >"
		diff -a "$scratch/native/$file" "$scratch/recorded/$file" | head -n 8 | cut -c 1-200 | sed 's/^/#     /'
		return 1
	done
}

# Options of flow_compare, as words.
compare_options=
# Compares the flow of the recorded run with the stepped run.
same_flow() {
	# shellcheck disable=SC2086 # options are words
	"$flow" $compare_options "$scratch/recorded/trace.ptl" "$scratch/stepped/steps" >"$scratch/flow" 2>&1 && return
	sed 's/^/# /' "$scratch/flow" | head -n 45
	return 1
}

# Checks that ptl-dump stats --json shows instructions and no gaps.
without_gaps() {
	"$dump" stats --json "$scratch/recorded/trace.ptl" >"$scratch/stats" 2>"$scratch/stats.err" &&
		grep -q '^{"instructions":[1-9][0-9]*,"blocks":[0-9]*,"branches":[0-9]*,"gaps":0,' "$scratch/stats" && return
	cut -c 1-120 "$scratch/stats" | head -n 1 | sed 's/^/# /'
	show "$scratch/stats.err"
	"$dump" stats "$scratch/recorded/trace.ptl" 2>&1 | sort -k 6 | head -n 12 | sed 's/^/# /'
	return 1
}

# make_text FILE SIZE: writes a text of SIZE bytes, always the same: sentences of 4,000 invented words, some of them frequent.
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
