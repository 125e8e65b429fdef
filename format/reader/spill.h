/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoded events that wait in an unnamed temporary file: a merge of very many streams has more open buffers than it may
 * have memory. They are read again in small pieces.
 */
#ifndef FORMAT_READER_SPILL_H
#define FORMAT_READER_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event/events.h"

/* The file, which is made when it is first needed. Zero-initialised is none. */
struct format_spill {
	bool is_open;
	int fd;
	uint64_t size;  /* given out */
	size_t streams; /* that may have events in it: what is read ahead of each is bounded together */
};

/* The events of one buffer in it. Zero-initialised is empty; may be filled again and again. */
struct format_spilled {
	uint64_t start, capacity; /* its part of the file */
	uint64_t at, left;        /* what was not read yet */
	uint8_t *window;
	size_t room, from, filled; /* of the window, aligned to 8 */
};

/* Puts the events of a block that are still to come into the file. PTL_SYSTEM, PTL_NO_MEMORY. */
int format_spill(struct format_spill *spill, struct format_spilled *spilled, struct format_event_block *block,
		 size_t raw_size);
/* True if there is an event more. */
bool format_spilled_more(const struct format_spilled *spilled);
/* The time of the event that comes next; there must be one. PTL_SYSTEM, PTL_NO_MEMORY, PTL_TRUNCATED. */
int format_spilled_time(struct format_spill *spill, struct format_spilled *spilled, uint64_t *time);
/* The event itself; format_spilled_time was called for it. Its pointers are valid until the next call for these. */
void format_spilled_next(struct format_spilled *spilled, struct ptl_event *event);
void format_spilled_free(struct format_spilled *spilled);
void format_spill_free(struct format_spill *spill);

#endif
