/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies a rule file to the events of a trace, one after the other. Knows nothing of files and pipelines: what
 * becomes of the events goes to callbacks.
 */
#ifndef RELOG_RULES_RUN_H
#define RELOG_RULES_RUN_H

#include <ptl/reader.h>

#include "relog/rules/ast.h"

struct rules_run;

/* Where events go. Each returns 0, or a status that ends the run. */
struct rules_output {
	void *context;
	/* The current event passes; changed is NULL where it is as it came. */
	int (*pass)(void *context, const struct ptl_event *changed);
	/* One event more, with PTL_EVENT_INJECTED to be set. */
	int (*inject)(void *context, const struct ptl_event *event);
	int (*schema)(void *context, const struct ptl_schema *schema);
	int (*blob)(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE]);
	/* The same for bytes of an open file. */
	int (*blob_file)(void *context, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE]);
	void (*warning)(void *context, const char *text);
};

struct rules_options {
	bool replace;        /* an injected image may overlap another */
	uint64_t start_time; /* of the trace, in its clock */
};

/*
 * rules live longer than the run; output and options are copied. traces: all inputs, whose schemas name providers.
 * PTL_NO_MEMORY, and PTL_CORRUPT with file, line and column where the rules do not fit the traces.
 */
int rules_run_new(const struct rules *rules, const struct rules_output *output, const struct rules_options *options,
		  struct ptl_trace *const *traces, size_t trace_count, struct rules_run **run);
/*
 * The next event, in order of time; trace is the one it is from. PTL_CORRUPT with file, line and column where a rule
 * cannot be applied, PTL_NO_MEMORY, or what the callbacks gave.
 */
int rules_run_event(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event);
/* What is left to be done behind the last event. */
int rules_run_end(struct rules_run *run);
void rules_run_free(struct rules_run *run);

/* How many events the rule with this index was applied to. */
uint64_t rules_run_matches(const struct rules_run *run, size_t rule);
/* Whether the image statement at this place of the file's list was loaded in any process. */
bool rules_run_loaded(const struct rules_run *run, size_t image);

#endif
