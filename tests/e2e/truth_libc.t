#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: programs that do not use glibc's shared library. Static programs of musl, of Go (which has no C library) and of Rust: threads,
# signals, fork and exec.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

mkdir "$scratch/musl"

# musl OPTIONS NAME FUNCTION...: builds a program of testdata/programs with musl, and runs FUNCTION with it.
musl() {
	options=$1 program=$2
	shift 2
	# shellcheck disable=SC2086 # options are words
	if ! musl-gcc -O2 -g -pthread $options -D_GNU_SOURCE -I"$PTL_TESTDATA/programs" -o "$scratch/musl/$program" \
		"$PTL_TESTDATA/programs/$program.c" >"$scratch/built" 2>&1; then
		result 1 "$program is built with musl"
		show "$scratch/built"
		return
	fi
	"$@" "$scratch/musl/$program"
}

if command -v musl-gcc >/dev/null; then
	musl -static turns in_configurations '0 7 10' 'musl, turns'
	musl -static-pie turns in_configurations '13' 'musl, turns, position-independent'
	musl '' turns in_configurations '5' 'musl, turns, shared library'
	musl -static branches in_configurations '3' 'musl, branches'
	musl -static processes unstepped '4 11' 'musl, processes'
	musl -static threads unstepped '1 14' 'musl, threads'
	musl -static thread_pool unstepped '2' 'musl, thread_pool'
	musl -static signals unstepped '6 9' 'musl, signals'
	musl -static signal_timer unstepped '8' 'musl, signal_timer'
else
	skip 'static programs of musl' 'there is no musl-gcc'
fi

# within PATTERN NUMBERS NAME COMMAND...: as in_configurations, but compares the addresses of the functions that PATTERN matches, for
# programs whose other code waits for threads or random numbers. COMMAND's first word is the program.
within() {
	pattern=$1
	shift
	nm -S "$3" | awk -v pattern="$pattern" 'NF == 4 && $3 ~ /^[tT]$/ && $4 ~ pattern { print $1, $2 }' >"$scratch/ranges"
	compare_options="--within $scratch/ranges"
	in_configurations "$@"
	compare_options=
}

if command -v go >/dev/null; then
	export GOMAXPROCS=1 GOGC=off GODEBUG=asyncpreemptoff=1
	if GOCACHE="$scratch/cache" GO111MODULE=off GOTOOLCHAIN=local GOFLAGS='' go build -o "$scratch/turns_go" \
		"$PTL_TESTDATA/go/turns.go" >"$scratch/built" 2>&1; then
		most=500000
		within '^main\.' '6' 'Go, turns' "$scratch/turns_go" alone
		unstepped '8' 'Go, turns' "$scratch/turns_go"
	else
		result 1 'a program of Go is built'
		show "$scratch/built"
	fi
	unset GOMAXPROCS GOGC GODEBUG
else
	skip 'a program of Go' 'there is no go'
fi

if command -v rustc >/dev/null; then
	if rustc -O -g -C codegen-units=1 -C target-feature=+crt-static -C relocation-model=static -o "$scratch/turns_rust" \
		"$PTL_TESTDATA/rust/turns.rs" >"$scratch/built" 2>&1; then
		within '5turns(4main|5child|5fails|6panics|7collatz)' '9' 'Rust, turns' "$scratch/turns_rust" alone
		unstepped '4' 'Rust, turns' "$scratch/turns_rust"
	else
		result 1 'a program of Rust is built'
		show "$scratch/built"
	fi
else
	skip 'a program of Rust' 'there is no rustc'
fi
finish
