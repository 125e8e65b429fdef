/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Catches signals. The kernel delivers each signal to runtime_on_signal on a stack of the runtime. A fault of translated
 * code is delivered to the program at once, with the program's registers. Any other signal is delivered at the next
 * block's head; further signals stay blocked until then. deliver.c delivers.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/software/runtime/signals_state.h"

#define KERNEL_SA_RESTORER 0x04000000ull
#define MIN_STACK 2048u
/* flags of an action that the kernel keeps; others are lost, so that a program can tell whether a flag is supported */
#define KEPT_FLAGS                                                                                                     \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | 0x800ull /* SA_EXPOSE_TAGBITS */ | KERNEL_SA_RESTORER |            \
	 SA_ONSTACK | SA_RESTART | SA_NODEFER | (uint32_t)SA_RESETHAND)
#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define STOPS_BY_DEFAULT (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))
#define FILTERED 1 /* si_code of SIGSYS: SYS_SECCOMP */
#define WRITE_FAULT 2u
#define ALIGNMENT_CHECK 17u
#define RESUME_FLAG 0x10000u /* RF in the flags of a fault's frame */

int64_t runtime_signals_set_mask(uint64_t mask)
{
	return RUNTIME_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

bool runtime_signals_terminate(int signal)
{
	return !((IGNORED_BY_DEFAULT | STOPS_BY_DEFAULT | BIT(SIGKILL)) & BIT(signal));
}

bool runtime_signals_stop(int signal)
{
	return STOPS_BY_DEFAULT & BIT(signal);
}

struct runtime_sigaction runtime_signals_action(const struct runtime_thread *thread, int signal)
{
	return thread->defaults & BIT(signal) ? (struct runtime_sigaction){0} : runtime.actions[signal];
}

/* ---- what the kernel is told ---- */

int64_t runtime_signals_set_native(int signal, const struct runtime_sigaction *action)
{
	return RUNTIME_CALL(SYS_rt_sigaction, signal, action, 0, 8);
}

/* Returns the action to install in the kernel for an action of the program. */
static struct runtime_sigaction native_action(int signal, const struct runtime_sigaction *wanted)
{
	/* The program may ignore faults, but the runtime must see them. */
	if ((wanted->handler == (uint64_t)SIG_IGN && !(SYNCHRONOUS & BIT(signal))) ||
	    (wanted->handler == (uint64_t)SIG_DFL && !runtime_signals_terminate(signal)))
		return *wanted;
	return (struct runtime_sigaction){
		.handler = (uint64_t)runtime_signal_entry,
		.flags = SA_SIGINFO | SA_ONSTACK | KERNEL_SA_RESTORER |
			 (wanted->handler <= (uint64_t)SIG_IGN
				  ? SA_RESTART
				  : wanted->flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT)),
		.restorer = (uint64_t)runtime_signal_return,
		.mask = ~0ull,
	};
}

int64_t runtime_signals_install(int signal, const struct runtime_sigaction *wanted)
{
	const struct runtime_sigaction action = native_action(signal, wanted);

	return runtime_signals_set_native(signal, &action);
}

void runtime_signals_start(struct runtime_thread *thread)
{
	(void)thread;
	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++) {
		struct runtime_sigaction old = {0}, action;

		if (signal == SIGKILL || signal == SIGSTOP || RUNTIME_CALL(SYS_rt_sigaction, signal, 0, &old, 8) < 0)
			continue;
		runtime.actions[signal] = old;
		action = native_action(signal, &old);
		if (action.handler != old.handler)
			runtime_signals_set_native(signal, &action);
	}
}

void runtime_signals_thread(struct runtime_thread *thread)
{
	const uint64_t extra = (uint64_t)thread->slot + channel_slot_runtime(&runtime.config);
	const stack_t stack = {.ss_sp = (void *)(extra + 65536), .ss_size = 65536};

	RUNTIME_CALL(SYS_sigaltstack, &stack, 0);
}

/* As runtime_signals_thread, for a thread that ran natively and may have a signal stack. */
void runtime_signals_attached(struct runtime_thread *thread)
{
	stack_t old = {0};

	if (RUNTIME_CALL(SYS_sigaltstack, 0, &old) == 0 && old.ss_size) {
		thread->altstack = (uint64_t)old.ss_sp;
		thread->altstack_size = old.ss_size;
		thread->altstack_flags = (uint32_t)old.ss_flags & AUTODISARM;
	}
	runtime_signals_thread(thread);
}

void runtime_signals_ignored(const struct runtime_thread *thread, bool natively)
{
	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++) {
		const struct runtime_sigaction wanted = runtime_signals_action(thread, signal);
		const struct runtime_sigaction action = natively ? wanted : native_action(signal, &wanted);

		if (SYNCHRONOUS & BIT(signal) && wanted.handler == (uint64_t)SIG_IGN)
			runtime_signals_set_native(signal, &action);
	}
}

void runtime_signals_separate(struct runtime_thread *thread)
{
	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++)
		runtime.actions[signal] = runtime_signals_action(thread, signal);
	thread->defaults = 0;
}

void runtime_signals_cleared(struct runtime_thread *thread)
{
	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++) {
		struct runtime_sigaction wanted;

		if (runtime.actions[signal].handler != (uint64_t)SIG_IGN)
			thread->defaults |= BIT(signal);
		wanted = runtime_signals_action(thread, signal);
		if (signal != SIGKILL && signal != SIGSTOP)
			runtime_signals_install(signal, &wanted);
	}
	if (thread->process == runtime.process)
		runtime_signals_separate(thread);
}

/* Installs the program's own actions. A vfork child shares the memory but has actions of its own. */
void runtime_signals_native(const struct runtime_thread *thread)
{
	const bool is_child = thread->process != runtime.process;
	struct runtime_sigaction now;

	runtime_lock(&runtime.lock);
	if (is_child || !runtime.native) {
		runtime.native |= !is_child;
		runtime_cache_unguard_locked();
		for (int signal = 1; signal < RUNTIME_SIGNALS; signal++)
			if (RUNTIME_CALL(SYS_rt_sigaction, signal, 0, &now, 8) == 0 &&
			    now.handler == (uint64_t)runtime_signal_entry) {
				now = runtime_signals_action(thread, signal);
				runtime_signals_set_native(signal, &now);
			}
	}
	runtime_unlock(&runtime.lock);
}

/* Prepares a thread that leaves the cache: sends the caught signals again, and installs the program's signal stack. */
void runtime_signals_leave(struct runtime_thread *thread, uint64_t mask)
{
	stack_t stack = {.ss_sp = (void *)thread->altstack,
			 .ss_size = thread->altstack_size,
			 .ss_flags = (int)thread->altstack_flags};

	(void)mask;
	for (uint64_t i = 0; i < thread->pending; i++)
		RUNTIME_CALL(SYS_rt_tgsigqueueinfo, RUNTIME_CALL(SYS_getpid, 0), RUNTIME_CALL(SYS_gettid, 0),
			     thread->signals[i].info.si_signo, &thread->signals[i].info);
	thread->pending = 0;
	if (!thread->altstack_size)
		stack.ss_flags = SS_DISABLE;
	RUNTIME_CALL(SYS_sigaltstack, &stack, 0);
}

/*
 * Sets an action of a process that has the memory of another process, but actions of its own. The runtime sees the faults of such a
 * process as long as the process has no handler of its own. old: gets the previous action.
 */
static int64_t set_in_sharer(struct runtime_thread *thread, int signal, const struct runtime_sigaction *wanted,
			     struct runtime_sigaction *old)
{
	int64_t result = RUNTIME_CALL(SYS_rt_sigaction, signal, 0, old, 8);

	if (result == 0 && old->handler == (uint64_t)runtime_signal_entry)
		*old = runtime_signals_action(thread, signal);
	if (result < 0 || !wanted)
		return result;
	thread->defaults &= ~BIT(signal);
	if (wanted->handler != (uint64_t)SIG_DFL)
		return runtime_signals_set_native(signal, wanted);
	thread->defaults |= BIT(signal);
	return runtime_signals_install(signal, wanted);
}

int64_t runtime_do_sigaction(struct runtime_thread *thread)
{
	const uint64_t signal = thread->regs[RDI];
	const bool sets = thread->regs[RSI];
	struct runtime_sigaction wanted, old;
	int64_t result = 0;

	if (signal < 1 || signal >= RUNTIME_SIGNALS || signal == SIGKILL || signal == SIGSTOP || thread->regs[R10] != 8)
		return runtime_program_syscall(thread);
	if (sets && !runtime_copy(&wanted, (const void *)thread->regs[RSI], sizeof(wanted)))
		return -EFAULT;
	runtime_lock(&runtime.threads_lock);
	if (sets) {
		wanted.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
		wanted.flags &= KEPT_FLAGS;
	}
	if (thread->process != runtime.process) {
		result = set_in_sharer(thread, (int)signal, sets ? &wanted : NULL, &old);
	} else {
		old = runtime.actions[signal];
		if (sets) {
			runtime.actions[signal] = wanted;
			result = runtime_signals_install((int)signal, &wanted);
		}
	}
	runtime_unlock(&runtime.threads_lock);
	if (result == 0 && thread->regs[RDX] && !runtime_copy((void *)thread->regs[RDX], &old, sizeof(old)))
		return -EFAULT;
	return result;
}

bool runtime_signals_within_altstack(const struct runtime_thread *thread, uint64_t sp)
{
	return thread->altstack_size && sp > thread->altstack && sp - thread->altstack <= thread->altstack_size;
}

bool runtime_signals_on_altstack(const struct runtime_thread *thread, uint64_t sp)
{
	return !(thread->altstack_flags & AUTODISARM) && runtime_signals_within_altstack(thread, sp);
}

int64_t runtime_do_sigaltstack(struct runtime_thread *thread)
{
	const uint64_t sp = thread->regs[RSP];
	stack_t wanted = {0}, old = {.ss_sp = (void *)thread->altstack, .ss_size = thread->altstack_size};

	old.ss_flags = (int)(thread->altstack_size ? (thread->altstack_flags & AUTODISARM) |
							     (runtime_signals_on_altstack(thread, sp) ? SS_ONSTACK : 0)
						   : SS_DISABLE);
	if (thread->regs[RDI]) {
		const uint32_t mode = (runtime_copy(&wanted, (const void *)thread->regs[RDI], sizeof(wanted))
					       ? (uint32_t)wanted.ss_flags & ~AUTODISARM
					       : 99u);

		if (mode == 99)
			return -EFAULT;
		if (runtime_signals_on_altstack(thread, sp))
			return -EPERM;
		if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK)
			return -EINVAL;
		if (mode != SS_DISABLE && wanted.ss_size < MIN_STACK)
			return -ENOMEM;
		thread->altstack = mode == SS_DISABLE ? 0 : (uint64_t)wanted.ss_sp;
		thread->altstack_size = mode == SS_DISABLE ? 0 : wanted.ss_size;
		thread->altstack_flags = (uint32_t)wanted.ss_flags;
	}
	if (thread->regs[RSI] && !runtime_copy((void *)thread->regs[RSI], &old, sizeof(old)))
		return -EFAULT;
	return 0;
}

/* ---- catching ---- */

static void queue(struct runtime_thread *thread, const siginfo_t *info, const struct kernel_context *context,
		  bool synchronous, bool trapped)
{
	struct runtime_pending_signal *pending;

	if (thread->pending == RUNTIME_PENDING_MAX)
		return;
	pending = &thread->signals[thread->pending];
	*pending = (struct runtime_pending_signal){
		.info = *info,
		.synchronous = synchronous,
		.trapped = trapped,
	};
	if (context) {
		pending->error = context->regs[PLACE_ERROR];
		pending->trap = context->regs[PLACE_TRAP];
		pending->cr2 = context->regs[PLACE_CR2];
		pending->segments = context->regs[PLACE_SEGMENTS];
		if (!thread->pending)
			thread->mask = context->mask;
	}
	__atomic_store_n(&thread->pending, thread->pending + 1, __ATOMIC_SEQ_CST);
	runtime_thread_call(thread);
}

static bool is_copying(uint64_t rip)
{
	return (rip >= (uint64_t)runtime_copy_at && rip < (uint64_t)runtime_copy_end) ||
	       rip == (uint64_t)runtime_xsave_at || rip == (uint64_t)runtime_xrstor_at ||
	       rip == (uint64_t)runtime_fxrstor_at;
}

/*
 * A call's write behind the last entry of the return stack: moves the upper entries to the start of the return stack, and has
 * the instruction repeated. False: another access.
 */
static bool returns_overflow(struct runtime_thread *thread, struct kernel_context *context)
{
	int32_t *returns = runtime_returns(thread->slot);
	uint64_t *r11 = &context->regs[runtime_signal_places[R11]];

	if (*r11 != (uint64_t)thread->slot + RUNTIME_RETURNS_GUARD || thread->return_top + 1 != (int32_t *)*r11)
		return false;
	memcpy(returns, thread->return_top + 1 - RUNTIME_RETURN_STACK_SIZE, 4 * RUNTIME_RETURN_STACK_SIZE);
	thread->return_top = returns + RUNTIME_RETURN_STACK_SIZE - 1;
	*r11 = (uint64_t)(thread->return_top + 1);
	return true;
}

/*
 * Handles a fault of translated code: restores the program's registers and has the runtime deliver the signal. False:
 * the address belongs to no instruction.
 */
static bool fault(struct runtime_thread *thread, const siginfo_t *info, struct kernel_context *context)
{
	const uint64_t rip = context->regs[PLACE_RIP];
	/* int3 retires. */
	const bool trapped = info->si_signo == SIGTRAP && (info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT);
	const bool own = info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR &&
			 context->regs[PLACE_ERROR] & WRITE_FAULT &&
			 runtime_cache_write_fault(thread, (uint64_t)info->si_addr);
	siginfo_t mended;
	uint64_t pc, next;

	if (info->si_signo == SIGSEGV && info->si_code > 0 && returns_overflow(thread, context))
		return true;
	if (own && !runtime_cache_is_same_page(rip, (uint64_t)info->si_addr))
		return true;
	thread->tnt = context->regs[runtime_signal_places[R15]];
	{
		const uint64_t home = thread->regs[R15];

		for (unsigned i = 0; i < 16; i++)
			thread->regs[i] = context->regs[runtime_signal_places[i]];
		thread->regs[R15] = home;
	}
	if (runtime_cache_restore_check(thread, rip, thread->regs, &context->regs[PLACE_FLAGS], &pc)) {
		thread->pc = pc;
		thread->flags = context->regs[PLACE_FLAGS];
		thread->reason = RUNTIME_REASON_OTHER;
		context->regs[PLACE_RIP] = (uint64_t)runtime_resume;
		context->regs[runtime_signal_places[RSP]] = thread->stack;
		context->regs[PLACE_FLAGS] &= ~0x500ull;
		return true;
	}
	if (!runtime_cache_restore(thread, trapped ? rip - 1 : rip, thread->regs, &pc, &next))
		return false;
	thread->pc = trapped ? next : pc;
	mended = *info;
	/* If the faulting address is the instruction itself, si_addr is the program's address. */
	if ((uint64_t)info->si_addr == rip)
		mended.si_addr = (void *)thread->pc;
	thread->flags = context->regs[PLACE_FLAGS];
	thread->reason = RUNTIME_REASON_FAULT;
	if (own)
		/* The block modifies its own page: from now on each store ends a block. */
		runtime_cache_unguard((uint64_t)info->si_addr);
	else
		queue(thread, &mended, context, true, trapped);
	context->regs[PLACE_RIP] = (uint64_t)runtime_resume;
	context->regs[runtime_signal_places[RSP]] = thread->stack;
	context->regs[PLACE_FLAGS] &= ~0x500ull;
	if (!own)
		context->mask = ~SYNCHRONOUS;
	return true;
}

static struct runtime_thread *this_thread(void)
{
	struct runtime_thread *thread;

	__asm__ volatile("mov %%gs:%c1, %0" : "=r"(thread) : "i"(RUNTIME_SELF));
	return thread;
}

__attribute__((used)) void runtime_on_signal(int signal, siginfo_t *info, struct kernel_context *context);

void runtime_on_signal(int signal, siginfo_t *info, struct kernel_context *context)
{
	struct runtime_thread *thread = this_thread();
	const uint64_t rip = context->regs[PLACE_RIP];
	const bool caused = SYNCHRONOUS & BIT(signal) && info->si_code > 0 && signal != SIGSYS;

	if (!runtime.fp_words[0] && context->fpstate)
		memcpy(runtime.fp_words, (const void *)(context->fpstate + FP_WORDS_AT), sizeof(runtime.fp_words));
	if (caused && is_copying(rip)) {
		context->regs[PLACE_RIP] = (uint64_t)runtime_copy_failed;
		return;
	}
	if (signal == SIGBUS && context->regs[PLACE_TRAP] == ALIGNMENT_CHECK &&
	    rip - runtime.image < runtime.image_size) {
		/* The program requires aligned accesses (AC); the runtime does not. */
		context->regs[PLACE_FLAGS] &= ~0x40000ull;
		thread->lost_alignment = true;
		runtime_thread_call(thread);
		return;
	}
	if (caused && runtime_cache_is_code(rip) && fault(thread, info, context))
		return;
	if (caused) {
		/* A fault of the runtime itself is a bug. */
		const struct runtime_sigaction none = {0};

		runtime_debug("ptl: the software source's runtime failed at, and the address it used:",
			      rip - runtime.image, (uint64_t)info->si_addr);
		runtime_signals_set_native(signal, &none);
		return;
	}
	/* A seccomp filter refused the program's call. */
	if (signal == SIGSYS && info->si_code == FILTERED && rip == (uint64_t)runtime_syscall_behind)
		info->si_call_addr = (void *)thread->pc;
	queue(thread, info, context, false, false);
	context->mask = ~SYNCHRONOUS;
	if (rip >= (uint64_t)runtime_syscall_check && rip <= (uint64_t)runtime_syscall_at) {
		/* The system call has not begun, or must be restarted. */
		thread->regs[RAX] = context->regs[runtime_signal_places[RAX]];
		context->regs[PLACE_RIP] = (uint64_t)runtime_syscall_interrupted;
	}
}

/* ---- faults that the runtime finds ---- */

void runtime_queue_fault(struct runtime_thread *thread, int signal, int code, uint64_t address)
{
	siginfo_t info = {.si_signo = signal, .si_code = code};
	uint64_t all = ~0ull, mask = 0;

	info.si_addr = (void *)address;
	RUNTIME_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	if (!thread->pending)
		thread->mask = mask;
	queue(thread, &info, NULL, true, false);
	thread->flags |= RESUME_FLAG;
	thread->signals[thread->pending - 1].error = 0x14; /* user mode, instruction fetch */
	thread->signals[thread->pending - 1].trap = 14;
	thread->signals[thread->pending - 1].cr2 = address;
	thread->signals[thread->pending - 1].segments = 0x002b000000000033ull;
}

/* Queues the fault for an instruction at pc that is not completely executable. */
void runtime_queue_unreadable(struct runtime_thread *thread)
{
	uint64_t address = thread->pc;
	uint8_t byte;
	struct runtime_map *map = runtime_map(sizeof(*map), 3, 0, true);
	bool mapped = map && runtime_maps_find(address, map);

	if (mapped && map->executable && !runtime_copy(&byte, (const void *)address, 1)) {
		/* beyond the end of the mapped file */
		RUNTIME_CALL(SYS_munmap, map, sizeof(*map));
		runtime_queue_fault(thread, SIGBUS, BUS_ADRERR, address);
		return;
	}
	if (mapped && map->executable) {
		address = (address + 4096) & ~4095ull;
		mapped = runtime_maps_find(address, map);
	}
	RUNTIME_CALL(SYS_munmap, map, sizeof(*map));
	if ((int64_t)(address << 16) >> 16 != (int64_t)address)
		/* not a canonical address */
		runtime_queue_fault(thread, SIGSEGV, SI_KERNEL, 0);
	else
		runtime_queue_fault(thread, SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, address);
}
