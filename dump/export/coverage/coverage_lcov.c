/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an lcov tracefile: a record for each source file. */
#include <inttypes.h>

#include "common/text/text.h"
#include "dump/export/coverage/coverage.h"
#include "dump/run/command.h"

/* Writes the functions of a file. A record is one line, so control characters and invalid UTF-8 become \xNN. */
static void functions(struct ptl_bytes *line, const struct analysis_covered_file *file)
{
	uint64_t run = 0;

	for (size_t i = 0; i < file->function_count; i++) {
		common_text_format(line, "FN:%" PRIu32 ",", file->functions[i].line);
		common_text_safe(line, file->functions[i].name);
		common_text_add(line, "\n");
	}
	for (size_t i = 0; i < file->function_count; i++) {
		run += file->functions[i].count > 0;
		common_text_format(line, "FNDA:%" PRIu64 ",", file->functions[i].count);
		common_text_safe(line, file->functions[i].name);
		common_text_add(line, "\n");
	}
	common_text_format(line, "FNF:%zu\nFNH:%" PRIu64 "\n", file->function_count, run);
}

/*
 * Writes both directions of a branch: 0 continues after the branch, 1 is the taken branch. "-": the branch did not run.
 */
static void branch(struct ptl_bytes *line, const struct analysis_covered_branch *one)
{
	const uint64_t ways[] = {one->not_taken, one->taken};

	for (unsigned i = 0; i < 2; i++) {
		common_text_format(line, "BRDA:%" PRIu32 ",%" PRIu32 ",%u,", one->line, one->number, i);
		if (one->count)
			common_text_decimal(line, ways[i]);
		else
			common_text_add(line, "-");
		common_text_add(line, "\n");
	}
}

static void add_file(struct ptl_bytes *line, const struct analysis_covered_file *file)
{
	struct analysis_coverage_sum sum = {0};

	analysis_coverage_sum(file, &sum);
	common_text_add(line, "SF:");
	common_text_safe(line, file->path);
	common_text_add(line, "\n");
	functions(line, file);
	for (size_t i = 0; i < file->branch_count; i++)
		branch(line, &file->branches[i]);
	common_text_format(line, "BRF:%" PRIu64 "\nBRH:%" PRIu64 "\n", sum.branches, sum.branches_run);
	for (size_t i = 0; i < file->line_count; i++)
		common_text_format(line, "DA:%" PRIu32 ",%" PRIu64 "\n", file->lines[i].line, file->lines[i].count);
	common_text_format(line, "LF:%" PRIu64 "\nLH:%" PRIu64 "\nend_of_record\n", sum.lines, sum.lines_run);
}

int dump_coverage_lcov(struct dump_coverage_print *print)
{
	int status = 0;

	for (size_t i = 0; !status && i < print->coverage->file_count; i++) {
		const struct analysis_covered_file *file = &print->coverage->files[i];

		if (!file->line_count)
			continue;
		print->line.size = 0;
		add_file(&print->line, file);
		common_text_write(&print->line, print->run->out);
		status = dump_output_check(print->run);
	}
	return status;
}
