/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes the reported properties of images and code, except their addresses, for the store. */
#include <stdlib.h>

#include "common/error.h"
#include "format/state/state_internal.h"

#define SWEEP_FIRST ((uint64_t)16 << 20)

enum { HAS_CODE = 1, HAS_SYMBOLS = 2, HAS_DEBUG = 4 };

static int put_image(struct ptl_state *state, struct format_state_layer *layer)
{
	if (state->reported.failed) {
		state->reported.failed = false;
		return common_fail_memory("an image", state->reported.size);
	}
	return format_store_put(&state->store, state->reported.data, state->reported.size, &layer->place);
}

int format_state_put_image(struct ptl_state *state, const struct ptl_image_event *image,
			   struct format_state_layer *layer)
{
	struct ptl_bytes *out = &state->reported;
	const uint64_t numbers[] = {
		image->time_date_stamp,
		image->default_base,
		image->file_offset,
		image->device_major,
		image->device_minor,
		image->inode,
		(image->has_code ? HAS_CODE : 0u) | (image->has_symbols ? HAS_SYMBOLS : 0u) |
			(image->has_debug ? HAS_DEBUG : 0u),
		image->build_id_size,
	};

	out->size = 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		common_write_varint(out, numbers[i]);
	common_write_bytes(out, image->build_id, image->build_id_size);
	if (image->has_code)
		common_write_bytes(out, image->code, PTL_HASH_SIZE);
	if (image->has_symbols)
		common_write_bytes(out, image->symbols, PTL_HASH_SIZE);
	if (image->has_debug)
		common_write_bytes(out, image->debug, PTL_HASH_SIZE);
	common_write_bytes(out, image->file_name, strlen(image->file_name) + 1);
	return put_image(state, layer);
}

int format_state_put_code(struct ptl_state *state, const struct ptl_code_event *code, struct format_state_layer *layer)
{
	state->reported.size = 0;
	common_write_bytes(&state->reported, code->code, PTL_HASH_SIZE);
	return put_image(state, layer);
}

static void take_hash(struct common_cursor *in, bool has, uint8_t hash[PTL_HASH_SIZE])
{
	const uint8_t *bytes = has ? common_read_bytes(in, PTL_HASH_SIZE) : NULL;

	if (bytes)
		memcpy(hash, bytes, PTL_HASH_SIZE);
}

int format_state_get_image(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			   struct ptl_image_event *image)
{
	const int status = format_store_get(&state->store, layer->place, bytes);
	struct common_cursor in = common_cursor(bytes->data, bytes->size);
	const uint8_t *build_id;
	uint64_t has;

	*image = (struct ptl_image_event){
		.base = layer->base, .size = layer->size, .protection = layer->protection, .file_name = ""};
	if (status)
		return status;
	image->time_date_stamp = (uint32_t)common_read_varint(&in);
	image->default_base = common_read_varint(&in);
	image->file_offset = common_read_varint(&in);
	image->device_major = (uint32_t)common_read_varint(&in);
	image->device_minor = (uint32_t)common_read_varint(&in);
	image->inode = common_read_varint(&in);
	has = common_read_varint(&in);
	image->build_id_size = common_read_varint(&in);
	build_id = common_read_bytes(&in, image->build_id_size);
	if (build_id)
		memcpy(image->build_id, build_id, image->build_id_size);
	image->has_code = has & HAS_CODE;
	image->has_symbols = has & HAS_SYMBOLS;
	image->has_debug = has & HAS_DEBUG;
	take_hash(&in, image->has_code, image->code);
	take_hash(&in, image->has_symbols, image->symbols);
	take_hash(&in, image->has_debug, image->debug);
	image->file_name = (const char *)in.data + in.at;
	return 0;
}

int format_state_get_code(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			  struct ptl_code_event *code)
{
	const int status = format_store_get(&state->store, layer->place, bytes);
	struct common_cursor in = common_cursor(bytes->data, bytes->size);

	*code = (struct ptl_code_event){.base = layer->base, .size = layer->size};
	take_hash(&in, !status, code->code);
	return status;
}

static int leave_out(struct ptl_state *state)
{
	struct format_store kept = {0};
	int status = 0;

	for (size_t i = 0; i < state->layer_count && !status; i++) {
		struct format_state_layer *layer = &state->layers[i];

		if (!layer->mapped)
			continue;
		status = format_store_get(&state->store, layer->place, &state->reported);
		if (!status)
			status = format_store_put(&kept, state->reported.data, state->reported.size, &layer->place);
	}
	/* A failure makes the state unusable. */
	format_store_free(&state->store);
	state->store = kept;
	state->sweep_at = SWEEP_FIRST + 2 * format_store_size(&kept);
	return status;
}

/* Called after each event. The store is large, so an empty store is not allocated without need. */
int format_state_sweep(struct ptl_state *state)
{
	if (!state->sweep_at)
		state->sweep_at = SWEEP_FIRST;
	return format_store_size(&state->store) < state->sweep_at ? 0 : leave_out(state);
}

/* Bytes of a row, including its place in the row index. */
#define ROW(thing) (sizeof(thing) + 12)
#define NODE_BYTES 56
#define ENDED_BYTES 48

int format_state_budget(struct ptl_state *state)
{
	const struct {
		const char *what;
		size_t number, bytes;
	} parts[] = {
		{"processes that live", state->count, state->count * ROW(*state->members) + state->text_bytes},
		{"threads that live", state->thread_count, state->thread_count * ROW(*state->threads)},
		/* rundown lists them */
		{"images and pieces of code that are mapped", state->layer_count,
		 state->layer_count * (sizeof(*state->layers) + 4) + (size_t)state->fold.pieces.count * NODE_BYTES +
			 state->store.recent.capacity},
		{"processes that have ended", state->ended.used, state->ended.used * ENDED_BYTES},
	};
	size_t bytes = 0, most = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bytes += parts[i].bytes;
		most = parts[i].bytes > parts[most].bytes ? i : most;
	}
	if (bytes <= state->memory_budget.bytes)
		return 0;
	/* Reserved in steps, as the tables grow in steps, too. */
	bytes += bytes / 16;
	return common_memory_budget_take(&state->memory_budget, bytes - state->memory_budget.bytes, parts[most].what,
					 parts[most].number + 1);
}
