/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.data files as inputs. Reports data that could not be read. */
#include "relog/input_perf.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "elf/debuginfod.h"
#include "import/perf/file.h"
#include "import/perf/input.h"

/* Reports, as a note, the data about perf's own work. */
static void report_left_out(const char *name, const struct perf_left_out *left_out)
{
	struct ptl_bytes text = {0};

	perf_left_out_text(left_out, &text);
	if (text.size && !text.failed)
		common_message_note("%s: not in the trace, as only perf's own work is described: %s", name,
				    common_text_string(&text));
	common_bytes_free(&text);
}

static void report_perf_outcome(const char *name, const struct perf_outcome *outcome)
{
	elf_debuginfod_warn();
	if (outcome->damage[0])
		common_message_warning("%s: %s; what follows is missing", name, outcome->damage);
	if (outcome->lost_events)
		common_message_warning(
			"%s: perf lost %llu " COMMON_PLURAL("event", "events") "; the losses are in the trace", name,
			(unsigned long long)outcome->lost_events);
	report_left_out(name, &outcome->left_out);
	if (outcome->unknown_records)
		common_message_warning(
			"%s: %llu " COMMON_PLURAL("record", "records") " of an unknown kind " COMMON_PLURAL(
				"is", "are") " not in the trace",
			name, (unsigned long long)outcome->unknown_records);
	if (outcome->left_features)
		common_message_warning("%s: %llu " COMMON_PLURAL("feature", "features") " of the header " COMMON_PLURAL(
					       "is", "are") " damaged or too large: names of events, build ids or "
							    "formats of tracepoints may be missing",
				       name, (unsigned long long)outcome->left_features);
	if (outcome->damaged_records)
		common_message_warning(
			"%s: %llu " COMMON_PLURAL("record is",
						  "records are") " damaged, and not in the trace; the first is: %s",
			name, (unsigned long long)outcome->damaged_records, outcome->damaged_record);
	if (outcome->large_events)
		common_message_warning(
			"%s: %llu " COMMON_PLURAL(
				"sample is", "samples are") " larger than %u bytes as events, and not in the trace",
			name, (unsigned long long)outcome->large_events, PTL_PAYLOAD_MAX);
	if (outcome->lone_stacks)
		common_message_warning(
			"%s: %llu " COMMON_PLURAL(
				"sample has a copy of the stack and no registers: its calls",
				"samples have a copy of the stack and no registers: their calls") " are not in the "
												  "trace",
			name, (unsigned long long)outcome->lone_stacks);
	if (outcome->other_files)
		common_message_warning(
			"%s: %llu " COMMON_PLURAL("mapping is of a file",
						  "mappings are of files") " that this machine has in another version: "
									   "their code is not in the trace",
			name, (unsigned long long)outcome->other_files);
	for (size_t i = 0; i < outcome->kernel_loss_count; i++)
		common_message_warning("%s: %s", name, outcome->kernel_losses[i]);
	if (outcome->cut_stacks)
		common_message_note(
			"%s: the stacks of %llu " COMMON_PLURAL(
				"sample",
				"samples") " end with address 0, since nothing says who called: the program's files "
					   "are not on this machine, have no .eh_frame, or perf copied too little",
			name, (unsigned long long)outcome->cut_stacks);
	if (outcome->absent_files)
		common_message_note(
			"%s: %llu " COMMON_PLURAL(
				"mapping is of a file that is not on this machine: its code is not in the trace",
				"mappings are of files that are not on this machine: their code is not in the trace"),
			name, (unsigned long long)outcome->absent_files);
}

/* Names the files that perf archive has packed, if the archive lies beside perf.data. */
static void suggest_archive(const char *path)
{
	char archive[4200];

	snprintf(archive, sizeof(archive), "%.4000s.tar.bz2", path);
	if (access(archive, F_OK) == 0)
		common_message_note("%s has files of perf.data: mkdir files && tar xf %s -C files, and --buildid-dir "
				    "files",
				    archive, archive);
}

#define SERIES_MAX 256u /* files that are read as one; each stays open */
#define STAMP 16u       /* digits of the time in the name of a file of perf record --switch-output */

/* Whether both names are of a series: equal up to the time. */
static bool is_series(const char *name, const char *next)
{
	const size_t length = strlen(name);

	return length > STAMP && strlen(next) == length && !memcmp(name, next, length - STAMP) &&
	       strspn(name + length - STAMP, "0123456789") == STAMP &&
	       strspn(next + length - STAMP, "0123456789") == STAMP && strcmp(name, next) < 0;
}

/* Opens a file of a series; -1: the file is no perf.data file. */
static int open_next(const char *name)
{
	uint8_t start[PERF_MAGIC_SIZE];
	struct stat info;
	int fd = common_open_regular(name, &info);

	if (fd >= 0 && (pread(fd, start, sizeof(start), 0) != sizeof(start) || !perf_file_is(start, sizeof(start)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Returns the position of an input on the command line. */
static size_t find_input(const struct relog_settings *settings, const char *path)
{
	size_t i = 0;

	while (i < settings->input_count && settings->inputs[i] != path)
		i++;
	return i;
}

static int convert_perf(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start,
			size_t size, struct import_spool *spool)
{
	const size_t first = find_input(settings, path);
	int fds[SERIES_MAX] = {fd};
	struct perf_input input = {.names = &path,
				   .fds = fds,
				   .count = 1,
				   .embed = settings->embed,
				   .cache = settings->buildid_dir,
				   .guest_code = settings->guest_code};
	struct perf_outcome outcome;
	int status;

	(void)start;
	(void)size;
	if (first < settings->input_count)
		input.names = settings->inputs + first;
	while (first + input.count < settings->input_count && input.count < SERIES_MAX &&
	       is_series(input.names[input.count - 1], input.names[input.count]) &&
	       (fds[input.count] = open_next(input.names[input.count])) >= 0)
		input.count++;
	status = perf_import(&input, spool, &outcome);
	for (size_t i = 1; i < input.count; i++)
		close(fds[i]);
	if (status)
		return status;
	report_perf_outcome(path, &outcome);
	if (outcome.absent_files && !settings->buildid_dir)
		suggest_archive(path);
	spool->further = outcome.files - 1;
	spool->damaged = outcome.damage[0] || outcome.damaged_records;
	return 0;
}

const struct relog_format relog_format_perf = {"perf.data", perf_file_is, convert_perf};
