/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of an .etl file. */
#include "relog/input_etl.h"

#include "common/error.h"
#include "common/message.h"
#include "import/etl/input.h"
#include "relog/signals.h"

static void report(const char *name, const struct etl_outcome *outcome)
{
	if (outcome->damage[0])
		common_message_warning("%s: %s%s; the losses are in the trace", name, outcome->damage,
				       outcome->damaged_buffers > 1 ? ", and more buffers" : "");
	if (outcome->lost_events || outcome->lost_buffers)
		common_message_warning("%s: Windows lost %llu events and %llu buffers; the losses are in the trace",
				       name, (unsigned long long)outcome->lost_events,
				       (unsigned long long)outcome->lost_buffers);
}

static int convert(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start, size_t size,
		   struct import_spool *spool)
{
	const struct etl_options options = {.check = relog_check_signals};
	struct etl_outcome outcome;
	int status = etl_import(fd, &options, spool->writer, &outcome);

	(void)settings;
	(void)start;
	(void)size;
	if (status)
		return status;
	report(path, &outcome);
	spool->damaged = outcome.damage[0] != 0;
	return relog_spool_origin_file(spool, path, fd);
}

const struct relog_format relog_format_etl = {"etl", etl_file_is, convert};
