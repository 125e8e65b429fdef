/* SPDX-License-Identifier: BSD-2-Clause */
/* Output of a page's elements, and the room left for each element. */
#ifndef DUMP_EXPORT_HTML_ROOM_H
#define DUMP_EXPORT_HTML_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The room of the current element. */
struct dump_html_room {
	FILE *out;        /* of the page */
	FILE *file;       /* of the element, made by dump_html_stream */
	uint64_t written; /* bytes of the page so far, without the file's buffer */
	uint64_t end;     /* maximum of `written` at the end of the element */
};

/*
 * Creates a stream that writes an element's JSON to the page. "<" is escaped, so no text can end the element. Close the
 * stream before `out` is used again. Returns NULL without memory.
 */
FILE *dump_html_stream(struct dump_html_room *room);

/*
 * Whether some numbers, and texts of `bytes` bytes in all, still fit the element with all escapes. Other data must be
 * left out and counted.
 */
bool dump_html_fits(const struct dump_html_room *room, size_t bytes);

#endif
