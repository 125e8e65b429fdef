/* SPDX-License-Identifier: BSD-2-Clause */
/* What a batch of events has, for the two that make it. */
#ifndef FORMAT_EVENT_EVENTS_INTERNAL_H
#define FORMAT_EVENT_EVENTS_INTERNAL_H

#include "format/event/events.h"

struct format_event_row {
	uint64_t step; /* from the time of the row before, as in the file; of the first, 0 */
	uint32_t descriptor;
	uint32_t context;
	uint32_t size;
};

struct format_batch_descriptor {
	struct ptl_descriptor value;
	uint32_t provider; /* number of the GUID */
	uint32_t size;     /* of the first payload */
	bool varies;       /* others have other sizes */
	size_t events;
	size_t bytes;      /* of all payloads */
	size_t size_bytes; /* of all sizes as varints */
};

#endif
