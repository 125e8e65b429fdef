/* SPDX-License-Identifier: BSD-2-Clause */
/* How many instructions each source line executed: blocks are counted, and their instructions looked up once. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/message.h"
#include "common/vector.h"
#include "dump/analysis/call_report.h"
#include "flow/view/profile.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

/* file is kept as the text of a row: the tables of lines are gone when rows are shown. */
static int find_line(struct dump_report *report, const char *file, uint32_t line, uint32_t *number)
{
	struct ptl_bytes key = {0};
	const uint64_t *known;
	int status = 0;

	common_write_bytes(&key, file, strlen(file));
	common_write_le(&key, 0, 1);
	common_write_le(&key, line, 4);
	known = key.failed ? NULL : common_byte_map_get(&report->by_name, key.data, key.size);
	if (known) {
		*number = (uint32_t)*known;
	} else if (key.failed ||
		   COMMON_VECTOR_RESERVE(report->rows, report->capacity, report->count + 1, "lines") < 0) {
		status = common_fail_memory("lines", key.size);
	} else {
		struct dump_report_row *row = &report->rows[report->count];

		*row = (struct dump_report_row){.function = DUMP_NO_FUNCTION, .process = FLOW_NONE, .line = line};
		row->name = strdup(file);
		*number = (uint32_t)report->count++;
		status = row->name ? common_byte_map_put(&report->by_name, key.data, key.size, *number)
				   : common_fail_memory("lines", strlen(file));
	}
	common_bytes_free(&key);
	return status;
}

static int add_instruction(struct dump_report *report, struct flow_sources *sources,
			   const struct flow_profile_block *block, uint64_t address)
{
	const char *file = "[no line]";
	uint32_t line = 0, number = 0;
	int status;

	if (block->image != FLOW_NONE) {
		const struct flow_timeline_image *image = flow_timeline_image(report->calls->timeline, block->image);

		if (!flow_sources_find(sources, block->image, address - image->data.default_base + image->data.base,
				       &file, &line))
			file = image->data.file_name;
	}
	status = find_line(report, file, line, &number);
	if (status == 0)
		report->rows[number].self_instructions += block->count;
	return status;
}

static int add_block(struct dump_report *report, struct flow_sources *sources, const struct flow_profile_block *block)
{
	const struct dump_filter *filter = &report->calls->session->options->filter;
	const char *path = block->image == FLOW_NONE
				   ? ""
				   : flow_timeline_image(report->calls->timeline, block->image)->data.file_name;
	uint64_t address = block->address;
	int status = 0;

	report->sum.self_instructions += block->count * block->instructions;
	if (!dump_filter_wants_image(filter, path))
		return 0;
	for (uint32_t i = 0; status == 0 && i < block->instructions; i++) {
		status = add_instruction(report, sources, block, address);
		address += block->lengths[i];
	}
	return status;
}

int dump_report_lines(struct dump_report *report, struct flow_sources *sources)
{
	const struct dump_call_session *calls = report->calls;
	const struct flow_view_options options = dump_session_view_options(calls->session);
	struct flow_profile profile = {0};
	size_t asked, found;
	int status = flow_profile_run(calls->session->trace, calls->timeline, &options, false, &profile);

	common_progress_end();
	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < profile.block_count; i++)
		status = add_block(report, sources, &profile.blocks[i]);
	if (status == 0 && !profile.instructions)
		dump_session_note_no_flow(calls->session);
	flow_profile_free(&profile);
	flow_sources_counts(sources, &asked, &found);
	if (status == 0 && asked && !found) {
		common_message_warning("no source lines: neither the trace nor this machine has debug information "
				       "for any of the %zu images that ran",
				       asked);
		common_message_hint("compile with -g, and record with ptl-record --embed debug");
	}
	return status;
}
