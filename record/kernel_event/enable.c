/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns the kernel's events on and off, also while recording. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/kernel_event/flags.h"
#include "record/kernel_event/kernel_events_state.h"
#include "record/kernel_event/switch.h"
#include "record/kernel_event/tracefs.h"
#include "record/observe/observer.h"

#define RING_SIZE ((size_t)4 << 20)
#define RING_LEAST ((size_t)128 << 10) /* smallest ring to try if RING_SIZE is not permitted */
#define EVENTS_MAX 4096u

/* ---- rings ----------------------------------------------------------------------------------- */

/*
 * Maps the ring. Halves the default size until the user's limit of locked memory permits it; a requested size is kept.
 */
static int map_ring(struct kernel_event_ring *ring, size_t wanted)
{
	size_t size = wanted ? wanted : RING_SIZE;
	int status = record_data_ring_map(&ring->data, ring->fd, size);

	while (status < 0 && !wanted && (errno == EPERM || errno == ENOMEM) && size > RING_LEAST) {
		size /= 2;
		status = record_data_ring_map(&ring->data, ring->fd, size);
	}
	return status;
}

static int open_ring(struct kernel_events *state, size_t cpu)
{
	struct kernel_event_ring *ring = &state->rings[cpu];
	const int fd = kernel_event_open_ring((int)cpu, state->count && state->list[state->count - 1].dwarf, state->all,
					      kernel_event_switch_is_wanted(state));
	int status;

	if (fd < 0)
		return fd == PTL_NOT_FOUND ? 0 : fd;
	ring->fd = fd;
	ring->looked = record_now();
	status = map_ring(ring, (size_t)state->session->settings->event_ring);
	/* Records are copied from the ring straight into the trace. */
	ring->data.manual_release = true;
	if (status == 0)
		status = record_wait_descriptor(&state->session->wait, fd);
	return status < 0 ? status : record_capture_event_stream(&state->session->capture, &ring->stream);
}

void kernel_event_close_rings(struct kernel_events *state)
{
	for (size_t cpu = 0; state->rings && cpu < state->cpus; cpu++) {
		record_data_ring_unmap(&state->rings[cpu].data);
		if (state->rings[cpu].fd >= 0)
			close(state->rings[cpu].fd);
	}
	free(state->rings);
	state->rings = NULL;
}

/*
 * Opens the rings of all CPUs, once. For the whole system the observer reports all processes, else their names would be
 * missing.
 */
static int open_rings(struct kernel_events *state)
{
	int status = 0;

	if (state->rings)
		return 0;
	state->rings = calloc(state->cpus, sizeof(*state->rings));
	if (!state->rings)
		return common_fail_memory("tracepoints", state->cpus * sizeof(*state->rings));
	for (size_t cpu = 0; cpu < state->cpus; cpu++)
		state->rings[cpu].fd = -1;
	for (size_t cpu = 0; status == 0 && cpu < state->cpus; cpu++)
		status = open_ring(state, cpu);
	if (status == 0 && state->all && state->session->observer)
		status = record_observer_everyone(state->session->observer, &state->session->wait);
	/* Without rings, turning on the next event tries again and reports the same error. */
	if (status < 0)
		kernel_event_close_rings(state);
	return status;
}

/* ---- turning on and off ---------------------------------------------------------------------- */

static int note_id(struct kernel_events *state, int fd, size_t index)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return common_fail_errno("cannot record %s", state->list[index].name);
	return common_hash_map_put(&state->ids, id, index);
}

static void close_event(struct kernel_events *state, struct kernel_event *event)
{
	for (size_t cpu = 0; event->fds && cpu < state->cpus; cpu++) {
		if (event->fds[cpu] < 0)
			continue;
		state->rings[cpu].losses.counted += record_perf_event_lost(event->fds[cpu]);
		close(event->fds[cpu]);
	}
	free(event->fds);
	event->fds = NULL;
}

static int open_event(struct kernel_events *state, size_t index)
{
	struct kernel_event *event = &state->list[index];
	int status = 0;

	event->fds = malloc(state->cpus * sizeof(*event->fds));
	if (!event->fds)
		return common_fail_memory("tracepoints", state->cpus * sizeof(*event->fds));
	memset(event->fds, -1, state->cpus * sizeof(*event->fds));
	for (size_t cpu = 0; status >= 0 && cpu < state->cpus; cpu++) {
		if (!state->rings[cpu].data.page)
			continue;
		status = kernel_event_open(event, (int)cpu, state->rings[cpu].fd, state->all);
		if (status < 0)
			break;
		event->fds[cpu] = status;
		status = note_id(state, event->fds[cpu], index);
	}
	for (size_t cpu = 0; status >= 0 && (state->all || event->everyone) && cpu < state->cpus; cpu++)
		if (event->fds[cpu] >= 0 && ioctl(event->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) < 0)
			status = common_fail_errno("cannot turn %s on", event->name);
	if (status < 0)
		close_event(state, event);
	return status < 0 ? status : 0;
}

/*
 * Records names of kernel functions, for stacks: only into a trace of one file, once, and only if no source records the
 * kernel's code (code comes with names).
 */
static int name_functions(struct kernel_events *state, const struct kernel_event *event)
{
	const struct record_settings *settings = state->session->settings;
	const bool named = !strcmp(settings->source, "intel_pt") && settings->pt.code != RECORD_PT_USER;

	if (!event->stack || event->user_only || state->names_wanted || named ||
	    settings->mode != RECORD_MODE_SEQUENTIAL || (settings->embed_given && settings->embed < ELF_EMBED_SYMBOLS))
		return 0;
	state->names_wanted = true;
	return record_kernel_code_open(&state->session->capture, "", RECORD_KERNEL_NAMES, &state->session->wait,
				       &state->kernel);
}

/* Asks the kernel to report mapped files. On failure, /proc shows the files of processes that are still alive. */
static void report_programs(struct kernel_events *state)
{
	if (!state->stacks.unwinder.programs)
		(void)kernel_event_programs_open(state->all, &state->stacks.unwinder.programs);
}

int kernel_event_add(struct kernel_events *state, const struct kernel_event *event)
{
	int status;

	if (state->count == EVENTS_MAX)
		return common_fail(PTL_MISUSE, "a session has at most %u events of the kernel", EVENTS_MAX);
	if (COMMON_VECTOR_RESERVE(state->list, state->capacity, state->count + 1, "tracepoints"))
		return PTL_NO_MEMORY;
	state->list[state->count++] = *event;
	status = open_rings(state);
	if (status == 0 && state->list[state->count - 1].dwarf)
		report_programs(state);
	if (status == 0)
		status = open_event(state, state->count - 1);
	return status < 0 ? status : name_functions(state, &state->list[state->count - 1]);
}

int kernel_event_enable(struct kernel_events *state, const char *text, bool named)
{
	struct kernel_event event;
	const size_t before = state->count;
	int status = kernel_event_parse(text, &state->stack_patterns, &state->tracing, &event);

	if (status < 0)
		return status;
	event.named = named;
	status = kernel_event_add(state, &event);
	if (state->count == before)
		kernel_event_free(&event, 0);
	return status;
}

/*
 * Returns whether the name is a pattern of tracepoints. Names of other kinds have paths and arguments with such
 * letters.
 */
static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[") && strchr(name, ':') && strncmp(name, "uprobe:", 7) != 0 &&
	       strncmp(name, "uretprobe:", 10) != 0 && strncmp(name, "sdt:", 4) != 0;
}

/* Turns off the events with the name. False if none was on. Samples already written stay in the rings. */
static bool turn_off(struct kernel_events *state, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < state->count; i++) {
		if (!state->list[i].fds || (!kernel_event_is(&state->list[i], name) &&
					    (!is_pattern(name) || fnmatch(name, state->list[i].name, 0) != 0)))
			continue;
		close_event(state, &state->list[i]);
		found = true;
	}
	return found;
}

/*
 * Replaces older events with the name of the newest event. Both are on for a moment. Samples before the time of the
 * replacement count for the older events, later samples for the newest, so no sample is lost or doubled.
 */
static void hand_over(struct kernel_events *state)
{
	struct kernel_event *newest = &state->list[state->count - 1];
	const uint64_t now = record_now();

	for (size_t i = 0; i + 1 < state->count; i++) {
		struct kernel_event *event = &state->list[i];

		if (!event->fds || !kernel_event_is(event, newest->name))
			continue;
		event->until = now;
		newest->since = now;
		close_event(state, event);
	}
}

static size_t name_size(const char *text)
{
	const char *filter = strstr(text, KERNEL_EVENT_FILTER);

	return filter ? (size_t)(filter - text) : strlen(text);
}

/* Turns on an event, or replaces the event of this name, whose filter is then the new filter. */
static int turn_on_once(struct kernel_events *state, const char *text)
{
	const int status = kernel_event_enable(state, text, true);

	if (status == 0)
		hand_over(state);
	return status;
}

/* Turns on all tracepoints that match the pattern. behind: " if FILTER" for each of them, or "". */
static int turn_on_matching(struct kernel_events *state, const char *pattern, const char *behind)
{
	struct common_string_list names = {0};
	int status = record_tracefs_matching(pattern, &names);

	for (size_t i = 0; i < names.count; i++) {
		char *text = NULL;

		if (status == 0 && asprintf(&text, "%s%s", names.list[i], behind) < 0)
			status = common_fail_memory("a tracepoint", strlen(pattern));
		if (status == 0)
			status = turn_on_once(state, text);
		free(text);
		free((char *)(uintptr_t)names.list[i]);
	}
	common_string_list_free(&names);
	return status;
}

int kernel_event_enable_named(struct kernel_events *state, const char *text)
{
	char *name = strndup(text, name_size(text));
	int status;

	if (!name)
		return common_fail_memory("a tracepoint", strlen(text));
	status = is_pattern(name) ? turn_on_matching(state, name, text + name_size(text)) : turn_on_once(state, text);
	free(name);
	return status;
}

static bool is_on(const struct kernel_events *state, const char *name)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds && kernel_event_is(&state->list[i], name))
			return true;
	return false;
}

/* Closes the events that neither --event nor a flag asks for any more. */
static void close_unwanted(struct kernel_events *state)
{
	for (size_t i = 0; i < state->count; i++)
		if (!state->list[i].named && !record_flags_have(state->flags, state->list[i].name))
			close_event(state, &state->list[i]);
}

int kernel_event_enable_flags(struct kernel_events *state, uint32_t flags)
{
	struct common_string_list names = {0};
	int status = record_flags_tracepoints(flags, &names);

	/* Processes of the whole system are reported where no tracepoint is, too. */
	if (status == 0 && flags)
		status = open_rings(state);
	for (size_t i = 0; status == 0 && i < names.count; i++)
		if (!is_on(state, names.list[i]))
			status = kernel_event_enable(state, names.list[i], false);
	common_string_list_free(&names);
	if (status == 0)
		state->flags |= flags;
	else
		close_unwanted(state);
	return status;
}

static int refuse_change(void)
{
	return common_fail(PTL_MISUSE, "the kernel's events of a command are those that it was started with");
}

int kernel_event_change_flags(void *state_, const char *text, bool on, FILE *notes)
{
	struct kernel_events *state = state_;
	char names[512];
	uint32_t flags = 0;
	int status = state->all ? record_flags_parse(text, &flags) : refuse_change();

	(void)notes;
	if (status < 0)
		return status;
	if (on)
		return kernel_event_enable_flags(state, flags);
	record_flags_names(flags & ~state->flags, names, sizeof(names));
	if (names[0])
		return common_fail(PTL_NOT_FOUND, "not turned on: %s; query shows what is", names);
	state->flags &= ~flags;
	close_unwanted(state);
	return 0;
}

int kernel_event_change(void *state_, const char *text, bool on, FILE *notes)
{
	struct kernel_events *state = state_;
	char *name;
	int status;

	(void)notes;
	if (!state->all)
		return refuse_change();
	if (on)
		return kernel_event_enable_named(state, text);
	name = strndup(text, name_size(text));
	if (!name)
		return common_fail_memory("a tracepoint", strlen(text));
	status = turn_off(state, name) ? 0 : common_fail(PTL_NOT_FOUND, "%s is not on", name);
	free(name);
	return status;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static size_t find_stack(const struct kernel_events *state, const char *pattern)
{
	size_t i = 0;

	while (i < state->stack_patterns.count && strcmp(state->stack_patterns.list[i], pattern) != 0)
		i++;
	return i;
}

int kernel_event_add_stack(struct kernel_events *state, const char *pattern)
{
	char *copy;
	int status;

	if (find_stack(state, pattern) < state->stack_patterns.count)
		return 0;
	copy = strdup(pattern);
	status = copy ? common_string_list_add(&state->stack_patterns, copy)
		      : common_fail_memory("a pattern", strlen(pattern));
	if (status < 0)
		free(copy);
	return status;
}

static void remove_stack(struct kernel_events *state, size_t i)
{
	struct common_string_list *patterns = &state->stack_patterns;

	free((char *)(uintptr_t)patterns->list[i]);
	memmove(&patterns->list[i], &patterns->list[i + 1], (--patterns->count - i) * sizeof(*patterns->list));
}

void kernel_event_forget_stacks(struct kernel_events *state)
{
	while (state->stack_patterns.count)
		remove_stack(state, state->stack_patterns.count - 1);
	common_string_list_free(&state->stack_patterns);
}

/* Turns an event on again, with or without a stack as the patterns now say. */
static int turn_on_again(struct kernel_events *state, size_t index)
{
	const struct kernel_event *event = &state->list[index];
	const bool named = event->named;
	char *text;
	int status;

	if (asprintf(&text, "%s%s%s", event->name, event->filter ? KERNEL_EVENT_FILTER : "",
		     event->filter ? event->filter : "") < 0)
		return common_fail_memory("a tracepoint", strlen(event->name));
	status = kernel_event_enable(state, text, named);
	if (status == 0)
		hand_over(state);
	free(text);
	return status;
}

bool kernel_event_stack_is_used(const struct kernel_events *state, const char *pattern)
{
	const struct common_string_list alone = {&pattern, 1};
	bool dwarf;

	for (size_t i = 0; i < state->count; i++)
		if (state->list[i].fds && kernel_event_has_stack(&state->list[i], &alone, &dwarf))
			return true;
	return false;
}

static int apply_stacks(struct kernel_events *state)
{
	const size_t count = state->count;
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct kernel_event *event = &state->list[i];
		bool dwarf;

		if (!event->fds || event->values)
			continue;
		if (kernel_event_has_stack(event, &state->stack_patterns, &dwarf) != event->stack ||
		    dwarf != event->dwarf)
			status = turn_on_again(state, i);
	}
	return status;
}

int kernel_event_change_stack(void *state_, const char *pattern, bool on, FILE *notes)
{
	struct kernel_events *state = state_;
	const size_t known = find_stack(state, pattern);
	int status;

	if (!state->all)
		return refuse_change();
	if (!on && known == state->stack_patterns.count)
		return common_fail(PTL_NOT_FOUND, "no stacks were asked for by %s; query shows by what", pattern);
	if (!on)
		remove_stack(state, known);
	status = on ? kernel_event_add_stack(state, pattern) : 0;
	if (status == 0)
		status = apply_stacks(state);
	if (status == 0 && on && !kernel_event_stack_is_used(state, pattern))
		fprintf(notes,
			"no event of the kernel that is on matches %s: it is for those that are turned on later\n",
			pattern);
	return status;
}
