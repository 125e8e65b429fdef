/* SPDX-License-Identifier: BSD-2-Clause */
/* An event as one piece of memory: for a heap of events that wait, and for files of this process alone. */
#ifndef FORMAT_EVENT_EVENT_PACK_H
#define FORMAT_EVENT_EVENT_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

/* Bytes that the event takes, a multiple of 8. */
size_t format_event_pack_size(const struct ptl_event *event);
/* Copies it, its extended items, the payload, and the items' bytes to data, which is aligned to 8 bytes. */
void format_event_pack(const struct ptl_event *event, uint8_t *data);
/* The event in such memory, into which its pointers lead; may be called again, also where the memory was moved. */
struct ptl_event format_event_unpack(uint8_t *data);

#endif
