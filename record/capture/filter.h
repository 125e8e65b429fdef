/* SPDX-License-Identifier: BSD-2-Clause */
/* Which events a session records (--only): what is not wanted is left out before anything is written. */
#ifndef RECORD_CAPTURE_FILTER_H
#define RECORD_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/selection.h"

/* Zero-initialised wants all. */
struct record_filter {
	struct common_id_set pids;
	struct common_id_set ids;
	uint64_t keywords;         /* all of which an event must have */
	struct ptl_bytes programs; /* patterns, each with a zero behind it */
	uint64_t left_out;         /* events, so far */
};

void record_filter_free(struct record_filter *filter);

/*
 * A term: "pid=12,13", "program=nginx*,/usr/bin/sh", "id=1,7", "keywords=0x6", in place of the one of the same name; without a value
 * that is taken away. PTL_MISUSE says what was expected; PTL_NO_MEMORY.
 */
int record_filter_set(struct record_filter *filter, const char *term);
/*
 * Whether it wants an event of a process that runs this program; NULL: that is not known. kernel: it is one of the kernel, which has
 * no ids and keywords of its own.
 */
bool record_filter_wants(const struct record_filter *filter, const char *program, const struct ptl_event *event,
			 bool kernel);
/* The i-th term as it is given; NULL: there are no more. The text is in `text`. */
const char *record_filter_term(const struct record_filter *filter, unsigned i, struct ptl_bytes *text);

#endif
