/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that redaction has learnt, of which there can be as many as paths in a trace. */
#ifndef RELOG_REDACT_WORDS_H
#define RELOG_REDACT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/memory_budget.h"
#include "common/row_index.h"

/*
 * Only two hashes of each word are kept, one of them keyed. Of a million words, one in 10^13 others is taken for one of
 * them, and redacted too.
 */
struct relog_words {
	struct relog_word *words;
	size_t count;
	struct common_row_index index;
	struct common_memory_budget memory_budget;
};

void relog_words_free(struct relog_words *words);
bool relog_words_have(const struct relog_words *words, const char *word, size_t size);
/* PTL_NO_MEMORY. */
int relog_words_add(struct relog_words *words, const char *word, size_t size);

#endif
