/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a sample profile in LLVM's text format (llvm/ProfileData/SampleProfReader.h): functions by symbol name, lines
 * relative to the line of the function's declaration, with discriminators. Counts are exact, unlike a profiler's samples. Counts of inlined
 * code are added to the inlined function itself, where the compiler also looks for them.
 */
#include "dump/export/profile/autofdo.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/function/source_note.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "flow/symbol/source_line.h"

/* LLVM keeps only these bits of a line offset. */
#define OFFSET_MASK 0xffffu

/* A place in the source of a function: a line, or one of several blocks of a line. */
struct place {
	uint32_t offset; /* line, relative to the function's declaration */
	uint32_t discriminator;
};

/* A place in one copy of a function, with the count of its most frequent instruction. */
struct line {
	const struct flow_scope *scope;
	struct place place;
	uint32_t function; /* index in functions */
	uint64_t count;
};

/* Calls of a place to a function. */
struct target {
	uint32_t function; /* index in functions, of the caller */
	struct place place;
	const char *name; /* of the callee */
	uint64_t count;
};

struct function {
	const char *name;
	uint64_t total;
	uint64_t head;       /* number of entries to the function */
	size_t first, count; /* range of its lines */
};

/*
 * An executed instruction, which may occur in several blocks: a jump to the middle of a block begins another block,
 * with the same end.
 */
struct instruction {
	uint64_t address; /* in the file's own address space */
	uint64_t count;
	uint32_t content, image;
};

struct autofdo {
	struct dump_run *run;
	struct analysis_calls *calls;
	struct flow_sources *sources;
	struct instruction *instructions; /* owned */
	size_t instruction_count, instruction_capacity;
	struct line *lines; /* owned */
	size_t line_count, line_capacity;
	struct common_byte_map by_line; /* by scope and place */
	struct target *targets;         /* owned */
	size_t target_count, target_capacity;
	struct function *functions; /* owned */
	size_t function_count, function_capacity;
	struct common_byte_map by_name;
	uint64_t unknown; /* executed instructions outside functions with debug information */
};

/* ---- functions ----------------------------------------------------------------------------------- */

/* Whether the format can represent the name: names cannot be escaped. */
static bool is_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if ((uint8_t)*at <= ' ' || *at == 0x7f)
			return false;
	return *name;
}

static int find_function(struct autofdo *autofdo, const char *name, uint32_t *number)
{
	const uint64_t *known = common_byte_map_get(&autofdo->by_name, name, strlen(name));
	int status;

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(autofdo->functions, autofdo->function_capacity, autofdo->function_count + 1,
				       "functions");
	if (status < 0)
		return status;
	*number = (uint32_t)autofdo->function_count++;
	autofdo->functions[*number] = (struct function){.name = name};
	return common_byte_map_put(&autofdo->by_name, name, strlen(name), *number);
}

/* Adds the block's count to the entries of a function, if the function's own code begins with the block. */
static int add_head(struct autofdo *autofdo, const struct analysis_profile_block *block, uint64_t address)
{
	const struct flow_scope *scope = flow_sources_scope(autofdo->sources, block->image, address);
	struct analysis_code_place place;
	uint32_t function;
	int status = analysis_functions_place(autofdo->calls->functions, block->image, address, &place);

	while (scope && scope->outer)
		scope = scope->outer;
	if (status < 0 || !scope || place.function == ANALYSIS_NO_FUNCTION || place.start != address ||
	    !is_name(scope->function->name))
		return status;
	status = find_function(autofdo, scope->function->name, &function);
	if (status == 0)
		autofdo->functions[function].head += block->count;
	return status;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/*
 * A discriminator of LLVM holds numbers in a code of 7 or 14 bits: the block's number, the factor by which the compiler has
 * duplicated the block's work (llvm/IR/DebugInfoMetadata.h).
 */
static uint32_t first_number(uint32_t discriminator)
{
	if (discriminator & 1)
		return 0;
	discriminator >>= 1;
	return discriminator & 0x20 ? (discriminator >> 1 & 0xfe0) | (discriminator & 0x1f) : discriminator & 0x1f;
}

static uint32_t behind_first_number(uint32_t discriminator)
{
	return discriminator & 1 ? discriminator >> 1 : discriminator >> (discriminator & 0x40 ? 14 : 7);
}

/*
 * Finds the place of an instruction, and the factor of its count. GCC numbers blocks in another way, which LLVM cannot match
 * with its own blocks: GCC's code has whole lines. Returns false without debug information.
 */
static bool find_place(const struct autofdo *autofdo, uint32_t image, uint64_t address, const struct flow_scope **scope,
		       struct place *place, uint32_t *factor)
{
	struct flow_line line;

	*scope = flow_sources_scope(autofdo->sources, image, address);
	*factor = 1;
	if (!*scope || !(*scope)->function->line || !is_name((*scope)->function->name) ||
	    !flow_sources_line(autofdo->sources, image, address, &line) || !line.line)
		return false;
	*place = (struct place){.offset = (line.line - (*scope)->function->line) & OFFSET_MASK};
	if ((*scope)->by_llvm && line.discriminator) {
		place->discriminator = first_number(line.discriminator);
		*factor = first_number(behind_first_number(line.discriminator));
	}
	*factor += !*factor;
	return true;
}

static int find_line(struct autofdo *autofdo, const struct flow_scope *scope, struct place place, uint32_t *number)
{
	uint8_t key[sizeof(scope) + sizeof(place)];
	const uint64_t *known;
	int status;

	memcpy(key, &scope, sizeof(scope));
	memcpy(key + sizeof(scope), &place, sizeof(place));
	known = common_byte_map_get(&autofdo->by_line, key, sizeof(key));
	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(autofdo->lines, autofdo->line_capacity, autofdo->line_count + 1, "lines");
	if (status < 0)
		return status;
	*number = (uint32_t)autofdo->line_count++;
	autofdo->lines[*number] = (struct line){.scope = scope, .place = place};
	status = find_function(autofdo, scope->function->name, &autofdo->lines[*number].function);
	return status == 0 ? common_byte_map_put(&autofdo->by_line, key, sizeof(key), *number) : status;
}

/* Converts a file address to an address in the process, which lookups need. */
static uint64_t place_of(const struct autofdo *autofdo, uint32_t image, uint64_t address)
{
	const struct ptl_image_event *data = &flow_timeline_image(autofdo->calls->timeline, image)->data;

	return address + data->base - data->default_base;
}

static int add_instruction(struct autofdo *autofdo, const struct instruction *instruction)
{
	const uint64_t address = place_of(autofdo, instruction->image, instruction->address);
	const struct flow_scope *scope;
	struct place place;
	uint32_t factor, number;
	int status;

	if (!find_place(autofdo, instruction->image, address, &scope, &place, &factor)) {
		autofdo->unknown += instruction->count;
		return 0;
	}
	status = find_line(autofdo, scope, place, &number);
	if (status == 0 && instruction->count * factor > autofdo->lines[number].count)
		autofdo->lines[number].count = instruction->count * factor;
	return status;
}

static int compare_instructions(const void *a_, const void *b_)
{
	const struct instruction *a = a_, *b = b_;

	if (a->content != b->content)
		return a->content < b->content ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* Sums up each instruction over all blocks that contain it. */
static int add_instructions(struct autofdo *autofdo)
{
	const struct instruction *list = autofdo->instructions;
	int status = 0;

	if (autofdo->instruction_count)
		qsort(autofdo->instructions, autofdo->instruction_count, sizeof(*list), compare_instructions);
	for (size_t i = 0; status == 0 && i < autofdo->instruction_count;) {
		struct instruction instruction = list[i];

		while (++i < autofdo->instruction_count && compare_instructions(&list[i], &instruction) == 0)
			instruction.count += list[i].count;
		status = add_instruction(autofdo, &instruction);
	}
	return status;
}

static int autofdo_add_block(struct autofdo *autofdo, const struct analysis_profile_block *block)
{
	const struct analysis_filter *filter = autofdo->calls->input.filter;
	const size_t count = autofdo->instruction_count + block->instructions;
	uint64_t address = block->address;
	int status;

	if (block->image == FLOW_NONE) {
		autofdo->unknown += block->count * block->instructions;
		return 0;
	}
	if (!analysis_filter_wants_image(filter,
					 flow_timeline_image(autofdo->calls->timeline, block->image)->data.file_name))
		return 0;
	status = COMMON_VECTOR_RESERVE(autofdo->instructions, autofdo->instruction_capacity, count, "instructions");
	if (status < 0)
		return status;
	for (uint32_t i = 0; i < block->instructions; i++) {
		autofdo->instructions[autofdo->instruction_count++] = (struct instruction){
			address, block->count, block->content, block->image};
		address += block->lengths[i];
	}
	return add_head(autofdo, block, place_of(autofdo, block->image, block->address));
}

/* ---- call targets -------------------------------------------------------------------------------- */

/*
 * Adds calls from the end of a block to a function. callee: address of the function in the process of the image. A PLT
 * entry stands for the function that the entry leads to.
 */
static int add_target(struct autofdo *autofdo, const struct analysis_profile_block *block, uint32_t image,
		      uint64_t callee, uint64_t count)
{
	const uint64_t last = block->address + block->size - block->lengths[block->instructions - 1];
	const uint64_t address = place_of(autofdo, block->image, last);
	const struct flow_scope *scope;
	struct target target = {.count = count};
	struct flow_symbol symbol;
	uint32_t factor;
	int status;

	if (!find_place(autofdo, block->image, address, &scope, &target.place, &factor) ||
	    !flow_symbols_find(autofdo->calls->symbols, image, callee, &symbol) || symbol.offset ||
	    !is_name(symbol.name) || strpbrk(symbol.name, ":@"))
		return 0;
	target.count *= factor;
	target.name = symbol.name;
	status = find_function(autofdo, scope->function->name, &target.function);
	if (status == 0)
		status = COMMON_VECTOR_RESERVE(autofdo->targets, autofdo->target_capacity, autofdo->target_count + 1,
					       "calls");
	if (status == 0)
		autofdo->targets[autofdo->target_count++] = target;
	return status;
}

static bool wants_block(const struct autofdo *autofdo, const struct analysis_profile_block *block)
{
	return block->image != FLOW_NONE && block->instructions &&
	       analysis_filter_wants_image(autofdo->calls->input.filter,
					   flow_timeline_image(autofdo->calls->timeline, block->image)->data.file_name);
}

static int add_targets(struct autofdo *autofdo, const struct analysis_profile *profile)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (block->branch == FLOW_BRANCH_CALL && block->target && wants_block(autofdo, block))
			status = add_target(autofdo, block, block->image,
					    place_of(autofdo, block->image, block->target), block->count);
	}
	for (size_t i = 0; status == 0 && i < profile->edge_count; i++) {
		const struct analysis_profile_edge *edge = &profile->edges[i];
		const struct analysis_profile_block *from = &profile->blocks[edge->from],
						    *to = &profile->blocks[edge->to];

		if (from->branch == FLOW_BRANCH_CALL_INDIRECT && to->image != FLOW_NONE && wants_block(autofdo, from))
			status = add_target(autofdo, from, to->image, place_of(autofdo, to->image, to->address),
					    edge->count);
	}
	return status;
}

static int compare_places(const struct place *a, const struct place *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->discriminator > b->discriminator) - (a->discriminator < b->discriminator);
}

static int compare_callers(const struct target *a, const struct target *b)
{
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return compare_places(&a->place, &b->place);
}

static int compare_names(const void *a, const void *b)
{
	const int order = compare_callers(a, b);

	return order ? order : strcmp(((const struct target *)a)->name, ((const struct target *)b)->name);
}

static int compare_counts(const void *a_, const void *b_)
{
	const struct target *a = a_, *b = b_;
	const int order = compare_callers(a, b);

	if (order || a->count == b->count)
		return order ? order : strcmp(a->name, b->name);
	return a->count > b->count ? -1 : 1;
}

/* Adds up calls of a line to one function, and orders the targets of each line by count. */
static void merge_targets(struct autofdo *autofdo)
{
	size_t count = 0;

	if (autofdo->target_count)
		qsort(autofdo->targets, autofdo->target_count, sizeof(*autofdo->targets), compare_names);
	for (size_t i = 0; i < autofdo->target_count; i++) {
		if (count && !compare_names(&autofdo->targets[count - 1], &autofdo->targets[i]))
			autofdo->targets[count - 1].count += autofdo->targets[i].count;
		else
			autofdo->targets[count++] = autofdo->targets[i];
	}
	autofdo->target_count = count;
	if (count)
		qsort(autofdo->targets, count, sizeof(*autofdo->targets), compare_counts);
}

/* Writes the targets of a line. */
static void write_targets(const struct autofdo *autofdo, const struct line *line)
{
	const struct target wanted = {.function = line->function, .place = line->place};
	size_t low = 0, high = autofdo->target_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare_callers(&autofdo->targets[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < autofdo->target_count && !compare_callers(&autofdo->targets[low], &wanted); low++)
		fprintf(autofdo->run->out, " %s:%" PRIu64, autofdo->targets[low].name, autofdo->targets[low].count);
}

/* ---- output -------------------------------------------------------------------------------------- */

static int compare_lines(const void *a_, const void *b_)
{
	const struct line *a = a_, *b = b_;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return compare_places(&a->place, &b->place);
}

/*
 * Adds the entries of inlined copies: the count of their first line, as LLVM does for copies inlined in the profiled
 * program.
 */
static int add_inlined_heads(struct autofdo *autofdo)
{
	struct common_hash_map firsts = {0};
	uint64_t scope, line;
	size_t at = 0;
	int status = 0;

	for (size_t i = 0; status == 0 && i < autofdo->line_count; i++) {
		const uint64_t key = (uintptr_t)autofdo->lines[i].scope;
		const uint64_t *known = common_hash_map_get(&firsts, key);

		if (autofdo->lines[i].scope->outer &&
		    (!known || compare_places(&autofdo->lines[i].place, &autofdo->lines[*known].place) < 0))
			status = common_hash_map_put(&firsts, key, i);
	}
	while (common_hash_map_next(&firsts, &at, &scope, &line))
		autofdo->functions[autofdo->lines[line].function].head += autofdo->lines[line].count;
	common_hash_map_free(&firsts);
	return status;
}

/* Adds up copies of a line at several places: the copies ran independently. */
static void merge_lines(struct autofdo *autofdo)
{
	size_t count = 0;

	if (autofdo->line_count)
		qsort(autofdo->lines, autofdo->line_count, sizeof(*autofdo->lines), compare_lines);
	for (size_t i = 0; i < autofdo->line_count; i++) {
		const struct line line = autofdo->lines[i];
		struct function *function = &autofdo->functions[line.function];

		function->total += line.count;
		if (count && compare_lines(&autofdo->lines[count - 1], &line) == 0) {
			autofdo->lines[count - 1].count += line.count;
			continue;
		}
		if (!function->count++)
			function->first = count;
		autofdo->lines[count++] = line;
	}
	autofdo->line_count = count;
}

static int compare_functions(const void *a_, const void *b_)
{
	const struct function *a = a_, *b = b_;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int write_functions(struct autofdo *autofdo)
{
	struct dump_run *run = autofdo->run;

	if (autofdo->function_count)
		qsort(autofdo->functions, autofdo->function_count, sizeof(*autofdo->functions), compare_functions);
	for (size_t i = 0; i < autofdo->function_count; i++) {
		const struct function *function = &autofdo->functions[i];

		if (!function->total)
			continue;
		fprintf(run->out, "%s:%" PRIu64 ":%" PRIu64 "\n", function->name, function->total, function->head);
		for (size_t k = function->first; k < function->first + function->count; k++) {
			const struct line *line = &autofdo->lines[k];

			fprintf(run->out, " %" PRIu32, line->place.offset);
			if (line->place.discriminator)
				fprintf(run->out, ".%" PRIu32, line->place.discriminator);
			fprintf(run->out, ": %" PRIu64, line->count);
			write_targets(autofdo, &autofdo->lines[k]);
			fputc('\n', run->out);
		}
	}
	return dump_output_check(run);
}

static int count_lines(struct autofdo *autofdo, const struct analysis_profile *profile)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < profile->block_count; i++)
		status = autofdo_add_block(autofdo, &profile->blocks[i]);
	if (status == 0)
		status = add_instructions(autofdo);
	if (status == 0)
		status = add_targets(autofdo, profile);
	if (status < 0)
		return status;
	if (!profile->instructions)
		analysis_note_no_flow(&autofdo->calls->input);
	if (profile->instructions && !autofdo->line_count) {
		common_message_warning("no function of what ran has debug information: the profile is empty");
		common_message_hint("compile with -g, and record with ptl-record --embed debug");
	}
	status = add_inlined_heads(autofdo);
	if (status < 0)
		return status;
	merge_lines(autofdo);
	merge_targets(autofdo);
	return write_functions(autofdo);
}

int dump_autofdo(struct dump_run *run, struct analysis_calls *calls, struct dump_left_out *left_out)
{
	struct autofdo autofdo = {.run = run, .calls = calls};
	struct analysis_profile profile = {0};
	int status = flow_sources_open(calls->input.trace, calls->timeline, &autofdo.sources);

	if (status == 0) {
		flow_sources_want_scopes(autofdo.sources);
		status = analysis_profile_run(calls->input.trace, calls->timeline, &calls->input.view, true, &profile);
	}
	common_progress_end();
	if (status == 0) {
		status = count_lines(&autofdo, &profile);
		dump_left_out_add(left_out, profile.missing.gaps, "gap, of which it is not known what ran",
				  "gaps, of which it is not known what ran");
		dump_left_out_add(left_out, autofdo.unknown, "instruction without debug information",
				  "instructions without debug information");
		analysis_profile_free(&profile);
	}
	analysis_warn_of_sources(autofdo.sources, NULL);
	flow_sources_close(autofdo.sources);
	free(autofdo.instructions);
	free(autofdo.lines);
	free(autofdo.targets);
	free(autofdo.functions);
	common_byte_map_free(&autofdo.by_line);
	common_byte_map_free(&autofdo.by_name);
	return status;
}
