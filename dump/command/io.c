/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump io: who used disks, files, sockets and network interfaces. */
#include "dump/command/io.h"

#include <inttypes.h>

#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/run/run.h"

struct io_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum { BY_ALL, BY_OBJECT, BY_PROCESS, BY_USE } by;
	enum { OF_ALL, OF_DISK, OF_DISK_FILE, OF_FILE, OF_SOCKET, OF_INTERFACE } of;
	bool limited;
	uint64_t limit;
};

static const char *const by_names[] = {
	[BY_ALL] = "all", [BY_OBJECT] = "object", [BY_PROCESS] = "process", [BY_USE] = "use", NULL,
};

static const char *const of_names[] = {
	[OF_ALL] = "all",
	[OF_DISK] = "disk",
	[OF_DISK_FILE] = "file-on-disk",
	[OF_FILE] = "file",
	[OF_SOCKET] = "socket",
	[OF_INTERFACE] = "interface",
	NULL,
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"by", 'b', "WHAT",
	 "What a row is of (default: a list of objects and a list of processes); object: a disk, file, socket or "
	 "interface; use: a process and an "
	 "object.",
	 COMMON_CHOICE(struct io_options, by, by_names)},
	{"of", 0, "WHAT", "Only disks, files on disks, files, sockets, or network interfaces (default: all).",
	 COMMON_CHOICE(struct io_options, of, of_names)},
	{"limit", 'n', "N", "The first N rows of each list (default: 10 with --by all).",
	 COMMON_NUMBER(struct io_options, limit, 1, UINT64_MAX), COMMON_GIVEN(struct io_options, limited)},
	{NULL},
};

/* Says what the sums lack. */
static void note_missing(const struct dump_io_run *io_run)
{
	if (io_run->io->unbegun)
		common_message_note("operations whose beginning is not in the trace: %" PRIu64
				    "; their time is unknown, and so may be the process",
				    io_run->io->unbegun);
	if (io_run->io->unended)
		common_message_note("system calls whose end is missing: %" PRIu64 "; they do not count",
				    io_run->io->unended);
}

static int report_none(const struct dump_run *run)
{
	dump_run_note_nothing(run, "event of disks, files or sockets", false);
	common_message_hint("ptl-record --flags disk-io,disk-io-init,file-io,file-io-init,net-tcpip");
	return 0;
}

static int show_usage(struct dump_io_run *io_run, struct usage_io *io)
{
	struct dump_run *run = io_run->run;
	int status = usage_io_read(io, io_run->input, io_run->timeline);

	if (status < 0)
		return status;
	if (!io->use_count)
		return report_none(run);
	status = run->options->json ? dump_io_json(io_run) : dump_io_text(io_run);
	if (status == 0)
		note_missing(io_run);
	return status;
}

static int io_run_command(struct dump_run *run)
{
	const struct io_options *options = (const struct io_options *)run->options;
	struct usage_io io = {.state = NULL};
	struct analysis_input input;
	struct flow_timeline *timeline;
	struct dump_io_run io_run = {
		.run = run,
		.io = &io,
		.all = options->by == BY_ALL,
		.by = options->by == BY_ALL ? USAGE_BY_OBJECT : (enum usage_io_by)(options->by - BY_OBJECT),
		.media = options->of == OF_ALL ? (1u << USAGE_MEDIA) - 1 : 1u << (options->of - OF_DISK),
		.limited = options->limited || (options->by == BY_ALL && !options->shared.json),
		.limit = options->limited ? options->limit : 10,
	};
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	input = dump_run_input(run);
	io_run.input = &input;
	io_run.timeline = timeline;
	status = show_usage(&io_run, &io);
	if (status == 0)
		analysis_note_lost_events(run->trace);
	usage_io_free(&io);
	flow_timeline_free(timeline);
	return status;
}

static const char examples[] =
	"ptl-record --flags disk-io,disk-io-init,file-io,file-io-init -o a.ptl -- make\n"
	"ptl-dump io a.ptl                       who used the disks and files\n"
	"ptl-dump io --of disk --by process a.ptl\n"
	"ptl-dump io --by use --process make --last 10s a.ptl\n"
	"ptl-dump io --json a.ptl | jq 'select(.type == \"object\" and .medium == \"file\").name'";

const struct dump_command dump_command_io = {
	.name = "io",
	.summary = "who used the disks, files, sockets and network interfaces",
	.details = "Adds up the kernel's events of disks, files, sockets and network interfaces: operations, bytes and "
		   "time of each process on each.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_TIME | DUMP_TAKES_ETL,
	.options = own_options,
	.options_size = sizeof(struct io_options),
	.run = io_run_command,
};
