/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program and captures its output. */
#include "dump/run/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"

#define OUTPUT_MAX ((size_t)64 << 20)
#define READ_SIZE ((size_t)4 << 10)

extern char **environ;

static int start_program(const char *const *argv, int output, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error) {
		errno = error;
		return common_fail_errno("cannot start %s", argv[0]);
	}
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error == ENOENT)
		return common_fail(PTL_NOT_FOUND, "there is no program %s here: Slurm's client programs are needed",
				   argv[0]);
	errno = error;
	return error ? common_fail_errno("cannot start %s", argv[0]) : 0;
}

/* Reads the whole output; bytes beyond OUTPUT_MAX are dropped. */
static void read_output(int fd, struct ptl_bytes *output)
{
	uint8_t bytes[READ_SIZE];
	ssize_t got;

	output->size = 0;
	do {
		got = read(fd, bytes, sizeof(bytes));
		if (got > 0 && output->size < OUTPUT_MAX)
			common_write_bytes(output, bytes, (size_t)got);
	} while (got > 0 || (got < 0 && errno == EINTR));
	common_write_bytes(output, "", 1);
}

int dump_cluster_ask(const char *const *argv, struct ptl_bytes *output)
{
	int ends[2], status, result = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("cannot make a pipe");
	status = start_program(argv, ends[1], &child);
	close(ends[1]);
	if (!status)
		read_output(ends[0], output);
	close(ends[0]);
	if (status < 0)
		return status;
	while (waitpid(child, &result, 0) < 0)
		if (errno != EINTR)
			return common_fail_errno("cannot wait for %s", argv[0]);
	if (output->failed)
		return common_fail_memory("what a program prints", output->size);
	return WIFEXITED(result) ? WEXITSTATUS(result) : 128;
}
