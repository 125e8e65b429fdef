/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow is decoded by another program: ptl-dump. What it says of a redacted trace is held against what it says of the same
 * trace without redaction: the input, where nothing else was changed, or what a second run writes.
 */
#include "relog/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/message.h"
#include "format/container/layout.h"
#include "relog/run.h"
#include "common/interrupt.h"

#define ANSWER_MAX ((size_t)64 << 20) /* of ptl-dump: some hundreds of bytes for each thread */

/* ---- ptl-dump -------------------------------------------------------------------------------- */

static int find_dump(char path[PATH_MAX])
{
	static const char name[] = "ptl-dump";
	const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name) - 1);
	char *slash;

	if (length <= 0)
		return common_fail_errno("/proc/self/exe");
	path[length] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, name);
	return access(path, X_OK) == 0 ? 0 : common_fail(PTL_SYSTEM, "%s: --check needs it, and it is not there", path);
}

static int start(char *const argv[], pid_t *pid, int *from)
{
	posix_spawn_file_actions_t actions;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	status = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*from = ends[0];
	if (!status)
		return 0;
	close(ends[0]);
	errno = status;
	return common_fail_errno("%s", argv[0]);
}

static int read_answer(int from, struct ptl_bytes *answer)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(from, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			common_write_bytes(answer, piece, (size_t)n);
		if (answer->failed || answer->size > ANSWER_MAX)
			return common_fail_memory("an answer of ptl-dump", answer->size);
	}
	common_write_bytes(answer, "", 1);
	return n < 0 ? common_fail_errno("ptl-dump") : 0;
}

static int end(pid_t pid, int *exit_status)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return common_fail_errno("ptl-dump");
	if (common_interrupt_check())
		return PTL_CANCELLED;
	if (!WIFEXITED(status))
		return common_fail(PTL_SYSTEM, "ptl-dump died of signal %d", WTERMSIG(status));
	*exit_status = WEXITSTATUS(status);
	return 0;
}

/* What ptl-dump prints about a file, with a zero byte behind it, and its exit status. */
static int ask(const struct relog_settings *settings, const char *command, const char *option, const char *file,
	       struct ptl_bytes *answer, int *exit_status)
{
	char dump[PATH_MAX], expansion[32];
	char *const argv[] = {dump,
			      (char *)command,
			      (char *)option,
			      (char *)"--json",
			      (char *)"--quiet",
			      expansion,
			      (char *)"--",
			      (char *)file,
			      NULL};
	int from, status = find_dump(dump), ended;
	pid_t pid;

	snprintf(expansion, sizeof(expansion), "--max-expansion=%u",
		 settings->max_expansion ? settings->max_expansion : FORMAT_EXPANSION_MAX);
	if (!status)
		status = start(argv, &pid, &from);
	if (status)
		return status;
	status = read_answer(from, answer);
	close(from);
	ended = end(pid, exit_status);
	return status ? status : ended;
}

/* ---- all of it can be read ------------------------------------------------------------------- */

static int check_reading(const struct relog_settings *settings, bool *found)
{
	struct ptl_bytes answer = {0};
	int exit_status = 0, status = ask(settings, "info", "--check", settings->output, &answer, &exit_status);

	if (!status && exit_status) {
		common_message_error("%s: the output is damaged: ptl-dump ends with status %d", settings->output,
				     exit_status);
		common_message_hint(
			"ptl-dump info --check says where; the input may be damaged in a way that only shows when "
			"it is decompressed: --recompress 3 reads all of it");
		*found = true;
	}
	common_bytes_free(&answer);
	return status;
}

/* ---- the flow is the same -------------------------------------------------------------------- */

/* Takes the names of processes out, which redaction may change. */
static void drop_names(char *text)
{
	static const char key[] = "\"name\":\"";
	char *to = text;

	while (*text) {
		if (strncmp(text, key, sizeof(key) - 1) != 0) {
			*to++ = *text++;
			continue;
		}
		for (text += sizeof(key) - 1; *text && *text != '"'; text++)
			text += *text == '\\' && text[1];
		text += *text == '"';
	}
	*to = 0;
}

/* Hash of every thread's instructions, and counts of all that is there and missing. */
static int read_flow(const struct relog_settings *settings, const char *file, struct ptl_bytes *flow)
{
	int exit_status, status = ask(settings, "stats", "--hash", file, flow, &exit_status);

	/* A damaged trace has a flow as well. */
	if (!status && exit_status && exit_status != COMMON_EXIT_FINDING && exit_status != COMMON_EXIT_INPUT)
		status = common_fail(PTL_SYSTEM, "ptl-dump stats %s ends with status %d", file, exit_status);
	if (!status)
		drop_names((char *)flow->data);
	return status;
}

static int compare_flow(const struct relog_settings *settings, const char *reference, bool *found)
{
	struct ptl_bytes before = {0}, after = {0};
	int status = read_flow(settings, reference, &before);

	if (!status)
		status = read_flow(settings, settings->output, &after);
	if (!status && strcmp((const char *)before.data, (const char *)after.data) != 0) {
		common_message_error("%s: redaction has changed the flow", settings->output);
		common_message_hint(
			"code that is not in the trace is found by its path, which redaction changes: record with "
			"--embed code, or compare ptl-dump stats --hash of both");
		*found = true;
	}
	common_bytes_free(&before);
	common_bytes_free(&after);
	return status;
}

/* Whether nothing but redaction was asked for, of one trace. */
static bool is_reference(const struct relog_settings *settings)
{
	struct ptl_trace *trace;

	if (settings->input_count != 1 || settings->rules || relog_cut_wanted(&settings->cut) ||
	    ptl_open(settings->inputs[0], NULL, &trace))
		return false;
	ptl_close(trace);
	return true;
}

/* The same run once more, without redaction, into a file that is gone afterwards. */
static int compare_with_second_run(const struct relog_settings *settings, bool *found)
{
	struct relog_settings *again = malloc(sizeof(*again));
	char *name = NULL;
	bool damaged = false;
	int status = 0, fd = -1;

	if (!again || asprintf(&name, "%s.check-XXXXXX", settings->output) < 0) {
		free(again);
		return common_fail_memory("settings", sizeof(*again));
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		status = common_fail_errno("%s", name);
	*again = *settings;
	again->redact = (struct relog_redact_rules){.paths = false};
	again->output = name;
	again->force = again->quiet = again->repeated = true;
	again->sync = false;
	again->hash = PTL_HASH_NONE;
	if (!status)
		status = relog_run(again, &damaged);
	if (!status)
		status = compare_flow(settings, name, found);
	if (fd >= 0) {
		unlink(name);
		close(fd);
	}
	free(name);
	free(again);
	return status;
}

int relog_check_ready(void)
{
	char path[PATH_MAX];

	return find_dump(path);
}

int relog_check(const struct relog_settings *settings, bool *found)
{
	int status;

	*found = false;
	status = check_reading(settings, found);
	if (status || *found || !relog_redact_wanted(&settings->redact))
		return status;
	return is_reference(settings) ? compare_flow(settings, settings->inputs[0], found)
				      : compare_with_second_run(settings, found);
}
