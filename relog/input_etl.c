/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of an .etl file. */
#include "relog/input_etl.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "common/message.h"
#include "import/etl/input.h"
#include "common/interrupt.h"

#define MANIFEST_LIMIT ((size_t)64 << 20)

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void report(const char *name, const struct etl_outcome *outcome)
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
}

/* Fills options->manifests, whose texts the caller frees. */
static int read_manifests(const struct relog_settings *settings, struct etl_manifest_text *texts)
{
	int status = 0;

	for (size_t i = 0; !status && i < settings->manifests.count; i++) {
		uint8_t *text = NULL;

		status = common_read_file(settings->manifests.list[i], MANIFEST_LIMIT, &text, &texts[i].size);
		texts[i].text = (const char *)text;
	}
	return status;
}

static int convert(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start, size_t size,
		   struct import_spool *spool)
{
	struct etl_manifest_text manifests[RELOG_MANIFESTS_MAX] = {{NULL}};
	const struct etl_options options = {
		.check = common_interrupt_check, .manifests = manifests, .manifest_count = settings->manifests.count};
	struct etl_outcome outcome;
	int status = read_manifests(settings, manifests);

	if (!status)
		status = etl_import(fd, &options, spool->writer, &outcome);
	for (size_t i = 0; i < RELOG_MANIFESTS_MAX; i++)
		free((void *)manifests[i].text);
	(void)start;
	(void)size;
	if (status)
		return status;
	report(path, &outcome);
	spool->damaged = outcome.damage[0] != 0;
	return import_spool_origin_file(spool, path, fd);
}

const struct relog_format relog_format_etl = {"etl", etl_file_is, convert};
