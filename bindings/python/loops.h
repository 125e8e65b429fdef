/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops of the Python module that are too hot for Python, over libptl's public headers alone. build.py reads this file too:
 * declarations behind the mark are what Python sees.
 */
#ifndef BINDINGS_PYTHON_LOOPS_H
#define BINDINGS_PYTHON_LOOPS_H

#include <ptl/flow.h>
#include <ptl/reader.h>

/* --- what Python sees --- */

/* --- events, many at a time --- */

struct python_event_row {
	uint64_t time;
	uint64_t keyword;
	uint64_t schema;  /* the address of its struct ptl_schema; 0: none */
	uint64_t payload; /* where in the chunk's bytes */
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

/* Of one round of python_events_next, which the next one ends. */
struct python_chunk {
	const struct python_event_row *rows;
	size_t count;
	const uint8_t *bytes;
	size_t size;
};

struct python_events;

/* Reads in a thread of its own. provider: 16 bytes, or NULL for the events of all; 0 for a time: no limit. */
int python_events_open(struct ptl_trace *trace, uint64_t first_time, uint64_t last_time, const uint8_t *provider,
		       struct python_events **events);
/* 1; 0 at the end; negative: reading failed, for python_events_error. */
int python_events_next(struct python_events *events, struct python_chunk *chunk);
const char *python_events_error(const struct python_events *events);
void python_events_close(struct python_events *events);

/* --- payloads --- */

struct python_value {
	uint32_t step;   /* enum ptl_step */
	uint32_t field;  /* number in the schema */
	uint32_t offset; /* in the payload, of size bytes */
	uint32_t size;
	uint64_t number;
};

/* Puts the steps of a payload into values, at most `room` of them; *count is how many there are. */
int python_payload(const struct ptl_schema *schema, const uint8_t *payload, size_t size, struct python_value *values,
		   size_t room, size_t *count);

/* --- flow --- */

struct python_flow_row {
	uint64_t ip;      /* of a block; of an event: from */
	uint64_t last_ip; /* of an event: to */
	uint64_t time;
	uint64_t target; /* of an event: value */
	uint64_t offset; /* of an event, in the stream */
	uint64_t gap_size;
	uint32_t instructions; /* 0: it is an event */
	uint32_t size;
	uint32_t image;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint8_t branch; /* of an event: its kind */
	uint8_t mode;   /* of an event: type */
	uint8_t flags;  /* of a block: 1 code_event, 2 speculative */
	uint8_t cause;
	uint32_t reserved;
};

/* The next items: 0, with *count of them; 0 of them at the end. */
int python_flow_rows(struct ptl_flow_iterator *iterator, struct python_flow_row *rows, size_t room, size_t *count);

/* Arrays for the blocks, each of which may be NULL. */
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

/* The same for blocks alone; *gaps is the number of gaps between them. */
int python_flow_columns(struct ptl_flow_iterator *iterator, const struct python_columns *columns, size_t room,
			size_t *count, size_t *gaps);

/* --- end --- */

#endif
