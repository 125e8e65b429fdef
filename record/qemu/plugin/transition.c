/* SPDX-License-Identifier: BSD-2-Clause */
/* The slow path from block to block: system calls, signals, indirect branches, what is due. */

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/guest.h"
#include "record/qemu/plugin/plugin.h"

/* A segment ends when it is long enough, when the address space it would be decoded in has
 * changed, and when the recorder begins a file. */
static bool psb_is_due(const struct qemu_slot *slot)
{
	return slot->pt_head >= slot->psb_next || slot->epoch != __atomic_load_n(&plugin.epoch, __ATOMIC_ACQUIRE) ||
	       slot->psb_answered != __atomic_load_n(&plugin.header->psb_request, __ATOMIC_RELAXED);
}

/*
 * Starts a segment. Under the lock the epoch and the time belong together: no change of the address
 * space gets a time between those of two segments that see it differently.
 */
static void write_psb(struct plugin_step *step, uint64_t ip)
{
	struct qemu_slot *slot = step->slot;
	struct qemu_message_psb message = {.header.type = QEMU_MSG_PSB, .ip = ip};

	plugin_step_flush(step);
	pthread_mutex_lock(&plugin.lock);

	uint64_t time = plugin_encoder_now(slot, &plugin.config);

	if (time < plugin.change_time)
		time = plugin.change_time;
	if (time > plugin.psb_time)
		plugin.psb_time = time;
	slot->virtual_offset = time - slot->instructions;
	slot->epoch = plugin.epoch;
	slot->psb_answered = __atomic_load_n(&plugin.header->psb_request, __ATOMIC_RELAXED);
	message.epoch = plugin.epoch;
	message.header.time = time;
	message.header.pt_offset = plugin_step_position(step);
	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
	pthread_mutex_unlock(&plugin.lock);
	plugin_step_psb(step, time, ip);
}

/* As at an interrupt: the thread goes on with the same block when it has a CPU again. */
static void switch_threads(struct qemu_slot *slot, uint64_t block_ip)
{
	struct plugin_step step = plugin_step_begin(slot, &plugin.config);

	plugin_step_fup(&step, block_ip);
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	plugin_encoder_wrap(slot, &plugin.config);
	plugin_cpu_yield(slot);
	if (!plugin_encoder_has_room(slot, &plugin.config))
		plugin_wait_for_room(slot, 0);
	step = plugin_step_begin(slot, &plugin.config);
	write_psb(&step, 0);
	plugin_step_pge(&step, block_ip);
	plugin_step_commit(&step, block_ip);
	plugin_encoder_wrap(slot, &plugin.config);
}

void plugin_between_steps(struct qemu_slot *slot, uint64_t block_ip)
{
	plugin_encoder_wrap(slot, &plugin.config);
	if (!plugin_encoder_has_room(slot, &plugin.config))
		plugin_wait_for_room(slot, 0);
	if (block_ip && psb_is_due(slot) && plugin_cpu_is_wanted(slot)) {
		switch_threads(slot, block_ip);
	} else if (block_ip && psb_is_due(slot)) {
		struct plugin_step step = plugin_step_begin(slot, &plugin.config);

		write_psb(&step, block_ip);
		plugin_step_commit(&step, block_ip);
		plugin_encoder_wrap(slot, &plugin.config);
		if (slot->pt_head - __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED) > plugin.config.pt_ring_size / 4)
			plugin_ring_doorbell();
		if (__atomic_load_n(&plugin.header->stop, __ATOMIC_RELAXED))
			plugin_stop();
	}
	plugin_encoder_set_limit(slot, &plugin.config);
}

/* Completes the thread's stream at the block it has just entered, and lets it run on untraced. */
static void end_stream(unsigned vcpu)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;
	struct plugin_step step = plugin_step_begin(slot, &plugin.config);

	plugin_truth_leave_at(slot, slot->block_ip, false);
	plugin_step_fup(&step, slot->block_ip);
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	plugin_encoder_wrap(slot, &plugin.config);
	plugin_thread_end(vcpu);
}

/* Packets begin at a block: at the thread's start, after a system call, in a signal handler. */
static void enable(struct qemu_slot *slot, struct plugin_block *block)
{
	struct plugin_step step;

	plugin_cpu_take(slot);
	step = plugin_step_begin(slot, &plugin.config);

	if (psb_is_due(slot))
		write_psb(&step, 0);
	plugin_step_pge(&step, block->start);
	plugin_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
}

/*
 * The running block was left at `ip` by something asynchronous, or by a fault: encodes what was
 * executed of it, so that a FUP with `ip` can follow. Returns false if `ip` is invalid.
 */
static bool leave_at(struct plugin_step *step, uint64_t ip, bool synchronous)
{
	const struct plugin_block *from = (const struct plugin_block *)step->slot->block;
	int index = plugin_block_index(from, ip);
	bool leads = plugin_block_leads_to(from, ip);

	if (index >= 0 && index < from->count && (synchronous || !leads)) {
		step->slot->instructions += (unsigned)index;
		plugin_encoder_forget_call(step->slot, from);
		return true;
	}
	if (!leads)
		return false;
	plugin_step_transition(step, from, ip);
	return true;
}

/* The thread enters a signal handler. */
static void enter_handler(struct qemu_slot *slot, struct plugin_block *block, const struct plugin_signal *signal)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;
	struct plugin_step step = plugin_step_begin(slot, &plugin.config);
	bool trapped = signal->synchronous && from->kind == QEMU_BLOCK_TRAP && signal->interrupted == from->end;
	bool known = leave_at(&step, signal->interrupted, signal->synchronous);

	/* A trap instruction enters the kernel itself; anything else is an interruption of the
	 * instruction. */
	if (!trapped)
		plugin_step_fup(&step, known ? signal->interrupted : from->start);
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	slot->block = (uint64_t)&plugin_disabled;
	plugin_truth_leave_at(slot, signal->interrupted, signal->synchronous);
	if (!known)
		plugin_note(slot, 1, "signal %d interrupted %#llx, which does not follow the block at %#llx",
			    signal->number, (unsigned long long)signal->interrupted, (unsigned long long)from->start);
	enable(slot, block);
}

/*
 * The architecture does not lead from the running block to this one and no signal was delivered:
 * QEMU has left the block in its middle and starts again at the instruction that was not carried
 * out (which wrote to the block's own page, for one). That is no event, unless the place is not in
 * the block at all.
 */
static void enter_elsewhere(struct qemu_slot *slot, struct plugin_block *block)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;
	struct plugin_step step = plugin_step_begin(slot, &plugin.config);
	int index = plugin_block_index(from, block->start);

	if (index >= 0) {
		slot->instructions += (unsigned)index;
		plugin_encoder_forget_call(slot, from);
		plugin_step_commit(&step, block->start);
		slot->block = (uint64_t)block;
		return;
	}
	plugin_step_fup(&step, from->start);
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	plugin_note(slot, 1, "block at %#llx does not follow the block at %#llx", (unsigned long long)block->start,
		    (unsigned long long)from->start);
	enable(slot, block);
}

static void follow(struct qemu_slot *slot, struct plugin_block *block)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;

	if (plugin_block_is_restart(from, block) || !plugin_block_leads_to(from, block->start)) {
		enter_elsewhere(slot, block);
		return;
	}

	struct plugin_step step = plugin_step_begin(slot, &plugin.config);

	plugin_step_transition(&step, from, block->start);
	plugin_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
}

static bool is_signal(const uint8_t *env, const struct plugin_block *block, struct plugin_signal *signal)
{
	if (!(__atomic_load_n(&block->flags, __ATOMIC_RELAXED) & PLUGIN_BLOCK_HANDLER))
		return false;

	struct plugin_handler_entry entry = {
		.rsp = plugin_guest_register(env, PLUGIN_RSP),
		.rdi = plugin_guest_register(env, PLUGIN_RDI),
		.rsi = plugin_guest_register(env, PLUGIN_RSI),
		.rdx = plugin_guest_register(env, PLUGIN_RDX),
	};
	bool found;

	pthread_mutex_lock(&plugin.lock);
	found = plugin_guest_signal(&entry, plugin.actions, &plugin.blocks, signal);
	pthread_mutex_unlock(&plugin.lock);
	return found;
}

/* Indirect branches and returns are common enough to be tried before anything else is looked at. */
static bool follow_indirect(struct qemu_slot *slot, struct plugin_block *block)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;

	if (block->key == PLUGIN_NO_KEY)
		return false;
	switch ((enum qemu_block_kind)from->kind) {
	case QEMU_BLOCK_RETURN:
	case QEMU_BLOCK_JUMP_INDIRECT:
		break;
	case QEMU_BLOCK_CALL_INDIRECT:
		if (block->start != from->last)
			break;
		return false;
	case QEMU_BLOCK_REPEAT:
		if (block->start == from->last || block->start == from->end)
			break;
		return false;
	default:
		return false;
	}

	struct plugin_step step = plugin_step_begin(slot, &plugin.config);

	plugin_step_transition(&step, from, block->start);
	plugin_step_commit(&step, block->start);
	slot->block = (uint64_t)block;
	if (slot->pt_head >= slot->pt_limit)
		plugin_between_steps(slot, block->start);
	return true;
}

/* The vcpu's slot, attached now if this is its first block. NULL if it has none. */
static struct qemu_slot *attached_slot(unsigned vcpu, const struct plugin_block *block, uint64_t env)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;

	if (slot == &plugin_untraced)
		return NULL;
	if (slot != &plugin_unattached)
		return slot;
	slot = plugin_thread_attach(vcpu, env);
	pthread_mutex_lock(&plugin.lock);
	if (slot && !plugin.started)
		plugin_start_program(slot, vcpu, block);
	pthread_mutex_unlock(&plugin.lock);
	return slot;
}

/* The block was translated by a thread without a slot: what it would have sent is sent now. */
static void announce(struct qemu_slot *slot, struct plugin_block *block)
{
	uint8_t bytes[2 * PLUGIN_PAGE];
	size_t size = (size_t)(block->end - block->start);

	pthread_mutex_lock(&plugin.lock);
	plugin_block_clear_flag(block, PLUGIN_BLOCK_UNANNOUNCED);
	if (plugin.config.truth)
		plugin_truth_define(slot, block);
	if (!(block->flags & PLUGIN_BLOCK_VSYSCALL) && size <= sizeof(bytes) &&
	    plugin_guest_read(block->start, bytes, size))
		plugin_mapping_translated(slot, block->start, bytes, size);
	pthread_mutex_unlock(&plugin.lock);
}

static bool has_to_stop(void)
{
	if (__atomic_load_n(&plugin.header->stop, __ATOMIC_RELAXED) &&
	    !__atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED))
		plugin_stop();
	return __atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED);
}

void plugin_enter_slow(unsigned vcpu, struct plugin_block *block, uint64_t env)
{
	struct qemu_slot *slot = plugin_slots[vcpu];
	struct plugin_signal signal;

	if (slot == &plugin_untraced || follow_indirect(slot, block))
		return;
	slot = attached_slot(vcpu, block, env);
	if (!slot)
		return;
	if (__atomic_load_n(&block->flags, __ATOMIC_ACQUIRE) & PLUGIN_BLOCK_UNANNOUNCED)
		announce(slot, block);
	/* First this, then a look at why it was otherwise: what is asked for after that is seen
	 * next time. */
	__atomic_store_n(&plugin_slots[vcpu], slot, __ATOMIC_SEQ_CST);
	if (!slot->block_ip)
		enable(slot, block);
	else if (is_signal((const uint8_t *)env, block, &signal))
		enter_handler(slot, block, &signal);
	else
		follow(slot, block);
	plugin_between_steps(slot, block->start);
	if (has_to_stop())
		end_stream(vcpu);
}

void plugin_leave_for_syscall(struct qemu_slot *slot)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;

	if (!slot->block_ip)
		return;

	struct plugin_step step = plugin_step_begin(slot, &plugin.config);

	if (from->flags & PLUGIN_BLOCK_VSYSCALL)
		plugin_step_fup(&step, from->start);
	else
		slot->instructions += from->count;
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	slot->block = (uint64_t)&plugin_disabled;
	plugin_truth_leave(slot);
	plugin_between_steps(slot, 0);
}

void plugin_leave_for_death(struct qemu_slot *slot, uint64_t ip, bool synchronous)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;

	if (!slot->block_ip)
		return;

	struct plugin_step step = plugin_step_begin(slot, &plugin.config);
	bool trapped = synchronous && from->kind == QEMU_BLOCK_TRAP && ip == from->end;
	bool known = leave_at(&step, ip, synchronous);

	if (!trapped)
		plugin_step_fup(&step, known ? ip : from->start);
	plugin_step_pgd(&step);
	plugin_step_commit(&step, 0);
	slot->block = (uint64_t)&plugin_disabled;
	plugin_truth_leave_at(slot, ip, synchronous);
	plugin_encoder_wrap(slot, &plugin.config);
}
