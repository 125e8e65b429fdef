/* SPDX-License-Identifier: BSD-2-Clause */
/* Following execve: the new program is started in QEMU, which would let it run natively. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/qemu/shared/command.h"
#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/guest.h"
#include "record/qemu/plugin/plugin.h"
#include "common/vector.h"

/* The kernel's limits: MAX_ARG_STRLEN, and more strings than fit into what execve takes. */
#define STRING_MAX (32u * 4096u)
#define STRINGS_MAX (1u << 20)
/* Of the strings of a program that is not followed. */
#define ANNOUNCED_MAX ((size_t)32 << 10)

static void free_strings(char **strings)
{
	for (size_t i = 0; strings && strings[i]; i++)
		free(strings[i]);
	free(strings);
}

static char *copy_string(uint64_t address, char *buffer)
{
	int length = plugin_guest_read_string(address, buffer, STRING_MAX);

	return length < 0 ? NULL : strndup(buffer, (size_t)length);
}

/* The program's array of strings, ended by NULL. NULL if it cannot be read, or there is no memory.
 */
static char **copy_strings(uint64_t address)
{
	char *buffer = malloc(STRING_MAX);
	char **strings = calloc(1, sizeof(char *));
	size_t count = 0, capacity = 1;
	uint64_t pointer;

	while (buffer && strings && address) {
		if (count == STRINGS_MAX || !plugin_guest_read(address + count * 8, &pointer, sizeof(pointer)))
			goto fail;
		if (!pointer)
			break;
		if (!COMMON_VECTOR_GROW(strings, capacity, count + 2))
			goto fail;
		strings[count + 1] = NULL;
		strings[count] = copy_string(pointer, buffer);
		if (!strings[count])
			goto fail;
		count++;
	}
	free(buffer);
	return strings;
fail:
	free(buffer);
	free_strings(strings);
	return NULL;
}

/* True if the path is /proc/<self>/<what>: there QEMU's own files are, not the program's. */
static bool is_own_proc(const char *path, const char *what)
{
	char own[64];

	snprintf(own, sizeof(own), "/proc/self/%s", what);
	if (!strcmp(path, own))
		return true;
	snprintf(own, sizeof(own), "/proc/thread-self/%s", what);
	if (!strcmp(path, own))
		return true;
	snprintf(own, sizeof(own), "/proc/%u/%s", plugin.pid, what);
	return !strcmp(path, own);
}

/*
 * /proc/self/exe is the program, not QEMU. A descriptor that closes on exec is gone when QEMU opens
 * the program: the file's name is used, or, if it has none, the descriptor is kept open.
 */
static void resolve_own(char *path, size_t size)
{
	char target[QEMU_CHANNEL_PATH_SIZE];
	struct stat by_name, by_descriptor;
	int fd, end = 0;
	ssize_t length;

	if (is_own_proc(path, "exe")) {
		snprintf(path, size, "%s", plugin.program);
		return;
	}
	if ((sscanf(path, "/proc/self/fd/%d%n", &fd, &end) != 1 && sscanf(path, "/dev/fd/%d%n", &fd, &end) != 1) ||
	    path[end])
		return;
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0 || fstat(fd, &by_descriptor))
		return;
	target[length] = 0;
	if (!stat(target, &by_name) && by_name.st_dev == by_descriptor.st_dev && by_name.st_ino == by_descriptor.st_ino)
		snprintf(path, size, "%s", target);
	else
		fcntl(fd, F_SETFD, 0);
}

/* After a change of user, root directory or mount space QEMU, the plugin or the arena may be out of
 * reach. */
static bool can_follow(void)
{
	int fd = open(plugin.config.arena_path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	/* A user other than root keeps no capabilities: access(2) looks as without them. */
	if (getuid() == geteuid() && access(plugin.config.arena_path, R_OK | W_OK))
		return false;
	return !access(plugin.config.qemu_path, X_OK) && !access(plugin.config.plugin_path, R_OK);
}

/* Adds a string with its NUL; one that does not fit is cut, and so are all behind it. */
static size_t add_string(char *strings, size_t used, const char *string)
{
	const size_t left = ANNOUNCED_MAX - used, size = strlen(string) + 1;
	const size_t taken = size < left ? size : left;

	memcpy(strings + used, string, taken);
	return used + taken;
}

static void announce_not_followed(unsigned vcpu, uint32_t cause, const char *path, char *const *argv)
{
	struct qemu_message_not_followed message = {
		.header.type = QEMU_MSG_NOT_FOLLOWED,
		.cause = cause,
	};
	char resolved[PATH_MAX], folder[QEMU_CHANNEL_PATH_SIZE];
	char *strings = malloc(ANNOUNCED_MAX);
	size_t size = 0;

	if (strings) {
		size = add_string(strings, size, realpath(path, resolved) ? resolved : path);
		size = add_string(strings, size, "");
		size = add_string(strings, size, getcwd(folder, sizeof(folder)) ? folder : "");
		for (size_t i = 0; argv[i]; i++)
			size = add_string(strings, size, argv[i]);
	}
	message.length = (uint32_t)size;
	plugin.vcpus[vcpu].exec_announced = plugin_send(plugin.vcpus[vcpu].slot, &message.header, sizeof(message),
							strings, size);
	free(strings);
}

/* The first thread keeps its thread id and its slot; another gets the process's id, and its slot
 * ends. */
static struct qemu_continue continue_from(unsigned vcpu)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;
	struct qemu_continue from = {.process = plugin.process, .slot = -1};

	pthread_mutex_lock(&plugin.lock);
	from.time = plugin_encoder_now(slot, &plugin.config);
	if (from.time < plugin.psb_time)
		from.time = plugin.psb_time;
	from.epoch = plugin.epoch;
	pthread_mutex_unlock(&plugin.lock);
	if (slot->tid == plugin.pid)
		from.slot = plugin_slot_index(slot);
	return from;
}

static void start_program(unsigned vcpu, const char *path, char **argv, char **envp)
{
	struct qemu_continue from = continue_from(vcpu);
	struct qemu_command command;
	int status = qemu_command_make(&command, &plugin.config, path, argv, envp, &from);

	if (status > 0)
		announce_not_followed(vcpu, (uint32_t)status, path, argv);
	if (status)
		return;
	if (!can_follow()) {
		announce_not_followed(vcpu, QEMU_NOT_FOLLOWED_ARENA, path, argv);
	} else {
		if (from.slot < 0) {
			plugin_thread_end(vcpu);
			plugin.vcpus[vcpu].slot = plugin_slots[vcpu] = &plugin_unattached;
		}
		execve(command.path, command.argv, command.envp);
	}
	qemu_command_free(&command);
}

void plugin_exec(unsigned vcpu, const struct plugin_syscall *call)
{
	char path[QEMU_CHANNEL_PATH_SIZE];
	char **argv, **envp;

	if (plugin_guest_read_string(call->args[0], path, sizeof(path)) < 0)
		return;
	resolve_own(path, sizeof(path));
	argv = copy_strings(call->args[1]);
	envp = copy_strings(call->args[2]);
	if (argv && envp)
		start_program(vcpu, path, argv, envp);
	free_strings(argv);
	free_strings(envp);
}
