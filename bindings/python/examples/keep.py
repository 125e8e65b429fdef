#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps the events of one name, and those of the kernel: processes, images, code.

  keep.py IN.ptl OUT.ptl EVENT-NAME
"""
import sys

import ptl


def wanted(event: ptl.RelogEvent) -> bool:
    """What the trace needs to be understood stays: events of the kernel."""
    return event.provider == "Kernel" or event.name == sys.argv[3]


relogger = ptl.Relogger(sys.argv[2], sys.argv[1])
relogger.stage(event=wanted)
print(relogger.process())
