/* SPDX-License-Identifier: BSD-2-Clause */
/* Single characters of UTF-8. */
#include "common/text/utf8.h"

/* Returns the length of a sequence by its first byte; 0 for an invalid first byte. */
static size_t length_of(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

size_t common_utf8_read(const uint8_t *text, size_t size, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const size_t length = size ? length_of(text[0]) : 0;
	uint32_t value;

	if (!length || length > size)
		return 0;
	if (length == 1) {
		*character = text[0];
		return 1;
	}
	value = text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*character = value;
	return length;
}

size_t common_utf8_fit(const void *text, size_t size, size_t max)
{
	const uint8_t *bytes = text;
	size_t fit = max;

	if (size <= max)
		return size;
	/* A character has at most three bytes after the first; a longer run of continuation bytes is invalid UTF-8. */
	while (fit && max - fit < 3 && (bytes[fit] & 0xc0) == 0x80)
		fit--;
	return (bytes[fit] & 0xc0) == 0x80 ? max : fit;
}

void common_utf8_write(struct ptl_bytes *out, uint32_t character)
{
	if (character > 0x10ffff)
		character = 0xfffd;
	if (character < 0x80) {
		common_write_le(out, character, 1);
		return;
	}
	if (character < 0x800) {
		common_write_le(out, 0xc0 | character >> 6, 1);
	} else {
		if (character < 0x10000) {
			common_write_le(out, 0xe0 | character >> 12, 1);
		} else {
			common_write_le(out, 0xf0 | character >> 18, 1);
			common_write_le(out, 0x80 | (character >> 12 & 0x3f), 1);
		}
		common_write_le(out, 0x80 | (character >> 6 & 0x3f), 1);
	}
	common_write_le(out, 0x80 | (character & 0x3f), 1);
}
