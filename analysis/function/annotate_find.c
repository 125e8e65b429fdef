/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds executed functions by name, or by addresses of their file. */
#include <stdlib.h>
#include <string.h>

#include "analysis/function/annotate.h"
#include "analysis/function/function_table.h"
#include "common/error.h"
#include "common/program/options.h"
#include "common/vector.h"
#include "query/function_name.h"

struct finding {
	const struct analysis_annotator *annotator;
	const char *text;
	const bool *wanted;
	struct analysis_code_range *list;
	size_t count;
};

uint64_t analysis_address_in_process(const struct flow_timeline *timeline, uint32_t image, uint64_t address)
{
	const struct ptl_image_event *data;

	if (image == FLOW_NONE)
		return address;
	data = &flow_timeline_image(timeline, image)->data;
	return address - data->default_base + data->base;
}

static int add_found_function(struct finding *finding, const struct analysis_code_range *function)
{
	if (!common_vector_room(&finding->list, finding->count, sizeof(*function)))
		return common_fail_memory("functions", finding->count * sizeof(*function));
	finding->list[finding->count++] = *function;
	return 0;
}

/* ---- by name ------------------------------------------------------------------------------------- */

/*
 * Returns the name as report has it. The cache pays off: every block needs its function's name, for every
 * requested name.
 */
static const char *shown_name(const struct analysis_annotator *annotator, const char *name)
{
	struct analysis_shown_names *shown = annotator->shown;
	const uint64_t *known = common_hash_map_get(&shown->places, (uintptr_t)name);
	const size_t start = known ? (size_t)*known : shown->texts.size;

	if (!known) {
		analysis_function_add_name(annotator->symbols, name, strlen(name), flow_symbols_name, &shown->texts);
		common_write_bytes(&shown->texts, "", 1);
		if (shown->texts.failed || common_hash_map_put(&shown->places, (uintptr_t)name, start) < 0) {
			shown->texts.failed = true;
			return "";
		}
	}
	return (const char *)shown->texts.data + start;
}

static bool is_wanted_name(const struct finding *finding, const char *name)
{
	return query_function_is_called(name, finding->text) ||
	       query_function_is_called(shown_name(finding->annotator, name), finding->text);
}

static bool is_looked_at(const struct analysis_profile_block *block, const bool *wanted)
{
	return block->content != FLOW_NONE && (!wanted || wanted[block->image]);
}

/* Adds the block's function if the name matches, or extends the last function found. */
static int take_block(struct finding *finding, const struct analysis_profile_block *block)
{
	const struct analysis_annotator *annotator = finding->annotator;
	struct analysis_code_range *last = finding->count ? &finding->list[finding->count - 1] : NULL;
	struct analysis_code_range function = {.content = block->content, .image = block->image};
	struct flow_symbol symbol;

	if (last && last->content == block->content && block->address < last->end)
		return 0;
	if (!flow_symbols_find(annotator->symbols, block->image,
			       analysis_address_in_process(annotator->timeline, block->image, block->address),
			       &symbol) ||
	    !is_wanted_name(finding, symbol.name))
		return 0;
	function.name = symbol.name;
	function.first = block->address - symbol.offset;
	function.end = function.first + symbol.size;
	/* If the symbol's size is missing or too small, the function extends to the end of its last executed block. */
	if (function.end < block->address + block->size)
		function.end = block->address + block->size;
	if (!last || last->content != function.content || last->first != function.first)
		return add_found_function(finding, &function);
	last->end = function.end;
	return 0;
}

static int find_names(struct finding *finding)
{
	const struct analysis_profile *profile = &finding->annotator->profile;
	int status = 0;

	for (size_t i = 0; !status && i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (is_looked_at(block, finding->wanted))
			status = take_block(finding, block);
	}
	return status;
}

void analysis_functions_near(const struct analysis_annotator *annotator, const bool *wanted, struct query_near *near)
{
	const struct analysis_profile *profile = &annotator->profile;
	struct flow_symbol symbol;

	/* analysis_functions_find has cached all these names, so no new name can move the buffer. */
	for (size_t i = 0; i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (is_looked_at(block, wanted) &&
		    flow_symbols_find(annotator->symbols, block->image,
				      analysis_address_in_process(annotator->timeline, block->image, block->address),
				      &symbol))
			query_near_look(near, shown_name(annotator, symbol.name));
	}
}

/* ---- by address ---------------------------------------------------------------------------------- */

/* Parses a range of addresses. Returns 1 for a range, 0 for other texts, or PTL_MISUSE for a malformed range. */
static int parse_range(const char *text, uint64_t *first, uint64_t *last)
{
	const char *dots = strstr(text, "..");
	char low[32];

	if (strncmp(text, "0x", 2) != 0 || !dots || (size_t)(dots - text) >= sizeof(low))
		return 0;
	memcpy(low, text, (size_t)(dots - text));
	low[dots - text] = 0;
	if (common_parse_u64(low, first) < 0 || common_parse_u64(dots + 2, last) < 0 || *last < *first ||
	    *last == UINT64_MAX)
		return common_fail(PTL_MISUSE, "'%s' is no range of addresses such as 0x1000..0x10ff", text);
	return 1;
}

/* Adds the range once for each content that executed code in the range. */
static int find_range(struct finding *finding, uint64_t first, uint64_t last)
{
	const struct analysis_profile *profile = &finding->annotator->profile;
	int status = 0;

	for (size_t i = 0; !status && i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];
		const struct analysis_code_range *before = finding->count ? &finding->list[finding->count - 1] : NULL;
		const struct analysis_code_range function = {NULL, block->content, block->image, first, last + 1};

		if (block->address > last || block->address + block->size <= first ||
		    (before && before->content == block->content) ||
		    (finding->wanted && (block->image == FLOW_NONE || !finding->wanted[block->image])))
			continue;
		status = add_found_function(finding, &function);
	}
	return status;
}

int analysis_functions_find(const struct analysis_annotator *annotator, const char *text, const bool *wanted,
			    struct analysis_code_range **functions, size_t *count)
{
	struct finding finding = {.annotator = annotator, .text = text, .wanted = wanted};
	uint64_t first = 0, last = 0;
	int status = parse_range(text, &first, &last);

	if (status >= 0)
		status = status ? find_range(&finding, first, last) : find_names(&finding);
	if (status >= 0 && annotator->shown->texts.failed)
		status = common_fail_memory("names", annotator->shown->texts.size);
	if (status < 0) {
		free(finding.list);
		return status;
	}
	*functions = finding.list;
	*count = finding.count;
	return 0;
}
