/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes and decodes descriptions of partial results. */
#include "dump/run/description.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/guid.h"
#include "common/vector.h"

#define TEXT_MAX (64u << 10)
#define OPTIONS_MAX 10000

int dump_shard_parse(const char *text, uint32_t *number, uint32_t *count)
{
	const char *slash = strchr(text, '/');
	char first[16];
	uint64_t values[2] = {0};

	if (slash && (size_t)(slash - text) < sizeof(first)) {
		memcpy(first, text, (size_t)(slash - text));
		first[slash - text] = '\0';
		if (common_parse_u64(first, &values[0]) < 0 || common_parse_u64(slash + 1, &values[1]) < 0)
			values[0] = 0;
	}
	if (!values[0] || values[0] > values[1] || values[1] > DUMP_PARTIAL_SHARDS_MAX)
		return common_fail(PTL_MISUSE, "'%s' is no shard: 3/64 is the third of 64 (at most %d)", text,
				   DUMP_PARTIAL_SHARDS_MAX);
	*number = (uint32_t)values[0];
	*count = (uint32_t)values[1];
	return 0;
}

struct dump_trace_id dump_trace_id_of(const struct ptl_trace *trace)
{
	struct dump_trace_id id = {.size = ptl_trace_size(trace)};

	ptl_trace_id(trace, &id.guid, &id.wall_time);
	return id;
}

bool dump_trace_id_equal(const struct dump_trace_id *a, const struct dump_trace_id *b)
{
	return common_guid_equal(&a->guid, &b->guid) && a->wall_time == b->wall_time && a->size == b->size;
}

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

void dump_description_free(struct dump_description *description)
{
	free(description->version);
	free(description->command);
	free(description->operand);
	free_texts(description->options, description->option_count);
	free_texts(description->paths, description->path_count);
	free_texts(description->places, description->path_count);
	free(description->traces);
	*description = (struct dump_description){0};
}

/* ---- values -------------------------------------------------------------------------------------- */

void dump_trace_id_write(const struct dump_trace_id *id, struct ptl_bytes *payload)
{
	common_write_bytes(payload, &id->guid, sizeof(id->guid));
	common_write_le(payload, (uint64_t)id->wall_time, 8);
	common_write_le(payload, id->size, 8);
}

struct dump_trace_id dump_trace_id_read(struct common_cursor *payload)
{
	struct dump_trace_id id = {0};
	const uint8_t *guid = common_read_bytes(payload, sizeof(id.guid));

	if (guid)
		memcpy(&id.guid, guid, sizeof(id.guid));
	id.wall_time = (int64_t)common_read64(payload);
	id.size = common_read64(payload);
	return id;
}

void dump_partial_write_text(const char *text, struct ptl_bytes *payload)
{
	const size_t size = strlen(text);

	payload->failed |= size > TEXT_MAX;
	common_write_varint(payload, size);
	common_write_bytes(payload, text, size);
}

char *dump_partial_read_text(struct common_cursor *payload)
{
	const uint64_t size = flow_shard_read_below(payload, TEXT_MAX + 1);
	const uint8_t *bytes = common_read_bytes(payload, (size_t)size);
	char *text;

	if (!bytes || memchr(bytes, '\0', (size_t)size)) {
		payload->failed = true;
		return NULL;
	}
	text = strndup((const char *)bytes, (size_t)size);
	payload->failed |= !text;
	return text;
}

/* ---- the description ----------------------------------------------------------------------------- */

static void write_texts(char *const *texts, size_t count, struct ptl_bytes *payload)
{
	common_write_varint(payload, count);
	for (size_t i = 0; i < count; i++)
		dump_partial_write_text(texts[i], payload);
}

void dump_description_write(const struct dump_description *description, struct ptl_bytes *payload)
{
	dump_partial_write_text(description->version, payload);
	dump_partial_write_text(description->command, payload);
	dump_partial_write_text(description->operand, payload);
	write_texts(description->options, description->option_count, payload);
	common_write_varint(payload, description->number);
	common_write_varint(payload, description->count);
	write_texts(description->paths, description->path_count, payload);
	write_texts(description->places, description->path_count, payload);
	common_write_varint(payload, description->trace_count);
	for (size_t i = 0; i < description->trace_count; i++)
		dump_trace_id_write(&description->traces[i], payload);
}

/* Reads up to `most` texts. The caller frees the *count texts in any case. */
static void read_texts(struct common_cursor *payload, uint64_t most, char ***texts, size_t *count)
{
	const uint64_t wanted = flow_shard_read_below(payload, most + 1);

	*count = 0;
	*texts = NULL;
	while (*count < wanted && !payload->failed) {
		char *text = dump_partial_read_text(payload);

		if (!text || !common_vector_room(texts, *count, sizeof(**texts))) {
			free(text);
			payload->failed = true;
			return;
		}
		(*texts)[(*count)++] = text;
	}
}

static void read_traces(struct common_cursor *payload, struct dump_description *description)
{
	const uint64_t wanted = flow_shard_read_below(payload, 2 * DUMP_PARTIAL_FILES_MAX + 1);

	while (description->trace_count < wanted && !payload->failed) {
		if (!common_vector_room(&description->traces, description->trace_count, sizeof(*description->traces))) {
			payload->failed = true;
			return;
		}
		description->traces[description->trace_count++] = dump_trace_id_read(payload);
	}
}

int dump_description_read(const struct ptl_bytes *payload, struct dump_description *description)
{
	struct common_cursor cursor = common_cursor(payload->data, payload->size);
	size_t places;

	*description = (struct dump_description){0};
	description->version = dump_partial_read_text(&cursor);
	description->command = dump_partial_read_text(&cursor);
	description->operand = dump_partial_read_text(&cursor);
	read_texts(&cursor, OPTIONS_MAX, &description->options, &description->option_count);
	description->number = (uint32_t)flow_shard_read_below(&cursor, DUMP_PARTIAL_SHARDS_MAX + 1);
	description->count = (uint32_t)flow_shard_read_below(&cursor, DUMP_PARTIAL_SHARDS_MAX + 1);
	read_texts(&cursor, DUMP_PARTIAL_FILES_MAX, &description->paths, &description->path_count);
	read_texts(&cursor, DUMP_PARTIAL_FILES_MAX, &description->places, &places);
	if (places != description->path_count) {
		free_texts(description->places, places);
		free_texts(description->paths, description->path_count);
		description->places = description->paths = NULL;
		description->path_count = 0;
		return common_fail(PTL_CORRUPT, "its description cannot be right");
	}
	read_traces(&cursor, description);
	if (!cursor.failed && !common_cursor_left(&cursor) && description->number && description->path_count &&
	    description->number <= description->count && description->trace_count >= description->path_count)
		return 0;
	return common_fail(PTL_CORRUPT, "its description cannot be right");
}
