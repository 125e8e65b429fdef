# SPDX-License-Identifier: BSD-2-Clause
"""libptl and libptl-flow, by what their public headers declare; failures as exceptions."""
import os
from typing import Any, Optional

from ._declarations import ffi as _ffi  # type: ignore[import]

ffi: Any = _ffi

# Brings libptl.so.0 and libptl-flow.so.0 with it, whose names are found through it.
lib: Any = ffi.dlopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), "_loops.so"))

NO_ID = 0xFFFFFFFF  # of processes, threads, CPUs and images: none


class Error(Exception):
    """What libptl says of a failure; status is a number of enum ptl_status, name its name."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.name = string(lib.ptl_status_name(status))
        super().__init__(text or self.name)


def string(text: Any) -> str:
    """A C string; names that the system gave may be no UTF-8: their bytes are kept as os.fsdecode does."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "surrogateescape")


def check(status: int) -> int:
    if status < 0:
        raise Error(status, string(lib.ptl_error_text()))
    return status


def number(value: int) -> Optional[int]:
    """An id, None where there is none."""
    return None if value == NO_ID else value
