/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sources. */
#include "record/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "record/kernel/source.h"
#include "record/native/source.h"
#include "record/provider/source.h"
#include "record/qemu/session.h"
#include "record/session/session.h"

#define INTEL_PT_DEVICE "/sys/bus/event_source/devices/intel_pt"

/* Says what is missing; where nothing is, that this version does not have the source. */
static int check_intel_pt(const struct record_settings *settings, char *hint, size_t hint_size)
{
	(void)settings;
	hint[0] = 0;
	if (access(INTEL_PT_DEVICE, F_OK) < 0) {
		snprintf(hint, hint_size, "use an Intel CPU with Processor Trace, outside of a virtual machine");
		return common_fail_errno("this machine has no Intel PT, or its kernel does not show "
					 "it: " INTEL_PT_DEVICE);
	}
	return common_fail(PTL_UNSUPPORTED, "this machine has Intel PT, but this version of ptl-record cannot use it");
}

static const struct record_source intel_pt_source = {
	.name = "intel_pt",
	.summary = "Intel Processor Trace of the CPU",
	.check = check_intel_pt,
};

/* Best first. */
static const struct record_source *const sources[] = {
	&intel_pt_source,
	&record_qemu_source,
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

static const struct record_source *choose(const struct record_settings *settings)
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
	return NULL;
}

int record_source_run(const struct record_settings *settings)
{
	const struct record_source *chosen[RECORD_SOURCES_MAX + 1] = {choose(settings)};
	size_t count = 1;

	if (!chosen[0])
		return COMMON_EXIT_SYSTEM;
	if (settings->attach && !chosen[0]->observes)
		chosen[count++] = &record_kernel_source;
	if (settings->rule_count)
		chosen[count++] = &record_provider_source;
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
