/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that enter namespaces: /proc may be another one afterwards, or none, and a user namespace may not open the recorder's memory.
 * The process opens both before that and keeps the descriptors, also for the programs that it executes. A program does not see them
 * when it closes descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define LEAST_MAX 1024u /* programs may have no room for larger numbers */
#define LEAST_SPARE 4u
#define SPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER)

void runtime_namespace_keep(int32_t arena, int32_t proc)
{
	struct stat status;

	if (RUNTIME_CALL(SYS_fstat, arena, &status) < 0)
		return;
	runtime.kept_inode = status.st_ino;
	runtime.kept_proc = proc;
	runtime.kept_arena = arena;
	runtime_namespace_inherit(false);
}

bool runtime_namespace_has_kept(void)
{
	struct stat status;

	return runtime.kept_arena > 0 && RUNTIME_CALL(SYS_fstat, runtime.kept_arena, &status) == 0 &&
	       status.st_ino == runtime.kept_inode;
}

/* Moves a descriptor to a large number. Returns the number, or a negative errno. */
static int64_t move_up(int64_t fd)
{
	uint64_t limit[2] = {LEAST_MAX, LEAST_MAX}, least;
	int64_t moved;

	if (fd < 0)
		return fd;
	RUNTIME_CALL(SYS_getrlimit, 7 /* RLIMIT_NOFILE */, limit);
	least = limit[0] < LEAST_MAX ? limit[0] : LEAST_MAX;
	moved = RUNTIME_CALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least > LEAST_SPARE ? least - LEAST_SPARE : 0);
	RUNTIME_CALL(SYS_close, fd);
	return moved;
}

static void keep_locked(void)
{
	int64_t arena, proc;

	if (runtime.kept_arena > 0)
		return;
	arena = move_up(RUNTIME_CALL(SYS_open, runtime.config.arena_path, O_RDWR | O_CLOEXEC));
	if (arena <= 0)
		return;
	proc = move_up(RUNTIME_CALL(SYS_open, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (proc <= 0) {
		RUNTIME_CALL(SYS_close, arena);
		return;
	}
	runtime_namespace_keep((int32_t)arena, (int32_t)proc);
}

static void keep(void)
{
	static struct runtime_lock lock;

	runtime_lock(&lock);
	keep_locked();
	runtime_unlock(&lock);
}

void runtime_namespace_before(int64_t number, const uint64_t args[6])
{
	uint64_t flags = 0;

	switch (number) {
	case SYS_clone:
	case SYS_unshare:
		flags = args[0];
		break;
	case SYS_clone3:
		runtime_copy(&flags, (const void *)args[0], sizeof(flags));
		break;
	case SYS_setns:
	case SYS_mount:
	case SYS_chroot:
	case SYS_pivot_root:
	case 429: /* move_mount */
		flags = SPACES;
		break;
	default:
		break;
	}
	if (flags & SPACES)
		keep();
}

void runtime_namespace_after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result)
{
	if (result == 0 && ((number == SYS_unshare && args[0] & CLONE_NEWPID) ||
			    (number == SYS_setns && (!args[1] || args[1] & CLONE_NEWPID))))
		thread->children_elsewhere = true;
}

void runtime_namespace_inherit(bool inherit)
{
	const uint64_t flags = inherit ? 0 : FD_CLOEXEC;

	if (!runtime_namespace_has_kept())
		return;
	RUNTIME_CALL(SYS_fcntl, runtime.kept_arena, F_SETFD, flags);
	RUNTIME_CALL(SYS_fcntl, runtime.kept_proc, F_SETFD, flags);
}

int64_t runtime_proc_open(const char *name, const char *path)
{
	const int64_t fd = runtime.kept_proc > 0
				   ? RUNTIME_CALL(SYS_openat, runtime.kept_proc, name, O_RDONLY | O_CLOEXEC)
				   : -ENOENT;

	return fd >= 0 ? fd : RUNTIME_CALL(SYS_open, path, O_RDONLY | O_CLOEXEC);
}

int64_t runtime_proc_readlink(const char *name, const char *path, char *out, size_t size)
{
	const int64_t length = runtime.kept_proc > 0 ? RUNTIME_CALL(SYS_readlinkat, runtime.kept_proc, name, out, size)
						     : -ENOENT;

	return length >= 0 ? length : RUNTIME_CALL(SYS_readlink, path, out, size);
}

/* ---- the program closes descriptors ---- */

static bool is_kept(uint64_t fd)
{
	return runtime.kept_arena > 0 && ((int32_t)fd == runtime.kept_arena || (int32_t)fd == runtime.kept_proc);
}

int64_t runtime_do_close(struct runtime_thread *thread)
{
	return is_kept(thread->regs[RDI]) ? -EBADF : runtime_program_syscall(thread);
}

/* dup2 and dup3: the program wants a number that is taken. */
int64_t runtime_do_dup(struct runtime_thread *thread)
{
	int32_t *kept[2] = {&runtime.kept_arena, &runtime.kept_proc};

	if (is_kept(thread->regs[RDI]))
		return -EBADF;
	for (unsigned i = 0; i < 2 && is_kept(thread->regs[RSI]); i++)
		if (*kept[i] == (int32_t)thread->regs[RSI]) {
			const int64_t moved = RUNTIME_CALL(SYS_fcntl, *kept[i], F_DUPFD_CLOEXEC, *kept[i] + 1);

			if (moved < 0)
				return -EMFILE;
			*kept[i] = (int32_t)moved;
		}
	return runtime_program_syscall(thread);
}

int64_t runtime_do_close_range(struct runtime_thread *thread)
{
	const uint32_t last = (uint32_t)thread->regs[RSI], flags = (uint32_t)thread->regs[RDX];
	const uint32_t kept[2] = {
		(uint32_t)(runtime.kept_arena < runtime.kept_proc ? runtime.kept_arena : runtime.kept_proc),
		(uint32_t)(runtime.kept_arena < runtime.kept_proc ? runtime.kept_proc : runtime.kept_arena)};
	uint32_t first = (uint32_t)thread->regs[RDI];
	int64_t result = 0;

	/* Those that are closed by execve are so already. */
	if (runtime.kept_arena <= 0 || first > last || flags & 4 /* CLOSE_RANGE_CLOEXEC */)
		return runtime_program_syscall(thread);
	for (unsigned i = 0; i < 2 && result == 0; i++) {
		if (kept[i] < first || kept[i] > last)
			continue;
		if (kept[i] > first)
			result = RUNTIME_CALL(SYS_close_range, first, kept[i] - 1, flags);
		first = kept[i] + 1;
	}
	return result == 0 && first <= last ? RUNTIME_CALL(SYS_close_range, first, last, flags) : result;
}
