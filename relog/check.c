/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the flow of a redacted trace with the flow of an unredacted reference. The reference is the input, if the
 * run only redacted one trace; else the output of a second run without redaction.
 */
#include "relog/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "format/reader/damage.h"
#include "format/reader/parts.h"
#include "relog/flow_digest.h"
#include "relog/run.h"

static int open_trace(const struct relog_settings *settings, const char *file, struct ptl_trace **trace)
{
	const struct ptl_open_options options = {.size = sizeof(options), .max_expansion = settings->max_expansion};

	return ptl_open(file, &options, trace);
}

/* ---- reading all of the output --------------------------------------------------------------- */

static int check_interrupt(void *context, size_t done)
{
	(void)context;
	(void)done;
	return common_interrupt_check();
}

/* Returns the first damage that this version cannot read; NULL if the whole trace is readable. */
static const struct ptl_damage *first_damage(const struct ptl_trace *trace)
{
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (format_damage_hurts(trace, ptl_damage_at(trace, i)))
			return ptl_damage_at(trace, i);
	return NULL;
}

static int check_reading(const struct relog_settings *settings, bool *found)
{
	struct format_trace_check check = {.progress = check_interrupt};
	const struct ptl_damage *damage;
	struct ptl_trace *trace;
	int status = open_trace(settings, settings->output, &trace);

	if (format_is_damage(status) || status == PTL_NOT_OURS) {
		common_message_failure(status);
		*found = true;
		return 0;
	}
	if (status)
		return status;
	status = format_trace_check(trace, &check);
	damage = first_damage(trace);
	if (!status && damage) {
		common_message_error("%s: the output is damaged: offset %llu: %s", settings->output,
				     (unsigned long long)damage->offset, damage->text);
		common_message_hint(
			"ptl-dump info --check says all; the input may be damaged in a way that only shows when "
			"it is decompressed: --recompress 3 reads all of it");
		*found = true;
	}
	ptl_close(trace);
	return status;
}

/* ---- comparing the flow ---------------------------------------------------------------------- */

/* Damage in the trace is no failure: the flow has gaps. */
static int read_flow(const struct relog_settings *settings, const char *file, struct relog_flow_digest *digest)
{
	struct ptl_trace *trace;
	int status = open_trace(settings, file, &trace);

	if (status)
		return status;
	status = relog_flow_digest(trace, digest);
	ptl_close(trace);
	return status < 0 && status != PTL_CANCELLED ? common_fail_in(status, "%s", file) : status;
}

static int compare_flow(const struct relog_settings *settings, const char *reference, bool *found)
{
	struct relog_flow_digest before = {0}, after = {0};
	int status = read_flow(settings, reference, &before);

	if (!status)
		status = read_flow(settings, settings->output, &after);
	if (!status && !relog_flow_digests_equal(&before, &after)) {
		common_message_error("%s: redaction has changed the flow", settings->output);
		common_message_hint(
			"code that is not in the trace is found by its path, which redaction changes: record with "
			"--embed code, or compare ptl-dump stats --hash of both");
		*found = true;
	}
	relog_flow_digest_free(&before);
	relog_flow_digest_free(&after);
	return status;
}

/* Whether the settings ask for nothing but redaction of one trace, so that the input is the reference. */
static bool is_reference(const struct relog_settings *settings)
{
	struct ptl_trace *trace;

	if (settings->input_count != 1 || settings->rules || relog_cut_wanted(&settings->cut) ||
	    ptl_open(settings->inputs[0], NULL, &trace))
		return false;
	ptl_close(trace);
	return true;
}

/* Repeats the run without redaction into a temporary file, compares, and removes the file. */
static int compare_with_second_run(const struct relog_settings *settings, bool *found)
{
	struct relog_settings *again = malloc(sizeof(*again));
	char *name = NULL;
	bool damaged = false;
	int status = 0, fd = -1;

	if (!again || asprintf(&name, "%s.check-XXXXXX", settings->output) < 0) {
		free(again);
		return common_fail_memory("settings", sizeof(*again));
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		status = common_fail_errno("%s", name);
	*again = *settings;
	again->redact = (struct relog_redact_rules){.paths = false};
	again->output = name;
	again->force = again->quiet = again->repeated = true;
	again->sync = false;
	again->hash = PTL_HASH_NONE;
	if (!status)
		status = relog_run(again, &damaged);
	if (!status)
		status = compare_flow(settings, name, found);
	if (fd >= 0) {
		unlink(name);
		close(fd);
	}
	free(name);
	free(again);
	return status;
}

int relog_check(const struct relog_settings *settings, bool *found)
{
	int status;

	*found = false;
	status = check_reading(settings, found);
	if (status || *found || !relog_redact_wanted(&settings->redact))
		return status;
	return is_reference(settings) ? compare_flow(settings, settings->inputs[0], found)
				      : compare_with_second_run(settings, found);
}
