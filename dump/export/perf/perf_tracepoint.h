/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracepoints: formats for perf from the schemas of a trace, and the raw bytes of samples from payloads. */
#ifndef DUMP_EXPORT_PERF_PERF_TRACEPOINT_H
#define DUMP_EXPORT_PERF_PERF_TRACEPOINT_H

#include <stdbool.h>

#include <ptl/reader.h>

#include "common/bytes.h"

#define DUMP_PERF_TRACEPOINT_KEY (sizeof(struct ptl_guid) + 4)

struct dump_perf_tracepoint;

/*
 * Returns whether a schema comes from the format of a tracepoint (perf/tracing.h), and all fields can be described in such
 * a format again.
 */
bool dump_perf_tracepoint_fits(const struct ptl_schema *schema);
/*
 * Makes a tracepoint with a number. attr: index of the event in perf's file. The trace must outlive the tracepoint.
 * Returns 0, PTL_NO_MEMORY.
 */
int dump_perf_tracepoint_new(struct ptl_trace *trace, const struct ptl_schema *schema, uint32_t number, size_t attr,
			     struct dump_perf_tracepoint **tracepoint);
size_t dump_perf_tracepoint_attr(const struct dump_perf_tracepoint *tracepoint);
/* Returns "SYSTEM:NAME", valid as long as the tracepoint. */
const char *dump_perf_tracepoint_name(struct dump_perf_tracepoint *tracepoint);
/* Stores the identity of an event's kind. */
void dump_perf_tracepoint_key(const struct ptl_descriptor *descriptor, uint8_t key[DUMP_PERF_TRACEPOINT_KEY]);
/* Replaces the bytes of raw by the sample's. Returns false if the payload does not fit the schema. */
bool dump_perf_tracepoint_raw(const struct dump_perf_tracepoint *tracepoint, const struct ptl_event *event,
			      struct ptl_bytes *raw);
/* Appends the feature TRACING_DATA: the formats of all tracepoints. Nothing without tracepoints. */
void dump_perf_tracepoints_describe(struct dump_perf_tracepoint *const *tracepoints, size_t count,
				    struct ptl_bytes *data);
void dump_perf_tracepoint_free(struct dump_perf_tracepoint *tracepoint);

#endif
