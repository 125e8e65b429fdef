/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptions of programs' events: schemas, maps of values, and definitions of an event that differ between programs.
 */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/guid.h"
#include "format/metadata/metadata.h"
#include "record/capture/machine.h"
#include "record/capture/notes.h"
#include "record/provider/providers_state.h"

struct schema_taker {
	struct record_providers *providers;
	struct record_writer *writer;
};

/* A program may only describe events of its own providers. */
static bool is_own(const struct record_writer *writer, uint32_t provider, const struct ptl_guid *guid)
{
	return provider < writer->shm.provider_count && !writer->shm.providers[provider].refused &&
	       common_guid_equal(guid, &writer->shm.providers[provider].guid);
}

/*
 * Checks that the trace has room for another schema or map, and reserves the room. Programs of another user get a
 * limited share.
 */
static int take_room(struct record_providers *providers, uint64_t size, uint64_t items)
{
	struct record_providers_common *common = providers->common;
	const bool bytes_fit = providers->is_other
				       ? size <= record_share_left(&common->schema_bytes, providers->schema_bytes)
				       : providers->schema_bytes + size <= RECORD_SCHEMA_BYTES_MAX;
	const bool items_fit = providers->is_other
				       ? items <= record_share_left(&common->schema_items, providers->schema_items)
				       : providers->schema_items + items <= RECORD_SCHEMA_ITEMS_MAX;

	if (!bytes_fit || !items_fit)
		return common_fail(PTL_CORRUPT, "programs have more schemas than a trace has room for");
	providers->schema_bytes += size;
	providers->schema_items += items;
	common->schema_bytes.used += providers->is_other ? size : 0;
	common->schema_items.used += providers->is_other ? items : 0;
	return 0;
}

/* ---- differing definitions -------------------------------------------------------------------- */

#define VERSIONS 256

/* key of an event's definition, without padding */
struct definition {
	struct ptl_guid provider;
	uint16_t id;
	uint8_t version, opcode;
};

static struct definition definition_of(const struct ptl_schema *schema)
{
	return (struct definition){schema->provider, schema->id, schema->version, schema->opcode};
}

void record_writer_give_version(const struct record_writer *writer, struct ptl_descriptor *descriptor)
{
	const struct definition own = {descriptor->provider, descriptor->id, descriptor->version, descriptor->opcode};
	const uint64_t *version = writer->versions.used ? common_byte_map_get(&writer->versions, &own, sizeof(own))
							: NULL;

	if (version)
		descriptor->version = (uint8_t)*version;
}

/*
 * Finds a free version for another definition of the event, from 255 downwards. *known: set if this definition has the
 * version already. Returns PTL_NOT_FOUND if all versions are in use.
 */
static int find_version(const struct record_providers *providers, const struct ptl_schema *schema, uint64_t hash,
			uint8_t *version, bool *known)
{
	struct definition key = definition_of(schema);

	for (unsigned i = VERSIONS; i-- > 0;) {
		const uint64_t *other;

		key.version = (uint8_t)i;
		other = common_byte_map_get(&providers->common->schemas, &key, sizeof(key));
		*version = key.version;
		*known = other && *other == hash;
		if (!other || *known)
			return 0;
	}
	return PTL_NOT_FOUND;
}

/* Reports that the trace has a definition under another version. */
static int note_version(const struct schema_taker *taker, const struct ptl_schema *schema, uint8_t version)
{
	char text[512];
	const struct record_note note = {
		.time = record_now(), .pid = taker->writer->shm.pid, .tid = PTL_NO_ID, .warning = true, .text = text};

	if (taker->providers->common->differing++ >= RECORD_DIFFERING_MAX)
		return 0;
	snprintf(text, sizeof(text),
		 "event %u of provider %.255s is defined otherwise in another program: process %u's events have "
		 "version %u in place "
		 "of %u",
		 schema->id, schema->provider_name, taker->writer->shm.pid, version, schema->version);
	common_message_warning("%s", text);
	return record_note(taker->providers->capture, &note);
}

/* Writes the schema under a version of its own, which the program's events get as well. */
static int take_differing(const struct schema_taker *taker, const struct ptl_schema *schema, uint64_t hash, size_t size)
{
	const struct definition own = definition_of(schema);
	struct ptl_schema renamed = *schema;
	struct definition key;
	bool known;
	int status = find_version(taker->providers, schema, hash, &renamed.version, &known);

	if (status == 0 && !known)
		status = take_room(taker->providers, size, 1 + schema->field_count);
	if (status < 0)
		return status;
	key = definition_of(&renamed);
	if (!known)
		status = common_byte_map_put(&taker->providers->common->schemas, &key, sizeof(key), hash);
	if (status == 0 && !known)
		status = record_capture_schema(taker->providers->capture, &renamed);
	if (status == 0)
		status = common_byte_map_put(&taker->writer->versions, &own, sizeof(own), renamed.version);
	return status == 0 && !known ? note_version(taker, schema, renamed.version) : status;
}

/*
 * Reports a differing definition without room in the trace, once per definition: readers show the program's events by
 * the first definition.
 */
static int lose_definition(const struct schema_taker *taker, const struct ptl_schema *schema)
{
	struct definition key = definition_of(schema);
	struct common_byte_map *reported_losses = &taker->providers->common->reported_losses;
	char cause[512];
	int status;

	if (common_byte_map_get(reported_losses, &key, sizeof(key)))
		return 0;
	status = common_byte_map_put(reported_losses, &key, sizeof(key), 1);
	snprintf(cause, sizeof(cause),
		 "event %u of provider %.255s is defined otherwise in another program, whose "
		 "definition came first: it may be shown wrongly",
		 schema->id, schema->provider_name);
	return status < 0 ? status : record_writer_lose(taker->providers, taker->writer, 0, 0, cause);
}

/*
 * Adds a definition. Two programs, or two versions of a program, may define an event differently. Fails with
 * PTL_NO_MEMORY or PTL_CORRUPT.
 */
static int take_definition(const struct schema_taker *taker, const struct ptl_schema *schema, struct common_cursor body)
{
	struct common_byte_map *schemas = &taker->providers->common->schemas;
	const uint64_t hash = XXH64(body.data, body.size, 0);
	const struct definition key = definition_of(schema);
	const uint64_t *first = common_byte_map_get(schemas, &key, sizeof(key));
	int status;

	if (first && *first != hash) {
		status = take_differing(taker, schema, hash, body.size);
		return status == 0 || status == PTL_NO_MEMORY ? status : lose_definition(taker, schema);
	}
	status = first ? 0 : take_room(taker->providers, body.size, 1 + schema->field_count);
	if (!first && status == 0)
		status = common_byte_map_put(schemas, &key, sizeof(key), hash);
	return status < 0 ? status : record_capture_schema(taker->providers->capture, schema);
}

static int take_schema(const struct schema_taker *taker, uint32_t provider, struct common_cursor cursor)
{
	struct ptl_schema *schema;
	int status = format_schema_decode(cursor, &schema);

	if (status < 0)
		return status;
	if (is_own(taker->writer, provider, &schema->provider))
		status = take_definition(taker, schema, cursor);
	format_schema_free(schema);
	return status == PTL_MISUSE ? PTL_CORRUPT : status;
}

/* ---- all -------------------------------------------------------------------------------------- */

/* is_new: set if no program had this map before. Fails with PTL_NO_MEMORY or PTL_CORRUPT. */
static int note_map(struct record_providers *providers, const struct ptl_map *map, struct common_cursor body,
		    bool *is_new)
{
	struct common_byte_map *known = &providers->common->schemas;
	const uint64_t hash = XXH64(body.data, body.size, 0);
	uint8_t key[sizeof(map->provider) + sizeof(hash)];
	int status = 0;

	memcpy(key, &map->provider, sizeof(map->provider));
	memcpy(key + sizeof(map->provider), &hash, sizeof(hash));
	*is_new = !common_byte_map_get(known, key, sizeof(key));
	if (*is_new)
		status = take_room(providers, body.size, 1 + map->count);
	return *is_new && status == 0 ? common_byte_map_put(known, key, sizeof(key), hash) : status;
}

static int take_map(const struct schema_taker *taker, uint32_t provider, struct common_cursor cursor)
{
	struct ptl_map *map;
	bool is_new = false;
	int status = format_map_decode(cursor, &map);

	if (status < 0)
		return status;
	if (is_own(taker->writer, provider, &map->provider))
		status = note_map(taker->providers, map, cursor, &is_new);
	if (status == 0 && is_new)
		status = record_capture_map(taker->providers->capture, map);
	format_map_free(map);
	return status == PTL_MISUSE ? PTL_CORRUPT : status;
}

static int take_record(void *context, uint32_t provider, uint64_t type, const uint8_t *body, size_t size)
{
	const struct schema_taker *taker = context;

	if (type == FORMAT_RECORD_SCHEMA)
		return take_schema(taker, provider, common_cursor(body, size));
	if (type == FORMAT_RECORD_MAP)
		return take_map(taker, provider, common_cursor(body, size));
	return 0;
}

int record_writer_take_schemas(struct record_providers *providers, struct record_writer *writer)
{
	struct schema_taker taker = {providers, writer};
	char cause[256];
	int status = record_shm_process_chunks(&writer->shm, take_record, &taker);

	if (status != PTL_CORRUPT || writer->schemas_bad)
		return status == PTL_CORRUPT ? 0 : status;
	writer->schemas_bad = true;
	snprintf(cause, sizeof(cause), "schemas of a program's providers: %s", ptl_error_text());
	return record_writer_lose(providers, writer, 0, 0, cause);
}
