/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes source lines and instructions of functions to a page. */
#include "dump/export/html/sources.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function/annotate.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/print/source_text.h"
#include "dump/run/run.h"
#include "flow/code/disassembly.h"

#define INSTRUCTIONS_MAX 4000 /* maximum instructions per function */
#define LINES_MAX 2000        /* maximum lines of a file per function */
#define AROUND 2              /* extra lines before the first and after the last executed line */

struct writing {
	const struct dump_html_room *room;
	struct dump_run *run;
	const struct analysis_annotator *annotator;
	struct dump_source_texts texts;
	struct ptl_bytes text;
	uint64_t cut_instructions, cut_lines;
};

/* ---- lines --------------------------------------------------------------------------------------- */

/* Writes [line number, count, instructions, text]; a line without code has nulls. */
static void put_line(struct writing *writing, const char *file, uint32_t number,
		     const struct analysis_annotated_line *line)
{
	struct common_json *json = &writing->run->json_out;
	const char *words = "";
	size_t size = 0;
	const bool is_known = dump_source_line(&writing->texts, file, number, &words, &size);

	if (!dump_html_fits(writing->room, size)) {
		writing->cut_lines++;
		return;
	}
	common_json_array(json, NULL);
	common_json_u64(json, NULL, number);
	if (line) {
		common_json_u64(json, NULL, line->count);
		common_json_u64(json, NULL, line->instructions);
	} else {
		common_json_null(json, NULL);
		common_json_null(json, NULL);
	}
	if (is_known)
		common_json_string_n(json, NULL, words, size);
	else
		common_json_null(json, NULL);
	common_json_array_end(json);
}

/* Writes the lines of one file, with the lines between them if the range is small enough. */
static void put_file(struct writing *writing, const struct analysis_annotated_line *lines, size_t count)
{
	struct common_json *json = &writing->run->json_out;
	const uint32_t first = lines[0].line > AROUND ? lines[0].line - AROUND : 1;
	const uint32_t last = lines[count - 1].line;
	const char *words;
	size_t size;
	const bool whole = last - first < LINES_MAX &&
			   dump_source_line(&writing->texts, lines[0].file, lines[0].line, &words, &size);

	common_json_object(json, NULL);
	common_json_string(json, "file", lines[0].file);
	common_json_array(json, "lines");
	if (whole) {
		for (uint32_t number = first, i = 0; number <= last + AROUND; number++) {
			const bool has = i < count && lines[i].line == number;

			put_line(writing, lines[0].file, number, has ? &lines[i] : NULL);
			while (i < count && lines[i].line == number)
				i++;
		}
	} else {
		for (size_t i = 0; i < count && i < LINES_MAX; i++)
			put_line(writing, lines[i].file, lines[i].line, &lines[i]);
		writing->cut_lines += count > LINES_MAX ? count - LINES_MAX : 0;
	}
	common_json_array_end(json);
	common_json_object_end(json);
}

static void put_lines(struct writing *writing, const struct analysis_annotation *annotation)
{
	struct common_json *json = &writing->run->json_out;

	common_json_array(json, "files");
	for (size_t i = 0; i < annotation->line_count;) {
		const struct analysis_annotated_line *first = &annotation->lines[i];
		size_t count = 1;

		while (i + count < annotation->line_count && strcmp(first[count].file, first->file) == 0)
			count++;
		if (first[count - 1].line && dump_html_fits(writing->room, strlen(first->file)))
			put_file(writing, first, count);
		else if (first[count - 1].line)
			writing->cut_lines += count;
		i += count;
	}
	common_json_array_end(json);
}

/* ---- instructions -------------------------------------------------------------------------------- */

/* Writes [address, text, count, line, taken, not taken]. */
static void put_instruction(struct writing *writing, const struct analysis_annotated_instruction *one)
{
	struct common_json *json = &writing->run->json_out;

	writing->text.size = 0;
	flow_disassemble(one->bytes, one->length, one->mode, one->address, &writing->text);
	if (!dump_html_fits(writing->room, writing->text.size)) {
		writing->cut_instructions++;
		return;
	}
	common_json_array(json, NULL);
	common_json_hex(json, NULL, one->address);
	common_json_string(json, NULL, common_text_string(&writing->text));
	common_json_u64(json, NULL, one->count);
	common_json_u64(json, NULL, one->file ? one->line : 0);
	if (one->branch == FLOW_BRANCH_CONDITIONAL && one->count) {
		common_json_u64(json, NULL, one->taken);
		common_json_u64(json, NULL, one->not_taken);
	}
	common_json_array_end(json);
}

static int put_function(struct writing *writing, const struct dump_html_source *source,
			const struct analysis_code_range *function)
{
	struct common_json *json = &writing->run->json_out;
	struct analysis_annotation annotation;
	const int status = analysis_annotate(writing->annotator, function, &annotation);
	const size_t count = annotation.count < INSTRUCTIONS_MAX ? annotation.count : INSTRUCTIONS_MAX;

	writing->text.size = 0;
	common_text_safe(&writing->text, source->name);
	if (status == 0 && !dump_html_fits(writing->room, writing->text.size + strlen(source->path))) {
		writing->cut_instructions += annotation.count;
	} else if (status == 0) {
		common_json_object(json, NULL);
		common_json_string(json, "name", common_text_string(&writing->text));
		common_json_string(json, "image", source->path);
		common_json_hex(json, "address", function->first);
		common_json_u64(json, "executed", annotation.executed);
		put_lines(writing, &annotation);
		common_json_array(json, "instructions");
		for (size_t i = 0; i < count; i++)
			put_instruction(writing, &annotation.instructions[i]);
		common_json_array_end(json);
		common_json_object_end(json);
		writing->cut_instructions += annotation.count - count;
	}
	analysis_annotation_free(&annotation);
	return status;
}

/* Writes all functions with this name in this file: static functions of several sources may have the same name. */
static int put_source(struct writing *writing, const struct dump_html_source *source)
{
	const struct analysis_profile *profile = &writing->annotator->profile;
	struct analysis_code_range *functions = NULL;
	size_t count = 0;
	int status = analysis_functions_find(writing->annotator, source->name, NULL, &functions, &count);

	for (size_t i = 0; status == 0 && i < count; i++)
		if (functions[i].content != FLOW_NONE &&
		    strcmp(profile->contents[functions[i].content].path, source->path) == 0)
			status = put_function(writing, source, &functions[i]);
	free(functions);
	return status == 0 ? dump_output_check(writing->run) : status;
}

static int put_all(struct dump_run *run, const struct analysis_annotator *annotator,
		   const struct dump_html_source *sources, size_t count, const struct dump_html_room *room,
		   struct dump_left_out *left_out)
{
	struct writing writing = {.room = room, .run = run, .annotator = annotator};
	int status = 0;

	dump_source_texts_start(&writing.texts, run);
	for (size_t i = 0; status == 0 && i < count; i++)
		status = put_source(&writing, &sources[i]);
	dump_left_out_add(left_out, writing.cut_instructions, "instruction of a large function",
			  "instructions of large functions");
	dump_left_out_add(left_out, writing.cut_lines, "line of a large function", "lines of large functions");
	dump_source_texts_warn(&writing.texts);
	dump_source_texts_free(&writing.texts);
	common_bytes_free(&writing.text);
	return status;
}

static int annotate(struct dump_run *run, const struct flow_timeline *timeline, const struct dump_html_source *sources,
		    size_t count, const struct dump_html_room *room, struct dump_left_out *left_out)
{
	const struct analysis_input input = dump_run_input(run);
	struct analysis_annotator annotator;
	int status = analysis_annotator_open(&annotator, &input, timeline, false);

	if (status == 0)
		status = put_all(run, &annotator, sources, count, room, left_out);
	analysis_annotator_close(&annotator);
	return status;
}

int dump_html_annotations(struct dump_run *run, const struct flow_timeline *timeline,
			  const struct dump_html_source *sources, size_t count, const struct dump_html_room *room,
			  struct dump_left_out *left_out)
{
	int status = 0;

	common_json_array(&run->json_out, NULL);
	if (count)
		status = annotate(run, timeline, sources, count, room, left_out);
	common_json_array_end(&run->json_out);
	return status;
}
