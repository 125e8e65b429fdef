/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of a complete timeline. */
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

const struct flow_made_layer *flow_timeline_made(const struct flow_timeline *timeline, uint32_t pid, uint32_t layer)
{
	return flow_made_find(&timeline->made, pid, layer);
}

uint32_t flow_timeline_maker(const struct flow_timeline *timeline, uint32_t image)
{
	const struct flow_timeline_image *own = &timeline->images[image].data;

	return flow_timeline_is_made(timeline, image) &&
			       flow_made_find(&timeline->made, own->data.process_id, own->layer)
		       ? own->process
		       : FLOW_NONE;
}

size_t flow_timeline_made_replaced(const struct flow_timeline *timeline)
{
	return timeline->made.replaced;
}

size_t flow_timeline_made_unreadable(const struct flow_timeline *timeline)
{
	return timeline->made.unreadable;
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
	const size_t begun = COMMON_PARTITION(data->program_count, i, data->programs[i].time <= time);

	return data->program_count ? &data->programs[begun ? begun - 1 : 0] : NULL;
}

const char *flow_timeline_process_name(const struct flow_timeline *timeline, uint32_t process, uint64_t time)
{
	const struct flow_program *program = process == FLOW_NONE || !time
						     ? NULL
						     : flow_timeline_program_at(timeline, process, time);

	if (program && *program->name)
		return program->name;
	return process == FLOW_NONE ? "" : timeline->processes[process].data.name;
}

const char *flow_timeline_name_at(const struct flow_timeline *timeline, uint32_t pid, uint64_t time)
{
	const uint32_t process = pid == PTL_NO_ID ? FLOW_NONE : flow_timeline_process_at(timeline, pid, time);

	return process == FLOW_NONE ? NULL : flow_timeline_process_name(timeline, process, time);
}

/* ---- versions ---------------------------------------------------------------------------- */

/* Finds the process's own trees at time. */
static void own_version(const struct flow_process_state *state, uint64_t time, struct flow_version *version)
{
	const size_t low = COMMON_PARTITION(state->version_count, at, state->versions[at].time <= time);

	*version = (struct flow_version){.until = FLOW_TIME_END, .until_injected = FLOW_TIME_END};
	if (low < state->version_count) {
		version->until = state->versions[low].time;
		version->until_injected = state->versions[low].next_injected;
	}
	if (low) {
		version->root = state->versions[low - 1].root;
		version->files = state->versions[low - 1].files;
	}
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

void flow_timeline_version(const struct flow_timeline *timeline, uint32_t process, uint64_t time,
			   struct flow_version *version)
{
	struct flow_version kernel;

	*version = (struct flow_version){.until = FLOW_TIME_END, .until_injected = FLOW_TIME_END};
	if (process >= timeline->process_count)
		return;
	own_version(&timeline->processes[process], time, version);
	if (timeline->processes[process].kernel == FLOW_NONE)
		return;
	own_version(&timeline->processes[timeline->processes[process].kernel], time, &kernel);
	version->root |= kernel.root << 32;
	version->files |= kernel.files << 32;
	version->until = earlier(version->until, kernel.until);
	version->until_injected = earlier(version->until_injected, kernel.until_injected);
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

/* ---- two trees --------------------------------------------------------------------------- */

#define UPPER_HALF (1ull << 63) /* first address of the half that every process shares with the kernel */

static uint32_t own_of(flow_root root)
{
	return (uint32_t)root;
}

static uint32_t kernel_of(flow_root root)
{
	return (uint32_t)(root >> 32);
}

/* Reduces the piece to its part within [first, last]. The piece and the range overlap. */
static void clip(struct format_piece *piece, uint64_t first, uint64_t last)
{
	if (piece->first < first) {
		piece->offset += first - piece->first;
		piece->first = first;
	}
	if (piece->last > last)
		piece->last = last;
}

bool flow_version_find(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece)
{
	const struct format_pieces *pieces = &timeline->fold.pieces;
	struct format_piece hole;
	bool found;

	if (format_pieces_find(pieces, own_of(root), address, piece))
		return true;
	if (!kernel_of(root))
		return false;
	hole = *piece;
	if (address < UPPER_HALF) {
		clip(piece, 0, UPPER_HALF - 1);
		return false;
	}
	found = format_pieces_find(pieces, kernel_of(root), address, piece);
	clip(piece, hole.first > UPPER_HALF ? hole.first : UPPER_HALF, hole.last);
	return found;
}

bool flow_version_next(const struct flow_timeline *timeline, flow_root root, uint64_t address,
		       struct format_piece *piece)
{
	const struct format_pieces *pieces = &timeline->fold.pieces;
	const uint64_t from = address > UPPER_HALF ? address : UPPER_HALF;
	const bool found = format_pieces_at_or_after(pieces, own_of(root), address, piece);
	struct format_piece kernel;

	if (!kernel_of(root) || (found && piece->first <= from) ||
	    !format_pieces_at_or_after(pieces, kernel_of(root), from, &kernel) ||
	    (found && piece->first <= kernel.first))
		return found;
	clip(&kernel, from, found ? piece->first - 1 : UINT64_MAX);
	*piece = kernel;
	return true;
}

/* Compares the process's own pieces in the lower half, then the kernel's pieces in the upper half. */
struct halves {
	bool (*differs)(void *context, uint64_t first, uint64_t last);
	void *context;
	bool above; /* the process's own pieces differ in the upper half */
};

static bool differs_below(void *context, uint64_t first, uint64_t last)
{
	struct halves *halves = context;

	halves->above |= last >= UPPER_HALF;
	return first >= UPPER_HALF || halves->differs(halves->context, first, earlier(last, UPPER_HALF - 1));
}

static bool differs_above(void *context, uint64_t first, uint64_t last)
{
	const struct halves *halves = context;

	return last < UPPER_HALF || halves->differs(halves->context, first > UPPER_HALF ? first : UPPER_HALF, last);
}

bool flow_version_compare(const struct flow_timeline *timeline, flow_root one, flow_root other,
			  bool (*differs)(void *context, uint64_t first, uint64_t last), void *context)
{
	const struct format_pieces *pieces = &timeline->fold.pieces;
	struct halves halves = {differs, context, false};

	if (kernel_of(one) == kernel_of(other))
		return format_pieces_compare(pieces, own_of(one), own_of(other), differs, context);
	if (!format_pieces_compare(pieces, own_of(one), own_of(other), differs_below, &halves))
		return false;
	/* Differences must be reported in order of address, across both trees. */
	if (halves.above)
		return differs(context, UPPER_HALF, UINT64_MAX);
	return format_pieces_compare(pieces, kernel_of(one), kernel_of(other), differs_above, &halves);
}

bool flow_timeline_find(const struct flow_timeline *timeline, uint32_t process, uint64_t time, uint64_t address,
			struct flow_place *place)
{
	struct flow_version version;
	struct format_piece piece;
	bool found;

	flow_timeline_version(timeline, process, time, &version);
	found = flow_version_find(timeline, version.root, address, &piece);
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
