#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Truth: 27 MB of text through gzip, gunzip and xz with two threads.
# shellcheck source=tests/e2e/truth.sh
. "$PTL_TESTS/e2e/truth.sh"

make_text "$scratch/text"
turn=2
big 'gzip -1 of 27 MB' gzip -1 -k -f "$scratch/text"
big 'gunzip of 27 MB' gunzip -k -f "$scratch/text.gz"
head -c 3000000 "$scratch/text" >"$scratch/part"
big 'xz -T2' xz -0 -T2 --block-size=1000000 -k -f "$scratch/part"
finish
