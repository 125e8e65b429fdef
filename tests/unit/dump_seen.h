/* SPDX-License-Identifier: BSD-2-Clause */
/* A view for tests that keeps all flow of a trace: addresses of instructions, and events. */
#ifndef TESTS_UNIT_DUMP_SEEN_H
#define TESTS_UNIT_DUMP_SEEN_H

#include <stdlib.h>

#include "flow/view/view.h"
#include "tests/unit/dump_trace.h"

struct seen {
	uint64_t *ips;
	size_t ip_count, ip_capacity;
	struct flow_event *events; /* `before` counts instructions */
	size_t event_count, event_capacity;
	size_t blocks, branches;
};

void free_seen(struct seen *seen);
int seen_begin(void *context, const struct flow_segment *segment, void **partial);
int seen_consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch);
void seen_drop(void *context, void *partial);
void decode_with(struct ptl_trace *trace, const struct flow_view_options *options, struct seen *seen);
void decode(struct ptl_trace *trace, const struct flow_engine_class *engine, unsigned threads, struct seen *seen);
size_t count_events(const struct seen *seen, uint8_t kind, uint8_t cause);
/* Returns the first gap with the cause; for FLOW_GAP_NONE the first gap except overflows. */
const struct flow_event *find_gap(const struct seen *seen, uint8_t cause);
const struct flow_event *first_gap(const struct seen *seen);

#endif
