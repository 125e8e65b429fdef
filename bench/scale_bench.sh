#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of a fleet of traces: see bench/scale_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/scale_bench.py" "$@"
