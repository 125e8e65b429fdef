#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: threads that work side by side, are cancelled, and are still running at the end.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

# Threads wait more or less often in each run.
unstepped_every threads "$programs/threads"
unstepped_every thread_pool "$programs/thread_pool"
finish
