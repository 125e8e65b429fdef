/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups digits. */
#include "common/text/count_text.h"

#include <stdio.h>

const char *common_count_text(uint64_t value, char text[COMMON_COUNT_TEXT])
{
	char digits[COMMON_COUNT_TEXT];
	const int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return text;
}
