/* SPDX-License-Identifier: BSD-2-Clause */
/* Which events a session records (--only): what is not wanted is left out before anything is written. */
#ifndef RECORD_CAPTURE_FILTER_H
#define RECORD_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/program/selection.h"
#include "record/capture/event_query.h"

/* What has to hold together. */
struct record_terms {
	struct common_id_set pids;
	struct common_id_set ids;
	uint64_t keywords;                /* all of which an event must have */
	struct ptl_bytes programs;        /* patterns, each with a zero behind it */
	struct ptl_bytes linked;          /* names of programs that these are links to, the same */
	struct record_event_query *where; /* NULL: nothing is asked */
	bool held;                        /* for an event so far */
};

/* What has to hold of the events of one provider besides. */
struct record_provider_terms {
	char *provider; /* as it was given: a pattern of names, or a GUID */
	bool has_guid;
	struct ptl_guid guid;
	struct record_terms terms;
};

/* Zero-initialised wants all. */
struct record_filter {
	struct record_terms terms; /* of all events */
	struct record_provider_terms *providers;
	size_t provider_count;
	bool asks; /* there is a term */
};

void record_filter_free(struct record_filter *filter);

/*
 * A term: "pid=12,13", "program=nginx*,/usr/bin/sh", "id=1,7", "keywords=0x6", "where=EXPRESSION", in place of the one of the same
 * name; without a value that is taken away. "PROVIDER:TERM" is of this provider's events. PTL_MISUSE says what was expected;
 * PTL_NO_MEMORY.
 */
int record_filter_set(struct record_filter *filter, const char *term);

/* Sets the terms of another one, too. As record_filter_set. */
int record_filter_copy(struct record_filter *filter, const struct record_filter *other);

/* An event, and where it comes from. */
struct record_filtered_event {
	struct record_asked_event asked;
	const char *provider; /* its name; NULL: as the schema says */
	bool kernel;          /* it is one of the kernel, which has no ids and keywords of its own */
};

/* *wanted: whether it is to be recorded. PTL_NO_MEMORY. */
int record_filter_wants(struct record_filter *filter, const struct record_filtered_event *event, bool *wanted);
/* The i-th term as it is given; NULL: there are no more. The text is in `text`. */
const char *record_filter_term(const struct record_filter *filter, unsigned i, struct ptl_bytes *text);
/* Warns of terms that held for no event, and of a field in them that none of the schemas has. */
void record_filter_warn(const struct record_filter *filter, const struct record_schemas *schemas);

#endif
