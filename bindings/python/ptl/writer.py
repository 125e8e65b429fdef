# SPDX-License-Identifier: BSD-2-Clause
"""Writes a trace of custom events."""
import os
import struct
import time
import uuid
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._library import NO_ID, check, ffi, lib
from .trace import (BOOL8, BOOL32, F32, F64, GUID, I8, I16, I32, I64, POINTER, TIME, U8, U16, U32, U64, UTF8, UTF16,
                    WALL_TIME)

TYPES = {"u8": U8, "i8": I8, "u16": U16, "i16": I16, "u32": U32, "i32": I32, "u64": U64, "i64": I64, "f32": F32, "f64": F64,
         "bool": BOOL8, "bool32": BOOL32, "pointer": POINTER, "time": TIME, "wall_time": WALL_TIME, "guid": GUID, "utf8": UTF8,
         "utf16": UTF16}
KIND_EVENTS = 2


class WriterSchema:
    """A kind of event, declared by Writer.schema."""

    def __init__(self, schema: Any, keep: List[Any], fields: Sequence[Tuple[str, str]]) -> None:
        self._schema, self._keep, self.fields = schema, keep, list(fields)

    def encode(self, values: Dict[str, Any]) -> bytes:
        """Encodes the values as a payload."""
        missing = [name for name, _ in self.fields if name not in values]
        unknown = sorted(values.keys() - {name for name, _ in self.fields})
        if missing or unknown:
            raise ValueError(f"the event needs {missing[0]}" if missing else f"the event has no field {unknown[0]}")
        keep: List[Any] = []
        made = ffi.new("struct ptl_value[]", len(self.fields))
        for i, (name, kind) in enumerate(self.fields):
            made[i].field = self._schema.fields + i
            set_value(made[i], TYPES[kind], values[name], keep)
        out = ffi.new("struct ptl_bytes *")
        try:
            check(lib.ptl_payload_encode(self._schema, made, len(self.fields), out))
            return bytes(ffi.buffer(out.data, out.size)) if out.size else b""
        finally:
            LIBC.free(out.data)


LIBC: Any = ffi.dlopen(None)


def set_value(out: Any, kind: int, value: Any, keep: List[Any]) -> None:
    if kind in (F32, F64):
        out.f = value
    elif kind in (GUID, UTF8, UTF16):
        data = value.bytes_le if kind == GUID else str(value).encode("utf-8" if kind == UTF8 else "utf-16-le", "surrogateescape")
        keep.append(ffi.new("uint8_t[]", data or b"\0"))
        out.bytes, out.size = keep[-1], len(data)
    elif kind in (I8, I16, I32, I64, WALL_TIME):
        out.i = value
    else:
        out.u = value


class Writer:
    """A new trace file.

        with ptl.Writer("out.ptl") as writer:
            order = writer.schema("Example-Shop", "Order", 1, [("Customer", "utf8"), ("Pieces", "u32")])
            writer.event(order, time=1000, Customer="Zoë", Pieces=3)

    The file must not exist. Times of events should not go back.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        made = ffi.new("struct ptl_writer **")
        status = lib.ptl_writer_open(file, ffi.NULL, made)
        if status < 0:
            os.close(file)
        check(status)
        self._writer: Any = made[0]
        machine = ffi.new("struct ptl_machine *")
        machine.source, machine.architecture, machine.clock = b"python", os.uname().machine.encode()[:32], lib.PTL_CLOCK_MONOTONIC
        machine.wall_start, machine.start_time = time.time_ns(), time.monotonic_ns()
        check(lib.ptl_writer_machine(self._writer, machine))
        stream = ffi.new("struct ptl_stream *")
        stream.kind, stream.cpu, stream.pid, stream.tid = KIND_EVENTS, NO_ID, NO_ID, NO_ID
        check(lib.ptl_writer_stream(self._writer, stream))
        self._stream = stream.id

    def _open(self) -> Any:
        if self._writer == ffi.NULL:
            raise ValueError("the writer is closed")
        return self._writer

    def schema(self, provider: str, name: str, number: int, fields: Sequence[Tuple[str, str]], *, level: int = 4,
               version: int = 0, guid: Optional[uuid.UUID] = None, message: str = "") -> WriterSchema:
        """Declares a kind of event. fields: names and types ("u32", "utf8", ...: keys of writer.TYPES).

        guid: default is a UUID made of the provider's name.
        """
        keep: List[Any] = []

        def text(value: str) -> Any:
            keep.append(ffi.new("char[]", value.encode("utf-8", "surrogateescape")))
            return keep[-1]

        made = ffi.new("struct ptl_schema *")
        made.provider.bytes = (guid or uuid.uuid5(uuid.NAMESPACE_DNS, provider)).bytes_le
        made.id, made.version, made.level = number, version, level
        made.provider_name, made.event_name, made.message = text(provider), text(name), text(message)
        made.task_name = made.opcode_name = text("")
        members = ffi.new("struct ptl_field[]", max(len(fields), 1))
        for i, (field, kind) in enumerate(fields):
            if kind not in TYPES:
                raise ValueError(f"no type {kind}: there are {', '.join(TYPES)}")
            members[i].name, members[i].type = text(field), TYPES[kind]
        made.fields, made.field_count = members, len(fields)
        keep.append(members)
        check(lib.ptl_writer_schema(self._open(), made))
        return WriterSchema(made, keep, fields)

    def event(self, schema: WriterSchema, *, time: int, pid: Optional[int] = None, tid: Optional[int] = None,
              cpu: Optional[int] = None, **values: Any) -> None:
        """Writes an event. For a field named like a parameter, use `schema.encode` and payload()."""
        self.payload(schema, schema.encode(values), time=time, pid=pid, tid=tid, cpu=cpu)

    def payload(self, schema: WriterSchema, payload: bytes, *, time: int, pid: Optional[int] = None, tid: Optional[int] = None,
                cpu: Optional[int] = None) -> None:
        """Writes an event with an encoded payload."""
        made, data = ffi.new("struct ptl_event *"), ffi.from_buffer(payload)
        known = schema._schema
        made.descriptor.provider = known.provider
        made.descriptor.id, made.descriptor.version, made.descriptor.level = known.id, known.version, known.level
        made.time = time
        made.pid, made.tid, made.cpu = (NO_ID if one is None else one for one in (pid, tid, cpu))
        made.payload, made.payload_size = ffi.cast("uint8_t *", data), len(payload)
        check(lib.ptl_writer_event(self._open(), self._stream, made))

    def close(self) -> None:
        """Writes buffered data, and closes the file."""
        if self._writer != ffi.NULL:
            writer, self._writer = self._writer, ffi.NULL
            check(lib.ptl_writer_close(writer))

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_writer", ffi.NULL) != ffi.NULL:
            lib.ptl_writer_abandon(self._writer)
