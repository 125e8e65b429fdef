/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps copies of schemas, by way of the encoding that files have. */
#include "record/capture/schemas.h"

#include "common/error.h"
#include "format/metadata/metadata.h"

#define SCHEMAS_MAX 65536u

/* Without padding. */
struct key {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version, opcode;
};

static const struct ptl_schema *find(const struct record_schemas *schemas, const struct key *key)
{
	const uint64_t *known = common_byte_map_get(&schemas->map, key, sizeof(*key));

	return known ? (const struct ptl_schema *)(uintptr_t)*known : NULL;
}

const struct ptl_schema *record_schemas_find(const struct record_schemas *schemas,
					     const struct ptl_descriptor *descriptor)
{
	return find(schemas,
		    &(struct key){descriptor->provider, descriptor->id, descriptor->version, descriptor->opcode});
}

const struct ptl_schema *record_schemas_next(const struct record_schemas *schemas, size_t *at)
{
	const void *key;
	size_t size;

	return common_byte_map_next(&schemas->map, at, &key, &size) ? find(schemas, key) : NULL;
}

void record_schemas_free(struct record_schemas *schemas)
{
	const struct ptl_schema *schema;
	size_t at = 0;

	while ((schema = record_schemas_next(schemas, &at)))
		format_schema_free((struct ptl_schema *)(uintptr_t)schema);
	common_byte_map_free(&schemas->map);
}

int record_schemas_add(struct record_schemas *schemas, const struct ptl_schema *schema)
{
	const struct key key = {schema->provider, schema->id, schema->version, schema->opcode};
	struct ptl_bytes encoded = {0};
	struct ptl_schema *copy = NULL;
	int status;

	if (find(schemas, &key) || schemas->map.used >= SCHEMAS_MAX)
		return 0;
	format_schema_encode(schema, &encoded);
	status = encoded.failed ? common_fail_memory("a schema", encoded.size)
				: format_schema_decode(common_cursor(encoded.data, encoded.size), &copy);
	common_bytes_free(&encoded);
	if (status == 0)
		status = common_byte_map_put(&schemas->map, &key, sizeof(key), (uint64_t)(uintptr_t)copy);
	if (status < 0)
		format_schema_free(copy);
	/* What does not come out as it went in explains nothing. */
	return status == PTL_CORRUPT ? 0 : status;
}
