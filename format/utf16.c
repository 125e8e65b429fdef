/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 to UTF-16 and back; bytes that are no UTF-8 travel as lone low surrogates. */
#include "format/utf16.h"

#define HIGH_SURROGATE 0xd800u
#define LOW_SURROGATE 0xdc00u
#define BYTE_FIRST 0xdc80u /* the unit of byte 80 */
#define BYTE_LAST 0xdcffu

/* Decodes one character of valid UTF-8 (RFC 3629); its size, or 0. */
static size_t decode_utf8(const uint8_t *text, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;
	uint32_t value;

	if (size < 2) {
		*character = text[0];
		return size;
	}
	value = text[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[size] || value > 0x10ffff || (value >= HIGH_SURROGATE && value < 0xe000))
		return 0;
	*character = value;
	return size;
}

void ptl_write_utf16(struct ptl_bytes *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (*at) {
		uint32_t character;
		size_t size = decode_utf8(at, &character);

		if (!size) {
			ptl_write_le(out, LOW_SURROGATE + *at, 2);
			at++;
			continue;
		}
		if (character >= 0x10000) {
			ptl_write_le(out, HIGH_SURROGATE + ((character - 0x10000) >> 10), 2);
			character = LOW_SURROGATE + ((character - 0x10000) & 0x3ff);
		}
		ptl_write_le(out, character, 2);
		at += size;
	}
	ptl_write_le(out, 0, 2);
}

static void write_utf8(struct ptl_bytes *out, uint32_t character)
{
	if (character < 0x80) {
		ptl_write_le(out, character, 1);
		return;
	}
	if (character < 0x800) {
		ptl_write_le(out, 0xc0 | character >> 6, 1);
	} else {
		if (character < 0x10000) {
			ptl_write_le(out, 0xe0 | character >> 12, 1);
		} else {
			ptl_write_le(out, 0xf0 | character >> 18, 1);
			ptl_write_le(out, 0x80 | (character >> 12 & 0x3f), 1);
		}
		ptl_write_le(out, 0x80 | (character >> 6 & 0x3f), 1);
	}
	ptl_write_le(out, 0x80 | (character & 0x3f), 1);
}

void ptl_read_utf16(struct ptl_cursor *cursor, struct ptl_bytes *out)
{
	uint32_t unit = ptl_read16(cursor);

	while (unit && !cursor->failed) {
		uint32_t next = ptl_read16(cursor);

		if (unit >= BYTE_FIRST && unit <= BYTE_LAST) {
			ptl_write_le(out, unit - LOW_SURROGATE, 1);
		} else if ((unit & 0xfc00) == HIGH_SURROGATE && (next & 0xfc00) == LOW_SURROGATE) {
			write_utf8(out, 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff));
			next = ptl_read16(cursor);
		} else {
			write_utf8(out, unit);
		}
		unit = next;
	}
	ptl_write_le(out, 0, 1);
}
