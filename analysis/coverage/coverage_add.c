/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds the coverage of one trace: converts counts of blocks to lines and branches, function by function. */
#include <stdlib.h>
#include <string.h>

#include "analysis/coverage/coverage.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"

struct adding {
	struct analysis_coverage *coverage;
	const struct analysis_annotator *annotator;
	uint32_t content;
	uint32_t image;
	uint64_t first, end; /* bounds of the image in its file's address space */
	/* last path of the line table and its file number; consecutive lines often have the same path */
	const char *last_path;
	uint32_t last_file;
	const char *entry_path; /* line entry at the start of the last function, and its end address */
	uint32_t entry_line;
	uint64_t entry_end;
	struct common_hash_map branches; /* for one function: by line, the number of branches so far */
};

static int find_file(struct adding *adding, const char *path, uint32_t *file)
{
	int status = 0;

	if (path != adding->last_path)
		status = analysis_coverage_file(adding->coverage, path, &adding->last_file);
	adding->last_path = status ? NULL : path;
	*file = adding->last_file;
	return status;
}

/* ---- one function -------------------------------------------------------------------------------- */

static int add_branch(struct adding *adding, const struct analysis_annotated_instruction *one)
{
	struct analysis_covered_branch branch = {
		.line = one->line, .count = one->count, .taken = one->taken, .not_taken = one->not_taken};
	int status = find_file(adding, one->file, &branch.file);
	uint64_t *number, key;

	if (status || branch.file == FLOW_NONE)
		return status;
	key = (uint64_t)branch.file << 32 | branch.line;
	number = common_hash_map_get(&adding->branches, key);
	branch.number = number ? (uint32_t)++ * number : 0;
	if (!number)
		status = common_hash_map_put(&adding->branches, key, 0);
	return status ? status : analysis_coverage_branch(adding->coverage, &branch);
}

/* Compares last components: a path may be relative to the compiler's folder. */
static bool is_same_file(const char *a, const char *b)
{
	return strcmp(common_base_name(a), common_base_name(b)) == 0;
}

/* Whether the line of the function's first instructions occurs again later in the function. */
static bool comes_again(const struct analysis_annotation *annotation)
{
	const struct analysis_annotated_instruction *first = &annotation->instructions[0];
	size_t i = 0;

	while (i < annotation->count && annotation->instructions[i].file == first->file &&
	       annotation->instructions[i].line == first->line)
		i++;
	for (; i < annotation->count; i++)
		if (annotation->instructions[i].file == first->file && annotation->instructions[i].line == first->line)
			return true;
	return false;
}

/*
 * Returns the line with the function's name, for a function that begins at the instruction. Returns 0 if the name is
 * not on an earlier line.
 */
static uint32_t declared_line(const struct adding *adding, const struct analysis_annotated_instruction *entry)
{
	const struct analysis_annotator *annotator = adding->annotator;
	const struct flow_scope *scope = flow_sources_scope(
		annotator->sources, adding->image,
		analysis_address_in_process(annotator->timeline, adding->image, entry->address));

	while (scope && scope->outer)
		scope = scope->outer;
	return scope && scope->function->line < entry->line && is_same_file(scope->function->file, entry->file)
		       ? scope->function->line
		       : 0;
}

/*
 * Whether the address begins the code of the function's opening brace. Optimised code may begin with a statement
 * instead.
 */
static bool is_bracket(const struct adding *adding, uint64_t address, uint32_t line)
{
	return flow_sources_begins(adding->annotator->sources, adding->image, address, line);
}

/*
 * Adds the entry of a function. The function's code begins at its opening brace, but gcov counts the line with the
 * function's name. The line of the brace gets its own count only if more code of the line follows. *left_out: line that
 * gets no count; 0: none.
 */
static int add_entry(struct adding *adding, const struct analysis_annotation *annotation, uint32_t *left_out)
{
	const struct analysis_annotated_instruction *entry = &annotation->instructions[0];
	const struct analysis_code_range *function = &annotation->function;
	uint32_t declared, file;
	int status;

	*left_out = 0;
	if (!function->name || !annotation->count || entry->address != function->first || !entry->file)
		return 0;
	status = find_file(adding, entry->file, &file);
	if (status || file == FLOW_NONE)
		return status;
	declared = declared_line(adding, entry);
	if (declared) {
		status = analysis_coverage_line(adding->coverage, file, declared, entry->count);
		*left_out = is_bracket(adding, entry->address, entry->line) && !comes_again(annotation) ? entry->line
													: 0;
	} else {
		declared = entry->line;
	}
	return status ? status
		      : analysis_coverage_function(adding->coverage, file, declared, function->name, entry->count);
}

static int add_annotation(struct adding *adding, const struct analysis_annotation *annotation)
{
	uint32_t left_out = 0, file;
	int status = add_entry(adding, annotation, &left_out);

	for (size_t i = 0; !status && i < annotation->line_count; i++) {
		const struct analysis_annotated_line *line = &annotation->lines[i];

		if (line->line == left_out && line->file == annotation->instructions[0].file)
			continue;
		status = find_file(adding, line->file, &file);
		if (!status && file != FLOW_NONE)
			status = analysis_coverage_line(adding->coverage, file, line->line, line->count);
	}
	common_hash_map_free(&adding->branches);
	for (size_t i = 0; !status && i < annotation->count; i++)
		if (annotation->instructions[i].branch == FLOW_BRANCH_CONDITIONAL && annotation->instructions[i].file)
			status = add_branch(adding, &annotation->instructions[i]);
	return status;
}

static int add_function(struct adding *adding, const char *name, uint64_t first, uint64_t end)
{
	const struct analysis_code_range function = {name, adding->content, adding->image, first, end};
	struct analysis_annotation annotation;
	int status = analysis_annotate(adding->annotator, &function, &annotation);

	if (!status)
		status = add_annotation(adding, &annotation);
	analysis_annotation_free(&annotation);
	return status;
}

/* ---- an image ------------------------------------------------------------------------------------ */

/* Adds the function at an address of the file, or the code up to the next symbol. *end: end of this code. */
static int add_at(struct adding *adding, uint64_t address, uint64_t *end)
{
	const struct analysis_annotator *annotator = adding->annotator;
	const uint64_t shift = analysis_address_in_process(annotator->timeline, adding->image, 0);
	struct flow_symbol_span span;
	struct flow_symbol symbol;
	uint64_t first = address;
	const char *name = NULL;

	*end = adding->end;
	if (!flow_symbols_span(annotator->symbols, adding->image, address + shift, &span))
		return 0;
	*end = span.last - shift + 1;
	if (span.name && flow_symbols_find(annotator->symbols, adding->image, address + shift, &symbol)) {
		name = symbol.offset ? NULL : symbol.name;
		if (name && symbol.size > *end - first && symbol.size <= adding->end - first)
			*end = first + symbol.size;
	}
	if (*end <= first || *end > adding->end)
		*end = adding->end;
	return add_function(adding, name, first, *end);
}

/* Whether a symbol begins at an address of the file. */
static bool is_function(const struct adding *adding, uint64_t address)
{
	const struct analysis_annotator *annotator = adding->annotator;
	struct flow_symbol symbol;

	return flow_symbols_find(annotator->symbols, adding->image,
				 analysis_address_in_process(annotator->timeline, adding->image, address), &symbol) &&
	       !symbol.offset;
}

/* Adds a code line of the image with count 0, so that lines that did not run are listed. */
static int add_line(void *context, uint64_t first, uint64_t end, const char *path, uint32_t line)
{
	struct adding *adding = context;
	uint32_t file;
	int status;

	if (first >= adding->end || end <= adding->first)
		return 0;
	/* add_entry handles the line at the start of a function, which may consist of several pieces. */
	if ((is_function(adding, first) && is_bracket(adding, first, line)) ||
	    (first == adding->entry_end && path == adding->entry_path && line == adding->entry_line)) {
		adding->entry_path = path;
		adding->entry_line = line;
		adding->entry_end = end;
		return 0;
	}
	status = find_file(adding, path, &file);
	return status || file == FLOW_NONE ? status : analysis_coverage_line(adding->coverage, file, line, 0);
}

static uint64_t instructions_of(const struct analysis_profile *profile, uint32_t content)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->block_count; i++)
		if (profile->blocks[i].content == content)
			sum += profile->blocks[i].count * profile->blocks[i].instructions;
	return sum;
}

/* Debug information of system libraries may be installed, but refers to sources that are not. */
static bool is_library(const char *path)
{
	return strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0;
}

static int add_content(struct analysis_coverage *coverage, const struct analysis_annotator *annotator, uint32_t content)
{
	const struct analysis_content *own = &annotator->profile.contents[content];
	const struct ptl_image_event *data = &flow_timeline_image(annotator->timeline, own->image)->data;
	const uint64_t instructions = instructions_of(&annotator->profile, content);
	struct adding adding = {.coverage = coverage,
				.annotator = annotator,
				.content = content,
				.image = own->image,
				.first = data->default_base,
				.end = data->default_base + data->size};
	bool any = false;
	int status = 0;

	coverage->instructions += instructions;
	if (!coverage->libraries && is_library(own->path))
		return analysis_coverage_leave_out(coverage, own->path, instructions);
	if (adding.end >= adding.first)
		status = flow_sources_walk(annotator->sources, own->image, add_line, &adding, &any);
	if (!status && !any)
		return analysis_coverage_leave_out(coverage, own->path, instructions);
	for (uint64_t address = adding.first, next; !status && address < adding.end; address = next)
		status = add_at(&adding, address, &next);
	common_hash_map_free(&adding.branches);
	return status;
}

/* ---- a trace ------------------------------------------------------------------------------------- */

static int add_contents(struct analysis_coverage *coverage, const struct analysis_annotator *annotator,
			const bool *wanted)
{
	const struct analysis_profile *profile = &annotator->profile;
	int status = 0;

	coverage->gaps += profile->missing.gaps;
	for (uint32_t i = 0; !status && i < profile->content_count; i++)
		if (!wanted || wanted[profile->contents[i].image])
			status = add_content(coverage, annotator, i);
	if (!status && !wanted && instructions_of(profile, FLOW_NONE))
		status = analysis_coverage_leave_out(coverage, "[no image]", instructions_of(profile, FLOW_NONE));
	return status;
}

static int add_flow(struct analysis_coverage *coverage, const struct analysis_input *input,
		    const struct flow_timeline *timeline, const bool *wanted)
{
	struct analysis_annotator annotator;
	int status = analysis_annotator_open(&annotator, input, timeline, false);

	if (!status) {
		flow_sources_want_scopes(annotator.sources);
		status = add_contents(coverage, &annotator, wanted);
	}
	if (!status && !annotator.profile.instructions)
		analysis_note_no_flow(input);
	analysis_annotator_close(&annotator);
	return status;
}

int analysis_coverage_add(struct analysis_coverage *coverage, const struct analysis_input *input,
			  const struct flow_timeline *timeline)
{
	bool *wanted = NULL;
	int status = analysis_input_images(input, timeline, &wanted);

	if (!status)
		status = add_flow(coverage, input, timeline, wanted);
	free(wanted);
	return status;
}
