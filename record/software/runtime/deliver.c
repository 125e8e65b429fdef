/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delivers caught signals to the program: makes the frame of the program's handler in the kernel's form, returns from the
 * handler, or ends the process.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/software/runtime/signals_state.h"

#define FP_MAGIC1 0x46505853u
#define FP_MAGIC2 0x46505845u
#define XSAVE_HEADER 512u /* offset of XSTATE_BV in an xsave area */
#define XSAVE_X87 1u
#define XSAVE_SSE 2u
#define RED_ZONE 128u
#define TRAP_FLAG 0x100u /* TF */

/* Whether si_addr of a fault is meaningful. The kernel knows no address of a general-protection fault (SI_KERNEL). */
static bool has_address(const siginfo_t *info)
{
	return SYNCHRONOUS & BIT(info->si_signo) && info->si_code > 0 && info->si_code != SI_KERNEL;
}

static bool has_sender(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
}

static void send_signal(struct runtime_thread *thread, const siginfo_t *info)
{
	struct channel_message_signal message = {
		.header.type = CHANNEL_MSG_SIGNAL,
		.signal = (uint32_t)info->si_signo,
		.code = info->si_code,
		.sender = has_sender(info) ? (uint32_t)info->si_pid : 0,
		.has_address = has_address(info),
		.address = has_address(info) ? (uint64_t)info->si_addr : 0,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

static _Noreturn void die(struct runtime_thread *thread, const struct runtime_pending_signal *pending)
{
	const int signal = pending->info.si_signo;
	const struct runtime_sigaction none = {0};

	runtime_interrupt(thread, pending->trapped);
	runtime_cpu_give(thread);
	runtime_threads_settle(thread);
	send_signal(thread, &pending->info);
	runtime_ring_doorbell();
	runtime_signals_set_native(signal, &none);
	for (;;) {
		RUNTIME_CALL(SYS_rt_tgsigqueueinfo, RUNTIME_CALL(SYS_getpid, 0), RUNTIME_CALL(SYS_gettid, 0), signal,
			     &pending->info);
		RUNTIME_CALL(SYS_tkill, RUNTIME_CALL(SYS_gettid, 0), signal);
		runtime_signals_set_mask(~BIT(signal));
		RUNTIME_CALL(SYS_exit_group, 128 + signal);
	}
}

/* Causes a fault: the kernel's frame shows the layout of signal frames. */
static void probe(void)
{
	const uint64_t mask = ~SYNCHRONOUS;
	uint64_t old = 0;
	uint8_t byte;

	RUNTIME_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
	runtime_copy(&byte, (const void *)(1ull << 63), 1);
	runtime_signals_set_mask(old);
}

static uint32_t xsave_size(void)
{
	uint32_t size;

	/*
	 * The program's first signal may be queued by the runtime without a frame of the kernel. The probe runs no
	 * earlier, because a handled signal discards the kernel's restart state of interrupted calls in an attached
	 * process.
	 */
	if (!runtime.fp_words[0])
		probe();
	memcpy(&size, runtime.fp_words + 16, sizeof(size));
	return size;
}

/*
 * Writes the xsave area of a signal frame. As the kernel does, marks the x87 and SSE state as in use: a handler that changes
 * these registers in the frame need not know xsave's header. Some CPUs clear the mark while the registers are zero.
 */
static bool save_registers(uint64_t area, uint64_t mask)
{
	const uint64_t empty[8] = {0};
	uint64_t used;

	/* xsave reads its header. */
	if (!runtime_copy((void *)(area + XSAVE_HEADER), empty, sizeof(empty)) || !runtime_xsave((void *)area, mask) ||
	    !runtime_copy(&used, (const void *)(area + XSAVE_HEADER), sizeof(used)))
		return false;
	used |= XSAVE_X87 | XSAVE_SSE;
	return runtime_copy((void *)(area + XSAVE_HEADER), &used, sizeof(used));
}

/* Writes the frame below the stack pointer. Returns the frame's address, or 0 if the stack is not writable. */
static uint64_t make_frame(struct runtime_thread *thread, const struct runtime_pending_signal *pending,
			   const struct runtime_sigaction *action)
{
	const uint32_t size = xsave_size();
	const bool on_altstack = runtime_signals_on_altstack(thread, thread->regs[RSP]);
	const bool enters_altstack = action->flags & SA_ONSTACK && thread->altstack_size && !on_altstack;
	uint64_t sp = thread->regs[RSP] - RED_ZONE, area, at, mask;
	const uint32_t magic = FP_MAGIC2;
	const uint8_t last = 0;
	struct kernel_frame frame = {.restorer = action->restorer, .info = pending->info};

	if (enters_altstack)
		sp = thread->altstack + thread->altstack_size;
	area = (sp - size - 4) & ~63ull;
	at = ((area - sizeof(frame)) & ~15ull) - 8;
	if ((on_altstack || enters_altstack) && !runtime_signals_within_altstack(thread, at))
		return 0;
	for (unsigned i = 0; i < 16; i++)
		frame.context.regs[runtime_signal_places[i]] = thread->regs[i];
	frame.context.regs[PLACE_RIP] = thread->pc;
	frame.context.regs[PLACE_FLAGS] = thread->flags;
	frame.context.regs[PLACE_SEGMENTS] = pending->segments;
	frame.context.regs[PLACE_ERROR] = pending->error;
	frame.context.regs[PLACE_TRAP] = pending->trap;
	frame.context.regs[PLACE_CR2] = pending->cr2;
	frame.context.regs[PLACE_OLD_MASK] = thread->mask;
	frame.context.flags = 7; /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	frame.context.fpstate = area;
	frame.context.mask = thread->mask;
	frame.context.stack = (stack_t){
		.ss_sp = (void *)thread->altstack,
		.ss_size = thread->altstack_size,
		.ss_flags = (int)(thread->altstack_size ? thread->altstack_flags & AUTODISARM : SS_DISABLE),
	};
	memcpy(&mask, runtime.fp_words + 8, sizeof(mask));
	if (!runtime_copy((void *)(area + size - 1), &last, 1) || !save_registers(area, mask) ||
	    !runtime_copy((void *)(area + FP_WORDS_AT), runtime.fp_words, sizeof(runtime.fp_words)) ||
	    !runtime_copy((void *)(area + size), &magic, sizeof(magic)) ||
	    !runtime_copy((void *)at, &frame, sizeof(frame)))
		return 0;
	return at;
}

/* Ends an interrupted system call by the kernel's rules if a handler runs before the restart. */
static void end_call(struct runtime_thread *thread, const struct runtime_sigaction *action)
{
	if (thread->restart == RUNTIME_RESTART_NO_HANDLER ||
	    (thread->restart == RUNTIME_RESTART_HANDLER && !(action->flags & SA_RESTART))) {
		thread->regs[RAX] = (uint64_t)-EINTR;
		thread->pc += 2;
	}
	thread->restart = RUNTIME_RESTART_NEVER;
}

static void enter_handler(struct runtime_thread *thread, const struct runtime_pending_signal *pending,
			  struct runtime_sigaction action)
{
	const int signal = pending->info.si_signo;
	uint64_t frame;

	runtime_interrupt(thread, pending->trapped);
	end_call(thread, &action);
	frame = make_frame(thread, pending, &action);
	if (!frame) {
		struct runtime_pending_signal overflow = {.info = {.si_signo = SIGSEGV, .si_code = SI_KERNEL}};

		action = runtime_signals_action(thread, SIGSEGV);
		if (signal != SIGSEGV && action.handler > 1 && action.flags & SA_ONSTACK &&
		    !(thread->mask & BIT(SIGSEGV))) {
			enter_handler(thread, &overflow, action);
			return;
		}
		die(thread, &overflow);
	}
	if (thread->altstack_flags & AUTODISARM) {
		thread->altstack = thread->altstack_size = 0;
		thread->altstack_flags = SS_DISABLE;
	}
	thread->regs[RDI] = (uint64_t)signal;
	thread->regs[RSI] = frame + offsetof(struct kernel_frame, info);
	thread->regs[RDX] = frame + offsetof(struct kernel_frame, context);
	thread->regs[RAX] = 0;
	thread->regs[RSP] = frame;
	thread->flags &= ~0x10500ull; /* RF, DF, TF */
	thread->pc = action.handler;
	if (thread->has_wait_mask)
		thread->mask = thread->wait_mask;
	thread->has_wait_mask = false;
	thread->mask |= action.mask | (action.flags & SA_NODEFER ? 0 : BIT(signal));
}

/* Gives the signal back to the kernel. */
static void send_again(const struct runtime_pending_signal *pending)
{
	RUNTIME_CALL(SYS_rt_tgsigqueueinfo, RUNTIME_CALL(SYS_getpid, 0), RUNTIME_CALL(SYS_gettid, 0),
		     pending->info.si_signo, &pending->info);
}

/* SA_RESETHAND: the next signal finds the default action, which the kernel carries out if the process then goes on. */
static void reset(struct runtime_thread *thread, int signal)
{
	struct runtime_sigaction action;

	if (thread->process == runtime.process)
		runtime.actions[signal].handler = (uint64_t)SIG_DFL;
	else
		thread->defaults |= BIT(signal);
	action = runtime_signals_action(thread, signal);
	runtime_signals_install(signal, &action);
}

static void deliver(struct runtime_thread *thread, const struct runtime_pending_signal *pending)
{
	const int signal = pending->info.si_signo;
	struct runtime_sigaction action;

	runtime_lock(&runtime.threads_lock);
	action = runtime_signals_action(thread, signal);
	if (action.handler > 1 && action.flags & SA_RESETHAND)
		reset(thread, signal);
	runtime_unlock(&runtime.threads_lock);
	/* Like the kernel: an ignored or blocked fault takes the default action. */
	if (pending->synchronous && (action.handler == (uint64_t)SIG_IGN || thread->mask & BIT(signal)))
		action.handler = (uint64_t)SIG_DFL;
	if (action.handler == (uint64_t)SIG_IGN)
		return;
	if (action.handler == (uint64_t)SIG_DFL) {
		if (runtime_signals_terminate(signal))
			die(thread, pending);
		/* The action has changed since the signal was caught. */
		if (runtime_signals_stop(signal))
			send_again(pending);
		return;
	}
	enter_handler(thread, pending, action);
}

/* Where a call finds the mask that it waits with; 0: it has none. */
static uint64_t wait_mask_at(int64_t number, const uint64_t args[6])
{
	uint64_t at = 0;

	switch (number) {
	case SYS_rt_sigsuspend:
		return args[0];
	case SYS_ppoll:
		return args[3];
	case SYS_epoll_pwait:
	case 441: /* epoll_pwait2 */
		return args[4];
	case 426: /* io_uring_enter */
		if (!(args[3] & 8 /* IORING_ENTER_EXT_ARG */))
			return args[4];
		return args[4] && runtime_copy(&at, (const void *)args[4], sizeof(at)) ? at : 0;
	case SYS_pselect6:
	case 333: /* io_pgetevents */
		return args[5] && runtime_copy(&at, (const void *)args[5], sizeof(at)) ? at : 0;
	default:
		return 0;
	}
}

void runtime_signals_waited(struct runtime_thread *thread, int64_t number, const uint64_t args[6])
{
	const uint64_t at = wait_mask_at(number, args);

	thread->has_wait_mask = at && runtime_copy(&thread->wait_mask, (const void *)at, sizeof(thread->wait_mask));
	thread->wait_mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
}

bool runtime_signals_are_ignored(const struct runtime_thread *thread)
{
	for (uint64_t i = 0; i < thread->pending; i++)
		if (thread->signals[i].synchronous ||
		    runtime_signals_action(thread, thread->signals[i].info.si_signo).handler != (uint64_t)SIG_IGN)
			return false;
	return thread->pending;
}

void runtime_deliver(struct runtime_thread *thread)
{
	struct runtime_pending_signal signals[RUNTIME_PENDING_MAX];
	const uint64_t count = thread->pending;

	runtime_signals_set_mask(~0ull);
	memcpy(signals, thread->signals, sizeof(signals[0]) * count);
	/* A fault of the instruction at pc is delivered first. */
	for (uint64_t i = 1; i < count; i++)
		if (signals[i].synchronous && !signals[0].synchronous) {
			const struct runtime_pending_signal other = signals[0];

			signals[0] = signals[i];
			signals[i] = other;
		}
	for (uint64_t i = 0; i < count; i++) {
		if (i && thread->mask & BIT(signals[i].info.si_signo))
			send_again(&signals[i]);
		else
			deliver(thread, &signals[i]);
	}
	thread->pending = 0;
	thread->has_wait_mask = false;
	runtime_signals_set_mask(thread->mask);
}

void runtime_do_sigreturn(struct runtime_thread *thread)
{
	struct kernel_frame frame;
	uint32_t words[12];
	uint64_t mask;

	if (!runtime_copy(&frame, (const void *)(thread->regs[RSP] - 8), sizeof(frame))) {
		runtime_queue_fault(thread, SIGSEGV, SI_KERNEL, 0);
		return;
	}
	if (frame.context.regs[PLACE_FLAGS] & TRAP_FLAG) {
		/* The handler's return is repeated natively. */
		thread->pc -= 2;
		runtime_let_go(thread, RUNTIME_STEPS_ITSELF);
		return;
	}
	for (unsigned i = 0; i < 16; i++)
		thread->regs[i] = frame.context.regs[runtime_signal_places[i]];
	thread->pc = frame.context.regs[PLACE_RIP];
	thread->flags = (frame.context.regs[PLACE_FLAGS] & 0x50dd5) | 0x202;
	if (frame.context.fpstate &&
	    runtime_copy(words, (const void *)(frame.context.fpstate + FP_WORDS_AT), sizeof(words))) {
		memcpy(&mask, runtime.fp_words + 8, sizeof(mask));
		/* In a process attached to inside a handler, the kernel made the frame. */
		if (!runtime.fp_words[0])
			mask = ~0ull;
		if (words[0] == FP_MAGIC1)
			runtime_xrstor((const void *)frame.context.fpstate,
				       mask & (words[2] | (uint64_t)words[3] << 32));
		else
			runtime_fxrstor((const void *)frame.context.fpstate);
	}
	if (frame.context.stack.ss_flags & SS_DISABLE)
		thread->altstack = thread->altstack_size = 0;
	else if (!runtime_signals_on_altstack(thread, thread->regs[RSP])) {
		thread->altstack = (uint64_t)frame.context.stack.ss_sp;
		thread->altstack_size = frame.context.stack.ss_size;
	}
	thread->altstack_flags = (uint32_t)frame.context.stack.ss_flags;
	if (!thread->pending)
		runtime_signals_set_mask(frame.context.mask);
	else
		thread->mask = frame.context.mask;
}
