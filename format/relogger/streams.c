/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes streams: unchanged, joined, or only the wanted parts. */
#include "format/relogger/streams.h"

#include "format/relogger/copy.h"
#include "format/relogger/input.h"
#include "format/relogger/joined_bytes.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"

static int pass_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream)
{
	struct format_relogger_stream *target = &input->streams[stream];
	struct ptl_stream_plan plan;
	int status;

	if (target->leader)
		return 0; /* passes together with its leader */
	if (target->member)
		return format_relogger_pass_joined(relogger, target);
	status = format_stages_stream(relogger, input, stream, &plan);
	if (status || plan.drop)
		return status;
	target->cut = plan.ranges ? plan.ranges[0].first : 0;
	status = format_relogger_declare_stream(relogger, input, stream);
	if (status)
		return status;
	return format_relogger_copy_stream(relogger, input, stream, &plan);
}

int format_relogger_pass_streams(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; !status && !input->whole.whole && j < ptl_stream_count(input->trace); j++) {
			const uint32_t kind = ptl_stream_at(input->trace, j)->kind;

			if (kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB &&
			    kind != PTL_KIND_INDEX)
				status = pass_stream(relogger, input, j);
		}
	}
	return status;
}
