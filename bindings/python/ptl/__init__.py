# SPDX-License-Identifier: BSD-2-Clause
"""Processor trace logs: executed code and events of programs.

    import ptl

    with ptl.Trace("build.ptl") as trace:
        for process in trace.processes():
            print(process.pid, process.command_line)
        for event in trace.events():
            print(event.time, event.name, event.fields)
        for block in trace.flow().blocks():
            print(hex(block.ip), block.instructions)
        for part in trace.flow().arrays("ip", "instructions"):
            print(part["instructions"].sum())            # NumPy

Times are nanoseconds of the trace's clock. Failures raise ptl.Error, with libptl's chain of causes. All objects of a trace
keep the trace open. After close(), using such an object raises ValueError.
"""
from ._library import Error
from .flow import Block, Call, CallInstruction, Flow, FlowEvent
from .relog import RelogEvent, Relogger
from .trace import Event, Field, Machine, Process, Schema, Stream, Trace
from .writer import Writer

__all__ = ["Block", "Call", "CallInstruction", "Error", "Event", "Field", "Flow", "FlowEvent", "Machine", "Process", "RelogEvent", "Relogger",
           "Schema", "Stream", "Trace", "Writer"]
