/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sources. */
#include "record/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "record/native/session.h"
#include "record/qemu/session.h"
#include "record/qemu/tools.h"

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

static int check_qemu(const struct record_settings *settings, char *hint, size_t hint_size)
{
	struct record_qemu_tools tools;

	return record_qemu_tools_find(settings->qemu, &tools, hint, hint_size);
}

static int check_none(const struct record_settings *settings, char *hint, size_t hint_size)
{
	(void)settings;
	(void)hint;
	(void)hint_size;
	return 0;
}

const struct record_source record_sources[] = {
	{
		.name = "intel_pt",
		.summary = "Intel Processor Trace of the CPU",
		.check = check_intel_pt,
	},
	{
		.name = "qemu",
		.summary = "Intel PT packets made by software, in QEMU user mode; any x86-64 machine",
		.check = check_qemu,
		.record = record_qemu_session,
	},
	{
		.name = "none",
		.summary = "no packets: the command runs natively; processes, and events of providers",
		.only_by_name = true,
		.check = check_none,
		.record = record_native_session,
	},
	{.name = NULL},
};

static const struct record_source *choose_best(const struct record_settings *settings)
{
	char hint[512];

	for (const struct record_source *source = record_sources; source->name; source++)
		if (!source->only_by_name && source->check(settings, hint, sizeof(hint)) == 0)
			return source;
	common_message_error("no source works on this machine");
	for (const struct record_source *source = record_sources; source->name; source++) {
		if (source->only_by_name)
			continue;
		source->check(settings, hint, sizeof(hint));
		common_message_error("source %s: %s", source->name, ptl_error_text());
		if (hint[0])
			common_message_hint("%s", hint);
	}
	return NULL;
}

const struct record_source *record_source_choose(const struct record_settings *settings)
{
	const struct record_source *source = record_sources;
	char hint[512];

	if (!strcmp(settings->source, "auto"))
		return choose_best(settings);
	while (source->name && strcmp(source->name, settings->source) != 0)
		source++;
	if (source->name && source->check(settings, hint, sizeof(hint)) == 0)
		return source;
	common_message_error("source %s: %s", settings->source,
			     source->name ? ptl_error_text() : "there is no such source");
	if (source->name && hint[0])
		common_message_hint("%s", hint);
	return NULL;
}

void record_source_list(const struct record_settings *settings, FILE *file)
{
	char hint[512];

	for (const struct record_source *source = record_sources; source->name; source++) {
		const int status = source->check(settings, hint, sizeof(hint));

		fprintf(file, "%-10s %-8s %s\n", source->name, status < 0 ? "no" : "works", source->summary);
		if (status < 0)
			fprintf(file, "%19s why: %s\n", "", ptl_error_text());
		if (status < 0 && hint[0])
			fprintf(file, "%19s try: %s\n", "", hint);
	}
}
