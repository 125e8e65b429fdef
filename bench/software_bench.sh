#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What recording by software costs the recorded program: see bench/software_bench.py.
exec "${PYTHON:-/usr/bin/python3}" "$(dirname "$0")/software_bench.py" "$@"
