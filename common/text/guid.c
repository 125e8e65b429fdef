/* SPDX-License-Identifier: BSD-2-Clause */
/* GUIDs as text and bytes, and random GUIDs. */
#include "common/text/guid.h"

#include <stddef.h>
#include <string.h>
#include <sys/random.h>

#include "common/error.h"
#include "common/text/digits.h"

#define TEXT_LENGTH (PTL_GUID_TEXT_SIZE - 1)

/* Indexes of the bytes in the order of the text form. */
static const uint8_t text_order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

static bool dash_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

bool common_guid_equal(const struct ptl_guid *a, const struct ptl_guid *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool common_guid_parse(const char *text, struct ptl_guid *guid)
{
	const size_t length = strlen(text);
	struct ptl_guid result;

	if (length == TEXT_LENGTH + 2 && text[0] == '{' && text[length - 1] == '}')
		text++;
	else if (length != TEXT_LENGTH)
		return false;
	for (size_t i = 0; i < sizeof(text_order); i++) {
		int high, low;

		if (dash_before(i) && *text++ != '-')
			return false;
		high = common_hex_digit(text[0]);
		low = common_hex_digit(text[1]);
		if (high < 0 || low < 0)
			return false;
		result.bytes[text_order[i]] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	*guid = result;
	return true;
}

void common_guid_format(const struct ptl_guid *guid, char text[PTL_GUID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(text_order); i++) {
		const uint8_t byte = guid->bytes[text_order[i]];

		if (dash_before(i))
			*text++ = '-';
		*text++ = digits[byte >> 4];
		*text++ = digits[byte & 15];
	}
	*text = 0;
}

void common_guid_from_uuid(struct ptl_guid *guid, const uint8_t uuid[16])
{
	for (size_t i = 0; i < sizeof(text_order); i++)
		guid->bytes[text_order[i]] = uuid[i];
}

int common_guid_random(struct ptl_guid *guid)
{
	/* getrandom returns up to 256 bytes completely or not at all. */
	if (getrandom(guid->bytes, sizeof(guid->bytes), 0) != (ssize_t)sizeof(guid->bytes))
		return common_fail_errno("cannot get random bytes for a GUID");
	/* RFC 4122: version 4 is in the high bits of the third group, the variant in the high bits of the fourth. */
	guid->bytes[7] = (uint8_t)((guid->bytes[7] & 0x0f) | 0x40);
	guid->bytes[8] = (uint8_t)((guid->bytes[8] & 0x3f) | 0x80);
	return 0;
}
