/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds QEMU and the plugin, and says what to install where they are not. */
#include "record/qemu/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"

#define QEMU "qemu-x86_64"
#define PLUGIN "ptl-qemu.so"

extern char **environ;

static bool is_program(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Searches $PATH. */
static bool search(const char *name, char found[PATH_MAX])
{
	const char *at = getenv("PATH");

	while (at) {
		const char *colon = strchrnul(at, ':');
		const int length = (int)(colon - at);

		if (snprintf(found, PATH_MAX, "%.*s/%s", length ? length : 1, length ? at : ".", name) < PATH_MAX &&
		    is_program(found))
			return true;
		at = *colon ? colon + 1 : NULL;
	}
	return false;
}

static int find_qemu(const char *wanted, char path[PATH_MAX], char *hint, size_t hint_size)
{
	char found[PATH_MAX];

	if (wanted) {
		if (!realpath(wanted, path))
			return common_fail_errno("%s", wanted);
		return is_program(path) ? 0 : common_fail(PTL_SYSTEM, "%s is no program that can be run", wanted);
	}
	if (search(QEMU, found) && realpath(found, path))
		return 0;
	snprintf(hint, hint_size, "apt-get install qemu-user (QEMU 7.2 or newer with plugins), or --qemu PATH");
	return common_fail(PTL_NOT_FOUND, QEMU " is not in $PATH");
}

/* ../lib/ptl of the folder that our executable is in. */
static int own_library_folder(char path[PATH_MAX])
{
	char own[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (length <= 0)
		return common_fail_errno("/proc/self/exe");
	own[length] = 0;
	slash = strrchr(own, '/');
	if (slash)
		*slash = 0;
	slash = strrchr(own, '/');
	if (slash)
		*slash = 0;
	if (snprintf(path, PATH_MAX, "%s/lib/ptl", own) >= PATH_MAX)
		return common_fail(PTL_SYSTEM, "%s: path too long", own);
	return 0;
}

static int find_plugin(char path[PATH_MAX], char *hint, size_t hint_size)
{
	const char *folder = getenv("PTL_LIBDIR");
	char own[PATH_MAX], wanted[PATH_MAX];
	int status = 0;

	if (!folder || !*folder) {
		status = own_library_folder(own);
		folder = own;
	}
	if (status < 0)
		return status;
	if (snprintf(wanted, sizeof(wanted), "%s/" PLUGIN, folder) >= PATH_MAX)
		return common_fail(PTL_SYSTEM, "%s: path too long", folder);
	if (realpath(wanted, path) && access(path, R_OK) == 0)
		return 0;
	status = common_fail_errno("the QEMU plugin %s", wanted);
	snprintf(hint, hint_size,
		 "install PTL as a whole (make install), or set PTL_LIBDIR to the folder "
		 "of " PLUGIN);
	return status;
}

int record_qemu_tools_find(const char *wanted, struct record_qemu_tools *tools, char *hint, size_t hint_size)
{
	int status;

	hint[0] = 0;
	status = find_qemu(wanted, tools->qemu, hint, hint_size);
	return status < 0 ? status : find_plugin(tools->plugin, hint, hint_size);
}

void record_qemu_version(const char *qemu, char *text, size_t size)
{
	char *const argv[] = {(char *)qemu, (char *)"--version", NULL};
	posix_spawn_file_actions_t actions;
	size_t used = 0;
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	text[0] = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	status = posix_spawn(&pid, qemu, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (status == 0 && used + 1 < size && (n = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	close(ends[0]);
	if (status == 0)
		waitpid(pid, NULL, 0);
	text[used] = 0;
	text[strcspn(text, "\n")] = 0;
}
