/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line during a recording, and the summary at the end. */
#ifndef RECORD_SESSION_PROGRESS_H
#define RECORD_SESSION_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"
#include "record/capture/capture.h"

#define RECORD_SIZE_TEXT 32

/* Returns text with a size such as "12.3 MB". */
const char *record_size_text(uint64_t bytes, char text[RECORD_SIZE_TEXT]);

/* Replaces the progress line on the terminal by the current time, raw size, stored size and losses. */
void record_progress_show(const struct record_capture *capture, uint64_t elapsed);

/* Facts for the summary that record_capture does not have. */
struct record_progress_end {
	const char *path;                  /* path of a single file, or a series' last file */
	struct common_string_list *others; /* paths of a series' earlier files that are kept */
	uint64_t removed_events;           /* number of events in a series' removed files */
	struct record_model_counts counts; /* counts, taken before the model was freed */
	bool failed;                       /* The trace is incomplete. */
};

/* Notes the kept files of a series. The caller has not closed the capture yet. Fails with PTL_NO_MEMORY. */
int record_progress_series(const struct record_series *series, struct record_progress_end *end);

/* Prints the summary: file, sizes, processes, threads, losses. */
void record_progress_summary(const struct record_capture *capture, const struct record_progress_end *end);

#endif
