/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump info --check: reads every byte of a trace, so that the list of damage is whole. */
#include <stdlib.h>

#include "common/error.h"
#include "common/message.h"
#include "dump/command/info.h"
#include "common/text.h"
#include "format/reader/parts.h"

#define PROGRESS_BUFFERS 16

static bool is_damage(int status)
{
	return status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_UNSUPPORTED;
}

static void show_progress(const struct dump_session *session, size_t done)
{
	struct ptl_bytes text = {0};

	if (!session->progress || done % PROGRESS_BUFFERS)
		return;
	common_text_count(&text, done);
	common_text_add(&text, " of ");
	common_text_count(&text, ptl_buffer_count(session->trace));
	common_progress("checked %s buffers", common_text_string(&text));
	common_bytes_free(&text);
}

/* What is damaged goes on the reader's list; only other failures are returned. */
static int check_buffers(struct dump_session *session)
{
	const size_t count = ptl_buffer_count(session->trace);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const uint8_t *data;
		size_t size;

		show_progress(session, i);
		status = ptl_buffer_acquire(session->trace, i, &data, &size);
		if (status == 0)
			ptl_buffer_release(session->trace, i);
		else if (is_damage(status))
			status = 0;
	}
	return status;
}

static int check_blobs(struct dump_session *session, size_t *broken)
{
	const size_t count = ptl_blob_count(session->trace);

	for (size_t i = 0; i < count; i++) {
		uint8_t *data;
		size_t size;
		const int status = ptl_blob_read(session->trace, ptl_blob_at(session->trace, i)->hash, SIZE_MAX, &data,
						 &size);

		if (status == 0)
			free(data);
		else if (is_damage(status) || status == PTL_NOT_FOUND)
			++*broken;
		else
			return status;
	}
	return 0;
}

int dump_info_check(struct dump_session *session, size_t *broken_blobs)
{
	/* Events are looked at by decoding them, whichever command uses them. */
	const struct ptl_callbacks nobody = {NULL};
	int status = format_index_compare(session->trace);

	if (status == 0)
		status = check_buffers(session);
	if (status == 0)
		status = check_blobs(session, broken_blobs);
	if (status == 0)
		status = ptl_process(session->trace, NULL, &nobody, NULL);
	common_progress_end();
	return status;
}
