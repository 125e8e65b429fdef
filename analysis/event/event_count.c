/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts events by kind. */
#include "analysis/event/event_count.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/text/guid.h"
#include "common/vector.h"

#define IDENTITY 20u /* bytes: provider, id, version, opcode */

static void write_identity(const struct ptl_descriptor *descriptor, uint8_t identity[IDENTITY])
{
	memcpy(identity, descriptor->provider.bytes, 16);
	common_store16(identity + 16, descriptor->id);
	identity[18] = descriptor->version;
	identity[19] = descriptor->opcode;
}

static bool is_kind(const struct analysis_event_kind *kind, const struct ptl_descriptor *descriptor)
{
	const struct ptl_descriptor *own = &kind->descriptor;

	return own->id == descriptor->id && own->version == descriptor->version && own->opcode == descriptor->opcode &&
	       common_guid_equal(&own->provider, &descriptor->provider);
}

static int add_kind(struct analysis_event_count *count, const struct ptl_event *event, const struct ptl_schema *schema,
		    const uint8_t identity[IDENTITY])
{
	if (COMMON_VECTOR_RESERVE(count->list, count->capacity, count->used + 1, "kinds of events"))
		return PTL_NO_MEMORY;
	count->list[count->used] = (struct analysis_event_kind){.descriptor = event->descriptor, .schema = schema};
	count->last = count->used;
	return common_byte_map_put(&count->kinds, identity, IDENTITY, count->used++);
}

int analysis_event_count_add(struct analysis_event_count *count, const struct ptl_event *event,
			     const struct ptl_schema *schema)
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
	const struct ptl_descriptor *left = &((const struct analysis_event_kind *)a)->descriptor;
	const struct ptl_descriptor *right = &((const struct analysis_event_kind *)b)->descriptor;
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

void analysis_event_count_sort(struct analysis_event_count *count)
{
	if (count->used)
		qsort(count->list, count->used, sizeof(*count->list), compare_counts);
}

void analysis_event_count_free(struct analysis_event_count *count)
{
	common_byte_map_free(&count->kinds);
	free(count->list);
	*count = (struct analysis_event_count){0};
}
