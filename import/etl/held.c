/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows writes a buffer when the buffer is full. A stack may lie in a buffer of another CPU, before its event or far
 * behind.
 */
#include "import/etl/held.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "import/etl/import.h"

#define AHEAD_MIN ((size_t)12 << 20) /* bytes */
#define AHEAD_MAX ((size_t)24 << 20)
#define ROUNDS 3u         /* buffers of each CPU */
#define BUFFERS_MAX 4096u /* a power of two */
#define BUFFERS_AHEAD (BUFFERS_MAX / 4 * 3)

struct etl_held_buffer {
	struct etl_buffer buffer;
	int status;      /* 1, or the error that made the buffer unreadable */
	uint8_t *memory; /* bytes of the buffer, or text of the error */
	size_t stacks;   /* number of stacks in the buffer */
};

static struct etl_held_buffer *at(const struct etl_held *held, size_t index)
{
	return &held->ring[(held->first + index) & (BUFFERS_MAX - 1)];
}

void etl_held_free(struct etl_held *held)
{
	for (size_t i = 0; i < held->count; i++)
		free(at(held, i)->memory);
	free(held->ring);
	*held = (struct etl_held){0};
}

static void drop_first(struct etl_import *import)
{
	struct etl_held *held = &import->held;
	struct etl_held_buffer *one = at(held, 0);

	etl_stacks_drop(import, one->stacks);
	held->behind -= one->buffer.size;
	free(one->memory);
	held->first++;
	held->count--;
	held->read--;
}

static int keep_held(struct etl_held_buffer *one, const void *bytes, size_t size)
{
	one->memory = malloc(size);
	if (!one->memory)
		return common_fail_memory("a buffer of an .etl file", size);
	memcpy(one->memory, bytes, size);
	return 0;
}

/* Reads the next buffer into the ring. An unreadable buffer keeps its place with the error. */
static int hold_next_buffer(struct etl_import *import)
{
	struct etl_held *held = &import->held;
	struct etl_held_buffer *one = at(held, held->count);
	int status;

	*one = (struct etl_held_buffer){0};
	one->status = etl_file_next(import->file, &one->buffer);
	held->ended = !one->status;
	if (!one->status)
		return 0;
	if (one->status < 0) {
		one->buffer.size = 0;
		status = keep_held(one, ptl_error_text(), strlen(ptl_error_text()) + 1);
	} else {
		status = keep_held(one, one->buffer.data, one->buffer.size);
		one->buffer.data = one->memory;
	}
	if (status)
		return status;
	held->count++;
	held->ahead += one->buffer.size;
	return one->status > 0 ? etl_stacks_find(import, &one->buffer, &one->stacks) : 0;
}

/* Returns how many bytes to hold ahead: several rounds of buffers of all CPUs. */
static size_t find_reach(const struct etl_import *import)
{
	const struct etl_log_header *header = etl_file_header(import->file);
	const uint64_t round = (uint64_t)header->processors * header->buffer_size;

	if (round > AHEAD_MAX / ROUNDS)
		return AHEAD_MAX;
	return ROUNDS * round < AHEAD_MIN ? AHEAD_MIN : (size_t)(ROUNDS * round);
}

int etl_held_next(struct etl_import *import, struct etl_buffer *buffer)
{
	struct etl_held *held = &import->held;
	struct etl_held_buffer *one;
	int status = 0;

	if (!held->ring) {
		held->ring = malloc(BUFFERS_MAX * sizeof(*held->ring));
		held->reach = find_reach(import);
	}
	if (!held->ring)
		return common_fail_memory("buffers of an .etl file", BUFFERS_MAX * sizeof(*held->ring));
	while (held->read && (held->behind > held->reach / 2 || held->read >= BUFFERS_MAX - BUFFERS_AHEAD))
		drop_first(import);
	while (!status && !held->ended && held->ahead <= held->reach && held->count - held->read < BUFFERS_AHEAD)
		status = hold_next_buffer(import);
	if (status || held->read == held->count)
		return status;
	one = at(held, held->read++);
	held->ahead -= one->buffer.size;
	held->behind += one->buffer.size;
	*buffer = one->buffer;
	return one->status < 0 ? common_fail(one->status, "%s", (const char *)one->memory) : 1;
}
