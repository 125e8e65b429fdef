/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects events by properties that their author defined: provider, name, level, keyword, fields. */
#ifndef ANALYSIS_EVENT_EVENT_FILTER_H
#define ANALYSIS_EVENT_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/event.h>

#include "analysis/event/event_activity.h"
#include "analysis/event/event_names.h"
#include "analysis/event/event_query.h"
#include "common/hash_map.h"

/* A number, a GUID, or a case-insensitive glob pattern for names. */
struct analysis_event_pattern {
	const char *text;
	bool has_number, has_guid;
	bool matched; /* an event of a matching provider was seen, or a provider has a matching keyword */
	uint64_t number;
	struct ptl_guid guid;
};

/* Matches if any pattern matches. An empty list matches everything. */
struct analysis_event_patterns {
	struct analysis_event_pattern *list;
	size_t count;
};

/* All members must match. A zero-initialised filter selects every event. */
struct analysis_event_filter {
	struct analysis_event_patterns providers; /* GUID or name of the provider */
	struct analysis_event_patterns events;  /* id, event name, or name as displayed, with or without the provider */
	struct analysis_event_patterns tasks;   /* number or name of the task */
	struct analysis_event_patterns opcodes; /* number or name of the opcode */
	struct analysis_event_patterns keywords; /* bits, or names of bits */
	uint64_t level;                          /* 0: all; see analysis_event_filter_wants */
	struct analysis_activities activities;
	bool related; /* --related: also selects activities that are joined with `activities` */
	struct analysis_query where;
	struct common_byte_map masks;  /* masks of keywords, by provider */
	uint64_t keyword_bits;         /* keyword bits of all events that were compared with `keywords` */
	uint64_t without_level;        /* events skipped because their provider has no levels */
	struct common_byte_map levels; /* by provider; 1: its events have levels; 0: no levels */
};

void analysis_event_filter_free(struct analysis_event_filter *filter);

/*
 * For options: adds a pattern to a struct analysis_event_patterns: a number or name, or (providers) a GUID or name. Keeps a
 * pointer to text. Returns PTL_MISUSE if a text that begins with a digit is no number, or PTL_NO_MEMORY.
 */
int analysis_event_patterns_take(void *patterns, const char *text);
int analysis_event_providers_take(void *patterns, const char *text);
/* For an option: parses "error", "Informational" or "4" to a uint64_t. Returns PTL_MISUSE for other texts. */
int analysis_event_level_take(void *level, const char *text);

/*
 * Whether the event is selected. schema: of the event, or NULL. As in ETW, level 0 passes any level filter if the
 * provider uses levels. If all schemas of the provider have level 0 (the kernel's events and tracepoints), its events
 * have no level, and a level filter skips them.
 */
bool analysis_event_filter_wants(struct analysis_event_filter *filter, struct analysis_values *values,
				 const struct ptl_event *event, const struct ptl_schema *schema);

#endif
