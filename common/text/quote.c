/* SPDX-License-Identifier: BSD-2-Clause */
/* Shell quoting by single quotes only, which all shells treat alike. */
#include "common/text/quote.h"

#include <stdbool.h>
#include <string.h>

/* Whether no quotes are needed. "=" is plain except at the start, where zsh expands "=ls" to the path of ls. */
static bool is_plain(const char *word, size_t length)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "%+,-./:=@_";

	for (size_t i = 0; i < length; i++)
		if (!word[i] || !strchr(plain, word[i]))
			return false;
	return length && word[0] != '=';
}

void common_quote_word_n(struct ptl_bytes *out, const char *word, size_t length)
{
	if (is_plain(word, length)) {
		common_write_bytes(out, word, length);
		return;
	}
	common_write_bytes(out, "'", 1);
	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\'')
			common_write_bytes(out, "'\\''", 4);
		else
			common_write_bytes(out, word + i, 1);
	}
	common_write_bytes(out, "'", 1);
}

void common_quote_word(struct ptl_bytes *out, const char *word)
{
	common_quote_word_n(out, word, strlen(word));
}

void common_quote_words(struct ptl_bytes *out, size_t count, const char *const *words)
{
	for (size_t i = 0; i < count; i++) {
		if (i)
			common_write_bytes(out, " ", 1);
		common_quote_word(out, words[i]);
	}
	common_write_bytes(out, "", 1);
}
