#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps events with one name, and kernel events: processes, images, code.

  keep.py IN.ptl OUT.ptl EVENT-NAME
"""
import sys

import ptl


def wanted(event: ptl.RelogEvent) -> bool:
    """Keeps kernel events, too: the trace cannot be understood without kernel events."""
    return event.provider == "Kernel" or event.name == sys.argv[3]


relogger = ptl.Relogger(sys.argv[2], sys.argv[1])
relogger.stage(event=wanted)
print(relogger.process())
