/* SPDX-License-Identifier: BSD-2-Clause */
/* Each segment lists its first gaps. Lists are joined in order. */
#include "analysis/profile/gap_list.h"

#include <stdlib.h>

#include "common/vector.h"
#include "flow/view/shard.h"

void analysis_gap_list_free(struct analysis_gap_list *list)
{
	free(list->gaps);
	*list = (struct analysis_gap_list){0};
}

static int append_gap(struct analysis_gap_list *list, size_t limit, const struct analysis_gap *gap)
{
	if (list->count >= limit)
		return 0;
	if (COMMON_VECTOR_RESERVE(list->gaps, list->capacity, list->count + 1, "gaps"))
		return PTL_NO_MEMORY;
	list->gaps[list->count++] = *gap;
	return 0;
}

int analysis_gap_list_add(struct analysis_gap_list *list, size_t limit, const struct flow_segment *segment,
			  const struct flow_event *event)
{
	const struct analysis_gap gap = {
		.pid = segment->pid,
		.tid = segment->tid,
		.process = segment->process,
		.stream = segment->stream,
		.event = *event,
	};

	return append_gap(list, limit, &gap);
}

int analysis_gap_list_join(struct analysis_gap_list *list, size_t limit, const struct analysis_gap_list *more)
{
	int status = 0;

	for (size_t i = 0; !status && i < more->count; i++)
		status = append_gap(list, limit, &more->gaps[i]);
	return status;
}

void analysis_gap_list_write(const struct analysis_gap_list *list, struct ptl_bytes *record)
{
	common_write_varint(record, list->count);
	for (size_t i = 0; i < list->count; i++)
		flow_shard_write_event(record, &list->gaps[i].event);
}

int analysis_gap_list_read(struct analysis_gap_list *list, size_t limit, const struct flow_segment *segment,
			   struct common_cursor *record)
{
	const uint64_t count = common_read_varint(record);
	int status = 0;

	for (uint64_t i = 0; !status && i < count && !record->failed; i++) {
		struct flow_event event;

		flow_shard_read_event(record, &event);
		if (event.kind == FLOW_GAP)
			status = analysis_gap_list_add(list, limit, segment, &event);
		else
			record->failed = true;
	}
	return status;
}
