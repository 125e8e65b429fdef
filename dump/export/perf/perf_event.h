/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events of a trace as records and samples of perf. */
#ifndef DUMP_EXPORT_PERF_PERF_EVENT_H
#define DUMP_EXPORT_PERF_PERF_EVENT_H

#include <ptl/reader.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "dump/export/export.h"
#include "dump/export/perf/perf_file.h"
#include "dump/export/perf/perf_tracepoint.h"

/* Zero-initialised: empty. */
struct dump_perf_events {
	struct common_arena names;
	struct common_byte_map samples;            /* name of a sampled event: index in the file's attributes */
	struct common_byte_map identities;         /* event identity: index in tracepoints */
	struct dump_perf_tracepoint **tracepoints; /* owned */
	size_t tracepoint_count;
	struct ptl_bytes raw;
	struct dump_perf_held *held; /* latest samples, whose details may follow */
	size_t held_count, held_capacity;
	bool has_losses; /* the trace has perf's own records of losses */
	/* Numbers of events that the file lacks. */
	uint64_t records, details, others;
};

/* Adds the attribute of an event with samples to the file. Call for all events, before the first record. */
int dump_perf_events_gather(struct dump_perf_events *events, struct dump_perf_file *file, struct ptl_trace *trace,
			    const struct ptl_event *event);
/* Gathers what is held back. Call after all events. */
int dump_perf_events_gathered(struct dump_perf_events *events, struct dump_perf_file *file);
/* Appends the feature TRACING_DATA to the file. */
void dump_perf_events_describe(const struct dump_perf_events *events, struct dump_perf_file *file);
/* Writes an event, or counts the event as left out. Returns 0, PTL_NO_MEMORY. */
int dump_perf_events_put(struct dump_perf_events *events, struct dump_perf_file *file, struct ptl_trace *trace,
			 const struct ptl_event *event);
/* Writes what is held back. Call after all events. */
int dump_perf_events_finish(struct dump_perf_events *events, struct dump_perf_file *file);
/* Writes the losses of a trace without perf's own records of losses. Adds losses without a record to *others. */
void dump_perf_events_lose(struct dump_perf_events *events, struct dump_perf_file *file, const struct ptl_trace *trace,
			   uint64_t *others);
void dump_perf_events_report(const struct dump_perf_events *events, struct dump_left_out *left_out);
void dump_perf_events_free(struct dump_perf_events *events);

#endif
