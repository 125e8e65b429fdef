#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures recorders of the kernel's events beside each other: see bench/load_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/load_bench.py" "$@"
