/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a series that has ended, for who reads them while they are written and is not at the last one yet. */
#ifndef RECORD_CAPTURE_SERIES_REST_H
#define RECORD_CAPTURE_SERIES_REST_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/session/session_ask.h"
#include "record/capture/series.h"

/* The answer to "rest" (record/control/request.h): a text, and descriptors. */
struct record_series_rest {
	struct ptl_bytes text;
	int descriptors[COMMON_SESSION_DESCRIPTORS_MAX];
	size_t descriptor_count;
};

/* All files are complete; so many events were recorded. Where there is no memory for it, text.failed. The caller frees it. */
struct record_series_rest record_series_rest(const struct record_series *series, uint64_t events);
/* Adds what the names of the files begin with, as an absolute path, and a zero. */
void record_series_stem_absolute(const struct record_series *series, struct ptl_bytes *text);
void record_series_rest_free(struct record_series_rest *rest);

#endif
