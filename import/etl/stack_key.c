/* SPDX-License-Identifier: BSD-2-Clause */
/* Stack keys. A frequent stack is written once, when its key is deleted or the trace ends. */
#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "import/etl/stack_internal.h"

#define COUNT_MAX 4000000u
#define BYTES_MAX (256u << 20)

void etl_stack_keys_free(struct etl_stack_keys *keys)
{
	free(keys->list);
	common_hash_map_free(&keys->by_key);
	common_bytes_free(&keys->frames);
	*keys = (struct etl_stack_keys){0};
}

/* Writes each address as 8 bytes. */
static void write_frames(const uint8_t *frames, size_t count, unsigned pointer_size, struct ptl_bytes *out)
{
	if (pointer_size == 8) {
		common_write_bytes(out, frames, count * 8);
		return;
	}
	for (size_t i = 0; i < count; i++)
		common_write_le(out, common_load_le(frames + i * pointer_size, pointer_size), 8);
}

int etl_stack_keys_add(struct etl_stack_keys *keys, const struct etl_record *record)
{
	const unsigned unit = record->pointer_size;
	const uint8_t opcode = record->descriptor.opcode;
	uint64_t key;
	const uint64_t *last;
	size_t count;

	if ((opcode != ETL_STACK_KEY_DELETE && opcode != ETL_STACK_KEY_RUNDOWN) || record->payload_size < unit ||
	    keys->count >= COUNT_MAX || keys->frames.size >= BYTES_MAX)
		return 0;
	key = common_load_le(record->payload, unit);
	count = record->payload_size / unit - 1;
	if (COMMON_VECTOR_RESERVE(keys->list, keys->capacity, keys->count + 1, "keys of stacks"))
		return PTL_NO_MEMORY;
	last = common_hash_map_get(&keys->by_key, key);
	keys->list[keys->count] = (struct etl_stack_key){
		.time = record->time,
		.frames = keys->frames.size,
		.count = (uint32_t)count,
		.previous = last ? (uint32_t)*last : UINT32_MAX,
	};
	write_frames(record->payload + unit, count, unit, &keys->frames);
	if (keys->frames.failed)
		return common_fail_memory("keys of stacks", keys->frames.size);
	return common_hash_map_put(&keys->by_key, key, keys->count++);
}

/* The valid entry of a key is the first one written after the key's use. */
const struct etl_stack_key *etl_stack_key_find(const struct etl_stack_keys *keys, uint64_t key, uint64_t time)
{
	const uint64_t *last = common_hash_map_get(&keys->by_key, key);
	const struct etl_stack_key *best = NULL;
	unsigned looked = 0;

	for (uint32_t i = last ? (uint32_t)*last : UINT32_MAX; i != UINT32_MAX && looked < 256;
	     i = keys->list[i].previous, looked++) {
		const struct etl_stack_key *one = &keys->list[i];

		if (one->time >= time && (!best || one->time < best->time))
			best = one;
	}
	return best;
}
