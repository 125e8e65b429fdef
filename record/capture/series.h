/* SPDX-License-Identifier: BSD-2-Clause */
/* Files one after the other, each of which can be read alone. */
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

/* The path with this in front of its suffix: "a.ptl" and ".b" give "a.b.ptl". Fresh memory; NULL without. */
char *record_series_name(const char *path, const char *infix);

/* Of files that are called after this path: "a.ptl" gives "a.000001.ptl" and so on. PTL_NO_MEMORY. */
int record_series_new(const struct record_settings *settings, const char *path, struct record_series **series);
void record_series_free(struct record_series *series);

/* A file that is not part of the series yet. */
struct record_series_file {
	char *path;
	int memory; /* what it is in, for who reads it; -1: it has a name */
};

/* The next file is about to be opened. make_room: the oldest one is removed first, if there are to be no more. */
void record_series_prepare(struct record_series *series, bool make_room);
/* Opens it, on any thread, while nothing but record_series_files and what looks is called. As record_output_open. */
int record_series_open_next(const struct record_series *series, struct record_series_file *file,
			    struct record_output *output);
/* It is the file at hand now, and the oldest one is removed, if there are to be no more. */
void record_series_take(struct record_series *series, struct record_series_file *file);
/* The next file could not be opened, which is said once: the one at hand goes on. */
void record_series_refused(struct record_series *series);
/* It is not wanted after all: its output is discarded. */
void record_series_leave(struct record_series_file *file, struct record_output *output);
/* Of the file at hand, until the next one is opened. */
const char *record_series_path(const struct record_series *series);
/* Calls visit with each file that is kept, the oldest first, until it returns a value other than 0, which is returned. */
int record_series_files(const struct record_series *series, int (*visit)(void *context, const char *path),
			void *context);
/* What was recorded before a file began. */
struct record_series_mark {
	uint64_t events;  /* of programs and the kernel */
	uint64_t buffers; /* that were written */
};
/* What was recorded before the file at hand, which was just taken. */
void record_series_mark(struct record_series *series, const struct record_series_mark *mark);
/* All is written that the file at hand begins with, which takes so many bytes. Until then it is not full. */
void record_series_begun(struct record_series *series, uint64_t bytes);
/*
 * The first file that is kept behind the one of this number, UINT64_MAX: the file at hand: its number, and its path in fresh
 * memory. *missed: what files in between had, that are gone. PTL_NOT_FOUND: there is none yet; PTL_NO_MEMORY.
 */
int record_series_next(const struct record_series *series, uint64_t after, uint64_t *number, char **path,
		       struct record_series_mark *missed);
/* Numbers: of the files that are kept, and the first one of which it is known what was recorded before. */
struct record_series_range {
	uint64_t first, last, first_marked;
};
struct record_series_range record_series_range(const struct record_series *series);
/* Events that were recorded before the file of this number; before the first one of which that is known, if it is older. */
uint64_t record_series_events_before(const struct record_series *series, uint64_t number);
/* Of a file that is kept, in fresh memory; NULL without. That of one that has a name is its stem, a dot, six digits or more, and its suffix. */
char *record_series_kept_path(const struct record_series *series, uint64_t number);
const char *record_series_stem(const struct record_series *series);
const char *record_series_suffix(const struct record_series *series);
/* Whether the files are in memory. */
bool record_series_in_memory(const struct record_series *series);
/* Whether the file at hand is full, has had its time, or cannot be written while there is one that can be removed. */
bool record_series_is_due(struct record_series *series, const struct ptl_writer_counts *counts, bool failed,
			  uint64_t now);
/* Whether the next one cannot wait: all files together are to have a bound, which the file at hand is about to pass. */
bool record_series_is_overdue(const struct record_series *series, const struct ptl_writer_counts *counts);

/* An event of the kernel's classes was written. PTL_NO_MEMORY, PTL_SYSTEM. */
int record_series_event(struct record_series *series, const struct ptl_event *event);
/* Gives the events that say who lives, for the beginning of a file; *start: their time. What take returns, PTL_NO_MEMORY. */
int record_series_rundown(struct record_series *series, uint64_t now, uint64_t *start,
			  int (*take)(void *context, const struct ptl_event *event), void *context);

#endif
