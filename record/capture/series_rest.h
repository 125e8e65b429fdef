/* SPDX-License-Identifier: BSD-2-Clause */
/* The remaining files of an ended series, for a reader that follows the series and has not reached the last file. */
#ifndef RECORD_CAPTURE_SERIES_REST_H
#define RECORD_CAPTURE_SERIES_REST_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/session/session_ask.h"
#include "record/capture/series.h"

/* The answer to "rest" (record/control/request.h): a text and descriptors. */
struct record_series_rest {
	struct ptl_bytes text;
	int descriptors[COMMON_SESSION_DESCRIPTORS_MAX];
	size_t descriptor_count;
};

/*
 * Returns the rest after all files are complete. events: number of recorded events. Sets text.failed without memory.
 * The caller frees the result.
 */
struct record_series_rest record_series_rest(const struct record_series *series, uint64_t events);
/* Adds the absolute path that all names of the files begin with, and a zero. */
void record_series_stem_absolute(const struct record_series *series, struct ptl_bytes *text);
void record_series_rest_free(struct record_series_rest *rest);

#endif
