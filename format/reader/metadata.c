/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the METADATA buffers of a trace. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "format/metadata/metadata.h"
#include "format/reader/reader_internal.h"
#include "common/vector.h"

#define SCHEMA_KEY_SIZE 20

/*
 * Bytes that the memory budget counts for a record, for a schema or map, and for each of its fields or entries:
 * slightly more than measured, including the writer's copy for the output.
 */
#define RECORD_BYTES 128
#define TYPE_BYTES 1024
#define ITEM_BYTES 192
#define ATTACHMENT_BYTES 320

/* Key of a schema: provider, id, version, opcode. */
static void schema_key(const struct ptl_guid *provider, uint16_t id, uint8_t version, uint8_t opcode,
		       uint8_t key[SCHEMA_KEY_SIZE])
{
	memcpy(key, provider->bytes, 16);
	common_store16(key + 16, id);
	key[18] = version;
	key[19] = opcode;
}

static int take_machine(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_machine machine;
	struct ptl_machine **place;
	int status = format_machine_decode(body, &machine);

	if (status || machine.index == 0) {
		if (!status)
			trace->metadata.machine = machine;
		return status;
	}
	if (!trace->metadata.machines)
		trace->metadata.machines = calloc(PTL_MACHINE_MAX + 1, sizeof(struct ptl_machine *));
	place = trace->metadata.machines ? &trace->metadata.machines[machine.index] : NULL;
	if (place && !*place)
		*place = malloc(sizeof(machine));
	if (!place || !*place)
		return common_fail_memory("a machine", sizeof(machine));
	**place = machine;
	if (machine.index >= trace->metadata.machine_count)
		trace->metadata.machine_count = machine.index + 1u;
	return 0;
}

static int take_stream(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_stream stream;
	const int status = format_stream_decode(body, &stream);
	bool made;

	if (status)
		return status;
	return format_register_stream(trace, &stream, &made) ? 0 : PTL_NO_MEMORY;
}

static int take_schema(struct ptl_trace *trace, struct common_cursor body)
{
	uint8_t key[SCHEMA_KEY_SIZE];
	struct ptl_schema *schema;
	int status = format_schema_decode(body, &schema);

	if (status)
		return status;
	schema_key(&schema->provider, schema->id, schema->version, schema->opcode, key);
	if (common_byte_map_get(&trace->metadata.schema_map, key, sizeof(key))) {
		format_schema_free(schema);
		return 0;
	}
	status = common_memory_budget_take(&trace->memory_budget, TYPE_BYTES + schema->field_count * ITEM_BYTES,
					   "schemas", trace->metadata.schema_count + 1);
	if (status) {
		format_schema_free(schema);
		return status;
	}
	if (!common_vector_room(&trace->metadata.schemas, trace->metadata.schema_count, sizeof(schema)) ||
	    common_byte_map_put(&trace->metadata.schema_map, key, sizeof(key), trace->metadata.schema_count) < 0) {
		format_schema_free(schema);
		return common_fail_memory("schemas", trace->metadata.schema_count * sizeof(schema));
	}
	trace->metadata.items += schema->field_count;
	trace->metadata.schemas[trace->metadata.schema_count++] = schema;
	return 0;
}

/* Builds the key of a map: provider, kind, name. False without memory. */
static bool map_key(const struct ptl_guid *provider, uint32_t kind, const char *name, struct ptl_bytes *key)
{
	common_write_bytes(key, provider->bytes, sizeof(provider->bytes));
	common_write_le(key, kind, 4);
	common_write_bytes(key, name, strlen(name));
	return !key->failed;
}

/* Adds a map and takes ownership of it on success. */
static int add_map(struct ptl_trace *trace, struct ptl_map *map, const struct ptl_bytes *key)
{
	const uint64_t *known = common_byte_map_get(&trace->metadata.map_map, key->data, key->size);

	if (known)
		return format_map_append(trace->metadata.maps[*known], map);
	if (!common_vector_room(&trace->metadata.maps, trace->metadata.map_count, sizeof(map)) ||
	    common_byte_map_put(&trace->metadata.map_map, key->data, key->size, trace->metadata.map_count) < 0)
		return common_fail_memory("maps", trace->metadata.map_count * sizeof(map));
	trace->metadata.maps[trace->metadata.map_count++] = map;
	return 0;
}

static int take_map(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_bytes key = {0};
	struct ptl_map *map;
	int status = format_map_decode(body, &map);

	if (status)
		return status;
	trace->metadata.items += map->count;
	status = common_memory_budget_take(&trace->memory_budget, TYPE_BYTES + map->count * ITEM_BYTES, "maps",
					   trace->metadata.map_count + 1);
	if (status) {
		format_map_free(map);
		return status;
	}
	if (map_key(&map->provider, map->kind, map->name, &key))
		status = add_map(trace, map, &key);
	else
		status = common_fail_memory("maps", key.size);
	if (status)
		format_map_free(map);
	common_bytes_free(&key);
	return status;
}

static int take_loss(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_loss *loss;
	const int status = format_loss_decode(body, &loss);

	if (status)
		return status;
	if (!common_vector_room(&trace->metadata.losses, trace->metadata.loss_count, sizeof(loss))) {
		format_loss_free(loss);
		return common_fail_memory("losses", trace->metadata.loss_count * sizeof(loss));
	}
	trace->metadata.losses[trace->metadata.loss_count++] = loss;
	return 0;
}

static int take_attachment(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_attachment *attachment;
	int status = common_memory_budget_take(&trace->memory_budget, ATTACHMENT_BYTES, "attachments",
					       trace->metadata.attachment_count + 1);

	if (!status)
		status = format_attachment_decode(body, &attachment);
	if (status)
		return status;
	if (!common_vector_room(&trace->metadata.attachments, trace->metadata.attachment_count, sizeof(attachment)) ||
	    common_byte_map_put(&trace->metadata.attached, attachment->hash, PTL_HASH_SIZE, 1) < 0) {
		format_attachment_free(attachment);
		return common_fail_memory("attachments", trace->metadata.attachment_count * sizeof(attachment));
	}
	trace->metadata.attachments[trace->metadata.attachment_count++] = attachment;
	return 0;
}

/* Only checks the record. Merging of files reads the stored record later. */
static int take_recording(struct ptl_trace *trace, struct common_cursor body)
{
	uint8_t name[16];

	(void)trace;
	return format_recording_decode(body, name);
}

static int take_provenance(struct ptl_trace *trace, struct common_cursor body)
{
	struct ptl_provenance *provenance;
	const int status = format_provenance_decode(body, &provenance);

	if (status)
		return status;
	if (!common_vector_room(&trace->metadata.provenances, trace->metadata.provenance_count, sizeof(provenance))) {
		format_provenance_free(provenance);
		return common_fail_memory("provenance", trace->metadata.provenance_count * sizeof(provenance));
	}
	trace->metadata.items += provenance->inputs;
	trace->metadata.provenances[trace->metadata.provenance_count++] = provenance;
	return 0;
}

static const struct {
	int (*take)(struct ptl_trace *trace, struct common_cursor body);
	const char *what; /* for the message that there are too many */
} takers[FORMAT_RECORD_TYPES] = {
	[FORMAT_RECORD_MACHINE] = {take_machine, "machines"},
	[FORMAT_RECORD_STREAM] = {take_stream, "streams"},
	[FORMAT_RECORD_SCHEMA] = {take_schema, "schemas"},
	[FORMAT_RECORD_LOSS] = {take_loss, "losses"},
	[FORMAT_RECORD_PROVENANCE] = {take_provenance, "steps of provenance"},
	[FORMAT_RECORD_MAP] = {take_map, "maps"},
	[FORMAT_RECORD_ATTACHMENT] = {take_attachment, "attachments"},
	[FORMAT_RECORD_RECORDING] = {take_recording, "recordings"},
};

static bool is_known_type(uint64_t type)
{
	return type < FORMAT_RECORD_TYPES && takers[type].take;
}

static void report_record(struct ptl_trace *trace, const struct format_entry *entry, uint64_t type)
{
	if (common_hash_map_get(&trace->metadata.unknown_types, type) ||
	    common_hash_map_put(&trace->metadata.unknown_types, type, 1) < 0)
		return;
	format_damage_add(trace, entry->buffer.offset, 0, PTL_UNSUPPORTED, entry->buffer.stream.id,
			  "metadata records of the unknown type %" PRIu64 " are skipped", type);
}

static int take_record(struct ptl_trace *trace, const struct format_entry *entry, const struct ptl_record *record)
{
	uint64_t *number = &trace->metadata.record_numbers[record->known ? record->type : 0];
	int status = common_memory_budget_take(&trace->memory_budget, RECORD_BYTES,
					       record->known ? takers[record->type].what : "metadata records",
					       ++*number);

	if (status)
		return status;
	if (!common_vector_room(&trace->metadata.records, trace->metadata.record_count, sizeof(*record)))
		return common_fail_memory("metadata", trace->metadata.record_count * sizeof(*record));
	if (!record->known) {
		report_record(trace, entry, record->type);
		trace->metadata.records[trace->metadata.record_count++] = *record;
		return 0;
	}
	status = takers[record->type].take(trace, common_cursor(record->data, record->size));
	if (status == PTL_CORRUPT) {
		format_damage_add(trace, entry->buffer.offset, 0, status, entry->buffer.stream.id, "%s",
				  ptl_error_text());
		return 0;
	}
	if (!status)
		trace->metadata.records[trace->metadata.record_count++] = *record;
	return status;
}

static int take_records(struct ptl_trace *trace, const struct format_entry *entry, const uint8_t *data, size_t size)
{
	struct common_cursor in = common_cursor(data, size);
	int status = 0;

	while (!status && common_cursor_left(&in)) {
		struct ptl_record record;

		/* A record of two bytes takes a hundred bytes in memory, so the number of records has its own limit. */
		if (trace->metadata.items++ >= FORMAT_METADATA_ITEMS_MAX) {
			format_damage_add(trace, entry->buffer.offset, 0, PTL_CORRUPT, entry->buffer.stream.id,
					  "there are too many metadata records");
			return 0;
		}
		record.type = common_read_varint(&in);
		record.size = common_read_varint(&in);
		record.data = common_read_bytes(&in, record.size);
		record.known = is_known_type(record.type);
		if (!record.data) {
			format_damage_add(trace, entry->buffer.offset, 0, PTL_CORRUPT, entry->buffer.stream.id,
					  "a metadata record does not fit");
			return 0;
		}
		status = take_record(trace, entry, &record);
	}
	return status;
}

static int load_buffer(struct ptl_trace *trace, size_t i, size_t *total)
{
	struct format_entry *entry = &trace->entries[i];
	uint8_t *data;
	size_t size;
	int status;

	if (!entry->usable)
		return 0;
	if (entry->buffer.raw_size > FORMAT_METADATA_MAX - *total) {
		format_damage_entry(
			trace, entry,
			common_fail(PTL_CORRUPT, "there is more metadata than %u bytes", FORMAT_METADATA_MAX));
		return 0;
	}
	*total += entry->buffer.raw_size;
	if (!common_vector_room(&trace->metadata.payloads, trace->metadata.payload_count, sizeof(data)))
		return common_fail_memory("metadata", trace->metadata.payload_count * sizeof(data));
	status = ptl_buffer_read(trace, i, &data, &size);
	if (status)
		return status == PTL_NO_MEMORY || status == PTL_SYSTEM ? status : 0;
	trace->metadata.payloads[trace->metadata.payload_count++] = data;
	return take_records(trace, entry, data, size);
}

int format_metadata_load(struct ptl_trace *trace, size_t first, size_t *total)
{
	int status = 0;

	for (size_t i = first; i < trace->entry_count && !status; i++)
		if (trace->entries[i].buffer.stream.kind == PTL_KIND_METADATA)
			status = load_buffer(trace, i, total);
	for (size_t i = 0; i < trace->metadata.map_count && !status; i++)
		status = format_map_sort(trace->metadata.maps[i]);
	return status;
}

void format_metadata_free(struct ptl_trace *trace)
{
	for (size_t i = 0; i < trace->metadata.machine_count; i++)
		free(trace->metadata.machines[i]);
	free(trace->metadata.machines);
	for (size_t i = 0; i < trace->metadata.schema_count; i++)
		format_schema_free(trace->metadata.schemas[i]);
	for (size_t i = 0; i < trace->metadata.map_count; i++)
		format_map_free(trace->metadata.maps[i]);
	for (size_t i = 0; i < trace->metadata.loss_count; i++)
		format_loss_free(trace->metadata.losses[i]);
	for (size_t i = 0; i < trace->metadata.attachment_count; i++)
		format_attachment_free(trace->metadata.attachments[i]);
	for (size_t i = 0; i < trace->metadata.provenance_count; i++)
		format_provenance_free(trace->metadata.provenances[i]);
	for (size_t i = 0; i < trace->metadata.payload_count; i++)
		free(trace->metadata.payloads[i]);
	free(trace->metadata.schemas);
	free(trace->metadata.maps);
	free(trace->metadata.losses);
	free(trace->metadata.attachments);
	free(trace->metadata.provenances);
	free(trace->metadata.payloads);
	free(trace->metadata.records);
	common_byte_map_free(&trace->metadata.schema_map);
	common_byte_map_free(&trace->metadata.map_map);
	common_byte_map_free(&trace->metadata.attached);
	common_hash_map_free(&trace->metadata.unknown_types);
}

/* ---- look-up ----------------------------------------------------------------------------------------- */

size_t ptl_machine_count(const struct ptl_trace *trace)
{
	return trace->metadata.machine_count ? trace->metadata.machine_count : 1;
}

const struct ptl_machine *ptl_machine_at(const struct ptl_trace *trace, size_t index)
{
	if (index == 0)
		return &trace->metadata.machine;
	return index < trace->metadata.machine_count ? trace->metadata.machines[index] : NULL;
}

const struct ptl_machine *ptl_machine_of(const struct ptl_trace *trace, uint32_t id)
{
	const struct ptl_machine *machine = id == PTL_NO_ID ? NULL : ptl_machine_at(trace, id / PTL_MACHINE_IDS);

	return machine ? machine : &trace->metadata.machine;
}

const struct ptl_machine *ptl_trace_machine(const struct ptl_trace *trace)
{
	return &trace->metadata.machine;
}

size_t ptl_attachment_count(const struct ptl_trace *trace)
{
	return trace->metadata.attachment_count;
}

const struct ptl_attachment *ptl_attachment_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.attachment_count ? trace->metadata.attachments[i] : NULL;
}

bool format_is_attached(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE])
{
	return common_byte_map_get(&trace->metadata.attached, hash, PTL_HASH_SIZE) != NULL;
}

size_t ptl_loss_count(const struct ptl_trace *trace)
{
	return trace->metadata.loss_count;
}

const struct ptl_loss *ptl_loss_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.loss_count ? trace->metadata.losses[i] : NULL;
}

size_t ptl_provenance_count(const struct ptl_trace *trace)
{
	return trace->metadata.provenance_count;
}

const struct ptl_provenance *ptl_provenance_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.provenance_count ? trace->metadata.provenances[i] : NULL;
}

size_t ptl_schema_count(const struct ptl_trace *trace)
{
	return trace->metadata.schema_count;
}

const struct ptl_schema *ptl_schema_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.schema_count ? trace->metadata.schemas[i] : NULL;
}

const struct ptl_schema *ptl_schema_of(const struct ptl_trace *trace, const struct ptl_event *event)
{
	return ptl_event_is_raw(event) ? NULL : ptl_schema_find(trace, &event->descriptor);
}

const struct ptl_schema *ptl_schema_find(const struct ptl_trace *trace, const struct ptl_descriptor *descriptor)
{
	uint8_t key[SCHEMA_KEY_SIZE];
	const uint64_t *known;

	schema_key(&descriptor->provider, descriptor->id, descriptor->version, descriptor->opcode, key);
	known = common_byte_map_get(&trace->metadata.schema_map, key, sizeof(key));
	return known ? trace->metadata.schemas[*known] : NULL;
}

size_t ptl_map_count(const struct ptl_trace *trace)
{
	return trace->metadata.map_count;
}

const struct ptl_map *ptl_map_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.map_count ? trace->metadata.maps[i] : NULL;
}

const struct ptl_map *ptl_map_find(const struct ptl_trace *trace, const struct ptl_guid *provider, uint32_t kind,
				   const char *name)
{
	struct ptl_bytes key = {0};
	const uint64_t *known = NULL;

	if (map_key(provider, kind, name, &key))
		known = common_byte_map_get(&trace->metadata.map_map, key.data, key.size);
	common_bytes_free(&key);
	return known ? trace->metadata.maps[*known] : NULL;
}

const struct ptl_map *ptl_map_of_field(const struct ptl_trace *trace, const struct ptl_guid *provider,
				       const struct ptl_field *field)
{
	const struct ptl_map *map;

	if (!field->map || !*field->map || !trace->metadata.map_count)
		return NULL;
	map = ptl_map_find(trace, provider, PTL_MAP_VALUES, field->map);
	return map ? map : ptl_map_find(trace, provider, PTL_MAP_FLAGS, field->map);
}

size_t ptl_record_count(const struct ptl_trace *trace)
{
	return trace->metadata.record_count;
}

const struct ptl_record *ptl_record_at(const struct ptl_trace *trace, size_t i)
{
	return i < trace->metadata.record_count ? &trace->metadata.records[i] : NULL;
}
