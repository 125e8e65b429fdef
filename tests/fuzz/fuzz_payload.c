/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes a payload that may contradict its schema. Input: a count of fields, 7 bytes per field, then the payload. */
#include <stdint.h>
#include <stdlib.h>

#include <ptl/event.h>
#include <ptl/kernel.h>

#include "common/bytes.h"

#define FIELDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches every byte of the value, so that a sanitizer sees missing bytes. */
static int visit(void *context, const struct ptl_value *value)
{
	unsigned *left = context;
	volatile uint8_t sum = 0;

	for (size_t i = 0; value->bytes && i < value->size; i++)
		sum = (uint8_t)(sum + value->bytes[i]);
	return --*left ? 0 : PTL_CANCELLED;
}

static void decode_classes(const uint8_t *data, size_t size)
{
	struct ptl_event event = {.payload = data, .payload_size = size};
	struct ptl_process_event process;
	struct ptl_thread_event thread;
	struct ptl_image_event image;
	struct ptl_code_event code;
	struct ptl_signal_event signal;
	struct ptl_bytes strings = {0};

	event.descriptor = (struct ptl_descriptor){.provider = PTL_PROVIDER_PROCESS, .version = 0x83};
	ptl_process_decode(&event, &strings, &process);
	event.descriptor.provider = PTL_PROVIDER_THREAD;
	ptl_thread_decode(&event, &strings, &thread);
	event.descriptor.provider = PTL_PROVIDER_IMAGE;
	ptl_image_decode(&event, &strings, &image);
	event.descriptor = (struct ptl_descriptor){.provider = PTL_PROVIDER_CODE, .version = 1};
	ptl_code_decode(&event, &code);
	event.descriptor = (struct ptl_descriptor){
		.provider = PTL_PROVIDER_SIGNAL, .version = 1, .opcode = PTL_OPCODE_FATAL};
	ptl_signal_decode(&event, &signal);
	common_bytes_free(&strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_cursor in = common_cursor(data, size);
	struct ptl_field fields[FIELDS_MAX];
	struct ptl_schema schema = {.event_name = "fuzz", .fields = fields};
	unsigned left = 100000;
	const uint8_t *payload;
	size_t rest;

	if (!size)
		return 0;
	schema.field_count = common_read8(&in) % FIELDS_MAX;
	for (size_t i = 0; i < schema.field_count; i++) {
		fields[i] = (struct ptl_field){.name = "field", .type = common_read8(&in)};
		fields[i].array = common_read8(&in);
		fields[i].length = common_read16(&in);
		fields[i].array_length = (uint32_t)common_read_le(&in, 3);
	}
	rest = common_cursor_left(&in);
	payload = common_read_bytes(&in, rest);
	if (!payload)
		return 0;
	ptl_payload_decode(&schema, payload, rest, visit, &left, &rest);
	decode_classes(payload, size - (size_t)(payload - data));
	return 0;
}
