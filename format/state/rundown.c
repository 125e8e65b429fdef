/* SPDX-License-Identifier: BSD-2-Clause */
/* Describes a state by events: a reader that folds the events reaches the same state. */
#include <stdlib.h>

#include "common/error.h"
#include "common/structure.h"
#include "format/state/state_internal.h"
#include "common/vector.h"

/* Rundown of one process in progress. */
struct teller {
	struct ptl_state *state;
	const struct ptl_rundown *rundown;
	const struct format_state_member *member;
	uint32_t *layers; /* all visible layers, in order of their sequence */
	size_t layer_count;
	/*
	 * The reader's address space after the images and unloads reported so far. A piece only shows that an image was
	 * reported.
	 */
	struct format_pieces reported;
	uint32_t reported_root;
	bool unloads; /* a range is pending to be reported as unloaded */
	uint64_t unload_first, unload_last;
	struct ptl_bytes storage;
	struct ptl_bytes bytes; /* reported properties of a layer */
};

static int give_rundown_event(struct teller *teller, int status, struct ptl_event *event, uint32_t tid)
{
	if (!status) {
		event->time = teller->rundown->time;
		event->cpu = PTL_NO_CPU;
		event->pid = teller->member->fold.pid;
		event->tid = tid;
		event->flags = PTL_EVENT_INJECTED;
		status = teller->rundown->take(teller->rundown->context, event);
	}
	teller->storage.size = 0;
	return status;
}

/* ---- processes and threads ------------------------------------------------------------------- */

static int report_process(struct teller *teller)
{
	const struct format_state_member *member = teller->member;
	const struct ptl_process_event data = {
		.unique_key = member->fold.unique_key,
		.process_id = member->fold.pid,
		.parent_id = member->parent_id,
		.image_file_name = member->program->text,
		.command_line = member->command_line->text,
	};
	struct ptl_event event = {0};

	if (member->fold.implied)
		return 0;
	return give_rundown_event(teller, ptl_process_encode(&data, teller->rundown->opcode, &teller->storage, &event),
				  &event, PTL_NO_ID);
}

static int report_threads(struct teller *teller)
{
	const struct format_state_member *member = teller->member;
	int status = 0;

	for (uint32_t number = member->first_thread; number && !status;) {
		const struct format_state_thread *thread = &teller->state->threads[number - 1];
		const struct ptl_thread_event data = {
			.process_id = member->fold.pid,
			.thread_id = thread->key.tid,
			.start_address = thread->start_address,
			.name = thread->name->text,
		};
		struct ptl_event event = {0};

		number = thread->next;

		status = give_rundown_event(teller,
					    ptl_thread_encode(&data, teller->rundown->opcode, &teller->storage, &event),
					    &event, data.thread_id);
	}
	return status;
}

/* ---- images and code ------------------------------------------------------------------------- */

/* Returns the piece that contains `at`, or the next piece; false if neither exists. */
static bool next_piece(const struct teller *teller, uint64_t at, struct format_piece *piece)
{
	return format_pieces_at_or_after(&teller->state->fold.pieces, teller->member->fold.root, at, piece);
}

/* Reports the pending unload. */
static int flush_unload(struct teller *teller)
{
	const struct ptl_image_event data = {
		.base = teller->unload_first,
		.size = teller->unload_last - teller->unload_first + 1,
		.process_id = teller->member->fold.pid,
		.file_name = "",
	};
	struct ptl_event event = {0};

	if (!teller->unloads)
		return 0;
	teller->unloads = false;
	return give_rundown_event(teller, ptl_image_encode(&data, PTL_OPCODE_UNLOAD, &teller->storage, &event), &event,
				  PTL_NO_ID);
}

/* Adds a range to the pending unload; adjacent ranges are reported together. */
static int add_unload(struct teller *teller, uint64_t first, uint64_t last)
{
	int status = 0;

	if (teller->unloads && first == teller->unload_last + 1) {
		teller->unload_last = last;
		return 0;
	}
	status = flush_unload(teller);
	teller->unloads = true;
	teller->unload_first = first;
	teller->unload_last = last;
	return status;
}

/* Unloads what was reported in the range. */
static int unload_reported(struct teller *teller, uint64_t first, uint64_t last)
{
	struct format_piece piece;
	uint64_t at = first;
	int status = 0;

	while (!status && format_pieces_at_or_after(&teller->reported, teller->reported_root, at, &piece) &&
	       piece.first <= last) {
		const uint64_t from = piece.first < first ? first : piece.first;
		const uint64_t to = piece.last > last ? last : piece.last;

		status = add_unload(teller, from, to);
		format_pieces_remove(&teller->reported, &teller->reported_root, from, to);
		if (to == last)
			break;
		at = to + 1;
	}
	return status;
}

/* Reports an image. A completely visible image needs no later unload, so it is not added to `reported`. */
static int report_image(struct teller *teller, const struct format_state_layer *layer)
{
	const struct format_piece piece = {.first = layer->base, .last = layer->base + (layer->size - 1)};
	struct ptl_image_event data;
	struct ptl_event event = {0};
	int status = format_state_get_image(teller->state, layer, &teller->bytes, &data);

	if (status)
		return status;
	/* A fork may have copied the image from another process. */
	data.process_id = teller->member->fold.pid;
	if (layer->mapped != layer->size)
		format_pieces_put(&teller->reported, &teller->reported_root, &piece);
	return give_rundown_event(teller, ptl_image_encode(&data, teller->rundown->opcode, &teller->storage, &event),
				  &event, PTL_NO_ID);
}

/* Reports code. Where the code is visible without an image, reported images are unloaded first. */
static int report_code(struct teller *teller, uint32_t index)
{
	const struct format_state_layer *layer = &teller->state->layers[index];
	const uint64_t last = layer->base + (layer->size - 1);
	struct ptl_code_event data;
	struct ptl_event event = {0};
	struct format_piece piece;
	uint64_t at = layer->base > teller->rundown->first ? layer->base : teller->rundown->first;
	int status = format_state_get_code(teller->state, layer, &teller->bytes, &data);

	while (!status && next_piece(teller, at, &piece) && piece.first <= last &&
	       piece.first <= teller->rundown->last) {
		if (piece.blob == index && piece.image == FORMAT_STATE_NONE)
			status = unload_reported(teller, piece.first, piece.last);
		if (piece.last >= last)
			break;
		at = piece.last + 1;
	}
	if (!status)
		status = flush_unload(teller);
	if (status)
		return status;
	data.process_id = teller->member->fold.pid;
	return give_rundown_event(teller, ptl_code_encode(&data, &teller->storage, &event), &event, PTL_NO_ID);
}

/* Unloads what the layers cover without being visible, including reported code. */
static int unload_holes(struct teller *teller)
{
	const uint64_t last = teller->rundown->last;
	uint64_t at = teller->rundown->first;
	int status = 0;

	for (size_t i = 0; i < teller->layer_count; i++) {
		const struct format_state_layer *layer = &teller->state->layers[teller->layers[i]];
		const struct format_piece piece = {.first = layer->base, .last = layer->base + (layer->size - 1)};

		if (layer->is_code)
			format_pieces_put(&teller->reported, &teller->reported_root, &piece);
	}
	for (;;) {
		struct format_piece piece;
		const bool found = next_piece(teller, at, &piece);

		if (!found || piece.first > last)
			return unload_reported(teller, at, last);
		if (piece.first > at)
			status = unload_reported(teller, at, piece.first - 1);
		if (status || piece.last >= last)
			return status;
		at = piece.last + 1;
	}
}

static int compare_layers(const void *a, const void *b, void *context)
{
	const struct ptl_state *state = context;
	const uint64_t left = state->layers[*(const uint32_t *)a].sequence;
	const uint64_t right = state->layers[*(const uint32_t *)b].sequence;

	return left < right ? -1 : left > right;
}

static int note_layer(struct teller *teller, uint32_t index)
{
	struct format_state_layer *layer = &teller->state->layers[index];

	if (index == FORMAT_STATE_NONE || layer->noted)
		return 0;
	if (!common_vector_room(&teller->layers, teller->layer_count, sizeof(index)))
		return common_fail_memory("images", teller->layer_count * sizeof(index));
	teller->layers[teller->layer_count++] = index;
	layer->noted = true;
	return 0;
}

static int list_layers(struct teller *teller)
{
	struct format_piece piece;
	uint64_t at = teller->rundown->first;
	int status = 0;

	while (!status && next_piece(teller, at, &piece) && piece.first <= teller->rundown->last) {
		status = note_layer(teller, piece.image);
		if (!status)
			status = note_layer(teller, piece.blob);
		if (piece.last >= teller->rundown->last)
			break;
		at = piece.last + 1;
	}
	for (size_t i = 0; i < teller->layer_count; i++)
		teller->state->layers[teller->layers[i]].noted = false;
	if (teller->layer_count)
		qsort_r(teller->layers, teller->layer_count, sizeof(*teller->layers), compare_layers, teller->state);
	return status;
}

/*
 * Reports what exists at the end: each image whose start is visible. The reader knows the state, and the events change
 * nothing.
 */
static int report_last(struct teller *teller)
{
	int status = list_layers(teller);

	for (size_t i = 0; i < teller->layer_count && !status; i++) {
		const struct format_state_layer *layer = &teller->state->layers[teller->layers[i]];
		struct format_piece piece;

		if (!layer->is_code && next_piece(teller, layer->base, &piece) && piece.first <= layer->base &&
		    piece.image == teller->layers[i])
			status = report_image(teller, layer);
	}
	if (!status && teller->reported.failed)
		status = common_fail_memory("address spaces", 0);
	return status;
}

/*
 * Reports whole layers in order. Each byte then shows the last layer that covers it, as in the state; ranges unloaded
 * since are unloaded at the end.
 */
static int report_space(struct teller *teller)
{
	int status = list_layers(teller);

	for (size_t i = 0; i < teller->layer_count && !status; i++) {
		const struct format_state_layer *layer = &teller->state->layers[teller->layers[i]];

		status = layer->is_code ? report_code(teller, teller->layers[i]) : report_image(teller, layer);
	}
	if (!status)
		status = unload_holes(teller);
	if (!status)
		status = flush_unload(teller);
	if (!status && teller->reported.failed)
		status = common_fail_memory("address spaces", 0);
	return status;
}

static int report_member(struct ptl_state *state, const struct ptl_rundown *rundown,
			 const struct format_state_member *member)
{
	struct teller teller = {.state = state, .rundown = rundown, .member = member};
	int status = 0;

	if (rundown->opcode != PTL_OPCODE_LOAD) {
		status = report_process(&teller);
		if (!status)
			status = report_threads(&teller);
	}
	if (!status)
		status = rundown->opcode == PTL_OPCODE_END_RUNDOWN ? report_last(&teller) : report_space(&teller);
	free(teller.layers);
	format_pieces_free(&teller.reported);
	common_bytes_free(&teller.storage);
	common_bytes_free(&teller.bytes);
	return status;
}

int ptl_state_rundown(struct ptl_state *state, const struct ptl_rundown *rundown)
{
	struct ptl_rundown taken;
	int status = common_structure_take("ptl_rundown", rundown, &taken, sizeof(taken));

	if (!taken.last)
		taken.last = UINT64_MAX;
	if (!status)
		status = format_fold_settle(&state->fold, UINT64_MAX);
	if (!status && taken.pid != PTL_NO_ID) {
		const struct format_state_member *member = format_state_member(state, taken.pid);

		return member ? report_member(state, &taken, member) : 0;
	}
	for (size_t i = 0; i < state->count && !status; i++)
		if (!state->members[i].fold.ended)
			status = report_member(state, &taken, &state->members[i]);
	return status;
}
