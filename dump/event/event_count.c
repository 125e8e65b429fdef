/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump events --count: an overview of the events in a trace. */
#include "dump/event/event_count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/print/table.h"

#define IDENTITY 20u /* bytes: provider, id, version, opcode */

static void write_identity(const struct ptl_descriptor *descriptor, uint8_t identity[IDENTITY])
{
	memcpy(identity, descriptor->provider.bytes, 16);
	common_store16(identity + 16, descriptor->id);
	identity[18] = descriptor->version;
	identity[19] = descriptor->opcode;
}

static bool is_kind(const struct dump_event_kind *kind, const struct ptl_descriptor *descriptor)
{
	const struct ptl_descriptor *own = &kind->descriptor;

	return own->id == descriptor->id && own->version == descriptor->version && own->opcode == descriptor->opcode &&
	       common_guid_equal(&own->provider, &descriptor->provider);
}

static int add_kind(struct dump_event_count *count, const struct ptl_event *event, const struct ptl_schema *schema,
		    const uint8_t identity[IDENTITY])
{
	if (COMMON_VECTOR_RESERVE(count->list, count->capacity, count->used + 1, "kinds of events"))
		return PTL_NO_MEMORY;
	count->list[count->used] = (struct dump_event_kind){.descriptor = event->descriptor, .schema = schema};
	count->last = count->used;
	return common_byte_map_put(&count->kinds, identity, IDENTITY, count->used++);
}

int dump_event_count_add(struct dump_event_count *count, const struct ptl_event *event, const struct ptl_schema *schema)
{
	/* Events of one kind often follow each other. */
	if (count->last >= count->used || !is_kind(&count->list[count->last], &event->descriptor)) {
		uint8_t identity[IDENTITY];
		const uint64_t *found;
		int status = 0;

		write_identity(&event->descriptor, identity);
		found = common_byte_map_get(&count->kinds, identity, IDENTITY);
		if (found)
			count->last = (size_t)*found;
		else
			status = add_kind(count, event, schema, identity);
		if (status)
			return status;
	}
	count->list[count->last].count++;
	count->list[count->last].bytes += event->payload_size;
	return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_counts(const void *a, const void *b)
{
	const struct ptl_descriptor *left = &((const struct dump_event_kind *)a)->descriptor;
	const struct ptl_descriptor *right = &((const struct dump_event_kind *)b)->descriptor;
	char texts[2][PTL_GUID_TEXT_SIZE];
	int order;

	common_guid_format(&left->provider, texts[0]);
	common_guid_format(&right->provider, texts[1]);
	order = strcmp(texts[0], texts[1]);
	if (!order)
		order = compare_numbers(left->id, right->id);
	if (!order)
		order = compare_numbers(left->opcode, right->opcode);
	return order ? order : compare_numbers(left->version, right->version);
}

/* Returns events per second. */
static double rate_of(uint64_t count, uint64_t span)
{
	return (double)count * 1e9 / (double)span;
}

static void json_kind(struct dump_session *session, const struct dump_names *names, const struct dump_event_kind *kind,
		      uint64_t span, struct ptl_bytes *scratch)
{
	struct common_json *json = &session->json_out;
	const struct ptl_descriptor *descriptor = &kind->descriptor;
	const char *provider = dump_names_provider(names, &descriptor->provider);
	char guid[PTL_GUID_TEXT_SIZE];

	common_guid_format(&descriptor->provider, guid);
	scratch->size = 0;
	dump_text_event_name(scratch, names, descriptor, kind->schema);
	common_json_object(json, NULL);
	if (provider)
		common_json_string(json, "provider", provider);
	common_json_string(json, "provider_guid", guid);
	common_json_string(json, "name", common_text_string(scratch));
	common_json_u64(json, "id", descriptor->id);
	common_json_u64(json, "version", descriptor->version);
	common_json_u64(json, "opcode", descriptor->opcode);
	common_json_u64(json, "count", kind->count);
	common_json_u64(json, "bytes", kind->bytes);
	if (span)
		common_json_double(json, "per_second", rate_of(kind->count, span));
	else
		common_json_null(json, "per_second");
	common_json_object_end(json);
	common_json_line(json);
}

static void rate_cell(struct dump_table *table, uint64_t count, uint64_t span)
{
	if (span)
		dump_cell_format(table, DUMP_STYLE_PLAIN, rate_of(count, span) < 1000 ? "%.4g" : "%.0f",
				 rate_of(count, span));
	else
		dump_cell(table, DUMP_STYLE_PLAIN, "-");
}

static void text_kind(struct dump_table *table, const struct dump_names *names, const struct dump_event_kind *kind,
		      uint64_t span)
{
	const struct ptl_descriptor *descriptor = &kind->descriptor;

	common_text_count(&table->text, kind->count);
	dump_cell_text(table, DUMP_STYLE_BOLD);
	rate_cell(table, kind->count, span);
	common_text_count(&table->text, kind->bytes);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu16, descriptor->id);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu8, descriptor->opcode);
	dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu8, descriptor->version);
	dump_text_full_name(&table->text, names, descriptor, kind->schema);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static int print_text(struct dump_event_count *count, struct dump_session *session, const struct dump_names *names,
		      uint64_t span)
{
	static const struct dump_column columns[] = {
		{"EVENTS", true}, {"PER SECOND", true}, {"BYTES", true},  {"ID", true},
		{"OPCODE", true}, {"VERSION", true},    {"EVENT", false},
	};
	struct dump_table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
	uint64_t events = 0, bytes = 0;

	for (size_t i = 0; i < count->used; i++) {
		text_kind(&table, names, &count->list[i], span);
		events += count->list[i].count;
		bytes += count->list[i].bytes;
	}
	common_text_count(&table.text, events);
	dump_cell_text(&table, DUMP_STYLE_BOLD);
	rate_cell(&table, events, span);
	common_text_count(&table.text, bytes);
	dump_cell_text(&table, DUMP_STYLE_PLAIN);
	for (size_t i = 3; i < table.column_count; i++)
		dump_cell(&table, DUMP_STYLE_PLAIN, i + 1 < table.column_count ? "-" : "all");
	return dump_table_print(&table, session);
}

int dump_event_count_print(struct dump_event_count *count, struct dump_session *session, const struct dump_names *names,
			   uint64_t span)
{
	struct ptl_bytes scratch = {0};
	int status = 0;

	if (count->used)
		qsort(count->list, count->used, sizeof(*count->list), compare_counts);
	if (!session->options->json)
		return print_text(count, session, names, span);
	for (size_t i = 0; !status && i < count->used; i++) {
		json_kind(session, names, &count->list[i], span, &scratch);
		status = scratch.failed ? common_fail_memory("names of events", scratch.size)
					: dump_output_check(session);
	}
	common_bytes_free(&scratch);
	return status;
}

void dump_event_count_free(struct dump_event_count *count)
{
	common_byte_map_free(&count->kinds);
	free(count->list);
	*count = (struct dump_event_count){0};
}
