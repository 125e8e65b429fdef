/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decoded events that wait in an unnamed temporary file and are read back in small pieces. A merge of very many streams
 * has more open buffers than its memory limit allows.
 */
#ifndef FORMAT_READER_SPILL_H
#define FORMAT_READER_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event/events.h"

/* The file, created on demand. Zero-initialised: no file. */
struct format_spill {
	bool is_open;
	int fd;
	uint64_t size; /* bytes of the file that are assigned */
	/* number of streams that may have events in the file; the read-ahead of all streams together is limited */
	size_t streams;
};

/* The events of one buffer in the file. A zero-initialised structure is empty and can be filled repeatedly. */
struct format_spilled {
	uint64_t start, capacity; /* assigned part of the file */
	uint64_t at, left;        /* part not read yet */
	uint8_t *window;
	size_t room, from, filled; /* capacity, start and end of the data in the window, aligned to 8 */
};

/* Writes the remaining events of a block to the file. PTL_SYSTEM, PTL_NO_MEMORY. */
int format_spill(struct format_spill *spill, struct format_spilled *spilled, struct format_event_block *block,
		 size_t raw_size);
/* Whether there is another event. */
bool format_spilled_more(const struct format_spilled *spilled);
/* Returns the time of the next event, which must exist. PTL_SYSTEM, PTL_NO_MEMORY, PTL_TRUNCATED. */
int format_spilled_time(struct format_spill *spill, struct format_spilled *spilled, uint64_t *time);
/*
 * Returns the next event, after a call of format_spilled_time. The event's pointers are valid until the next call for
 * `spilled`.
 */
void format_spilled_next(struct format_spilled *spilled, struct ptl_event *event);
void format_spilled_free(struct format_spilled *spilled);
void format_spill_free(struct format_spill *spill);

#endif
