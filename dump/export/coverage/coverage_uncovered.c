/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the lines that did not run, function by function. */
#include <inttypes.h>

#include "common/text/text.h"
#include "dump/export/coverage/coverage.h"
#include "dump/print/source_text.h"
#include "dump/run/run.h"
#include "elf/demangle.h"
#include "query/function_name.h"
#include "query/name_form.h"

/* A function and its lines: from the line of its name to the next function of the file. */
struct function_part {
	const char *name; /* linker's name; "": lines before the first function */
	uint32_t line;    /* line of the name; 0: unknown */
	const struct analysis_covered_line *lines;
	size_t count, missed;
};

/* Takes the lines of function i; i == function_count is no function. Functions of one line are one part. */
static struct function_part part_of(const struct analysis_covered_file *file, size_t i, size_t *at)
{
	const struct analysis_covered_function *next = i < file->function_count ? &file->functions[i] : NULL;
	struct function_part part = {.name = i ? file->functions[i - 1].name : "",
				     .line = i ? file->functions[i - 1].line : 0,
				     .lines = file->lines + *at};

	for (; *at < file->line_count && (!next || file->lines[*at].line < next->line); ++*at) {
		part.count++;
		part.missed += !file->lines[*at].count;
	}
	return part;
}

/* Sets print->name to the name as in the source. */
static const char *shown_name(struct dump_coverage_print *print, const char *name)
{
	if (!elf_demangle(name, &print->name)) {
		print->name.size = 0;
		common_text_add(&print->name, name);
	}
	return common_text_string(&print->name);
}

/* Whether --uncovered selects the part. The name of the part is in print->name. */
static bool is_wanted(struct dump_coverage_print *print, const struct function_part *part)
{
	const char *name = shown_name(print, part->name);

	if (!print->function)
		return part->missed > 0;
	if (query_function_is_called(name, print->function) || query_function_is_called(part->name, print->function))
		return true;
	if (!print->found)
		query_near_look(&print->near, name);
	return false;
}

/* ---- text ---------------------------------------------------------------------------------------- */

/* Appends "parse, /src/a.c:12: 3 of 9 lines did not run". */
static void text_head(struct dump_coverage_print *print, const struct analysis_covered_file *file,
		      const struct function_part *part)
{
	struct ptl_bytes *line = &print->line;

	struct ptl_bytes name = {0};

	query_short_name(*part->name ? common_text_string(&print->name) : "[no function]", &name);
	common_text_safe(line, common_text_string(&name));
	common_bytes_free(&name);
	common_text_add(line, ", ");
	common_text_safe(line, file->path);
	if (part->line)
		common_text_format(line, ":%" PRIu32, part->line);
	common_text_add(line, ": ");
	if (part->missed == part->count)
		common_text_add(line, "did not run\n");
	else
		common_text_format(line, "%zu of %zu lines did not run\n", part->missed, part->count);
}

static void text_line(struct dump_coverage_print *print, struct dump_source_texts *texts, const char *path,
		      uint32_t number)
{
	struct ptl_bytes *line = &print->line;
	const char *words;
	size_t size;

	common_text_add(line, "  ");
	common_text_decimal_right(line, number, 6);
	if (dump_source_line(texts, path, number, &words, &size)) {
		common_text_add(line, "  ");
		for (size_t i = 0; i < size; i++) {
			const size_t start = i;

			while (i < size && words[i] != '\t')
				i++;
			common_text_safe_n(line, words + start, i - start);
			common_text_add(line, i < size ? "    " : "");
		}
	}
	common_text_add(line, "\n");
}

static void text_part(struct dump_coverage_print *print, struct dump_source_texts *texts,
		      const struct analysis_covered_file *file, const struct function_part *part)
{
	print->line.size = 0;
	text_head(print, file, part);
	for (size_t i = 0; i < part->count; i++)
		if (!part->lines[i].count)
			text_line(print, texts, file->path, part->lines[i].line);
	common_text_write(&print->line, print->run->out);
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_part(struct dump_coverage_print *print, const struct analysis_covered_file *file,
		      const struct function_part *part)
{
	struct common_json *json = &print->run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "file", file->path);
	if (*part->name) {
		common_json_string(json, "function", common_text_string(&print->name));
		common_json_u64(json, "line", part->line);
	} else {
		common_json_null(json, "function");
		common_json_null(json, "line");
	}
	common_json_u64(json, "lines_found", part->count);
	common_json_array(json, "uncovered");
	for (size_t i = 0; i < part->count; i++)
		if (!part->lines[i].count)
			common_json_u64(json, NULL, part->lines[i].line);
	common_json_array_end(json);
	common_json_object_end(json);
	common_json_line(json);
}

/* ---- all ----------------------------------------------------------------------------------------- */

int dump_coverage_uncovered(struct dump_coverage_print *print)
{
	const struct analysis_coverage *coverage = print->coverage;
	struct dump_source_texts texts = {0};
	int status = 0;

	dump_source_texts_start(&texts, print->run);
	for (size_t i = 0; !status && i < coverage->file_count; i++) {
		const struct analysis_covered_file *file = &coverage->files[i];
		size_t at = 0;

		for (size_t k = 0; !status && k <= file->function_count; k++) {
			const struct function_part part = part_of(file, k, &at);

			if (!part.count || !is_wanted(print, &part))
				continue;
			print->found = true;
			if (print->json)
				json_part(print, file, &part);
			else
				text_part(print, &texts, file, &part);
			status = dump_output_check(print->run);
		}
	}
	dump_source_texts_warn(&texts);
	dump_source_texts_free(&texts);
	return status;
}
