#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# docs/tour.md: its commands are run as they stand there, and print what stands there, but for numbers and what "..." stands for.
import os

from document_test import run_document
from scratch_test import path, plan

with open(os.path.join(os.path.dirname(os.environ["PTL_TESTS"]), "docs", "tour.md"), encoding="utf-8") as file:
    tour = file.read()
os.mkdir(path("tour"))
run_document(tour, path("tour"), (("./sum 1 14 3", 1), ("diff --first", 1)))
plan()
