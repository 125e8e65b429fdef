/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls. Each call leaves user mode. The runtime replaces some calls, and reports some to the recorder. */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "record/software/runtime/runtime.h"

#define PAGE 4096ull
/* Result of a call that must be made again at pc, natively, after the thread has left the cache. */
#define NATIVELY (-513)

/* ---- what the recorder is told ---- */

static void send_child_status(struct runtime_thread *thread, int64_t pid, int status)
{
	struct channel_message_child_status message = {
		.header.type = CHANNEL_MSG_CHILD_STATUS,
		.child_pid = (uint32_t)pid,
		.status = (uint32_t)status,
	};

	if (pid <= 0 || !(WIFEXITED(status) || WIFSIGNALED(status)))
		return;
	/* In a separate pid namespace, the program's numbers differ from the trace's numbers. */
	message.child_process = runtime_thread_forget_child((uint32_t)pid);
	if (message.child_process || thread->pid == (uint32_t)RUNTIME_CALL(SYS_getpid, 0))
		runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

static void on_wait4(struct runtime_thread *thread, const uint64_t args[6], int64_t pid)
{
	int status;

	if (args[1] && runtime_copy(&status, (const void *)args[1], sizeof(status)))
		send_child_status(thread, pid, status);
}

static void on_waitid(struct runtime_thread *thread, const uint64_t args[6])
{
	siginfo_t info;

	if (!args[2] || !runtime_copy(&info, (const void *)args[2], sizeof(info)))
		return;
	if (info.si_code == CLD_EXITED)
		send_child_status(thread, info.si_pid, (info.si_status & 0xff) << 8);
	else if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		send_child_status(thread, info.si_pid, info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0));
}

static void send_thread_name(struct runtime_thread *thread, uint32_t tid, uint64_t address, size_t size)
{
	struct channel_message_thread_name message = {.header.type = CHANNEL_MSG_THREAD_NAME, .named_tid = tid};
	char name[CHANNEL_THREAD_NAME_MAX + 1] = "";

	if (size > CHANNEL_THREAD_NAME_MAX)
		size = CHANNEL_THREAD_NAME_MAX;
	while (size && !runtime_copy(name, (const void *)address, size))
		size--;
	name[size] = 0;
	while (message.length < size && name[message.length] && name[message.length] != '\n')
		message.length++;
	runtime_send(thread, &message.header, sizeof(message), name, message.length);
}

/* Skips `text` at *at. False if the text differs. */
static bool skip_text(const char **at, const char *text)
{
	for (; *text; text++, (*at)++)
		if (**at != *text)
			return false;
	return true;
}

static bool skip_number(const char **at, uint32_t *number)
{
	const char *start = *at;

	for (*number = 0; **at >= '0' && **at <= '9'; (*at)++)
		*number = *number * 10 + (uint32_t)(**at - '0');
	return *at > start;
}

/* pthread_setname_np(3) of another thread opens a file of /proc, and writes the name. */
static void on_open(struct runtime_thread *thread, uint64_t address, int64_t fd)
{
	char path[64];
	const char *at = path;
	uint32_t pid = thread->pid, tid;
	size_t size = sizeof(path);

	runtime_writes_opened(address);
	while (size && !runtime_copy(path, (const void *)address, size))
		size /= 2;
	if (!size)
		return;
	path[size - 1] = 0;
	runtime_status_opened(path);
	if (!skip_text(&at, "/proc/") || !(skip_text(&at, "self") || skip_number(&at, &pid)) ||
	    !skip_text(&at, "/task/") || !skip_number(&at, &tid) || !skip_text(&at, "/comm") || *at ||
	    pid != thread->pid)
		return;
	thread->named_tid = tid;
	thread->name_fd = (int)fd;
}

static uint64_t page_up(uint64_t value)
{
	return (value + PAGE - 1) & ~(PAGE - 1);
}

/* Returns whether the advice of madvise(2) may change the memory's contents. */
static bool discards(uint64_t advice)
{
	return advice == MADV_DONTNEED || advice == MADV_REMOVE || advice == 24 /* MADV_DONTNEED_LOCKED */;
}

static void after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result)
{
	switch (number) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_shmat:
	case SYS_shmdt:
		runtime_mapping_syscall(thread, number, args, result);
		break;
	case SYS_madvise:
		if (result == 0 && discards(args[2]))
			runtime_mapping_discarded(thread, args[0], args[0] + page_up(args[1]));
		break;
	case SYS_wait4:
		if (result > 0)
			on_wait4(thread, args, result);
		break;
	case SYS_waitid:
		if (result == 0)
			on_waitid(thread, args);
		break;
	case SYS_prctl:
		if (result == 0 && args[0] == PR_SET_NAME)
			send_thread_name(thread, thread->tid, args[1], CHANNEL_THREAD_NAME_MAX);
		break;
	case SYS_open:
	case SYS_openat:
		if (result >= 0)
			on_open(thread, args[number == SYS_openat], result);
		break;
	case SYS_write:
		if (result > 0 && thread->named_tid && (int)args[0] == thread->name_fd) {
			send_thread_name(thread, thread->named_tid, args[1], (size_t)result);
			thread->named_tid = 0;
		}
		break;
	case SYS_close:
		if ((int)args[0] == thread->name_fd)
			thread->named_tid = 0;
		break;
	default:
		break;
	}
}

/* ---- what the runtime does itself ---- */

static int64_t on_arch_prctl(struct runtime_thread *thread)
{
	const uint64_t zero = 0;

	switch (thread->regs[RDI]) {
	case ARCH_GET_GS:
		return runtime_copy((void *)thread->regs[RSI], &zero, sizeof(zero)) ? 0 : -EFAULT;
	case ARCH_SET_GS:
		if (!thread->regs[RSI])
			return 0;
		/* The runtime uses %gs. The call is repeated natively. */
		thread->pc -= 2;
		runtime_let_go(thread, "the program sets its %gs base: the process goes on natively from");
		return NATIVELY;
	case 0x5001: /* ARCH_SHSTK_ENABLE: translated returns would not match the shadow stack */
		return -EINVAL;
	default:
		return runtime_program_syscall(thread);
	}
}

/*
 * Installs a seccomp filter. The filter also applies to the runtime's calls: if it forbids one, the process goes on
 * natively before the filter is installed.
 */
static int64_t on_filter(struct runtime_thread *thread, bool strict, uint64_t program)
{
	if (!strict && runtime_filter_permits(program))
		return runtime_program_syscall(thread);
	thread->pc -= 2;
	runtime_let_go(thread, "the program's seccomp filter forbids what the software source calls: the process goes "
			       "on natively from");
	return NATIVELY;
}

/* Forbids writable and executable memory (PR_SET_MDWE), which the cache needs: the process goes on natively. */
static int64_t on_write_xor_execute(struct runtime_thread *thread)
{
	thread->pc -= 2;
	runtime_let_go(thread,
		       "the program forbids memory that is writable and executable: the process goes on natively from");
	return NATIVELY;
}

/* Adjusts limits of address space by the size of the runtime's memory, which does not count. */
static int64_t on_limit(struct runtime_thread *thread, int64_t number)
{
	const uint64_t regs[16] = {
		thread->regs[RAX], 0, thread->regs[RDX], 0, 0, 0, thread->regs[RSI], thread->regs[RDI], 0, 0,
		thread->regs[R10]};
	const unsigned set = number == SYS_setrlimit ? RSI : RDX;
	const uint64_t own = runtime_own_size();
	uint64_t limit[2];
	int64_t result;

	if (number == SYS_prlimit64 && regs[RDI] != 0 && regs[RDI] != (uint64_t)RUNTIME_CALL(SYS_getpid, 0))
		return runtime_program_syscall(thread);
	if (number != SYS_getrlimit && regs[set]) {
		if (!runtime_copy(limit, (const void *)regs[set], sizeof(limit)))
			return -EFAULT;
		for (unsigned i = 0; i < 2; i++)
			limit[i] = limit[i] > ~0ull - own ? limit[i] : limit[i] + own;
		thread->regs[set] = (uint64_t)limit;
	}
	result = runtime_program_syscall(thread);
	if (number != SYS_getrlimit && regs[set])
		thread->regs[set] = regs[set];
	{
		const uint64_t out = number == SYS_getrlimit ? regs[RSI] : number == SYS_prlimit64 ? regs[R10] : 0;

		if (result == 0 && out && runtime_copy(limit, (const void *)out, sizeof(limit))) {
			for (unsigned i = 0; i < 2; i++)
				limit[i] = limit[i] == ~0ull || limit[i] < own ? limit[i] : limit[i] - own;
			runtime_copy((void *)out, limit, sizeof(limit));
		}
	}
	return result;
}

/* Unmaps all of [base, end) that is not the runtime's. */
static int64_t unmap_others(uint64_t base, uint64_t end)
{
	int64_t result = 0;

	while (base < end && result == 0) {
		uint64_t own = end, own_end = end;

		runtime_next_own(base, end, &own, &own_end);
		if (own > base)
			result = RUNTIME_CALL(SYS_munmap, base, own - base);
		base = own_end;
	}
	return result;
}

static int64_t on_memory(struct runtime_thread *thread, int64_t number)
{
	const uint64_t *regs = thread->regs;
	const uint64_t end = regs[RDI] + page_up(regs[RSI]);
	/* With MAP_FIXED_NOREPLACE, the kernel sees that the runtime's memory is taken. */
	const bool fixed = number != SYS_mmap || (regs[R10] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED;
	const bool moves = number == SYS_mremap && regs[R10] & MREMAP_FIXED;

	/* The range may contain the vdso, with the clock. */
	if (fixed && number != SYS_madvise)
		runtime_clock_unmapped(regs[RDI], end);
	if (moves)
		runtime_clock_unmapped(regs[R8], regs[R8] + page_up(regs[RDX]));
	/* The runtime's memory is none of the program's. */
	if (fixed && regs[RSI] && end > regs[RDI] && runtime_is_own(regs[RDI], end))
		return number != SYS_munmap ? -ENOMEM : regs[RDI] % PAGE ? -EINVAL : unmap_others(regs[RDI], end);
	if (moves && runtime_is_own(regs[R8], regs[R8] + page_up(regs[RDX])))
		return -ENOMEM;
	/* The moved memory keeps the kernel's protection, which the cache may have changed. */
	if (number == SYS_mremap && end > regs[RDI])
		runtime_cache_unguard_range(regs[RDI], end);
	return runtime_program_syscall(thread);
}

/* In place of what is mapped there. */
static int64_t on_shmat(struct runtime_thread *thread)
{
	const uint64_t *regs = thread->regs;
	struct shmid_ds status;

	if (regs[RDX] & SHM_REMAP && RUNTIME_CALL(SYS_shmctl, regs[RDI], IPC_STAT, &status) == 0) {
		const uint64_t end = regs[RSI] + page_up(status.shm_segsz);

		if (runtime_is_own(regs[RSI], end))
			return -EINVAL;
		runtime_clock_unmapped(regs[RSI], end);
	}
	return runtime_program_syscall(thread);
}

static int64_t call(struct runtime_thread *thread, int64_t number)
{
	switch (number) {
	case SYS_rt_sigaction:
		return runtime_do_sigaction(thread);
	case SYS_sigaltstack:
		return runtime_do_sigaltstack(thread);
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		return runtime_do_clone(thread, number);
	case SYS_execve:
	case SYS_execveat:
		return runtime_do_exec(thread, number);
	case SYS_exit:
	case SYS_exit_group:
		runtime_do_exit(thread, number);
	case SYS_arch_prctl:
		return on_arch_prctl(thread);
	case SYS_ptrace:
		if (thread->regs[RDI] != 0 /* PTRACE_TRACEME */)
			return runtime_program_syscall(thread);
		/* A debugger must see the program's own code and registers. */
		thread->pc -= 2;
		runtime_let_go(thread, "the program asks for a debugger: the process goes on natively from");
		return NATIVELY;
	case 334: /* rseq: the kernel would jump to an abort handler in the program's own code */
		return runtime_attach_rseq(thread);
	case SYS_seccomp:
		return thread->regs[RDI] > SECCOMP_SET_MODE_FILTER
			       ? runtime_program_syscall(thread)
			       : on_filter(thread, thread->regs[RDI] == SECCOMP_SET_MODE_STRICT, thread->regs[RDX]);
	case SYS_prctl:
		if (thread->regs[RDI] == 65 /* PR_SET_MDWE */ && thread->regs[RSI] & 1)
			return on_write_xor_execute(thread);
		if (thread->regs[RDI] == 59 /* PR_SET_SYSCALL_USER_DISPATCH */ && thread->regs[RSI]) {
			/* The kernel would refuse the runtime's calls. */
			thread->pc -= 2;
			runtime_let_go(thread, "the program gets its own system calls as signals: the process goes on "
					       "natively from");
			return NATIVELY;
		}
		/* The vdso reads the time stamp counter, and reading may now fault. */
		if (thread->regs[RDI] == PR_SET_TSC)
			runtime_clock_unmapped(0, ~0ull);
		return thread->regs[RDI] != PR_SET_SECCOMP
			       ? runtime_program_syscall(thread)
			       : on_filter(thread, thread->regs[RSI] == SECCOMP_MODE_STRICT, thread->regs[RDX]);
	case SYS_getrlimit:
	case SYS_setrlimit:
		return thread->regs[RDI] == 9 /* RLIMIT_AS */ ? on_limit(thread, number)
							      : runtime_program_syscall(thread);
	case SYS_prlimit64:
		return thread->regs[RSI] == 9 ? on_limit(thread, number) : runtime_program_syscall(thread);
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_mremap:
	case SYS_madvise:
		return on_memory(thread, number);
	case SYS_shmat:
		return on_shmat(thread);
	case SYS_close:
		return runtime_do_close(thread);
	case SYS_dup2:
	case SYS_dup3:
		return runtime_do_dup(thread);
	case SYS_close_range:
		return runtime_do_close_range(thread);
	default:
		return runtime_program_syscall(thread);
	}
}

void runtime_do_syscall(struct runtime_thread *thread)
{
	const int64_t number = (int32_t)thread->regs[RAX];
	const uint64_t args[6] = {thread->regs[RDI], thread->regs[RSI], thread->regs[RDX],
				  thread->regs[R10], thread->regs[R8],  thread->regs[R9]};
	int64_t result;

	thread->regs[RCX] = thread->pc;
	thread->regs[R11] = thread->flags;
	runtime_leave_for_syscall(thread);
	if (number == SYS_rt_sigreturn) {
		runtime_do_sigreturn(thread);
		return;
	}
	__atomic_store_n(&thread->in_syscall, 1, __ATOMIC_SEQ_CST);
	runtime_writes_before(number, args);
	runtime_namespace_before(number, args);
	__atomic_store_n(&thread->slot->kick.waits, 1, __ATOMIC_RELAXED);
	result = call(thread, number);
	if (result == -EFAULT && runtime_writes_failed())
		result = call(thread, number);
	__atomic_store_n(&thread->slot->kick.waits, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->in_syscall, 0, __ATOMIC_SEQ_CST);
	if (result == RUNTIME_KICKED) {
		thread->pc -= 2;
		thread->regs[RAX] = thread->slot->kick.number;
		thread->restart = thread->slot->kick.restart;
		return;
	}
	if (result == -512) {
		/* A signal preceded or interrupted the call: the call is (re)started after the handler. */
		if (thread->pending)
			thread->pc -= 2;
		return;
	}
	if (result == -EINTR && runtime_signals_are_ignored(thread)) {
		/* The kernel, too, does not end a call for such a signal. */
		thread->pc -= 2;
		return;
	}
	thread->restart = RUNTIME_RESTART_NEVER;
	if (result == NATIVELY)
		return;
	if (result == -EINTR && thread->pending)
		runtime_signals_waited(thread, number, args);
	thread->regs[RAX] = (uint64_t)result;
	after(thread, number, args, result);
	runtime_namespace_after(thread, number, args, result);
	runtime_writes_after(thread, number, args, result);
	runtime_status_read(thread, number, args, result);
}
