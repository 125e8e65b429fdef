/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/shared/tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define TRIES 16u
#define WALL 0x40000000
#define NO_CALL ((uint64_t)-1)
#define CALL_STOP (SIGTRAP | 0x80)
#define STOP_WAIT_NS 200000u
#define WITHOUT_WAITING 1 /* WNOHANG */

int64_t software_trace(int64_t request, int32_t pid, uint64_t address, uint64_t data)
{
	return software_inject_syscall(SYS_ptrace, (uint64_t)request, (uint64_t)(int64_t)pid, address, data, 0, 0);
}

/* The kernel's PTRACE_PEEKDATA stores the word. */
bool software_tracee_peek(const struct software_tracee *tracee, uint64_t address, uint64_t *word)
{
	return software_trace(PTRACE_PEEKDATA, tracee->pid, address, (uint64_t)word) == 0;
}

bool software_tracee_poke(const struct software_tracee *tracee, uint64_t address, uint64_t word)
{
	return software_trace(PTRACE_POKEDATA, tracee->pid, address, word) == 0;
}

bool software_tracee_write(const struct software_tracee *tracee, uint64_t address, const void *bytes, uint64_t size)
{
	const uint8_t *from = bytes;

	for (uint64_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		for (uint64_t i = 0; i < 8 && at + i < size; i++)
			word |= (uint64_t)from[at + i] << 8 * i;
		if (!software_tracee_poke(tracee, address + at, word))
			return false;
	}
	return true;
}

int64_t software_tracee_wait(const struct software_tracee *tracee)
{
	int status = 0;
	int64_t result;

	do
		result = software_inject_syscall(SYS_wait4, (uint64_t)(int64_t)tracee->pid, (uint64_t)&status, WALL, 0,
						 0, 0);
	while (result == -4 /* EINTR */);
	return result < 0 || (status & 0xff) != 0x7f ? -1 : status;
}

/* Continues the thread to a stop of this kind; other stops, such as job control, are skipped. */
static bool go_on_to(const struct software_tracee *tracee, int64_t request, int64_t stop)
{
	int64_t status;

	if (software_trace(request, tracee->pid, 0, 0))
		return false;
	while ((status = software_tracee_wait(tracee)) >= 0 && status >> 8 != stop)
		software_trace(request, tracee->pid, 0, 0);
	return status >= 0;
}

bool software_tracee_next_call(const struct software_tracee *tracee)
{
	return go_on_to(tracee, PTRACE_SYSCALL, CALL_STOP);
}

int64_t software_tracee_call(const struct software_tracee *tracee, int64_t number, uint64_t a0, uint64_t a1,
			     uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct user_regs_struct regs = tracee->regs;
	bool stopped;

	regs.rax = (uint64_t)number;
	regs.orig_rax = NO_CALL;
	regs.rdi = a0;
	regs.rsi = a1;
	regs.rdx = a2;
	regs.r10 = a3;
	regs.r8 = a4;
	regs.r9 = a5;
	if (tracee->call)
		regs.rip = tracee->call;
	if (software_trace(PTRACE_SETREGS, tracee->pid, 0, (uint64_t)&regs))
		return -3;
	/* continues to the end of the call, or to the trap behind the instruction */
	stopped = tracee->call ? software_tracee_next_call(tracee) && software_tracee_next_call(tracee)
			       : go_on_to(tracee, PTRACE_CONT, SIGTRAP);
	if (!stopped || software_trace(PTRACE_GETREGS, tracee->pid, 0, (uint64_t)&regs))
		return -3;
	return (int64_t)regs.rax;
}

bool software_tracee_is_64_bit(const struct software_tracee *tracee)
{
	uint64_t space[64];
	struct {
		void *base;
		uint64_t size;
	} vector = {space, sizeof(space)};

	return software_trace(PTRACE_GETREGSET, tracee->pid, NT_PRSTATUS, (uint64_t)&vector) == 0 &&
	       vector.size == sizeof(struct user_regs_struct);
}

static uint64_t text_size(const char *text)
{
	uint64_t size = 0;

	while (text[size++])
		;
	return size;
}

void software_tracee_registers(const struct user_regs_struct *regs, uint64_t registers[16])
{
	const uint64_t values[16] = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp,
				     regs->rsi, regs->rdi, regs->r8,  regs->r9,  regs->r10, regs->r11,
				     regs->r12, regs->r13, regs->r14, regs->r15};

	for (unsigned i = 0; i < 16; i++)
		registers[i] = values[i];
}

enum inject_result software_tracee_map_runtime(const struct software_tracee *tracee,
					       const struct channel_config *config, uint64_t path, int32_t *arena,
					       uint64_t *base, uint64_t *size)
{
	int64_t mapped = -1;

	*size = (config->runtime_size + 4095) & ~4095ull;
	if (*arena < 0) {
		if (!software_tracee_write(tracee, path, config->arena_path, text_size(config->arena_path)))
			return INJECT_FAILED;
		*arena = (int32_t)software_tracee_call(tracee, SYS_openat, (uint64_t)AT_FDCWD, path, O_RDWR | O_CLOEXEC,
						       0, 0, 0);
	}
	if (*arena < 0)
		return INJECT_NO_ARENA;
	for (unsigned i = 0; i < TRIES; i++) {
		const uint64_t at = INJECT_BASE + i * (1ull << 30);

		mapped = software_tracee_call(tracee, SYS_mmap, at, *size, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_FIXED_NOREPLACE, (uint64_t)*arena, CHANNEL_HEADER_SIZE);
		if (mapped == (int64_t)at)
			break;
	}
	*base = (uint64_t)mapped;
	if (mapped >= 0 && software_tracee_call(tracee, SYS_mprotect, (uint64_t)mapped, config->runtime_code,
						PROT_READ | PROT_EXEC, 0, 0, 0) >= 0)
		return INJECT_DONE;
	if (mapped >= 0)
		software_tracee_call(tracee, SYS_munmap, (uint64_t)mapped, *size, 0, 0, 0, 0);
	software_tracee_call(tracee, SYS_close, (uint64_t)*arena, 0, 0, 0, 0, 0);
	return INJECT_NO_MEMORY;
}

/* Returns whether SIGTRAP comes from the tracer's hardware breakpoint rather than from the program. */
static bool is_breakpoint(int32_t tid, int signal)
{
	siginfo_t info;

	return signal == SIGTRAP && software_trace(PTRACE_GETSIGINFO, tid, 0, (uint64_t)&info) == 0 &&
	       info.si_code == TRAP_HWBKPT;
}

int software_tracee_stop(int32_t tid, uint32_t milliseconds)
{
	const int64_t interval[2] = {0, STOP_WAIT_NS};

	for (unsigned i = 0; i < milliseconds * (1000000u / STOP_WAIT_NS); i++) {
		int status = 0;
		const int64_t result = software_inject_syscall(SYS_wait4, (uint64_t)(int64_t)tid, (uint64_t)&status,
							       WALL | WITHOUT_WAITING, 0, 0, 0);

		if (result == 0 || result == -4 /* EINTR */) {
			software_inject_syscall(SYS_nanosleep, (uint64_t)interval, 0, 0, 0, 0, 0);
			continue;
		}
		if (result < 0 || (status & 0xff) != 0x7f)
			return 0;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 1;
		/* A signal or an event came first. Any stop clears a pending interruption. */
		software_trace(PTRACE_INTERRUPT, tid, 0, 0);
		software_trace(PTRACE_CONT, tid, 0,
			       status >> 16 || is_breakpoint(tid, status >> 8) ? 0 : (uint64_t)(status >> 8));
	}
	return -1;
}

bool software_tracee_seize(int32_t tid, uint64_t options, uint32_t milliseconds)
{
	if (software_trace(PTRACE_SEIZE, tid, 0, options))
		return false;
	software_trace(PTRACE_INTERRUPT, tid, 0, 0);
	return software_tracee_stop(tid, milliseconds) == 1;
}

static bool is_made_again(uint64_t number)
{
	static const uint16_t calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		441 /* epoll_pwait2 */,
		SYS_semop,
		SYS_semtimedop,
		SYS_msgsnd,
		SYS_msgrcv,
		SYS_io_getevents,
		333 /* io_pgetevents */,
		SYS_rt_sigtimedwait,
		SYS_read,
		SYS_readv,
		SYS_pread64,
		SYS_write,
		SYS_writev,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_sendto,
		SYS_sendmsg,
		SYS_accept,
		SYS_accept4,
		SYS_connect,
		SYS_futex,
		449 /* futex_waitv */,
		426 /* io_uring_enter */,
	};

	for (uint64_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == number)
			return true;
	return false;
}

void software_tracee_mend_call(struct user_regs_struct *regs)
{
	if ((int64_t)regs->orig_rax >= 0 && (int64_t)regs->rax == -4 /* EINTR */ && is_made_again(regs->orig_rax))
		regs->rax = (uint64_t)-INJECT_ERESTARTNOHAND;
}

enum runtime_restart software_tracee_restart(const struct user_regs_struct *regs, uint64_t *number)
{
	*number = regs->orig_rax;
	if ((int64_t)regs->orig_rax < 0)
		return RUNTIME_RESTART_NEVER;
	switch (-(int64_t)regs->rax) {
	case INJECT_ERESTARTSYS:
		return RUNTIME_RESTART_HANDLER;
	case INJECT_ERESTARTNOINTR:
		return RUNTIME_RESTART_ALWAYS;
	case INJECT_ERESTARTNOHAND:
		return RUNTIME_RESTART_NO_HANDLER;
	case INJECT_ERESTART_RESTARTBLOCK:
		*number = SYS_restart_syscall;
		return RUNTIME_RESTART_NO_HANDLER;
	default:
		return RUNTIME_RESTART_NEVER;
	}
}
