# SPDX-License-Identifier: BSD-2-Clause
"""Access to libptl and libptl-flow by the declarations of their public headers. Failures become exceptions."""
import os
from typing import Any, Optional

from ._declarations import ffi as _ffi  # type: ignore[import]

ffi: Any = _ffi

# _loops.so is linked with libptl.so.0 and libptl-flow.so.0, so it gives access to their functions, too.
lib: Any = ffi.dlopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), "_loops.so"))

NO_ID = 0xFFFFFFFF  # id of no process, thread, CPU or image


class Error(Exception):
    """A failure of libptl. status: value of enum ptl_status. name: name of the value."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.name = string(lib.ptl_status_name(status))
        super().__init__(text or self.name)


def string(text: Any) -> str:
    """Converts a C string. Keeps bytes that are not UTF-8, as os.fsdecode does: names from the system may have such bytes."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "surrogateescape")


def check(status: int) -> int:
    if status < 0:
        raise Error(status, string(lib.ptl_error_text()))
    return status


def number(value: int) -> Optional[int]:
    """Converts an id; None for NO_ID."""
    return None if value == NO_ID else value
