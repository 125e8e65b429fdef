/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes Cobertura XML: a package for each folder, a class for each source file. */
#include <inttypes.h>
#include <string.h>

#include <ptl/trace.h>

#include "common/text/text.h"
#include "dump/export/coverage/coverage.h"
#include "dump/print/markup.h"
#include "dump/run/command.h"
#include "elf/demangle.h"

static void add_sum(struct analysis_coverage_sum *to, const struct analysis_covered_file *file)
{
	analysis_coverage_sum(file, to);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 1;
}

static void rates(struct ptl_bytes *line, const struct analysis_coverage_sum *sum)
{
	common_text_format(line, " line-rate=\"%.4f\" branch-rate=\"%.4f\"", share(sum->lines_run, sum->lines),
			   share(sum->branches_run, sum->branches));
}

/* Writes an attribute. before: text up to the opening quote. */
static void attribute(struct ptl_bytes *line, const char *before, const void *words, size_t size)
{
	common_text_add(line, before);
	dump_text_xml(line, words, size);
	common_text_add(line, "\"");
}

/* Returns the length of the folder in a path. */
static size_t folder_size(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* ---- source files -------------------------------------------------------------------------------- */

/*
 * Writes the branch coverage of a line: number of directions, and how many were taken. *at: index in branches, advanced
 * past the line.
 */
static void conditions(const struct analysis_covered_file *file, uint32_t number, size_t *at, struct ptl_bytes *line)
{
	uint64_t ways = 0, gone = 0;

	while (*at < file->branch_count && file->branches[*at].line < number)
		++*at;
	for (; *at < file->branch_count && file->branches[*at].line == number; ++*at) {
		ways += 2;
		gone += (file->branches[*at].taken > 0) + (file->branches[*at].not_taken > 0);
	}
	if (ways)
		common_text_format(line,
				   " branch=\"true\" condition-coverage=\"%" PRIu64 "%% (%" PRIu64 "/%" PRIu64 ")\"",
				   gone * 100 / ways, gone, ways);
	else
		common_text_add(line, " branch=\"false\"");
}

static void lines(struct ptl_bytes *line, const struct analysis_covered_file *file)
{
	size_t at = 0;

	common_text_add(line, "<lines>\n");
	for (size_t i = 0; i < file->line_count; i++) {
		common_text_format(line, "<line number=\"%" PRIu32 "\" hits=\"%" PRIu64 "\"", file->lines[i].line,
				   file->lines[i].count);
		conditions(file, file->lines[i].line, &at, line);
		common_text_add(line, "/>\n");
	}
	common_text_add(line, "</lines>\n");
}

static void methods(struct dump_coverage_print *print, const struct analysis_covered_file *file)
{
	struct ptl_bytes *line = &print->line, *name = &print->name;

	common_text_add(line, "<methods>\n");
	for (size_t i = 0; i < file->function_count; i++) {
		const struct analysis_covered_function *function = &file->functions[i];

		name->size = 0;
		if (print->run->options->no_demangle || !elf_demangle(function->name, name))
			common_text_add(name, function->name);
		attribute(line, "<method name=\"", name->data, name->size);
		common_text_format(line,
				   " signature=\"\" line-rate=\"%d\" branch-rate=\"1\" complexity=\"0\"><lines><line "
				   "number=\"%" PRIu32 "\" hits=\"%" PRIu64 "\" branch=\"false\"/></lines></method>\n",
				   function->count > 0, function->line, function->count);
	}
	common_text_add(line, "</methods>\n");
}

static void add_file(struct dump_coverage_print *print, const struct analysis_covered_file *file)
{
	const char *base = common_base_name(file->path);
	const size_t absolute = *file->path == '/';
	struct ptl_bytes *line = &print->line;
	struct analysis_coverage_sum sum = {0};

	add_sum(&sum, file);
	attribute(line, "<class name=\"", base, strlen(base));
	attribute(line, " filename=\"", file->path + absolute, strlen(file->path) - absolute);
	rates(line, &sum);
	common_text_add(line, " complexity=\"0\">\n");
	methods(print, file);
	lines(line, file);
	common_text_add(line, "</class>\n");
}

/* ---- folders ------------------------------------------------------------------------------------- */

/* Writes the files of one folder. *at: index of the first file, advanced to the next folder. */
static void add_package(struct dump_coverage_print *print, size_t *at)
{
	const struct analysis_coverage *coverage = print->coverage;
	const char *path = coverage->files[*at].path;
	const size_t size = folder_size(path);
	struct analysis_coverage_sum sum = {0};
	size_t end = *at;

	for (; end < coverage->file_count && folder_size(coverage->files[end].path) == size &&
	       memcmp(coverage->files[end].path, path, size) == 0;
	     end++)
		add_sum(&sum, &coverage->files[end]);
	if (!sum.lines) {
		*at = end;
		return;
	}
	attribute(&print->line, "<package name=\"", path, size);
	rates(&print->line, &sum);
	common_text_add(&print->line, " complexity=\"0\">\n<classes>\n");
	for (; *at < end; ++*at) {
		if (coverage->files[*at].line_count)
			add_file(print, &coverage->files[*at]);
		common_text_write(&print->line, print->run->out);
		print->line.size = 0;
	}
	common_text_add(&print->line, "</classes>\n</package>\n");
}

int dump_coverage_cobertura(struct dump_coverage_print *print)
{
	/* Milliseconds. Taken from the trace, so the same trace always gives the same bytes. */
	const int64_t wall = ptl_trace_machine(print->run->trace)->wall_start;
	const struct analysis_coverage *coverage = print->coverage;
	struct ptl_bytes *line = &print->line;
	struct analysis_coverage_sum sum = {0};
	int status = 0;

	for (size_t i = 0; i < coverage->file_count; i++)
		add_sum(&sum, &coverage->files[i]);
	line->size = 0;
	common_text_add(line, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE coverage SYSTEM "
			      "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage");
	rates(line, &sum);
	common_text_format(line, " lines-covered=\"%" PRIu64 "\" lines-valid=\"%" PRIu64 "\"", sum.lines_run,
			   sum.lines);
	common_text_format(line, " branches-covered=\"%" PRIu64 "\" branches-valid=\"%" PRIu64 "\"", sum.branches_run,
			   sum.branches);
	common_text_format(line, " complexity=\"0\" version=\"ptl\" timestamp=\"%" PRId64 "\">\n", wall / 1000000);
	common_text_add(line, "<sources>\n<source>/</source>\n</sources>\n<packages>\n");
	for (size_t at = 0; !status && at < coverage->file_count;) {
		add_package(print, &at);
		status = dump_output_check(print->run);
	}
	common_text_add(line, "</packages>\n</coverage>\n");
	common_text_write(line, print->run->out);
	return status;
}
