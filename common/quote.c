/* SPDX-License-Identifier: BSD-2-Clause */
/* Shell quoting: single quotes only, which every shell reads alike. */
#include "common/quote.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "%+,-./:=@_";

	return *word && strspn(word, plain) == strlen(word);
}

void ptl_quote_word(struct ptl_bytes *out, const char *word)
{
	if (is_plain(word)) {
		ptl_write_bytes(out, word, strlen(word));
		return;
	}
	ptl_write_bytes(out, "'", 1);
	for (; *word; word++) {
		if (*word == '\'')
			ptl_write_bytes(out, "'\\''", 4);
		else
			ptl_write_bytes(out, word, 1);
	}
	ptl_write_bytes(out, "'", 1);
}

void ptl_quote_words(struct ptl_bytes *out, size_t count, const char *const *words)
{
	for (size_t i = 0; i < count; i++) {
		if (i)
			ptl_write_bytes(out, " ", 1);
		ptl_quote_word(out, words[i]);
	}
	ptl_write_bytes(out, "", 1);
}
