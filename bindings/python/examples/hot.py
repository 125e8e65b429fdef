#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists the addresses with the most executed instructions, using NumPy.

  hot.py TRACE.ptl [COUNT]
"""
import sys

import numpy
import ptl

ips, instructions = numpy.empty(0, "uint64"), numpy.empty(0, "uint64")
images = {}
with ptl.Trace(sys.argv[1]) as trace:
    flow = trace.flow()
    for part in flow.arrays("ip", "instructions", "image"):
        # Adds the counts of this part to the counts of earlier parts.
        found, first, back = numpy.unique(part["ip"], return_index=True, return_inverse=True)
        images.update(zip(found.tolist(), part["image"][first].tolist()))
        sums = numpy.bincount(back, weights=part["instructions"]).astype("uint64")
        ips, back = numpy.unique(numpy.concatenate((ips, found)), return_inverse=True)
        instructions = numpy.bincount(back, weights=numpy.concatenate((instructions, sums))).astype("uint64")
    for place in instructions.argsort()[::-1][:int(sys.argv[2]) if len(sys.argv) > 2 else 10]:
        ip = int(ips[place])
        print(f"{instructions[place]:>14,}  {ip:#14x}  {flow.image(images[ip])}")
