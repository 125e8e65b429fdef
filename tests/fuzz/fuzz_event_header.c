/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes EventHeader events. Input: a tracepoint's name up to a zero byte, then an event. The event is decoded twice,
 * the second time with the known schema. The decoded event must fit its schema, or is kept in its raw form.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/event_header.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int guid_of(const char *name, struct ptl_guid *guid)
{
	memset(guid, 0, sizeof(*guid));
	guid->bytes[0] = (uint8_t)*name;
	return 0;
}

/* Touches every byte of the value, so that a sanitizer sees missing bytes. */
static int visit(void *context, const struct ptl_value *value)
{
	volatile uint8_t *sum = context;

	for (size_t i = 0; value->bytes && i < value->size; i++)
		*sum = (uint8_t)(*sum + value->bytes[i]);
	return 0;
}

static bool is_whole(const struct ptl_event *event)
{
	for (size_t i = 0; i < event->extended_count; i++)
		if (event->extended[i].type == PTL_EXTENDED_EVENT_HEADER)
			return false;
	return true;
}

static void decode(struct ptl_event_headers *headers, const char *name, const uint8_t *data, size_t size, bool again)
{
	const struct ptl_schema *schema;
	struct ptl_event event;
	uint8_t sum = 0;
	bool is_new;
	const int status = ptl_event_header_decode(headers, name, data, size, &event, &schema, &is_new);
	int decoded;

	if (status || !schema)
		return;
	if (is_new == again)
		abort();
	decoded = ptl_payload_decode(schema, event.payload, event.payload_size, visit, &sum, NULL);
	if (is_whole(&event) && decoded)
		abort();
	for (size_t i = 0; i < event.extended_count; i++)
		for (size_t k = 0; k < event.extended[i].size; k++)
			sum = (uint8_t)(sum + event.extended[i].data[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t length = strnlen((const char *)data, size);
	struct ptl_event_headers *headers;

	if (length == size || ptl_event_headers_new(guid_of, &headers))
		return 0;
	decode(headers, (const char *)data, data + length + 1, size - length - 1, false);
	decode(headers, (const char *)data, data + length + 1, size - length - 1, true);
	ptl_event_headers_free(headers);
	return 0;
}
