/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names the files of a series, decides when the next file is due, and knows which processes live at a file's beginning.
 */
#include "record/capture/series.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/state.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/session/series.h"
#include "record/capture/machine.h"
#include "record/capture/output_options.h"

#define CIRCULAR_PARTS 8
#define MARKS 4096
/*
 * Range of descriptors for files in memory. A number is reused late, so a slow reader of an old path does not open
 * another file.
 */
#define MEMORY_FIRST 200
#define MEMORY_COUNT 800
#define SECOND 1000000000u
/* Minimum time after a failure before the next attempt to open a file. */
#define RETRY_TIME SECOND
/*
 * Events of programs arrive slightly late, when their process may have ended. A file therefore begins with the
 * processes that lived this long before, and repeats later kernel events.
 */
#define OVERLAP (2ull * SECOND)

/* A copy of an event that `state` does not include yet. */
struct pending {
	struct pending *next;
	struct ptl_event event;
	uint8_t payload[];
};

struct record_series {
	const struct record_settings *settings;
	char *stem;         /* path without the suffix */
	const char *suffix; /* ".ptl", or the suffix of the given path */
	char *path;         /* path of the current file */
	uint64_t number;    /* number of the current file, from 1 on */
	uint64_t max_size;
	uint64_t keep;    /* 0: keeps all files */
	uint64_t removed; /* number of the last removed file */
	uint64_t opened, tried;
	bool refused;   /* the last attempt to open a file failed */
	uint64_t begun; /* size of the current file's initial data; UINT64_MAX until written */
	bool in_memory;
	int memory[CIRCULAR_PARTS];       /* descriptors by number % CIRCULAR_PARTS */
	struct record_series_mark *marks; /* ring of MARKS entries by number */
	bool refusal_reported;
	struct ptl_state *state; /* state as of OVERLAP ago */
	struct pending *first, **last;
};

/* Returns the size of the path without the suffix of its last component. */
static size_t stem_size(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

char *record_series_name(const char *path, const char *infix)
{
	const size_t size = stem_size(path);
	char *name;

	return asprintf(&name, "%.*s%s%s", (int)size, path, infix, path + size) < 0 ? NULL : name;
}

int record_series_new(const struct record_settings *settings, const char *path, struct record_series **result)
{
	const bool circular = settings->mode >= RECORD_MODE_CIRCULAR;
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
	series->in_memory = settings->mode >= RECORD_MODE_BUFFERING;
	series->marks = calloc(MARKS, sizeof(*series->marks));
	for (size_t i = 0; i < CIRCULAR_PARTS; i++)
		series->memory[i] = -1;
	if (!series->stem || !series->marks || ptl_state_new(&series->state) < 0) {
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
	for (size_t i = 0; i < CIRCULAR_PARTS; i++)
		if (series->memory[i] >= 0)
			close(series->memory[i]);
	free(series->marks);
	free(series->stem);
	free(series->path);
	free(series);
}

const char *record_series_path(const struct record_series *series)
{
	return series->path;
}

/* Returns the path in fresh memory; NULL without memory. */
static char *path_of(const struct record_series *series, uint64_t number)
{
	return common_series_path(series->stem, number, series->suffix);
}

/* Removes the oldest files up to `last` until only `keep` files are left. */
static void remove_oldest(struct record_series *series, uint64_t last)
{
	while (series->keep && series->removed + series->keep < last) {
		const uint64_t oldest = ++series->removed;
		int *memory = &series->memory[oldest % CIRCULAR_PARTS];
		char *path = series->in_memory ? NULL : path_of(series, oldest);

		if (path)
			(void)unlink(path);
		else if (*memory >= 0)
			close(*memory);
		*memory = -1;
		free(path);
	}
}

/*
 * Makes a file in memory.
 * fd: descriptor for readers.
 * path: in fresh memory, NULL on failure. A writer that opens the path marks the file as being written.
 */
static int make_memory(uint64_t number, int *fd, char **path)
{
	const int memory = memfd_create("ptl-record", MFD_CLOEXEC);
	int status = 0;

	*fd = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, MEMORY_FIRST + (int)(number % MEMORY_COUNT));
	if (*fd < 0)
		status = common_fail_errno("cannot make memory for a trace");
	else if (asprintf(path, "/proc/%d/fd/%d", (int)getpid(), *fd) < 0) {
		*path = NULL;
		status = common_fail_memory("file name", 0);
	}
	if (memory >= 0)
		close(memory);
	return status;
}

static int open_memory(const struct record_series *series, struct record_series_file *file,
		       struct record_output *output)
{
	struct ptl_writer_options options;
	int status = make_memory(series->number + 1, &file->memory, &file->path);

	if (status < 0)
		return status;
	options = record_writer_options(series->settings, file->path);
	return record_output_open_memory(output, file->path, &options);
}

static int open_named(const struct record_series *series, struct record_series_file *file, struct record_output *output)
{
	struct ptl_writer_options options;

	file->path = path_of(series, series->number + 1);
	if (!file->path)
		return common_fail_memory("file name", 0);
	options = record_writer_options(series->settings, file->path);
	return record_output_open(output, file->path, record_output_wish(series->settings), &options);
}

void record_series_prepare(struct record_series *series, bool make_room)
{
	series->tried = record_now();
	if (make_room)
		remove_oldest(series, series->number + 1);
}

static void free_file(struct record_series_file *file)
{
	free(file->path);
	if (file->memory >= 0)
		close(file->memory);
	*file = (struct record_series_file){.memory = -1};
}

int record_series_open_next(const struct record_series *series, struct record_series_file *file,
			    struct record_output *output)
{
	int status;

	*file = (struct record_series_file){.memory = -1};
	status = series->in_memory ? open_memory(series, file, output) : open_named(series, file, output);
	if (status < 0)
		free_file(file);
	return status;
}

void record_series_take(struct record_series *series, struct record_series_file *file)
{
	remove_oldest(series, ++series->number);
	series->memory[series->number % CIRCULAR_PARTS] = file->memory;
	free(series->path);
	series->path = file->path;
	series->opened = record_now();
	series->refused = false;
	series->begun = UINT64_MAX;
	*file = (struct record_series_file){.memory = -1};
}

void record_series_leave(struct record_series_file *file, struct record_output *output)
{
	record_output_discard(output);
	free_file(file);
}

char *record_series_kept_path(const struct record_series *series, uint64_t number)
{
	char *path;

	if (!series->in_memory)
		return path_of(series, number);
	return asprintf(&path, "/proc/%d/fd/%d", (int)getpid(), series->memory[number % CIRCULAR_PARTS]) < 0 ? NULL
													     : path;
}

static uint64_t first_kept(const struct record_series *series)
{
	return series->removed + 1;
}

struct record_series_range record_series_range(const struct record_series *series)
{
	return (struct record_series_range){
		.first = first_kept(series),
		.last = series->number,
		.first_marked = series->number > MARKS ? series->number - MARKS + 1 : 1,
	};
}

const char *record_series_stem(const struct record_series *series)
{
	return series->stem;
}

const char *record_series_suffix(const struct record_series *series)
{
	return series->suffix;
}

bool record_series_in_memory(const struct record_series *series)
{
	return series->in_memory;
}

/* Returns the mark of a file. The oldest known mark stands for older files. */
static const struct record_series_mark *mark_of(const struct record_series *series, uint64_t number)
{
	if (number + MARKS <= series->number)
		number = series->number - MARKS + 1;
	return &series->marks[number % MARKS];
}

uint64_t record_series_events_before(const struct record_series *series, uint64_t number)
{
	return mark_of(series, number)->events;
}

int record_series_next(const struct record_series *series, uint64_t after, uint64_t *number, char **path,
		       struct record_series_mark *missed)
{
	const uint64_t first = first_kept(series);
	const uint64_t wanted = after == UINT64_MAX ? series->number : after + 1;

	if (!wanted || wanted > series->number)
		return common_fail(PTL_NOT_FOUND, "there is no file behind %llu so far", (unsigned long long)after);
	*number = wanted < first ? first : wanted;
	*missed = (struct record_series_mark){
		.events = mark_of(series, *number)->events - mark_of(series, wanted)->events,
		.buffers = mark_of(series, *number)->buffers - mark_of(series, wanted)->buffers,
	};
	*path = record_series_kept_path(series, *number);
	return *path ? 0 : common_fail_memory("file name", 0);
}

int record_series_files(const struct record_series *series, int (*visit)(void *context, const char *path),
			void *context)
{
	uint64_t number = first_kept(series);
	int status = 0;

	for (; status == 0 && number <= series->number; number++) {
		char *path = record_series_kept_path(series, number);

		status = path ? visit(context, path) : common_fail_memory("file name", 0);
		free(path);
	}
	return status;
}

void record_series_mark(struct record_series *series, const struct record_series_mark *mark)
{
	series->marks[series->number % MARKS] = *mark;
}

void record_series_begun(struct record_series *series, uint64_t bytes)
{
	series->begun = bytes;
}

void record_series_refused(struct record_series *series)
{
	series->refused = true;
	if (series->refusal_reported)
		return;
	series->refusal_reported = true;
	common_message_error("%s", ptl_error_text());
	common_message_hint("%s goes on; the next file is tried again every second", series->path);
}

bool record_series_is_due(struct record_series *series, const struct ptl_writer_counts *counts, bool failed,
			  uint64_t now)
{
	if (now < series->tried + RETRY_TIME && (failed || series->refused))
		return false;
	if (failed && series->keep)
		return true;
	if (series->settings->part_time && now - series->opened >= series->settings->part_time)
		return true;
	/* A file whose initial code alone exceeds max_size still gets max_size / 4 of other data. */
	return series->max_size && series->begun != UINT64_MAX && counts->stored_bytes >= series->max_size &&
	       counts->stored_bytes - series->begun >= series->max_size / 4;
}

bool record_series_is_overdue(const struct record_series *series, const struct ptl_writer_counts *counts)
{
	return series->settings->mode >= RECORD_MODE_CIRCULAR && series->begun != UINT64_MAX &&
	       counts->stored_bytes >= 2 * series->max_size && counts->stored_bytes - series->begun >= series->max_size;
}

/* ---- living processes ------------------------------------------------------------------------ */

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

/* Updates the state by all events before `until`; no older event arrives afterwards. */
static int settle_state(struct record_series *series, uint64_t until)
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

	return status < 0 ? status : settle_state(series, event->time > OVERLAP ? event->time - OVERLAP : 0);
}

int record_series_rundown(struct record_series *series, uint64_t now, uint64_t *start,
			  int (*take)(void *context, const struct ptl_event *event), void *context)
{
	const struct ptl_rundown rundown = {
		.size = sizeof(rundown),
		.pid = PTL_NO_ID,
		.time = now > OVERLAP ? now - OVERLAP : 0,
		.opcode = PTL_OPCODE_START_RUNDOWN,
		.take = take,
		.context = context,
	};
	int status = settle_state(series, rundown.time);

	*start = rundown.time;
	if (status == 0)
		status = ptl_state_rundown(series->state, &rundown);
	for (const struct pending *pending = series->first; status == 0 && pending; pending = pending->next)
		status = take(context, &pending->event);
	return status;
}
