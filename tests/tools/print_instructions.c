/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints flow like libipt's ptxed: each instruction found by libipt is decoded and printed at once. */
#include <stdio.h>
#include <stdlib.h>

#include <ptl/reader.h>

#include "common/bytes.h"
#include "common/error.h"
#include "flow/code/disassembly.h"
#include "flow/view/view.h"

/*
 *     print_instructions TRACE.ptl [FIRST LAST]     times of the trace's clock
 *
 * The speed of ptl-dump flow is compared with this program.
 */
static int begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)segment;
	*partial = context;
	return 0;
}

static int consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	struct ptl_bytes *text = context;

	(void)partial;
	(void)segment;
	while (flow_batch_next(&cursor)) {
		const struct flow_block *block = cursor.block;

		for (uint32_t i = 0, at = 0; block && i < block->instructions; at += block->lengths[i++]) {
			text->size = 0;
			flow_disassemble(block->code + at, block->lengths[i], block->mode, block->ip + at, text);
			printf("%016llx  %.*s\n", (unsigned long long)(block->ip + at), (int)text->size,
			       (const char *)text->data);
		}
	}
	return 0;
}

static int emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	(void)context;
	(void)segment;
	(void)partial;
	(void)horizon;
	return 0;
}

static void drop(void *context, void *partial)
{
	(void)context;
	(void)partial;
}

int main(int argc, char **argv)
{
	struct ptl_bytes text = {0};
	const struct flow_view view = {
		.context = &text, .begin = begin, .consume = consume, .emit = emit, .drop = drop};
	struct flow_view_options options = {.engine = &flow_engine_libipt_insn, .threads = 1};
	struct flow_timeline *timeline;
	struct ptl_trace *trace;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: print_instructions TRACE.ptl [FIRST LAST]\n");
		return 2;
	}
	if (argc == 4) {
		options.selection.first_time = strtoull(argv[2], NULL, 10);
		options.selection.last_time = strtoull(argv[3], NULL, 10);
	}
	if (ptl_open(argv[1], NULL, &trace) < 0 || flow_timeline_build(trace, &timeline) < 0 ||
	    flow_view_run(trace, timeline, &options, &view) < 0) {
		fprintf(stderr, "print_instructions: %s: %s\n", argv[1], ptl_error_text());
		return 1;
	}
	flow_timeline_free(timeline);
	ptl_close(trace);
	common_bytes_free(&text);
	return 0;
}
