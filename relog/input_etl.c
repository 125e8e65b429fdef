/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of an .etl file. */
#include "relog/input_etl.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "common/message.h"
#include "format/metadata/input_hash.h"
#include "import/etl/input.h"
#include "relog/signals.h"

#define PIECE ((size_t)1 << 20) /* bytes hashed at once */

static int hash_file(int fd, struct format_input_hash *hash, uint64_t size)
{
	uint8_t *piece = malloc(PIECE);
	int status = piece ? 0 : common_fail_memory("an .etl file", PIECE);

	for (uint64_t at = 0; !status && at < size;) {
		const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;

		status = common_read_at(fd, piece, n, at);
		if (!status)
			format_input_hash_add(hash, piece, n);
		at += n;
		if (!status)
			status = relog_check_signals();
	}
	free(piece);
	return status;
}

static int add_origin(const char *path, int fd, struct import_spool *spool)
{
	struct ptl_provenance_input origin = {.name = path};
	struct format_input_hash *hash = format_input_hash_new(spool->hash_kind);
	struct stat info;
	int status = hash ? 0 : common_fail_memory("a hash", 0);

	if (!status && fstat(fd, &info) < 0)
		status = common_fail_errno("cannot read");
	if (!status) {
		origin.size = (uint64_t)info.st_size;
		if (spool->hash_kind != PTL_HASH_NONE)
			status = hash_file(fd, hash, origin.size);
		format_input_hash_finish(hash, &origin);
	}
	format_input_hash_free(hash);
	return status ? status : import_spool_origin(spool, &origin);
}

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
	return add_origin(path, fd, spool);
}

const struct relog_format relog_format_etl = {"etl", etl_file_is, convert};
