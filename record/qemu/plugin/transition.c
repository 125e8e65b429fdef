/* SPDX-License-Identifier: BSD-2-Clause */
/* The slow path from block to block: system calls, signals, indirect branches, what is due. */

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/guest.h"
#include "record/qemu/plugin/plugin.h"

/* A segment ends when it is long enough, and when the address space it would be decoded in has
 * changed. */
static bool psb_is_due(const struct ptl_slot *slot)
{
	return slot->pt_head >= slot->psb_next ||
	       slot->epoch != __atomic_load_n(&pq.epoch, __ATOMIC_ACQUIRE);
}

/*
 * Starts a segment. Under the lock the epoch and the time belong together: no change of the address
 * space gets a time between those of two segments that see it differently.
 */
static void write_psb(struct pq_step *step, uint64_t ip)
{
	struct ptl_slot *slot = step->slot;
	struct ptl_message_psb message = {.header.type = PTL_MSG_PSB, .ip = ip};

	pq_step_flush(step);
	pthread_mutex_lock(&pq.lock);

	uint64_t time = pq_encoder_now(slot, &pq.config);

	if (time < pq.change_time)
		time = pq.change_time;
	if (time > pq.psb_time)
		pq.psb_time = time;
	slot->virtual_offset = time - slot->instructions;
	slot->epoch = pq.epoch;
	message.epoch = pq.epoch;
	message.header.time = time;
	message.header.pt_offset = pq_step_position(step);
	pq_send(slot, &message.header, sizeof(message), NULL, 0);
	pthread_mutex_unlock(&pq.lock);
	pq_step_psb(step, time, ip);
}

void pq_between_steps(struct ptl_slot *slot, uint64_t block_ip)
{
	pq_encoder_wrap(slot, &pq.config);
	if (!pq_encoder_has_room(slot, &pq.config))
		pq_wait_for_room(slot, 0);
	if (block_ip && psb_is_due(slot)) {
		struct pq_step step = pq_step_begin(slot, &pq.config);

		write_psb(&step, block_ip);
		pq_step_commit(&step, block_ip);
		pq_encoder_wrap(slot, &pq.config);
		if (slot->pt_head - __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED) >
		    pq.config.pt_ring_size / 4)
			pq_ring_doorbell();
		if (__atomic_load_n(&pq.header->stop, __ATOMIC_RELAXED))
			pq_stop();
	}
	pq_encoder_set_limit(slot, &pq.config);
}

/* Completes the thread's stream at the block it has just entered, and lets it run on untraced. */
static void end_stream(unsigned vcpu)
{
	struct ptl_slot *slot = pq.vcpus[vcpu].slot;
	struct pq_step step = pq_step_begin(slot, &pq.config);

	pq_truth_leave_at(slot, slot->block_ip, false);
	pq_step_fup(&step, slot->block_ip);
	pq_step_pgd(&step);
	pq_step_commit(&step, 0);
	pq_encoder_wrap(slot, &pq.config);
	pq_thread_end(vcpu);
}

/* Packets begin at a block: at the thread's start, after a system call, in a signal handler. */
static void enable(struct ptl_slot *slot, struct pq_block *block)
{
	struct pq_step step = pq_step_begin(slot, &pq.config);

	if (psb_is_due(slot))
		write_psb(&step, 0);
	pq_step_pge(&step, block->start);
	pq_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
}

/*
 * The running block was left at `ip` by something asynchronous, or by a fault: encodes what was
 * executed of it, so that a FUP with `ip` can follow. Returns false if `ip` makes no sense.
 */
static bool leave_at(struct pq_step *step, uint64_t ip, bool synchronous)
{
	const struct pq_block *from = (const struct pq_block *)step->slot->block;
	int index = pq_block_index(from, ip);
	bool leads = pq_block_leads_to(from, ip);

	if (index >= 0 && index < from->count && (synchronous || !leads)) {
		step->slot->instructions += (unsigned)index;
		pq_encoder_forget_call(step->slot, from);
		return true;
	}
	if (!leads)
		return false;
	pq_step_transition(step, from, ip);
	return true;
}

/* The thread enters a signal handler. */
static void enter_handler(struct ptl_slot *slot, struct pq_block *block,
			  const struct pq_signal *signal)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;
	struct pq_step step = pq_step_begin(slot, &pq.config);
	bool trapped = signal->synchronous && from->kind == PTL_BLOCK_TRAP &&
		       signal->interrupted == from->end;
	bool known = leave_at(&step, signal->interrupted, signal->synchronous);

	/* A trap instruction enters the kernel itself; anything else is an interruption of the
	 * instruction. */
	if (!trapped)
		pq_step_fup(&step, known ? signal->interrupted : from->start);
	pq_step_pgd(&step);
	pq_step_commit(&step, 0);
	slot->block = (uint64_t)&pq_disabled;
	pq_truth_leave_at(slot, signal->interrupted, signal->synchronous);
	if (!known)
		pq_note(slot, 1,
			"signal %d interrupted %#llx, which does not follow the block at %#llx",
			signal->number, (unsigned long long)signal->interrupted,
			(unsigned long long)from->start);
	enable(slot, block);
}

/*
 * The architecture does not lead from the running block to this one and no signal was delivered:
 * QEMU has left the block in its middle and starts again at the instruction that was not carried
 * out (which wrote to the block's own page, for one). That is no event, unless the place is not in
 * the block at all.
 */
static void enter_elsewhere(struct ptl_slot *slot, struct pq_block *block)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;
	struct pq_step step = pq_step_begin(slot, &pq.config);
	int index = pq_block_index(from, block->start);

	if (index >= 0) {
		slot->instructions += (unsigned)index;
		pq_encoder_forget_call(slot, from);
		pq_step_commit(&step, block->start);
		slot->block = (uint64_t)block;
		return;
	}
	pq_step_fup(&step, from->start);
	pq_step_pgd(&step);
	pq_step_commit(&step, 0);
	pq_note(slot, 1, "block at %#llx does not follow the block at %#llx",
		(unsigned long long)block->start, (unsigned long long)from->start);
	enable(slot, block);
}

static void follow(struct ptl_slot *slot, struct pq_block *block)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;

	if (pq_block_is_restart(from, block) || !pq_block_leads_to(from, block->start)) {
		enter_elsewhere(slot, block);
		return;
	}

	struct pq_step step = pq_step_begin(slot, &pq.config);

	pq_step_transition(&step, from, block->start);
	pq_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
}

static bool is_signal(const uint8_t *env, const struct pq_block *block, struct pq_signal *signal)
{
	if (!(__atomic_load_n(&block->flags, __ATOMIC_RELAXED) & PQ_BLOCK_HANDLER))
		return false;

	struct pq_handler_entry entry = {
		.rsp = pq_guest_register(env, PQ_RSP),
		.rdi = pq_guest_register(env, PQ_RDI),
		.rsi = pq_guest_register(env, PQ_RSI),
		.rdx = pq_guest_register(env, PQ_RDX),
	};
	bool found;

	pthread_mutex_lock(&pq.lock);
	found = pq_guest_signal(&entry, pq.actions, &pq.blocks, signal);
	pthread_mutex_unlock(&pq.lock);
	return found;
}

/* Indirect branches and returns are common enough to be tried before anything else is looked at. */
static bool follow_indirect(struct ptl_slot *slot, struct pq_block *block)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;

	if (block->key == PQ_NO_KEY)
		return false;
	switch ((enum ptl_block_kind)from->kind) {
	case PTL_BLOCK_RETURN:
	case PTL_BLOCK_JUMP_INDIRECT:
		break;
	case PTL_BLOCK_CALL_INDIRECT:
		if (block->start != from->last)
			break;
		return false;
	case PTL_BLOCK_REPEAT:
		if (block->start == from->last || block->start == from->end)
			break;
		return false;
	default:
		return false;
	}

	struct pq_step step = pq_step_begin(slot, &pq.config);

	pq_step_transition(&step, from, block->start);
	pq_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
	if (slot->pt_head >= slot->pt_limit)
		pq_between_steps(slot, block->start);
	return true;
}

/* The vcpu's slot, attached now if this is its first block. NULL if it has none. */
static struct ptl_slot *attached_slot(unsigned vcpu, const struct pq_block *block, uint64_t env)
{
	struct ptl_slot *slot = pq.vcpus[vcpu].slot;

	if (slot == &pq_untraced)
		return NULL;
	if (slot != &pq_unattached)
		return slot;
	slot = pq_thread_attach(vcpu, env);
	pthread_mutex_lock(&pq.lock);
	if (slot && !pq.started)
		pq_start_program(slot, vcpu, block);
	pthread_mutex_unlock(&pq.lock);
	return slot;
}

/* The block was translated by a thread without a slot: what it would have sent is sent now. */
static void announce(struct ptl_slot *slot, struct pq_block *block)
{
	uint8_t bytes[2 * PQ_PAGE];
	size_t size = (size_t)(block->end - block->start);

	pthread_mutex_lock(&pq.lock);
	pq_block_clear_flag(block, PQ_BLOCK_UNANNOUNCED);
	if (pq.config.truth)
		pq_truth_define(slot, block);
	if (!(block->flags & PQ_BLOCK_VSYSCALL) && size <= sizeof(bytes) &&
	    pq_guest_read(block->start, bytes, size))
		pq_mapping_translated(slot, block->start, bytes, size);
	pthread_mutex_unlock(&pq.lock);
}

static bool has_to_stop(void)
{
	if (__atomic_load_n(&pq.header->stop, __ATOMIC_RELAXED) &&
	    !__atomic_load_n(&pq.stopped, __ATOMIC_RELAXED))
		pq_stop();
	return __atomic_load_n(&pq.stopped, __ATOMIC_RELAXED);
}

void pq_enter_slow(unsigned vcpu, struct pq_block *block, uint64_t env)
{
	struct ptl_slot *slot = pq_slots[vcpu];
	struct pq_signal signal;

	if (slot == &pq_untraced || follow_indirect(slot, block))
		return;
	slot = attached_slot(vcpu, block, env);
	if (!slot)
		return;
	if (__atomic_load_n(&block->flags, __ATOMIC_ACQUIRE) & PQ_BLOCK_UNANNOUNCED)
		announce(slot, block);
	/* First this, then a look at why it was otherwise: what is asked for after that is seen
	 * next time. */
	__atomic_store_n(&pq_slots[vcpu], slot, __ATOMIC_SEQ_CST);
	if (!slot->block_ip)
		enable(slot, block);
	else if (is_signal((const uint8_t *)env, block, &signal))
		enter_handler(slot, block, &signal);
	else
		follow(slot, block);
	pq_between_steps(slot, block->start);
	if (has_to_stop())
		end_stream(vcpu);
}

void pq_leave_for_syscall(struct ptl_slot *slot)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;

	if (!slot->block_ip)
		return;

	struct pq_step step = pq_step_begin(slot, &pq.config);

	if (from->flags & PQ_BLOCK_VSYSCALL)
		pq_step_fup(&step, from->start);
	else
		slot->instructions += from->count;
	pq_step_pgd(&step);
	pq_step_commit(&step, 0);
	slot->block = (uint64_t)&pq_disabled;
	pq_truth_leave(slot);
	pq_between_steps(slot, 0);
}

void pq_leave_for_death(struct ptl_slot *slot, uint64_t ip, bool synchronous)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;

	if (!slot->block_ip)
		return;

	struct pq_step step = pq_step_begin(slot, &pq.config);
	bool trapped = synchronous && from->kind == PTL_BLOCK_TRAP && ip == from->end;
	bool known = leave_at(&step, ip, synchronous);

	if (!trapped)
		pq_step_fup(&step, known ? ip : from->start);
	pq_step_pgd(&step);
	pq_step_commit(&step, 0);
	slot->block = (uint64_t)&pq_disabled;
	pq_truth_leave_at(slot, ip, synchronous);
	pq_encoder_wrap(slot, &pq.config);
}
