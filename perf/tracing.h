/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracepoints of perf.data. The file has their formats, which turn samples into typed events. */
#ifndef PERF_TRACING_H
#define PERF_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/events.h"

struct perf_tracing_event;

/* Formats of a file, by tracepoint number. Zero-initialised: empty. */
struct perf_tracing {
	struct perf_tracing_event **events;
	size_t count;
	struct common_hash_map numbers;    /* tracepoint number: index in events */
	struct common_hash_map identities; /* event identity: index in events */
	uint64_t last_number;              /* last number given to perf_tracing_decode */
	struct perf_tracing_event *last;   /* tracepoint of last_number; NULL: unknown */
};

/*
 * Adds the formats of TRACING_DATA, a copy of tracefs files (perf's trace-event-read.c). Stops at truncated or damaged
 * data, and keeps the formats before. Returns PTL_NO_MEMORY.
 */
int perf_tracing_add(struct perf_tracing *tracing, const uint8_t *data, size_t size);
/*
 * Adds a format, in the syntax of events/SYSTEM/NAME/format of tracefs. An existing format stays. Returns
 * PTL_NO_MEMORY.
 */
int perf_tracing_add_format(struct perf_tracing *tracing, const char *system, const uint8_t *text, size_t size);
void perf_tracing_free(struct perf_tracing *tracing);

/* Schema and maps that the file needs before the first event of a tracepoint. */
struct perf_tracing_described {
	const struct ptl_schema *schema;
	const struct ptl_map *maps;
	size_t map_count;
	bool is_new; /* not returned before */
};

/*
 * Decodes the raw bytes of a tracepoint's sample. Returns 1 and sets descriptor and payload of *event; the payload is
 * in storage. Returns 0 if the format is unknown or not understood, or does not fit the bytes; PTL_NO_MEMORY.
 */
int perf_tracing_decode(struct perf_tracing *tracing, uint64_t number, const uint8_t *raw, size_t size,
			struct ptl_bytes *storage, struct ptl_event *event, struct perf_tracing_described *described);

/*
 * Returns the common properties of a tracepoint's events, if payloads are pieces of the raw bytes and the schema was
 * returned; else NULL. Valid as long as tracing.
 */
const struct format_event_kind *perf_tracing_kind(const struct perf_tracing *tracing, uint64_t number);

#endif
