/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump perf: a perf.data file that unmodified perf decodes. */
#include <errno.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/perf/perf_data.h"
#include "dump/run/output.h"

struct perf_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	const char *cache;
	bool kcore;
	const char *folder;      /* with --kcore: what the user gave as output */
	struct ptl_bytes output; /* with --kcore: path of the file in the folder; owned */
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"buildid-dir", 0, "DIR",
	 "The folder that gets the code of the trace, as ELF files by build id, which perf takes with the option of "
	 "the "
	 "same name (default: the output with \".debug\" behind it).",
	 COMMON_PATH(struct perf_options, cache)},
	{"kcore", 0, NULL,
	 "Writes a folder like that of perf record --kcore, with the code of the kernel: the output is the folder's "
	 "name.",
	 COMMON_FLAG(struct perf_options, kcore)},
	{NULL},
};

static void perf_free_options(struct dump_options *options)
{
	common_bytes_free(&((struct perf_options *)options)->output);
}

/* With --kcore, makes the folder, and lets the output be the file `data` of the folder. */
static int perf_prepare(struct dump_options *shared)
{
	struct perf_options *options = (struct perf_options *)shared;

	if (!options->kcore)
		return 0;
	options->folder = shared->output;
	common_text_format(&options->output, "%s/data", shared->output);
	if (options->output.failed)
		return common_fail_memory("a path", options->output.size);
	if (mkdir(options->folder, 0777) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make the folder %s", options->folder);
	shared->output = common_text_string(&options->output);
	return 0;
}

static int perf_check(const struct dump_options *options)
{
	if (!options->output)
		return common_fail(PTL_MISUSE, "perf reads no stream: -o FILE says where it goes");
	return 0;
}

static int write_data(struct dump_run *run, const char *folder)
{
	const struct perf_options *options = (const struct perf_options *)run->options;
	struct dump_perf_result result = {0};
	struct flow_timeline *timeline;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	status = dump_perf_write(run, timeline, dump_output_file(run), folder, options->folder, &result);
	if (!status && result.kernel && !options->kcore)
		dump_left_out_say(&result.left_out, "code of the kernel (--kcore writes a folder with the code)");
	if (!status && !result.kernel && options->kcore)
		common_message_note("the trace has no code of the kernel: the folder has no kcore");
	dump_left_out_report(&result.left_out);
	dump_left_out_free(&result.left_out);
	flow_timeline_free(timeline);
	if (!status && !result.packets)
		common_message_note("the trace has no packets: perf has events, and no control flow");
	else if (!status)
		common_message_note("perf --buildid-dir '%s' script%s -i '%s' --itrace=bep    decodes it", folder,
				    result.guest ? " --guest-code" : "",
				    options->folder ? options->folder : run->options->output);
	return status;
}

static int perf_run(struct dump_run *run)
{
	const struct perf_options *options = (const struct perf_options *)run->options;
	struct ptl_bytes folder = {0};
	int status;

	if (!dump_output_file(run))
		return common_fail(PTL_MISUSE, "%s is no file: perf needs one", run->options->output);
	common_text_add(&folder, options->cache    ? options->cache
				 : options->folder ? options->folder
						   : run->options->output);
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
		    "perf --buildid-dir build.data.debug report -i build.data --itrace=i100us\n"
		    "ptl-dump perf --kcore -o build.data build.ptl    with the code of the kernel",
	.takes = DUMP_TAKES_OUTPUT | DUMP_TAKES_PROCESS | DUMP_TAKES_CPU,
	.options = own_options,
	.options_size = sizeof(struct perf_options),
	.check = perf_check,
	.prepare_output = perf_prepare,
	.free_options = perf_free_options,
	.run = perf_run,
};
