/* SPDX-License-Identifier: BSD-2-Clause */
/* Quotes words for a shell, only where that is needed. */
#include "record/quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("%+,-./:=@_^", word[i]))
			return false;
	return length && !memchr(word, 0, length);
}

void record_quote_word(struct ptl_bytes *out, const char *word, size_t length)
{
	if (out->size)
		ptl_write_bytes(out, " ", 1);
	if (is_plain(word, length)) {
		ptl_write_bytes(out, word, length);
		return;
	}
	ptl_write_bytes(out, "'", 1);
	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\'')
			ptl_write_bytes(out, "'\\''", 4);
		else
			ptl_write_bytes(out, word + i, 1);
	}
	ptl_write_bytes(out, "'", 1);
}

char *record_quote(char *const *argv)
{
	struct ptl_bytes out = {0};

	for (size_t i = 0; argv[i]; i++)
		record_quote_word(&out, argv[i], strlen(argv[i]));
	ptl_write_bytes(&out, "", 1);
	if (out.failed) {
		ptl_bytes_free(&out);
		return NULL;
	}
	return (char *)out.data;
}
