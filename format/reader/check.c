/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads every byte of a trace, which completes the list of damage. */
#include "format/reader/damage.h"
#include "format/reader/parts.h"
#include "format/reader/reader_internal.h"

enum format_damage_kind format_damage_kind(const struct ptl_trace *trace, const struct ptl_damage *damage)
{
	if (damage->status == PTL_UNSUPPORTED)
		return damage->size ? FORMAT_DAMAGE_UNREADABLE : FORMAT_DAMAGE_NEWER;
	if (!ptl_trace_complete(trace) && !damage->size && damage->offset == ptl_trace_size(trace))
		return FORMAT_DAMAGE_END;
	return FORMAT_DAMAGE_LOST;
}

static int check_buffers(struct ptl_trace *trace, const struct format_trace_check *check)
{
	const size_t count = ptl_buffer_count(trace);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const uint8_t *data;
		size_t size;

		status = check->progress ? check->progress(check->context, i) : 0;
		if (status)
			break;
		status = ptl_buffer_acquire(trace, i, &data, &size);
		/* The buffer was read completely and need not stay in the cache. */
		if (status == 0)
			format_buffer_release_read(trace, i, true, true);
		else if (format_is_damage(status))
			status = 0;
	}
	return status;
}

static int check_blobs(struct ptl_trace *trace, size_t *broken)
{
	const size_t count = ptl_blob_count(trace);

	/* Verifies piece by piece, as a small file may contain a blob larger than memory. */
	for (size_t i = 0; i < count; i++) {
		const int status = format_blob_verify(trace, i);

		if (status == 0)
			continue;
		if (format_is_damage(status) || status == PTL_NOT_FOUND)
			++*broken;
		else
			return status;
	}
	return 0;
}

int format_trace_check(struct ptl_trace *trace, struct format_trace_check *check)
{
	/* Without callbacks, ptl_process decodes and so checks all events. */
	const struct ptl_callbacks nobody = {.size = sizeof(nobody)};
	int status = format_index_compare(trace);

	check->broken_blobs = 0;
	if (status == 0)
		status = check_buffers(trace, check);
	if (status == 0)
		status = check_blobs(trace, &check->broken_blobs);
	return status ? status : ptl_process(trace, NULL, &nobody, NULL);
}
