/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump annotate: instructions of functions with execution counts and source lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/function/annotate.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/source_text.h"
#include "dump/run/calls.h"
#include "dump/run/run.h"
#include "flow/code/disassembly.h"

#define COUNT_WIDTH 15
#define TARGETS_SHOWN 4 /* maximum targets shown for an indirect branch; JSON has all */

struct annotate_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool executed;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"executed", 0, NULL, "Only instructions that ran.", COMMON_FLAG(struct annotate_options, executed)},
	{NULL},
};

struct annotate_run {
	struct dump_run *run;
	const struct analysis_annotator *annotator;
	struct dump_source_texts texts;
	struct ptl_bytes line;
};

/* ---- text ---------------------------------------------------------------------------------------- */

static void add_block_place(const struct annotate_run *annotate_run, size_t block, struct ptl_bytes *text)
{
	const struct analysis_profile_block *target = &annotate_run->annotator->profile.blocks[block];

	flow_symbols_text(
		annotate_run->annotator->symbols, target->image,
		analysis_address_in_process(annotate_run->annotator->timeline, target->image, target->address), text);
}

static void text_head(struct annotate_run *annotate_run, const struct analysis_annotation *annotation)
{
	const struct analysis_code_range *function = &annotation->function;
	struct ptl_bytes *line = &annotate_run->line;

	line->size = 0;
	common_text_add(line, dump_bold(annotate_run->run));
	if (function->name) {
		struct ptl_bytes name = {0};

		flow_symbols_shown_name(annotate_run->annotator->symbols, function->name, &name);
		common_text_safe_n(line, name.data, name.size);
		common_bytes_free(&name);
	} else {
		common_text_format(line, "0x%" PRIx64 "..0x%" PRIx64, function->first, function->end - 1);
	}
	common_text_add(line, dump_plain(annotate_run->run));
	common_text_add(line, " (");
	flow_symbols_image(annotate_run->annotator->symbols, function->image, line);
	common_text_add(line, "): ");
	common_text_count(line, annotation->executed);
	common_text_add(line, " instructions\n");
	common_text_write(line, annotate_run->run->out);
}

/* Appends a source line with tabs expanded, since a tab would be shown as \x09. */
static void add_source(struct ptl_bytes *text, const char *words, size_t size)
{
	size_t column = 0, at = 0;

	for (; at < size && (words[at] == ' ' || words[at] == '\t'); at++)
		column = words[at] == '\t' ? (column | 7) + 1 : column + 1;
	common_text_format(text, "%*s", (int)(column < 256 ? column : 256), "");
	while (at < size) {
		const char *tab = memchr(words + at, '\t', size - at);
		const size_t part = tab ? (size_t)(tab - words) - at : size - at;

		common_text_safe_n(text, words + at, part);
		common_text_add(text, tab ? " " : "");
		at += part + 1;
	}
}

/* Prints "counts.c:12  for (i = 0; i < n; i++)". */
static void text_line(struct annotate_run *annotate_run, const struct analysis_annotated_instruction *one)
{
	struct ptl_bytes *line = &annotate_run->line;
	const char *words;
	size_t size;

	line->size = 0;
	common_text_format(line, "%*s  %s", COUNT_WIDTH, "", dump_dim(annotate_run->run));
	common_text_safe(line, common_base_name(one->file));
	common_text_format(line, ":%" PRIu32, one->line);
	if (dump_source_line(&annotate_run->texts, one->file, one->line, &words, &size)) {
		common_text_add(line, "  ");
		add_source(line, words, size);
	}
	common_text_add(line, dump_plain(annotate_run->run));
	common_text_add(line, "\n");
	common_text_write(line, annotate_run->run->out);
}

static void add_branch(struct annotate_run *annotate_run, const struct analysis_annotation *annotation,
		       const struct analysis_annotated_instruction *one, struct ptl_bytes *line)
{
	if (one->branch == FLOW_BRANCH_CONDITIONAL && one->count) {
		common_text_add(line, "  ; taken ");
		common_text_count(line, one->taken);
		common_text_add(line, ", not taken ");
		common_text_count(line, one->not_taken);
	}
	for (size_t i = 0; i < one->target_count && i < TARGETS_SHOWN; i++) {
		const struct analysis_branch_target *target = &annotation->targets[one->first_target + i];

		common_text_add(line, i ? ", " : "  ; to ");
		add_block_place(annotate_run, target->block, line);
		common_text_add(line, " ");
		common_text_count(line, target->count);
	}
	if (one->target_count > TARGETS_SHOWN)
		common_text_format(line, " and %zu more", one->target_count - TARGETS_SHOWN);
}

/*
 * Returns the style of an instruction: dim if it did not run, bold or red if it ran at least a tenth or half as often
 * as the most frequent instruction.
 */
static const char *style_of(const struct annotate_run *annotate_run, const struct analysis_annotation *annotation,
			    uint64_t count)
{
	if (!count)
		return dump_dim(annotate_run->run);
	/* Without repetition, no instruction is emphasised. */
	if (annotation->most < 2)
		return "";
	if (count >= annotation->most - annotation->most / 2)
		return dump_red(annotate_run->run);
	return count >= annotation->most / 10 + (annotation->most % 10 > 0) ? dump_bold(annotate_run->run) : "";
}

static void text_instruction(struct annotate_run *annotate_run, const struct analysis_annotation *annotation,
			     const struct analysis_annotated_instruction *one)
{
	const char *const style = style_of(annotate_run, annotation, one->count);
	struct ptl_bytes *line = &annotate_run->line;
	size_t start;

	line->size = 0;
	common_text_add(line, style);
	start = line->size;
	if (one->count) {
		struct ptl_bytes count = {0};

		common_text_count(&count, one->count);
		common_text_format(line, "%*s", COUNT_WIDTH, common_text_string(&count));
		common_bytes_free(&count);
	}
	common_text_pad(line, start, COUNT_WIDTH);
	common_text_add(line, "  ");
	common_text_hex_right(line, one->address, 8);
	common_text_add(line, "  ");
	flow_disassemble(one->bytes, one->length, one->mode, one->address, line);
	add_branch(annotate_run, annotation, one, line);
	common_text_add(line, *style ? dump_plain(annotate_run->run) : "");
	common_text_add(line, "\n");
	common_text_write(line, annotate_run->run->out);
}

static void show_text(struct annotate_run *annotate_run, const struct analysis_annotation *annotation)
{
	const struct analysis_annotated_instruction *before = NULL;

	text_head(annotate_run, annotation);
	for (size_t i = 0; i < annotation->count; i++) {
		const struct analysis_annotated_instruction *one = &annotation->instructions[i];

		if (one->file && (!before || before->file != one->file || before->line != one->line))
			text_line(annotate_run, one);
		text_instruction(annotate_run, annotation, one);
		before = one;
	}
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_targets(struct annotate_run *annotate_run, const struct analysis_annotation *annotation,
			 const struct analysis_annotated_instruction *one)
{
	struct common_json *json = &annotate_run->run->json_out;

	if (!one->target_count)
		return;
	common_json_array(json, "targets");
	for (size_t i = 0; i < one->target_count; i++) {
		const struct analysis_branch_target *target = &annotation->targets[one->first_target + i];
		const struct analysis_profile_block *block = &annotate_run->annotator->profile.blocks[target->block];

		annotate_run->line.size = 0;
		flow_symbols_symbol(
			annotate_run->annotator->symbols, block->image,
			analysis_address_in_process(annotate_run->annotator->timeline, block->image, block->address),
			&annotate_run->line);
		common_json_object(json, NULL);
		common_json_hex(json, "address", block->address);
		common_json_string(json, "symbol", common_text_string(&annotate_run->line));
		if (block->content != FLOW_NONE)
			common_json_string(json, "image",
					   annotate_run->annotator->profile.contents[block->content].path);
		common_json_u64(json, "count", target->count);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_instruction(struct annotate_run *annotate_run, const struct analysis_annotation *annotation,
			     const struct analysis_annotated_instruction *one)
{
	struct common_json *json = &annotate_run->run->json_out;

	annotate_run->line.size = 0;
	flow_disassemble(one->bytes, one->length, one->mode, one->address, &annotate_run->line);
	common_json_object(json, NULL);
	common_json_hex(json, "address", one->address);
	common_json_u64(json, "size", one->length);
	common_json_string(json, "text", common_text_string(&annotate_run->line));
	common_json_u64(json, "count", one->count);
	if (one->branch == FLOW_BRANCH_CONDITIONAL) {
		common_json_u64(json, "taken", one->taken);
		common_json_u64(json, "not_taken", one->not_taken);
	}
	json_targets(annotate_run, annotation, one);
	if (one->file) {
		common_json_string(json, "file", one->file);
		common_json_u64(json, "line", one->line);
	}
	common_json_object_end(json);
}

static void json_lines(struct annotate_run *annotate_run, const struct analysis_annotation *annotation)
{
	struct common_json *json = &annotate_run->run->json_out;

	common_json_array(json, "lines");
	for (size_t i = 0; i < annotation->line_count; i++) {
		const struct analysis_annotated_line *line = &annotation->lines[i];
		const char *words;
		size_t size;

		common_json_object(json, NULL);
		common_json_string(json, "file", line->file);
		common_json_u64(json, "line", line->line);
		common_json_u64(json, "count", line->count);
		common_json_u64(json, "instructions", line->instructions);
		if (dump_source_line(&annotate_run->texts, line->file, line->line, &words, &size))
			common_json_string_n(json, "words", words, size);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_function(struct annotate_run *annotate_run, const struct analysis_code_range *function)
{
	struct common_json *json = &annotate_run->run->json_out;
	struct ptl_bytes *text = &annotate_run->line;

	text->size = 0;
	if (function->name)
		flow_symbols_name(annotate_run->annotator->symbols, function->name, text);
	common_json_string(json, "function", function->name ? common_text_string(text) : NULL);
	if (function->content != FLOW_NONE) {
		const struct analysis_content *content = &annotate_run->annotator->profile.contents[function->content];

		text->size = 0;
		common_text_hex_bytes(text, content->build_id, content->build_id_size);
		common_json_string(json, "image", content->path);
		common_json_string(json, "build_id", content->build_id_size ? common_text_string(text) : NULL);
	}
	common_json_hex(json, "address", function->first);
	common_json_u64(json, "size", function->end - function->first);
}

static void show_json(struct annotate_run *annotate_run, const struct analysis_annotation *annotation)
{
	struct common_json *json = &annotate_run->run->json_out;

	common_json_object(json, NULL);
	json_function(annotate_run, &annotation->function);
	common_json_u64(json, "executed", annotation->executed);
	common_json_array(json, "instructions");
	for (size_t i = 0; i < annotation->count; i++)
		json_instruction(annotate_run, annotation, &annotation->instructions[i]);
	common_json_array_end(json);
	json_lines(annotate_run, annotation);
	common_json_object_end(json);
	common_json_line(json);
}

/* ---- the command --------------------------------------------------------------------------------- */

static int show_function(struct annotate_run *annotate_run, const struct analysis_code_range *function)
{
	struct analysis_annotation annotation;
	int status = analysis_annotate(annotate_run->annotator, function, &annotation);

	if (!status && annotate_run->run->options->json)
		show_json(annotate_run, &annotation);
	else if (!status)
		show_text(annotate_run, &annotation);
	analysis_annotation_free(&annotation);
	return status ? status : dump_output_check(annotate_run->run);
}

static int show_functions(struct dump_run *run, const struct analysis_annotator *annotator, const bool *wanted)
{
	struct annotate_run annotate_run = {.run = run, .annotator = annotator};
	struct query_near near = {.text = run->operand};
	struct analysis_code_range *functions = NULL;
	size_t count = 0;
	int status = analysis_functions_find(annotator, run->operand, wanted, &functions, &count);

	dump_source_texts_start(&annotate_run.texts, run);
	if (!status && !count) {
		analysis_functions_near(annotator, wanted, &near);
		status = common_fail(PTL_MISUSE,
				     "nothing called '%s'%s has run; 'ptl-dump report' lists the functions that ran, "
				     "and 0xFIRST..0xLAST are addresses",
				     run->operand, query_near_question(&near));
	}
	for (size_t i = 0; !status && i < count; i++) {
		if (i && !run->options->json)
			fputc('\n', run->out);
		status = show_function(&annotate_run, &functions[i]);
	}
	if (!status && annotate_run.line.failed)
		status = common_fail_memory("a line", annotate_run.line.size);
	dump_source_texts_warn(&annotate_run.texts);
	dump_source_texts_free(&annotate_run.texts);
	common_bytes_free(&annotate_run.line);
	free(functions);
	return status;
}

static int annotate(struct dump_run *run, const struct flow_timeline *timeline, const bool *wanted)
{
	const struct analysis_input input = dump_run_input(run);
	struct analysis_annotator annotator;
	int status = analysis_annotator_open(&annotator, &input, timeline, true);

	annotator.executed = ((const struct annotate_options *)run->options)->executed;
	if (status == 0)
		status = show_functions(run, &annotator, wanted);
	analysis_annotator_close(&annotator);
	return status;
}

static int annotate_run_command(struct dump_run *run)
{
	struct analysis_calls calls;
	bool *wanted = NULL;
	int status = dump_calls_open(&calls, run);

	if (!status)
		status = dump_run_images(run, calls.timeline, &wanted);
	if (!status)
		status = annotate(run, calls.timeline, wanted);
	free(wanted);
	dump_calls_close(&calls, run);
	return status;
}

const struct dump_command dump_command_annotate = {
	.name = "annotate",
	.operand = "FUNCTION",
	.summary = "how often each instruction of a function ran",
	.details = "Shows the instructions of the functions of this name with how often each ran, which way branches "
		   "went, and "
		   "the lines of source that they are of. FUNCTION is a name, a pattern, or addresses of a file: "
		   "0xFIRST..0xLAST.",
	.examples = "ptl-dump annotate main build.ptl\n"
		    "ptl-dump annotate --image libz.so.1 'deflate*' build.ptl | less -R\n"
		    "ptl-dump annotate 0x1139..0x1180 build.ptl\n"
		    "ptl-dump annotate --json main build.ptl | jq '.lines[]'",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE |
		 DUMP_TAKES_NAMES | DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct annotate_options),
	.run = annotate_run_command,
};
