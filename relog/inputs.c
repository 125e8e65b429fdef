/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens inputs by name, and converts foreign formats to traces for the relogger. */
#include "relog/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/program/message.h"
#include "import/raw/input.h"
#include "relog/clocks.h"
#include "relog/follow.h"
#include "relog/input_etl.h"
#include "relog/input_event_header.h"
#include "relog/input_perf.h"
#include "relog/rules/stage.h"

#define START_SIZE 512

/* Formats besides trace files; ends with NULL. */
static const struct relog_format *const formats[] = {&relog_format_perf, &relog_format_etl, &relog_format_event_header,
						     NULL};

static const struct relog_format *find_format(const uint8_t *start, size_t size)
{
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->recognises(start, size))
			return formats[i];
	return NULL;
}

/* Findings about all inputs. */
struct found {
	bool damaged;
	bool etl;
	size_t further; /* inputs behind the last added input that were read with it */
};

static int convert_input(const struct relog_settings *settings, struct ptl_relogger *relogger, const char *path, int fd,
			 const struct relog_format *format, const uint8_t *start, size_t size, struct found *found)
{
	struct import_spool spool;
	int status = import_spool_open(&spool, settings->hash);

	if (!status)
		status = format->convert(settings, path, fd, start, size, &spool);
	found->damaged |= spool.damaged;
	found->further = spool.further;
	found->etl |= format == &relog_format_etl;
	if (!status)
		return import_spool_add(&spool, relogger, path);
	import_spool_free(&spool);
	return status;
}

/* perf record --threads writes a folder; the folder's main file is "data". */
static int open_within(int *fd)
{
	const int folder = *fd;
	struct stat info;

	if (fstat(folder, &info) < 0 || !S_ISDIR(info.st_mode))
		return 0;
	*fd = openat(folder, "data", O_RDONLY | O_CLOEXEC);
	close(folder);
	return *fd < 0 ? common_fail_errno("a folder, and no file \"data\" in it as perf record --threads writes it")
		       : 0;
}

static int open_input(const struct relog_settings *settings, const char *path, int *fd)
{
	const bool is_stdin = strcmp(path, "-") == 0;

	if (is_stdin || settings->opened)
		*fd = fcntl(is_stdin ? STDIN_FILENO : settings->opened, F_DUPFD_CLOEXEC, 3);
	else
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return common_fail_errno("cannot open");
	return open_within(fd);
}

/*
 * Prints once that the output of a session appears only after the session has completed a file: users expect a growing
 * output.
 */
static void note_wait(void)
{
	static bool noted;

	if (!noted)
		common_message_note(
			"what was asked for needs the whole of a file: each is written again when the session "
			"has completed it");
	noted = true;
}

/* Replaces *fd by a seekable descriptor: data of a pipe is copied to an unnamed file. Closes *fd on failure. */
static int wait_for_input(const struct relog_settings *settings, const char *name, int *fd)
{
	int pipe;
	int status;

	if (lseek(*fd, 0, SEEK_SET) >= 0) {
		if (settings->live && !ptl_is_closed(*fd))
			note_wait();
		if (settings->follow)
			relog_follow(*fd, name);
		return 0;
	}
	pipe = *fd;
	status = import_spool_pipe(pipe, settings->follow, fd);
	close(pipe);
	return status;
}

/* Whether the input can be processed while it is written. pt: the input may have Intel PT. */
static bool can_stream(const struct relog_settings *settings, bool pt)
{
	return relog_settings_stream(settings, pt) && !settings->rules_need_whole;
}

/* Adds a trace that is being written as a live input. Takes fd over if *added, or on failure. */
static int add_live(const struct relog_settings *settings, struct ptl_relogger *relogger, int fd, const char *name,
		    bool *added)
{
	int status;

	relog_follow_begin(fd);
	*added = !ptl_is_closed(fd) && relog_follow_is_trace(fd) &&
		 (can_stream(settings, true) || !relog_follow_may_have_pt(fd, name));
	if (!*added) {
		relog_follow_end();
		return 0;
	}
	status = ptl_relogger_add_realtime(relogger, fd, name, NULL, NULL);
	if (status)
		close(fd);
	return status;
}

static int add_file(const struct relog_settings *settings, struct ptl_relogger *relogger, const char *path,
		    struct found *found)
{
	const char *name = strcmp(path, "-") ? path : "(standard input)";
	const struct relog_format *format;
	uint8_t start[START_SIZE];
	ssize_t size;
	bool added;
	int fd;
	int status = open_input(settings, path, &fd);

	if (!status && can_stream(settings, false)) {
		status = add_live(settings, relogger, fd, name, &added);
		if (status || added)
			return status;
	}
	if (!status)
		status = wait_for_input(settings, name, &fd);
	if (status)
		return common_fail_in(status, "%s", name);
	size = pread(fd, start, sizeof(start), 0);
	format = size > 0 ? find_format(start, (size_t)size) : NULL;
	if (format) {
		status = convert_input(settings, relogger, name, fd, format, start, (size_t)size, found);
		close(fd);
		return status ? common_fail_in(status, "%s", name) : 0;
	}
	status = ptl_relogger_add_fd(relogger, fd, name, false, NULL, NULL);
	if (status)
		close(fd);
	return status;
}

static int add_raw(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	struct import_spool spool;
	int status = import_spool_open(&spool, settings->hash);

	if (!status)
		status = import_input_raw(&settings->raw, &spool);
	if (!status)
		return import_spool_add(&spool, relogger, settings->raw.pt.list[0]);
	import_spool_free(&spool);
	return status;
}

/* Warns of an input that is given twice, probably by mistake. Content that both are known to share is written once. */
static void warn_of_same(const struct relog_settings *settings, size_t number)
{
	struct stat info, other;

	if (stat(settings->inputs[number], &info) < 0 || !S_ISREG(info.st_mode))
		return;
	for (size_t i = 0; i < number; i++)
		if (stat(settings->inputs[i], &other) == 0 && info.st_dev == other.st_dev &&
		    info.st_ino == other.st_ino) {
			common_message_warning("%s is given twice: once is enough", settings->inputs[number]);
			return;
		}
}

int relog_inputs_add(const struct relog_settings *settings, struct ptl_relogger *relogger, bool *damaged)
{
	int status = settings->raw.pt.count ? add_raw(settings, relogger) : 0;
	struct found found = {0};

	for (size_t i = 0; !status && i < settings->input_count; i++) {
		warn_of_same(settings, i);
		found.further = 0;
		status = add_file(settings, relogger, settings->inputs[i], &found);
		i += found.further;
	}
	*damaged |= found.damaged;
	if (!status && settings->manifests.count && !found.etl)
		status = common_fail(PTL_MISUSE, "--manifest explains events of .etl files, and no input is one");
	return status ? status : relog_clocks_relate(settings, relogger);
}

static int check_not_output(const char *name, const struct stat *output)
{
	struct stat info;

	if (!name || stat(name, &info) < 0)
		return 0; /* opening the input will report the error */
	if (info.st_dev != output->st_dev || info.st_ino != output->st_ino)
		return 0;
	return common_fail(PTL_MISUSE, "%s is an input and the output", name);
}

int relog_inputs_check(const struct relog_settings *settings)
{
	struct stat output;
	int status;

	if (strcmp(settings->output, "-") == 0 || stat(settings->output, &output) < 0 || !S_ISREG(output.st_mode))
		return 0;
	status = check_not_output(settings->raw.memory, &output);
	if (!status)
		status = check_not_output(settings->raw.memory_map, &output);
	if (!status)
		status = check_not_output(settings->rules, &output);
	for (size_t i = 0; !status && i < settings->manifests.count; i++)
		status = check_not_output(settings->manifests.list[i], &output);
	for (size_t i = 0; !status && i < settings->raw.pt.count; i++)
		status = check_not_output(settings->raw.pt.list[i], &output);
	for (size_t i = 0; !status && i < settings->input_count; i++)
		status = check_not_output(settings->inputs[i], &output);
	return status;
}
