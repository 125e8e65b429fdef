/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoded events that wait in a nameless temporary file: a merge of very many streams has more open buffers than it may
 * have memory. They are read again in small pieces.
 */
#ifndef PTL_FORMAT_READER_SPILL_H
#define PTL_FORMAT_READER_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event/events.h"

/* The file, which is made when it is first needed. Zero-initialised is none. */
struct ptl_spill {
	bool is_open;
	int fd;
	uint64_t size; /* given out */
	size_t streams; /* that may have events in it: what is read ahead of each is bounded together */
};

/* The events of one buffer in it. Zero-initialised is empty; may be filled again and again. */
struct ptl_spilled {
	uint64_t start, capacity; /* its part of the file */
	uint64_t at, left;        /* what was not read yet */
	uint8_t *window;
	size_t room, from, filled; /* of the window, aligned to 8 */
};

/* Puts the events of a block that are still to come into the file. PTL_SYSTEM, PTL_NO_MEMORY. */
int ptl_spill(struct ptl_spill *spill, struct ptl_spilled *spilled, struct ptl_event_block *block, size_t raw_size);
/* True if there is an event more. */
bool ptl_spilled_more(const struct ptl_spilled *spilled);
/* The time of the event that comes next; there must be one. PTL_SYSTEM, PTL_NO_MEMORY, PTL_TRUNCATED. */
int ptl_spilled_time(struct ptl_spill *spill, struct ptl_spilled *spilled, uint64_t *time);
/* The event itself; ptl_spilled_time was called for it. Its pointers are valid until the next call for these. */
void ptl_spilled_next(struct ptl_spilled *spilled, struct ptl_event *event);
void ptl_spilled_free(struct ptl_spilled *spilled);
void ptl_spill_free(struct ptl_spill *spill);

#endif
