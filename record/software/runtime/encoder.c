/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: writes Intel PT packets for the blocks of a thread into the ring of the thread. */

#include "record/software/runtime/encoder.h"

#include <string.h>

#include "format/pt/encode.h"
#include "record/software/runtime/runtime.h"

/* CTC ticks are ART ticks: 25 MHz, a tick is 40 of the TSC's. */
#define TSC_PER_CTC (CHANNEL_CPUID_15_EBX / CHANNEL_CPUID_15_EAX)
/* MTC carries eight bits of the CTC. After this many periods without an MTC, the full time is written instead. */
#define MTC_PERIODS_MAX 192u
/* limit of cycles for a CYC packet; after a longer pause a TSC is written */
#define CYC_MAX 0xffffffffull
/* maximal number of pending TNT bits for which six-bit packets are shorter than the long packet */
#define SHORT_TNT_BITS 42
/*
 * In MTC and CYC mode the runtime reads the clock after a number of written bytes. The number adapts to between 0.5 and
 * 2 microseconds.
 */
#define TIME_BYTES_MIN 16u
#define TIME_BYTES_MAX 1024u
#define TIME_SHORT 500u
#define TIME_LONG 2000u
#define TNT_64_BITS 47u

void runtime_encoder_start(struct channel_slot *slot, const struct channel_config *config, uint8_t *ring)
{
	memset(&slot->pt_head, 0, sizeof(*slot) - offsetof(struct channel_slot, pt_head));
	slot->pt_bias = (uint64_t)ring;
	runtime_encoder_set_limit(slot, config);
}

uint64_t runtime_encoder_now(struct channel_slot *slot, const struct channel_config *config)
{
	uint64_t now;

	if (config->clock == PTL_CLOCK_VIRTUAL) {
		now = slot->virtual_offset + slot->instructions;
	} else {
		now = runtime_monotonic();
	}
	now = now > slot->time ? now : slot->time;
	runtime_thread_of(slot)->time_seen = now;
	return now;
}

struct runtime_step runtime_step_begin(struct channel_slot *slot, const struct channel_config *config)
{
	struct runtime_thread *thread = runtime_thread_of(slot);
	struct runtime_step step = {slot, config, (uint8_t *)(slot->pt_bias + slot->pt_head), thread->tnt};
	const unsigned bits = 63 - (unsigned)__builtin_clzll(step.tnt);

	/* Translated code appends more than a packet takes. */
	if (bits > TNT_64_BITS) {
		const unsigned rest = bits - TNT_64_BITS;
		const uint64_t tnt = step.tnt;

		step.tnt = tnt >> rest;
		runtime_step_flush(&step);
		step.tnt = (tnt & ((1ull << rest) - 1)) | 1ull << rest;
	}
	thread->tnt = 1;
	return step;
}

uint64_t runtime_step_position(const struct runtime_step *step)
{
	return (uint64_t)step->at - step->slot->pt_bias;
}

/* Writes TSC and the packets that accompany TSC in the timing mode. */
static void put_full_time(struct runtime_step *step, uint64_t time)
{
	struct channel_slot *slot = step->slot;

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

static void put_cycles(struct runtime_step *step, uint64_t time)
{
	struct channel_slot *slot = step->slot;

	if (step->config->timing != PTL_TIMING_CYC || time < slot->cyc_time)
		return;
	step->at += format_pt_put_cyc(step->at, time - slot->cyc_time);
	slot->cyc_time = time;
}

/*
 * Writes the MTC and CYC packets before the step's first packet. An MTC stands for the start of its period. A CYC
 * before the MTC covers the time up to that start, and a second CYC the time up to now. Between TIP.PGD and TIP.PGE
 * cycles are not counted while the CTC goes on, which would mislead a decoder that derives the frequency from both: a
 * CBR states the frequency again.
 */
static void put_passed_time(struct runtime_step *step)
{
	struct channel_slot *slot = step->slot;
	uint64_t time = runtime_encoder_now(slot, step->config);
	uint64_t ctc = time / TSC_PER_CTC >> step->config->mtc_shift;

	if (ctc - slot->ctc > MTC_PERIODS_MAX || time - slot->cyc_time > CYC_MAX) {
		put_full_time(step, time);
		return;
	}
	if (ctc != slot->ctc) {
		put_cycles(step, (ctc << step->config->mtc_shift) * TSC_PER_CTC);
		step->at += format_pt_put_mtc(step->at, (uint8_t)ctc);
		if (step->config->timing == PTL_TIMING_CYC)
			step->at += format_pt_put_cbr(step->at, CHANNEL_NOMINAL_RATIO);
		slot->ctc = ctc;
		slot->time = time;
	}
	if (step->config->timing == PTL_TIMING_CYC) {
		put_cycles(step, time);
		slot->time = time;
	}
}

/* Writes timing packets at the beginning of a step, except before the first PSB. */
static void before_packet(struct runtime_step *step)
{
	struct channel_slot *slot = step->slot;

	if (step->config->timing >= PTL_TIMING_MTC && slot->pt_head != 0 &&
	    runtime_step_position(step) == slot->pt_head)
		put_passed_time(step);
}

void runtime_step_flush(struct runtime_step *step)
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

void runtime_step_tnt(struct runtime_step *step, bool taken)
{
	step->tnt = step->tnt << 1 | taken;
	if (step->tnt & RUNTIME_TNT_FULL)
		runtime_step_flush(step);
}

static void before_ip_packet(struct runtime_step *step)
{
	runtime_step_flush(step);
	before_packet(step);
}

void runtime_step_tip(struct runtime_step *step, uint64_t ip)
{
	before_ip_packet(step);
	step->at += format_pt_put_tip(step->at, &step->slot->last_ip, ip);
}

void runtime_step_fup(struct runtime_step *step, uint64_t ip)
{
	before_ip_packet(step);
	step->at += format_pt_put_fup(step->at, &step->slot->last_ip, ip);
}

void runtime_step_pgd(struct runtime_step *step)
{
	before_ip_packet(step);
	step->at += format_pt_put_tip_pgd_no_ip(step->at);
}

void runtime_step_pge(struct runtime_step *step, uint64_t ip)
{
	struct channel_slot *slot = step->slot;

	/* Right after a PSB+ the time is known already. */
	if (step->config->timing != PTL_TIMING_NONE && !step->config->cpu_count &&
	    runtime_step_position(step) == slot->pt_head)
		put_full_time(step, runtime_encoder_now(slot, step->config));
	step->at += format_pt_put_tip_pge(step->at, &slot->last_ip, ip);
	/* A decoder may place a context switch up to this packet, and not behind. */
	if (step->config->cpu_count)
		put_full_time(step, runtime_encoder_now(slot, step->config));
}

void runtime_step_psb(struct runtime_step *step, uint64_t time, const uint64_t *ip)
{
	struct channel_slot *slot = step->slot;

	runtime_step_flush(step);
	slot->psb_next = runtime_step_position(step) + step->config->psb_period;
	step->at += format_pt_put_psb(step->at);
	slot->last_ip = 0;
	put_full_time(step, time);
	step->at += format_pt_put_cbr(step->at, CHANNEL_NOMINAL_RATIO);
	step->at += format_pt_put_mode_exec(step->at, true, false, false);
	if (ip)
		step->at += format_pt_put_fup(step->at, &slot->last_ip, *ip);
	step->at += format_pt_put_psbend(step->at);
}

uint64_t runtime_step_stand(struct runtime_step *step, uint64_t ip, const uint32_t *number)
{
	uint64_t time;

	before_ip_packet(step);
	time = runtime_encoder_now(step->slot, step->config);
	step->at += number ? format_pt_put_ptwrite(step->at, *number, 4, true) : format_pt_put_exstop(step->at, true);
	step->at += format_pt_put_fup(step->at, &step->slot->last_ip, ip);
	put_full_time(step, time + 1);
	return time;
}

void runtime_step_commit(struct runtime_step *step)
{
	runtime_step_flush(step);
	__atomic_store_n(&step->slot->pt_head, runtime_step_position(step), __ATOMIC_RELEASE);
}

void runtime_encoder_wrap(struct channel_slot *slot, const struct channel_config *config)
{
	uint64_t end = slot->pt_lap + config->pt_ring_size;

	if (slot->pt_head < end)
		return;

	uint8_t *ring = (uint8_t *)(slot->pt_bias + slot->pt_lap);

	memcpy(ring, ring + config->pt_ring_size, slot->pt_head - end);
	slot->pt_bias -= config->pt_ring_size;
	__atomic_store_n(&slot->pt_lap, end, __ATOMIC_RELEASE);
}

bool runtime_encoder_has_room(const struct channel_slot *slot, const struct channel_config *config)
{
	uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_ACQUIRE);

	return slot->pt_head - tail <= config->pt_ring_size - 2 * RUNTIME_STEP_MAX;
}

void runtime_encoder_set_limit(struct channel_slot *slot, const struct channel_config *config)
{
	uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_ACQUIRE);
	uint64_t limit = slot->pt_lap + config->pt_ring_size;
	uint64_t room = tail + config->pt_ring_size - 2 * RUNTIME_STEP_MAX;
	struct runtime_thread *thread = runtime_thread_of(slot);

	if (room < limit)
		limit = room;
	if (slot->psb_next < limit)
		limit = slot->psb_next;
	/* The virtual clock costs no clock reading: the runtime writes every packet with a CYC. */
	if (config->timing == PTL_TIMING_CYC && config->clock == PTL_CLOCK_VIRTUAL) {
		limit = 0;
	} else if (config->timing >= PTL_TIMING_MTC) {
		/* Adapts the number of bytes between two clock readings. */
		const uint64_t passed = thread->time_seen - thread->time_looked;

		if (passed < TIME_SHORT && thread->time_bytes < TIME_BYTES_MAX)
			thread->time_bytes *= 2;
		else if (passed > TIME_LONG)
			thread->time_bytes /= 2;
		if (thread->time_bytes < TIME_BYTES_MIN)
			thread->time_bytes = TIME_BYTES_MIN;
		thread->time_looked = thread->time_seen;
		if (slot->pt_head + thread->time_bytes < limit)
			limit = slot->pt_head + thread->time_bytes;
	}
	__atomic_store_n(&slot->pt_limit, limit, __ATOMIC_SEQ_CST);
	/* A request in between set both limits to 0. */
	if (!__atomic_load_n(&thread->limit, __ATOMIC_SEQ_CST))
		__atomic_store_n(&slot->pt_limit, 0, __ATOMIC_SEQ_CST);
}
