/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracepoints of perf.data: their formats are in the file, and make typed events of their samples. */
#ifndef IMPORT_PERF_TRACING_H
#define IMPORT_PERF_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/events.h"

struct perf_tracing_event;

/* Formats that a file has, by the numbers of tracepoints. Zero-initialised is empty. */
struct perf_tracing {
	struct perf_tracing_event **events;
	size_t count;
	struct common_hash_map numbers;    /* of a tracepoint: index in events */
	struct common_hash_map identities; /* given to events: index in events */
	uint64_t last_number;              /* that perf_tracing_decode was given */
	struct perf_tracing_event *last;   /* what that is; NULL: ask numbers */
};

/*
 * Takes the formats of TRACING_DATA, which is a copy of what tracefs has (perf's trace-event-read.c). What is cut off or
 * damaged ends it, and what was there before counts. PTL_NO_MEMORY.
 */
int perf_tracing_add(struct perf_tracing *tracing, const uint8_t *data, size_t size);
/* Takes one format, as tracefs has it in events/SYSTEM/NAME/format; one that is there already is left. PTL_NO_MEMORY. */
int perf_tracing_add_format(struct perf_tracing *tracing, const char *system, const uint8_t *text, size_t size);
void perf_tracing_free(struct perf_tracing *tracing);

/* What an event of a tracepoint needs in the file before it. */
struct perf_tracing_described {
	const struct ptl_schema *schema;
	const struct ptl_map *maps;
	size_t map_count;
	bool is_new; /* not given before */
};

/*
 * Decodes the bytes of a tracepoint's sample. 1: sets descriptor and payload of *event; the payload is in storage.
 * 0: the tracepoint's format is not known or not understood, or the bytes do not fit it. PTL_NO_MEMORY.
 */
int perf_tracing_decode(struct perf_tracing *tracing, uint64_t number, const uint8_t *raw, size_t size,
			struct ptl_bytes *storage, struct ptl_event *event, struct perf_tracing_described *described);

/*
 * What events of this tracepoint have in common, if their payloads are pieces of their samples' bytes, and the schema was given;
 * else NULL. Good as long as tracing is.
 */
const struct format_event_kind *perf_tracing_kind(const struct perf_tracing *tracing, uint64_t number);

#endif
