#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares recorders of kernel events: see bench/load_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/load_bench.py" "$@"
