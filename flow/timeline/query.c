/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking things up in a timeline that has been built. */
#include "flow/timeline/query.h"

#include "common/partition.h"
#include "flow/timeline/timeline_state.h"

size_t flow_timeline_process_count(const struct flow_timeline *timeline)
{
	return timeline->process_count;
}

const struct flow_timeline_process *flow_timeline_process(const struct flow_timeline *timeline, size_t i)
{
	return &timeline->processes[i].data;
}

size_t flow_timeline_thread_count(const struct flow_timeline *timeline)
{
	return timeline->thread_count;
}

const struct flow_timeline_thread *flow_timeline_thread(const struct flow_timeline *timeline, size_t i)
{
	return &timeline->threads[i].data;
}

size_t flow_timeline_image_count(const struct flow_timeline *timeline)
{
	return timeline->image_count;
}

const struct flow_timeline_image *flow_timeline_image(const struct flow_timeline *timeline, size_t i)
{
	return &timeline->images[i].data;
}

uint64_t flow_timeline_skipped(const struct flow_timeline *timeline)
{
	return timeline->fold.skipped;
}

uint32_t flow_timeline_process_at(const struct flow_timeline *timeline, uint32_t pid, uint64_t time)
{
	const uint64_t *last = common_hash_map_get(&timeline->last_process, pid);
	uint32_t index = last ? (uint32_t)*last : FLOW_NONE;

	while (index != FLOW_NONE && timeline->processes[index].data.start > time &&
	       timeline->processes[index].previous != FLOW_NONE)
		index = timeline->processes[index].previous;
	return index;
}

uint32_t flow_timeline_thread_at(const struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time)
{
	const uint64_t *last = common_hash_map_get(&timeline->last_thread, (uint64_t)pid << 32 | tid);
	uint32_t index = last ? (uint32_t)*last : FLOW_NONE;

	while (index != FLOW_NONE && timeline->threads[index].data.start > time &&
	       timeline->threads[index].previous != FLOW_NONE)
		index = timeline->threads[index].previous;
	return index;
}

const struct flow_program *flow_timeline_program_at(const struct flow_timeline *timeline, uint32_t process,
						    uint64_t time)
{
	const struct flow_timeline_process *data = &timeline->processes[process].data;
	size_t i = data->program_count;

	while (i > 1 && data->programs[i - 1].time > time)
		i--;
	return i ? &data->programs[i - 1] : NULL;
}

void flow_timeline_version(const struct flow_timeline *timeline, uint32_t process, uint64_t time,
			   struct flow_version *version)
{
	const struct flow_process_state *state;
	size_t low;

	*version = (struct flow_version){.until = FLOW_TIME_END, .until_injected = FLOW_TIME_END};
	if (process >= timeline->process_count)
		return;
	state = &timeline->processes[process];
	low = COMMON_PARTITION(state->version_count, at, state->versions[at].time <= time);
	if (low < state->version_count) {
		version->until = state->versions[low].time;
		version->until_injected = state->versions[low].next_injected;
	}
	if (low) {
		version->root = state->versions[low - 1].root;
		version->files = state->versions[low - 1].files;
	}
}

bool flow_timeline_uses_blob(const struct flow_timeline *timeline, uint32_t blob)
{
	return blob >= timeline->blob_count || timeline->blobs_used[blob];
}

bool flow_timeline_has_unnamed_code(const struct flow_timeline *timeline)
{
	return timeline->has_unnamed_code;
}

size_t flow_timeline_outside(const struct flow_timeline *timeline, const struct flow_outside_blob **blobs)
{
	*blobs = timeline->outside;
	return timeline->outside_count;
}

bool flow_version_find(const struct flow_timeline *timeline, uint32_t root, uint64_t address, struct ptl_piece *piece)
{
	return format_pieces_find(&timeline->fold.pieces, root, address, piece);
}

bool flow_version_next(const struct flow_timeline *timeline, uint32_t root, uint64_t address, struct ptl_piece *piece)
{
	return format_pieces_at_or_after(&timeline->fold.pieces, root, address, piece);
}

bool flow_version_compare(const struct flow_timeline *timeline, uint32_t one, uint32_t other,
			  bool (*differs)(void *context, uint64_t first, uint64_t last), void *context)
{
	return format_pieces_compare(&timeline->fold.pieces, one, other, differs, context);
}

bool flow_timeline_find(const struct flow_timeline *timeline, uint32_t process, uint64_t time, uint64_t address,
			struct flow_place *place)
{
	struct flow_version version;
	struct ptl_piece piece;
	bool found;

	flow_timeline_version(timeline, process, time, &version);
	found = format_pieces_find(&timeline->fold.pieces, version.root, address, &piece);
	*place = (struct flow_place){
		.first = piece.first,
		.last = piece.last,
		.image = found ? piece.image : FLOW_NONE,
		.has_code = found && piece.blob != FLOW_NONE,
		.code_event = found && piece.code_event,
		.blob = found ? piece.blob : FLOW_NONE,
		.blob_offset = found ? piece.offset : 0,
	};
	return found;
}
