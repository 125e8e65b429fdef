/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a script for a POSIX shell: a function for one job, a function for the merge, and code that selects them. */
#include "dump/run/jobs_script.h"

#include <inttypes.h>
#include <unistd.h>

#include "common/text/quote.h"
#include "common/text/text.h"
#include "common/version.h"

uint32_t dump_cluster_job_count(const struct dump_cluster_work *work)
{
	return work->each ? (uint32_t)work->file_count : work->jobs;
}

/* Appends zero-terminated texts, each as a quoted word after a space. */
static void add_words(const struct ptl_bytes *texts, struct ptl_bytes *script)
{
	for (size_t at = 0; at < texts->size;) {
		const char *text = (const char *)texts->data + at;

		common_text_add(script, " ");
		common_quote_word(script, text);
		at += strlen(text) + 1;
	}
}

/* Sets $dump to the path of this program: PATH of another machine may find another version. */
static void add_program(struct ptl_bytes *script)
{
	char path[4096];
	const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

	common_text_add(script, "dump=${PTL_DUMP:-");
	if (size > 0 && (size_t)size < sizeof(path))
		common_quote_word_n(script, path, (size_t)size);
	else
		common_text_add(script, "ptl-dump");
	common_text_add(script, "}\n");
}

static void add_head(const struct dump_cluster_work *work, struct ptl_bytes *script)
{
	common_text_format(
		script,
		"#!/bin/sh\n"
		"# ptl-dump %s made this: %s in %" PRIu32 " jobs.\n"
		"#   sh SCRIPT          does all of it, one job after the other, and prints the result\n"
		"#   sh SCRIPT NUMBER   does one of the jobs, 1 to %" PRIu32 "\n"
		"#   sh SCRIPT merge    prints the result when all jobs are done\n"
		"# Jobs and the merge need the traces, ptl-dump, and the folder PTL_SCRATCH, which they share.\n"
		"set -eu\n"
		"jobs=%" PRIu32 "\n",
		COMMON_VERSION, work->command, dump_cluster_job_count(work), dump_cluster_job_count(work),
		dump_cluster_job_count(work));
	add_program(script);
	common_text_add(script, "scratch=${PTL_SCRATCH:-");
	common_quote_word(script, work->folder);
	common_text_add(script, "}\nmkdir -p \"$scratch\"\n\n");
}

/* Selects the file of a job. */
static void add_choice(const struct dump_cluster_work *work, struct ptl_bytes *script)
{
	common_text_add(script, "\tcase $1 in\n");
	for (size_t i = 0; i < work->file_count; i++) {
		common_text_format(script, "\t%zu) file=", i + 1);
		common_quote_word(script, work->files[i]);
		common_text_add(script, " ;;\n");
	}
	common_text_add(script, "\t*) echo \"there is no job $1\" >&2; return 2 ;;\n\tesac\n");
}

static void add_job(const struct dump_cluster_work *work, struct ptl_bytes *script)
{
	common_text_add(script, "job() {\n");
	if (work->each)
		add_choice(work, script);
	common_text_add(script, "\t\"$dump\" ");
	common_text_add(script, work->command);
	add_words(work->given, script);
	add_words(work->passed, script);
	if (!work->each)
		common_text_add(script, " --shard \"$1/$jobs\"");
	common_text_add(script, " --partial \"$scratch/$1.part\" --");
	if (work->operand) {
		common_text_add(script, " ");
		common_quote_word(script, work->operand);
	}
	for (size_t i = 0; !work->each && i < work->file_count; i++) {
		common_text_add(script, " ");
		common_quote_word(script, work->files[i]);
	}
	common_text_add(script, work->each ? " \"$file\"\n}\n\n" : "\n}\n\n");
}

/*
 * Writes the function for the merge. A merge decodes no flow, so it gets only the options that say how to read traces.
 */
static void add_merge(const struct dump_cluster_work *work, struct ptl_bytes *script)
{
	common_text_add(script, "merge() {\n"
				"\tset --\n"
				"\ti=1\n"
				"\twhile [ \"$i\" -le \"$jobs\" ]; do\n"
				"\t\tset -- \"$@\" \"$scratch/$i.part\"\n"
				"\t\ti=$((i + 1))\n"
				"\tdone\n"
				"\t\"$dump\" merge");
	add_words(work->passed, script);
	common_text_add(script, " -- \"$@\"\n}\n\n");
}

void dump_cluster_script(const struct dump_cluster_work *work, struct ptl_bytes *script)
{
	add_head(work, script);
	add_job(work, script);
	add_merge(work, script);
	common_text_add(script, "case ${1-all} in\n"
				"merge) merge ;;\n"
				"all)\n"
				"\tnumber=1\n"
				"\twhile [ \"$number\" -le \"$jobs\" ]; do\n"
				"\t\tjob \"$number\"\n"
				"\t\tnumber=$((number + 1))\n"
				"\tdone\n"
				"\tmerge\n"
				"\t;;\n"
				"*) job \"$1\" ;;\n"
				"esac\n");
}
