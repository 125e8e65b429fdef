/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes small traces in memory, through the writer and the reader, for tests. */
#ifndef TESTS_UNIT_DUMP_TRACE_H
#define TESTS_UNIT_DUMP_TRACE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/bytes.h"

/* A trace in the making. Every call checks itself with cmocka's assertions. */
struct dump_trace {
	struct ptl_writer *writer;
	int fd;
	uint32_t events; /* stream */
	struct ptl_bytes storage;
};

void dump_trace_start(struct dump_trace *made, const struct ptl_machine *machine);
void dump_trace_event(struct dump_trace *made, struct ptl_event *event, uint64_t time);
void dump_trace_process(struct dump_trace *made, uint64_t time, uint8_t opcode, const struct ptl_process_event *data);
void dump_trace_thread(struct dump_trace *made, uint64_t time, uint8_t opcode, uint32_t pid, uint32_t tid);
void dump_trace_image(struct dump_trace *made, uint64_t time, uint8_t opcode, const struct ptl_image_event *data);
/* Writes an image of `size` bytes from base on; the code of the first code_size bytes is in the trace. */
void dump_trace_load(struct dump_trace *made, uint64_t time, uint32_t pid, const char *name, uint64_t base,
		     uint64_t size, const void *code, size_t code_size);
void dump_trace_unload(struct dump_trace *made, uint64_t time, uint32_t pid, uint64_t base, uint64_t size);
void dump_trace_code(struct dump_trace *made, uint64_t time, uint32_t pid, uint64_t base, uint64_t size,
		     const void *code, size_t code_size);
/* Declares the PT stream of a thread. Returns the stream's number. */
uint32_t dump_trace_stream(struct dump_trace *made, uint32_t pid, uint32_t tid);
/* Ends the writing, and opens the trace. */
struct ptl_trace *dump_trace_finish(struct dump_trace *made);

#endif
