/* SPDX-License-Identifier: BSD-2-Clause */
/* Which events the user asked for, by what the author gave them: provider, name, level, keyword, fields. */
#ifndef DUMP_EVENT_EVENT_FILTER_H
#define DUMP_EVENT_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/event.h>

#include "common/hash_map.h"
#include "dump/event/event_activity.h"
#include "dump/print/event_names.h"
#include "dump/event/event_query.h"

/* A number, a GUID, or a glob pattern for names in any case. */
struct dump_event_pattern {
	const char *text;
	bool has_number, has_guid;
	bool matched; /* a provider's name or GUID of an event, or a keyword's name that its provider has */
	uint64_t number;
	struct ptl_guid guid;
};

/* Any of them; none is everything. */
struct dump_event_patterns {
	struct dump_event_pattern *list;
	size_t count;
};

/* All parts have to agree. Zero-initialised passes everything. */
struct dump_event_filter {
	struct dump_event_patterns providers; /* GUID or name */
	struct dump_event_patterns events;    /* id, event name, or what is shown, with or without its provider */
	struct dump_event_patterns tasks;     /* number or name */
	struct dump_event_patterns opcodes;   /* likewise */
	struct dump_event_patterns keywords;  /* bits, or names of some */
	uint64_t level;                       /* 0: all; see dump_event_filter_wants */
	struct dump_activities activities;
	bool related; /* the whole trees of the activities */
	struct dump_query where;
	struct common_byte_map masks;  /* of keywords, by provider */
	uint64_t keyword_bits;         /* of all events that were held against `keywords` */
	uint64_t without_level;        /* events that were left out for it */
	struct common_byte_map levels; /* 1: a provider that gives levels to events; 0: one that gives none */
};

void dump_event_filter_free(struct dump_event_filter *filter);

/*
 * For options: adds a pattern to a struct dump_event_patterns, one for a number or a name, or one for a GUID or a name.
 * text is kept by pointer. PTL_MISUSE: a text that begins with a digit is no number; PTL_NO_MEMORY.
 */
int dump_event_patterns_take(void *patterns, const char *text);
int dump_event_providers_take(void *patterns, const char *text);
/* For an option: "error", "Informational", "4", to a uint64_t; PTL_MISUSE. */
int dump_event_level_take(void *level, const char *text);

/*
 * schema is the event's, or NULL. Level 0 is as severe as any, as in ETW, where a provider has levels; it is no level
 * where none of the provider's schemas has another: the kernel's and its tracepoints'.
 */
bool dump_event_filter_wants(struct dump_event_filter *filter, struct dump_values *values,
			     const struct ptl_event *event, const struct ptl_schema *schema);

#endif
