/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of samples: events grouped by name, with the period and address from their fields. */
#ifndef ANALYSIS_SAMPLE_SAMPLE_KIND_H
#define ANALYSIS_SAMPLE_SAMPLE_KIND_H

#include <ptl/reader.h>

#include "analysis/event/event_names.h"
#include "common/hash_map.h"

/* Properties of all events with one name. */
struct analysis_sample_kind {
	char *name;      /* "cpu-clock", "sched/sched_switch"; owned, safe for a terminal */
	char *others[2]; /* alternative names for the user's pattern: with the provider, and as in the schema; owned */
	bool counted;    /* sampled by a counter, as for a profile: the event has the sampled address */
	bool wanted;
	uint64_t events;  /* events with a stack or with a sampled address */
	uint64_t without; /* events without a stack and without a sampled address */
};

/* Set names, zero the other members. */
struct analysis_sample_kinds {
	struct analysis_names *names;
	const char *pattern;               /* pattern for the names of selected events; NULL: `exact` selects */
	const char *exact;                 /* name of the selected event; NULL: none is selected */
	struct analysis_sample_kind *list; /* owned */
	size_t count, capacity;
	struct common_byte_map by_key; /* index in `list` by event identity and the event's own name */
	/* by address of a schema: index in `list`, or a mark that the kind depends on the event's fields */
	struct common_hash_map schemas;
	struct ptl_bytes key;
};

/* Fields of an event that may count as a sample. */
struct analysis_sample {
	uint64_t instruction; /* address of the sampled instruction; 0: only the stack has the address */
	uint64_t period;      /* number of counted units per sample; 0: unknown */
	bool has_stack;
};

/* Reads an event. Returns 1 if the event is selected and has a stack or a sampled address; else 0, or PTL_NO_MEMORY. */
int analysis_sample_read(struct analysis_sample_kinds *kinds, const struct ptl_event *event,
			 const struct ptl_schema *schema, struct analysis_sample *sample);
void analysis_sample_kinds_free(struct analysis_sample_kinds *kinds);

/* Adds the counts of other kinds. Afterwards, `kinds` may only be listed. Returns 0 or PTL_NO_MEMORY. */
int analysis_sample_kinds_merge(struct analysis_sample_kinds *kinds, struct analysis_sample_kinds *others);

/* Appends "cpu-clock (1,234), page-faults (5)", the most frequent first. Returns 0 or PTL_NO_MEMORY. */
int analysis_sample_kinds_text(const struct analysis_sample_kinds *kinds, struct ptl_bytes *text);

/*
 * Chooses a kind if the user named none: the only kind sampled by a counter or, without such kinds, the only kind.
 * Returns NULL if there is no kind, or several are possible.
 */
const struct analysis_sample_kind *analysis_sample_kinds_choose(const struct analysis_sample_kinds *kinds);

#endif
