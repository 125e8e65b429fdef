#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Measures what recorders and profilers cost the same programs: see bench/cost_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/cost_bench.py" "$@"
