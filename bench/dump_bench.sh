#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures ptl-dump: see bench/dump_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/dump_bench.py" "$@"
