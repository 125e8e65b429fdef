/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which events a session records (--only). Rejected events are never written. */
#ifndef RECORD_CAPTURE_FILTER_H
#define RECORD_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/program/selection.h"
#include "record/capture/event_query.h"

/* Terms that all have to be true. */
struct record_terms {
	struct common_id_set pids;
	struct common_id_set ids;
	uint64_t keywords;                /* mask: events need every bit */
	struct ptl_bytes programs;        /* patterns, each with a zero behind it */
	struct ptl_bytes linked;          /* targets of links in `programs`, each zero-terminated */
	struct record_event_query *where; /* NULL without an expression */
	bool held;                        /* was true for at least one event */
};

/* Additional terms for the events of a provider. */
struct record_provider_terms {
	char *provider; /* as given: a pattern of names, or a GUID */
	bool has_guid;
	struct ptl_guid guid;
	struct record_terms terms;
};

/* Zero-initialised: accepts all events. */
struct record_filter {
	struct record_terms terms; /* terms for all events */
	struct record_provider_terms *providers;
	size_t provider_count;
	bool asks; /* at least one term is set */
};

void record_filter_free(struct record_filter *filter);

/*
 * Sets a term: "pid=12,13", "program=nginx*,/usr/bin/sh", "id=1,7", "keywords=0x6" or "where=EXPRESSION". Replaces an
 * earlier term of the same name. An empty value removes the term. "PROVIDER:TERM" concerns only the provider's events.
 * Fails with PTL_MISUSE and a text that names the expected value, or with PTL_NO_MEMORY.
 */
int record_filter_set(struct record_filter *filter, const char *term);

/* Adds the terms of another filter. Fails as record_filter_set. */
int record_filter_copy(struct record_filter *filter, const struct record_filter *other);

/* An event and its origin. */
struct record_filtered_event {
	struct record_asked_event asked_event;
	const char *provider; /* provider's name; NULL: as the schema says */
	bool kernel;          /* a kernel event, which has no ids or keywords */
};

/* wanted: set to whether to record the event. Fails with PTL_NO_MEMORY. */
int record_filter_wants(struct record_filter *filter, const struct record_filtered_event *event, bool *wanted);
/* Writes the i-th term to `text` and returns the string; NULL behind the last term. */
const char *record_filter_term(const struct record_filter *filter, unsigned i, struct ptl_bytes *text);
/* Warns of terms that were true for no event, and of fields that no schema has. */
void record_filter_warn(const struct record_filter *filter, const struct record_schemas *schemas);

#endif
