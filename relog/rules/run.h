/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies a rule file to the events of a trace in order. Independent of files and pipelines: results go to callbacks.
 */
#ifndef RELOG_RULES_RUN_H
#define RELOG_RULES_RUN_H

#include <ptl/reader.h>

#include "relog/rules/ast.h"

struct rules_run;

/* Receives results of a run. Each callback returns 0, or a status that ends the run. */
struct rules_output {
	void *context;
	/* Passes the current event on. changed: the modified event; NULL if the event is unmodified. */
	int (*pass)(void *context, const struct ptl_event *changed);
	/* Adds an event, to be marked with PTL_EVENT_INJECTED. */
	int (*inject)(void *context, const struct ptl_event *event);
	int (*schema)(void *context, const struct ptl_schema *schema);
	int (*map)(void *context, const struct ptl_map *map);
	int (*blob)(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	/* As blob, for bytes of an open file. */
	int (*blob_file)(void *context, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE]);
	void (*warning)(void *context, const char *text);
};

struct rules_options {
	bool replace;        /* an injected image may overlap another image */
	uint64_t start_time; /* start of the trace, in the trace's clock */
};

/*
 * rules must outlive the run; output and options are copied. traces: all inputs; their schemas name providers. Returns
 * PTL_NO_MEMORY; PTL_CORRUPT with file, line and column if the rules do not fit the traces.
 */
int rules_run_new(const struct rules *rules, const struct rules_output *output, const struct rules_options *options,
		  struct ptl_trace *const *traces, size_t trace_count, struct rules_run **run);
/*
 * Applies the rules to the next event in order of time. trace: the event's trace. Returns PTL_CORRUPT with file, line
 * and column if a rule cannot be applied; PTL_NO_MEMORY; the errors of the callbacks.
 */
int rules_run_event(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event);
/* Completes scheduled actions behind the last event. */
int rules_run_end(struct rules_run *run);
void rules_run_free(struct rules_run *run);

/* Returns the number of events that the rule with this index was applied to. */
uint64_t rules_run_matches(const struct rules_run *run, size_t rule);
/* Whether any process has loaded the image of the image statement with this index. */
bool rules_run_loaded(const struct rules_run *run, size_t image);

#endif
