#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures how ptl-record drains Intel PT of the kernel: see bench/aux_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/aux_bench.py" "$@"
