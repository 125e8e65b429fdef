/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a diff comes from: a file, or git. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "dump/difference/change.h"

#define DIFF_MAX ((size_t)1 << 30)
#define READ_SIZE ((size_t)64 << 10)

extern char **environ;

/* All that comes through the pipe. */
static int read_all(int fd, struct ptl_bytes *text)
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

static int wait_for(pid_t child, const char *range)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return common_fail_errno("cannot wait for git");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return common_fail(
		PTL_MISUSE,
		"'%s' is neither a file nor what git diff takes here; give the file of a diff, or a range such "
		"as main...HEAD",
		range);
}

/* Its settings must not change how a diff looks. */
static int start_git(const char *range, int output, pid_t *child)
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
	if (!error) {
		error = posix_spawnp(child, "git", &actions, NULL, (char *const *)arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	errno = error;
	return error ? common_fail_errno("cannot start git for '%s', which is no file", range) : 0;
}

static int ask_git(const char *range, struct ptl_bytes *text)
{
	int ends[2], status, waited;
	pid_t child;

	if (*range == '-')
		return common_fail(PTL_MISUSE, "'%s' is no revision", range);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("cannot make a pipe");
	status = start_git(range, ends[1], &child);
	close(ends[1]);
	if (!status) {
		status = read_all(ends[0], text);
		close(ends[0]);
		waited = wait_for(child, range);
		return status ? status : waited;
	}
	close(ends[0]);
	return status;
}

int dump_changes_read(struct dump_changes *changes, const char *source)
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
		status = dump_changes_parse(changes, source, (const char *)(data ? data : text.data),
					    data ? size : text.size);
	free(data);
	common_bytes_free(&text);
	return status;
}
