/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON within a page, and bytes within JSON. */
#include <string.h>

#include "dump/export/html/html.h"

#define WORST 6     /* maximum bytes for an escaped byte: "\\u003c" */
#define NUMBERS 256 /* bytes for numbers and keys next to texts */

/* Escapes "<", which occurs only in JSON strings, where the escape is equivalent. Returning 0 reports a failure. */
static ssize_t write_escaped(void *cookie, const char *data, size_t size)
{
	struct dump_html_room *room = cookie;
	size_t at = 0;

	while (at < size) {
		const char *found = memchr(data + at, '<', size - at);
		const size_t part = found ? (size_t)(found - data) - at : size - at;

		if (fwrite(data + at, 1, part, room->out) != part || (found && fputs("\\u003c", room->out) < 0))
			return 0;
		at += part + (found != NULL);
		room->written += part + (found ? WORST : 0);
	}
	return (ssize_t)size;
}

FILE *dump_html_stream(struct dump_html_room *room)
{
	return fopencookie(room, "w", (cookie_io_functions_t){.write = write_escaped});
}

static bool room_has_bytes(const struct dump_html_room *room, uint64_t bytes)
{
	return room->end > room->written && (room->end - room->written) / WORST > bytes + NUMBERS;
}

/* The size of buffered data is known only after a flush, which is done only near the limit. */
bool dump_html_fits(const struct dump_html_room *room, size_t bytes)
{
	if (room_has_bytes(room, (uint64_t)bytes + BUFSIZ))
		return true;
	fflush(room->file);
	return room_has_bytes(room, bytes);
}

void dump_html_base64(struct ptl_bytes *text, const uint8_t *data, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		const size_t left = size - i;
		const uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				      (left > 2 ? data[i + 2] : 0);

		const char four[] = {digits[bits >> 18], digits[bits >> 12 & 63],
				     left > 1 ? digits[bits >> 6 & 63] : '=', left > 2 ? digits[bits & 63] : '='};

		common_write_bytes(text, four, sizeof(four));
	}
}
