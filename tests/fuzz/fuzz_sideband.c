/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the kernel's records of processes, each with the length in its header. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "record/perf/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_all(struct record_sideband *sideband, const uint8_t *data, size_t size)
{
	struct perf_event_header header;

	while (size >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			break;
		if (record_sideband_put(sideband, data, header.size) < 0)
			abort();
		data += header.size;
		size -= header.size;
	}
}

/* Checks the order of time, and the terminating zero of names. */
static void take_all(struct record_sideband *sideband)
{
	const struct record_sideband_record *record;
	uint64_t last = 0;

	while ((record = record_sideband_next(sideband, UINT64_MAX))) {
		if (record->time < last || strlen(record->name) > UINT16_MAX)
			abort();
		last = record->time;
	}
	if (record_sideband_due(sideband) != UINT64_MAX || record_sideband_waiting(sideband, 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_sideband *sideband = record_sideband_new();

	if (!sideband)
		abort();
	put_all(sideband, data, size);
	if (record_sideband_waiting(sideband, 0))
		common_write_bytes(&record_sideband_waiting(sideband, 0)->note, "note", 4);
	take_all(sideband);
	/* Closing must free the unread records. */
	put_all(sideband, data, size);
	record_sideband_close(sideband);
	return 0;
}
