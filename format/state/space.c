/* SPDX-License-Identifier: BSD-2-Clause */
/* Images and code as of now: which load, and which written code, each address shows. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "format/state/state_internal.h"
#include "common/vector.h"

/* ---- layers ---------------------------------------------------------------------------------- */

static int add_layer(struct ptl_state *state, const struct format_state_layer *layer, uint32_t *index)
{
	if (state->free_layer != FORMAT_STATE_NONE) {
		*index = state->free_layer;
		state->free_layer = (uint32_t)state->layers[*index].place;
	} else {
		if (state->layer_count >= FORMAT_STATE_NONE ||
		    !common_vector_room(&state->layers, state->layer_count, sizeof(*layer)))
			return common_fail_memory("images", state->layer_count * sizeof(*layer));
		*index = (uint32_t)state->layer_count++;
	}
	state->layers[*index] = *layer;
	return 0;
}

/* Bytes of a layer show no more; one without any is gone. */
static void hide(struct ptl_state *state, uint32_t index, uint64_t bytes)
{
	struct format_state_layer *layer;

	if (index == FORMAT_STATE_NONE)
		return;
	layer = &state->layers[index];
	layer->mapped -= bytes;
	if (layer->mapped)
		return;
	*layer = (struct format_state_layer){.place = state->free_layer};
	state->free_layer = index;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void unmap(struct ptl_state *state, struct format_state_space *space, uint64_t first, uint64_t last)
{
	struct ptl_piece piece;
	uint64_t at = first;

	while (format_pieces_at_or_after(&state->pieces, space->root, at, &piece) && piece.first <= last) {
		const uint64_t from = piece.first < first ? first : piece.first;
		const uint64_t to = piece.last > last ? last : piece.last;

		hide(state, piece.image, to - from + 1);
		hide(state, piece.blob, to - from + 1);
		if (to == last)
			break;
		at = to + 1;
	}
	format_pieces_remove(&state->pieces, &space->root, first, last);
}

void format_state_space_clear(struct ptl_state *state, struct format_state_space *space)
{
	unmap(state, space, 0, UINT64_MAX);
}

int format_state_decide(struct ptl_state *state, struct format_state_member *member)
{
	if (!member->space.inherited)
		return 0;
	member->space.inherited = false;
	return state->inherit ? state->inherit(state->inherit_context, state, member->pid, member->start) : 0;
}

/* Something new is told of the process. A recorder may tell of all that a forked one has at its start. */
static int begin_change(struct ptl_state *state, struct format_state_member *member, uint64_t time)
{
	struct format_state_space *space = &member->space;

	space->touched = true;
	if (!space->inherited)
		return 0;
	if (time != member->start)
		return format_state_decide(state, member);
	space->inherited = false;
	format_state_space_clear(state, space);
	return 0;
}

int format_state_settle(struct ptl_state *state, uint64_t time)
{
	uint32_t *undecided = state->undecided;
	const size_t count = state->undecided_count;
	int status = 0;

	if (!count || time <= state->undecided_time)
		return 0;
	/* Whoever is called may ask for rundown, which settles, too. */
	state->undecided = NULL;
	state->undecided_count = 0;
	for (size_t i = 0; i < count && !status; i++) {
		struct format_state_member *member = format_state_member(state, undecided[i]);

		if (member)
			status = format_state_decide(state, member);
	}
	free(undecided);
	return status;
}

int format_state_space_exec(struct ptl_state *state, struct format_state_member *member, uint64_t time)
{
	int status = begin_change(state, member, time);

	if (!status)
		format_state_space_clear(state, &member->space);
	return status;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The child's layer for one of the parent's; copies: those that it has already. */
static int copy_layer(struct ptl_state *state, struct common_hash_map *copies, uint32_t *index, uint64_t bytes)
{
	const uint64_t *known;
	struct format_state_layer layer;
	uint32_t parents = *index;
	int status = 0;

	if (parents == FORMAT_STATE_NONE)
		return 0;
	known = common_hash_map_get(copies, parents);
	if (known) {
		*index = (uint32_t)*known;
	} else {
		layer = state->layers[parents];
		layer.mapped = 0;
		status = add_layer(state, &layer, index);
		if (!status)
			status = common_hash_map_put(copies, parents, *index);
	}
	if (!status)
		state->layers[*index].mapped += bytes;
	return status;
}

int format_state_space_copy(struct ptl_state *state, const struct format_state_space *parent,
			    struct format_state_space *child)
{
	struct common_hash_map copies = {0};
	struct ptl_piece piece;
	uint64_t at = 0;
	int status = 0;

	while (!status && format_pieces_at_or_after(&state->pieces, parent->root, at, &piece)) {
		const uint64_t bytes = piece.last - piece.first + 1;

		status = copy_layer(state, &copies, &piece.image, bytes);
		if (!status)
			status = copy_layer(state, &copies, &piece.blob, bytes);
		if (!status)
			format_pieces_put(&state->pieces, &child->root, &piece);
		if (piece.last == UINT64_MAX || state->pieces.failed)
			break;
		at = piece.last + 1;
	}
	common_hash_map_free(&copies);
	return status;
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool same_image(const struct ptl_image_event *a, const struct ptl_image_event *b)
{
	return a->base == b->base && a->size == b->size && a->file_offset == b->file_offset &&
	       a->has_code == b->has_code && (!a->has_code || !memcmp(a->code, b->code, PTL_HASH_SIZE)) &&
	       !strcmp(a->file_name, b->file_name);
}

/* Whether rundown tells of an image that is there already; at the end it may tell of what is left of one. */
static int find_told(struct ptl_state *state, const struct format_state_space *space,
		     const struct ptl_image_event *data, uint8_t opcode, bool *there)
{
	const struct format_state_layer *layer;
	struct ptl_image_event image;
	struct ptl_bytes bytes = {0};
	struct ptl_piece piece;
	int status;

	*there = false;
	if (opcode == PTL_OPCODE_LOAD || !format_pieces_find(&state->pieces, space->root, data->base, &piece) ||
	    piece.image == FORMAT_STATE_NONE)
		return 0;
	layer = &state->layers[piece.image];
	status = format_state_get_image(state, layer, &bytes, &image);
	if (!status && opcode == PTL_OPCODE_END_RUNDOWN)
		*there = !strcmp(image.file_name, data->file_name);
	else if (!status)
		*there = layer->mapped == data->size && same_image(&image, data);
	common_bytes_free(&bytes);
	return status;
}

static int load(struct ptl_state *state, struct format_state_space *space, const struct ptl_image_event *data,
		uint8_t opcode)
{
	struct ptl_piece piece = {
		.first = data->base, .last = data->base + (data->size - 1), .blob = FORMAT_STATE_NONE};
	struct format_state_layer layer = {
		.base = data->base, .size = data->size, .mapped = data->size, .protection = data->protection};
	bool there;
	int status = find_told(state, space, data, opcode, &there);

	if (status || there)
		return status;
	status = format_state_put_image(state, data, &layer);
	layer.sequence = state->sequence++;
	if (!status)
		status = add_layer(state, &layer, &piece.image);
	if (status)
		return status;
	unmap(state, space, piece.first, piece.last);
	format_pieces_put(&state->pieces, &space->root, &piece);
	return 0;
}

/* Still executable: remembered. No longer: it is code no more. Newly so: an image of what was not known. */
static int protect(struct ptl_state *state, struct format_state_space *space, const struct ptl_image_event *data)
{
	const uint64_t last = data->base + (data->size - 1);
	struct ptl_piece piece;
	uint64_t at = data->base;

	if (!(data->protection & PROT_EXEC)) {
		unmap(state, space, data->base, last);
		return 0;
	}
	if (!format_pieces_any(&state->pieces, space->root, data->base, last))
		return load(state, space, data, PTL_OPCODE_LOAD);
	while (format_pieces_at_or_after(&state->pieces, space->root, at, &piece) && piece.first <= last) {
		if (piece.image != FORMAT_STATE_NONE)
			state->layers[piece.image].protection = data->protection;
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	return 0;
}

/* An unload that names no size means the image at its base. */
static void unload(struct ptl_state *state, struct format_state_space *space, const struct ptl_image_event *data)
{
	struct ptl_piece piece;
	uint64_t size = data->size;

	if (!size) {
		if (!format_pieces_find(&state->pieces, space->root, data->base, &piece) ||
		    piece.image == FORMAT_STATE_NONE)
			return;
		size = state->layers[piece.image].size;
		if (size - 1 > UINT64_MAX - data->base)
			size = UINT64_MAX - data->base + 1;
	}
	unmap(state, space, data->base, data->base + (size - 1));
}

static int check_range(uint64_t base, uint64_t size)
{
	if (!size || size - 1 > UINT64_MAX - base)
		return common_fail(PTL_CORRUPT, "no memory: %#llx bytes at %#llx", (unsigned long long)size,
				   (unsigned long long)base);
	return 0;
}

static bool is_known(uint8_t opcode)
{
	return opcode == PTL_OPCODE_LOAD || opcode == PTL_OPCODE_START_RUNDOWN || opcode == PTL_OPCODE_END_RUNDOWN ||
	       opcode == PTL_OPCODE_UNLOAD || opcode == PTL_OPCODE_PROTECT;
}

int format_state_image(struct ptl_state *state, const struct ptl_event *event, const struct ptl_image_event *data)
{
	const uint8_t opcode = event->descriptor.opcode;
	struct format_state_member *member = NULL;
	int status = 0;

	if (!is_known(opcode))
		return common_fail(PTL_UNSUPPORTED, "image event with opcode %u", opcode);
	if (opcode != PTL_OPCODE_UNLOAD || data->size)
		status = check_range(data->base, data->size);
	if (!status)
		status = format_state_need(state, data->process_id, &member);
	if (status || !member)
		return status;
	status = begin_change(state, member, event->time);
	if (status)
		return status;
	if (opcode == PTL_OPCODE_UNLOAD)
		unload(state, &member->space, data);
	else if (opcode == PTL_OPCODE_PROTECT)
		status = protect(state, &member->space, data);
	else
		status = load(state, &member->space, data, opcode);
	return status;
}

/* What was told of an image stays at hand: who looks for one often looks for it again. */
static const struct ptl_image_event *show(struct ptl_state *state, uint32_t pid, uint32_t index)
{
	const struct format_state_layer *layer = &state->layers[index];
	struct format_state_shown **place = &state->shown[index % FORMAT_STATE_SHOWN], *shown;

	if (!*place)
		*place = calloc(1, sizeof(**place));
	shown = *place;
	if (!shown)
		return NULL;
	if (shown->layer != index || shown->sequence != layer->sequence || !shown->bytes.size) {
		shown->bytes.size = 0;
		if (format_state_get_image(state, layer, &shown->bytes, &shown->image)) {
			shown->bytes.size = 0;
			return NULL;
		}
		shown->layer = index;
		shown->sequence = layer->sequence;
	}
	shown->image.protection = layer->protection;
	shown->image.process_id = pid;
	return &shown->image;
}

const struct ptl_image_event *ptl_state_find_image(struct ptl_state *state, uint32_t pid, uint64_t first, uint64_t last)
{
	const struct format_state_member *member = format_state_member(state, pid);
	struct ptl_piece piece;
	uint64_t at = first;

	while (member && format_pieces_at_or_after(&state->pieces, member->space.root, at, &piece) &&
	       piece.first <= last) {
		if (piece.image != FORMAT_STATE_NONE)
			return show(state, pid, piece.image);
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	return NULL;
}

/* ---- code ------------------------------------------------------------------------------------ */

int format_state_code(struct ptl_state *state, const struct ptl_event *event, const struct ptl_code_event *data)
{
	struct format_state_layer layer = {
		.is_code = true, .base = data->base, .size = data->size, .mapped = data->size};
	struct format_state_member *member = NULL;
	const uint64_t last = data->base + (data->size - 1);
	uint64_t at = data->base;
	uint32_t index;
	int status = check_range(data->base, data->size);

	if (!status)
		status = format_state_need(state, data->process_id, &member);
	if (status || !member)
		return status;
	status = begin_change(state, member, event->time);
	layer.sequence = state->sequence++;
	if (!status)
		status = format_state_put_code(state, data, &layer);
	if (!status)
		status = add_layer(state, &layer, &index);
	/* It lies over what is there, piece by piece so that each keeps its image. */
	while (!status && !state->pieces.failed) {
		struct ptl_piece old, piece = {.first = at, .image = FORMAT_STATE_NONE, .blob = index};
		const bool found = format_pieces_find(&state->pieces, member->space.root, at, &old);

		piece.last = old.last < last ? old.last : last;
		if (found) {
			piece.image = old.image;
			hide(state, old.blob, piece.last - piece.first + 1);
		}
		format_pieces_put(&state->pieces, &member->space.root, &piece);
		if (piece.last == last)
			break;
		at = piece.last + 1;
	}
	return status;
}
