/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: from the blocks a thread enters to Intel PT packets in its ring. */

#include "record/qemu/plugin/encoder.h"

#include <string.h>
#include <time.h>

#include "format/pt/encode.h"

/* CTC ticks are ART ticks: 25 MHz, a tick is 40 of the TSC's. */
#define TSC_PER_CTC (QEMU_CPUID_15_EBX / QEMU_CPUID_15_EAX)
/* MTC shows eight bits of the CTC: after that many periods without one, the full time is given
 * instead. */
#define MTC_PERIODS_MAX 192u
/* A full CYC packet holds more than this; longer silences get a TSC. */
#define CYC_MAX 0xffffffffull
/* Up to this many pending TNT bits, six-bit packets take fewer bytes than the long one. */
#define SHORT_TNT_BITS 42

void plugin_encoder_start(struct qemu_slot *slot, const struct qemu_channel_config *config, uint8_t *ring)
{
	memset(&slot->tnt, 0, sizeof(*slot) - offsetof(struct qemu_slot, tnt));
	slot->tnt = 1u << QEMU_TNT_SHIFT;
	slot->pt_bias = (uint64_t)ring;
	plugin_encoder_set_limit(slot, config);
}

uint64_t plugin_encoder_now(struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	uint64_t now;

	if (config->clock == PTL_CLOCK_VIRTUAL) {
		now = slot->virtual_offset + slot->instructions;
	} else {
		struct timespec time;

		clock_gettime(CLOCK_MONOTONIC, &time);
		now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	}
	return now > slot->time ? now : slot->time;
}

struct plugin_step plugin_step_begin(struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	return (struct plugin_step){slot, config, (uint8_t *)(slot->pt_bias + slot->pt_head),
				    slot->tnt >> QEMU_TNT_SHIFT};
}

uint64_t plugin_step_position(const struct plugin_step *step)
{
	return (uint64_t)step->at - step->slot->pt_bias;
}

/* TSC, and what goes with it. */
static void put_full_time(struct plugin_step *step, uint64_t time)
{
	struct qemu_slot *slot = step->slot;

	slot->time = time;
	if (step->config->timing == PTL_TIMING_NONE)
		return;
	step->at += format_pt_put_tsc(step->at, time);
	slot->cyc_time = time;
	if (step->config->timing < PTL_TIMING_MTC)
		return;

	uint64_t ctc = time / TSC_PER_CTC;

	step->at += format_pt_put_tma(step->at, (uint16_t)ctc, (uint16_t)(time % TSC_PER_CTC));
	slot->ctc = ctc >> step->config->mtc_shift;
}

static void put_cycles(struct plugin_step *step, uint64_t time)
{
	struct qemu_slot *slot = step->slot;

	if (step->config->timing != PTL_TIMING_CYC || time < slot->cyc_time)
		return;
	step->at += format_pt_put_cyc(step->at, time - slot->cyc_time);
	slot->cyc_time = time;
}

/*
 * The MTC and CYC packets that go before the step's first packet. An MTC stands for the moment at
 * which its period began; a CYC before it leads up to there, and another goes on to now. Between a
 * TIP.PGD and a TIP.PGE no cycles are counted while the CTC goes on, so a decoder that takes the
 * frequency from the two would be led astray: CBR states it again.
 */
static void put_passed_time(struct plugin_step *step)
{
	struct qemu_slot *slot = step->slot;
	uint64_t time = plugin_encoder_now(slot, step->config);
	uint64_t ctc = time / TSC_PER_CTC >> step->config->mtc_shift;

	if (ctc - slot->ctc > MTC_PERIODS_MAX || time - slot->cyc_time > CYC_MAX) {
		put_full_time(step, time);
		return;
	}
	if (ctc != slot->ctc) {
		put_cycles(step, (ctc << step->config->mtc_shift) * TSC_PER_CTC);
		step->at += format_pt_put_mtc(step->at, (uint8_t)ctc);
		if (step->config->timing == PTL_TIMING_CYC)
			step->at += format_pt_put_cbr(step->at, QEMU_NOMINAL_RATIO);
		slot->ctc = ctc;
		slot->time = time;
	}
	if (step->config->timing == PTL_TIMING_CYC) {
		put_cycles(step, time);
		slot->time = time;
	}
}

/* Packets that show passing time stand at the beginning of a step, and not before the very first
 * PSB. */
static void before_packet(struct plugin_step *step)
{
	struct qemu_slot *slot = step->slot;

	if (step->config->timing >= PTL_TIMING_MTC && slot->pt_head != 0 && plugin_step_position(step) == slot->pt_head)
		put_passed_time(step);
}

void plugin_step_flush(struct plugin_step *step)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(step->tnt);

	if (!bits)
		return;
	before_packet(step);
	if (bits > SHORT_TNT_BITS) {
		step->at += format_pt_put_tnt_64(step->at, step->tnt);
	} else {
		uint64_t mask = (1u << FORMAT_PT_TNT_8_MAX) - 1;

		for (; bits > FORMAT_PT_TNT_8_MAX; bits -= FORMAT_PT_TNT_8_MAX)
			step->at += format_pt_put_tnt_8(step->at, (step->tnt >> (bits - FORMAT_PT_TNT_8_MAX) & mask) |
									  (mask + 1));
		step->at += format_pt_put_tnt_8(step->at, (step->tnt & ((1ull << bits) - 1)) | 1ull << bits);
	}
	step->tnt = 1;
}

void plugin_step_tnt(struct plugin_step *step, bool taken)
{
	step->tnt = step->tnt << 1 | taken;
	if (step->tnt & PLUGIN_TNT_FULL)
		plugin_step_flush(step);
}

static void before_ip_packet(struct plugin_step *step)
{
	plugin_step_flush(step);
	before_packet(step);
}

void plugin_step_tip(struct plugin_step *step, uint64_t ip)
{
	before_ip_packet(step);
	step->at += format_pt_put_tip(step->at, &step->slot->last_ip, ip);
}

void plugin_step_fup(struct plugin_step *step, uint64_t ip)
{
	before_ip_packet(step);
	step->at += format_pt_put_fup(step->at, &step->slot->last_ip, ip);
}

void plugin_step_pgd(struct plugin_step *step)
{
	before_ip_packet(step);
	step->at += format_pt_put_tip_pgd_no_ip(step->at);
}

void plugin_step_pge(struct plugin_step *step, uint64_t ip)
{
	struct qemu_slot *slot = step->slot;

	/* Right after a PSB+ the time is known already. */
	if (step->config->timing != PTL_TIMING_NONE && !step->config->cpu_count &&
	    plugin_step_position(step) == slot->pt_head)
		put_full_time(step, plugin_encoder_now(slot, step->config));
	step->at += format_pt_put_tip_pge(step->at, &slot->last_ip, ip);
	/* Up to here a context switch may be placed, and not behind it. */
	if (step->config->cpu_count)
		put_full_time(step, plugin_encoder_now(slot, step->config));
}

void plugin_step_psb(struct plugin_step *step, uint64_t time, uint64_t ip)
{
	struct qemu_slot *slot = step->slot;

	plugin_step_flush(step);
	slot->psb_next = plugin_step_position(step) + step->config->psb_period;
	step->at += format_pt_put_psb(step->at);
	slot->last_ip = 0;
	slot->return_bottom = slot->return_top;
	put_full_time(step, time);
	step->at += format_pt_put_cbr(step->at, QEMU_NOMINAL_RATIO);
	step->at += format_pt_put_mode_exec(step->at, true, false, false);
	if (ip)
		step->at += format_pt_put_fup(step->at, &slot->last_ip, ip);
	step->at += format_pt_put_psbend(step->at);
}

/*
 * True if the decoder's return stack has `to` on top, and takes it off. If it has another address
 * there, the stack is emptied: whether a decoder pops at a return that was not compressed then
 * makes no difference.
 */
static bool pop_return(struct qemu_slot *slot, uint64_t to)
{
	if (slot->return_top - slot->return_bottom > QEMU_RETURN_STACK_SIZE)
		slot->return_bottom = slot->return_top - QEMU_RETURN_STACK_SIZE;
	if (slot->return_top == slot->return_bottom)
		return false;
	if (slot->return_stack[(slot->return_top - 1) % QEMU_RETURN_STACK_SIZE] != to) {
		slot->return_bottom = slot->return_top;
		return false;
	}
	slot->return_top--;
	return true;
}

void plugin_step_transition(struct plugin_step *step, const struct plugin_block *from, uint64_t to)
{
	struct qemu_slot *slot = step->slot;

	slot->instructions += from->count;
	switch ((enum qemu_block_kind)from->kind) {
	case QEMU_BLOCK_REPEAT:
		if (to == from->last)
			slot->instructions--; /* goes on: it counts when it is done */
		break;
	case QEMU_BLOCK_COND:
		plugin_step_tnt(step, to == from->taken);
		break;
	case QEMU_BLOCK_RETURN:
		if (step->config->return_compression && pop_return(slot, to)) {
			plugin_step_tnt(step, true);
			break;
		}
		plugin_step_tip(step, to);
		break;
	case QEMU_BLOCK_JUMP_INDIRECT:
	case QEMU_BLOCK_CALL_INDIRECT:
	case QEMU_BLOCK_FAR:
		plugin_step_tip(step, to);
		break;
	case QEMU_BLOCK_LINEAR:
	case QEMU_BLOCK_JUMP:
	case QEMU_BLOCK_CALL:
	case QEMU_BLOCK_SYSCALL:
	case QEMU_BLOCK_TRAP:
	case QEMU_BLOCK_UNDEFINED:
		break;
	}
}

void plugin_step_commit(struct plugin_step *step, uint64_t block_ip)
{
	struct qemu_slot *slot = step->slot;
	uint64_t head = plugin_step_position(step);

	if (head != slot->pt_head) {
		/* The bytes are there before they are committed. */
		PLUGIN_IN_ORDER();
		plugin_store_pair(&slot->commit_head, head, block_ip);
		PLUGIN_IN_ORDER();
	}
	plugin_store_state(slot, step->tnt << QEMU_TNT_SHIFT | (block_ip & QEMU_TNT_TAG), block_ip);
	__atomic_store_n(&slot->pt_head, head, __ATOMIC_RELEASE);
}

bool plugin_encoder_tnt_full(struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	struct plugin_step step = plugin_step_begin(slot, config);

	plugin_step_flush(&step);
	plugin_step_commit(&step, slot->block_ip);
	return slot->pt_head >= slot->pt_limit;
}

void plugin_encoder_wrap(struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	uint64_t end = slot->pt_lap + config->pt_ring_size;

	if (slot->pt_head < end)
		return;

	uint8_t *ring = (uint8_t *)(slot->pt_bias + slot->pt_lap);

	memcpy(ring, ring + config->pt_ring_size, slot->pt_head - end);
	slot->pt_bias -= config->pt_ring_size;
	__atomic_store_n(&slot->pt_lap, end, __ATOMIC_RELEASE);
}

bool plugin_encoder_has_room(const struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_ACQUIRE);

	return slot->pt_head - tail <= config->pt_ring_size - 2 * PLUGIN_STEP_MAX;
}

void plugin_encoder_set_limit(struct qemu_slot *slot, const struct qemu_channel_config *config)
{
	uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_ACQUIRE);
	uint64_t limit = slot->pt_lap + config->pt_ring_size;
	uint64_t room = tail + config->pt_ring_size - 2 * PLUGIN_STEP_MAX;

	if (room < limit)
		limit = room;
	if (slot->psb_next < limit)
		limit = slot->psb_next;
	slot->pt_limit = limit;
}
