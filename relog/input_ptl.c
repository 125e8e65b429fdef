/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies a trace buffer by buffer. */
#include "relog/input_ptl.h"

#include <inttypes.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/message.h"

#define REPORTED_MAX 20u /* pieces of damage that are told of one by one */

/* What cannot be read any more is left out: the reader lists it as damage. */
static bool is_damage(int status)
{
	return status == PTL_CORRUPT || status == PTL_TRUNCATED;
}

static int copy_buffers(struct ptl_trace *trace, struct ptl_writer *writer)
{
	size_t count = ptl_buffer_count(trace);

	for (size_t i = 0; i < count; i++) {
		int status = ptl_writer_copy(writer, trace, i);

		if (status && !is_damage(status))
			return status;
		status = relog_check_signals();
		if (status)
			return status;
		ptl_progress("%zu of %zu buffers", i + 1, count);
	}
	ptl_progress_end();
	return 0;
}

/* A newer version's parts are reported by the reader, too, but they are kept: no loss. */
static bool is_loss(const struct ptl_damage *damage)
{
	return is_damage(damage->status);
}

/* Damage without a size at the end of the file is the missing index. */
static uint32_t loss_kind(const struct ptl_trace *trace, const struct ptl_damage *damage)
{
	if (damage->status == PTL_TRUNCATED && damage->offset >= ptl_trace_size(trace))
		return PTL_LOSS_END;
	return PTL_LOSS_BUFFERS;
}

static int record_losses(const struct relog_source *source, struct ptl_writer *writer,
			 size_t *losses)
{
	const struct ptl_trace *trace = source->trace;

	*losses = 0;
	for (size_t i = 0; i < ptl_damage_count(trace); i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);
		struct ptl_loss loss = {
			.kind = loss_kind(trace, damage),
			.stream = damage->stream,
			.pid = PTL_NO_ID,
			.tid = PTL_NO_ID,
			.count = 1,
			.bytes = damage->size,
			.cause = damage->text,
		};
		int status = is_loss(damage) ? ptl_writer_loss(writer, &loss) : 0;

		if (status)
			return status;
		*losses += is_loss(damage);
		if (i < REPORTED_MAX && is_loss(damage))
			ptl_message_warning("%s: offset %" PRIu64 ": %s", source->name,
					    damage->offset, damage->text);
		else if (i < REPORTED_MAX)
			ptl_message_note("%s: offset %" PRIu64 ": %s; kept as it is", source->name,
					 damage->offset, damage->text);
	}
	if (*losses > REPORTED_MAX)
		ptl_message_warning(
			"%s: %zu pieces of damage in all; each is a loss record of the output",
			source->name, *losses);
	return 0;
}

int relog_input_ptl(struct relog_source *source, struct relog_output *output, bool *damaged)
{
	uint8_t hash[PTL_HASH_SIZE];
	uint64_t size;
	size_t losses = 0;
	int status = copy_buffers(source->trace, output->writer);

	if (!status)
		status = record_losses(source, output->writer, &losses);
	if (!status)
		status = relog_source_hash(source, hash, &size);
	if (!status)
		status = relog_output_add_input(output, source->name, size, hash);
	*damaged = losses > 0;
	return status;
}
