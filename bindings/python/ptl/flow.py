# SPDX-License-Identifier: BSD-2-Clause
"""Executed code: blocks, events, calls; one by one, or as arrays."""
import struct
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

from ._library import NO_ID, Error, check, ffi, lib, string

if TYPE_CHECKING:
    from .trace import Trace

ROW_SIZE = ffi.sizeof("struct python_flow_row")
ROW = struct.Struct("<6Q6I4BI")
assert ROW.size == ROW_SIZE
ROWS = 4096
CALL_ROW = struct.Struct("<9Q6I")
assert CALL_ROW.size == ffi.sizeof("struct python_call_row")
CALLS = (4, 5)  # enum ptl_flow_branch
COLUMNS = {"ip": "uint64", "last_ip": "uint64", "time": "uint64", "target": "uint64", "instructions": "uint32", "size": "uint32",
           "image": "uint32", "pid": "uint32", "tid": "uint32", "cpu": "uint32", "branch": "uint8"}


class Block(NamedTuple):
    """A sequence of instructions executed one after the other."""

    ip: int
    last_ip: int  # address of the last instruction
    time: int  # 0: unknown
    target: int  # target of a direct branch
    instructions: int
    size: int  # bytes
    image: int  # argument of Flow.image; 0xffffffff: none
    pid: int
    tid: int
    cpu: int
    branch: int  # enum ptl_flow_branch
    mode: int
    flags: int

    @property
    def branch_name(self) -> str:
        return string(lib.ptl_flow_branch_name(self.branch))


class FlowEvent(NamedTuple):
    """An item other than a block: begin and end of packets, interrupts, gaps."""

    time: int
    kind: str  # "enabled", "gap", ...
    cause: Optional[str]  # cause of a gap
    from_ip: Optional[int]
    to_ip: Optional[int]
    value: int
    type: int
    offset: int  # offset in the stream
    size: int  # undecoded bytes of a gap
    pid: int
    tid: int
    cpu: int


class Call(NamedTuple):
    """A call of a function. Times are nanoseconds. Callees are part of duration and instructions, but not of the self values."""

    function: str  # "": no symbol
    image: str  # path of the file; "": none
    address: int  # of the function, as its file's symbol table has addresses
    start: int  # 0: unknown
    duration: int
    self_time: int
    instructions: int
    self_instructions: int
    calls: int  # direct calls
    pid: int
    tid: int
    depth: int  # known calls below on the same stack
    stack: int
    flags: int  # PTL_CALL_TAIL and others of ptl/calls.h


class CallInstruction(NamedTuple):
    """An executed call instruction and its target."""

    time: int
    pid: int
    tid: int
    from_ip: int
    to_ip: int
    indirect: bool


class CallRows:
    """Calls of functions from libptl-analysis, in chunks."""

    def __init__(self, flow: "Flow") -> None:
        opened = ffi.new("struct python_calls **")
        check(lib.python_calls_open(flow._trace._open(), flow._options, opened))
        self._calls: Any = opened[0]
        self._flow = flow
        flow._users.append(self)

    def __iter__(self) -> Iterator[Any]:
        rows, count = ffi.new("struct python_call_row **"), ffi.new("size_t *")
        while True:
            if self._calls == ffi.NULL:
                raise ValueError("the trace is closed")
            status = lib.python_calls_next(self._calls, rows, count)
            if status < 0:
                raise Error(status, string(lib.python_calls_error(self._calls)))
            if not status:
                return
            yield from CALL_ROW.iter_unpack(ffi.buffer(rows[0], count[0] * CALL_ROW.size)[:])

    def _end(self) -> None:
        if self._calls != ffi.NULL:
            lib.python_calls_close(self._calls)
            self._calls = ffi.NULL
            self._flow._users.remove(self)


class Iterator_:
    """An iterator of libptl-flow; closed with its trace."""

    def __init__(self, flow: "Flow") -> None:
        opened = ffi.new("struct ptl_flow_iterator **")
        check(lib.ptl_flow_iterator_new(flow._open(), flow._options, opened))
        self.iterator: Any = opened[0]
        self._flow = flow
        flow._users.append(self)

    def get(self) -> Any:
        if self.iterator == ffi.NULL:
            raise ValueError("the trace is closed")
        return self.iterator

    def _end(self) -> None:
        if self.iterator != ffi.NULL:
            lib.ptl_flow_iterator_free(self.iterator)
            self.iterator = ffi.NULL
            self._flow._users.remove(self)


class Flow:
    """The flow of a trace, or of selected processes, threads, CPUs and times (0: no limit).

    by_time=True: segments of all threads in order of time. Default: thread after thread.
    """

    def __init__(self, trace: "Trace", pids: Sequence[int] = (), tids: Sequence[int] = (), cpus: Sequence[int] = (),
                 first_time: int = 0, last_time: int = 0, engine: Optional[str] = None, by_time: bool = False) -> None:
        options = ffi.new("struct ptl_flow_options *")
        self._keep: List[Any] = []
        options.size = ffi.sizeof("struct ptl_flow_options")
        for name, ids in (("pid", pids), ("tid", tids), ("cpu", cpus)):
            array = ffi.new("uint32_t[]", list(ids))
            self._keep.append(array)
            setattr(options, name + "s", array)
            setattr(options, name + "_count", len(ids))
        if engine is not None:
            self._keep.append(ffi.new("char[]", engine.encode()))
            options.engine = self._keep[-1]
        options.first_time, options.last_time, options.by_time = first_time, last_time, by_time
        self._options = options
        self._trace = trace
        self._users: List[Any] = []
        self._images: Dict[int, str] = {NO_ID: ""}
        opened = ffi.new("struct ptl_flow **")
        check(lib.ptl_flow_open(trace._open(), opened))
        self._flow: Any = opened[0]
        trace._users.append(self)

    def _open(self) -> Any:
        if self._flow == ffi.NULL:
            raise ValueError("the trace is closed")
        return self._flow

    def _end(self) -> None:
        for user in self._users[:]:
            user._end()
        if self._flow != ffi.NULL:
            lib.ptl_flow_close(self._flow)
            self._flow = ffi.NULL
            self._trace._users.remove(self)

    close = _end

    def image(self, number_: int) -> str:
        """Returns the path of the image with this number; "" without such an image."""
        if number_ not in self._images:
            image = lib.ptl_flow_image(self._open(), number_)
            self._images[number_] = "" if image == ffi.NULL else string(image.file_name)
        return self._images[number_]

    def _rows(self) -> Iterator[Any]:
        iterator, rows, count = Iterator_(self), ffi.new("struct python_flow_row[]", ROWS), ffi.new("size_t *")
        try:
            while True:
                status = lib.python_flow_rows(iterator.get(), rows, ROWS, count)
                yield from ROW.iter_unpack(ffi.buffer(rows, count[0] * ROW_SIZE)[:])
                check(status)
                if count[0] < ROWS:
                    return
        finally:
            iterator._end()

    def __iter__(self) -> Iterator[Union[Block, FlowEvent]]:
        """Yields blocks and events in order, thread after thread."""
        for row in self._rows():
            yield make_block(row) if row[6] else make_event(row)

    def blocks(self) -> Iterator[Block]:
        """Yields only blocks."""
        for row in self._rows():
            if row[6]:
                yield make_block(row)

    def calls(self) -> Iterator[Call]:
        """Yields calls of functions in the order of their ends, thread after thread, as ptl-dump calls finds them."""
        rows, names = CallRows(self), {}
        try:
            for row in rows:
                for address in row[:2]:
                    if address not in names:
                        names[address] = string(ffi.cast("char *", address))
                yield Call(names[row[0]], names[row[1]], *row[2:14])
        finally:
            rows._end()

    def call_instructions(self) -> Iterator[CallInstruction]:
        """Yields executed call instructions with source and target. Instructions within gaps are unknown."""
        last = None
        for row in self._rows():
            if not row[6] or last and last[9:11] != row[9:11]:
                last = None
            if row[6]:
                if last and last[12] in CALLS:
                    yield CallInstruction(last[2], row[9], row[10], last[1], row[0], last[12] == 5)
                last = row

    def arrays(self, *columns: str, rows: int = 1 << 18) -> Iterator[Dict[str, Any]]:
        """Yields blocks as dicts of NumPy arrays, up to `rows` blocks at a time. The caller may keep the arrays.

        columns: members of Block: ip, last_ip, time, target, instructions, size, image, pid, tid, cpu, branch. Default: all.
        Each dict also has "gaps", the number of gaps in this part of the flow.
        """
        for part, count in self._columns(columns, rows):
            yield {name: (value[:count] if name != "gaps" else value) for name, value in part.items()}

    def call_instruction_arrays(self, rows: int = 1 << 18) -> Iterator[Dict[str, Any]]:
        """Yields executed call instructions as NumPy arrays: time, pid, tid, from_ip, to_ip, indirect."""
        import numpy
        pending: List[CallInstruction] = []
        for call in self.call_instructions():
            pending.append(call)
            if len(pending) == rows:
                yield call_columns(numpy, pending)
                pending = []
        if pending:
            yield call_columns(numpy, pending)

    def _columns(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        import numpy
        wanted = columns or tuple(COLUMNS)
        unknown = sorted(set(wanted) - COLUMNS.keys())
        if unknown:
            raise ValueError(f"no column {unknown[0]}: there are {', '.join(COLUMNS)}")
        iterator, count, gaps = Iterator_(self), ffi.new("size_t *"), ffi.new("size_t *")
        try:
            while True:
                arrays = {name: numpy.empty(rows, COLUMNS[name]) for name in wanted}
                pointers = ffi.new("struct python_columns *")
                for name, array in arrays.items():
                    setattr(pointers, name, ffi.cast(COLUMNS[name] + "_t *", array.ctypes.data))
                status = lib.python_flow_columns(iterator.get(), pointers, rows, count, gaps)
                if count[0] or gaps[0]:
                    yield {**arrays, "gaps": gaps[0]}, count[0]
                check(status)
                if count[0] < rows:
                    return
        finally:
            iterator._end()


def make_block(row: Any) -> Block:
    return Block(row[0], row[1], row[2], row[3], row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[13], row[14])


def make_event(row: Any) -> FlowEvent:
    flags = row[14]
    return FlowEvent(row[2], string(lib.ptl_flow_kind_name(row[12])),
                     string(lib.ptl_flow_gap_cause_name(row[15])) if row[15] else None, row[0] if flags & 1 else None,
                     row[1] if flags & 2 else None, row[3], row[13], row[4], row[5], row[9], row[10], row[11])


def call_columns(numpy: Any, calls: List[CallInstruction]) -> Dict[str, Any]:
    types = ("uint64", "uint32", "uint32", "uint64", "uint64", "bool")
    return {name: numpy.array(values, dtype) for name, dtype, values in zip(CallInstruction._fields, types, zip(*calls))}
