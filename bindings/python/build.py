#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes ptl/_declarations.py: the declarations of the public headers for cffi (out of line, ABI mode).

  bindings/python/build.py OUTPUT-FOLDER        from the top of the sources
"""
import os
import re
import sys

import cffi

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "packaging"))
from declarations import declarations  # noqa: E402

HEADERS = ("bytes", "error", "event", "guid", "kernel", "reader", "relogger", "trace", "writer", "flow", "decoder", "analysis", "calls", "profile")


def loops():
    with open(os.path.join(TOP, "bindings/python/loops.h"), encoding="utf-8") as file:
        return re.search(r"--- what Python sees --- \*/(.*)/\* --- end", file.read(), re.S).group(1)


def main():
    ffi = cffi.FFI()
    public = declarations(TOP, ("format/include", "flow/include", "analysis/include"), [f"ptl/{header}.h" for header in HEADERS], os.environ.get("CC") or "gcc")
    ffi.cdef("\n".join(public) + loops())
    ffi.cdef("void free(void *memory);")
    ffi.set_source("ptl._declarations", None)
    ffi.compile(tmpdir=sys.argv[1])


main()
