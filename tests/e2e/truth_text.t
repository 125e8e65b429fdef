#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: text through gzip, gunzip and xz with two threads: 8 MB, and 27 with PTL_SOAK.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

megabytes=${PTL_SOAK:+27}
megabytes=${megabytes:-8}
make_text "$scratch/text" "${megabytes}000000"
turn=2
big "gzip -1 of $megabytes MB" gzip -1 -k -f "$scratch/text"
big "gunzip of $megabytes MB" gunzip -k -f "$scratch/text.gz"
head -c 3000000 "$scratch/text" >"$scratch/part"
big 'xz -T2' xz -0 -T2 --block-size=1000000 -k -f "$scratch/part"
finish
