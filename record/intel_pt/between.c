/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --only-between: the kernel pauses and resumes packets at events (since Linux 6.13). Each Intel PT event starts paused
 * and leads a group. A member of the group resumes the packets, another member pauses the packets.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/text.h"
#include "record/capture/notes.h"
#include "record/intel_pt/between.h"
#include "record/launch/command.h"
#include "record/perf/event.h"

#define RETURN "/return" /* behind a function: the event is the function's return */

/* ---- names ----------------------------------------------------------------------------------- */

/* Finds the program whose functions need no FILE: of the command, or of the only process. The caller frees *program. */
static int find_program(const struct record_settings *settings, char **program)
{
	struct record_command command;
	char link[64];

	*program = NULL;
	if (settings->command) {
		if (record_command_find(settings->command, true, &command))
			return PTL_NOT_FOUND;
		*program = realpath(command.program, NULL);
		record_command_free(&command);
		return *program ? 0 : common_fail_errno("%s", settings->command[0]);
	}
	if (settings->pt.pids.count != 1)
		return 0;
	snprintf(link, sizeof(link), "/proc/%u/exe", settings->pt.pids.ids[0]);
	*program = realpath(link, NULL);
	return *program ? 0 : common_fail_errno("the program of process %u", settings->pt.pids.ids[0]);
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the length of FILE in "FILE:FUNCTION"; 0 without FILE. The "::" of C++ names separates no FILE. */
static size_t file_size(const char *text)
{
	for (size_t at = strlen(text); at--;) {
		if (text[at] != ':')
			continue;
		if (!at || text[at - 1] != ':')
			return at;
		at--;
	}
	return 0;
}

/* Writes the event's name as -e has it: a tracepoint, or the uprobe of a function. */
static int name_event(const struct record_settings *settings, const char *text, struct ptl_bytes *name)
{
	const size_t file = file_size(text), size = strlen(text), end = strlen(RETURN);
	const bool returns = size > end && !strcmp(text + size - end, RETURN);
	const char *function = text + (file ? file + 1 : 0);
	const bool is_path = file && memchr(text, '/', file);
	char *program = NULL;
	bool is_program;
	int status = 0;

	if (!is_path)
		status = find_program(settings, &program);
	is_program = program && (!file || (strlen(common_base_name(program)) == file &&
					   !strncmp(common_base_name(program), text, file)));
	if (status == 0 && !file && !program)
		status = common_fail(PTL_MISUSE, "a function needs its file here: FILE:%s", text);
	else if (status == 0 && !is_path && !is_program)
		common_text_add(name, text);
	else if (status == 0)
		common_text_format(name, "%s:%.*s:%.*s", returns ? "uretprobe" : "uprobe",
				   is_path ? (int)file : (int)strlen(program), is_path ? text : program,
				   (int)strlen(function) - (returns ? (int)end : 0), function);
	free(program);
	return status == 0 && name->failed ? common_fail_memory("an event", size) : status;
}

/* Checks that the kernel takes the event's filter. */
static int check_filter(const struct kernel_event *event)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = event->type, .config = event->config, .disabled = 1};
	int fd, status = 0;

	if (!event->filter)
		return 0;
	fd = record_perf_event_open(&attr, 0, -1);
	if (fd < 0)
		return common_fail_errno("cannot record %s", event->name);
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) < 0)
		status = common_fail(PTL_MISUSE, "%s does not take the filter '%s'", event->name, event->filter);
	close(fd);
	return status;
}

static int find_event(const struct record_settings *settings, struct intel_pt_between *between, unsigned action,
		      const char *text)
{
	const struct common_string_list no_stacks = {0};
	struct kernel_event *event = &between->events[action];
	struct ptl_bytes name = {0};
	int status = begins_with(text, "uprobe:") || begins_with(text, "uretprobe:") || begins_with(text, "sdt:")
			     ? (common_text_add(&name, text), 0)
			     : name_event(settings, text, &name);

	between->texts[action] = text;
	if (status == 0)
		status = kernel_event_parse(common_text_string(&name), &no_stacks, &between->tracing, event);
	common_bytes_free(&name);
	if (status == PTL_NOT_FOUND && file_size(text) && !strchr(text, '/'))
		status = common_fail_in(status, "no tracepoint, and no path of a library or program");
	if (status == 0 && event->samples)
		status = common_fail(PTL_MISUSE, "%s is a counter: expected a tracepoint or a function", event->name);
	if (status == 0)
		status = kernel_event_make_inheritable(event, &between->tracing);
	if (status == 0)
		status = check_filter(event);
	return status < 0
		       ? common_fail_in(status, "%s %s", action == INTEL_PT_RESUME ? "--only-between" : "--and", text)
		       : 0;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static int refuse_pause(int error)
{
	struct utsname kernel;

	if (error == EOPNOTSUPP)
		return common_fail(PTL_UNSUPPORTED,
				   "--only-between: this kernel's driver of Intel PT cannot pause packets");
	if (uname(&kernel) < 0)
		kernel.release[0] = 0;
	return common_fail(PTL_UNSUPPORTED,
			   "--only-between: this kernel (%s) cannot pause packets at events; Linux 6.13 and later can",
			   kernel.release);
}

int intel_pt_between_check(const struct intel_pt_device *device, const struct intel_pt_config *config,
			   const struct record_pt_settings *settings)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = device->type,
		.config = config->word,
		.disabled = 1,
		.exclude_kernel = settings->code == RECORD_PT_USER,
	};
	int fd, error;

	record_perf_event_set_action(&attr, RECORD_PERF_START_PAUSED);
	fd = record_perf_event_open(&attr, 0, -1);
	error = errno;
	if (fd < 0 && (error == EINVAL || error == EOPNOTSUPP)) {
		record_perf_event_set_action(&attr, 0);
		fd = record_perf_event_open(&attr, 0, -1);
		if (fd >= 0) {
			close(fd);
			return refuse_pause(error);
		}
	}
	/* Another failure concerns all Intel PT events, and opening the events explains the failure. */
	if (fd >= 0)
		close(fd);
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int write_note(const struct intel_pt *pt)
{
	const struct record_pt_settings *settings = &pt->session->settings->pt;
	struct ptl_bytes text = {0};
	int status;

	common_text_format(&text, "packets are paused except between %s and %s (--only-between)", settings->resume_at,
			   settings->pause_at);
	status = record_note(&pt->session->capture,
			     &(struct record_note){.time = record_now(), .text = common_text_string(&text)});
	common_bytes_free(&text);
	return status;
}

int intel_pt_between_find(struct intel_pt *pt)
{
	const struct record_settings *settings = pt->session->settings;
	int status;

	if (!settings->pt.resume_at)
		return 0;
	pt->between = calloc(1, sizeof(*pt->between));
	if (!pt->between)
		return common_fail_memory("events", sizeof(*pt->between));
	status = find_event(settings, pt->between, INTEL_PT_RESUME, settings->pt.resume_at);
	if (status == 0)
		status = find_event(settings, pt->between, INTEL_PT_PAUSE, settings->pt.pause_at);
	if (status == 0 && !strcmp(pt->between->events[INTEL_PT_RESUME].name, pt->between->events[INTEL_PT_PAUSE].name))
		status = common_fail(PTL_MISUSE, "--only-between and --and need two events: both are %s",
				     pt->between->events[INTEL_PT_RESUME].name);
	return status < 0 ? status : write_note(pt);
}

static int open_action(const struct intel_pt *pt, const struct intel_pt_event *event, uint32_t cpu, unsigned action)
{
	const struct kernel_event *of = &pt->between->events[action];
	struct perf_event_attr attr = intel_pt_events_attr(pt, false);
	uint64_t id;
	int fd;

	attr.type = of->type;
	attr.config = of->config;
	attr.sample_period = 1;
	/* The leader turns the group on. A tracepoint is an event of the kernel, whichever code is recorded. */
	attr.disabled = 0;
	attr.exclude_user = attr.exclude_kernel = attr.exclude_hv = 0;
	record_perf_event_set_action(&attr, action == INTEL_PT_RESUME ? RECORD_PERF_RESUME : RECORD_PERF_PAUSE);
	fd = record_perf_event_open_member(&attr, event->thread, (int)cpu, event->fd);
	if (fd < 0)
		return fd;
	if ((of->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, of->filter) < 0) ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 || common_hash_map_put(&pt->between->ids, id, action) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int intel_pt_between_open(const struct intel_pt *pt, struct intel_pt_event *event, uint32_t cpu)
{
	/* An event without a thread only holds the rings. */
	for (unsigned i = 0; pt->between && event->thread && i < INTEL_PT_ACTIONS; i++) {
		event->actions[i] = open_action(pt, event, cpu, i);
		if (event->actions[i] < 0)
			return -1;
	}
	return 0;
}

void intel_pt_between_close(struct intel_pt_between *between)
{
	if (!between)
		return;
	for (unsigned i = 0; i < INTEL_PT_ACTIONS; i++)
		kernel_event_free(&between->events[i], 0);
	perf_tracing_free(&between->tracing);
	common_hash_map_free(&between->ids);
	common_hash_map_free(&between->threads);
	free(between->visits);
	free(between->reports);
	free(between);
}
