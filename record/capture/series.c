/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the files of a series, knows when the next one is due, and who lives then. */
#include "record/capture/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/state.h>

#include "common/error.h"
#include "common/message.h"
#include "record/capture/capture.h"
#include "record/capture/machine.h"

#define CIRCULAR_PARTS 8
#define SECOND 1000000000u
/* The next file is tried no more often than this after a failure. */
#define RETRY_TIME SECOND
/*
 * What programs write is put into the file a little after it happened, when they may have ended: a file begins with who lived so
 * long before, and has again what happened to processes since.
 */
#define OVERLAP (2ull * SECOND)

/* A copy of an event that is not folded yet. */
struct pending {
	struct pending *next;
	struct ptl_event event;
	uint8_t payload[];
};

struct record_series {
	const struct record_settings *settings;
	char *stem;         /* the path without its suffix */
	const char *suffix; /* ".ptl", or what else the path ends with */
	char *path;         /* of the file at hand */
	uint64_t number;    /* of it, from 1 on */
	uint64_t max_size;
	uint64_t keep; /* 0: all */
	uint64_t opened, tried;
	uint64_t begun; /* bytes that the file at hand begins with */
	bool said;
	struct ptl_state *state; /* as it was OVERLAP ago */
	struct pending *first, **last;
};

/* Where the suffix of the last component begins; the end, if it has none. */
static size_t stem_size(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

int record_series_new(const struct record_settings *settings, const char *path, struct record_series **result)
{
	const bool circular = settings->mode == RECORD_MODE_CIRCULAR;
	const size_t size = stem_size(path);
	struct record_series *series = calloc(1, sizeof(*series));

	if (!series)
		return common_fail_memory("files", sizeof(*series));
	series->settings = settings;
	series->last = &series->first;
	series->stem = strndup(path, size);
	series->suffix = path + size;
	series->max_size = circular ? settings->max_size / CIRCULAR_PARTS : settings->max_size;
	series->keep = circular ? CIRCULAR_PARTS : settings->keep;
	if (!series->stem || ptl_state_new(&series->state) < 0) {
		record_series_free(series);
		return common_fail_memory("files", size);
	}
	*result = series;
	return 0;
}

void record_series_free(struct record_series *series)
{
	if (!series)
		return;
	while (series->first) {
		struct pending *next = series->first->next;

		free(series->first);
		series->first = next;
	}
	ptl_state_free(series->state);
	free(series->stem);
	free(series->path);
	free(series);
}

const char *record_series_path(const struct record_series *series)
{
	return series->path;
}

/* Fresh memory; NULL without. */
static char *path_of(const struct record_series *series, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s.%06llu%s", series->stem, (unsigned long long)number, series->suffix) < 0 ? NULL
													    : path;
}

static void remove_oldest(const struct record_series *series, uint64_t number)
{
	char *path = series->keep && number > series->keep ? path_of(series, number - series->keep) : NULL;

	if (path)
		(void)unlink(path);
	free(path);
}

int record_series_open_next(struct record_series *series, struct record_output *output)
{
	char *path = path_of(series, series->number + 1);
	struct ptl_writer_options options;
	int status;

	series->tried = record_now();
	if (!path)
		return common_fail_memory("file name", 0);
	options = record_writer_options(series->settings, path);
	/* First, so that there is room for the new one. */
	remove_oldest(series, series->number + 1);
	status = record_output_open(output, path, series->settings->force, &options);
	if (status < 0) {
		free(path);
		return status;
	}
	series->number++;
	series->opened = series->tried;
	free(series->path);
	series->path = path;
	return 0;
}

int record_series_files(const struct record_series *series, int (*visit)(void *context, const char *path),
			void *context)
{
	uint64_t number = series->keep && series->number > series->keep ? series->number - series->keep + 1 : 1;
	int status = 0;

	for (; status == 0 && number <= series->number; number++) {
		char *path = path_of(series, number);

		status = path ? visit(context, path) : common_fail_memory("file name", 0);
		free(path);
	}
	return status;
}

void record_series_begun(struct record_series *series, uint64_t bytes)
{
	series->begun = bytes;
}

void record_series_say_failure(struct record_series *series)
{
	if (series->said)
		return;
	series->said = true;
	common_message_error("%s", ptl_error_text());
	common_message_hint("%s goes on; the next file is tried again every second", series->path);
}

bool record_series_is_due(struct record_series *series, const struct ptl_writer_counts *counts, bool failed,
			  uint64_t now)
{
	if (now < series->tried + RETRY_TIME && (failed || series->tried != series->opened))
		return false;
	if (failed && series->keep)
		return true;
	if (series->settings->part_time && now - series->opened >= series->settings->part_time)
		return true;
	/* Where the code alone is larger than a file is to be, there is something beside it all the same. */
	return series->max_size && counts->stored_bytes >= series->max_size &&
	       counts->stored_bytes - series->begun >= series->max_size / 4;
}

/* ---- who lives ------------------------------------------------------------------------------- */

static int add_pending(struct record_series *series, const struct ptl_event *event)
{
	struct pending *pending = malloc(sizeof(*pending) + event->payload_size);

	if (!pending)
		return common_fail_memory("events of processes", sizeof(*pending) + event->payload_size);
	pending->next = NULL;
	pending->event = *event;
	pending->event.payload = pending->payload;
	pending->event.extended = NULL;
	pending->event.extended_count = 0;
	if (event->payload_size)
		memcpy(pending->payload, event->payload, event->payload_size);
	*series->last = pending;
	series->last = &pending->next;
	return 0;
}

/* Folds what is so old that nothing from before it comes any more. */
static int settle(struct record_series *series, uint64_t until)
{
	int status = 0;

	while (status == 0 && series->first && series->first->event.time < until) {
		struct pending *pending = series->first;

		status = ptl_state_event(series->state, &pending->event);
		series->first = pending->next;
		if (!series->first)
			series->last = &series->first;
		free(pending);
	}
	return status;
}

int record_series_event(struct record_series *series, const struct ptl_event *event)
{
	const int status = add_pending(series, event);

	return status < 0 ? status : settle(series, event->time > OVERLAP ? event->time - OVERLAP : 0);
}

int record_series_rundown(struct record_series *series, uint64_t now, uint64_t *start,
			  int (*take)(void *context, const struct ptl_event *event), void *context)
{
	const struct ptl_rundown rundown = {
		.pid = PTL_NO_ID,
		.time = now > OVERLAP ? now - OVERLAP : 0,
		.opcode = PTL_OPCODE_START_RUNDOWN,
		.take = take,
		.context = context,
	};
	int status = settle(series, rundown.time);

	*start = rundown.time;
	if (status == 0)
		status = ptl_state_rundown(series->state, &rundown);
	for (const struct pending *pending = series->first; status == 0 && pending; pending = pending->next)
		status = take(context, &pending->event);
	return status;
}
