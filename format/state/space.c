/* SPDX-License-Identifier: BSD-2-Clause */
/* Current images and code: for each address, the load and the written code that are visible. */
#include <stdlib.h>

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

/* Hides bytes of a layer. A layer without visible bytes is freed. */
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

static void hides(void *context, const struct format_piece *piece, uint64_t bytes)
{
	hide(context, piece->image, bytes);
	hide(context, piece->blob, bytes);
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* Replaces a parent's layer by the child's copy. copies: layers already copied. */
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

static int copies(void *context, struct format_fold_process *process, struct format_piece *piece,
		  struct common_hash_map *copies)
{
	const uint64_t bytes = piece->last - piece->first + 1;
	const int status = copy_layer(context, copies, &piece->image, bytes);

	(void)process;
	return status ? status : copy_layer(context, copies, &piece->blob, bytes);
}

/* Copies at the fork: the parent's mappings may change before the inheritance is decided. */
static int forks(void *context, struct format_fold_process *process, const struct format_fold_process *parent)
{
	struct ptl_state *state = context;

	return format_fold_copy(&state->fold, parent->root, process);
}

static int inherits(void *context, struct format_fold_process *process)
{
	struct ptl_state *state = context;

	return state->inherit ? state->inherit(state->inherit_context, state, process->pid, process->start) : 0;
}

static void disinherits(void *context, struct format_fold_process *process)
{
	struct ptl_state *state = context;

	format_fold_unmap(&state->fold, process, 0, UINT64_MAX);
}

/* ---- images ---------------------------------------------------------------------------------- */

static int image(void *context, uint32_t image, const struct ptl_image_event **data, uint64_t *mapped)
{
	struct ptl_state *state = context;
	const struct format_state_layer *layer = &state->layers[image];

	*data = &state->returned_image;
	*mapped = layer->mapped;
	return format_state_get_image(state, layer, &state->returned_image_bytes, &state->returned_image);
}

static int loads(void *context, struct format_fold_process *process, const struct ptl_image_event *data,
		 enum format_action action, struct format_piece *piece)
{
	struct ptl_state *state = context;
	struct format_state_layer layer = {
		.base = data->base, .size = data->size, .mapped = data->size, .protection = data->protection};
	const int status = format_state_put_image(state, data, &layer);

	(void)process;
	(void)action;
	layer.sequence = state->sequence++;
	return status ? status : add_layer(state, &layer, &piece->image);
}

static void maps(void *context, struct format_fold_process *process, const struct format_piece *piece, uint64_t base)
{
	struct ptl_state *state = context;

	(void)base;
	format_pieces_put(&state->fold.pieces, &process->root, piece);
}

static void protects(void *context, uint32_t image, uint32_t protection)
{
	struct ptl_state *state = context;

	state->layers[image].protection = protection;
}

/* Returns an image, and caches its decoded properties, as callers often ask for the same image again. */
static const struct ptl_image_event *decode_image(struct ptl_state *state, uint32_t pid, uint32_t index)
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
	struct format_piece piece;
	uint64_t at = first;

	while (member && format_pieces_at_or_after(&state->fold.pieces, member->fold.root, at, &piece) &&
	       piece.first <= last) {
		if (piece.image != FORMAT_STATE_NONE)
			return decode_image(state, pid, piece.image);
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	return NULL;
}

/* ---- code ------------------------------------------------------------------------------------ */

static int writes(void *context, struct format_fold_process *process, const struct ptl_code_event *data,
		  struct format_piece *piece)
{
	struct ptl_state *state = context;
	struct format_state_layer layer = {
		.is_code = true, .base = data->base, .size = data->size, .mapped = data->size};
	const int status = format_state_put_code(state, data, &layer);

	(void)process;
	layer.sequence = state->sequence++;
	return status ? status : add_layer(state, &layer, &piece->blob);
}

const struct format_fold_spaces format_state_spaces = {
	.forks = forks,
	.inherits = inherits,
	.disinherits = disinherits,
	.copies = copies,
	.image = image,
	.loads = loads,
	.writes = writes,
	.maps = maps,
	.hides = hides,
	.protects = protects,
};
