/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops of the Python module that would be too slow in Python. Uses only libptl's public headers. build.py also reads
 * this file: declarations behind the mark are visible to Python.
 */
#ifndef BINDINGS_PYTHON_LOOPS_H
#define BINDINGS_PYTHON_LOOPS_H

#include <ptl/calls.h>
#include <ptl/flow.h>
#include <ptl/reader.h>

/* --- what Python sees --- */

/* --- events, many at a time --- */

struct python_event_row {
	uint64_t time;
	uint64_t keyword;
	uint64_t schema;  /* address of the struct ptl_schema; 0: none */
	uint64_t payload; /* offset in the chunk's bytes */
	uint32_t payload_size;
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
	uint32_t flags;
	uint16_t id;
	uint16_t task;
	uint8_t version;
	uint8_t channel;
	uint8_t level;
	uint8_t opcode;
	uint8_t guids[48]; /* provider, activity, related */
	uint32_t reserved;
};

/* Result of python_events_next, valid until the next call. */
struct python_chunk {
	const struct python_event_row *rows;
	size_t count;
	const uint8_t *bytes;
	size_t size;
};

struct python_events;

/* Starts reading events in a separate thread. provider: 16 bytes, or NULL for all providers. A time of 0: no limit. */
int python_events_open(struct ptl_trace *trace, uint64_t first_time, uint64_t last_time, const uint8_t *provider,
		       struct python_events **events);
/* Returns the next chunk: 1; 0 at the end; negative after an error, whose text python_events_error returns. */
int python_events_next(struct python_events *events, struct python_chunk *chunk);
const char *python_events_error(const struct python_events *events);
void python_events_close(struct python_events *events);

/* --- payloads --- */

struct python_value {
	uint32_t step;   /* enum ptl_step */
	uint32_t field;  /* index in the schema */
	uint32_t offset; /* position in the payload, with `size` */
	uint32_t size;
	uint64_t number;
};

/* Decodes a payload into at most `room` steps. *count: number of all steps. */
int python_payload(const struct ptl_schema *schema, const uint8_t *payload, size_t size, struct python_value *values,
		   size_t room, size_t *count);

/* --- flow --- */

struct python_flow_row {
	uint64_t ip;      /* address of a block; source of an event */
	uint64_t last_ip; /* last address of a block; destination of an event */
	uint64_t time;
	uint64_t target; /* target of a block; value of an event */
	uint64_t offset; /* stream offset of an event */
	uint64_t gap_size;
	uint32_t instructions; /* 0: the row is an event */
	uint32_t size;
	uint32_t image;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint8_t branch; /* branch of a block; kind of an event */
	uint8_t mode;   /* mode of a block; type of an event */
	uint8_t flags;  /* of a block: 1 code_event, 2 speculative */
	uint8_t cause;
	uint32_t reserved;
};

/* Returns the next items. *count: number of items; 0 at the end. */
int python_flow_rows(struct ptl_flow_iterator *iterator, struct python_flow_row *rows, size_t room, size_t *count);

/* Arrays for blocks; each array may be NULL. */
struct python_columns {
	uint64_t *ip;
	uint64_t *last_ip;
	uint64_t *time;
	uint64_t *target;
	uint32_t *instructions;
	uint32_t *size;
	uint32_t *image;
	uint32_t *pid;
	uint32_t *tid;
	uint32_t *cpu;
	uint8_t *branch;
};

/* As python_flow_rows for blocks only. *gaps: number of gaps between the blocks. */
int python_flow_columns(struct ptl_flow_iterator *iterator, const struct python_columns *columns, size_t room,
			size_t *count, size_t *gaps);

/* --- calls of functions, many at a time --- */

struct python_call_row {
	uint64_t name; /* addresses of strings, valid until python_calls_close */
	uint64_t path;
	uint64_t address; /* the other members as in struct ptl_call */
	uint64_t start;
	uint64_t duration;
	uint64_t self_time;
	uint64_t instructions;
	uint64_t self_instructions;
	uint64_t calls;
	uint32_t pid;
	uint32_t tid;
	uint32_t depth;
	uint32_t stack;
	uint32_t flags;
	uint32_t reserved;
};

struct python_calls;

/* Starts reading calls in a separate thread. What the options point to must live until python_calls_close. */
int python_calls_open(struct ptl_trace *trace, const struct ptl_flow_options *options, struct python_calls **calls);
/* Returns the next rows: 1; 0 at the end; negative after an error, whose text python_calls_error returns. */
int python_calls_next(struct python_calls *calls, const struct python_call_row **rows, size_t *count);
const char *python_calls_error(const struct python_calls *calls);
void python_calls_close(struct python_calls *calls);

/* --- end --- */

#endif
