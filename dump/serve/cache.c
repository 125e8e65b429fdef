/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/cache.h"

#include <string.h>

static void make_key(const struct common_string_list *words, struct ptl_bytes *key)
{
	for (size_t i = 0; i < words->count; i++)
		common_write_bytes(key, words->list[i], strlen(words->list[i]) + 1);
}

static size_t size_of(const struct dump_serve_output *entry)
{
	return entry->key.size + entry->out.size + entry->err.size;
}

static void remove_entry(struct dump_serve_cache *cache, struct dump_serve_output *entry)
{
	cache->bytes -= size_of(entry);
	common_bytes_free(&entry->key);
	common_bytes_free(&entry->out);
	common_bytes_free(&entry->err);
	*entry = (struct dump_serve_output){0};
}

const struct dump_serve_output *dump_serve_cache_find(struct dump_serve_cache *cache,
						      const struct common_string_list *words)
{
	struct dump_serve_output *found = NULL;
	struct ptl_bytes key = {0};

	make_key(words, &key);
	for (size_t i = 0; !key.failed && !found && i < DUMP_SERVE_CACHE_ENTRIES; i++) {
		struct dump_serve_output *entry = &cache->entries[i];

		if (entry->used && entry->key.size == key.size && !memcmp(entry->key.data, key.data, key.size))
			found = entry;
	}
	common_bytes_free(&key);
	if (found)
		found->used = ++cache->uses;
	return found;
}

/* Returns the least recently used entry. used: false if an empty entry goes first. */
static struct dump_serve_output *oldest_entry(struct dump_serve_cache *cache, bool used)
{
	struct dump_serve_output *oldest = NULL;

	for (size_t i = 0; i < DUMP_SERVE_CACHE_ENTRIES; i++) {
		struct dump_serve_output *entry = &cache->entries[i];

		if ((entry->used || !used) && (!oldest || entry->used < oldest->used))
			oldest = entry;
	}
	return oldest;
}

void dump_serve_cache_keep(struct dump_serve_cache *cache, const struct common_string_list *words,
			   struct ptl_bytes *out, struct ptl_bytes *err, int ended)
{
	struct dump_serve_output made = {.out = *out, .err = *err, .ended = ended, .used = ++cache->uses};
	struct dump_serve_output *entry;

	*out = *err = (struct ptl_bytes){0};
	make_key(words, &made.key);
	if (made.key.failed || made.out.failed || made.err.failed || size_of(&made) > DUMP_SERVE_CACHE_MAX) {
		common_bytes_free(&made.key);
		common_bytes_free(&made.out);
		common_bytes_free(&made.err);
		return;
	}
	while (cache->bytes + size_of(&made) > DUMP_SERVE_CACHE_MAX)
		remove_entry(cache, oldest_entry(cache, true));
	entry = oldest_entry(cache, false);
	remove_entry(cache, entry);
	*entry = made;
	cache->bytes += size_of(entry);
}

void dump_serve_cache_free(struct dump_serve_cache *cache)
{
	for (size_t i = 0; i < DUMP_SERVE_CACHE_ENTRIES; i++)
		remove_entry(cache, &cache->entries[i]);
}
