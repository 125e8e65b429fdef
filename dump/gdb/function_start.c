/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the names of functions at the beginnings of blocks. */
#include "dump/gdb/function_start.h"

#include <ptl/symbols.h>

#include "common/hash.h"
#include "common/text/text.h"
#include "query/function_name.h"

static bool is_wanted(const struct dump_gdb_function *function, const struct flow_block *block, bool *failed)
{
	struct flow_symbol_span span;
	struct ptl_bytes name = {0};
	bool wanted;

	if (!flow_symbols_span(function->symbols, block->image, block->ip, &span) || !span.name ||
	    span.start != block->ip)
		return false;
	flow_symbols_name(function->symbols, span.name, &name);
	*failed |= name.failed;
	wanted = query_function_is_called(common_text_string(&name), function->pattern);
	common_bytes_free(&name);
	return wanted;
}

void dump_gdb_functions_near(const struct dump_gdb_function *function, const struct flow_timeline *timeline,
			     uint32_t process, struct query_near *near)
{
	struct ptl_bytes name = {0};

	for (size_t i = 0; i < flow_timeline_image_count(timeline); i++) {
		const struct flow_timeline_image *image = flow_timeline_image(timeline, i);
		const struct ptl_symbol_table *table = image->process == process
							       ? flow_symbols_table(function->symbols, &image->data)
							       : NULL;

		for (size_t k = 0; table && k < ptl_symbols_count(table); k++) {
			name.size = 0;
			flow_symbols_name(function->symbols, ptl_symbols_get(table, k).name, &name);
			query_near_look(near, common_text_string(&name));
		}
	}
	common_bytes_free(&name);
}

bool dump_gdb_function_begins(const struct dump_gdb_function *function, struct dump_gdb_function_cache *cache,
			      const struct flow_block *block, bool *failed)
{
	const size_t at = common_hash_mix(block->ip ^ (uint64_t)block->image << 48) % DUMP_GDB_FUNCTION_CACHE;

	if (!cache->places[at].known || cache->places[at].ip != block->ip || cache->places[at].image != block->image) {
		cache->places[at].ip = block->ip;
		cache->places[at].image = block->image;
		cache->places[at].known = true;
		cache->places[at].begins = is_wanted(function, block, failed);
	}
	return cache->places[at].begins;
}
