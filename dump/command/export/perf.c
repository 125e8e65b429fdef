/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump perf: a perf.data file that unmodified perf decodes. */
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/perf/perf_data.h"
#include "dump/run/output.h"

struct perf_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	const char *cache;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"buildid-dir", 0, "DIR",
	 "The folder that gets the code of the trace, as ELF files by build id, which perf takes with the option of "
	 "the "
	 "same name (default: the output with \".debug\" behind it).",
	 COMMON_PATH(struct perf_options, cache)},
	{NULL},
};

static int perf_check(const struct dump_options *options)
{
	if (!options->output)
		return common_fail(PTL_MISUSE, "perf reads no stream: -o FILE says where it goes");
	return 0;
}

static int write_data(struct dump_run *run, const char *folder)
{
	struct dump_left_out left_out = {0};
	struct flow_timeline *timeline;
	bool guest = false;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	status = dump_perf_write(run, timeline, dump_output_file(run), folder, &left_out, &guest);
	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	flow_timeline_free(timeline);
	if (!status)
		common_message_note("perf --buildid-dir '%s' script%s -i '%s' --itrace=bep    decodes it", folder,
				    guest ? " --guest-code" : "", run->options->output);
	return status;
}

static int perf_run(struct dump_run *run)
{
	const struct perf_options *options = (const struct perf_options *)run->options;
	struct ptl_bytes folder = {0};
	int status;

	if (!dump_output_file(run))
		return common_fail(PTL_MISUSE, "%s is no file: perf needs one", run->options->output);
	common_text_add(&folder, options->cache ? options->cache : run->options->output);
	common_text_add(&folder, options->cache ? "" : ".debug");
	status = folder.failed ? common_fail_memory("a path", folder.size)
			       : write_data(run, common_text_string(&folder));
	common_bytes_free(&folder);
	return status;
}

const struct dump_command dump_command_perf = {
	.name = "perf",
	.summary = "perf.data with Intel PT, for perf script and perf report",
	.details = "Writes perf.data with the packets, processes, threads, mappings and context switches of the trace, "
		   "and its code as "
		   "a build-id cache, so that perf decodes it wherever it is.",
	.examples = "ptl-dump perf -o build.data build.ptl\n"
		    "perf --buildid-dir build.data.debug script -i build.data --itrace=bep\n"
		    "perf --buildid-dir build.data.debug report -i build.data --itrace=i100us",
	.takes = DUMP_TAKES_OUTPUT | DUMP_TAKES_PROCESS | DUMP_TAKES_CPU,
	.options = own_options,
	.options_size = sizeof(struct perf_options),
	.check = perf_check,
	.run = perf_run,
};
