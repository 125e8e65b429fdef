#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: branches of every kind, calls that do not pair with returns, fibres, exceptions.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

program branches
program recursion
program fibres
program exceptions
program bare
program deep_calls
program inlined
if grep -q vsyscall /proc/self/maps; then every 'vsyscall page' "$programs/time_calls" page; fi
unstepped '0 5 10 15' time_calls "$programs/time_calls"
# Whether the C library waits for a thread at its end differs in each run.
unstepped '1 4 11 14' static "$programs/static"
unstepped '1 4 11 14' static_pie "$programs/static_pie"
finish
