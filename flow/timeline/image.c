/* SPDX-License-Identifier: BSD-2-Clause */
/* Images and code in the timeline: each change makes a new version of an address space. */
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "flow/timeline/timeline_state.h"

/* A change of one process's address space that is under way. */
struct change {
	struct flow_timeline *timeline;
	uint32_t process;
	uint64_t time;
	uint32_t root;
	uint32_t files;
	bool injected;
};

static struct change change_of(struct flow_timeline *timeline, uint32_t process, uint64_t time)
{
	const struct flow_process_state *state = &timeline->processes[process];
	struct change change = {.timeline = timeline, .process = process, .time = time};

	if (state->version_count) {
		const struct flow_space_version *last = &state->versions[state->version_count - 1];

		change.root = last->root;
		change.files = last->files;
		/* Times never decrease within a process; if an event says otherwise, order wins. */
		if (change.time < last->time)
			change.time = last->time;
	}
	return change;
}

static int end_change(const struct change *change)
{
	struct flow_timeline *timeline = change->timeline;
	struct flow_process_state *state = &timeline->processes[change->process];
	struct flow_space_version version = {change->time, change->root, change->files, change->injected,
					     FLOW_TIME_END};
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

/* Removes [first, last]; images that lose their last byte by it end. */
static void unmap(struct change *change, uint64_t first, uint64_t last)
{
	struct flow_timeline *timeline = change->timeline;
	struct ptl_piece piece;
	uint64_t at = first;

	while (format_pieces_at_or_after(&timeline->pieces, change->root, at, &piece) && piece.first <= last) {
		uint64_t from = piece.first < first ? first : piece.first;
		uint64_t to = piece.last > last ? last : piece.last;

		if (piece.image != FLOW_NONE) {
			struct flow_image_state *image = &timeline->images[piece.image];

			image->mapped -= to - from + 1;
			if (!image->mapped)
				image->data.end = change->time;
		}
		if (to == last)
			break;
		at = to + 1;
	}
	format_pieces_remove(&timeline->pieces, &change->root, first, last);
	format_pieces_remove(&timeline->pieces, &change->files, first, last);
}

static uint32_t use_blob(struct flow_timeline *timeline, const uint8_t hash[PTL_HASH_SIZE])
{
	const uint64_t *index = common_byte_map_get(&timeline->blobs, hash, PTL_HASH_SIZE);

	if (!index)
		return FLOW_NONE;
	if (*index < timeline->blob_count)
		timeline->blobs_used[*index] = true;
	return (uint32_t)*index;
}

/* ---- images ------------------------------------------------------------------------------ */

/* An image's bytes that are not in the trace may be in its file: *blob is a number for them. */
static int use_outside(struct flow_timeline *timeline, const struct ptl_image_event *data, uint32_t *blob)
{
	const size_t index = timeline->blob_count + timeline->outside_count;
	struct flow_outside_blob outside = {.file_offset = data->file_offset, .size = data->size};
	int status;

	/* No file has such a name: "//anon". */
	if (data->file_name[0] != '/' || data->file_name[1] == '/' || index >= FLOW_NONE)
		return 0;
	outside.path = flow_timeline_text(timeline, data->file_name);
	if (!outside.path)
		return common_fail_memory("name of an image", 0);
	memcpy(outside.hash, data->code, PTL_HASH_SIZE);
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

/* Puts a piece whose blob begins at base; where that is too short, the rest is without bytes. */
static void put_piece(struct change *change, struct ptl_piece piece, uint64_t base)
{
	struct format_pieces *pieces = &change->timeline->pieces;
	uint64_t size = blob_size(change->timeline, piece.blob);
	uint64_t last = piece.last;

	piece.offset = piece.first - base;
	if (piece.offset < size) {
		if (size - piece.offset - 1 < last - piece.first)
			piece.last = piece.first + (size - piece.offset - 1);
		format_pieces_put(pieces, &change->root, &piece);
		if (!piece.code_event)
			format_pieces_put(pieces, &change->files, &piece);
		if (piece.last == last)
			return;
		piece.first = piece.last + 1;
	}
	piece.last = last;
	piece.blob = FLOW_NONE;
	piece.offset = 0;
	format_pieces_put(pieces, &change->root, &piece);
}

static bool same_image(const struct ptl_image_event *a, const struct ptl_image_event *b)
{
	return a->base == b->base && a->size == b->size && a->file_offset == b->file_offset &&
	       a->has_code == b->has_code && (!a->has_code || !memcmp(a->code, b->code, PTL_HASH_SIZE)) &&
	       !strcmp(a->file_name, b->file_name);
}

/*
 * Whether rundown tells of an image that is there already, whole. At the end of a capture it may
 * also tell of what is left of one: an image of that name at that address is enough.
 */
static bool is_there(const struct change *change, const struct ptl_image_event *data, uint8_t opcode)
{
	const struct flow_timeline *timeline = change->timeline;
	const struct flow_image_state *image;
	struct ptl_piece piece;

	if (opcode == PTL_OPCODE_LOAD || !format_pieces_find(&timeline->pieces, change->root, data->base, &piece) ||
	    piece.image == FLOW_NONE)
		return false;
	image = &timeline->images[piece.image];
	if (opcode == PTL_OPCODE_END_RUNDOWN)
		return !strcmp(image->data.data.file_name, data->file_name);
	return image->mapped == data->size && same_image(&image->data.data, data);
}

static int load_image(struct change *change, const struct ptl_image_event *data, uint8_t opcode)
{
	struct flow_timeline *timeline = change->timeline;
	struct ptl_piece piece = {
		.first = data->base,
		.last = data->base + (data->size - 1),
		.blob = data->has_code ? use_blob(timeline, data->code) : FLOW_NONE,
	};
	struct flow_timeline_image image = {
		.process = change->process,
		.start = change->time,
		.end = FLOW_TIME_END,
		.rundown = opcode != PTL_OPCODE_LOAD,
		.data = *data,
	};
	int status;

	if (is_there(change, data, opcode))
		return 0;
	if (data->has_code && piece.blob == FLOW_NONE) {
		status = use_outside(timeline, data, &piece.blob);
		if (status < 0)
			return status;
	}
	status = add_image(timeline, &image, &piece.image);
	if (status < 0)
		return status;
	timeline->has_unnamed_code |= !strcmp(data->file_name, "//anon");
	timeline->images[piece.image].mapped = data->size;
	unmap(change, piece.first, piece.last);
	put_piece(change, piece, data->base);
	return 0;
}

/*
 * Still executable: remembered. No longer: it is code no more. Newly so: an image of what was not
 * known.
 */
static int protect(struct change *change, const struct ptl_image_event *data)
{
	struct flow_timeline *timeline = change->timeline;
	uint64_t last = data->base + (data->size - 1);
	struct ptl_piece piece;
	uint64_t at = data->base;

	if (!(data->protection & PROT_EXEC)) {
		unmap(change, data->base, last);
		return 0;
	}
	if (!format_pieces_any(&timeline->pieces, change->root, data->base, last))
		return load_image(change, data, PTL_OPCODE_LOAD);
	while (format_pieces_at_or_after(&timeline->pieces, change->root, at, &piece) && piece.first <= last) {
		if (piece.image != FLOW_NONE)
			timeline->images[piece.image].data.data.protection = data->protection;
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	return 0;
}

/* An unload that names no size means the image at its base. */
static void unload_image(struct change *change, const struct ptl_image_event *data)
{
	const struct flow_timeline *timeline = change->timeline;
	struct ptl_piece piece;
	uint64_t size = data->size;

	if (!size) {
		if (!format_pieces_find(&timeline->pieces, change->root, data->base, &piece) ||
		    piece.image == FLOW_NONE)
			return;
		size = timeline->images[piece.image].data.data.size;
	}
	unmap(change, data->base, data->base + (size - 1));
}

/* ---- fork -------------------------------------------------------------------------------- */

static int inherit_image(struct change *change, uint32_t parents, uint32_t *index)
{
	struct flow_timeline_image image = change->timeline->images[parents].data;

	image.process = change->process;
	image.start = change->time;
	image.end = FLOW_TIME_END;
	image.rundown = false;
	image.inherited = true;
	return add_image(change->timeline, &image, index);
}

/* The child's image for one of the parent's; images: those that it has already. */
static int find_inherited(struct change *change, struct common_hash_map *images, uint32_t *image)
{
	const uint64_t *known = common_hash_map_get(images, *image);
	uint32_t parents = *image;
	int status;

	if (known) {
		*image = (uint32_t)*known;
		return 0;
	}
	status = inherit_image(change, parents, image);
	return status < 0 ? status : common_hash_map_put(images, parents, *image);
}

static int inherit_piece(struct change *change, struct common_hash_map *images, struct ptl_piece piece)
{
	struct format_pieces *pieces = &change->timeline->pieces;
	int status = 0;

	if (piece.image != FLOW_NONE) {
		status = find_inherited(change, images, &piece.image);
		if (status < 0)
			return status;
		change->timeline->images[piece.image].mapped += piece.last - piece.first + 1;
	}
	format_pieces_put(pieces, &change->root, &piece);
	if (piece.blob != FLOW_NONE && !piece.code_event)
		format_pieces_put(pieces, &change->files, &piece);
	return status;
}

/* The child's address space begins as the parent's was when it forked. */
static int inherit(struct flow_timeline *timeline, uint32_t child, uint32_t root)
{
	struct change change = change_of(timeline, child, timeline->processes[child].data.start);
	struct common_hash_map images = {0}; /* the parent's to the child's */
	struct ptl_piece piece;
	uint64_t at = 0;
	int status = 0;

	while (!status && format_pieces_at_or_after(&timeline->pieces, root, at, &piece)) {
		status = inherit_piece(&change, &images, piece);
		if (piece.last == UINT64_MAX || timeline->pieces.failed)
			break;
		at = piece.last + 1;
	}
	common_hash_map_free(&images);
	return status < 0 ? status : end_change(&change);
}

int flow_timeline_settle_fork(struct flow_timeline *timeline, uint32_t process, bool told)
{
	struct flow_process_state *state = &timeline->processes[process];
	uint32_t root = state->inherited_root;

	state->inherited_root = 0;
	return root && !told ? inherit(timeline, process, root) : 0;
}

int flow_timeline_fork(struct flow_timeline *timeline, uint32_t child, uint32_t parent)
{
	const struct flow_process_state *state;
	int status = flow_timeline_settle_fork(timeline, parent, false);

	state = &timeline->processes[parent];
	if (!status && state->version_count) {
		format_pieces_keep(&timeline->pieces);
		timeline->processes[child].inherited_root = state->versions[state->version_count - 1].root;
	}
	return status;
}

/*
 * A change begins. Changes of one time make one version together; older versions stay as they are.
 * A recorder may tell of all that a forked process has at its start: then nothing is inherited.
 */
static int begin_change(struct flow_timeline *timeline, uint32_t process, uint64_t time, struct change *change)
{
	const struct flow_process_state *state;
	bool told = time == timeline->processes[process].data.start;
	int status = flow_timeline_settle_fork(timeline, process, told);

	*change = change_of(timeline, process, time);
	state = &timeline->processes[process];
	if (state->version_count && state->versions[state->version_count - 1].time != change->time)
		format_pieces_keep(&timeline->pieces);
	return status;
}

/* ---- events ------------------------------------------------------------------------------ */

static int check_range(uint64_t base, uint64_t size)
{
	if (!size || size - 1 > UINT64_MAX - base)
		return common_fail(PTL_CORRUPT, "no memory: %#llx bytes at %#llx", (unsigned long long)size,
				   (unsigned long long)base);
	return 0;
}

int flow_timeline_image_event(struct flow_timeline *timeline, const struct ptl_event *event,
			      const struct ptl_image_event *data)
{
	uint8_t opcode = event->descriptor.opcode;
	struct change change;
	uint32_t process;
	bool rundown;
	int status = 0;

	/* An unload without a size means the image at its base. */
	if (opcode != PTL_OPCODE_UNLOAD || data->size)
		status = check_range(data->base, data->size);
	if (!status)
		status = flow_timeline_need_process(timeline, data->process_id, &process);
	if (status < 0)
		return status;
	/* What was there when the capture began was there a moment earlier, too. */
	rundown = opcode == PTL_OPCODE_START_RUNDOWN && !timeline->processes[process].data.started;
	status = begin_change(timeline, process, rundown ? 0 : event->time, &change);
	if (status < 0)
		return status;
	change.injected = event->flags & PTL_EVENT_INJECTED;
	switch (opcode) {
	case PTL_OPCODE_LOAD:
	case PTL_OPCODE_START_RUNDOWN:
	case PTL_OPCODE_END_RUNDOWN:
		status = load_image(&change, data, opcode);
		break;
	case PTL_OPCODE_UNLOAD:
		unload_image(&change, data);
		break;
	case PTL_OPCODE_PROTECT:
		status = protect(&change, data);
		break;
	default:
		return common_fail(PTL_UNSUPPORTED, "image event with opcode %u", opcode);
	}
	return status < 0 ? status : end_change(&change);
}

/* ---- code -------------------------------------------------------------------------------- */

/* Puts bytes of a blob over what is there, piece by piece so that each keeps its image. */
static void overlay(struct change *change, uint64_t first, uint64_t last, uint32_t blob)
{
	struct format_pieces *pieces = &change->timeline->pieces;
	uint64_t at = first;

	format_pieces_remove(pieces, &change->files, first, last);
	for (;;) {
		struct ptl_piece old;
		struct ptl_piece piece = {
			.first = at,
			.image = FLOW_NONE,
			.blob = blob,
			.code_event = true,
		};

		if (format_pieces_find(pieces, change->root, at, &old))
			piece.image = old.image;
		piece.last = old.last < last ? old.last : last;
		put_piece(change, piece, first);
		if (piece.last == last)
			return;
		at = piece.last + 1;
	}
}

int flow_timeline_code_event(struct flow_timeline *timeline, const struct ptl_event *event,
			     const struct ptl_code_event *data)
{
	struct change change;
	uint32_t process;
	int status = check_range(data->base, data->size);

	if (!status)
		status = flow_timeline_need_process(timeline, data->process_id, &process);
	if (status < 0)
		return status;
	status = begin_change(timeline, process, event->time, &change);
	if (status < 0)
		return status;
	change.injected = event->flags & PTL_EVENT_INJECTED;
	timeline->has_unnamed_code |= !format_pieces_any(&timeline->pieces, change.root, data->base, data->base);
	overlay(&change, data->base, data->base + (data->size - 1), use_blob(timeline, data->code));
	return end_change(&change);
}

/* ---- exec -------------------------------------------------------------------------------- */

int flow_timeline_clear(struct flow_timeline *timeline, uint32_t process, uint64_t time)
{
	struct change change;
	int status = begin_change(timeline, process, time, &change);

	if (status < 0)
		return status;
	unmap(&change, 0, UINT64_MAX);
	return end_change(&change);
}
