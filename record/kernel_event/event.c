/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the names of -e, opens the events, and reads their samples. */
#include "record/kernel_event/event.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/message.h"
#include "record/clock/clock.h"
#include "record/kernel_event/kinds.h"
#include "record/kernel_event/tracefs.h"
#include "record/kernel_event/tracefs_text.h"
#include "record/kernel_event/unwind.h"
#include "record/kernel_event/uprobe_event.h"
#include "record/perf/event.h"

#define DWARF ",dwarf" /* behind a pattern of --stack */
/* numbers of generated formats count down from here; the kernel's own numbers count up */
#define MADE_NUMBERS UINT16_MAX

/* ---- what -e names --------------------------------------------------------------------------- */

static int add_format(struct kernel_event *event, struct perf_tracing *tracing)
{
	uint8_t *format;
	size_t size;
	int status = record_tracefs_format(event->name, &format, &size);

	if (status < 0)
		return status;
	event->type = PERF_TYPE_TRACEPOINT;
	event->config = event->number = record_tracefs_text_id((const char *)format);
	*strchr(event->name, ':') = 0;
	status = perf_tracing_add_format(tracing, event->name, format, size);
	event->name[strlen(event->name)] = ':';
	free(format);
	return status;
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int read_event(struct kernel_event *event, struct perf_tracing *tracing)
{
	static bool cleaned;
	const bool sdt = begins_with(event->name, "sdt:");

	if (sdt || begins_with(event->name, "uprobe:") || begins_with(event->name, "uretprobe:")) {
		if (!cleaned)
			kernel_event_uprobe_event_clean();
		cleaned = true;
		return sdt ? kernel_event_sdt_read(event, tracing)
			   : kernel_event_uprobe_read(event, tracing, MADE_NUMBERS - tracing->count);
	}
	return strchr(event->name, ':') ? add_format(event, tracing) : kernel_event_counter_read(event);
}

/* Matches a pattern with the name in the trace, also in the form "SYSTEM/EVENT". */
static bool matches_shown(const char *pattern, const char *shown)
{
	char name[512], *colon;

	if (fnmatch(pattern, shown, 0) == 0)
		return true;
	snprintf(name, sizeof(name), "%s", shown);
	colon = strchr(name, ':');
	if (colon)
		*colon = '/';
	return colon && fnmatch(pattern, name, 0) == 0;
}

/* Matches an event with "PATTERN" or "PATTERN,dwarf". */
static bool matches_stack(const struct kernel_event *event, const char *pattern, bool *dwarf)
{
	const size_t size = strlen(pattern), without = size - strlen(DWARF);
	char names[512];

	*dwarf = size > strlen(DWARF) && !strcmp(pattern + without, DWARF);
	snprintf(names, sizeof(names), "%.*s", (int)(*dwarf ? without : size), pattern);
	return fnmatch(names, event->name, 0) == 0 || (event->shown && matches_shown(names, event->shown));
}

bool kernel_event_has_stack(const struct kernel_event *event, const struct common_string_list *stacks, bool *dwarf)
{
	bool found = false;

	*dwarf = false;
	for (size_t i = 0; i < stacks->count; i++) {
		bool also;

		if (!matches_stack(event, stacks->list[i], &also))
			continue;
		found = true;
		*dwarf |= also;
	}
	return found;
}

int kernel_event_parse(const char *text, const struct common_string_list *stacks, struct perf_tracing *tracing,
		       struct kernel_event *event)
{
	char *filter;
	int status;

	*event = (struct kernel_event){.name = strdup(text), .period = 1, .until = UINT64_MAX};
	if (!event->name)
		return common_fail_memory("a tracepoint", strlen(text));
	filter = strstr(event->name, KERNEL_EVENT_FILTER);
	if (filter) {
		*filter = 0;
		event->filter = filter + strlen(KERNEL_EVENT_FILTER);
	}
	status = read_event(event, tracing);
	/* event->shown is set now. */
	event->stack = status == 0 && kernel_event_has_stack(event, stacks, &event->dwarf);
	if (status < 0)
		kernel_event_free(event, 0);
	return status;
}

void kernel_event_free(struct kernel_event *event, size_t cpus)
{
	for (size_t cpu = 0; event->fds && cpu < cpus; cpu++)
		if (event->fds[cpu] >= 0)
			close(event->fds[cpu]);
	kernel_event_uprobe_event_remove(event);
	free(event->fds);
	free(event->name);
	free(event->shown);
	free(event->path);
	*event = (struct kernel_event){.name = NULL};
}

bool kernel_event_is(const struct kernel_event *event, const char *name)
{
	return !strcmp(event->name, name);
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct perf_event_attr attr_of(uint32_t type, uint64_t config, bool all)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = type,
		.config = config,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.disabled = 1,
		.enable_on_exec = !all,
		.inherit = !all,
		/* Without a TSC clock the trace uses CLOCK_MONOTONIC; with one, perf's default clock. */
		.use_clockid = !record_clock_is_tsc(),
		.clockid = record_clock_is_tsc() ? 0 : CLOCK_MONOTONIC,
		.watermark = 1,
	};
}

/* Opens the event. If this user may not sample the kernel, a counter samples programs only. */
static int open_permitted(struct kernel_event *event, struct perf_event_attr *attr, int cpu, bool all)
{
	const pid_t who = all ? -1 : 0;
	int fd = record_perf_event_open(attr, who, cpu);

	if (fd >= 0 || !event->samples || event->user_only || (errno != EACCES && errno != EPERM))
		return fd;
	attr->exclude_kernel = attr->exclude_hv = 1;
	fd = record_perf_event_open(attr, who, cpu);
	event->user_only = fd >= 0;
	if (event->user_only)
		common_message_note("%s: of programs alone; the kernel's code is not permitted to this user",
				    event->name);
	return fd;
}

static int fail_filter(const struct kernel_event *event)
{
	const int error = errno;
	char fields[1024];

	record_tracefs_fields(event->name, fields, sizeof(fields));
	return common_fail(PTL_MISUSE, "%s does not take the filter '%s': %s%s%s", event->name, event->filter,
			   strerror(error), fields[0] ? "; its fields are " : "", fields);
}

int kernel_event_open(struct kernel_event *event, int cpu, int ring, bool all)
{
	const bool everyone = all || event->everyone;
	struct perf_event_attr attr = attr_of(event->type, event->config, everyone);
	int fd, status;

	attr.config1 = event->config1;
	attr.config2 = event->config2;
	attr.freq = event->frequency;
	attr.sample_period = event->period;
	attr.exclude_kernel = attr.exclude_hv = event->user_only;
	attr.sample_type |= (event->samples ? PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD : PERF_SAMPLE_RAW) |
			    (event->stack ? PERF_SAMPLE_CALLCHAIN : 0) |
			    (event->dwarf ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0);
	if (event->dwarf) {
		attr.exclude_callchain_user = 1;
		attr.sample_regs_user = ELF_UNWIND_REGISTERS;
		attr.sample_stack_user = KERNEL_EVENT_UNWIND_STACK;
	}
	fd = open_permitted(event, &attr, cpu, everyone);
	if (fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP))
		return common_fail(PTL_SYSTEM, "cannot record %s: this machine has no such counter", event->name);
	if (fd < 0)
		return common_fail_errno("cannot record %s", event->name);
	if (event->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) < 0)
		status = fail_filter(event);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) < 0)
		status = common_fail_errno("cannot record %s", event->name);
	else
		return fd;
	close(fd);
	return status;
}

int kernel_event_open_ring(int cpu, bool at_once, bool all, bool switches)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, all);
	int fd;

	attr.wakeup_watermark = at_once;
	attr.context_switch = attr.sample_id_all = switches;
	attr.exclude_kernel = attr.exclude_hv = 1;
	fd = record_perf_event_open(&attr, all ? -1 : 0, cpu);
	if (fd < 0 && errno == ENODEV)
		return common_fail(PTL_NOT_FOUND, "CPU %d is switched off", cpu);
	if (fd >= 0)
		return fd;
	if (errno != EACCES && errno != EPERM)
		return common_fail_errno("cannot record the kernel's events");
	return common_fail(PTL_SYSTEM,
			   all ? "cannot record the whole system: that is for root, with CAP_PERFMON, or where "
				 "sysctl kernel.perf_event_paranoid is 0 or less; a command can be recorded"
			       : "cannot record the kernel's events: sysctl kernel.perf_event_paranoid has to be 2 or "
				 "less, or root does it");
}

/* ---- samples --------------------------------------------------------------------------------- */

bool kernel_event_sample_id(const struct perf_event_header *record, uint64_t *id)
{
	if (record->size < sizeof(*record) + sizeof(*id))
		return false;
	memcpy(id, record + 1, sizeof(*id));
	return true;
}

/*
 * Reads the numbers at the start of a sample. The caller has checked the size once, as millions of samples per second
 * pass here.
 */
static const uint8_t *read_numbers(const struct kernel_event *event, const uint8_t *at,
				   struct kernel_event_sample *sample)
{
	sample->id = common_load64(at);
	at += 8;
	if (event->samples) {
		sample->ip = common_load64(at);
		at += 8;
	}
	sample->pid = common_load32(at);
	sample->tid = common_load32(at + 4);
	sample->time = common_load64(at + 8);
	sample->cpu = common_load32(at + 16);
	at += 24;
	if (event->samples) {
		sample->period = common_load64(at);
		at += 8;
	}
	return at;
}

/* Reads the registers and the stack copy; a kernel thread has neither. */
static void read_user(struct common_cursor *in, struct kernel_event_sample *sample)
{
	uint64_t size;

	if (common_read64(in) != PERF_SAMPLE_REGS_ABI_NONE)
		sample->registers = common_read_bytes(in, ELF_UNWIND_REGISTER_COUNT * sizeof(uint64_t));
	size = common_read64(in);
	if (!size)
		return;
	sample->stack = common_read_bytes(in, size > common_cursor_left(in) ? SIZE_MAX : (size_t)size);
	/* number of bytes that the kernel could copy */
	sample->stack_size = (size_t)common_read64(in);
	in->failed |= sample->stack_size > size;
}

bool kernel_event_sample_read(const struct kernel_event *event, const struct perf_event_header *record,
			      struct kernel_event_sample *sample)
{
	const uint8_t *at = (const uint8_t *)(record + 1), *end = (const uint8_t *)record + record->size;
	struct common_cursor in;

	sample->callchain_count = sample->raw_size = 0;
	sample->ip = sample->period = 0;
	sample->registers = sample->stack = NULL;
	sample->stack_size = 0;
	if (end - at < (event->samples ? 48 : 32))
		return false;
	at = read_numbers(event, at, sample);
	/*
	 * User code in process 0 belongs to a process outside of this pid namespace: the kernel's process 0 has no user
	 * code.
	 */
	if (sample->pid == 0 && (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		sample->pid = sample->tid = PTL_NO_ID;
	in = common_cursor(at, (size_t)(end - at));
	if (event->stack) {
		const uint64_t count = common_read64(&in);

		sample->callchain_count = count > common_cursor_left(&in) / 8 ? SIZE_MAX / 8 : (size_t)count;
		sample->callchain = common_read_bytes(&in, sample->callchain_count * 8);
	}
	if (!event->samples) {
		sample->raw_size = common_read32(&in);
		sample->raw = common_read_bytes(&in, sample->raw_size);
	}
	if (event->dwarf)
		read_user(&in, sample);
	return !in.failed;
}
