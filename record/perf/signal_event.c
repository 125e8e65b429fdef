/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's reports of fatal signals. */
#include "record/perf/signal_event.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "perf/trace_format.h"

static const char *const paths[] = {
	"/sys/kernel/tracing/events/signal/signal_deliver/format",
	"/sys/kernel/debug/tracing/events/signal/signal_deliver/format",
};

/* Returns the offset of an integer of 32 bits; 0 if the record has no such field. */
static uint32_t offset_of(const struct perf_trace_format *format, const char *name)
{
	for (size_t i = 0; i < format->field_count; i++)
		if (!strcmp(format->described[i].name, name) && format->fields[i].size == sizeof(uint32_t))
			return format->fields[i].offset;
	return 0;
}

static void take_format(const char *text, size_t size, struct record_signal_event *event)
{
	struct perf_trace_format format;

	if (perf_trace_format_parse(text, size, &format) == 0) {
		event->signal_offset = offset_of(&format, "sig");
		event->code_offset = offset_of(&format, "code");
		event->id = event->signal_offset && event->code_offset ? format.id : 0;
	}
	perf_trace_format_free(&format);
}

void record_signal_event_find(struct record_signal_event *event)
{
	*event = (struct record_signal_event){0};
	for (size_t i = 0; !event->id && i < sizeof(paths) / sizeof(paths[0]); i++) {
		uint8_t *text;
		size_t size;

		if (common_read_file(paths[i], PERF_TRACE_TEXT_MAX, &text, &size) < 0)
			continue;
		take_format((const char *)text, size, event);
		free(text);
	}
}

bool record_signal_event_read(const struct record_signal_event *event, const void *data, size_t size, uint32_t *signal,
			      int32_t *code)
{
	const uint8_t *raw = (const uint8_t *)data + sizeof(uint32_t);
	uint32_t raw_size;

	if (!event->id || size < sizeof(raw_size))
		return false;
	memcpy(&raw_size, data, sizeof(raw_size));
	size -= sizeof(raw_size);
	if (raw_size < size)
		size = raw_size;
	if (size < sizeof(*signal) || event->signal_offset > size - sizeof(*signal) ||
	    event->code_offset > size - sizeof(*code))
		return false;
	memcpy(signal, raw + event->signal_offset, sizeof(*signal));
	memcpy(code, raw + event->code_offset, sizeof(*code));
	return true;
}
