/* SPDX-License-Identifier: BSD-2-Clause */
/* The first event that is no rundown gives the time from which a file is read. */
#include "format/reader/session_beginning.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/session/series.h"
#include "common/text/text.h"
#include "format/event/kernel_class.h"

static int take_first(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	uint64_t *time = context;

	(void)trace;
	if ((event->flags & PTL_EVENT_INJECTED) && format_class_of(&event->descriptor) != FORMAT_CLASS_NONE)
		return 0;
	*time = event->time;
	return 1;
}

/* Returns the nanoseconds from the recording's start to the file's first own event; false if there is none yet. */
static bool find_time(int fd, const char *path, uint64_t *since)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_first};
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct ptl_trace *trace;
	uint64_t time = 0;

	if (copy < 0)
		return false;
	if (ptl_open_fd(copy, path, NULL, &trace)) {
		close(copy);
		return false;
	}
	(void)ptl_process(trace, NULL, &callbacks, &time);
	*since = ptl_trace_machine(trace)->start_time;
	ptl_close(trace);
	if (time < *since || !*since)
		return false;
	*since = time - *since;
	return true;
}

/* Appends where earlier events are: the existing files that precede this file. */
static int add_earlier(const char *path, uint64_t number, struct ptl_bytes *text)
{
	uint64_t *numbers = NULL;
	size_t stem, suffix, count = 0, earlier = 0;
	char *name = common_series_parse(path, number, &stem, &suffix) ? strndup(path, stem) : NULL;
	int status = name ? common_series_list(name, path + suffix, 0, &numbers, &count) : 0;

	while (earlier < count && numbers[earlier] < number)
		earlier++;
	if (!earlier) {
		common_text_add(text, "; earlier events are not read");
	} else {
		common_text_add(text, "; earlier events are in ");
		common_text_safe_n(text, path, stem);
		common_text_format(text, ".%06" PRIu64, numbers[0]);
		common_text_safe(text, path + suffix);
	}
	if (earlier > 1)
		common_text_add(text, " and those that follow");
	free(numbers);
	free(name);
	return status == PTL_NO_MEMORY ? status : 0;
}

int format_session_beginning(const struct format_session_files *files, int fd, const char *path, struct ptl_bytes *text)
{
	uint64_t since;
	int status;

	if (files->number <= 1)
		return 0;
	common_text_format(text, "session %s is read from its file %" PRIu64 " on", files->session, files->number);
	if (find_time(fd, path, &since)) {
		common_text_add(text, ", which begins ");
		common_text_duration(text, since);
		common_text_add(text, " after the session");
	}
	status = add_earlier(path, files->number, text);
	return status || !text->failed ? status : common_fail_memory("a text", text->size);
}
