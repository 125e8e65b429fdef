# SPDX-License-Identifier: BSD-2-Clause
"""Reads traces: contents, events, processes."""
import os
import struct
import uuid
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from ._library import NO_ID, Error, check, ffi, lib, number, string

ROW = struct.Struct("<4Q5I2H4B48sI")  # struct python_event_row
assert ROW.size <= ffi.sizeof("struct python_event_row")
ROW_SIZE = ffi.sizeof("struct python_event_row")
ROW = struct.Struct(f"{ROW.format}{ROW_SIZE - ROW.size}x")
VALUES = 64

(U8, I8, U16, I16, U32, I32, U64, I64, F32, F64, BOOL8, BOOL32, POINTER, TIME, WALL_TIME, GUID, UTF8, UTF16, UTF8_COUNTED,
 UTF16_COUNTED, BYTES_COUNTED, BYTES, STRUCT) = range(1, 24)
SIGNED = (I8, I16, I32, I64, WALL_TIME)
CLOCKS = {1: "monotonic", 2: "monotonic-raw", 3: "perf", 4: "virtual", 5: "none", 6: "qpc", 7: "system", 8: "cycles"}
KINDS = {1: "metadata", 2: "events", 3: "pt", 4: "blob", 5: "index", 6: "truth"}


class Machine(NamedTuple):
    """The recording machine."""

    source: str  # "software", "intel_pt", "raw"
    software: bool  # software made the packets
    hostname: str
    kernel: str
    architecture: str
    cpus: int
    cpu_name: str
    clock: str
    start_time: int
    end_time: int
    wall_start: int  # nanoseconds since 1970 UTC


class Stream(NamedTuple):
    """A stream of a trace."""

    id: int
    kind: str
    cpu: Optional[int]
    pid: Optional[int]
    tid: Optional[int]
    bytes: int
    first_time: int
    last_time: int


class Process(NamedTuple):
    """A process, from its first event to its last event."""

    pid: int
    parent: Optional[int]
    start: Optional[int]  # None: before the trace began
    end: Optional[int]  # None: not in the trace
    wait_status: Optional[int]  # as of wait(2)
    name: str  # path of the last executed program
    command_line: str


class Field(NamedTuple):
    """A field of a schema."""

    name: str
    type: int  # enum ptl_type
    array: int  # enum ptl_array
    length: int
    array_length: int
    format: int = 0
    map: Optional[str] = None


class Schema:
    """Schema of a kind of events."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self.provider = string(schema.provider_name)
        self.provider_guid = uuid.UUID(bytes_le=bytes(schema.provider.bytes))
        self.name = string(schema.event_name)
        self.message = string(schema.message)
        self.id, self.version, self.opcode = schema.id, schema.version, schema.opcode
        self.fields = [Field(string(field.name), field.type, field.array, field.length, field.array_length, field.format,
                             string(field.map) or None)
                       for field in (schema.fields[i] for i in range(schema.field_count))]

    def __repr__(self) -> str:
        return f"<ptl.Schema {self.provider}/{self.name}>"

    def _walk(self, payload: bytes) -> Tuple[Any, int]:
        """Returns the steps of a payload and their number. A truncated payload gives the steps up to its end."""
        data, count = ffi.from_buffer(payload), ffi.new("size_t *")
        room = VALUES
        while True:
            values = ffi.new("struct python_value[]", room)
            status = lib.python_payload(self._schema, data, len(payload), values, room, count)
            if count[0] <= room:
                break
            room = count[0]
        if status < 0 and status != lib.PTL_TRUNCATED:
            check(status)
        return values, count[0]

    def decode(self, payload: bytes) -> Dict[str, Any]:
        """Decodes a payload to a dict of fields: numbers, str, bytes, uuid.UUID, lists for arrays, dicts for structures."""
        values, count = self._walk(payload)
        top: Dict[str, Any] = {}
        open_: List[Any] = [top]
        for i in range(count):
            value = values[i]
            if value.step in (lib.PTL_STEP_ARRAY_END, lib.PTL_STEP_STRUCT_END):
                open_.pop()
                continue
            field = self.fields[value.field]
            made: Any
            if value.step == lib.PTL_STEP_VALUE:
                made = convert(field, value.number, payload[value.offset:value.offset + value.size])
            else:
                made = [] if value.step == lib.PTL_STEP_ARRAY else {}
            if isinstance(open_[-1], list):
                open_[-1].append(made)
            else:
                open_[-1][field.name] = made
            if value.step != lib.PTL_STEP_VALUE:
                open_.append(made)
        return top


def convert(field: Field, value: int, data: bytes) -> Any:
    """Converts a field's value to a Python object."""
    if field.type in SIGNED:
        return value - (1 << 64) if value >> 63 else value
    if field.type in (F32, F64):
        return struct.unpack("<d", struct.pack("<Q", value))[0]
    if field.type in (BOOL8, BOOL32):
        return bool(value)
    if field.type == GUID:
        return uuid.UUID(bytes_le=data)
    if field.type in (UTF8, UTF8_COUNTED):
        return data.decode("utf-8", "surrogateescape")
    if field.type in (UTF16, UTF16_COUNTED):
        return data.decode("utf-16-le", "surrogatepass")
    return data if field.type in (BYTES, BYTES_COUNTED) else value


class Event:
    """An event. The payload is decoded on demand."""

    __slots__ = ("_trace", "_data", "_row")

    def __init__(self, trace: "Trace", data: bytes, row: Tuple[Any, ...]) -> None:
        self._trace, self._data, self._row = trace, data, row

    @property
    def time(self) -> int:
        """Nanoseconds of the trace's clock."""
        return self._row[0]

    @property
    def keyword(self) -> int:
        return self._row[1]

    @property
    def payload(self) -> bytes:
        return self._data[self._row[3]:self._row[3] + self._row[4]]

    @property
    def cpu(self) -> Optional[int]:
        return number(self._row[5])

    @property
    def pid(self) -> Optional[int]:
        return number(self._row[6])

    @property
    def tid(self) -> Optional[int]:
        return number(self._row[7])

    @property
    def injected(self) -> bool:
        """Whether a relogger has added the event."""
        return bool(self._row[8] & 4)

    @property
    def id(self) -> int:
        return self._row[9]

    @property
    def task(self) -> int:
        return self._row[10]

    @property
    def version(self) -> int:
        return self._row[11]

    @property
    def channel(self) -> int:
        return self._row[12]

    @property
    def level(self) -> int:
        return self._row[13]

    @property
    def opcode(self) -> int:
        return self._row[14]

    @property
    def provider_guid(self) -> uuid.UUID:
        return uuid.UUID(bytes_le=self._row[15][:16])

    @property
    def activity(self) -> Optional[uuid.UUID]:
        return uuid.UUID(bytes_le=self._row[15][16:32]) if self._row[8] & 1 else None

    @property
    def related(self) -> Optional[uuid.UUID]:
        return uuid.UUID(bytes_le=self._row[15][32:]) if self._row[8] & 2 else None

    @property
    def schema(self) -> Optional[Schema]:
        """Schema of the payload; None if the trace lacks the schema."""
        return self._trace._schema(self._row[2])

    @property
    def provider(self) -> str:
        schema = self.schema
        return schema.provider if schema else ""

    @property
    def name(self) -> str:
        schema = self.schema
        return schema.name if schema else ""

    @property
    def fields(self) -> Dict[str, Any]:
        """Field names and values of the payload; empty without a schema."""
        schema = self.schema
        return schema.decode(self.payload) if schema else {}

    def __repr__(self) -> str:
        return f"<ptl.Event {self.provider}/{self.name} at {self.time}>"


class Trace:
    """A trace file, open for reading."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = os.fspath(path)
        opened = ffi.new("struct ptl_trace **")
        check(lib.ptl_open(os.fsencode(self.path), ffi.NULL, opened))
        self._trace: Any = opened[0]
        self._schemas: Dict[int, Optional[Schema]] = {0: None}
        self._users: List[Any] = []

    def close(self) -> None:
        """Closes the file, and ends all loops over the trace."""
        for user in self._users[:]:
            user._end()
        if self._trace != ffi.NULL:
            lib.ptl_close(self._trace)
        self._trace = ffi.NULL

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_trace", ffi.NULL) != ffi.NULL:
            self.close()

    def _open(self) -> Any:
        if self._trace == ffi.NULL:
            raise ValueError("the trace is closed")
        return self._trace

    def _schema(self, address: int) -> Optional[Schema]:
        if address not in self._schemas:
            self._open()
            self._schemas[address] = Schema(ffi.cast("struct ptl_schema *", address))
        return self._schemas[address]

    @property
    def complete(self) -> bool:
        """Whether the writer has closed the trace."""
        return bool(lib.ptl_trace_complete(self._open()))

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return int(lib.ptl_trace_size(self._open()))

    @property
    def machine(self) -> Machine:
        machine = lib.ptl_trace_machine(self._open())
        return Machine(string(machine.source), bool(machine.software), string(machine.hostname), string(machine.kernel),
                       string(machine.architecture), machine.cpus, string(machine.cpu_name),
                       CLOCKS.get(machine.clock, "unknown"), machine.start_time, machine.end_time, machine.wall_start)

    @property
    def streams(self) -> List[Stream]:
        found = (lib.ptl_stream_at(self._open(), i) for i in range(lib.ptl_stream_count(self._open())))
        return [Stream(one.id, KINDS.get(one.kind, "unknown"), number(one.cpu), number(one.pid), number(one.tid), one.bytes,
                       one.first_time, one.last_time) for one in found]

    @property
    def schemas(self) -> List[Schema]:
        return [Schema(lib.ptl_schema_at(self._open(), i)) for i in range(lib.ptl_schema_count(self._open()))]

    @property
    def damage(self) -> List[str]:
        """Descriptions of damage found so far; complete after the whole trace was read."""
        found = (lib.ptl_damage_at(self._open(), i) for i in range(lib.ptl_damage_count(self._open())))
        return [string(one.text) for one in found]

    def events(self, first_time: int = 0, last_time: int = 0, provider: Optional[uuid.UUID] = None) -> Iterator[Event]:
        """Yields events in order of time, between the times (0: no limit) and of the provider (None: all providers)."""
        chunks = Chunks(self, first_time, last_time, provider)
        try:
            for data, rows in chunks:
                for row in ROW.iter_unpack(rows):
                    yield Event(self, data, row)
        finally:
            chunks._end()

    def processes(self) -> List[Process]:
        """Returns the processes in order of their first events."""
        found: Dict[int, Dict[str, Any]] = {}
        live: Dict[int, int] = {}  # pid: key in found
        for event in self.events(provider=PROCESS_PROVIDER):
            fold_process(event, found, live)
        return [Process(**one) for one in found.values()]

    def flow(self, **selection: Any) -> "Flow":
        """Returns the executed code. selection: arguments of ptl.Flow."""
        return Flow(self, **selection)


class Chunks:
    """Events of a trace in chunks from libptl: payloads and rows."""

    def __init__(self, trace: Trace, first_time: int, last_time: int, provider: Optional[uuid.UUID]) -> None:
        opened = ffi.new("struct python_events **")
        guid = provider.bytes_le if provider else ffi.NULL
        check(lib.python_events_open(trace._open(), first_time, last_time, guid, opened))
        self._events: Any = opened[0]
        self._trace = trace
        trace._users.append(self)

    def __iter__(self) -> Iterator[Tuple[bytes, bytes]]:
        chunk = ffi.new("struct python_chunk *")
        while True:
            if self._events == ffi.NULL:
                raise ValueError("the trace is closed")
            status = lib.python_events_next(self._events, chunk)
            if status < 0:
                raise Error(status, string(lib.python_events_error(self._events)))
            if not status:
                return
            yield ffi.buffer(chunk.bytes, chunk.size)[:] if chunk.size else b"", ffi.buffer(chunk.rows, chunk.count * ROW_SIZE)[:]

    def _end(self) -> None:
        if self._events != ffi.NULL:
            lib.python_events_close(self._events)
            self._events = ffi.NULL
            self._trace._users.remove(self)


PROCESS_PROVIDER = uuid.UUID(bytes_le=bytes(lib.PTL_PROVIDER_PROCESS.bytes))


def fold_process(event: Event, found: Dict[int, Dict[str, Any]], live: Dict[int, int]) -> None:
    """Updates found and live with a process event. Opcodes are of enum ptl_kernel_opcode."""
    said = event.fields
    pid, opcode = said.get("ProcessId", 0), event.opcode
    if opcode in (1, 3) or pid not in live:
        live[pid] = len(found)
        found[live[pid]] = {"pid": pid, "parent": number(said.get("ParentId", NO_ID)), "start": event.time if opcode == 1 else None,
                            "end": None, "wait_status": None, "name": said.get("ImageFileName", ""),
                            "command_line": said.get("CommandLine", "")}
    process = found[live[pid]]
    if opcode == 64:
        process["name"] = said.get("ImageFileName", "")
        process["command_line"] = said.get("CommandLine", "")
    if opcode == 2:
        process["end"], process["wait_status"] = event.time, said.get("ExitStatus")
        del live[pid]


from .flow import Flow  # noqa: E402 (flow.py has Trace in its types)
