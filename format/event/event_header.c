/* SPDX-License-Identifier: BSD-2-Clause */
/* EventHeader events: header, extensions, and the descriptions seen so far. */
#include <ptl/event_header.h>

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "format/container/layout.h"
#include "format/event/event_header.h"

#define HEADER_SIZE 8
#define FLAG_LITTLE_ENDIAN 2u
#define FLAG_EXTENSION 4u
#define FLAGS_KNOWN 7u /* flag 1: pointers have 64 bits */
#define EXTENSION_DESCRIPTION 1u
#define EXTENSION_ACTIVITY 2u
#define EXTENSION_MASK 0x7fffu
#define EXTENSION_CHAIN 0x8000u
#define EXTENSIONS_MAX 64 /* most extensions kept per event */
#define OWN_ID 0x8000u    /* first id given to events without an id */

struct provider {
	char *name;
	struct ptl_guid guid;
};

/* A known description: one kind of event. */
struct known {
	struct ptl_schema schema;
	struct format_header_plan plan;
};

struct ptl_event_headers {
	int (*guid_of)(const char *name, struct ptl_guid *guid);
	struct provider *providers;
	size_t provider_count;
	struct common_byte_map provider_map; /* by name */
	struct known **known;
	size_t known_count;
	struct common_byte_map by_description; /* key: see description_key */
	struct common_byte_map by_identity;    /* key: see identity_key; identities of all assigned schemas */
	struct ptl_bytes key;
	size_t alignment; /* see ptl_event_headers_alignment */
	/* Data of the last event: */
	struct ptl_bytes payload;
	struct ptl_extended extended[EXTENSIONS_MAX + 1];
};

int ptl_event_headers_new(int (*guid_of)(const char *name, struct ptl_guid *guid), struct ptl_event_headers **headers)
{
	*headers = calloc(1, sizeof(**headers));
	if (!*headers)
		return common_fail_memory("EventHeader descriptions", sizeof(**headers));
	(*headers)->guid_of = guid_of;
	return 0;
}

void ptl_event_headers_alignment(struct ptl_event_headers *headers, size_t below)
{
	headers->alignment = below;
}

void ptl_event_headers_free(struct ptl_event_headers *headers)
{
	if (!headers)
		return;
	for (size_t i = 0; i < headers->known_count; i++) {
		format_header_forget(&headers->known[i]->schema, &headers->known[i]->plan);
		free(headers->known[i]);
	}
	for (size_t i = 0; i < headers->provider_count; i++)
		free(headers->providers[i].name);
	free(headers->known);
	free(headers->providers);
	common_byte_map_free(&headers->provider_map);
	common_byte_map_free(&headers->by_description);
	common_byte_map_free(&headers->by_identity);
	common_bytes_free(&headers->key);
	common_bytes_free(&headers->payload);
	free(headers);
}

/* ---- parsing an event ------------------------------------------------------------------------------ */

struct parsed {
	struct ptl_tracepoint_name name;
	bool big_endian;
	uint8_t flags, version, opcode, level;
	uint16_t id, tag;
	const uint8_t *description; /* NULL: none */
	size_t description_size;
	const uint8_t *activity; /* NULL: none */
	size_t activity_size;
	const uint8_t *payload;
	size_t payload_size;
	size_t extended_count;
};

static uint16_t take16(struct common_cursor *in, bool big_endian)
{
	const uint16_t value = common_read16(in);

	return big_endian ? __builtin_bswap16(value) : value;
}

static int corrupt(const char *cause)
{
	return common_fail(PTL_CORRUPT, "an EventHeader event: %s", cause);
}

static int take_extension(struct ptl_event_headers *headers, struct parsed *event, unsigned kind, const uint8_t *data,
			  uint16_t size)
{
	if (kind == EXTENSION_DESCRIPTION) {
		if (event->description)
			return corrupt("it has two descriptions");
		event->description = data;
		event->description_size = size;
	} else if (kind == EXTENSION_ACTIVITY) {
		if (event->activity || (size != 16 && size != 32))
			return corrupt("its activity ids are of no known size");
		event->activity = data;
		event->activity_size = size;
	} else if (!kind) {
		return corrupt("an extension has no kind");
	} else if (event->extended_count < EXTENSIONS_MAX) {
		headers->extended[event->extended_count++] = (struct ptl_extended){
			.type = (uint16_t)kind, .size = size, .data = data};
	}
	return 0;
}

static int take_extensions(struct ptl_event_headers *headers, struct common_cursor *in, struct parsed *event)
{
	unsigned kind = EXTENSION_CHAIN;
	int status = 0;

	while (!status && (kind & EXTENSION_CHAIN)) {
		const uint16_t size = take16(in, event->big_endian);
		const uint8_t *data;

		kind = take16(in, event->big_endian);
		data = common_read_bytes(in, size);
		if (!data)
			return corrupt("its extensions do not fit");
		status = take_extension(headers, event, kind & EXTENSION_MASK, data, size);
	}
	return status;
}

/* Parses an event. On failure, `event` has the valid parts. */
static int parse_event(struct ptl_event_headers *headers, const char *tracepoint, const uint8_t *bytes, size_t size,
		       struct parsed *event)
{
	struct common_cursor in = common_cursor(bytes, size);
	int status = 0;

	*event = (struct parsed){0};
	if (!ptl_tracepoint_name_parse(tracepoint, &event->name))
		return common_fail(PTL_NOT_OURS, "the tracepoint '%s' is none of EventHeader's", tracepoint);
	if (size < HEADER_SIZE)
		return common_fail(PTL_TRUNCATED, "an EventHeader event of %zu bytes", size);
	event->flags = common_read8(&in);
	if (event->flags & ~FLAGS_KNOWN)
		return common_fail(PTL_UNSUPPORTED, "an EventHeader event with unknown flags 0x%x", event->flags);
	event->big_endian = !(event->flags & FLAG_LITTLE_ENDIAN);
	event->version = common_read8(&in);
	event->id = take16(&in, event->big_endian);
	event->tag = take16(&in, event->big_endian);
	event->opcode = common_read8(&in);
	event->level = common_read8(&in);
	event->payload = bytes + HEADER_SIZE;
	event->payload_size = size - HEADER_SIZE;
	if (event->level != event->name.level)
		return corrupt("its level is not the tracepoint's");
	if (event->flags & FLAG_EXTENSION)
		status = take_extensions(headers, &in, event);
	if (status) {
		event->description = event->activity = NULL;
		event->extended_count = 0;
		return status;
	}
	event->payload = bytes + in.at;
	event->payload_size = common_cursor_left(&in);
	return 0;
}

/* ---- known providers and descriptions -------------------------------------------------------------- */

static int find_provider(struct ptl_event_headers *headers, const char *name, struct provider **provider)
{
	const size_t size = strlen(name), count = headers->provider_count;
	const uint64_t *known = common_byte_map_get(&headers->provider_map, name, size);
	struct provider made = {0};
	int status;

	if (known) {
		*provider = &headers->providers[*known];
		return 0;
	}
	status = headers->guid_of(name, &made.guid);
	if (status)
		return status;
	made.name = strdup(name);
	if (!made.name || !common_vector_room(&headers->providers, count, sizeof(made)) ||
	    common_byte_map_put(&headers->provider_map, name, size, count) < 0) {
		free(made.name);
		return common_fail_memory("providers", count * sizeof(made));
	}
	headers->providers[headers->provider_count++] = made;
	*provider = &headers->providers[count];
	return 0;
}

/* Sets headers->key to the provider and all properties that distinguish kinds of events. False without memory. */
static bool description_key(struct ptl_event_headers *headers, const struct ptl_guid *provider,
			    const struct parsed *event)
{
	struct ptl_bytes *key = &headers->key;

	key->size = 0;
	common_write_bytes(key, provider->bytes, sizeof(provider->bytes));
	common_write_le(key, event->name.keyword, 8);
	common_write_le(key, event->big_endian, 1);
	common_write_le(key, event->id, 2);
	common_write_le(key, event->version, 1);
	common_write_le(key, event->tag, 2);
	common_write_le(key, event->opcode, 1);
	common_write_le(key, event->level, 1);
	common_write_bytes(key, event->description, event->description_size);
	return !key->failed;
}

#define IDENTITY_SIZE 20

static void identity_key(const struct ptl_schema *schema, uint8_t key[IDENTITY_SIZE])
{
	memcpy(key, schema->provider.bytes, 16);
	common_store16(key + 16, schema->id);
	key[18] = schema->version;
	key[19] = schema->opcode;
}

/*
 * Gives the schema its event's identity. If the event has no id, or another schema has the identity, derives an
 * identity from a hash, since a file can hold only one schema of an identity.
 */
static int set_identity(struct ptl_event_headers *headers, struct ptl_schema *schema, size_t number)
{
	uint64_t hash = format_checksum(headers->key.data, headers->key.size);
	uint8_t identity[IDENTITY_SIZE];
	bool own = schema->id != 0;

	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		if (!own) {
			schema->id = (uint16_t)(OWN_ID | (hash & 0x7fff));
			schema->version = (uint8_t)(hash >> 16);
			hash++;
		}
		own = false;
		identity_key(schema, identity);
		if (!common_byte_map_get(&headers->by_identity, identity, sizeof(identity)))
			return common_byte_map_put(&headers->by_identity, identity, sizeof(identity), number) < 0
				       ? common_fail_memory("schemas", number)
				       : 0;
	}
	return common_fail(PTL_UNSUPPORTED, "a provider of EventHeader has too many kinds of events");
}

static const char *opcode_name(uint8_t opcode)
{
	static const char *const names[] = {
		"",       "Start",   "Stop", "DataCollectionStart", "DataCollectionStop", "Extension", "Reply",
		"Resume", "Suspend", "Send"};

	if (opcode == PTL_OPCODE_RECEIVE)
		return "Receive";
	return opcode < sizeof(names) / sizeof(names[0]) ? names[opcode] : "";
}

static struct known *new_known(const struct provider *provider, const struct parsed *event)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->schema = (struct ptl_schema){
		.provider = provider->guid,
		.id = event->id,
		.version = event->version,
		.opcode = event->opcode,
		.provider_name = provider->name,
		.task_name = "",
		.opcode_name = opcode_name(event->opcode),
		.message = "",
		.level = event->level,
		.keyword = event->name.keyword,
		.tags = event->tag,
	};
	return known;
}

/* Adds a description. headers->key must be the description's key. */
static int add_known(struct ptl_event_headers *headers, const struct provider *provider, const struct parsed *event,
		     struct known **made)
{
	const size_t count = headers->known_count;
	struct known *known = new_known(provider, event);
	int status;

	if (!known || !common_vector_room(&headers->known, count, sizeof(known))) {
		free(known);
		return common_fail_memory("EventHeader descriptions", count * sizeof(*known));
	}
	status = format_header_describe(event->description, event->description_size, event->big_endian, &known->schema,
					&known->plan);
	if (status) {
		free(known);
		return status;
	}
	status = set_identity(headers, &known->schema, count);
	if (!status && common_byte_map_put(&headers->by_description, headers->key.data, headers->key.size, count) < 0)
		status = common_fail_memory("EventHeader descriptions", count);
	if (status) {
		format_header_forget(&known->schema, &known->plan);
		free(known);
		return status;
	}
	headers->known[headers->known_count++] = known;
	*made = known;
	return 0;
}

static int find_known(struct ptl_event_headers *headers, const struct provider *provider, const struct parsed *event,
		      struct known **known, bool *is_new)
{
	const uint64_t *number;

	if (!description_key(headers, &provider->guid, event))
		return common_fail_memory("a description", event->description_size);
	number = common_byte_map_get(&headers->by_description, headers->key.data, headers->key.size);
	*is_new = !number;
	if (!number)
		return add_known(headers, provider, event, known);
	*known = headers->known[*number];
	return 0;
}

/* ---- the event ------------------------------------------------------------------------------------- */

static void set_event(struct ptl_event_headers *headers, const struct parsed *parsed, const struct ptl_guid *provider,
		      struct ptl_event *event)
{
	event->descriptor = (struct ptl_descriptor){
		.provider = *provider,
		.id = parsed->id,
		.version = parsed->version,
		.level = parsed->level,
		.opcode = parsed->opcode,
		.keyword = parsed->name.keyword,
	};
	event->flags = 0;
	if (parsed->activity) {
		event->flags |= PTL_EVENT_HAS_ACTIVITY;
		common_guid_from_uuid(&event->activity, parsed->activity);
	}
	if (parsed->activity && parsed->activity_size == 32) {
		event->flags |= PTL_EVENT_HAS_RELATED;
		common_guid_from_uuid(&event->related, parsed->activity + 16);
	}
	event->payload = parsed->payload;
	event->payload_size = parsed->payload_size < PTL_PAYLOAD_MAX ? parsed->payload_size : PTL_PAYLOAD_MAX;
	event->extended = headers->extended;
	event->extended_count = parsed->extended_count;
}

static int set_payload(struct ptl_event_headers *headers, const struct parsed *parsed, const struct known *known,
		       struct ptl_event *event)
{
	int status;

	event->descriptor.id = known->schema.id;
	event->descriptor.version = known->schema.version;
	headers->payload.size = 0;
	status = format_header_rewrite(&known->schema, &known->plan, parsed->payload, parsed->payload_size,
				       headers->alignment, &headers->payload);
	if (status == PTL_NO_MEMORY)
		return status;
	event->payload = headers->payload.data;
	event->payload_size = headers->payload.size < PTL_PAYLOAD_MAX ? headers->payload.size : PTL_PAYLOAD_MAX;
	if (status)
		headers->extended[event->extended_count++] = (struct ptl_extended){
			.type = PTL_EXTENDED_EVENT_HEADER,
			.size = (uint16_t)(parsed->payload_size < UINT16_MAX ? parsed->payload_size : UINT16_MAX),
			.data = parsed->payload,
		};
	return 0;
}

int ptl_event_header_decode(struct ptl_event_headers *headers, const char *tracepoint, const uint8_t *bytes,
			    size_t size, struct ptl_event *event, const struct ptl_schema **schema, bool *is_new)
{
	struct provider *provider = NULL;
	struct known *known = NULL;
	struct parsed parsed;
	int status = parse_event(headers, tracepoint, bytes, size, &parsed), corrupted;

	*schema = NULL;
	*is_new = false;
	if (status && status != PTL_CORRUPT)
		return status;
	corrupted = status;
	status = find_provider(headers, parsed.name.provider, &provider);
	if (status)
		return status;
	set_event(headers, &parsed, &provider->guid, event);
	if (corrupted || !parsed.description)
		return corrupted;
	status = find_known(headers, provider, &parsed, &known, is_new);
	if (status == PTL_CORRUPT) {
		event->payload = bytes + HEADER_SIZE;
		event->payload_size = size - HEADER_SIZE < PTL_PAYLOAD_MAX ? size - HEADER_SIZE : PTL_PAYLOAD_MAX;
		*is_new = false;
	}
	if (status)
		return status;
	*schema = &known->schema;
	return set_payload(headers, &parsed, known, event);
}
