/* SPDX-License-Identifier: BSD-2-Clause */
/* Packs an event into one block of memory, for a heap of waiting events and for temporary files of this process. */
#ifndef FORMAT_EVENT_EVENT_PACK_H
#define FORMAT_EVENT_EVENT_PACK_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

/* Returns the packed size of an event in bytes, a multiple of 8. */
size_t format_event_pack_size(const struct ptl_event *event);
/* Copies the event, its extended items, the payload and the items' bytes to `data`, which is aligned to 8 bytes. */
void format_event_pack(const struct ptl_event *event, uint8_t *data);
/*
 * Returns the event packed in `data`, with pointers into `data`. May be called again, also after the memory has moved.
 */
struct ptl_event format_event_unpack(uint8_t *data);

#endif
