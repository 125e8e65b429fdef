/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump info --check: reads all bytes of a trace, to complete the list of damage. */
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/info.h"
#include "format/reader/damage.h"

#define PROGRESS_BUFFERS 16

static int show_progress(void *context, size_t done)
{
	const struct dump_run *run = context;
	struct ptl_bytes text = {0};

	if (!run->progress || done % PROGRESS_BUFFERS)
		return 0;
	common_text_count(&text, done);
	common_text_add(&text, " of ");
	common_text_count(&text, ptl_buffer_count(run->trace));
	common_progress("checked %s buffers", common_text_string(&text));
	common_bytes_free(&text);
	return 0;
}

int dump_info_check(struct dump_run *run, size_t *broken_blobs)
{
	struct format_trace_check check = {.progress = show_progress, .context = run};
	const int status = format_trace_check(run->trace, &check);

	*broken_blobs = check.broken_blobs;
	common_progress_end();
	return status;
}
