#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures what a fleet of traces costs: see bench/scale_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/scale_bench.py" "$@"
