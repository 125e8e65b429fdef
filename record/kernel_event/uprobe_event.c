/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes lines into uprobe_events: "p:ptl_PID_START_N/NAME PATH:OFFSET(REFERENCE) ARGUMENTS", "-:ptl_PID_START_N/NAME". */
#include "record/kernel_event/uprobe_event.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "record/kernel_event/tracefs.h"
#include "record/kernel_event/tracefs_text.h"
#include "record/proc/proc_files.h"

/* Process of the recorder, its start time (pids are reused), and a number that the recorder counts up. */
#define GROUP "ptl_%" PRIu32 "_%" PRIu64 "_%u"
#define EVENT_NAME_MAX 60u
#define LIST_MAX ((size_t)16 << 20)

static unsigned made_events;

/* ---- tracefs --------------------------------------------------------------------------------- */

static int write_line(const struct ptl_bytes *line)
{
	char path[64];
	ssize_t written;
	int fd, error;

	if (line->failed)
		return common_fail_memory("a uprobe", line->size);
	if (!record_tracefs_path("uprobe_events", path, sizeof(path)))
		return common_fail(PTL_SYSTEM, "tracefs is not mounted, or this kernel has no uprobes with arguments "
					       "(CONFIG_UPROBE_EVENTS)");
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return common_fail_errno("the kernel makes this uprobe by a line in %s, which takes root", path);
	written = write(fd, line->data, line->size);
	error = errno;
	close(fd);
	errno = error;
	return written == (ssize_t)line->size ? 0 : common_fail_errno("%s", path);
}

static bool remove_named(const char *name, size_t size)
{
	struct ptl_bytes line = {0};
	bool removed;

	common_text_format(&line, "-:%.*s\n", (int)size, name);
	removed = write_line(&line) == 0;
	common_bytes_free(&line);
	return removed;
}

static bool is_left_behind(const struct record_tracefs_probe *probe)
{
	struct record_proc_stat owner;

	return !record_proc_stat(probe->pid, &owner) || owner.state == 'Z' || owner.start_ticks != probe->start;
}

void kernel_event_uprobe_event_clean(void)
{
	struct record_tracefs_probe probe;
	char path[64], *rest = NULL;
	unsigned removed = 0;
	uint8_t *text;
	size_t size;

	if (!record_tracefs_path("uprobe_events", path, sizeof(path)) ||
	    common_read_file(path, LIST_MAX, &text, &size) < 0)
		return;
	for (char *line = strtok_r((char *)text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (record_tracefs_text_probe(line, &probe) && is_left_behind(&probe))
			removed += remove_named(probe.name, probe.name_size);
	free(text);
	if (removed)
		common_message_note("%u probe%s of recorders that were killed: removed from the kernel", removed,
				    removed == 1 ? "" : "s");
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Adds a place to the probe. The path may have blanks and the line may not, so the kernel finds the file by descriptor.
 */
static int add_uprobe_place(const char *made, const struct kernel_event_place *place)
{
	const int fd = open(place->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct ptl_bytes line = {0};
	int status;

	if (fd < 0)
		return common_fail_errno("%s", place->path);
	common_text_format(&line, "%c:%s /proc/self/fd/%d:0x%llx", place->returns ? 'r' : 'p', made, fd,
			   (unsigned long long)place->offset);
	if (place->reference)
		common_text_format(&line, "(0x%llx)", (unsigned long long)place->reference);
	common_text_add(&line, place->arguments);
	common_text_add(&line, "\n");
	status = write_line(&line);
	common_bytes_free(&line);
	close(fd);
	return status;
}

/* Copies the name with letters, digits and underscores only. */
static void clean_name(const char *name, char clean[EVENT_NAME_MAX])
{
	snprintf(clean, EVENT_NAME_MAX, "%s%s", isdigit((unsigned char)*name) ? "_" : "", name);
	for (char *at = clean; *at; at++)
		if (!isalnum((unsigned char)*at) || *at & 0x80)
			*at = '_';
}

int kernel_event_uprobe_event_make(struct kernel_event *event, const char *name, const struct kernel_event_place *place)
{
	const uint32_t pid = (uint32_t)getpid();
	struct record_proc_stat self = {0};
	char clean[EVENT_NAME_MAX];
	bool forbidden;
	int status;

	/*
	 * If /proc lacks this process, as in another pid namespace, the start time is 0. Another recorder's cleaning
	 * then fails on probes in use: the kernel keeps them.
	 */
	(void)record_proc_stat(pid, &self);
	clean_name(name, clean);
	if (asprintf(&event->made, GROUP "/%s", pid, self.start_ticks, made_events++, clean) < 0) {
		event->made = NULL;
		return common_fail_memory("a uprobe", sizeof(clean));
	}
	status = add_uprobe_place(event->made, place);
	forbidden = status < 0 && (errno == EACCES || errno == EPERM);
	if (status < 0) {
		free(event->made);
		event->made = NULL;
	}
	if (status < 0 && *place->arguments && !forbidden)
		return common_fail_in(status, "the kernel does not take the probe, or one of its arguments:%s",
				      place->arguments);
	return status < 0 ? common_fail_in(status, "the kernel does not take the probe") : 0;
}

int kernel_event_uprobe_event_extend(const struct kernel_event *event, const struct kernel_event_place *place)
{
	return add_uprobe_place(event->made, place);
}

int kernel_event_uprobe_event_read(struct kernel_event *event, const char *system, struct perf_tracing *tracing)
{
	char *name = strdup(event->made);
	uint8_t *format;
	size_t size;
	int status;

	if (!name)
		return common_fail_memory("a uprobe", strlen(event->made));
	*strchr(name, '/') = ':';
	status = record_tracefs_format(name, &format, &size);
	free(name);
	if (status < 0)
		return status;
	event->type = PERF_TYPE_TRACEPOINT;
	event->config = event->number = record_tracefs_text_id((const char *)format);
	/*
	 * An inherited event would not reach programs that the child executes: the kernel does not insert the probe
	 * there.
	 */
	event->everyone = true;
	if (asprintf(&event->shown, "%s:%s", system, strchr(event->made, '/') + 1) < 0) {
		event->shown = NULL;
		status = common_fail_memory("a uprobe", size);
	}
	if (status == 0)
		status = perf_tracing_add_format(tracing, system, format, size);
	free(format);
	return status;
}

void kernel_event_uprobe_event_remove(struct kernel_event *event)
{
	if (event->made)
		(void)remove_named(event->made, strlen(event->made));
	free(event->made);
	event->made = NULL;
}
