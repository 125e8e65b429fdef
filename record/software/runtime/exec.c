/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows execve: a process with shared memory attaches to the calling thread, and puts the runtime into the new
 * program before the first instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/runtime.h"
#include "record/software/shared/inject.h"

#define STACK_SIZE 32768u
#define ANNOUNCED_MAX ((size_t)16 << 10)
#define PATH_ROOM 4096
#define WALL 0x40000000
#define PARENT_LOOK 20000000 /* nanoseconds between two looks at the parent */

struct exec_tracer {
	struct exec_tracer *next;
	uint32_t used;  /* 1: a thread before its execve uses the structure */
	uint32_t alive; /* 1: a tracer lives; the kernel stores 0 at the tracer's end */
	struct runtime_thread *thread;
	struct runtime_start start;
	uint32_t go;    /* 1: the tracer may attach */
	uint32_t ready; /* 1: the tracer has attached; 2: it cannot attach */
	bool ends_slot; /* the thread's slot ends with the old program */
	int32_t tid;
	int32_t parent; /* process id in its own pid namespace */
	struct channel_message_not_followed message;
	char strings[ANNOUNCED_MAX];
	size_t size;
};

static struct runtime_lock exec_lock;
static struct exec_tracer *tracers;

/*
 * Returns a free tracer structure, whose stack is unused. A vfork child shares the list with its parent, so the memory
 * outlives the tracer.
 */
static struct exec_tracer *take_tracer(void)
{
	struct exec_tracer *tracer;

	runtime_lock(&exec_lock);
	tracer = tracers;
	while (tracer &&
	       (__atomic_load_n(&tracer->used, __ATOMIC_ACQUIRE) || __atomic_load_n(&tracer->alive, __ATOMIC_ACQUIRE)))
		tracer = tracer->next;
	if (!tracer) {
		tracer = runtime_map(sizeof(*tracer) + STACK_SIZE, PROT_READ | PROT_WRITE, 0, true);
		if (tracer) {
			tracer->next = tracers;
			tracers = tracer;
		}
	}
	if (tracer)
		tracer->used = 1;
	runtime_unlock(&exec_lock);
	return tracer;
}

static void send_not_followed(struct exec_tracer *tracer, uint32_t cause)
{
	tracer->message = (struct channel_message_not_followed){
		.header.type = CHANNEL_MSG_NOT_FOLLOWED,
		.cause = cause,
		.length = (uint32_t)tracer->size,
	};
	tracer->thread->exec_announced = runtime_send(tracer->thread, &tracer->message.header, sizeof(tracer->message),
						      tracer->strings, tracer->size);
}

static uint32_t cause_of(enum inject_result result)
{
	switch (result) {
	case INJECT_FORMAT:
		return CHANNEL_NOT_FOLLOWED_FORMAT;
	case INJECT_FAILED:
		return CHANNEL_NOT_FOLLOWED_TRACER;
	case INJECT_NO_MEMORY:
		return CHANNEL_NOT_FOLLOWED_MEMORY;
	default:
		return CHANNEL_NOT_FOLLOWED_ARENA;
	}
}

/* Called in the tracer while the new program waits. */
static void on_decided(enum inject_result result, void *context)
{
	struct exec_tracer *tracer = context;

	if (result != INJECT_DONE && result != INJECT_ENDED)
		send_not_followed(tracer, cause_of(result));
	else if (result == INJECT_DONE && tracer->ends_slot)
		__atomic_store_n(&tracer->thread->slot->status, CHANNEL_SLOT_ENDED, __ATOMIC_RELEASE);
	runtime_ring_doorbell();
}

void runtime_tracer_wait(uint32_t *word, uint32_t value, int32_t parent)
{
	const struct timespec pause = {.tv_nsec = PARENT_LOOK};
	uint32_t seen;

	while ((seen = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < value) {
		if (RUNTIME_CALL(SYS_getppid, 0) != parent)
			RUNTIME_CALL(SYS_exit, 0);
		RUNTIME_CALL(SYS_futex, word, FUTEX_WAIT, seen, &pause, 0, 0);
	}
}

static void trace_exec(void *context)
{
	struct exec_tracer *tracer = context;

	runtime_tracer_wait(&tracer->go, 1, tracer->parent);
	__atomic_store_n(&tracer->ready, software_inject_attach(tracer->tid) == 0 ? 1 : 2, __ATOMIC_RELEASE);
	RUNTIME_CALL(SYS_futex, &tracer->ready, FUTEX_WAKE, 1, 0, 0, 0);
	/* If execve fails, the thread ends this process meanwhile. Otherwise the thread runs another program, or has ended. */
	if (tracer->ready == 1) {
		software_inject_at_exec(&runtime.config, &tracer->start, on_decided, tracer);
		__atomic_store_n(&tracer->used, 0, __ATOMIC_RELEASE);
	}
	for (;;)
		RUNTIME_CALL(SYS_exit, 0);
}

int64_t runtime_clone_tracer(void (*run)(void *), void *context, uint8_t *stack_end, uint32_t *cleared)
{
	int64_t result;
	register uint64_t r10 __asm__("r10") = (uint64_t)cleared;
	register uint64_t r8 __asm__("r8") = 0;
	register uint64_t r12 __asm__("r12") = (uint64_t)run;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov %%rbx, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "1:"
			 : "=a"(result)
			 : "0"((int64_t)SYS_clone), "D"((uint64_t)(CLONE_VM | (cleared ? CLONE_CHILD_CLEARTID : 0))),
			   "S"((uint64_t)(stack_end - 64)), "d"(0ull), "r"(r10), "r"(r8), "r"(r12), "b"(context)
			 : "rcx", "r11", "memory");
	return result;
}

static size_t copy_text(char *out, size_t room, uint64_t address)
{
	size_t size = 0;

	while (size + 1 < room && runtime_copy(out + size, (const void *)(address + size), 1) && out[size])
		size++;
	out[size] = 0;
	return size + 1;
}

/* Copies the file's path without symbolic links, or, if the file is not found, the path that the program gave. */
static size_t copy_path(char *out, int64_t folder, uint64_t path)
{
	const int64_t file = RUNTIME_CALL(SYS_openat, folder, path, O_PATH | O_CLOEXEC, 0);
	char link[32];
	size_t at = 0;
	int64_t size = -1;

	if (file >= 0) {
		runtime_put(link, sizeof(link), &at, "/proc/self/fd/");
		runtime_put_number(link, sizeof(link), &at, (uint64_t)file, 10);
		size = runtime_proc_readlink(link + strlen("/proc/"), link, out, PATH_ROOM - 1);
		RUNTIME_CALL(SYS_close, file);
	}
	if (size <= 0)
		return copy_text(out, PATH_ROOM, path);
	out[size] = 0;
	return (size_t)size + 1;
}

/* Path, no script, folder, arguments: see CHANNEL_MSG_EXEC_BYTES. */
static void describe(struct exec_tracer *tracer, int64_t base, uint64_t path, uint64_t argv)
{
	char *out = tracer->strings;
	const size_t room = sizeof(tracer->strings);
	size_t at = copy_path(out, base, path);
	int64_t size;

	out[at++] = 0;
	size = RUNTIME_CALL(SYS_getcwd, out + at, 4096);
	if (size > 0)
		at += (size_t)size;
	else
		out[at++] = 0;
	for (uint64_t i = 0; at + 16 < room; i++) {
		uint64_t argument = 0;

		if (!runtime_copy(&argument, (const void *)(argv + 8 * i), 8) || !argument)
			break;
		at += copy_text(out + at, room - at, argument);
	}
	tracer->size = at;
}

/* Returns whether the file of execve or execveat has capabilities. */
static bool has_capabilities(const struct runtime_thread *thread, int64_t number)
{
	const uint64_t *regs = thread->regs;
	const bool follows = number == SYS_execve || !(regs[R8] & AT_SYMLINK_NOFOLLOW);
	int64_t opened, file, size;
	char path[64];
	size_t at = 0;

	if (number == SYS_execve)
		return RUNTIME_CALL(SYS_getxattr, regs[RDI], "security.capability", 0, 0) > 0;
	opened = RUNTIME_CALL(SYS_openat, regs[RDI], regs[RSI], O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
	file = opened < 0 && regs[R8] & AT_EMPTY_PATH ? (int32_t)regs[RDI] : opened;
	if (file < 0)
		return false;
	runtime_put(path, sizeof(path), &at, "/proc/self/fd/");
	runtime_put_number(path, sizeof(path), &at, (uint64_t)file, 10);
	size = RUNTIME_CALL(SYS_getxattr, path, "security.capability", 0, 0);
	if (opened >= 0)
		RUNTIME_CALL(SYS_close, opened);
	return size > 0;
}

/* Returns whether the program would gain privileges: the kernel withholds them from a traced program. */
static bool gains_privileges(const struct runtime_thread *thread, int64_t number)
{
	struct stat status;
	const uint64_t *regs = thread->regs;
	int64_t result;

	result = number == SYS_execve ? RUNTIME_CALL(SYS_stat, regs[RDI], &status)
				      : RUNTIME_CALL(SYS_newfstatat, regs[RDI], regs[RSI], &status,
						     regs[R8] & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
	if (result < 0)
		return false;
	if (status.st_mode & S_ISUID && status.st_uid != (uint32_t)RUNTIME_CALL(SYS_geteuid, 0))
		return true;
	if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
	    status.st_gid != (uint32_t)RUNTIME_CALL(SYS_getegid, 0))
		return true;
	return RUNTIME_CALL(SYS_geteuid, 0) != 0 && has_capabilities(thread, number);
}

/* Returns whether the user may not read the program's file: a tracer then cannot access the memory of the program. */
static bool is_unreadable(const struct runtime_thread *thread, int64_t number)
{
	const uint64_t *regs = thread->regs;
	const int64_t fd = number == SYS_execve
				   ? RUNTIME_CALL(SYS_open, regs[RDI], O_RDONLY | O_CLOEXEC | O_NONBLOCK)
				   : RUNTIME_CALL(SYS_openat, regs[RDI], regs[RSI], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		RUNTIME_CALL(SYS_close, fd);
	return fd == -EACCES;
}

/* Why the program cannot be followed: enum channel_not_followed_cause; 0: nothing is known to stand in the way. */
static uint32_t obstacle(const struct runtime_thread *thread, int64_t number)
{
	if (thread->children_elsewhere)
		return CHANNEL_NOT_FOLLOWED_TRACER;
	if (gains_privileges(thread, number))
		return CHANNEL_NOT_FOLLOWED_PRIVILEGES;
	return is_unreadable(thread, number) ? CHANNEL_NOT_FOLLOWED_UNREADABLE : 0;
}

static void fill_start(struct exec_tracer *tracer, struct runtime_thread *thread, uint64_t mask)
{
	runtime_lock(&runtime.lock);
	tracer->start = (struct runtime_start){
		.mask = mask,
		.continued = 1,
		.process = thread->process,
		.time = runtime_now(thread),
		.epoch = runtime.epoch,
		.slot = -1,
	};
	if (tracer->start.time < runtime.psb_time)
		tracer->start.time = runtime.psb_time;
	runtime_unlock(&runtime.lock);
	if (runtime_namespace_has_kept()) {
		tracer->start.kept_arena = runtime.kept_arena;
		tracer->start.kept_proc = runtime.kept_proc;
	}
	tracer->ends_slot = thread->tid != thread->pid || thread->is_dummy;
	if (!tracer->ends_slot)
		tracer->start.slot = (int64_t)runtime_slot_index(thread->slot);
}

/* Waits until the tracer has attached, cannot attach, or was killed. */
static void await_tracer(struct exec_tracer *tracer)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	while (!__atomic_load_n(&tracer->ready, __ATOMIC_ACQUIRE) && __atomic_load_n(&tracer->alive, __ATOMIC_ACQUIRE))
		RUNTIME_CALL(SYS_futex, &tracer->ready, FUTEX_WAIT, 0, &pause, 0, 0);
}

/*
 * A process that forbids access by its own user (PR_SET_DUMPABLE 0) permits access until the tracer has attached. The next
 * program permits access anyway.
 */
static void let_tracer_attach(struct exec_tracer *tracer, int64_t pid)
{
	const bool forbids = RUNTIME_CALL(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;

	RUNTIME_CALL(SYS_prctl, 0x59616d61 /* PR_SET_PTRACER */, pid);
	if (forbids)
		RUNTIME_CALL(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	__atomic_store_n(&tracer->go, 1, __ATOMIC_RELEASE);
	RUNTIME_CALL(SYS_futex, &tracer->go, FUTEX_WAKE, 1, 0, 0, 0);
	await_tracer(tracer);
	if (forbids)
		RUNTIME_CALL(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int64_t runtime_do_exec(struct runtime_thread *thread, int64_t number)
{
	struct exec_tracer *tracer = take_tracer();
	uint8_t *stack;
	const uint64_t all = ~0ull;
	uint64_t mask = 0;
	bool followed, shares = thread->process != runtime.process;
	uint32_t cause;
	int64_t result, pid = -1;

	if (!tracer)
		return -ENOMEM;
	stack = (uint8_t *)(tracer + 1);
	stack = (uint8_t *)(((uintptr_t)stack + 63) & ~(uintptr_t)63);
	memset(&tracer->thread, 0, offsetof(struct exec_tracer, strings) - offsetof(struct exec_tracer, thread));
	tracer->thread = thread;
	tracer->start.slot = -1;
	describe(tracer, number == SYS_execve ? AT_FDCWD : (int64_t)thread->regs[RDI],
		 number == SYS_execve ? thread->regs[RDI] : thread->regs[RSI],
		 number == SYS_execve ? thread->regs[RSI] : thread->regs[RDX]);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &all, &mask, 8);
	if (thread->pending) {
		/* A pending signal is handled first. */
		RUNTIME_CALL(SYS_rt_sigprocmask, 2, &mask, 0, 8);
		__atomic_store_n(&tracer->used, 0, __ATOMIC_RELEASE);
		return -512;
	}
	cause = obstacle(thread, number);
	followed = !cause && !runtime_recorder_gone();
	if (followed) {
		fill_start(tracer, thread, mask);
		/* id in the thread's own pid namespace */
		tracer->tid = (int32_t)RUNTIME_CALL(SYS_gettid, 0);
		tracer->parent = (int32_t)RUNTIME_CALL(SYS_getpid, 0);
		tracer->alive = 1;
		pid = runtime_clone_tracer(trace_exec, tracer, stack + STACK_SIZE, &tracer->alive);
		if (pid < 0)
			tracer->alive = 0;
		tracer->start.tracer = (int32_t)pid;
		if (pid > 0) {
			let_tracer_attach(tracer, pid);
		}
		followed = pid > 0 && tracer->ready == 1;
	}
	if (!followed && !runtime_recorder_gone())
		send_not_followed(tracer, cause ? cause : CHANNEL_NOT_FOLLOWED_TRACER);
	if (!followed)
		RUNTIME_CALL(SYS_rt_sigprocmask, 2, &mask, 0, 8);
	if (shares)
		runtime_thread_end(thread);
	else
		runtime_threads_settle(thread);
	runtime_signals_ignored(thread, true);
	if (followed)
		runtime_namespace_inherit(true);
	/* Signals are not blocked if the program runs natively: a signal from now on precedes the call. */
	result = !followed ? runtime_program_syscall(thread)
			   : RUNTIME_CALL(number, thread->regs[RDI], thread->regs[RSI], thread->regs[RDX],
					  thread->regs[R10], thread->regs[R8]);
	/* execve failed: the program continues. */
	runtime_namespace_inherit(false);
	runtime_signals_ignored(thread, false);
	runtime_threads_resume(thread);
	if (shares)
		runtime_thread_again(thread);
	if (pid > 0) {
		RUNTIME_CALL(SYS_kill, pid, 9);
		while (RUNTIME_CALL(SYS_wait4, pid, 0, WALL, 0) == -EINTR)
			;
	}
	if (thread->exec_announced) {
		struct channel_message failed = {.type = CHANNEL_MSG_EXEC_FAILED};

		runtime_send(thread, &failed, sizeof(failed), NULL, 0);
		thread->exec_announced = false;
	}
	if (followed)
		RUNTIME_CALL(SYS_rt_sigprocmask, 2, &mask, 0, 8);
	__atomic_store_n(&tracer->used, 0, __ATOMIC_RELEASE);
	return result;
}
