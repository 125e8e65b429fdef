/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 to UTF-16 and back; invalid bytes are represented as lone low surrogates. */
#include "common/text/utf16.h"

#include <string.h>

#include "common/text/utf8.h"

#define HIGH_SURROGATE 0xd800u
#define LOW_SURROGATE 0xdc00u
#define BYTE_FIRST 0xdc80u /* unit that represents byte 0x80 */
#define BYTE_LAST 0xdcffu

void common_write_utf16(struct ptl_bytes *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text, *const end = at + strlen(text);

	while (at < end) {
		uint32_t character;
		size_t size = common_utf8_read(at, (size_t)(end - at), &character);

		if (!size) {
			common_write_le(out, LOW_SURROGATE + *at, 2);
			at++;
			continue;
		}
		if (character >= 0x10000) {
			common_write_le(out, HIGH_SURROGATE + ((character - 0x10000) >> 10), 2);
			character = LOW_SURROGATE + ((character - 0x10000) & 0x3ff);
		}
		common_write_le(out, character, 2);
		at += size;
	}
	common_write_le(out, 0, 2);
}

void common_read_utf16_units(const uint8_t *units, size_t count, struct ptl_bytes *out)
{
	for (size_t i = 0; i < count; i++) {
		const uint32_t unit = common_load16(units + 2 * i);
		const uint32_t next = i + 1 < count ? common_load16(units + 2 * i + 2) : 0;

		if (unit >= BYTE_FIRST && unit <= BYTE_LAST) {
			common_write_le(out, unit - LOW_SURROGATE, 1);
		} else if ((unit & 0xfc00) == HIGH_SURROGATE && (next & 0xfc00) == LOW_SURROGATE) {
			common_utf8_write(out, 0x10000 + ((unit & 0x3ff) << 10) + (next & 0x3ff));
			i++;
		} else {
			common_utf8_write(out, unit);
		}
	}
}

void common_read_utf16(struct common_cursor *cursor, struct ptl_bytes *out)
{
	const uint8_t *units = cursor->data + cursor->at;
	size_t count = 0;

	while (common_read16(cursor))
		count++;
	common_read_utf16_units(units, count, out);
	common_write_le(out, 0, 1);
}
