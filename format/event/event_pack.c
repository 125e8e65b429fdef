/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/event/event_pack.h"

#include <string.h>

size_t format_event_pack_size(const struct ptl_event *event)
{
	size_t size = sizeof(*event) + event->extended_count * sizeof(*event->extended) + event->payload_size;

	for (size_t i = 0; i < event->extended_count; i++)
		size += event->extended[i].size;
	return (size + 7) & ~(size_t)7;
}

void format_event_pack(const struct ptl_event *event, uint8_t *data)
{
	const size_t items = event->extended_count * sizeof(*event->extended);

	memcpy(data, event, sizeof(*event));
	data += sizeof(*event);
	if (items)
		memcpy(data, event->extended, items);
	data += items;
	if (event->payload_size)
		memcpy(data, event->payload, event->payload_size);
	data += event->payload_size;
	for (size_t i = 0; i < event->extended_count; i++) {
		if (event->extended[i].size)
			memcpy(data, event->extended[i].data, event->extended[i].size);
		data += event->extended[i].size;
	}
}

struct ptl_event format_event_unpack(uint8_t *data)
{
	struct ptl_event event;
	struct ptl_extended *items = (struct ptl_extended *)(void *)(data + sizeof(event));
	uint8_t *at;

	memcpy(&event, data, sizeof(event));
	at = data + sizeof(event) + event.extended_count * sizeof(*items);
	event.payload = at;
	at += event.payload_size;
	for (size_t i = 0; i < event.extended_count; i++) {
		items[i].data = at;
		at += items[i].size;
	}
	event.extended = items;
	return event;
}
