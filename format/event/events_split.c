/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the parts of an encoded EVENTS payload, so that recompression uses the same splits as the first compression.
 * Only sizes are checked: an invalid payload gets no splits, and is otherwise left unchanged.
 */
#include <stdlib.h>

#include "format/event/events.h"

struct layout {
	uint64_t size_plus_one; /* as in the file */
	size_t events;
};

/*
 * Reads the tables and moves the cursor to the columns. Returns the layouts, which the caller frees, and the numbers of
 * descriptors and contexts. NULL if invalid.
 */
static struct layout *read_tables(struct common_cursor *in, size_t *descriptors, size_t *contexts)
{
	const uint64_t guids = common_read_varint(in);
	struct layout *layouts;

	if (guids > common_cursor_left(in) / 16)
		return NULL;
	common_read_bytes(in, guids * 16);
	*descriptors = common_read_varint(in);
	if (!*descriptors || *descriptors > common_cursor_left(in) / 9)
		return NULL;
	layouts = calloc(*descriptors, sizeof(*layouts));
	for (size_t i = 0; layouts && i < *descriptors; i++) {
		common_read_varint(in); /* provider */
		common_read_varint(in); /* id */
		common_read_bytes(in, 4);
		common_read_varint(in); /* task */
		common_read_varint(in); /* keyword */
		layouts[i].size_plus_one = common_read_varint(in);
	}
	*contexts = common_read_varint(in);
	if (in->failed || !*contexts || *contexts > common_cursor_left(in) / 3) {
		free(layouts);
		return NULL;
	}
	for (size_t i = 0; i < 3 * *contexts; i++)
		common_read_varint(in);
	return layouts;
}

static bool count_events(struct common_cursor *in, size_t events, struct layout *layouts, size_t descriptors)
{
	const unsigned width = format_column_width(descriptors);
	const uint8_t *planes = common_read_bytes(in, width * events);

	for (size_t i = 0; planes && i < events; i++) {
		size_t number = 0;

		for (unsigned k = 0; k < width; k++)
			number |= (size_t)planes[k * events + i] << 8 * k;
		if (number >= descriptors)
			return false;
		layouts[number].events++;
	}
	return planes;
}

/* Adds the splits of one descriptor's payloads. */
static void split_payloads(struct common_cursor *in, const struct layout *layout, struct format_event_splits *splits)
{
	uint64_t total = 0;

	if (!layout->events)
		return;
	if (layout->size_plus_one) {
		for (uint64_t k = 0; k + 1 < layout->size_plus_one && !in->failed; k++) {
			const size_t at = in->at;

			if (common_read_bytes(in, layout->events))
				format_event_splits_plane(splits, in->data, at, layout->events);
		}
		return;
	}
	for (size_t i = 0; i < layout->events && !in->failed; i++) {
		const uint64_t size = common_read_varint(in);

		in->failed |= size > PTL_PAYLOAD_MAX;
		total += size;
	}
	format_event_splits_add(splits, in->at);
	if (!in->failed)
		common_read_bytes(in, total);
}

void format_event_splits_find(const uint8_t *raw, size_t size, size_t events, struct format_event_splits *splits)
{
	struct common_cursor in = common_cursor(raw, size);
	size_t descriptors, contexts;
	struct layout *layouts;
	unsigned width;

	*splits = (struct format_event_splits){.count = 0};
	layouts = events <= FORMAT_EVENTS_MAX ? read_tables(&in, &descriptors, &contexts) : NULL;
	if (!layouts)
		return;
	width = common_read8(&in);
	format_event_splits_add(splits, in.at);
	in.failed |= !count_events(&in, events, layouts, descriptors);
	format_event_splits_add(splits, in.at);
	common_read_bytes(&in, format_column_width(contexts) * events);
	for (unsigned k = 0; k < width && !in.failed; k++) {
		format_event_splits_add(splits, in.at);
		common_read_bytes(&in, events);
	}
	for (size_t d = 0; d < descriptors && !in.failed; d++)
		split_payloads(&in, &layouts[d], splits);
	format_event_splits_add(splits, in.at);
	if (in.failed)
		splits->count = 0;
	free(layouts);
}
