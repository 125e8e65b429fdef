/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts blocks, and looks up each of their instructions once. */
#include "dump/export/profile/line_count.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function/source_note.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/program/message.h"
#include "common/vector.h"

/* Key of a line. Files are compared by the address of their name, so a file may have several keys. */
struct line_key {
	const char *file;
	uint32_t function, line;
};

static int add_instructions(struct dump_line_counts *counts, const struct line_key *key, uint64_t instructions)
{
	const uint64_t *known = common_byte_map_get(&counts->numbers, key, sizeof(*key));
	int status;

	if (known) {
		counts->list[*known].instructions += instructions;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(counts->list, counts->capacity, counts->count + 1, "lines");
	if (status == 0)
		status = common_byte_map_put(&counts->numbers, key, sizeof(*key), counts->count);
	if (status == 0)
		counts->list[counts->count++] = (struct dump_line_count){key->file, key->function, key->line,
									 instructions};
	return status;
}

/* Finds the line of an instruction. outer: of inlined code, the line of the call in the function that contains it. */
static bool find_line(const struct dump_function_lines *lines, uint32_t image, uint64_t address, bool outer,
		      struct line_key *key)
{
	const struct flow_scope *scope = outer ? flow_sources_scope(lines->sources, image, address) : NULL;

	while (scope && scope->outer && scope->outer->outer)
		scope = scope->outer;
	if (!scope || !scope->outer || !scope->call_line || !*scope->call_file)
		return flow_sources_find(lines->sources, image, address, &key->file, &key->line);
	key->file = scope->call_file;
	key->line = scope->call_line;
	return true;
}

static int lines_add_block(struct dump_line_counts *counts, const struct dump_function_lines *lines,
			   const struct analysis_profile_block *block, bool outer)
{
	const struct flow_timeline_image *image = block->image == FLOW_NONE
							  ? NULL
							  : flow_timeline_image(lines->calls->timeline, block->image);
	uint64_t address = block->address;
	int status = 0;

	/* Converts the file address of the block to an address in the process, which lookups need. */
	if (image)
		address += image->data.base - image->data.default_base;
	for (uint32_t i = 0; image && status == 0 && i < block->instructions; i++) {
		struct analysis_code_place place;
		struct line_key key;

		memset(&key, 0, sizeof(key));
		if (find_line(lines, block->image, address, outer, &key)) {
			status = analysis_functions_place(lines->calls->functions, block->image, address, &place);
			key.function = place.function;
			if (status == 0 && key.function != ANALYSIS_NO_FUNCTION)
				status = add_instructions(counts, &key, block->count);
		}
		address += block->lengths[i];
	}
	return status;
}

static int compare_lines(const void *a_, const void *b_)
{
	const struct dump_line_count *a = a_, *b = b_;
	int order;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Merges lines of files whose names are in memory twice. */
static void join_lines(struct dump_line_counts *counts)
{
	size_t kept = 0;

	for (size_t i = 0; i < counts->count; i++) {
		if (kept && !compare_lines(&counts->list[kept - 1], &counts->list[i]))
			counts->list[kept - 1].instructions += counts->list[i].instructions;
		else
			counts->list[kept++] = counts->list[i];
	}
	counts->count = kept;
}

int dump_line_counts_make(struct dump_line_counts *counts, const struct dump_function_lines *lines, bool outer)
{
	const struct analysis_calls *calls = lines->calls;
	struct analysis_profile profile = {0};
	int status;

	if (outer)
		flow_sources_want_scopes(lines->sources);
	status = analysis_profile_run(calls->input.trace, calls->timeline, &calls->input.view, false, &profile);

	common_progress_end();
	if (status < 0)
		return status;
	for (size_t i = 0; status == 0 && i < profile.block_count; i++)
		status = lines_add_block(counts, lines, &profile.blocks[i], outer);
	analysis_profile_free(&profile);
	if (counts->count)
		qsort(counts->list, counts->count, sizeof(*counts->list), compare_lines);
	join_lines(counts);
	if (status == 0)
		analysis_warn_of_sources(lines->sources, "source lines");
	return status;
}

void dump_line_counts_free(struct dump_line_counts *counts)
{
	free(counts->list);
	common_byte_map_free(&counts->numbers);
	*counts = (struct dump_line_counts){0};
}

const struct dump_line_count *dump_line_counts_of(const struct dump_line_counts *counts, uint32_t function,
						  uint64_t instructions, size_t *count)
{
	const size_t first = COMMON_PARTITION(counts->count, at, counts->list[at].function < function);
	uint64_t sum = 0;

	*count = 0;
	for (size_t i = first; i < counts->count && counts->list[i].function == function; i++, ++*count)
		sum += counts->list[i].instructions;
	if (*count && sum <= instructions)
		return &counts->list[first];
	*count = 0;
	return NULL;
}
