/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts an .etl file to a trace. */
#include "relog/input_etl.h"

#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "import/etl/input.h"

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void report_etl_outcome(const char *name, const struct etl_outcome *outcome)
{
	if (outcome->damage[0])
		common_message_warning("%s: %s%s; the losses are in the trace", name, outcome->damage,
				       outcome->damaged_buffers > 1 ? ", and more buffers" : "");
	if (outcome->lost_events || outcome->lost_buffers)
		common_message_warning("%s: Windows lost %llu event%s and %llu buffer%s; the losses are in the trace",
				       name, (unsigned long long)outcome->lost_events, plural(outcome->lost_events),
				       (unsigned long long)outcome->lost_buffers, plural(outcome->lost_buffers));
	if (outcome->unexplained)
		common_message_note("%s: nothing explains %llu event%s, kept as bytes; --manifest FILE can", name,
				    (unsigned long long)outcome->unexplained, plural(outcome->unexplained));
	if (outcome->incomplete_manifests)
		common_message_warning(
			"%s: %llu manifest%s in the file lack%s pieces and explain%s nothing", name,
			(unsigned long long)outcome->incomplete_manifests, plural(outcome->incomplete_manifests),
			outcome->incomplete_manifests == 1 ? "s" : "", outcome->incomplete_manifests == 1 ? "s" : "");
	if (outcome->cut)
		common_message_note(
			"%s: the description of %llu event%s has a field of unknown size; the payload is kept "
			"as bytes from there on",
			name, (unsigned long long)outcome->cut, plural(outcome->cut));
}

static int convert_etl(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start,
		       size_t size, struct import_spool *spool)
{
	const struct etl_options options = {
		.check = common_interrupt_check,
		.manifests = settings->manifests.list,
		.manifest_count = settings->manifests.count,
	};
	struct etl_outcome outcome;
	int status = etl_import(fd, &options, spool->writer, &outcome);

	(void)start;
	(void)size;
	if (status)
		return status;
	report_etl_outcome(path, &outcome);
	spool->damaged = outcome.damage[0] != 0;
	return import_spool_origin_file(spool, path, fd);
}

const struct relog_format relog_format_etl = {"etl", etl_file_is, convert_etl};
