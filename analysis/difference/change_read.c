/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a diff from a file or from git. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/difference/change.h"
#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"

#define DIFF_MAX ((size_t)1 << 30)
#define READ_SIZE ((size_t)64 << 10)

extern char **environ;

/* Reads the pipe to its end. */
static int read_pipe(int fd, struct ptl_bytes *text)
{
	ssize_t got;

	do {
		uint8_t *room = text->size < DIFF_MAX ? common_bytes_grow(text, READ_SIZE) : NULL;

		if (!room)
			return common_fail_memory("a diff", text->size);
		got = read(fd, room, READ_SIZE);
		text->size -= READ_SIZE - (got > 0 ? (size_t)got : 0);
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 ? common_fail_errno("cannot read what git shows") : 0;
}

/* Returns the first line of git's error output: pages of help may follow. */
static const char *first_line(int errors, char *line, size_t room)
{
	const ssize_t size = pread(errors, line, room - 1, 0);

	line[size > 0 ? size : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	return *line ? line : "it failed";
}

static int wait_for(pid_t child, const char *range, int errors)
{
	struct ptl_bytes failure_text = {0};
	char line[256];
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return common_fail_errno("cannot wait for git");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	common_text_safe(&failure_text, first_line(errors, line, sizeof(line)));
	common_fail(PTL_MISUSE,
		    "'%s' is neither a file nor what git diff takes here (git: %s); give the file of a diff, or a "
		    "range such "
		    "as main...HEAD",
		    range, common_text_string(&failure_text));
	common_bytes_free(&failure_text);
	return PTL_MISUSE;
}

/* Starts `git diff` with options that make the output independent of the user's git settings. */
static int start_git(const char *range, int output, int errors, pid_t *child)
{
	const char *const arguments[] = {"git",
					 "-c",
					 "core.quotePath=false",
					 "diff",
					 "--no-color",
					 "--no-ext-diff",
					 "--no-textconv",
					 "--unified=0",
					 "--src-prefix=a/",
					 "--dst-prefix=b/",
					 range,
					 "--",
					 NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	if (!error) {
		error = posix_spawnp(child, "git", &actions, NULL, (char *const *)arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	errno = error;
	return error ? common_fail_errno("cannot start git for '%s', which is no file", range) : 0;
}

static int ask_git(const char *range, struct ptl_bytes *text)
{
	int ends[2], errors, status, waited;
	pid_t child;

	if (*range == '-')
		return common_fail(PTL_MISUSE, "'%s' is no revision", range);
	errors = memfd_create("ptl-git", MFD_CLOEXEC);
	if (errors < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		status = common_fail_errno("cannot make a pipe");
		if (errors >= 0)
			close(errors);
		return status;
	}
	status = start_git(range, ends[1], errors, &child);
	close(ends[1]);
	if (!status) {
		status = read_pipe(ends[0], text);
		/* Closed before the wait for git: git may still be writing, and would block. */
		close(ends[0]);
		ends[0] = -1;
		waited = wait_for(child, range, errors);
		status = status ? status : waited;
	}
	if (ends[0] >= 0)
		close(ends[0]);
	close(errors);
	return status;
}

int analysis_changes_read(struct analysis_changes *changes, const char *source)
{
	struct ptl_bytes text = {0};
	uint8_t *data = NULL;
	size_t size = 0;
	int status;

	if (strcmp(source, "-") == 0 || access(source, F_OK) == 0)
		status = common_read_file(strcmp(source, "-") == 0 ? "/dev/stdin" : source, DIFF_MAX, &data, &size);
	else
		status = ask_git(source, &text);
	if (!status)
		status = analysis_changes_parse(changes, source, (const char *)(data ? data : text.data),
						data ? size : text.size);
	free(data);
	common_bytes_free(&text);
	return status;
}
