/* SPDX-License-Identifier: BSD-2-Clause */
/* What the elements of a page are written through, and how much of the page is left for each. */
#ifndef DUMP_EXPORT_HTML_ROOM_H
#define DUMP_EXPORT_HTML_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The room for the element that is written. */
struct dump_html_room {
	FILE *out;        /* the page */
	FILE *file;       /* the element: a stream of dump_html_stream */
	uint64_t written; /* bytes of the page so far, but for what is in the file's buffer */
	uint64_t end;     /* where the element has to end */
};

/*
 * A stream that writes JSON to the page for an element: "<" is written as an escape, so that nothing of it can end the element.
 * Close it before `out` is used again. NULL without memory.
 */
FILE *dump_html_stream(struct dump_html_room *room);

/*
 * Whether some numbers, and texts of so many bytes in all, can be added to the element, whatever has to be escaped in them.
 * What does not fit is not written, and is counted as left out.
 */
bool dump_html_fits(const struct dump_html_room *room, size_t bytes);

#endif
