/* SPDX-License-Identifier: BSD-2-Clause */
/* Images and code in the timeline: each change makes a new version of an address space. */
#include <string.h>

#include "common/error.h"
#include "flow/timeline/timeline_state.h"

/* ---- versions ---------------------------------------------------------------------------- */

/* Changes of equal time make one version together. Older versions are kept. */
static int change_begins(void *context, struct format_fold_process *process, uint64_t time, bool injected)
{
	struct flow_timeline *timeline = context;
	const struct flow_process_state *state = flow_timeline_state_of(process);

	timeline->change.injected = injected;
	timeline->change.time = time;
	if (!state->version_count)
		return 0;
	/* Times never decrease within a process. If an event has an earlier time, the order of events counts. */
	if (time < state->versions[state->version_count - 1].time)
		timeline->change.time = state->versions[state->version_count - 1].time;
	if (timeline->change.time != state->versions[state->version_count - 1].time)
		format_pieces_keep(&timeline->fold.pieces);
	return 0;
}

static int change_ends(void *context, struct format_fold_process *process)
{
	struct flow_timeline *timeline = context;
	struct flow_process_state *state = flow_timeline_state_of(process);
	struct flow_space_version version = {timeline->change.time, process->root, state->files,
					     timeline->change.injected, FLOW_TIME_END};
	int status;

	if (state->version_count && state->versions[state->version_count - 1].time == version.time) {
		version.injected |= state->versions[state->version_count - 1].injected;
		state->versions[state->version_count - 1] = version;
		return 0;
	}
	status = flow_timeline_grow((void **)&state->versions, state->version_count, &state->version_capacity,
				    sizeof(version));
	if (status < 0)
		return status;
	state->versions[state->version_count++] = version;
	return 0;
}

void flow_timeline_settle_versions(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++) {
		struct flow_process_state *state = &timeline->processes[i];
		uint64_t next = FLOW_TIME_END;

		for (size_t k = state->version_count; k-- > 0;) {
			if (state->versions[k].injected)
				next = state->versions[k].time;
			state->versions[k].next_injected = next;
		}
	}
}

/* ---- blobs ------------------------------------------------------------------------------- */

static uint32_t use_blob(struct flow_timeline *timeline, const uint8_t hash[PTL_HASH_SIZE])
{
	const uint64_t *index = common_byte_map_get(&timeline->blobs, hash, PTL_HASH_SIZE);

	if (!index)
		return FLOW_NONE;
	if (*index < timeline->blob_count)
		timeline->blobs_used[*index] = true;
	return (uint32_t)*index;
}

/* Numbers bytes that are not in the trace but may be in a code store, or in the mapped file. *blob: the number. */
static int use_outside(struct flow_timeline *timeline, const uint8_t hash[PTL_HASH_SIZE], const char *path,
		       uint64_t file_offset, uint64_t size, uint32_t *blob)
{
	const size_t index = timeline->blob_count + timeline->outside_count;
	/* Names such as "//anon" are no files. */
	const bool names_file = path[0] == '/' && path[1] != '/';
	struct flow_outside_blob outside = {.file_offset = file_offset, .size = size};
	uint64_t stored;
	int status;

	if (index >= FLOW_NONE ||
	    (!names_file && !(timeline->trace && ptl_code_store_has(timeline->trace, hash, &stored))))
		return 0;
	outside.path = flow_timeline_text(timeline, names_file ? path : "");
	if (!outside.path)
		return common_fail_memory("name of an image", 0);
	memcpy(outside.hash, hash, PTL_HASH_SIZE);
	status = flow_timeline_grow((void **)&timeline->outside, timeline->outside_count, &timeline->outside_capacity,
				    sizeof(outside));
	if (!status)
		status = common_byte_map_put(&timeline->blobs, outside.hash, PTL_HASH_SIZE, index);
	if (status)
		return status;
	timeline->outside[timeline->outside_count++] = outside;
	*blob = (uint32_t)index;
	return 0;
}

/* ---- images ------------------------------------------------------------------------------ */

static int add_image(struct flow_timeline *timeline, const struct flow_timeline_image *data, uint32_t *index)
{
	struct flow_image_state state = {.data = *data};
	int status = flow_timeline_grow((void **)&timeline->images, timeline->image_count, &timeline->image_capacity,
					sizeof(state));

	if (status < 0)
		return status;
	state.data.data.file_name = flow_timeline_text(timeline, data->data.file_name);
	if (!state.data.data.file_name)
		return common_fail_memory("name of an image", 0);
	*index = (uint32_t)timeline->image_count;
	if (!data->layer)
		state.data.whole = *index;
	timeline->images[timeline->image_count++] = state;
	return 0;
}

static uint64_t blob_size(const struct flow_timeline *timeline, uint32_t blob)
{
	if (blob == FLOW_NONE)
		return 0;
	return blob < timeline->blob_count ? timeline->blob_sizes[blob]
					   : timeline->outside[blob - timeline->blob_count].size;
}

/* ---- names of generated code ------------------------------------------------------------- */

bool flow_timeline_is_made(const struct flow_timeline *timeline, uint32_t image)
{
	const struct ptl_image_event *data;

	if (image == FLOW_NONE)
		return false;
	data = &timeline->images[image].data.data;
	return !data->has_symbols && !data->build_id_size && data->base == data->default_base;
}

/* Returns the part of an image with the names of a layer. FLOW_NONE without memory. */
static uint32_t on_layer(struct flow_timeline *timeline, uint32_t image, uint32_t layer)
{
	const uint32_t whole = timeline->images[image].data.whole;
	const uint64_t key = (uint64_t)whole << 32 | layer;
	const uint64_t *known = layer ? common_hash_map_get(&timeline->made_images, key) : NULL;
	struct flow_timeline_image part = timeline->images[whole].data;
	uint32_t index;

	if (!layer)
		return whole;
	if (known)
		return (uint32_t)*known;
	part.layer = layer;
	part.whole = whole;
	if (add_image(timeline, &part, &index) < 0 || common_hash_map_put(&timeline->made_images, key, index) < 0) {
		timeline->fold.pieces.failed = true;
		return FLOW_NONE;
	}
	return index;
}

/* Puts a piece into a tree. Splits the piece at the borders of the current layers of names. */
static void put_piece(struct flow_timeline *timeline, const struct format_fold_process *process, uint32_t *root,
		      const struct format_piece *whole)
{
	struct format_pieces *pieces = &timeline->fold.pieces;
	const uint64_t *index = timeline->made.change_count && flow_timeline_is_made(timeline, whole->image)
					? common_hash_map_get(&timeline->made.by_pid, process->pid)
					: NULL;
	const uint32_t now = index ? timeline->made.list[*index].now : 0;
	struct format_piece piece = *whole, named;

	while (now && !pieces->failed) {
		const bool found = format_pieces_find(pieces, now, piece.first, &named);

		piece.last = named.last < whole->last ? named.last : whole->last;
		piece.image = on_layer(timeline, whole->image, found ? named.image : 0);
		format_pieces_put(pieces, root, &piece);
		if (piece.last == whole->last)
			return;
		piece.offset += piece.last - piece.first + 1;
		piece.first = piece.last + 1;
	}
	format_pieces_put(pieces, root, &piece);
}

/* Puts the pieces of a range again, after a change of names. */
static void put_again(struct flow_timeline *timeline, const struct format_fold_process *process, uint32_t *root,
		      uint64_t first, uint64_t last)
{
	struct format_pieces *pieces = &timeline->fold.pieces;
	struct format_piece piece;
	uint64_t at = first;

	while (!pieces->failed && format_pieces_at_or_after(pieces, *root, at, &piece) && piece.first <= last) {
		if (piece.first < first) {
			piece.offset += first - piece.first;
			piece.first = first;
		}
		if (piece.last > last)
			piece.last = last;
		at = piece.last + 1;
		if (flow_timeline_is_made(timeline, piece.image))
			put_piece(timeline, process, root, &piece);
		if (piece.last == last)
			return;
	}
}

int flow_timeline_names_change(struct flow_timeline *timeline, const struct flow_made_change *change)
{
	struct flow_made_names *names = &timeline->made.list[change->names];
	struct format_pieces *pieces = &timeline->fold.pieces;
	struct format_fold_process *process = flow_timeline_processes.find(timeline, names->pid);
	const struct format_piece piece = {
		.first = change->first, .last = change->last, .image = change->layer, .blob = FLOW_NONE};
	int status = 0;

	format_pieces_put(pieces, &names->now, &piece);
	/* The images of a forked process may be unknown yet. They will be put with the then current names. */
	if (!process || process->undecided || !process->root)
		return pieces->failed ? common_fail_memory("names", 0) : 0;
	status = change_begins(timeline, process, change->time, false);
	if (!status) {
		put_again(timeline, process, &process->root, change->first, change->last);
		put_again(timeline, process, &flow_timeline_state_of(process)->files, change->first, change->last);
		status = pieces->failed ? common_fail_memory("names", 0) : change_ends(timeline, process);
	}
	return status;
}

/* ---- pieces ------------------------------------------------------------------------------ */

/* If the blob is too short, the rest of the piece has no bytes. */
static void maps(void *context, struct format_fold_process *process, const struct format_piece *whole, uint64_t base)
{
	struct flow_timeline *timeline = context;
	struct format_piece piece = *whole;
	const uint64_t size = blob_size(timeline, piece.blob);

	piece.offset = piece.first - base;
	if (piece.offset < size) {
		if (size - piece.offset - 1 < piece.last - piece.first)
			piece.last = piece.first + (size - piece.offset - 1);
		put_piece(timeline, process, &process->root, &piece);
		if (!piece.code_event)
			put_piece(timeline, process, &flow_timeline_state_of(process)->files, &piece);
		if (piece.last == whole->last)
			return;
		piece.first = piece.last + 1;
	}
	piece.last = whole->last;
	piece.blob = FLOW_NONE;
	piece.offset = 0;
	put_piece(timeline, process, &process->root, &piece);
}

/* An image ends with its last mapped byte. */
static void hides(void *context, const struct format_piece *piece, uint64_t bytes)
{
	struct flow_timeline *timeline = context;
	struct flow_image_state *image;

	if (piece->image == FLOW_NONE)
		return;
	image = &timeline->images[timeline->images[piece->image].data.whole];
	image->mapped -= bytes;
	if (!image->mapped)
		image->data.end = timeline->change.time;
}

static void unmaps(void *context, struct format_fold_process *process, uint64_t first, uint64_t last)
{
	struct flow_timeline *timeline = context;

	format_pieces_remove(&timeline->fold.pieces, &flow_timeline_state_of(process)->files, first, last);
}

static int image_data(void *context, uint32_t image, const struct ptl_image_event **data, uint64_t *mapped)
{
	const struct flow_timeline *timeline = context;

	*data = &timeline->images[image].data.data;
	*mapped = timeline->images[timeline->images[image].data.whole].mapped;
	return 0;
}

static int loads(void *context, struct format_fold_process *process, const struct ptl_image_event *data,
		 enum format_action action, struct format_piece *piece)
{
	struct flow_timeline *timeline = context;
	const struct flow_timeline_image image = {
		.process = flow_timeline_number(timeline, process),
		.start = timeline->change.time,
		.end = FLOW_TIME_END,
		.rundown = format_is_rundown(action),
		.data = *data,
	};
	int status = 0;

	if (data->has_code)
		piece->blob = use_blob(timeline, data->code);
	if (data->has_code && piece->blob == FLOW_NONE)
		status = use_outside(timeline, data->code, data->file_name, data->file_offset, data->size,
				     &piece->blob);
	if (!status)
		status = add_image(timeline, &image, &piece->image);
	if (status < 0)
		return status;
	timeline->has_unnamed_code |= !strcmp(data->file_name, "//anon");
	timeline->images[piece->image].mapped = data->size;
	return flow_before_loaded(timeline, image.process, data->base);
}

static void protects(void *context, uint32_t image, uint32_t protection)
{
	struct flow_timeline *timeline = context;

	timeline->images[timeline->images[image].data.whole].data.data.protection = protection;
}

/* ---- code -------------------------------------------------------------------------------- */

static int writes(void *context, struct format_fold_process *process, const struct ptl_code_event *data,
		  struct format_piece *piece)
{
	struct flow_timeline *timeline = context;
	struct format_pieces *pieces = &timeline->fold.pieces;
	int status = 0;

	timeline->has_unnamed_code |= !format_pieces_any(pieces, process->root, data->base, data->base);
	piece->blob = use_blob(timeline, data->code);
	if (piece->blob == FLOW_NONE)
		status = use_outside(timeline, data->code, "", 0, data->size, &piece->blob);
	if (status)
		return status;
	format_pieces_remove(pieces, &flow_timeline_state_of(process)->files, data->base,
			     data->base + (data->size - 1));
	return 0;
}

/* ---- fork -------------------------------------------------------------------------------- */

static int forks(void *context, struct format_fold_process *process, const struct format_fold_process *parent)
{
	struct flow_timeline *timeline = context;

	format_pieces_keep(&timeline->fold.pieces);
	flow_timeline_state_of(process)->inherited_root = parent->root;
	return 0;
}

static void disinherits(void *context, struct format_fold_process *process)
{
	(void)context;
	flow_timeline_state_of(process)->inherited_root = 0;
}

/* The child's address space begins as a copy of the parent's space at the fork. */
static int inherits(void *context, struct format_fold_process *process)
{
	struct flow_timeline *timeline = context;
	const uint32_t root = flow_timeline_state_of(process)->inherited_root;
	int status;

	flow_timeline_state_of(process)->inherited_root = 0;
	if (!root)
		return 0;
	timeline->change.time = process->start;
	timeline->change.injected = false;
	status = format_fold_copy(&timeline->fold, root, process);
	return status < 0 ? status : change_ends(timeline, process);
}

/* Replaces the parent's image in *image by the child's copy. copies: the copies made so far, by the parent's image. */
static int copy_image(struct flow_timeline *timeline, uint32_t process, struct common_hash_map *copies, uint32_t *image)
{
	const uint32_t parents = timeline->images[*image].data.whole;
	const uint64_t *known = common_hash_map_get(copies, parents);
	struct flow_timeline_image copy = timeline->images[parents].data;
	int status;

	if (known) {
		*image = (uint32_t)*known;
		return 0;
	}
	copy.process = process;
	copy.start = timeline->change.time;
	copy.end = FLOW_TIME_END;
	copy.rundown = false;
	copy.inherited = true;
	status = add_image(timeline, &copy, image);
	return status < 0 ? status : common_hash_map_put(copies, parents, *image);
}

static int copies(void *context, struct format_fold_process *process, struct format_piece *piece,
		  struct common_hash_map *copies)
{
	struct flow_timeline *timeline = context;
	int status = 0;

	if (piece->image != FLOW_NONE)
		status = copy_image(timeline, flow_timeline_number(timeline, process), copies, &piece->image);
	if (status < 0)
		return status;
	if (piece->image != FLOW_NONE)
		timeline->images[piece->image].mapped += piece->last - piece->first + 1;
	if (piece->blob != FLOW_NONE && !piece->code_event)
		format_pieces_put(&timeline->fold.pieces, &flow_timeline_state_of(process)->files, piece);
	return 0;
}

const struct format_fold_spaces flow_timeline_spaces = {
	.forks = forks,
	.inherits = inherits,
	.disinherits = disinherits,
	.copies = copies,
	.change_begins = change_begins,
	.change_ends = change_ends,
	.image = image_data,
	.unannounced = flow_before_unannounced,
	.loads = loads,
	.writes = writes,
	.maps = maps,
	.hides = hides,
	.unmaps = unmaps,
	.protects = protects,
};
