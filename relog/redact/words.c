/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/redact/words.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "format/container/layout.h"
#include "common/vector.h"

struct relog_word {
	uint64_t keyed, plain;
};

static struct relog_word hash(const char *word, size_t size)
{
	return (struct relog_word){common_hash_bytes(word, size), format_checksum(word, size)};
}

static struct common_rows rows(const struct relog_words *words)
{
	return (struct common_rows){words->words, sizeof(*words->words), sizeof(*words->words)};
}

void relog_words_free(struct relog_words *words)
{
	free(words->words);
	common_row_index_free(&words->index);
	common_memory_budget_close(&words->memory_budget);
	*words = (struct relog_words){0};
}

bool relog_words_have(const struct relog_words *words, const char *word, size_t size)
{
	const struct relog_word wanted = hash(word, size);
	const struct common_rows all = rows(words);

	return common_row_index_find(&words->index, &all, &wanted) != COMMON_NO_ROW;
}

int relog_words_add(struct relog_words *words, const char *word, size_t size)
{
	struct common_rows all;
	int status;

	if (relog_words_have(words, word, size))
		return 0;
	status = common_memory_budget_take(&words->memory_budget, sizeof(*words->words) + 12, "words that are redacted",
					   words->count + 1);
	if (status)
		return status;
	if (words->count >= COMMON_NO_ROW || !common_vector_room(&words->words, words->count, sizeof(*words->words)))
		return common_fail_memory("words", words->count * sizeof(*words->words));
	words->words[words->count] = hash(word, size);
	all = rows(words);
	return common_row_index_add(&words->index, &all, (uint32_t)words->count++);
}
