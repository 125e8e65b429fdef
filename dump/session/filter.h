/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part of a trace the user asked for: processes, threads, CPUs, images, a span of time. */
#ifndef DUMP_SESSION_FILTER_H
#define DUMP_SESSION_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "common/program/selection.h"
#include "common/text/string_list.h"

/* Zero-initialised passes everything. */
struct dump_filter {
	struct common_id_set pids;
	struct common_id_set tids;
	struct common_string_list processes; /* names of programs, as common_program_matches takes them */
	struct common_id_set cpus;
	struct common_string_list images; /* glob patterns for paths or last components, in the order given */
	struct common_time_span span;
	/* Set by dump_filter_resolve, in the trace's clock, both inclusive. */
	uint64_t first_time;
	uint64_t last_time; /* UINT64_MAX: no end */
};

void dump_filter_free(struct dump_filter *filter);

/* Turns the bounds of --time into times of the clock of a trace that ends then; as common_time_span_resolve. */
int dump_filter_resolve(struct dump_filter *filter, const struct ptl_machine *machine, uint64_t end);

/* True where the thread is wanted: its process by --pid and itself by --tid. */
bool dump_filter_wants_thread(const struct dump_filter *filter, uint32_t pid, uint32_t tid);
/* True where a moment lies within --time. Time 0 (unknown) passes only when no --time was given. */
bool dump_filter_wants_time(const struct dump_filter *filter, uint64_t time);
/* True where a path is wanted by --image: a pattern without "/" is held against the last component. */
bool dump_filter_wants_image(const struct dump_filter *filter, const char *path);

#endif
