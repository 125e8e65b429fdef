/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sources. */
#include "record/source.h"

#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/control/server.h"
#include "record/intel_pt/source.h"
#include "record/kernel_event/source.h"
#include "record/native/source.h"
#include "record/observe/source.h"
#include "record/provider/source.h"
#include "record/session/session.h"
#include "record/software/session.h"

/* best first */
static const struct record_source *const sources[] = {
	&record_intel_pt_source,
	&software_source,
	&record_native_source,
	NULL,
};

static const struct record_source *choose_best(const struct record_settings *settings)
{
	char hint[512];

	for (size_t i = 0; sources[i]; i++)
		if (!sources[i]->only_by_name && sources[i]->check(settings, hint, sizeof(hint)) == 0)
			return sources[i];
	common_message_error("no source works on this machine");
	for (size_t i = 0; sources[i]; i++) {
		if (sources[i]->only_by_name)
			continue;
		sources[i]->check(settings, hint, sizeof(hint));
		common_message_error("source %s: %s", sources[i]->name, ptl_error_text());
		if (hint[0])
			common_message_hint("%s", hint);
	}
	return NULL;
}

/*
 * Checks for options that name running programs, which requests packets, together with events. --only names programs
 * without a request for packets.
 */
static bool asks_for_events(const struct record_settings *settings)
{
	return (settings->pt.pids.count || settings->pt.tids.count || settings->pt.processes.count) &&
	       (settings->tracepoints.count || settings->flags || settings->rule_count);
}

static const struct record_source *choose_source(const struct record_settings *settings)
{
	const struct record_source *source;
	char hint[512];
	size_t i = 0;

	if (!strcmp(settings->source, "auto"))
		return choose_best(settings);
	while (sources[i] && strcmp(sources[i]->name, settings->source) != 0)
		i++;
	source = sources[i];
	if (source && source->check(settings, hint, sizeof(hint)) == 0)
		return source;
	common_message_error("source %s: %s", settings->source, source ? ptl_error_text() : "there is no such source");
	if (source && hint[0])
		common_message_hint("%s", hint);
	if (asks_for_events(settings))
		common_message_hint("--only pid=PID or --only program=NAME in place of --pid, --tid and --process, for "
				    "events without packets");
	return NULL;
}

void record_source_options(const struct common_option **tables, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; sources[i] && count + 1 < room; i++)
		if (sources[i]->options)
			tables[count++] = sources[i]->options;
	tables[count] = NULL;
}

bool record_source_needs_no_command(const char *name)
{
	for (size_t i = 0; sources[i]; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i]->needs_no_command;
	return false;
}

int record_source_run(const struct record_settings *settings)
{
	const struct record_source *chosen[RECORD_SOURCES_MAX + 1] = {choose_source(settings)};
	size_t count = 1;

	if (!chosen[0])
		return COMMON_EXIT_SYSTEM;
	if (settings->attach && !chosen[0]->observes)
		chosen[count++] = &record_kernel_source;
	if (settings->rule_count || (settings->session_name && settings->attach))
		chosen[count++] = &record_provider_source;
	/* A session of all programs may turn kernel events on later. */
	if (settings->tracepoints.count || settings->flags || (settings->session_name && settings->attach) ||
	    (settings->values.count && chosen[0] != &software_source))
		chosen[count++] = &record_tracepoint_source;
	if (settings->session_name)
		chosen[count++] = &record_control_source;
	return record_session(chosen, settings);
}

void record_source_check(struct check_list *list)
{
	const struct record_settings settings = {.source = "auto"};
	char hint[512];

	for (size_t i = 0; sources[i]; i++) {
		const bool works = sources[i]->check(&settings, hint, sizeof(hint)) == 0;

		check_list_add(list, &(struct check_item){
					     .group = "Sources",
					     .name = sources[i]->name,
					     .state = works ? CHECK_YES : CHECK_NO,
					     .value = sources[i]->summary,
					     .why = works ? NULL : ptl_error_text(),
					     .remedy = works || !hint[0] ? NULL : hint,
				     });
	}
}

void record_source_list(const struct record_settings *settings, FILE *file)
{
	char hint[512];

	for (size_t i = 0; sources[i]; i++) {
		const int status = sources[i]->check(settings, hint, sizeof(hint));

		fprintf(file, "%-10s %-8s %s\n", sources[i]->name, status < 0 ? "no" : "works", sources[i]->summary);
		if (status < 0)
			fprintf(file, "%19s why: %s\n", "", ptl_error_text());
		if (status < 0 && hint[0])
			fprintf(file, "%19s try: %s\n", "", hint);
	}
}
