/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads formats out of tracefs. */
#include "record/kernel_event/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "perf/trace_format.h"
#include "record/kernel_event/tracefs_text.h"

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* Fails with the reason in errno. */
static int fail_unreadable(const char *path)
{
	return common_fail(PTL_SYSTEM, "cannot read what the kernel says of tracepoints: %s: %s%s", path,
			   strerror(errno),
			   errno == EACCES ? "; root may, and ptl-record check says what permits it to others" : "");
}

static bool is_name(const char *text, size_t size)
{
	return size && text[0] != '.' && !memchr(text, '/', size);
}

bool record_tracefs_path(const char *name, char *path, size_t room)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, room, "%s/%s", folders[i], name);
		/* Without permission (EACCES) the file may exist: the caller's open reports the error. */
		if (access(path, F_OK) == 0 || errno == EACCES)
			return true;
	}
	return false;
}

#define EVENTS_MAX ((size_t)4 << 20)

/* Reads available_events, a line per tracepoint, into fresh memory. */
static int read_names(char **text)
{
	char path[512];
	uint8_t *data;
	size_t size;
	int status;

	if (!record_tracefs_path("available_events", path, sizeof(path)))
		return common_fail(PTL_NOT_FOUND, "tracefs is not mounted");
	if (access(path, R_OK) < 0)
		return fail_unreadable(path);
	status = common_read_file(path, EVENTS_MAX, &data, &size);
	if (status < 0)
		return status;
	*text = (char *)data;
	return 0;
}

int record_tracefs_matching(const char *pattern, struct common_string_list *names)
{
	char *text;
	int status = read_names(&text);

	if (status < 0)
		return status;
	status = record_tracefs_text_matching(text, pattern, names);
	free(text);
	return status == 0 && !names->count
		       ? common_fail(PTL_NOT_FOUND, "the kernel has no tracepoint that matches %s", pattern)
		       : status;
}

#define USER_EVENTS "user_events:"

/* Fails for a missing user event. A user event exists only while a program has it registered. */
static int fail_user_event(const char *tracepoint)
{
	char path[512];

	return record_tracefs_path("user_events_status", path, sizeof(path))
		       ? common_fail(PTL_NOT_FOUND, "no program has registered %s: start it first", tracepoint)
		       : common_fail(PTL_NOT_FOUND,
				     "this kernel has no user_events (Linux 6.4 and later with CONFIG_USER_EVENTS): %s",
				     tracepoint);
}

/* Fails for an unknown tracepoint with the nearest name: the kernel has thousands of long names. */
static int fail_unknown(const char *tracepoint)
{
	struct common_nearest nearest = {.word = tracepoint};
	char path[512], *text;
	int status;

	if (!record_tracefs_path("available_events", path, sizeof(path)))
		return common_fail(PTL_NOT_FOUND,
				   "the kernel describes tracepoint %s in tracefs, which is not mounted; 'mount -t "
				   "tracefs tracefs "
				   "%s' mounts it",
				   tracepoint, folders[0]);
	if (read_names(&text) < 0)
		return common_fail(PTL_NOT_FOUND, "the kernel has no tracepoint %s", tracepoint);
	record_tracefs_text_nearest(text, &nearest);
	if (!nearest.best && !strncmp(tracepoint, USER_EVENTS, strlen(USER_EVENTS)))
		status = fail_user_event(tracepoint);
	else
		status = common_fail(PTL_NOT_FOUND, "the kernel has no tracepoint %s%s; %s lists them", tracepoint,
				     common_nearest_question(&nearest), path);
	free(text);
	return status;
}

void record_tracefs_fields(const char *tracepoint, char *names, size_t room)
{
	size_t size;
	uint8_t *text;

	names[0] = 0;
	if (record_tracefs_format(tracepoint, &text, &size) < 0)
		return;
	record_tracefs_text_fields((char *)text, names, room);
	free(text);
}

int record_tracefs_format(const char *tracepoint, uint8_t **text, size_t *size)
{
	const char *colon = strchr(tracepoint, ':');
	char path[512];

	if (!colon || !is_name(tracepoint, (size_t)(colon - tracepoint)) || !is_name(colon + 1, strlen(colon + 1)))
		return common_fail(PTL_MISUSE, "'%s' is no tracepoint: SYSTEM:EVENT, as sched:sched_switch",
				   tracepoint);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/%.*s/%s/format", folders[i], (int)(colon - tracepoint),
			 tracepoint, colon + 1);
		if (access(path, R_OK) == 0)
			return common_read_file(path, PERF_TRACE_TEXT_MAX, text, size);
		if (errno != ENOENT)
			return fail_unreadable(path);
	}
	return fail_unknown(tracepoint);
}
