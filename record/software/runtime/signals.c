/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals. The kernel delivers each signal to runtime_on_signal on a stack of the runtime. A fault of translated code
 * is delivered to the program at once, with the program's registers. Any other signal is delivered at the next block's
 * head; further signals stay blocked until then. The runtime makes the frame of the program's handler in the kernel's
 * form.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "record/software/runtime/runtime.h"

#define KERNEL_SA_RESTORER 0x04000000ull
#define FP_MAGIC1 0x46505853u
#define FP_MAGIC2 0x46505845u
#define FP_WORDS_AT 464u
#define XSAVE_HEADER 512u /* offset of XSTATE_BV in an xsave area */
#define XSAVE_X87 1u
#define XSAVE_SSE 2u
#define AUTODISARM (1u << 31)
#define MIN_STACK 2048u
#define RED_ZONE 128u
#define BIT(signal) (1ull << ((signal)-1))
/* Signals caused by the current instruction. They are never blocked while a signal is pending. */
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS))
#define IGNORED_BY_DEFAULT (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT))
#define STOPS_BY_DEFAULT (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))
#define WRITE_FAULT 2u
#define ALIGNMENT_CHECK 17u
#define RESUME_FLAG 0x10000u /* RF in the flags of a fault's frame */

/* The kernel's struct ucontext on the signal stack. */
struct kernel_context {
	uint64_t flags;
	uint64_t link;
	stack_t stack;
	uint64_t regs
		[23]; /* R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, flags, segments, error, trap, oldmask, CR2 */
	uint64_t fpstate;
	uint64_t reserved[8];
	uint64_t mask;
};

struct kernel_frame {
	uint64_t restorer;
	struct kernel_context context;
	siginfo_t info;
};

/* Index in kernel_context.regs of each register number. */
static const uint8_t places[16] = {13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};
enum { PLACE_RIP = 16, PLACE_FLAGS, PLACE_SEGMENTS, PLACE_ERROR, PLACE_TRAP, PLACE_OLD_MASK, PLACE_CR2 };

static int64_t set_mask(uint64_t mask)
{
	return RUNTIME_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

static bool terminates_by_default(int signal)
{
	return !((IGNORED_BY_DEFAULT | STOPS_BY_DEFAULT | BIT(SIGKILL)) & BIT(signal));
}

/* ---- what the kernel is told ---- */

static int64_t set_native(int signal, const struct runtime_sigaction *action)
{
	return RUNTIME_CALL(SYS_rt_sigaction, signal, action, 0, 8);
}

/* Returns the action to install in the kernel for an action of the program. */
static struct runtime_sigaction native_action(int signal, const struct runtime_sigaction *wanted)
{
	/* The program may ignore faults, but the runtime must see them. */
	if ((wanted->handler == (uint64_t)SIG_IGN && !(SYNCHRONOUS & BIT(signal))) ||
	    (wanted->handler == (uint64_t)SIG_DFL && !terminates_by_default(signal)))
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
			set_native(signal, &action);
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

void runtime_signals_ignored(bool natively)
{
	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++) {
		const struct runtime_sigaction *wanted = &runtime.actions[signal];
		const struct runtime_sigaction action = natively ? *wanted : native_action(signal, wanted);

		if (SYNCHRONOUS & BIT(signal) && wanted->handler == (uint64_t)SIG_IGN)
			set_native(signal, &action);
	}
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
			    now.handler == (uint64_t)runtime_signal_entry)
				set_native(signal, &runtime.actions[signal]);
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

int64_t runtime_do_sigaction(struct runtime_thread *thread)
{
	const uint64_t signal = thread->regs[RDI];
	struct runtime_sigaction wanted, old, native;
	int64_t result = 0;

	if (signal < 1 || signal >= RUNTIME_SIGNALS || signal == SIGKILL || signal == SIGSTOP ||
	    thread->regs[R10] != 8 || thread->process != runtime.process)
		return runtime_program_syscall(thread);
	if (thread->regs[RSI] && !runtime_copy(&wanted, (const void *)thread->regs[RSI], sizeof(wanted)))
		return -EFAULT;
	runtime_lock(&runtime.threads_lock);
	old = runtime.actions[signal];
	if (thread->regs[RSI]) {
		wanted.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
		native = native_action((int)signal, &wanted);
		runtime.actions[signal] = wanted;
		result = set_native((int)signal, &native);
	}
	runtime_unlock(&runtime.threads_lock);
	if (result == 0 && thread->regs[RDX] && !runtime_copy((void *)thread->regs[RDX], &old, sizeof(old)))
		return -EFAULT;
	return result;
}

static bool on_altstack(const struct runtime_thread *thread, uint64_t sp)
{
	return thread->altstack_size && !(thread->altstack_flags & AUTODISARM) && sp > thread->altstack &&
	       sp - thread->altstack <= thread->altstack_size;
}

int64_t runtime_do_sigaltstack(struct runtime_thread *thread)
{
	const uint64_t sp = thread->regs[RSP];
	stack_t wanted = {0}, old = {.ss_sp = (void *)thread->altstack, .ss_size = thread->altstack_size};

	old.ss_flags = (int)(thread->altstack_size ? (thread->altstack_flags & AUTODISARM) |
							     (on_altstack(thread, sp) ? SS_ONSTACK : 0)
						   : SS_DISABLE);
	if (thread->regs[RDI]) {
		const uint32_t mode = (runtime_copy(&wanted, (const void *)thread->regs[RDI], sizeof(wanted))
					       ? (uint32_t)wanted.ss_flags & ~AUTODISARM
					       : 99u);

		if (mode == 99)
			return -EFAULT;
		if (on_altstack(thread, sp))
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

	if (own && !runtime_cache_is_same_page(rip, (uint64_t)info->si_addr))
		return true;
	thread->tnt = context->regs[places[R15]];
	{
		const uint64_t home = thread->regs[R15];

		for (unsigned i = 0; i < 16; i++)
			thread->regs[i] = context->regs[places[i]];
		thread->regs[R15] = home;
	}
	if (runtime_cache_restore_check(thread, rip, thread->regs, &context->regs[PLACE_FLAGS], &pc)) {
		thread->pc = pc;
		thread->flags = context->regs[PLACE_FLAGS];
		thread->reason = RUNTIME_REASON_OTHER;
		context->regs[PLACE_RIP] = (uint64_t)runtime_resume;
		context->regs[places[RSP]] = thread->stack;
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
	context->regs[places[RSP]] = thread->stack;
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
		set_native(signal, &none);
		return;
	}
	queue(thread, info, context, false, false);
	context->mask = ~SYNCHRONOUS;
	if (rip >= (uint64_t)runtime_syscall_check && rip <= (uint64_t)runtime_syscall_at) {
		/* The system call has not begun, or must be restarted. */
		thread->regs[RAX] = context->regs[places[RAX]];
		context->regs[PLACE_RIP] = (uint64_t)runtime_syscall_interrupted;
	}
}

/* ---- delivering ---- */

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
	set_native(signal, &none);
	for (;;) {
		RUNTIME_CALL(SYS_rt_tgsigqueueinfo, RUNTIME_CALL(SYS_getpid, 0), RUNTIME_CALL(SYS_gettid, 0), signal,
			     &pending->info);
		RUNTIME_CALL(SYS_tkill, RUNTIME_CALL(SYS_gettid, 0), signal);
		set_mask(~BIT(signal));
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
	set_mask(old);
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
	uint64_t sp = thread->regs[RSP] - RED_ZONE, area, at, mask;
	const uint32_t magic = FP_MAGIC2;
	const uint8_t last = 0;
	struct kernel_frame frame = {.restorer = action->restorer, .info = pending->info};

	if (action->flags & SA_ONSTACK && thread->altstack_size && !on_altstack(thread, thread->regs[RSP]))
		sp = thread->altstack + thread->altstack_size;
	area = (sp - size - 4) & ~63ull;
	at = ((area - sizeof(frame)) & ~15ull) - 8;
	for (unsigned i = 0; i < 16; i++)
		frame.context.regs[places[i]] = thread->regs[i];
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

		if (signal != SIGSEGV && runtime.actions[SIGSEGV].handler > 1 &&
		    runtime.actions[SIGSEGV].flags & SA_ONSTACK) {
			enter_handler(thread, &overflow, runtime.actions[SIGSEGV]);
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

static void deliver(struct runtime_thread *thread, const struct runtime_pending_signal *pending)
{
	const int signal = pending->info.si_signo;
	struct runtime_sigaction action;

	runtime_lock(&runtime.threads_lock);
	action = runtime.actions[signal];
	if (action.handler > 1 && action.flags & SA_RESETHAND)
		runtime.actions[signal].handler = (uint64_t)SIG_DFL;
	runtime_unlock(&runtime.threads_lock);
	/* Like the kernel: an ignored or blocked fault takes the default action. */
	if (pending->synchronous && (action.handler == (uint64_t)SIG_IGN || thread->mask & BIT(signal)))
		action.handler = (uint64_t)SIG_DFL;
	if (action.handler == (uint64_t)SIG_IGN)
		return;
	if (action.handler == (uint64_t)SIG_DFL) {
		if (terminates_by_default(signal))
			die(thread, pending);
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

void runtime_deliver(struct runtime_thread *thread)
{
	struct runtime_pending_signal signals[RUNTIME_PENDING_MAX];
	const uint64_t count = thread->pending;

	set_mask(~0ull);
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
			RUNTIME_CALL(SYS_rt_tgsigqueueinfo, RUNTIME_CALL(SYS_getpid, 0), RUNTIME_CALL(SYS_gettid, 0),
				     signals[i].info.si_signo, &signals[i].info);
		else
			deliver(thread, &signals[i]);
	}
	thread->pending = 0;
	thread->has_wait_mask = false;
	set_mask(thread->mask);
}

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

void runtime_do_sigreturn(struct runtime_thread *thread)
{
	struct kernel_frame frame;
	uint32_t words[12];
	uint64_t mask;

	if (!runtime_copy(&frame, (const void *)(thread->regs[RSP] - 8), sizeof(frame))) {
		runtime_queue_fault(thread, SIGSEGV, SI_KERNEL, 0);
		return;
	}
	for (unsigned i = 0; i < 16; i++)
		thread->regs[i] = frame.context.regs[places[i]];
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
	else if (!on_altstack(thread, thread->regs[RSP])) {
		thread->altstack = (uint64_t)frame.context.stack.ss_sp;
		thread->altstack_size = frame.context.stack.ss_size;
	}
	thread->altstack_flags = (uint32_t)frame.context.stack.ss_flags;
	if (!thread->pending)
		set_mask(frame.context.mask);
	else
		thread->mask = frame.context.mask;
}
