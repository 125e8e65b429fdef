/* SPDX-License-Identifier: BSD-2-Clause */
/* Security identifiers as text. */
#include "common/text/sid.h"

#include "common/text/text.h"

#define HEAD 8u /* bytes: revision, number of parts, authority (high byte first) */
#define PARTS_MAX 15u

void common_sid_read(struct common_cursor *cursor, struct ptl_bytes *text)
{
	const uint8_t *head = common_read_bytes(cursor, HEAD);
	uint64_t authority = 0;

	if (!head || head[1] > PARTS_MAX || common_cursor_left(cursor) < 4u * head[1]) {
		cursor->failed = true;
		return;
	}
	for (unsigned i = 2; i < HEAD; i++)
		authority = authority << 8 | head[i];
	common_text_format(text, "S-%u-%llu", head[0], (unsigned long long)authority);
	for (unsigned i = 0; i < head[1]; i++)
		common_text_format(text, "-%u", common_read32(cursor));
}
