/* SPDX-License-Identifier: BSD-2-Clause */
/* Work between blocks: packets that translated code does not write, segments, and leaving the cache. */
#include <asm/prctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/emit.h"
#include "record/software/runtime/encoder.h"
#include "record/software/runtime/instruction.h"
#include "record/software/runtime/runtime.h"

/* TNT words of at least this value are written out; below, the bits of one more block still fit. */
#define TNT_LIMIT (1ull << 47)

uint64_t runtime_now(struct runtime_thread *thread)
{
	return runtime_encoder_now(thread->slot, &runtime.config);
}

static struct runtime_step begin_step(struct runtime_thread *thread)
{
	return runtime_step_begin(thread->slot, &runtime.config);
}

/* ---- segments ---- */

static bool psb_is_due(const struct channel_slot *slot)
{
	return slot->pt_head >= slot->psb_next || slot->epoch != __atomic_load_n(&runtime.epoch, __ATOMIC_ACQUIRE) ||
	       slot->psb_answered != __atomic_load_n(&runtime.header->psb_request, __ATOMIC_RELAXED);
}

static void clear_returns(struct runtime_thread *thread)
{
	thread->return_top = runtime_returns(thread->slot) - 1;
}

/*
 * Starts a segment. The lock ties the epoch to the time: a change of the address space never gets a time between two
 * segments with the same view of the address space.
 */
static void write_psb(struct runtime_thread *thread, struct runtime_step *step, const uint64_t *ip)
{
	struct channel_slot *slot = thread->slot;
	struct channel_message_psb message = {.header.type = CHANNEL_MSG_PSB};
	uint64_t time;

	runtime_step_flush(step);
	runtime_lock(&runtime.lock);
	time = runtime_now(thread);
	if (time < runtime.change_time)
		time = runtime.change_time;
	if (time > runtime.psb_time)
		runtime.psb_time = time;
	slot->virtual_offset = time - slot->instructions;
	slot->epoch = runtime.epoch;
	slot->psb_answered = __atomic_load_n(&runtime.header->psb_request, __ATOMIC_RELAXED);
	message.epoch = runtime.epoch;
	message.header.time = time;
	message.header.pt_offset = runtime_step_position(step);
	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
	runtime_unlock(&runtime.lock);
	runtime_step_psb(step, time, ip);
	clear_returns(thread);
}

/*
 * Waits for room in the ring, or discards packets of a dummy slot and packets after the recorder's death. A recorder
 * that is ending still drains the ring.
 */
static void wait_for_room(struct runtime_thread *thread)
{
	if (thread->is_dummy || !runtime_wait_for_room(thread))
		thread->slot->pt_tail = thread->slot->pt_head;
}

/* Gives up the CPU as at an interrupt, and continues at the same pc on the next CPU. */
static void switch_threads(struct runtime_thread *thread)
{
	struct runtime_step step = begin_step(thread);

	runtime_step_fup(&step, thread->pc);
	runtime_step_pgd(&step);
	runtime_step_commit(&step);
	runtime_encoder_wrap(thread->slot, &runtime.config);
	runtime_cpu_yield(thread);
	if (!runtime_encoder_has_room(thread->slot, &runtime.config))
		wait_for_room(thread);
	step = begin_step(thread);
	write_psb(thread, &step, NULL);
	runtime_step_pge(&step, thread->pc);
	runtime_step_commit(&step);
	runtime_encoder_wrap(thread->slot, &runtime.config);
}

/* Does the work that is due before the block at pc or during a system call. */
static void between(struct runtime_thread *thread)
{
	struct channel_slot *slot = thread->slot;

	runtime_encoder_wrap(slot, &runtime.config);
	if (!runtime_encoder_has_room(slot, &runtime.config))
		wait_for_room(thread);
	if (thread->enabled && psb_is_due(slot) && runtime_cpu_is_wanted(thread)) {
		switch_threads(thread);
	} else if (thread->enabled && psb_is_due(slot)) {
		struct runtime_step step = begin_step(thread);

		write_psb(thread, &step, &thread->pc);
		runtime_step_commit(&step);
		runtime_encoder_wrap(slot, &runtime.config);
		if (slot->pt_head - __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED) > runtime.config.pt_ring_size / 4)
			runtime_ring_doorbell();
	}
	runtime_encoder_set_limit(slot, &runtime.config);
}

void runtime_enable(struct runtime_thread *thread)
{
	struct runtime_step step;

	if (thread->enabled)
		return;
	runtime_cpu_take(thread);
	between(thread);
	step = begin_step(thread);
	if (psb_is_due(thread->slot))
		write_psb(thread, &step, NULL);
	runtime_step_pge(&step, thread->pc);
	runtime_step_commit(&step);
	thread->enabled = true;
	between(thread);
}

void runtime_leave_for_syscall(struct runtime_thread *thread)
{
	struct runtime_step step = begin_step(thread);

	if (thread->enabled)
		runtime_step_pgd(&step);
	runtime_step_commit(&step);
	thread->enabled = false;
	between(thread);
	runtime_cpu_give(thread);
}

void runtime_interrupt(struct runtime_thread *thread, bool trapped)
{
	struct runtime_step step = begin_step(thread);

	if (thread->enabled) {
		if (!trapped)
			runtime_step_fup(&step, thread->pc);
		runtime_step_pgd(&step);
	}
	runtime_step_commit(&step);
	thread->enabled = false;
	between(thread);
}

uint64_t runtime_stand(struct runtime_thread *thread, const uint32_t *number)
{
	struct channel_slot *slot = thread->slot;
	struct runtime_step step = begin_step(thread);
	const uint64_t time = runtime_step_stand(&step, thread->pc, number);

	runtime_step_commit(&step);
	runtime_encoder_wrap(slot, &runtime.config);
	if (!runtime_encoder_has_room(slot, &runtime.config))
		wait_for_room(thread);
	runtime_encoder_set_limit(slot, &runtime.config);
	/* Bits do not accumulate up to a check: a PSB or the recorder's stop needs a request. */
	if (psb_is_due(slot) || __atomic_load_n(&runtime.header->stop, __ATOMIC_RELAXED))
		runtime_thread_call(thread);
	return time;
}

static void indirect(struct runtime_thread *thread)
{
	struct runtime_step step = begin_step(thread);

	runtime_step_tip(&step, thread->pc);
	runtime_step_commit(&step);
	between(thread);
}

/* ---- leaving the cache ---- */

void runtime_let_go(struct runtime_thread *thread, const char *why)
{
	/* Only the vfork child leaves the cache. The parent, whose memory the child shares, stays. */
	const bool alone = thread->process != runtime.process;

	if (why && !__atomic_exchange_n(alone ? &thread->let_go : &runtime.let_go, true, __ATOMIC_SEQ_CST)) {
		runtime_note(thread, why, thread->pc);
		__atomic_add_fetch(&runtime.header->native_processes, 1, __ATOMIC_RELAXED);
	}
	if (!alone)
		runtime_stop();
}

/*
 * Writes code for this thread alone. The code runs with signals blocked until its last system call. It ends the slot,
 * which contains the runtime's stack, and loads the program's registers from constants. A signal is then delivered on
 * the program's stack.
 */
static void write_departure(const struct runtime_thread *thread, uint8_t *page, uint64_t mask)
{
	struct emitter e = {page};

	memcpy(page + 2048, &thread->flags, 8);
	memcpy(page + 2056, &mask, 8);
	emit_constant(&e, RSP, (uint64_t)page + 2048);
	if (!thread->is_dummy) {
		emit_constant(&e, RAX, (uint64_t)&thread->slot->status);
		emit_bytes(&e, (const uint8_t[]){0xc7, 0x00}, 2); /* mov dword [rax], value */
		emit_4(&e, CHANNEL_SLOT_ENDED);
	}
	emit_1(&e, 0x9d); /* popfq */
	emit_constant(&e, RSP, thread->regs[RSP]);
	emit_constant(&e, RAX, SYS_rt_sigprocmask);
	emit_constant(&e, RDI, SIG_SETMASK);
	emit_constant(&e, RSI, (uint64_t)page + 2056);
	emit_constant(&e, RDX, 0);
	emit_constant(&e, R10, sizeof(mask));
	emit_bytes(&e, (const uint8_t[]){0x0f, 0x05}, 2); /* syscall */
	for (unsigned i = 0; i < 16; i++)
		emit_constant(&e, i, thread->regs[i]);
	emit_bytes(&e, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6); /* jmp [rip] */
	emit_8(&e, thread->pc);
}

static void leave_natively(struct runtime_thread *thread)
{
	const uint64_t all = ~0ull;
	uint64_t mask = 0;
	struct release *release = NULL;
	uint8_t *departure;

	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &all, &mask, 8);
	if (thread->pending)
		mask = thread->mask;
	departure = runtime_cache_departure();
	if (!departure)
		return;
	if (thread->enabled)
		runtime_interrupt(thread, false);
	if (thread->process == runtime.process && !__atomic_exchange_n(&runtime.releasing, true, __ATOMIC_SEQ_CST))
		release = runtime_release_stop(thread);
	runtime_signals_native(thread);
	if (release)
		runtime_release_go_on(release);
	runtime_signals_leave(thread, mask);
	runtime_cpu_give(thread);
	runtime_attach_leave(thread);
	RUNTIME_CALL(SYS_arch_prctl, ARCH_SET_GS, 0);
	write_departure(thread, departure, mask);
	runtime_ring_doorbell();
	__asm__ volatile("jmp *%0" : : "r"(departure) : "memory");
	__builtin_unreachable();
}

/* ---- the runtime's one entry ---- */

/* Handles an instruction at pc that has no translation, or whose bytes have changed. */
static void emulate(struct runtime_thread *thread)
{
	uint8_t bytes[INSTRUCTION_MAX];
	struct instruction in;

	/* The byte check of the block failed, or the instruction has no translation. */
	runtime_lock(&runtime.lock);
	runtime_cache_forget(thread->pc, thread->pc + 1);
	runtime_unlock(&runtime.lock);
	if (!runtime_copy(bytes, (const void *)thread->pc, 1))
		return;
	for (unsigned size = INSTRUCTION_MAX; size; size--)
		if (runtime_copy(bytes, (const void *)thread->pc, size)) {
			if (!runtime_instruction_decode(bytes, size, &in))
				return;
			break;
		}
	switch ((enum instruction_kind)in.kind) {
	case INSTRUCTION_INT80:
		thread->pc += in.length;
		runtime_leave_for_syscall(thread);
		runtime_old_syscall(thread);
		break;
	case INSTRUCTION_FAR:
	case INSTRUCTION_GS_BASE:
	case INSTRUCTION_XBEGIN:
		runtime_let_go(thread, "an instruction that the software source does not translate: the process goes "
				       "on natively from");
		break;
	case INSTRUCTION_PLAIN:
		if (in.map == 0 && in.opcode == INSTRUCTION_POPF &&
		    runtime_copy(bytes, (const void *)(thread->regs[RSP] + 1), 1) && bytes[0] & 1)
			runtime_let_go(thread, RUNTIME_STEPS_ITSELF);
		break;
	default:
		break;
	}
}

/* Waits while another thread ends the process or executes another program. Returns if that fails. */
static void wait_for_end(struct runtime_thread *thread)
{
	const struct timespec interval = {0, 1000000};

	runtime_interrupt(thread, false);
	runtime_cpu_give(thread);
	runtime_ring_doorbell();
	__atomic_store_n(&thread->in_syscall, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&runtime.ending, __ATOMIC_SEQ_CST))
		RUNTIME_CALL(SYS_nanosleep, &interval, 0);
	__atomic_store_n(&thread->in_syscall, 0, __ATOMIC_SEQ_CST);
}

/* A function of --stop-at is reached: all threads go on natively. */
static void stop_here(struct runtime_thread *thread)
{
	if (!__atomic_exchange_n(&runtime.let_go, true, __ATOMIC_SEQ_CST))
		runtime_say(thread, 0, "the function of --stop-at is reached: the process goes on natively from",
			    thread->pc);
	runtime_stop();
}

static struct runtime_target *target_of(struct runtime_thread *thread)
{
	uint8_t *table = (uint8_t *)thread->slot + RUNTIME_TARGETS;

	return (struct runtime_target *)(void *)(table + (thread->pc & RUNTIME_TARGETS_MASK));
}

/*
 * Returns the translation of the thread's pc; NULL as runtime_cache_find. An indirect branch may reach the head of a
 * forgotten block, which enters the runtime with another reason.
 */
static const void *find_code(struct runtime_thread *thread)
{
	struct runtime_target *target = target_of(thread);
	/* Direct exits are linked, and need a target only in place of a forgotten block. */
	const bool is_target = thread->reason != RUNTIME_REASON_LINK || target->pc == thread->pc;
	const void *entry = NULL, *code;

	if (thread->reason == RUNTIME_REASON_INDIRECT && target->pc == thread->pc) {
		/* The entry restores R10. */
		thread->scratch[1] = thread->regs[R10];
		return (const void *)target->code;
	}
	code = runtime_cache_find(thread, thread->pc, is_target ? &entry : NULL);
	if (code && entry)
		*target = (struct runtime_target){thread->pc, (uint64_t)entry};
	return code;
}

static bool is_stop(uint64_t pc)
{
	bool is;

	if (!runtime.stops_known)
		return false;
	runtime_lock(&runtime.lock);
	is = runtime_mapping_is_stop(pc);
	runtime_unlock(&runtime.lock);
	return is;
}

/* Continues at the thread's pc: delivers signals first, then finds the code. */
static void go_on(struct runtime_thread *thread)
{
	for (;;) {
		const void *code;

		/* Requests from here on are noticed at the next block's head. */
		__atomic_store_n(&thread->limit, TNT_LIMIT, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&runtime.header->stop, __ATOMIC_RELAXED) && !runtime.stopped)
			runtime_stop();
		if (runtime.stopped || thread->let_go)
			leave_natively(thread);
		if (__atomic_load_n(&runtime.ending, __ATOMIC_SEQ_CST) && thread->process == runtime.process)
			wait_for_end(thread);
		if (thread->pending) {
			runtime_deliver(thread);
			continue;
		}
		if (is_stop(thread->pc)) {
			stop_here(thread);
			continue;
		}
		runtime_enable(thread);
		if (runtime_call_vsyscall(thread))
			continue;
		between(thread);
		code = find_code(thread);
		if (code) {
			/* A translation may have changed the address space, which requires a new segment. */
			if (!thread->limit || psb_is_due(thread->slot))
				continue;
			thread->target = (uint64_t)code;
			return;
		}
		if (runtime_cache_is_full() && !runtime.stopped)
			runtime_let_go(
				thread,
				"there is no memory for more translated code: the process goes on natively from");
		else
			runtime_queue_unreadable(thread);
	}
}

__attribute__((used)) void runtime_serve(struct runtime_thread *thread);

void runtime_serve(struct runtime_thread *thread)
{
	if (thread->lost_alignment) {
		thread->flags |= 0x40000;
		thread->lost_alignment = false;
	}
	switch (thread->reason) {
	case RUNTIME_REASON_LINK: {
		const uint64_t exit = thread->exit & 0xffffffff;

		const uint64_t target = runtime_cache_exit_pc(exit);

		thread->pc = target;
		go_on(thread);
		if (thread->pc == target) {
			runtime_lock(&runtime.lock);
			runtime_cache_link(exit, (const void *)thread->target);
			runtime_unlock(&runtime.lock);
		}
		return;
	}
	case RUNTIME_REASON_VALUES:
		runtime_values_take(thread);
		return;
	case RUNTIME_REASON_CHECK: {
		struct runtime_step step = begin_step(thread);

		runtime_step_commit(&step);
		break;
	}
	case RUNTIME_REASON_INDIRECT:
		indirect(thread);
		break;
	case RUNTIME_REASON_RETURN_MISS:
		/* The bit of a return that matches. */
		thread->tnt >>= 1;
		/*
		 * The top of the return stack is another address. An empty return stack makes it irrelevant whether a
		 * decoder pops here.
		 */
		clear_returns(thread);
		indirect(thread);
		break;
	case RUNTIME_REASON_SYSCALL:
		runtime_do_syscall(thread);
		break;
	case RUNTIME_REASON_OTHER:
		emulate(thread);
		break;
	default:
		break;
	}
	go_on(thread);
}
