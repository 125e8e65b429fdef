#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares views of calls with views of uftrace and perf: see bench/views_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/views_bench.py" "$@"
