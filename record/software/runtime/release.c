/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Releases threads that wait in system calls, perhaps for ever, when the process goes on natively. The first thread
 * that leaves makes a tracer, as for execve. The tracer stops these threads and gives each the state of an interrupted
 * call of the program. The kernel then restarts the call, or delivers a signal, on the program's stack and in the
 * program's code.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/runtime.h"
#include "record/software/shared/tracee.h"

#define STACK_SIZE 65536u
#define THREADS_MAX 4096u
#define RSEQ_CALL 334
#define STOP_TIME 100u /* milliseconds; a thread that waits for a vfork does not stop */
#define LOOK_NS 50000000l
#define WALL 0x40000000

struct release {
	uint32_t go;      /* 1: the tracer may attach; 2: signals have the program's handlers again */
	uint32_t stopped; /* 1: the threads are stopped */
	uint32_t count;
	int32_t parent;   /* process id in its own pid namespace */
	stack_t altstack; /* of the current thread */
	struct released {
		struct runtime_thread *thread;
		int32_t tid;
		uint64_t mask;
		struct user_regs_struct regs;
	} threads[THREADS_MAX];
	uint8_t stack[STACK_SIZE] __attribute__((aligned(64)));
};

static void tell(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	RUNTIME_CALL(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

/* ---- the tracer ------------------------------------------------------------------------------ */

static bool is_waiting(const struct runtime_thread *thread)
{
	return __atomic_load_n(&thread->in_syscall, __ATOMIC_SEQ_CST) && !thread->pending;
}

/*
 * Sets the registers of the thread in the program's own code. False: the thread is elsewhere in the runtime and leaves
 * by itself.
 */
static bool native_registers(const struct runtime_thread *thread, struct user_regs_struct *regs)
{
	const uint64_t *values = thread->regs;

	if (regs->gs_base != (uint64_t)thread->slot || !is_waiting(thread) ||
	    regs->rip != (uint64_t)runtime_syscall_behind || (int64_t)regs->orig_rax < 0)
		return false;
	/* The runtime has replaced arguments of these calls. */
	if (regs->orig_rax == SYS_setrlimit || regs->orig_rax == SYS_prlimit64)
		return false;
	*regs = (struct user_regs_struct){
		.r15 = values[R15],
		.r14 = values[R14],
		.r13 = values[R13],
		.r12 = values[R12],
		.rbp = values[RBP],
		.rbx = values[RBX],
		.r11 = values[R11],
		.r10 = values[R10],
		.r9 = values[R9],
		.r8 = values[R8],
		.rax = regs->rax,
		.rcx = values[RCX],
		.rdx = values[RDX],
		.rsi = values[RSI],
		.rdi = values[RDI],
		.orig_rax = regs->orig_rax,
		.rip = thread->pc,
		.cs = regs->cs,
		.eflags = thread->flags,
		.rsp = values[RSP],
		.ss = regs->ss,
		.fs_base = regs->fs_base,
		.ds = regs->ds,
		.es = regs->es,
		.fs = regs->fs,
		.gs = regs->gs,
	};
	software_tracee_mend_call(regs);
	return true;
}

/* Restores the program's signal stack and struct rseq in the kernel. */
static void restore_kernel_state(struct release *release, const struct released *released,
				 const struct user_regs_struct *regs)
{
	const struct runtime_thread *thread = released->thread;
	const struct software_tracee tracee = {
		.pid = released->tid, .regs = *regs, .call = (uint64_t)runtime_syscall_at};

	release->altstack = (stack_t){
		.ss_sp = (void *)thread->altstack,
		.ss_size = thread->altstack_size,
		.ss_flags = thread->altstack_size ? (int)thread->altstack_flags : 2 /* SS_DISABLE */,
	};
	software_tracee_call(&tracee, SYS_sigaltstack, (uint64_t)&release->altstack, 0, 0, 0, 0, 0);
	if (thread->rseq)
		software_tracee_call(&tracee, RSEQ_CALL, thread->rseq, thread->rseq_size, 0, thread->rseq_signature, 0,
				     0);
}

/* True: the thread stays stopped, as the program's. */
static bool stop(struct release *release, struct released *released)
{
	const uint64_t all = ~0ull;
	struct user_regs_struct regs;
	const int32_t tid = released->tid;

	if (!software_tracee_seize(tid, PTRACE_O_TRACESYSGOOD, STOP_TIME))
		return false;
	if (software_trace(PTRACE_GETREGS, tid, 0, (uint64_t)&regs) ||
	    software_trace(PTRACE_GETSIGMASK, tid, 8, (uint64_t)&released->mask)) {
		software_trace(PTRACE_DETACH, tid, 0, 0);
		return false;
	}
	released->regs = regs;
	if (!native_registers(released->thread, &released->regs)) {
		software_tracee_mend_call(&regs);
		software_trace(PTRACE_SETREGS, tid, 0, (uint64_t)&regs);
		software_trace(PTRACE_DETACH, tid, 0, 0);
		return false;
	}
	software_trace(PTRACE_SETSIGMASK, tid, 8, (uint64_t)&all);
	restore_kernel_state(release, released, &regs);
	/* Continues to a stop at which the kernel handles an interrupted call. */
	software_trace(PTRACE_INTERRUPT, tid, 0, 0);
	software_trace(PTRACE_CONT, tid, 0, 0);
	return software_tracee_stop(tid, STOP_TIME) == 1;
}

static void end_slot(struct runtime_thread *thread)
{
	runtime_thread_end(thread);
	if (!thread->is_dummy)
		__atomic_store_n(&thread->slot->status, CHANNEL_SLOT_ENDED, __ATOMIC_RELEASE);
}

static void release_threads(void *context)
{
	struct release *release = context;
	uint32_t stopped = 0;

	runtime_tracer_wait(&release->go, 1, release->parent);
	for (uint32_t i = 0; i < release->count; i++)
		if (stop(release, &release->threads[i]))
			release->threads[stopped++] = release->threads[i];
	tell(&release->stopped, 1);
	runtime_tracer_wait(&release->go, 2, release->parent);
	for (uint32_t i = 0; i < stopped; i++) {
		struct released *released = &release->threads[i];

		end_slot(released->thread);
		software_trace(PTRACE_SETREGS, released->tid, 0, (uint64_t)&released->regs);
		software_trace(PTRACE_SETSIGMASK, released->tid, 8, (uint64_t)&released->mask);
		software_trace(PTRACE_DETACH, released->tid, 0, 0);
	}
	for (;;)
		RUNTIME_CALL(SYS_exit, 0);
}

/* ---- the thread that leaves first ------------------------------------------------------------ */

static void list_waiting(struct release *release, const struct runtime_thread *self)
{
	runtime_lock(&runtime.threads_lock);
	for (struct runtime_thread *thread = runtime.threads; thread && release->count < THREADS_MAX;
	     thread = thread->next)
		if (thread != self && thread->process == runtime.process && is_waiting(thread))
			release->threads[release->count++] = (struct released){.thread = thread,
									       .tid = (int32_t)thread->own_tid};
	runtime_unlock(&runtime.threads_lock);
}

struct release *runtime_release_stop(struct runtime_thread *self)
{
	struct release *release = runtime_map(sizeof(*release), PROT_READ | PROT_WRITE, 0, true);
	int64_t pid;

	if (!release)
		return NULL;
	list_waiting(release, self);
	release->parent = (int32_t)RUNTIME_CALL(SYS_getpid, 0);
	pid = release->count && !self->children_elsewhere
		      ? runtime_clone_tracer(release_threads, release, release->stack + STACK_SIZE, NULL)
		      : -1;
	if (pid < 0) {
		RUNTIME_CALL(SYS_munmap, release, sizeof(*release));
		return NULL;
	}
	RUNTIME_CALL(SYS_prctl, PR_SET_PTRACER, pid);
	tell(&release->go, 1);
	/* A seccomp filter of the program may have killed the tracer. */
	while (!__atomic_load_n(&release->stopped, __ATOMIC_SEQ_CST)) {
		const struct timespec timeout = {0, LOOK_NS};

		RUNTIME_CALL(SYS_futex, &release->stopped, FUTEX_WAIT, 0, &timeout, 0, 0);
		if (RUNTIME_CALL(SYS_wait4, pid, 0, WALL | 1 /* WNOHANG */, 0) != 0)
			return NULL;
	}
	release->count = (uint32_t)pid;
	return release;
}

void runtime_release_go_on(struct release *release)
{
	const uint32_t pid = release->count;

	tell(&release->go, 2);
	while (RUNTIME_CALL(SYS_wait4, pid, 0, WALL, 0) == -EINTR)
		;
	RUNTIME_CALL(SYS_munmap, release, sizeof(*release));
}
