#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: fork, exec in every way, deaths, and programs that run others.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

program fork_no_exec
program processes
program deaths

# The recorded program itself dies.
truth 'dies of a fault' 139 --timing=cyc "$programs/deaths" segv
truth 'dies of abort' 134 --timing=mtc "$programs/deaths" abort
truth 'dies of SIGKILL' 137 --timing=tsc "$programs/deaths" kill
truth 'dies of SIGTERM' 143 --timing=none "$programs/deaths" term
finish
