/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes ptl-dump events with any schema and any payload. The output must be one line, or JSON. The event's message and
 * conditions on fields also read the payload.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event/event_query.h"
#include "common/bytes.h"
#include "common/text/text.h"
#include "dump/print/payload.h"

#define FIELDS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fields of 5 bytes each: type, format, array, length, array length; their number comes first. */
static size_t read_fields(struct common_cursor *cursor, struct ptl_field *fields)
{
	static const char *const names[] = {"A", "B\x1b", "Reserved", "D e"};
	const size_t count = common_read8(cursor) % FIELDS_MAX;

	for (size_t i = 0; i < count; i++)
		fields[i] = (struct ptl_field){
			.name = names[i % (sizeof(names) / sizeof(names[0]))],
			.type = common_read8(cursor),
			.format = common_read8(cursor),
			.array = common_read8(cursor),
			.length = common_read8(cursor),
			.array_length = common_read8(cursor),
		};
	return count;
}

/* Checks for one line without control characters. */
static void check_text(const struct ptl_bytes *text)
{
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] < 0x20 || text->data[i] == 0x7f)
			abort();
}

/* Reads the payload as a message and by an expression. */
static void read_as_text(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
			 struct analysis_values *values, const struct ptl_bytes *fields,
			 const struct dump_places *places)
{
	char *words = strndup((const char *)payload, size);
	struct ptl_bytes message = {0};
	const struct ptl_event event = {.payload = payload, .payload_size = size};
	struct analysis_query query = {0};

	if (!words)
		return;
	dump_text_message(&message, values, words, fields, places);
	check_text(&message);
	common_bytes_free(&message);
	if (analysis_query_add(&query, words) == 0)
		analysis_query_matches(&query, values, &event, schema);
	analysis_query_free(&query);
	free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	struct ptl_field fields[FIELDS_MAX];
	const struct ptl_schema schema = {
		.event_name = "Task/Event",
		.fields = fields,
		.field_count = read_fields(&cursor, fields),
	};
	const size_t rest = common_cursor_left(&cursor);
	const uint8_t *payload = common_read_bytes(&cursor, rest);
	struct analysis_values values = {.start_time = 1};
	struct dump_places places = {0};
	struct ptl_bytes text = {0};
	struct common_json json;
	char *made = NULL;
	size_t made_size;
	FILE *file;

	if (!payload)
		return 0;
	dump_text_payload(&text, &values, &schema, payload, rest, &places);
	check_text(&text);
	read_as_text(&schema, payload, rest, &values, &text, &places);
	common_bytes_free(&text);
	dump_places_free(&places);
	file = open_memstream(&made, &made_size);
	if (!file)
		return 0;
	common_json_start(&json, file);
	common_json_object(&json, NULL);
	dump_json_payload(&json, &values, &schema, payload, rest);
	common_bytes_free(&values.scratch);
	common_json_object_end(&json);
	/* Every nested object and array was closed. */
	if (json.depth)
		abort();
	fclose(file);
	free(made);
	return 0;
}
