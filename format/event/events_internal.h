/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents of a batch of events, shared by collecting and encoding. */
#ifndef FORMAT_EVENT_EVENTS_INTERNAL_H
#define FORMAT_EVENT_EVENTS_INTERNAL_H

#include "format/event/events.h"

struct format_event_row {
	uint64_t step; /* zigzag difference from the preceding row's time, as in the file; 0 for the first row */
	uint32_t descriptor;
	uint32_t context;
	uint32_t size;
};

struct format_batch_descriptor {
	struct ptl_descriptor value;
	uint32_t provider; /* index of the GUID */
	uint32_t size;     /* bytes of the first payload */
	bool varies;       /* payloads differ in size */
	size_t events;
	size_t bytes;      /* total of all payloads */
	size_t size_bytes; /* total of all sizes as varints */
};

#endif
