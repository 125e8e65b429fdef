/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of words that redaction has learnt. The set can have as many words as a trace has paths. */
#ifndef RELOG_REDACT_WORDS_H
#define RELOG_REDACT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/memory_budget.h"
#include "common/row_index.h"

/*
 * Keeps two hashes of each word, one of them keyed, not the word. With a million learnt words, one in 10^13 other words
 * is mistaken for a learnt word, and redacted too.
 */
struct relog_words {
	struct relog_word *words;
	size_t count;
	struct common_row_index index;
	struct common_memory_budget memory_budget;
};

void relog_words_free(struct relog_words *words);
bool relog_words_have(const struct relog_words *words, const char *word, size_t size);
/* Returns PTL_NO_MEMORY. */
int relog_words_add(struct relog_words *words, const char *word, size_t size);

#endif
