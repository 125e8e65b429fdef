#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: branches of every kind, calls that do not pair with returns, fibres, exceptions.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

program branches
program recursion
program fibres
program exceptions
program time_calls
program bare
program static
program static_pie
finish
