/* SPDX-License-Identifier: BSD-2-Clause */
/* Captured code of anonymous memory. The code is kept when an image takes the memory. */
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "relog/rules/images.h"

#define BLOB_MAX ((size_t)1 << 30)

/* Bytes of a blob from offset `skip` on, which lie at [first, last]. */
struct rules_captured_piece {
	uint64_t first, last;
	uint64_t skip;
	uint8_t hash[PTL_HASH_SIZE];
};

int rules_slice(struct rules_run *run, const uint8_t hash[PTL_HASH_SIZE], uint64_t skip, uint64_t size,
		uint8_t result[PTL_HASH_SIZE])
{
	uint8_t *data = NULL;
	size_t there = 0;
	int status = PTL_NOT_FOUND;

	memmove(result, hash, PTL_HASH_SIZE);
	if (!skip)
		return 0;
	for (size_t i = 0; i < run->trace_count && status == PTL_NOT_FOUND; i++)
		status = ptl_blob_read(run->traces[i], hash, BLOB_MAX, &data, &there);
	if (status == PTL_NO_MEMORY)
		return status;
	/* Bytes that are missing from the blob stay missing. */
	if (status || skip >= there)
		size = 0;
	else if (size > there - skip)
		size = there - skip;
	status = run->output.blob(run->output.context, PTL_BLOB_CODE, size ? data + skip : (uint8_t *)"", size, result);
	free(data);
	return status;
}

int rules_report_code(struct rules_run *run, uint32_t pid, uint64_t time, uint64_t base, uint64_t size,
		      const uint8_t hash[PTL_HASH_SIZE])
{
	struct ptl_event event = {.time = time, .cpu = PTL_NO_CPU, .pid = pid, .tid = PTL_NO_ID};
	struct ptl_code_event data = {.process_id = pid, .base = base, .size = size};
	struct ptl_bytes storage = {0};
	int status;

	memcpy(data.code, hash, PTL_HASH_SIZE);
	status = ptl_code_encode(&data, &storage, &event);
	if (!status)
		status = rules_inject(run, &event);
	common_bytes_free(&storage);
	return status;
}

/* ---- captured code ----------------------------------------------------------------------- */

struct gathering {
	struct rules_captured *captured;
	size_t room;
	uint64_t first, last;
	int status;
};

static int put_piece(struct gathering *gathering, const struct rules_captured_piece *piece)
{
	struct rules_captured *captured = gathering->captured;

	if (COMMON_VECTOR_RESERVE(captured->list, gathering->room, captured->count + 1, "captured code"))
		return PTL_NO_MEMORY;
	captured->list[captured->count++] = *piece;
	return 0;
}

/* Removes [first, last] from the pieces. A piece that is cut in its middle becomes two. */
static int cut(struct gathering *gathering, uint64_t first, uint64_t last)
{
	struct rules_captured *captured = gathering->captured;
	size_t count = captured->count, kept = 0;
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		struct rules_captured_piece piece = captured->list[i], behind = piece;

		if (piece.first > last || piece.last < first) {
			captured->list[kept++] = piece;
			continue;
		}
		if (piece.last > last) {
			behind.first = last + 1;
			behind.skip += behind.first - piece.first;
		}
		if (piece.first < first) {
			captured->list[kept] = piece;
			captured->list[kept++].last = first - 1;
			if (piece.last > last)
				status = put_piece(gathering, &behind);
		} else if (piece.last > last) {
			captured->list[kept++] = behind;
		}
		if (status < 0)
			return status;
	}
	/* Close the gap between kept pieces and appended pieces. */
	if (captured->count > count)
		memmove(captured->list + kept, captured->list + count,
			(captured->count - count) * sizeof(*captured->list));
	captured->count = kept + (captured->count - count);
	return 0;
}

static int put_clipped(struct gathering *gathering, uint64_t base, uint64_t size, const uint8_t *hash)
{
	struct rules_captured_piece piece = {.first = base, .last = base + (size - 1)};

	if (!size || piece.last < base || piece.first > gathering->last || piece.last < gathering->first)
		return 0;
	if (piece.first < gathering->first) {
		piece.skip = gathering->first - piece.first;
		piece.first = gathering->first;
	}
	if (piece.last > gathering->last)
		piece.last = gathering->last;
	memcpy(piece.hash, hash, PTL_HASH_SIZE);
	return put_piece(gathering, &piece);
}

static int take_image(struct gathering *gathering, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_image_event data;
	int status = ptl_image_decode(event, &storage, &data);

	if (!status && format_is_range(data.base, data.size))
		status = cut(gathering, data.base, data.base + (data.size - 1));
	if (!status && data.has_code && event->descriptor.opcode == PTL_OPCODE_LOAD)
		status = put_clipped(gathering, data.base, data.size, data.code);
	common_bytes_free(&storage);
	return status;
}

static int take_captured_event(void *context, const struct ptl_event *event)
{
	struct gathering *gathering = context;
	const enum format_class class = format_class_of(&event->descriptor);
	struct ptl_code_event code;

	if (class == FORMAT_CLASS_IMAGE && event->descriptor.opcode != PTL_OPCODE_PROTECT)
		return take_image(gathering, event);
	if (class == FORMAT_CLASS_CODE && !ptl_code_decode(event, &code))
		return put_clipped(gathering, code.base, code.size, code.code);
	return 0;
}

int rules_captured_gather(struct rules_run *run, uint32_t pid, uint64_t first, uint64_t last,
			  struct rules_captured *captured)
{
	struct gathering gathering = {.captured = captured, .first = first, .last = last};
	const struct ptl_rundown rundown = {.size = sizeof(rundown),
					    .pid = pid,
					    .opcode = PTL_OPCODE_LOAD,
					    .take = take_captured_event,
					    .context = &gathering,
					    .first = first,
					    .last = last};

	*captured = (struct rules_captured){0};
	if (!ptl_state_find_image(run->state, pid, first, last))
		return 0;
	return ptl_state_rundown(run->state, &rundown);
}

int rules_captured_at_start(const struct rules_space *space, uint64_t first, uint64_t last, uint64_t *time,
			    struct rules_captured *captured)
{
	struct gathering gathering = {.captured = captured, .first = first, .last = last};
	bool found = false;
	int status = 0;

	*captured = (struct rules_captured){0};
	*time = 0;
	for (const struct rules_backing *b = space ? space->backing : NULL; b; b = b->next) {
		if (b->first > last || b->last < first)
			continue;
		if (b->too_much)
			return 1;
		found = true;
		*time = b->time > *time ? b->time : *time;
	}
	if (found && rules_ended_last(space, first, last) > *time)
		*time = rules_ended_last(space, first, last);
	/* Use the time at which all of the memory had appeared. */
	for (const struct rules_backing *b = space ? space->backing : NULL; !status && b; b = b->next) {
		if (b->first > last || b->last < first)
			continue;
		if (b->data.has_code)
			status = put_clipped(&gathering, b->data.base, b->data.size, b->data.code);
		for (size_t i = 0; !status && i < b->code_count && b->codes[i].time <= *time; i++)
			status = put_clipped(&gathering, b->codes[i].base, b->codes[i].size, b->codes[i].hash);
	}
	return status < 0 ? status : !found;
}

int rules_captured_report(struct rules_run *run, uint32_t pid, uint64_t time, const struct rules_captured *captured)
{
	int status = 0;

	for (size_t i = 0; !status && i < captured->count; i++) {
		const struct rules_captured_piece *piece = &captured->list[i];
		uint64_t size = piece->last - piece->first + 1;
		uint8_t hash[PTL_HASH_SIZE];

		status = rules_slice(run, piece->hash, piece->skip, size, hash);
		if (!status)
			status = rules_report_code(run, pid, time, piece->first, size, hash);
	}
	return status;
}

void rules_captured_free(struct rules_captured *captured)
{
	free(captured->list);
	*captured = (struct rules_captured){0};
}
