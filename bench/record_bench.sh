#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures ptl-record: see bench/record_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/record_bench.py" "$@"
