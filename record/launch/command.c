/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the command as execvp does, with the errors and exit statuses of a shell. */
#include "record/launch/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/proc/target.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define SHELL "/bin/sh"

void record_command_free(struct record_command *command)
{
	free(command->argv);
	free(command->path);
	free(command->script);
	free(command->program);
	common_bytes_free(&command->words);
	*command = (struct record_command){0};
}

static int no_memory(void)
{
	common_fail_memory("command line", 0);
	return COMMON_EXIT_SYSTEM;
}

/* Returns 0 if this user may execute the regular file; else the errno of execve. */
static int check_file(const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return errno;
	if (S_ISDIR(info.st_mode))
		return EISDIR;
	if (!S_ISREG(info.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static int failure(const char *name, int error)
{
	const bool missing = error == ENOENT || error == ENOTDIR;

	/* The working directory is not in $PATH, a frequent oversight. */
	if (missing && !strchr(name, '/') && check_file(name) == 0) {
		common_fail(PTL_NOT_FOUND, "%s: command not found (did you mean './%s'?)", name, name);
	} else if (missing && !strchr(name, '/')) {
		common_fail(PTL_NOT_FOUND, "%s: command not found", name);
	} else {
		errno = error;
		common_fail_errno("cannot run %s", name);
	}
	return missing ? RECORD_EXIT_NOT_FOUND : RECORD_EXIT_NOT_EXECUTABLE;
}

/* Searches $PATH. Returns fresh memory, or NULL with *error set. */
static char *search_path(const char *name, int *error)
{
	const char *path = getenv("PATH");
	const char *at = path ? path : DEFAULT_PATH;

	*error = ENOENT;
	while (at && *name) {
		const char *colon = strchrnul(at, ':');
		const size_t length = (size_t)(colon - at);
		char *candidate = malloc(length + strlen(name) + sizeof("./"));
		int found;

		if (!candidate) {
			*error = ENOMEM;
			return NULL;
		}
		/* An empty part of $PATH means the working directory. */
		memcpy(candidate, at, length);
		strcpy(candidate + length, length ? "/" : "./");
		strcat(candidate, name);
		found = check_file(candidate);
		if (!found)
			return candidate;
		/* Like shells, ignores folders without search permission. */
		if (found == EACCES && access(candidate, F_OK) == 0)
			*error = EACCES;
		free(candidate);
		at = *colon ? colon + 1 : NULL;
	}
	return NULL;
}

static int locate(const char *name, char **path)
{
	int error;

	if (strchr(name, '/')) {
		error = check_file(name);
		if (error)
			return failure(name, error);
		*path = strdup(name);
		return *path ? 0 : no_memory();
	}
	*path = search_path(name, &error);
	if (*path)
		return 0;
	return error == ENOMEM ? no_memory() : failure(name, error);
}

/* Checks for a text: neither ELF nor #!, and without zeros. */
static bool is_plain_text(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[RECORD_HEAD_SIZE];
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n >= 0 && !memchr(head, 0, (size_t)n) && (n < 2 || memcmp(head, "#!", 2) != 0) &&
	       (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0);
}

/* Runs a text by the shell: "sh PATH ARGUMENTS". */
static int use_shell(struct record_command *command)
{
	size_t count = 0;
	char **argv;

	while (command->argv[count])
		count++;
	argv = calloc(count + 2, sizeof(*argv));
	if (!argv)
		return no_memory();
	argv[0] = (char *)SHELL;
	argv[1] = command->path;
	memcpy(argv + 2, command->argv + 1, (count - 1) * sizeof(*argv));
	free(command->argv);
	command->argv = argv;
	command->script = command->path;
	command->path = strdup(SHELL);
	return command->path ? 0 : no_memory();
}

/* Explains why a program cannot be recorded, though execve might run the program. */
static int not_followed(const char *path, int cause)
{
	if (cause == RECORD_TARGET_UNREADABLE)
		common_fail(PTL_SYSTEM, "cannot record %s: it may be executed but not read", path);
	else
		common_fail(PTL_UNSUPPORTED, "cannot record %s: it is no x86-64 program", path);
	return RECORD_EXIT_NOT_EXECUTABLE;
}

static void add_word(struct record_command *command, const char *word)
{
	common_write_bytes(&command->words, word, strlen(word) + 1);
}

/* Sets program and words. path: the program. prefix: words of a script's first line, which replace argv[0]. */
static int name_program(struct record_command *command, const char *path, char *const *prefix)
{
	command->program = realpath(path, NULL);
	if (!command->program)
		command->program = strdup(path);
	for (size_t i = 0; prefix && prefix[i]; i++)
		add_word(command, prefix[i]);
	for (size_t i = prefix && prefix[0] ? 1 : 0; command->argv[i]; i++)
		add_word(command, command->argv[i]);
	return command->program && !command->words.failed ? 0 : no_memory();
}

/* Checks the file, the #! lines and the ELF interpreter. native: accepts any program. */
static int check_target(struct record_command *command, bool native)
{
	struct record_target target;
	int status = record_target_find(&target, command->path);

	if (!status) {
		status = name_program(command, target.path, target.prefix);
		record_target_free(&target);
		return status;
	}
	if ((status == -ENOEXEC || status == RECORD_TARGET_FORMAT) && !command->script &&
	    is_plain_text(command->path)) {
		status = use_shell(command);
		return status ? status : check_target(command, native);
	}
	if (status > 0)
		return native ? name_program(command, command->path, NULL) : not_followed(command->path, status);
	if (status == -ENOENT) {
		common_fail(PTL_NOT_FOUND, "cannot run %s: its interpreter does not exist", command->path);
		return RECORD_EXIT_NOT_FOUND;
	}
	return status == -ENOMEM ? no_memory() : failure(command->path, -status);
}

int record_command_find(char *const *argv, bool native, struct record_command *command)
{
	size_t count = 0;
	int status;

	*command = (struct record_command){0};
	while (argv[count])
		count++;
	command->argv = calloc(count + 1, sizeof(*argv));
	if (!command->argv)
		return no_memory();
	memcpy(command->argv, argv, count * sizeof(*argv));
	status = locate(argv[0], &command->path);
	if (!status)
		status = check_target(command, native);
	if (status)
		record_command_free(command);
	return status;
}
