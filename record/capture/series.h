/* SPDX-License-Identifier: BSD-2-Clause */
/* A series of files, each of which is readable alone. */
#ifndef RECORD_CAPTURE_SERIES_H
#define RECORD_CAPTURE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>
#include <ptl/writer.h>

#include "record/capture/output.h"
#include "record/capture/settings.h"

struct record_series;

/*
 * Returns the path with `infix` before its suffix: "a.ptl" and ".b" give "a.b.ptl". The memory is fresh; NULL without
 * memory.
 */
char *record_series_name(const char *path, const char *infix);

/* path: pattern of the names: "a.ptl" gives "a.000001.ptl" and so on. Fails with PTL_NO_MEMORY. */
int record_series_new(const struct record_settings *settings, const char *path, struct record_series **series);
void record_series_free(struct record_series *series);

/* A file before record_series_take has made the file a part of the series. */
struct record_series_file {
	char *path;
	int memory; /* descriptor of a file in memory, for readers; -1 for a named file */
};

/* Prepares opening the next file. make_room: removes the oldest file first, if the number of files is limited. */
void record_series_prepare(struct record_series *series, bool make_room);
/* Opens the next file. May run on any thread, while other threads only read the series. Fails as record_output_open. */
int record_series_open_next(const struct record_series *series, struct record_series_file *file,
			    struct record_output *output);
/* Makes the opened file the current file, and removes the oldest file if the number of files is limited. */
void record_series_take(struct record_series *series, struct record_series_file *file);
/* Notes that the next file could not be opened, and warns once. The current file goes on. */
void record_series_refused(struct record_series *series);
/* Discards an opened file and its output. */
void record_series_leave(struct record_series_file *file, struct record_output *output);
/* Returns the path of the current file, valid until the next file is opened. */
const char *record_series_path(const struct record_series *series);
/* Calls visit with each kept file, oldest first. Stops at the first result other than 0, and returns the result. */
int record_series_files(const struct record_series *series, int (*visit)(void *context, const char *path),
			void *context);
/* Amount recorded before a file began. */
struct record_series_mark {
	uint64_t events;  /* events of programs and of the kernel */
	uint64_t buffers; /* buffers written */
};
/* Sets the mark of the current file, right after record_series_take. */
void record_series_mark(struct record_series *series, const struct record_series_mark *mark);
/* Notes the size of the current file's initial data. Before this call, the file is never full. */
void record_series_begun(struct record_series *series, uint64_t bytes);
/*
 * Finds the first kept file after number `after`; UINT64_MAX finds the current file.
 * number, path: number and path of the file; the path is in fresh memory.
 * missed: amount in removed files between.
 * Fails with PTL_NOT_FOUND if no such file exists yet, or PTL_NO_MEMORY.
 */
int record_series_next(const struct record_series *series, uint64_t after, uint64_t *number, char **path,
		       struct record_series_mark *missed);
/* Numbers of the kept files, and of the first file with a known mark. */
struct record_series_range {
	uint64_t first, last, first_marked;
};
struct record_series_range record_series_range(const struct record_series *series);
/* Returns the number of events recorded before the file. The first known mark stands for older files. */
uint64_t record_series_events_before(const struct record_series *series, uint64_t number);
/*
 * Returns the path of a kept file in fresh memory; NULL without memory. The path of a named file consists of the stem,
 * a dot, at least six digits, and the suffix.
 */
char *record_series_kept_path(const struct record_series *series, uint64_t number);
const char *record_series_stem(const struct record_series *series);
const char *record_series_suffix(const struct record_series *series);
/* Checks whether the files are in memory. */
bool record_series_in_memory(const struct record_series *series);
/*
 * Checks whether the current file is full or has had its time. A failed write also makes the next file due, if an older
 * file can be removed.
 */
bool record_series_is_due(struct record_series *series, const struct ptl_writer_counts *counts, bool failed,
			  uint64_t now);
/*
 * Checks whether the switch to the next file is urgent: the files together have a size limit, and the current file is
 * about to exceed its share.
 */
bool record_series_is_overdue(const struct record_series *series, const struct ptl_writer_counts *counts);

/* Notes a written kernel event. Fails with PTL_NO_MEMORY or PTL_SYSTEM. */
int record_series_event(struct record_series *series, const struct ptl_event *event);
/*
 * Passes events that describe the living processes to `take`, for the beginning of a file.
 * start: set to the events' time.
 * Returns the first failure of `take`, or PTL_NO_MEMORY.
 */
int record_series_rundown(struct record_series *series, uint64_t now, uint64_t *start,
			  int (*take)(void *context, const struct ptl_event *event), void *context);

#endif
