/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/kernel_event/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "record/kernel_event/tracefs.h"
#include "record/kernel_event/tracefs_text.h"
#include "record/kernel_event/uprobe_event.h"
#include "record/launch/command.h"
#include "record/proc/maps.h"

static int add_places(struct kernel_event *event, const struct value_probe_request *request)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < request->offset_count; i++) {
		struct kernel_event_place place = {.path = request->path, .offset = request->offsets[i]};
		char *arguments;

		if (asprintf(&arguments, " place=\\%zu:u16%s", i, request->arguments) < 0)
			return common_fail_memory("--values", strlen(request->arguments));
		place.arguments = arguments;
		status = event->made ? kernel_event_uprobe_event_extend(event, &place)
				     : kernel_event_uprobe_event_make(event, request->name, &place);
		free(arguments);
	}
	return status;
}

/* Reads number and layout of the event. */
static int read_format(struct kernel_events *state, struct kernel_event *event,
		       const struct value_probe_request *request)
{
	char *name = strdup(event->made);
	uint8_t *format;
	size_t size;
	int status;

	if (!name)
		return common_fail_memory("--values", strlen(event->made));
	*strchr(name, '/') = ':';
	status = record_tracefs_format(name, &format, &size);
	free(name);
	if (status < 0)
		return status;
	event->type = PERF_TYPE_TRACEPOINT;
	event->config = event->number = record_tracefs_text_id((const char *)format);
	if (!value_probes_format(state->values, request->number, (const char *)format))
		status = common_fail(PTL_SYSTEM, "the kernel describes the probe in an unknown way");
	free(format);
	return status;
}

static int create_event(void *context, const struct value_probe_request *request)
{
	struct kernel_events *state = context;
	struct kernel_event event = {
		.period = 1,
		.until = UINT64_MAX,
		.everyone = true,
		.values = request->number + 1,
	};
	const size_t before = state->count;
	int status = asprintf(&event.name, "values:%s", request->name) < 0
			     ? common_fail_memory("--values", strlen(request->name))
			     : add_places(&event, request);

	if (status < 0)
		event.name = NULL;
	if (status == 0)
		status = read_format(state, &event, request);
	if (status == 0)
		status = kernel_event_add(state, &event);
	if (state->count == before)
		kernel_event_free(&event, 0);
	return common_fail_in(status, "--values %s", request->name);
}

static int probe_file(struct kernel_events *state, const char *path)
{
	return value_probes_file(state->values, path, create_event, state);
}

/* Probes the code of a running process. */
static int probe_process(struct kernel_events *state, uint32_t pid)
{
	struct record_map_entry *entry = malloc(sizeof(*entry));
	struct record_maps maps;
	int status = 0;

	record_maps_open(&maps, pid);
	if (!maps.file)
		status = common_fail_errno("/proc/%u/maps", pid);
	while (entry && status == 0 && record_maps_next(&maps, entry))
		if (entry->executable && entry->path[0] == '/' && !entry->deleted)
			status = probe_file(state, entry->path);
	record_maps_close(&maps);
	free(entry);
	return status;
}

static int probe_command(struct kernel_events *state, char *const *argv)
{
	struct record_command command;
	int status;

	/* The session reports a command that cannot run. */
	if (record_command_find(argv, true, &command))
		return 0;
	status = probe_file(state, command.program);
	record_command_free(&command);
	return status;
}

/* Probes the processes of "--only pid=PID". */
static int probe_only(struct kernel_events *state, const struct common_string_list *terms)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < terms->count; i++) {
		uint64_t pid;

		if (!strncmp(terms->list[i], "pid=", 4) && common_parse_u64(terms->list[i] + 4, &pid) == 0 &&
		    pid <= UINT32_MAX)
			status = probe_process(state, (uint32_t)pid);
	}
	return status;
}

int kernel_event_values_open(struct kernel_events *state)
{
	const struct record_settings *settings = state->session->settings;
	bool more = true;
	int status;

	kernel_event_uprobe_event_clean();
	status = value_probes_new(&settings->values, &state->session->capture, &state->values);

	for (size_t i = 0; status == 0 && more; i++) {
		const char *path = value_probes_path(state->values, i, &more);

		if (path)
			status = probe_file(state, path);
	}
	if (status == 0 && settings->command)
		status = probe_command(state, settings->command);
	if (status == 0)
		status = probe_only(state, &settings->only);
	for (size_t i = 0; status == 0 && i < settings->pt.pids.count; i++)
		status = probe_process(state, settings->pt.pids.ids[i]);
	return status;
}
