#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: fork, exec in every way, deaths, and programs that run others.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

every 'fork without exec' "$programs/fork_no_exec" tree
unstepped '1 4 11 14' fork_no_exec "$programs/fork_no_exec"
some processes "$programs/processes"
# Threads that SIGKILL ends compute until then.
main_threads every deaths "$programs/deaths"
unstepped '2 7 8 13' processes "$programs/processes"
# execve fails for most folders of PATH, in several threads at once.
unstepped '2 7' spawns_in_threads "$programs/spawns_in_threads"

# The recorded program itself dies.
big 'dies of a fault' "$programs/deaths" segv
big 'dies of abort' "$programs/deaths" abort
big 'dies of SIGKILL' "$programs/deaths" kill
big 'dies of SIGTERM' "$programs/deaths" term
finish
