/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognises events of Linux and Windows about CPUs, disks, files and sockets, and reads their fields by name. */
#ifndef ANALYSIS_USAGE_KERNEL_EVENT_H
#define ANALYSIS_USAGE_KERNEL_EVENT_H

#include <ptl/reader.h>

#include "common/hash_map.h"

#define USAGE_VALUES_MAX 10
#define USAGE_ELEMENTS_MAX 6
#define USAGE_NO_TYPE UINT32_MAX

/* A field of an event. A missing field has `given` false. */
struct usage_value {
	bool given;
	uint64_t number;                       /* a signed field is sign-extended */
	uint64_t elements[USAGE_ELEMENTS_MAX]; /* first elements of an array; elements[0] equals number */
	const struct ptl_field *field;         /* of the schema */
	const uint8_t *bytes;                  /* of a string: address in the payload */
	size_t size;                           /* of a string, in bytes */
};

/* A kind of events that a caller understands. */
struct usage_event_type {
	const char *provider;                 /* name of the provider, as "sched" */
	const char *event;                    /* name of the event; a last '*' matches any rest */
	uint32_t kind;                        /* for the caller */
	const char *fields[USAGE_VALUES_MAX]; /* wanted fields; value i belongs to fields[i] */
};

/* Set types and type_count, zero the rest. Free with usage_events_free. */
struct usage_events {
	const struct usage_event_type *types;
	size_t type_count;
	struct common_hash_map by_schema; /* address of a schema: index in `known`, or UINT64_MAX for other schemas */
	struct usage_known_schema *known;
	size_t known_count, known_capacity;
};

/* An event of a type. The values live as long as the event. */
struct usage_event {
	const struct usage_event_type *type;
	const struct ptl_schema *schema;
	const struct ptl_event *event;
	struct usage_value values[USAGE_VALUES_MAX];
};

/*
 * Reads an event. Returns 1; 0 if no type fits; PTL_NO_MEMORY. A truncated payload gives the fields before the
 * truncation.
 */
int usage_event_read(struct usage_events *events, const struct ptl_trace *trace, const struct ptl_event *event,
		     struct usage_event *result);
void usage_events_free(struct usage_events *events);

/*
 * Returns an id of the payload in the numbering of the event's header: a merged trace adds a machine's offset to the
 * header's ids, and leaves payloads of tracepoints as they were.
 */
uint32_t usage_machine_id(const struct ptl_event *event, uint64_t id);

/* Appends a string value as UTF-8, whatever its encoding. */
void usage_value_text(const struct usage_value *value, struct ptl_bytes *text);

#endif
