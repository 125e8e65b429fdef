#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: text through gzip, gunzip and xz with two threads: 2 MB, and 27 with PTL_SOAK.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

megabytes=${PTL_SOAK:+27}
megabytes=${megabytes:-2}
make_text "$scratch/text" "${megabytes}000000"
gzip -1 -k "$scratch/text"
turn=2
long "gzip -1 of $megabytes MB" gzip -1 -c "$scratch/text"
long "gunzip of $megabytes MB" gunzip -c "$scratch/text.gz"
unstepped 12 'xz -T2' xz -0 -T2 --block-size=1000000 -c "$scratch/text"
finish
