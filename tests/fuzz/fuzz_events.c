/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the payload of an EVENTS buffer, preceded by a u32 count of records. Decoded events are encoded and decoded
 * again, and must be equal.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/event/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct ptl_event *a, const struct ptl_event *b)
{
	if (a->time != b->time || a->cpu != b->cpu || a->pid != b->pid || a->tid != b->tid || a->flags != b->flags ||
	    a->payload_size != b->payload_size || a->extended_count != b->extended_count ||
	    a->descriptor.id != b->descriptor.id || a->descriptor.opcode != b->descriptor.opcode ||
	    a->descriptor.keyword != b->descriptor.keyword ||
	    memcmp(&a->descriptor.provider, &b->descriptor.provider, 16) != 0 ||
	    (a->payload_size && memcmp(a->payload, b->payload, a->payload_size) != 0))
		abort();
}

static void round_trip(const uint8_t *data, size_t size, uint32_t records)
{
	struct format_event_block one = {0}, two = {0}, three = {0};
	struct format_event_batch batch = {0};
	struct format_event_splits splits;
	struct ptl_event event = {0}, again = {0};
	struct ptl_bytes out = {0};
	bool fits = true;

	if (format_event_block_decode(&one, data, size, records, 0, UINT64_MAX) == 0) {
		/* Some sizes are legal to read but refused by the writer. */
		while (fits && format_event_block_next(&one, &event))
			fits = format_event_batch_add(&batch, &event) == 0;
		if (fits && batch.count) {
			format_event_batch_encode(&batch, &out, &splits);
			if (out.failed || out.size > format_event_batch_size(&batch) ||
			    format_event_block_decode(&two, data, size, records, 0, UINT64_MAX) ||
			    format_event_block_decode(&three, out.data, out.size, batch.count, batch.first_time,
						      batch.last_time))
				abort();
			while (format_event_block_next(&two, &event)) {
				if (!format_event_block_next(&three, &again))
					abort();
				compare(&event, &again);
			}
		}
	}
	format_event_block_free(&one);
	format_event_block_free(&two);
	format_event_block_free(&three);
	format_event_batch_free(&batch);
	common_bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 4)
		round_trip(data + 4, size - 4, common_load32(data));
	return 0;
}
