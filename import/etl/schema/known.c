/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the schema of an event: TraceLogging events carry their schema; kernel classes are in a table; other events
 * were described earlier in the file.
 */
#include "import/etl/schema/known.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/writer.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "format/container/layout.h"
#include "import/etl/file/layout.h"
#include "import/etl/schema/clr_event.h"
#include "import/etl/schema/kernel_class.h"
#include "import/etl/schema/manifest.h"
#include "import/etl/schema/packet_event.h"

#define COUNT_MAX 65536u      /* maximum schemas */
#define FIELDS_MAX 500000u    /* maximum fields of all schemas */
#define BYTES_MAX (64u << 20) /* maximum bytes of TraceLogging descriptions */
#define NONE UINT64_MAX
#define OWN_ID 0x8000u
#define ANY_OPCODE 0x100u
#define IDENTITY 21u /* bytes: provider, id, version, and opcode or ANY_OPCODE */

bool etl_known_has_room(const struct etl_known *known)
{
	return known->count < COUNT_MAX && known->fields < FIELDS_MAX;
}

static void write_identity(const struct ptl_descriptor *descriptor, bool any_opcode, uint8_t identity[IDENTITY])
{
	memcpy(identity, descriptor->provider.bytes, 16);
	common_store16(identity + 16, descriptor->id);
	identity[18] = descriptor->version;
	common_store16(identity + 19, any_opcode ? ANY_OPCODE : descriptor->opcode);
}

void etl_known_free(struct etl_known *known)
{
	for (size_t i = 0; i < known->count; i++)
		etl_schema_free(known->list[i]);
	free(known->list);
	common_byte_map_free(&known->by_event);
	common_byte_map_free(&known->by_text);
	common_byte_map_free(&known->ids);
	*known = (struct etl_known){0};
}

static int keep_schema(struct etl_known *known, struct etl_schema *schema)
{
	if (COMMON_VECTOR_RESERVE(known->list, known->capacity, known->count + 1, "schemas")) {
		etl_schema_free(schema);
		return PTL_NO_MEMORY;
	}
	known->list[known->count++] = schema;
	known->fields += schema->field_count;
	return 0;
}

static struct ptl_descriptor descriptor_of(const struct ptl_schema *schema)
{
	return (struct ptl_descriptor){
		.provider = schema->provider, .id = schema->id, .version = schema->version, .opcode = schema->opcode};
}

int etl_known_add(struct etl_known *known, struct etl_schema *schema)
{
	const struct ptl_descriptor descriptor = descriptor_of(&schema->ptl);
	uint8_t identity[IDENTITY];
	const uint64_t *found;
	int status;

	write_identity(&descriptor, schema->any_opcode, identity);
	found = common_byte_map_get(&known->by_event, identity, sizeof(identity));
	if ((found && *found != NONE) || !etl_known_has_room(known)) {
		etl_schema_free(schema);
		return 0;
	}
	memset(known->recent, 0, sizeof(known->recent));
	status = keep_schema(known, schema);
	return status ? status : common_byte_map_put(&known->by_event, identity, sizeof(identity), known->count - 1);
}

/* ---- TraceLogging ----------------------------------------------------------------------------------------- */

/* Returns the provider's name, which begins its traits. */
static const char *provider_name(struct etl_schema *schema, const struct etl_record *record)
{
	struct ptl_extended item;
	size_t at = 0;

	while (etl_record_extended(record, &at, &item))
		if (item.type == ETL_EXTENDED_TRAITS && item.size > 2)
			return etl_schema_text(schema, (const char *)item.data + 2, item.size - 2);
	return "";
}

/* Gives the schema a free id of its provider. Equal texts get equal ids. Returns PTL_NOT_FOUND if no id is free. */
static int identify(struct etl_known *known, struct etl_schema *schema, const uint8_t *text, size_t size)
{
	uint64_t hash = format_checksum(text, size);

	for (unsigned tries = 0; tries < 256; tries++, hash++) {
		const struct ptl_descriptor descriptor = {
			.provider = schema->ptl.provider,
			.id = (uint16_t)(OWN_ID | (hash & 0x7fff)),
			.version = (uint8_t)(hash >> 16),
		};
		uint8_t identity[IDENTITY];

		write_identity(&descriptor, true, identity);
		schema->ptl.id = descriptor.id;
		schema->ptl.version = descriptor.version;
		if (!common_byte_map_get(&known->ids, identity, sizeof(identity)))
			return common_byte_map_put(&known->ids, identity, sizeof(identity), 0);
	}
	return PTL_NOT_FOUND;
}

static int learn_schema(struct etl_known *known, const struct etl_record *record, const struct ptl_extended *item,
			struct etl_schema **learnt)
{
	struct etl_schema *schema = NULL;
	int status = etl_tracelogging_schema(item->data, item->size, &schema);

	*learnt = NULL;
	if (status || !schema)
		return status;
	schema->ptl.provider = record->descriptor.provider;
	schema->ptl.provider_name = provider_name(schema, record);
	if (!schema->ptl.provider_name) {
		etl_schema_free(schema);
		return common_fail_memory("a provider's name", item->size);
	}
	schema->any_opcode = true;
	status = identify(known, schema, item->data, item->size);
	if (status) {
		etl_schema_free(schema);
		return status == PTL_NOT_FOUND ? 0 : status;
	}
	*learnt = schema;
	return keep_schema(known, schema);
}

static int look_up_described(struct etl_known *known, const struct etl_record *record, const struct ptl_extended *item,
			     struct etl_schema **schema)
{
	uint8_t *key = known->last_text;
	const size_t size = 16u + item->size;
	const uint64_t *found;
	uint64_t index = NONE;
	int status = 0;

	known->last_text_size = 0;
	memcpy(key, record->descriptor.provider.bytes, 16);
	memcpy(key + 16, item->data, item->size);
	found = common_byte_map_get(&known->by_text, key, size);
	if (found) {
		index = *found;
	} else if (etl_known_has_room(known) && known->bytes + size <= BYTES_MAX) {
		known->bytes += size;
		status = learn_schema(known, record, item, schema);
		if (!status && *schema)
			index = known->count - 1;
		if (!status)
			status = common_byte_map_put(&known->by_text, key, size, index);
	}
	*schema = status || index == NONE ? NULL : known->list[index];
	if (status)
		return status;
	known->last_text_size = size;
	known->last_described = *schema;
	return 0;
}

static bool is_last_described(const struct etl_known *known, const struct etl_record *record,
			      const struct ptl_extended *item)
{
	return known->last_text_size == 16u + item->size &&
	       memcmp(known->last_text, record->descriptor.provider.bytes, 16) == 0 &&
	       memcmp(known->last_text + 16, item->data, item->size) == 0;
}

static int find_described(struct etl_known *known, struct etl_record *record, const struct ptl_extended *item,
			  struct etl_schema **schema)
{
	int status = 0;

	if (is_last_described(known, record, item))
		*schema = known->last_described;
	else
		status = look_up_described(known, record, item, schema);
	/* Also replaces ids of .NET's self-describing events: only the description identifies such an event. */
	if (*schema) {
		record->descriptor.id = (*schema)->ptl.id;
		record->descriptor.version = (*schema)->ptl.version;
	}
	return status;
}

/* ---- other events ------------------------------------------------------------------------------------------------ */

static int find_other(struct etl_known *known, const struct etl_record *record, struct etl_schema **schema)
{
	uint8_t identity[IDENTITY], any[IDENTITY];
	const uint64_t *found;
	int status;

	write_identity(&record->descriptor, false, identity);
	write_identity(&record->descriptor, true, any);
	found = common_byte_map_get(&known->by_event, identity, sizeof(identity));
	if (!found)
		found = common_byte_map_get(&known->by_event, any, sizeof(any));
	if (found) {
		*schema = *found == NONE ? NULL : known->list[*found];
		return 0;
	}
	*schema = NULL;
	if (known->by_event.used >= 2 * COUNT_MAX)
		return 0;
	if (record->kind != ETL_KIND_EVENT)
		status = etl_kernel_schema(&record->descriptor, schema);
	else if (record->descriptor.id == ETL_MANIFEST_EVENT)
		status = etl_manifest_event_schema(&record->descriptor, schema);
	else
		status = etl_clr_schema(&record->descriptor, schema);
	if (!status && !*schema && record->kind == ETL_KIND_EVENT)
		status = etl_packet_schema(&record->descriptor, schema);
	if (status)
		return status;
	if (!*schema || !etl_known_has_room(known)) {
		etl_schema_free(*schema);
		*schema = NULL;
		return common_byte_map_put(&known->by_event, identity, sizeof(identity), NONE);
	}
	status = etl_known_add(known, *schema);
	return status;
}

static struct etl_known_recent *recent_of(struct etl_known *known, const struct ptl_descriptor *descriptor)
{
	const uint64_t bits = common_load64(descriptor->provider.bytes) ^ (uint64_t)descriptor->id << 16 ^
			      (uint64_t)descriptor->version << 8 ^ descriptor->opcode;

	return &known->recent[(common_hash_mix(bits) >> 32) % ETL_KNOWN_RECENT];
}

static bool is_recent(const struct etl_known_recent *recent, const struct ptl_descriptor *descriptor)
{
	const struct ptl_descriptor *known = &recent->descriptor;

	return recent->is_set && known->opcode == descriptor->opcode && known->id == descriptor->id &&
	       known->version == descriptor->version && common_guid_equal(&known->provider, &descriptor->provider);
}

int etl_known_find(struct etl_known *known, struct etl_record *record, struct etl_schema **schema)
{
	struct etl_known_recent *recent;
	struct ptl_extended item;
	size_t at = 0;
	int status;

	while (etl_record_extended(record, &at, &item))
		if (item.type == ETL_EXTENDED_SCHEMA)
			return find_described(known, record, &item, schema);
	recent = recent_of(known, &record->descriptor);
	if (is_recent(recent, &record->descriptor)) {
		*schema = recent->schema;
		return 0;
	}
	status = find_other(known, record, schema);
	*recent = (struct etl_known_recent){record->descriptor, *schema, !status};
	return status;
}
