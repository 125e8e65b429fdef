/* SPDX-License-Identifier: BSD-2-Clause */
/* RSDS records, by process and base. */
#include "import/etl/image_id.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

#define COUNT_MAX 1000000u
#define NAMES_MAX (64u << 20)
#define NAME_MAX 4096u
#define NONE UINT32_MAX

struct etl_image_id {
	uint64_t base, time;
	uint32_t pid, next; /* index of the next entry with the same hash */
	uint32_t name;      /* position in names */
	uint8_t id[ETL_BUILD_ID];
};

void etl_image_ids_free(struct etl_image_ids *ids)
{
	free(ids->list);
	common_hash_map_free(&ids->by_image);
	common_bytes_free(&ids->names);
	*ids = (struct etl_image_ids){0};
}

static uint64_t key_of(uint32_t pid, uint64_t base)
{
	return base ^ (uint64_t)pid << 40;
}

/* Writes GUID and age in the byte order of a GUID's text: high byte first in the first three groups. */
static void write_id(uint8_t id[ETL_BUILD_ID], const uint8_t *guid, uint32_t age)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < sizeof(order); i++)
		id[i] = guid[order[i]];
	for (size_t i = 0; i < 4; i++)
		id[16 + i] = (uint8_t)(age >> (24 - 8 * i));
}

static int add_image_id(struct etl_image_ids *ids, const struct etl_image_id *id)
{
	const uint64_t key = key_of(id->pid, id->base);
	const uint64_t *first = common_hash_map_get(&ids->by_image, key);

	if (COMMON_VECTOR_RESERVE(ids->list, ids->capacity, ids->count + 1, "ids of images"))
		return PTL_NO_MEMORY;
	ids->list[ids->count] = *id;
	ids->list[ids->count].next = first ? (uint32_t)*first : NONE;
	return common_hash_map_put(&ids->by_image, key, ids->count++);
}

int etl_image_ids_add(struct etl_image_ids *ids, const struct etl_record *record)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	struct etl_image_id id = {.base = common_read_le(&cursor, record->pointer_size), .time = record->time};
	const uint8_t *guid;
	size_t length;

	id.pid = common_read32(&cursor);
	guid = common_read_bytes(&cursor, sizeof(struct ptl_guid));
	if (!guid || ids->count >= COUNT_MAX || ids->names.size >= NAMES_MAX)
		return 0;
	write_id(id.id, guid, common_read32(&cursor));
	length = strnlen((const char *)cursor.data + cursor.at, common_cursor_left(&cursor));
	if (cursor.failed || length > NAME_MAX)
		return 0;
	id.name = (uint32_t)ids->names.size;
	common_write_bytes(&ids->names, cursor.data + cursor.at, length);
	common_write_le(&ids->names, 0, 1);
	return ids->names.failed ? common_fail_memory("ids of images", ids->names.size) : add_image_id(ids, &id);
}

const struct etl_image_id *etl_image_ids_find(const struct etl_image_ids *ids, uint32_t pid, uint64_t base,
					      uint64_t time)
{
	const uint64_t *first = common_hash_map_get(&ids->by_image, key_of(pid, base));
	const struct etl_image_id *best = NULL;
	uint64_t distance = UINT64_MAX;
	unsigned looked = 0;

	for (uint32_t i = first ? (uint32_t)*first : NONE; i != NONE && looked < 64; i = ids->list[i].next, looked++) {
		const struct etl_image_id *id = &ids->list[i];
		const uint64_t apart = id->time > time ? id->time - time : time - id->time;

		if (id->pid != pid || id->base != base || (best && apart >= distance))
			continue;
		best = id;
		distance = apart;
	}
	return best;
}

void etl_image_id_write(const struct etl_image_ids *ids, const struct etl_image_id *id, struct ptl_bytes *out)
{
	const char *name = id ? (const char *)ids->names.data + id->name : "";

	common_write_le(out, id ? ETL_BUILD_ID : 0, 2);
	if (id)
		common_write_bytes(out, id->id, ETL_BUILD_ID);
	common_write_bytes(out, name, strlen(name) + 1);
}
