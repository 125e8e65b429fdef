#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures the cost of recording by software for the recorded program: see bench/software_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/software_bench.py" "$@"
