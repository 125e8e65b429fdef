/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes and reads transfers. Numbers of functions differ between programs that decode, so a place is written as image
 * and address, and its function is looked up again.
 */
#include "analysis/call/call_shard.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "flow/view/shard.h"

/* The key of a shape, without padding. Transfers with equal keys have one shape. */
struct shape {
	uint64_t to, address;
	uint32_t image, process;
	uint8_t kind, flags, named, zero;
	uint16_t function_flags, zeros;
};
_Static_assert(sizeof(struct shape) == 32, "a key without padding");

void analysis_call_shapes_free(struct analysis_call_shapes *shapes)
{
	common_byte_map_free(&shapes->numbers);
	free(shapes->cache);
}

void analysis_call_shapes_read_free(struct analysis_call_shapes_read *shapes)
{
	free(shapes->list);
	*shapes = (struct analysis_call_shapes_read){0};
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void write_image(struct ptl_bytes *record, uint32_t image)
{
	common_write_varint(record, image == FLOW_NONE ? 0 : (uint64_t)image + 1);
}

/* Returns the cache entry for the transfer's shape. */
static struct analysis_call_shape_cached *find_cached(const struct analysis_call_shapes *shapes,
						      const struct analysis_transfer *transfer)
{
	const uint64_t key = transfer->to ^ transfer->address << 20 ^ transfer->kind;

	return &shapes->cache[common_hash_mix(key) >> 40 & (ANALYSIS_CALL_SHAPES_CACHE - 1)];
}

static bool is_cached(const struct analysis_call_shape_cached *cached, const struct analysis_transfer *transfer,
		      uint32_t process)
{
	const struct analysis_transfer *own = &cached->transfer;

	return cached->number && own->to == transfer->to && own->address == transfer->address &&
	       own->function == transfer->function && own->image == transfer->image && own->kind == transfer->kind &&
	       own->flags == transfer->flags && own->function_flags == transfer->function_flags &&
	       cached->process == process;
}

/* Writes the number of the shape; a new shape is followed by its definition. */
static int write_shape(struct analysis_call_shapes *shapes, const struct flow_segment *segment,
		       const struct analysis_transfer *transfer, struct ptl_bytes *record, uint32_t *number)
{
	const struct shape shape = {
		.to = transfer->to,
		.address = transfer->address,
		.image = transfer->image,
		.process = segment->process,
		.kind = transfer->kind,
		.flags = transfer->flags,
		.named = transfer->function != ANALYSIS_NO_FUNCTION,
		.function_flags = transfer->function_flags,
	};
	const uint64_t *known = common_byte_map_get(&shapes->numbers, &shape, sizeof(shape));

	if (known) {
		*number = (uint32_t)*known;
		common_write_varint(record, *known);
		return 0;
	}
	*number = (uint32_t)shapes->numbers.used;
	common_write_varint(record, shapes->numbers.used);
	common_write_varint(record, shape.to);
	common_write_varint(record, shape.address);
	write_image(record, shape.image);
	common_write_le(record, shape.kind, 1);
	common_write_le(record, shape.flags, 1);
	common_write_le(record, shape.named, 1);
	common_write_varint(record, shape.function_flags);
	return common_byte_map_put(&shapes->numbers, &shape, sizeof(shape), shapes->numbers.used);
}

/* Writes the state of the flow at the end of the segment. */
static void write_tracker(const struct analysis_tracker *tracker, struct ptl_bytes *record)
{
	const struct analysis_leaving *leaving = &tracker->leaving;
	const struct analysis_first *first = &tracker->first;

	common_write_le(record, tracker->placed, 1);
	common_write_varint(record, tracker->place.first);
	write_image(record, tracker->place.image);
	common_write_le(record, leaving->valid, 1);
	common_write_varint(record, leaving->behind);
	common_write_varint(record, leaving->branch);
	common_write_varint(record, tracker->instructions);
	common_write_varint(record, tracker->time);
	common_write_le(record, first->valid, 1);
	if (!first->valid)
		return;
	common_write_le(record, first->is_event, 1);
	common_write_varint(record, first->time);
	if (first->is_event) {
		flow_shard_write_event(record, &first->event);
		return;
	}
	common_write_varint(record, first->ip);
	write_image(record, first->image);
}

int analysis_call_shard_write(struct analysis_call_shapes *shapes, const struct flow_segment *segment,
			      const struct analysis_transfers *transfers, const struct analysis_tracker *tracker,
			      struct ptl_bytes *record)
{
	uint64_t time = 0;
	int status = 0;

	if (!shapes->cache)
		shapes->cache = calloc(ANALYSIS_CALL_SHAPES_CACHE, sizeof(*shapes->cache));
	if (!shapes->cache)
		return common_fail_memory("calls", ANALYSIS_CALL_SHAPES_CACHE * sizeof(*shapes->cache));
	write_tracker(tracker, record);
	common_write_varint(record, transfers->count);
	for (size_t i = 0; !status && i < transfers->count; i++) {
		const struct analysis_transfer *transfer = &transfers->list[i];

		struct analysis_call_shape_cached *cached = find_cached(shapes, transfer);

		if (is_cached(cached, transfer, segment->process)) {
			common_write_varint(record, cached->number - 1);
		} else {
			uint32_t number = 0;

			status = write_shape(shapes, segment, transfer, record, &number);
			*cached = (struct analysis_call_shape_cached){*transfer, segment->process, number + 1};
		}
		common_write_varint(record, transfer->instructions);
		if (transfer->kind == ANALYSIS_TRANSFER_LEAF)
			common_write_varint(record, transfer->inside);
		common_write_varint(record, common_zigzag((int64_t)(transfer->time - time)));
		time = transfer->time;
	}
	return status;
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Context for reading records of a source. */
struct reading {
	const struct flow_segment *segment;
	const struct flow_timeline *timeline;
	struct analysis_function_table *functions;
	struct common_cursor *record;
};

static uint32_t read_image(const struct reading *reading)
{
	const size_t count = flow_timeline_image_count(reading->timeline);
	const uint64_t image = flow_shard_read_below(reading->record, (uint64_t)count + 1);

	return image ? (uint32_t)(image - 1) : FLOW_NONE;
}

/* Finds the function of a shape's target, by the rules of analysis/call/transfer.c. */
static int find_function(const struct reading *reading, struct analysis_transfer *shape)
{
	struct analysis_code_place place;
	int status = analysis_functions_place(reading->functions, shape->image, shape->to, &place);

	shape->function = place.function;
	if (!status && (shape->kind == ANALYSIS_TRANSFER_CALL || shape->kind == ANALYSIS_TRANSFER_LEAF) &&
	    shape->function == ANALYSIS_NO_FUNCTION)
		status = analysis_functions_nameless(reading->functions, reading->segment->process, shape->image,
						     shape->to, &shape->function);
	return status;
}

static int read_new_shape(const struct reading *reading, struct analysis_call_shapes_read *shapes)
{
	struct common_cursor *record = reading->record;
	struct analysis_transfer shape = {.function = ANALYSIS_NO_FUNCTION};
	bool named;
	int status = 0;

	shape.to = common_read_varint(record);
	shape.address = common_read_varint(record);
	shape.image = read_image(reading);
	shape.kind = common_read8(record);
	shape.flags = common_read8(record);
	named = common_read8(record);
	shape.function_flags = (uint16_t)flow_shard_read_below(record, UINT16_MAX + 1ull);
	record->failed |= shape.kind > ANALYSIS_TRANSFER_LEAF;
	record->failed |= shape.kind == ANALYSIS_TRANSFER_LEAF &&
			  (!shape.address || shape.function_flags || shape.flags & ANALYSIS_TRANSFER_OUTSIDE);
	if (record->failed)
		return 0;
	if (named)
		status = find_function(reading, &shape);
	if (!status && !common_vector_room(&shapes->list, shapes->count, sizeof(*shapes->list)))
		status = common_fail_memory("calls", shapes->count * sizeof(*shapes->list));
	if (!status)
		shapes->list[shapes->count++] = shape;
	return status;
}

/* Most numbers take one byte. */
static inline uint64_t read_number(struct common_cursor *record, uint64_t most)
{
	uint64_t number;

	if (record->at < record->size && record->data[record->at] < 0x80)
		number = record->data[record->at++];
	else
		number = common_read_varint(record);
	record->failed |= number > most;
	return number;
}

static int read_transfers(const struct reading *reading, struct analysis_call_shapes_read *shapes,
			  struct analysis_transfers *transfers)
{
	struct common_cursor *record = reading->record;
	const uint64_t count = common_read_varint(record);
	uint64_t time = 0;
	int status = 0;

	for (uint64_t i = 0; !status && i < count && !record->failed; i++) {
		const uint64_t number = read_number(record, shapes->count);
		struct analysis_transfer *transfer;

		if (number == shapes->count && !record->failed)
			status = read_new_shape(reading, shapes);
		if (!status && !record->failed)
			status = COMMON_VECTOR_RESERVE(transfers->list, transfers->capacity, transfers->count + 1,
						       "calls");
		if (status < 0 || record->failed)
			break;
		transfer = &transfers->list[transfers->count++];
		*transfer = shapes->list[number];
		transfer->instructions = (uint32_t)read_number(record, UINT32_MAX);
		if (transfer->kind == ANALYSIS_TRANSFER_LEAF)
			transfer->inside = (uint32_t)read_number(record, UINT32_MAX);
		time += (uint64_t)common_unzigzag(read_number(record, UINT64_MAX));
		transfer->time = time;
	}
	return status;
}

static int read_tracker(const struct reading *reading, struct analysis_tracker *tracker)
{
	struct common_cursor *record = reading->record;
	struct analysis_first *first = &tracker->first;
	uint64_t address;
	uint32_t image;

	*tracker = (struct analysis_tracker){.placed = common_read8(record)};
	address = common_read_varint(record);
	image = read_image(reading);
	tracker->leaving.valid = common_read8(record);
	tracker->leaving.behind = common_read_varint(record);
	tracker->leaving.branch = (uint8_t)flow_shard_read_below(record, FLOW_BRANCH_FAR_JUMP + 1);
	tracker->instructions = common_read_varint(record);
	tracker->time = common_read_varint(record);
	first->valid = common_read8(record);
	if (first->valid) {
		first->is_event = common_read8(record);
		first->time = common_read_varint(record);
	}
	if (first->valid && first->is_event) {
		flow_shard_read_event(record, &first->event);
	} else if (first->valid) {
		first->ip = common_read_varint(record);
		first->image = read_image(reading);
	}
	if (record->failed || !tracker->placed)
		return 0;
	return analysis_functions_place(reading->functions, image, address, &tracker->place);
}

int analysis_call_shard_read(struct analysis_call_shapes_read *shapes, const struct flow_segment *segment,
			     const struct flow_timeline *timeline, struct analysis_function_table *functions,
			     struct common_cursor *record, struct analysis_transfers *transfers,
			     struct analysis_tracker *tracker)
{
	const struct reading reading = {segment, timeline, functions, record};
	const int status = read_tracker(&reading, tracker);

	return status < 0 ? status : read_transfers(&reading, shapes, transfers);
}
