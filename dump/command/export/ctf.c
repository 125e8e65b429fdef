/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump ctf: events in the Common Trace Format. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/ctf/ctf.h"
#include "dump/run/run.h"

struct ctf_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	const char *folder;
	bool force;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"output", 'o', "DIR", "The folder that gets the two files of the trace.",
	 COMMON_PATH(struct ctf_options, folder)},
	{"force", 'f', NULL, "Replaces files that are there.", COMMON_FLAG(struct ctf_options, force)},
	{NULL},
};

static int ctf_check(const struct dump_options *options)
{
	if (!((const struct ctf_options *)options)->folder)
		return common_fail(PTL_MISUSE, "a CTF trace is a folder: -o DIR says where it goes");
	if (strcmp(((const struct ctf_options *)options)->folder, "-") == 0)
		return common_fail(PTL_MISUSE, "- is no folder: a CTF trace needs one");
	if (options->json)
		return common_fail(PTL_MISUSE, "--json does not go with ctf: its output is no text");
	return 0;
}

static int open_file(struct common_output_file *file, const struct ctf_options *options, const char *name)
{
	struct ptl_bytes path = {0};
	int status;

	common_text_add(&path, options->folder);
	common_text_add(&path, "/");
	common_text_add(&path, name);
	status = path.failed ? common_fail_memory("a path", path.size)
			     : common_output_open(file, common_text_string(&path), options->force);
	common_bytes_free(&path);
	return status;
}

static int write_metadata(struct dump_run *run, int fd)
{
	struct ptl_bytes text = {0};
	int status;

	dump_ctf_metadata(run->trace, &text);
	status = text.failed ? common_fail_memory("metadata", text.size) : common_write_all(fd, text.data, text.size);
	common_bytes_free(&text);
	return status;
}

static int write_files(struct dump_run *run, const struct ctf_options *options)
{
	struct common_output_file metadata = {.fd = -1}, stream = {.fd = -1};
	struct dump_left_out left_out = {0};
	int status = open_file(&metadata, options, "metadata");

	if (!status)
		status = open_file(&stream, options, "stream");
	if (!status)
		status = write_metadata(run, metadata.fd);
	if (!status)
		status = dump_ctf_stream(run, stream.fd, &left_out);
	if (!status)
		status = common_output_commit(&stream);
	if (!status)
		status = common_output_commit(&metadata);
	common_output_abandon(&metadata);
	common_output_abandon(&stream);
	if (!status)
		dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	return status;
}

/* Builds the timeline only to check the selection. */
static int ctf_run(struct dump_run *run)
{
	const struct ctf_options *options = (const struct ctf_options *)run->options;
	struct flow_timeline *timeline;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	flow_timeline_free(timeline);
	if (mkdir(options->folder, 0777) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make the folder %s", options->folder);
	return write_files(run, options);
}

const struct dump_command dump_command_ctf = {
	.name = "ctf",
	.summary = "events in the Common Trace Format, for babeltrace2",
	.details = "Writes the events of all providers as a trace of the Common Trace Format 1.8, a folder: each kind "
		   "of event with its "
		   "typed fields.",
	.examples = "ptl-dump ctf -o build.ctf build.ptl && babeltrace2 build.ctf\n"
		    "ptl-dump ctf -o app.ctf --pid 4711 app.ptl",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME,
	.options = own_options,
	.options_size = sizeof(struct ctf_options),
	.check = ctf_check,
	.run = ctf_run,
};
