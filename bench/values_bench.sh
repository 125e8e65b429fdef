#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of --values: see bench/values_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/values_bench.py" "$@"
