/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints a profile of a trace as lines of tab-separated values, with libptl-analysis.
 *
 *	cc -o profile profile.c $(pkg-config --cflags --libs ptl-analysis ptl)
 *	./profile function|image|line|branch|edge FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ptl/profile.h>
#include <ptl/reader.h>

static const char *const kinds[] = {
	[PTL_PROFILE_FUNCTION] = "function", [PTL_PROFILE_IMAGE] = "image", [PTL_PROFILE_LINE] = "line",
	[PTL_PROFILE_BRANCH] = "branch",     [PTL_PROFILE_EDGE] = "edge",
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void print_row(unsigned by, const struct ptl_profile_row *row)
{
	switch (by) {
	case PTL_PROFILE_LINE:
		printf("%" PRIu64 "\t%s\t%" PRIu32 "\n", row->self_instructions, row->path, row->line);
		break;
	case PTL_PROFILE_BRANCH:
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t0x%" PRIx64 "\t%s\n", row->count, row->taken,
		       row->not_taken, row->path, row->address, row->name);
		break;
	case PTL_PROFILE_EDGE:
		printf("%" PRIu64 "\t%s\t0x%" PRIx64 "\t%s\t0x%" PRIx64 "\n", row->count, row->path, row->address,
		       row->to_path, row->to);
		break;
	default:
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", row->self_instructions,
		       row->instructions, row->calls, row->self_time, row->path, row->name);
	}
}

static int show(struct ptl_trace *trace, unsigned by)
{
	struct ptl_analysis *analysis;
	struct ptl_profile *profile;
	int status = ptl_analysis_open(trace, NULL, &analysis);

	if (status < 0)
		return status;
	status = ptl_profile_run(analysis, (enum ptl_profile_by)by, NULL, &profile);
	if (status == 0) {
		for (size_t i = 0; i < profile->count; i++)
			print_row(by, &profile->rows[i]);
		printf("%" PRIu64 "\tinstructions\n", profile->instructions);
		if (profile->gaps)
			fprintf(stderr, "profile: flow is missing in %" PRIu64 " places\n", profile->gaps);
		ptl_profile_free(profile);
	}
	ptl_analysis_close(analysis);
	return status;
}

int main(int argc, char **argv)
{
	struct ptl_trace *trace;
	unsigned by = 0;
	int status;

	while (argc == 3 && by < KINDS && strcmp(argv[1], kinds[by]) != 0)
		by++;
	if (argc != 3 || by == KINDS) {
		fputs("usage: profile function|image|line|branch|edge FILE\n", stderr);
		return 2;
	}
	status = ptl_open(argv[2], NULL, &trace);
	if (status == 0) {
		status = show(trace, by);
		ptl_close(trace);
	}
	if (status < 0)
		fprintf(stderr, "profile: %s\n", ptl_error_text());
	return status < 0 ? 1 : 0;
}
