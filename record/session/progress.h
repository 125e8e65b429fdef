/* SPDX-License-Identifier: BSD-2-Clause */
/* What the user sees while a command is recorded, and at the end. */
#ifndef RECORD_SESSION_PROGRESS_H
#define RECORD_SESSION_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "record/capture/capture.h"

#define RECORD_SIZE_TEXT 32

/* "12.3 MB"; returns text. */
const char *record_size_text(uint64_t bytes, char text[RECORD_SIZE_TEXT]);

/* Time, raw and stored size, losses, in a line on the terminal that the next one replaces. */
void record_progress_show(const struct record_capture *capture, uint64_t elapsed);

/*
 * The closing line: file, sizes, processes, threads, losses. counts are those of before the model
 * was freed.
 */
void record_progress_summary(const struct record_capture *capture, const char *path,
			     const struct record_model_counts *counts, uint64_t lost_buffers);

#endif
