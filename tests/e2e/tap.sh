# SPDX-License-Identifier: BSD-2-Clause
# Sourced by end-to-end tests in shell: a temporary folder, and TAP. A test ends with finish.
# shellcheck shell=sh
set -u

tests=0
name=${0##*/}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ptl-${name%.t}-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Prints text as diagnostics.
note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# Prints the end of a file as diagnostics.
show() {
	[ -s "$1" ] && tail -n 15 "$1" | cut -c 1-300 | sed "s|^|# ${1##*/}: |"
}

# result STATUS NAME: reports a test, passed if STATUS is 0.
result() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
	fi
	return "$1"
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

finish() {
	echo "1..$tests"
}
