# SPDX-License-Identifier: BSD-2-Clause
"""Rewrites traces with callbacks, like ITraceRelogger of Windows."""
import os
import uuid
from typing import Any, Callable, Dict, List, Optional, Union

from ._library import NO_ID, check, ffi, lib, number
from .trace import Schema

Path = Union[str, "os.PathLike[str]"]


class RelogEvent:
    """An event in a callback, or a copy. Setting an attribute changes the event. Invalid after the callback has returned."""

    def __init__(self, relogger: "Relogger", event: Any) -> None:
        self._relogger, self._event = relogger, event

    def _record(self) -> Any:
        if self._event == ffi.NULL:
            raise ValueError("the event's callback has returned")
        return lib.ptl_event_record(self._event)

    @property
    def time(self) -> int:
        return int(self._record().time)

    @time.setter
    def time(self, value: int) -> None:
        self._record()
        lib.ptl_event_set_time(self._event, value)

    @property
    def pid(self) -> Optional[int]:
        return number(self._record().pid)

    @pid.setter
    def pid(self, value: Optional[int]) -> None:
        self._record()
        lib.ptl_event_set_pid(self._event, NO_ID if value is None else value)

    @property
    def tid(self) -> Optional[int]:
        return number(self._record().tid)

    @tid.setter
    def tid(self, value: Optional[int]) -> None:
        self._record()
        lib.ptl_event_set_tid(self._event, NO_ID if value is None else value)

    @property
    def cpu(self) -> Optional[int]:
        return number(self._record().cpu)

    @cpu.setter
    def cpu(self, value: Optional[int]) -> None:
        self._record()
        lib.ptl_event_set_cpu(self._event, NO_ID if value is None else value)

    @property
    def payload(self) -> bytes:
        record = self._record()
        return bytes(ffi.buffer(record.payload, record.payload_size)) if record.payload_size else b""

    @payload.setter
    def payload(self, value: bytes) -> None:
        self._record()
        check(lib.ptl_event_set_payload(self._event, value, len(value)))

    @property
    def id(self) -> int:
        return int(self._record().descriptor.id)

    @property
    def level(self) -> int:
        return int(self._record().descriptor.level)

    @property
    def opcode(self) -> int:
        return int(self._record().descriptor.opcode)

    @property
    def provider_guid(self) -> uuid.UUID:
        return uuid.UUID(bytes_le=bytes(self._record().descriptor.provider.bytes))

    @property
    def schema(self) -> Optional[Schema]:
        """Schema of the payload; None if the event's input lacks the schema."""
        found = lib.ptl_schema_of(self._relogger._trace_of(self._event), self._record())
        return None if found == ffi.NULL else self._relogger._schema(found)

    @property
    def name(self) -> str:
        schema = self.schema
        return schema.name if schema else ""

    @property
    def provider(self) -> str:
        schema = self.schema
        return schema.provider if schema else ""

    @property
    def fields(self) -> Dict[str, Any]:
        schema = self.schema
        return schema.decode(self.payload) if schema else {}

    def inject(self) -> None:
        """Passes the event on in its current state. The event may be changed and injected again."""
        self._record()
        check(lib.ptl_relogger_inject(self._relogger._relogger, self._event))


class Relogger:
    """Reads traces, shows each event to callbacks, and writes a trace.

        relogger = ptl.Relogger("out.ptl", "in.ptl")
        relogger.stage(event=lambda event: event.provider != "Noise")
        relogger.process()

    event is called with a RelogEvent; a true result keeps the event, a false result drops the event. begin and end are called
    with the relogger. Each stage sees the events that earlier stages have kept. process() ends with the exception of a callback.
    """

    def __init__(self, output: Path, *inputs: Path, force: bool = False) -> None:
        made = ffi.new("struct ptl_relogger **")
        check(lib.ptl_relogger_new(ffi.NULL, made))
        self._relogger: Any = ffi.gc(made[0], lib.ptl_relogger_free)
        self._keep: List[Any] = []
        self._schemas: Dict[Any, Schema] = {}
        self._raised: Optional[BaseException] = None
        for path in inputs:
            self.add(path)
        check(lib.ptl_relogger_output(self._relogger, os.fsencode(path := os.fspath(output)), force))
        self.output = path

    def add(self, path: Path) -> None:
        """Adds an input."""
        check(lib.ptl_relogger_add_file(self._relogger, os.fsencode(path), ffi.NULL, ffi.NULL))

    def _schema(self, found: Any) -> Schema:
        if found not in self._schemas:
            self._schemas[found] = Schema(found)
        return self._schemas[found]

    def _trace_of(self, event: Any) -> Any:
        return lib.ptl_relogger_input_trace(lib.ptl_event_input(event))

    def _guard(self, signature: str, function: Callable[..., Any]) -> Any:
        """Wraps the function as a C callback. Keeps an exception for process()."""
        def called(*arguments: Any) -> int:
            try:
                return int(function(*arguments) or 0)
            except BaseException as error:  # pylint: disable=broad-except
                self._raised = error
                return int(lib.PTL_CANCELLED)
        made = ffi.callback(signature, called, error=lib.PTL_CANCELLED)
        self._keep.append(made)
        return made

    def stage(self, event: Optional[Callable[[RelogEvent], Any]] = None, begin: Optional[Callable[["Relogger"], Any]] = None,
              end: Optional[Callable[["Relogger"], Any]] = None) -> None:
        """Adds a stage behind the existing stages."""
        callbacks = ffi.new("struct ptl_relogger_callbacks *", {"size": ffi.sizeof("struct ptl_relogger_callbacks")})

        def on_event(_context: Any, _relogger: Any, handle: Any) -> int:
            passing = RelogEvent(self, handle)
            try:
                return lib.ptl_relogger_inject(self._relogger, handle) if event and event(passing) else 0
            finally:
                passing._event = ffi.NULL

        def notice(function: Callable[["Relogger"], Any]) -> Callable[..., int]:
            def called(*_: Any) -> int:
                function(self)
                return 0
            return called

        if event:
            callbacks.event = self._guard("int(void *, struct ptl_relogger *, struct ptl_trace_event *)", on_event)
        if begin:
            callbacks.begin = self._guard("int(void *, struct ptl_relogger *)", notice(begin))
        if end:
            callbacks.end = self._guard("int(void *, struct ptl_relogger *)", notice(end))
        check(lib.ptl_relogger_callbacks(self._relogger, callbacks, ffi.NULL))

    def process(self) -> Dict[str, int]:
        """Runs the relogger, once; returns counts. The output file appears complete, or not at all."""
        status = lib.ptl_relogger_process(self._relogger)
        if self._raised is not None:
            raised, self._raised = self._raised, None
            raise raised
        check(status)
        counts = ffi.new("struct ptl_relogger_counts *")
        lib.ptl_relogger_counts(self._relogger, counts)
        return {name: getattr(counts, name) for name in ("events_read", "events_written", "buffers_copied", "buffers_decoded")}
