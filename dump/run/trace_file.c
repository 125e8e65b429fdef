/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the trace of a command and its code store, and reports unreadable parts at the end. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/content/http.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "dump/run/command.h"
#include "dump/run/etl_input.h"
#include "dump/run/follow.h"
#include "format/reader/code_store.h"
#include "format/reader/damage.h"
#include "format/reader/trace_end.h"

#define DAMAGE_SHOWN 5

#define ETL_HINT "ptl-relog FILE -o trace.ptl    makes a trace of it"

/*
 * Other file formats, recognised by bytes at an offset. An .etl file is recognised by the header of its first event,
 * after the header of its buffer.
 */
static const struct {
	size_t at;
	size_t size;
	const char *bytes;
	const char *what;
	const char *hint;
} other_formats[] = {
	{0, 8, "PERFILE2", "a perf.data file", "ptl-relog perf.data -o trace.ptl    makes a trace of it"},
	{0, 4,
	 "\x7f"
	 "ELF",
	 "an ELF file: a program or a library, not a trace of one", "ptl-record -o out.ptl -- PROGRAM"},
	{0, 8, "\x02\x82\x02\x82\x02\x82\x02\x82", "raw Intel PT",
	 "ptl-relog --pt FILE --memory memory.raw --memory-map memory.map -o out.ptl"},
	{0, 4, "\x28\xb5\x2f\xfd", "a zstd file", "zstd -dc FILE | ptl-dump COMMAND -"},
	{0, 2, "\x1f\x8b", "a gzip file", "gzip -dc FILE | ptl-dump COMMAND -"},
	{0, 5,
	 "\xfd"
	 "7zXZ",
	 "an xz file", "xz -dc FILE | ptl-dump COMMAND -"},
	{0, 8, "PTLPART\n", "a partial result of a shard", "ptl-dump merge FILE..."},
	{0, 4, "PK\x03\x04", "a zip file", "unzip it first"},
	{74, 2, "\x02\xc0", "an .etl file of Event Tracing for Windows", ETL_HINT},
	{74, 2, "\x01\xc0", "an .etl file of Event Tracing for Windows", ETL_HINT},
};

static void explain_format(const char *path)
{
	uint8_t bytes[76] = {0};
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(other_formats) / sizeof(other_formats[0]); i++) {
		const size_t at = other_formats[i].at;

		if (size < (ssize_t)(at + other_formats[i].size) ||
		    memcmp(bytes + at, other_formats[i].bytes, other_formats[i].size) != 0)
			continue;
		common_message_note("this is %s", other_formats[i].what);
		common_message_hint("%s", other_formats[i].hint);
		return;
	}
}

/* A missing folder is an error if --code-store names it. The environment variable may be meant for another machine. */
static int use_code_store(const struct dump_run *run)
{
	const char *folder = run->options->code_store;
	struct stat info;

	if (!folder) {
		folder = getenv("PTL_CODE_STORE");
		return folder && *folder ? ptl_code_store(run->trace, folder) : 0;
	}
	if (!common_http_is_url(folder) && (stat(folder, &info) || !S_ISDIR(info.st_mode)))
		return common_fail(PTL_MISUSE, "--code-store: there is no folder %s", folder);
	return ptl_code_store(run->trace, folder);
}

int dump_run_open(struct dump_run *run)
{
	const struct ptl_open_options options = {.size = sizeof(options),
						 .ignore_index = run->options->ignore_index,
						 .huge_pages = true,
						 .max_expansion = run->options->max_expansion};
	const bool is_stdin = strcmp(run->path, "-") == 0;
	int status;

	if (run->options->prepared) {
		run->trace = run->options->prepared->trace;
		return 0;
	}
	if (is_stdin && isatty(STDIN_FILENO)) {
		common_message_error("- reads a trace from standard input, which is a terminal");
		return PTL_MISUSE;
	}
	status = run->options->follow ? dump_follow_open(run, &options) : ptl_open(run->path, &options, &run->trace);
	if (status == PTL_NOT_OURS && run->takes_etl && !is_stdin)
		status = dump_etl_open(run, &options);
	if (!status)
		status = use_code_store(run);
	if (!status && run->saver)
		status = dump_partial_save_trace(run->saver, run->trace);
	if (!status && run->merged)
		status = dump_partial_set_trace(run->merged, run->trace, run->path);
	if (status < 0) {
		common_message_failure(status);
		ptl_close(run->trace);
		run->trace = NULL;
	}
	if (status == PTL_NOT_OURS && !is_stdin)
		explain_format(run->path);
	return status;
}

/* Code that the store did not deliver is a gap in the flow. */
static void report_code_store(const struct dump_run *run)
{
	const char *why;
	const uint64_t count = format_code_store_failures(run->trace, &why);

	if (count)
		common_message_warning("%s: the code store did not give %" PRIu64 " piece%s that it was asked for; the "
				       "first: %s",
				       run->path, count, count == 1 ? "" : "s", why);
}

static bool is_damage_of(const struct ptl_trace *trace, const struct dump_partial_damage *damage)
{
	const struct dump_trace_id id = dump_trace_id_of(trace);

	if (!dump_trace_id_equal(&damage->trace, &id))
		return false;
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (ptl_damage_at(trace, i)->offset == damage->offset &&
		    strcmp(ptl_damage_at(trace, i)->text, damage->text) == 0)
			return false;
	return true;
}

/* Reports damage that shards found and this run did not. Returns `places` plus the number of such damages. */
static size_t report_shards(const struct dump_run *run, size_t places)
{
	size_t count;
	const struct dump_partial_damage *list = dump_partial_set_damage(run->merged, &count);

	for (size_t i = 0; i < count; i++)
		if (is_damage_of(run->trace, &list[i]) && ++places <= DAMAGE_SHOWN)
			common_message_warning("%s: offset %" PRIu64 ": %s", run->path, list[i].offset, list[i].text);
	return places;
}

bool dump_run_report(const struct dump_run *run, bool lists_it)
{
	const struct ptl_trace *trace = run->trace;
	const size_t count = ptl_damage_count(trace);
	size_t places = 0;

	report_code_store(run);
	/* A user who ends --follow early knows that the trace is incomplete. */
	if (!ptl_trace_complete(trace) && (!run->options->follow || ptl_realtime_over(trace)))
		common_message_warning("%s is incomplete: it is still being written, or its writer "
				       "did not finish; what follows its last whole buffer is missing",
				       run->path);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);

		if (format_damage_kind(trace, damage) == FORMAT_DAMAGE_NEWER)
			common_message_note("%s: a newer version wrote what this one does not know: %s", run->path,
					    damage->text);
		else if (format_damage_hurts(trace, damage) && ++places <= DAMAGE_SHOWN)
			common_message_warning("%s: offset %" PRIu64 ": %s", run->path, damage->offset, damage->text);
	}
	if (run->saver)
		dump_partial_save_damage(run->saver, trace);
	if (run->merged)
		places = report_shards(run, places);
	if (places > DAMAGE_SHOWN)
		common_message_warning("%s: %zu more " COMMON_PLURAL("place is", "places are") " damaged", run->path,
				       places - DAMAGE_SHOWN);
	if (places && !lists_it && strcmp(run->path, "-") != 0)
		common_message_hint("ptl-dump info --check %s    lists all that is damaged or lost", run->path);
	return places > 0;
}

bool dump_run_close(struct dump_run *run)
{
	const bool damaged = run->trace && dump_run_report(run, false);

	ptl_close(run->trace);
	run->trace = NULL;
	return damaged;
}
