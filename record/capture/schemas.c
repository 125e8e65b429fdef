/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps copies of schemas. A copy is made by encoding and decoding. */
#include "record/capture/schemas.h"

#include <stddef.h>
#include <string.h>

#include "common/error.h"
#include "format/metadata/metadata.h"

#define SCHEMAS_MAX 65536u
#define MAPS_MAX 4096u
#define MAP_NAME_MAX 256u

/* without padding */
struct key {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version, opcode;
};

static const struct ptl_schema *find_schema(const struct record_schemas *schemas, const struct key *key)
{
	const uint64_t *known = common_byte_map_get(&schemas->map, key, sizeof(*key));

	return known ? (const struct ptl_schema *)(uintptr_t)*known : NULL;
}

const struct ptl_schema *record_schemas_find(const struct record_schemas *schemas,
					     const struct ptl_descriptor *descriptor)
{
	return find_schema(
		schemas, &(struct key){descriptor->provider, descriptor->id, descriptor->version, descriptor->opcode});
}

const struct ptl_schema *record_schemas_next(const struct record_schemas *schemas, size_t *at)
{
	const void *key;
	size_t size;

	return common_byte_map_next(&schemas->map, at, &key, &size) ? find_schema(schemas, key) : NULL;
}

/* ---- maps of values -------------------------------------------------------------------------- */

struct map_key {
	struct ptl_guid provider;
	char name[MAP_NAME_MAX];
};

/* Returns the size of the key; 0 if the name is empty or too long. */
static size_t make_key(struct map_key *key, const struct ptl_guid *provider, const char *name)
{
	const size_t size = strlen(name);

	if (!size || size > sizeof(key->name))
		return 0;
	key->provider = *provider;
	memcpy(key->name, name, size);
	return offsetof(struct map_key, name) + size;
}

const struct ptl_map *record_schemas_map(const struct record_schemas *schemas, const struct ptl_guid *provider,
					 const char *name)
{
	struct map_key key;
	const size_t size = name ? make_key(&key, provider, name) : 0;
	const uint64_t *known = size ? common_byte_map_get(&schemas->maps, &key, size) : NULL;

	return known ? (const struct ptl_map *)(uintptr_t)*known : NULL;
}

static void free_maps(struct record_schemas *schemas)
{
	const void *key;
	size_t size, at = 0;

	while (common_byte_map_next(&schemas->maps, &at, &key, &size))
		format_map_free((struct ptl_map *)(uintptr_t)*common_byte_map_get(&schemas->maps, key, size));
	common_byte_map_free(&schemas->maps);
}

int record_schemas_add_map(struct record_schemas *schemas, const struct ptl_map *map)
{
	struct ptl_bytes encoded = {0};
	struct ptl_map *copy = NULL;
	struct map_key key;
	const size_t size = make_key(&key, &map->provider, map->name);
	int status;

	if (!size || map->kind > PTL_MAP_FLAGS || schemas->maps.used >= MAPS_MAX ||
	    record_schemas_map(schemas, &map->provider, map->name))
		return 0;
	format_map_encode(map, &encoded);
	status = encoded.failed ? common_fail_memory("a map of values", encoded.size)
				: format_map_decode(common_cursor(encoded.data, encoded.size), &copy);
	common_bytes_free(&encoded);
	if (status == 0)
		status = common_byte_map_put(&schemas->maps, &key, size, (uint64_t)(uintptr_t)copy);
	if (status < 0)
		format_map_free(copy);
	/* A map that does not decode is ignored, as with schemas. */
	return status == PTL_CORRUPT ? 0 : status;
}

/* ---- all ------------------------------------------------------------------------------------- */

void record_schemas_free(struct record_schemas *schemas)
{
	const struct ptl_schema *schema;
	size_t at = 0;

	while ((schema = record_schemas_next(schemas, &at)))
		format_schema_free((struct ptl_schema *)(uintptr_t)schema);
	common_byte_map_free(&schemas->map);
	free_maps(schemas);
}

int record_schemas_add(struct record_schemas *schemas, const struct ptl_schema *schema)
{
	const struct key key = {schema->provider, schema->id, schema->version, schema->opcode};
	struct ptl_bytes encoded = {0};
	struct ptl_schema *copy = NULL;
	int status;

	if (find_schema(schemas, &key) || schemas->map.used >= SCHEMAS_MAX)
		return 0;
	format_schema_encode(schema, &encoded);
	status = encoded.failed ? common_fail_memory("a schema", encoded.size)
				: format_schema_decode(common_cursor(encoded.data, encoded.size), &copy);
	common_bytes_free(&encoded);
	if (status == 0)
		status = common_byte_map_put(&schemas->map, &key, sizeof(key), (uint64_t)(uintptr_t)copy);
	if (status < 0)
		format_schema_free(copy);
	/* A schema that does not decode is ignored. */
	return status == PTL_CORRUPT ? 0 : status;
}
