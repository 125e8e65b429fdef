/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of programs as events, by the uprobe PMU of the kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/options.h"
#include "common/text/text.h"
#include "record/image/binary.h"
#include "record/kernel_event/fetch.h"
#include "record/kernel_event/kinds.h"
#include "record/kernel_event/uprobe_event.h"
#include "record/perf/uprobe_pmu.h"

#define RETURN "uretprobe:"

static int read_pmu(struct kernel_event *event, bool returns)
{
	return record_uprobe_pmu(returns, &event->type, &event->config)
		       ? 0
		       : common_fail(
				 PTL_SYSTEM,
				 "this kernel has no uprobes: /sys/bus/event_source/devices/uprobe/type is not there "
				 "(CONFIG_UPROBE_EVENTS)");
}

/* ---- the place ------------------------------------------------------------------------------- */

/* Finds the file offset of "FUNCTION" or "FUNCTION+16"; a number is the offset itself. */
static int find_place(const struct record_binary *binary, char *function, uint64_t *offset)
{
	char *plus = strrchr(function, '+');
	uint64_t more = 0, end;
	int status;

	if (common_parse_u64(function, offset) == 0)
		return *offset < binary->size ? 0 : common_fail(PTL_NOT_FOUND, "%s is not in the file", function);
	if (plus && common_parse_u64(plus + 1, &more) == 0)
		*plus = 0;
	status = record_binary_function(binary, function, offset, &end);
	if (plus)
		*plus = '+';
	if (status == 0 && more && more >= end - *offset)
		status = common_fail(PTL_MISUSE, "%s is not in the function, which has %llu bytes", function,
				     (unsigned long long)(end - *offset));
	*offset += more;
	return status;
}

static int read_place(struct kernel_event *event, const char *path, char *function)
{
	struct record_binary binary;
	int status;

	event->path = realpath(path, NULL);
	if (!event->path)
		return common_fail_errno("%s", path);
	status = record_binary_open(event->path, &binary);
	if (status < 0)
		return status;
	status = find_place(&binary, function, &event->config2);
	record_binary_close(&binary);
	if (status < 0)
		return common_fail_in(status, "%s", event->path);
	event->config1 = (uint64_t)(uintptr_t)event->path;
	return 0;
}

/* ---- the format ------------------------------------------------------------------------------ */

static void add_field(struct ptl_bytes *text, const char *declared, unsigned offset, unsigned size)
{
	common_text_format(text, "\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:0;\n", declared, offset, size);
}

/* Adds the format of the kernel's samples (trace_uprobe.c), in the syntax of tracefs. */
static int add_format(struct kernel_event *event, struct perf_tracing *tracing, uint64_t number, bool returns,
		      const char *function)
{
	const char *slash = strrchr(event->path, '/');
	struct ptl_bytes text = {0};
	char system[300];
	int status;

	snprintf(system, sizeof(system), "probe_%.255s", slash + 1);
	if (asprintf(&event->shown, "%s:%s%s", system, function, returns ? "__return" : "") < 0) {
		event->shown = NULL;
		return common_fail_memory("a uprobe", sizeof(system));
	}
	common_text_format(&text, "name: %s%s\nID: %llu\nformat:\n", function, returns ? "__return" : "",
			   (unsigned long long)number);
	add_field(&text, "unsigned short common_type", 0, 2);
	add_field(&text, "unsigned char common_flags", 2, 1);
	add_field(&text, "unsigned char common_preempt_count", 3, 1);
	add_field(&text, "int common_pid", 4, 4);
	add_field(&text, returns ? "unsigned long __probe_func" : "unsigned long __probe_ip", 8, 8);
	if (returns)
		add_field(&text, "unsigned long __probe_ret_ip", 16, 8);
	common_text_add(&text, returns ? "\nprint fmt: \"(%lx <- %lx)\", REC->__probe_func, REC->__probe_ret_ip\n"
				       : "\nprint fmt: \"(%lx)\", REC->__probe_ip\n");
	status = text.failed ? common_fail_memory("a uprobe", text.size)
			     : perf_tracing_add_format(tracing, system, text.data, text.size);
	common_bytes_free(&text);
	return status;
}

/* ---- with arguments -------------------------------------------------------------------------- */

/* Returns the opening bracket of "FUNCTION(arguments)"; NULL: no arguments, or the brackets of "operator()". */
static char *find_arguments(char *text)
{
	char *bracket = common_text_last_brackets(text);

	return bracket && bracket[1] != ')' ? bracket : NULL;
}

/* Reads a probe with arguments. Such a probe is created in tracefs, as the PMU takes no arguments. */
static int read_with_arguments(struct kernel_event *event, struct perf_tracing *tracing, const char *path,
			       char *function, const char *arguments, bool returns)
{
	struct kernel_event_place place = {.path = path, .returns = returns};
	struct ptl_bytes fetched = {0};
	char system[300], name[300];
	int status = read_place(event, path, function);

	place.offset = event->config2;
	event->config1 = event->config2 = 0;
	if (status == 0)
		status = kernel_event_fetch_words(arguments, &fetched);
	common_write_le(&fetched, 0, 1);
	place.arguments = (const char *)fetched.data;
	snprintf(name, sizeof(name), "%.250s%s", function, returns ? "__return" : "");
	if (status == 0)
		status = fetched.failed ? common_fail_memory("a uprobe", fetched.size)
					: kernel_event_uprobe_event_make(event, name, &place);
	common_bytes_free(&fetched);
	if (status < 0)
		return status;
	snprintf(system, sizeof(system), "probe_%.255s", strrchr(event->path, '/') + 1);
	return kernel_event_uprobe_event_read(event, system, tracing);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Returns the colon of "PATH:FUNCTION": the last single colon, as "::" belongs to C++ names. NULL: no such colon. */
static char *find_function(char *text)
{
	for (size_t at = strlen(text); at--;) {
		if (text[at] != ':')
			continue;
		if (!at || text[at - 1] != ':')
			return text + at;
		at--;
	}
	return NULL;
}

int kernel_event_uprobe_read(struct kernel_event *event, struct perf_tracing *tracing, uint64_t number)
{
	const bool returns = !strncmp(event->name, RETURN, strlen(RETURN));
	char *path = strdup(strchr(event->name, ':') + 1), *function, *arguments;
	int status;

	if (!path)
		return common_fail_memory("a uprobe", strlen(event->name));
	arguments = find_arguments(path);
	if (arguments) {
		path[strlen(path) - 1] = 0;
		*arguments++ = 0;
	}
	function = find_function(path);
	if (!function || function == path || !function[1]) {
		free(path);
		return common_fail(PTL_MISUSE, "'%s': expected %sprobe:PATH:FUNCTION", event->name,
				   returns ? "uret" : "u");
	}
	*function++ = 0;
	if (arguments) {
		status = read_with_arguments(event, tracing, path, function, arguments, returns);
		free(path);
		return status;
	}
	status = read_pmu(event, returns);
	if (status == 0)
		status = read_place(event, path, function);
	if (status == 0)
		status = add_format(event, tracing, number, returns, function);
	event->number = number;
	/* An inherited event fails fork: the kernel would read the path at config1 in the memory of the child. */
	event->everyone = true;
	free(path);
	return status;
}

int kernel_event_make_inheritable(struct kernel_event *event, struct perf_tracing *tracing)
{
	struct kernel_event_place place = {.offset = event->config2, .arguments = ""};
	char system[300], name[300];
	int status;

	if (!event->path || event->made)
		return 0;
	place.path = event->path;
	/* The PMU has a bit for returns, and no other. */
	place.returns = event->config != 0;
	snprintf(system, sizeof(system), "probe_%.255s", strrchr(event->path, '/') + 1);
	snprintf(name, sizeof(name), "%.255s", event->shown + strlen(system) + 1);
	status = kernel_event_uprobe_event_make(event, name, &place);
	free(event->shown);
	event->shown = NULL;
	event->config = event->config1 = event->config2 = 0;
	return status < 0 ? status : kernel_event_uprobe_event_read(event, system, tracing);
}
