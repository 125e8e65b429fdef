/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs random programs: branches, calls, events and packets in any order possible on a CPU. */
#include "tests/unit/random_flow_parts.h"

void random_count(struct random_counts *counts, uint8_t kind)
{
	counts->ptwrites += kind == FLOW_PTWRITE;
	counts->transactions += kind == FLOW_TSX;
	counts->exstops += kind == FLOW_EXSTOP;
	counts->mwaits += kind == FLOW_MWAIT;
	counts->pagings += kind == FLOW_PAGING;
	counts->vmcs += kind == FLOW_VMCS;
	counts->modes += kind == FLOW_EXEC_MODE;
	counts->cbrs += kind == FLOW_CBR;
	counts->powers += kind == FLOW_POWER_ENTRY || kind == FLOW_POWER_EXIT;
	counts->modern += kind == FLOW_CONTROL || kind == FLOW_EVENT_DATA || kind == FLOW_BLOCK_ITEM ||
			  kind == FLOW_TRIGGER;
}

static void flow_call(struct random_flow *flow, uint32_t from, bool counted)
{
	if (flow->depth == 256)
		memmove(flow->stack, flow->stack + 1, --flow->depth * sizeof(flow->stack[0]));
	flow->stack[flow->depth++] = from;
	if (!counted)
		return;
	flow->cpu_stack[flow->cpu_top++ % RANDOM_FLOW_STACK] = random_flow_address(flow, from);
	if (flow->cpu_count < RANDOM_FLOW_STACK)
		flow->cpu_count++;
}

/*
 * Pops the newest call off the CPU's stack. Returns whether it is the call at `to`. If not, the CPU may also have
 * forgotten its calls: a decoder's pop then makes no difference.
 */
static bool flow_pop(struct random_flow *flow, uint32_t to)
{
	bool expected;

	if (!flow->cpu_count)
		return false;
	expected = flow->cpu_stack[--flow->cpu_top % RANDOM_FLOW_STACK] == random_flow_address(flow, to);
	flow->cpu_count--;
	if (!expected && !random_flow_has(flow, FLOW_POPS))
		flow->cpu_count = 0;
	return expected;
}

/* Returns to the newest caller, or to another place by a forged address. */
static uint32_t flow_return(struct random_flow *flow)
{
	bool honest = flow->depth && pt_random_below(&flow->random, 16);
	uint32_t to = honest ? flow->stack[--flow->depth] : random_flow_anywhere(flow);

	if (flow->return_compression && flow_pop(flow, to)) {
		random_flow_bit(flow, true);
	} else {
		/* After TNT bits, the TIP would look like a compressed return, so the TIP is never deferred. */
		random_flow_flush(flow);
		random_flow_tip(flow, to);
	}
	return to;
}

/* TIP.PGD and, later, TIP.PGE; returns where. */
static uint32_t flow_leave(struct random_flow *flow, bool with_ip, uint32_t resume)
{
	random_flow_flush(flow);
	if (random_flow_has(flow, FLOW_TURNS))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {++flow->clock});
	if (with_ip)
		random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGD, flow->base - 64);
	else
		flow->pt_size += format_pt_put_tip_pgd_no_ip(random_flow_at(flow));
	flow->proven = flow->truth_count;
	if (pt_random_below(&flow->random, 16) == 0)
		random_flow_psb(flow, false, 0);
	if (random_flow_chance(flow, FLOW_EVENTS, 4))
		random_flow_disabled(flow, resume);
	flow->away = random_flow_has(flow, FLOW_TURNS);
	if (flow->away)
		return resume;
	random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, random_flow_address(flow, resume));
	flow->enables++;
	return resume;
}

/* Makes an event before the instruction at ip. Returns the next address. */
static uint32_t flow_disturb(struct random_flow *flow, uint32_t ip)
{
	uint32_t to = random_flow_anywhere(flow);

	random_flow_flush(flow);
	switch (pt_random_below(&flow->random, 4)) {
	case 0:
		random_flow_psb(flow, true, ip);
		return ip;
	case 1: /* an interrupt into traced code */
		random_flow_put_fup(flow, ip);
		flow->asyncs++;
		random_flow_tip(flow, to);
		return to;
	case 2: /* an interrupt into code that is not traced */
		random_flow_put_fup(flow, ip);
		flow->asyncs++;
		return flow_leave(flow, pt_random_below(&flow->random, 2), pt_random_below(&flow->random, 2) ? ip : to);
	default: /* an overflow: instructions without a proving packet are lost */
		flow->truth_count = flow->proven;
		flow->pt_size += format_pt_put_ovf(random_flow_at(flow));
		/* The decoder missed the lost calls. */
		flow->cpu_count = 0;
		flow->last_ip = 0;
		random_flow_put_fup(flow, to);
		flow->overflows++;
		return to;
	}
}

/* Makes an overflow. Instructions without a proving packet, and their calls, are lost. */
static uint32_t flow_overflow(struct random_flow *flow)
{
	uint32_t to = random_flow_anywhere(flow);

	flow->truth_count = flow->proven;
	flow->pt_size += format_pt_put_ovf(random_flow_at(flow));
	flow->cpu_count = 0;
	flow->last_ip = 0;
	flow->in_transaction = false;
	flow->overflows++;
	switch (pt_random_below(&flow->more, 5)) {
	case 0: /* another overflow */
		flow->overflows++;
		flow->pt_size += format_pt_put_ovf(random_flow_at(flow));
		random_flow_put_fup(flow, to);
		break;
	case 1: /* packets are disabled at the end */
		if (pt_random_below(&flow->more, 2))
			random_flow_disabled(flow, to);
		random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, random_flow_address(flow, to));
		flow->enables++;
		break;
	case 2: /* the overflow ends with a PSB */
		if (random_flow_has(flow, FLOW_RESTART)) {
			random_flow_psb(flow, true, to);
			break;
		}
		__attribute__((fallthrough));
	default:
		FLOW_PUT(flow, PTL_PT_MTC, .mtc = {3});
		random_flow_put_fup(flow, to);
	}
	return to;
}

/* Makes a far transfer by TIP; the page table and the mode may change. */
static uint32_t flow_far(struct random_flow *flow)
{
	uint32_t to = random_flow_anywhere(flow);

	random_flow_flush(flow);
	if (pt_random_below(&flow->more, 2))
		random_flow_put_paging(flow);
	if (pt_random_below(&flow->more, 2))
		random_flow_put_mode(flow);
	random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP, random_flow_address(flow, to));
	flow->proven = flow->truth_count;
	return to;
}

/* Makes an interrupt that changes more than the flow. */
static uint32_t flow_interrupt(struct random_flow *flow, uint32_t ip)
{
	random_flow_put_fup(flow, ip);
	flow->asyncs++;
	if (pt_random_below(&flow->more, 2))
		random_flow_put_vmcs(flow);
	if (pt_random_below(&flow->more, 2))
		random_flow_put_paging(flow);
	if (pt_random_below(&flow->more, 2))
		random_flow_put_mode(flow);
	ip = random_flow_anywhere(flow);
	random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP, random_flow_address(flow, ip));
	return ip;
}

/* Events before the instruction at ip; returns where flow goes on. */
static uint32_t flow_event(struct random_flow *flow, uint32_t ip)
{
	unsigned kind = (unsigned)pt_random_below(&flow->more, 6);

	random_flow_flush(flow);
	if (kind == 5)
		return flow_overflow(flow);
	/* The address proves all earlier instructions. */
	flow->proven = flow->truth_count;
	switch (kind) {
	case 0:
		random_flow_put_transaction(flow, !flow->in_transaction, false);
		random_flow_put_fup(flow, ip);
		return ip;
	case 1:
		random_flow_put_transaction(flow, false, true);
		random_flow_put_fup(flow, ip);
		flow->asyncs++;
		ip = random_flow_anywhere(flow);
		random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP, random_flow_address(flow, ip));
		return ip;
	case 2:
		random_flow_put_exstop(flow, ip);
		return ip;
	case 3:
		FLOW_PUT(flow, PTL_PT_MWAIT, .mwait = {.hints = 0x20});
		flow->counts.mwaits++;
		random_flow_put_power(flow);
		random_flow_put_exstop(flow, ip);
		return ip;
	default:
		return flow_interrupt(flow, ip);
	}
}

/* PTWRITE at ip was executed. */
static void flow_ptwrite(struct random_flow *flow, uint32_t ip)
{
	random_flow_flush(flow);
	random_flow_put_ptwrite(flow, flow->ptwrite_fup, ip);
	flow->proven = flow->truth_count;
}

/* Executes the last instruction of the block. Returns the target. */
static uint32_t flow_branch(struct random_flow *flow, const struct random_block *block)
{
	uint32_t to = random_flow_anywhere(flow);
	bool taken;

	switch (block->kind) {
	case END_JCC:
		taken = pt_random_below(&flow->random, 2);
		random_flow_bit(flow, taken);
		return taken ? block->target : block->end;
	case END_JMP:
		return block->target;
	case END_CALL:
		flow_call(flow, block->end, block->target != block->end);
		return block->target;
	case END_RET:
		return flow_return(flow);
	case END_CALL_REG:
		flow_call(flow, block->end, true);
		random_flow_tip(flow, to);
		return to;
	case END_SYSCALL:
		return random_flow_chance(flow, FLOW_EVENTS, 3) ? flow_far(flow) : flow_leave(flow, false, block->end);
	default:
		if (pt_random_below(&flow->random, 8) == 0)
			return flow_leave(flow, true, to);
		random_flow_tip(flow, to);
		return to;
	}
}

/* Makes any events before the instruction at ip. False: the flow continues at ip. */
static bool flow_happens(struct random_flow *flow, uint32_t *ip)
{
	if (random_flow_chance(flow, FLOW_CLOCK, 60))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow->clock});
	if (random_flow_chance(flow, FLOW_CHANGES, 150))
		flow->change(flow, *ip);
	if (random_flow_chance(flow, FLOW_TIMING, 50))
		random_flow_noise(flow);
	if (random_flow_chance(flow, FLOW_MODERN, 300) && random_flow_modern(flow, *ip))
		flow->proven = flow->truth_count;
	if (random_flow_chance(flow, FLOW_EVENTS, 400))
		*ip = flow_event(flow, *ip);
	else if (pt_random_below(&flow->random, 400) == 0)
		*ip = flow_disturb(flow, *ip);
	else
		return false;
	return true;
}

void random_flow_begin(struct random_flow *flow, uint64_t seed, unsigned ranges, unsigned features)
{
	memset(flow, 0, sizeof(*flow));
	flow->random = pt_random(seed);
	flow->more = pt_random(seed ^ 0x5bd1e995);
	flow->features = features;
	flow->mode = random_flow_chance(flow, FLOW_32, 4) ? 32 : 64;
	flow->ptwrite = random_flow_chance(flow, FLOW_EVENTS, 2);
	flow->ptwrite_fup = random_flow_chance(flow, FLOW_EVENTS, 2);
	/* Each run has some of the features, so that combinations vary. */
	if (features)
		flow->features &= (unsigned)pt_random_next(&flow->more) | (unsigned)pt_random_next(&flow->more);
	flow->range_count = ranges;
	flow->base = pt_random_below(&flow->random, 2) ? 0x400000 : flow->mode == 32 ? 0xf7810000 : 0x7ffff7810000ull;
	flow->return_compression = pt_random_below(&flow->random, 4);
	flow->long_tnt = pt_random_below(&flow->random, 2);
	flow->tnt = 1;
	flow->clock = 1000;
	random_flow_make_code(flow);
}

/* Executes the instruction at ip. Returns the next address. */
static uint32_t flow_step(struct random_flow *flow, uint32_t ip)
{
	const struct random_block *block = random_flow_block(flow, ip);

	flow->times[flow->truth_count] = flow->clock;
	flow->truth[flow->truth_count++] = random_flow_address(flow, ip);
	flow->clock += 1 + flow->lengths[ip];
	if (ip == block->last)
		return flow_branch(flow, block);
	if (flow->ptwrite && !memcmp(flow->code + ip, random_ptwrite, sizeof(random_ptwrite)))
		flow_ptwrite(flow, ip);
	return ip + flow->lengths[ip];
}

void random_flow_run(struct random_flow *flow, size_t steps)
{
	uint32_t ip = random_flow_anywhere(flow);

	random_flow_psb(flow, true, ip);
	while (flow->truth_count < steps && flow->pt_size < RANDOM_FLOW_PT - 1024) {
		/* The last packet is a flow packet, as the libipt engines skip packets behind it. */
		if (flow->truth_count + 300 < steps && flow_happens(flow, &ip))
			continue;
		ip = flow_step(flow, ip);
	}
	random_flow_flush(flow);
	flow->truth_count = flow->proven;
}

uint32_t random_flow_turn(struct random_flow *flow, uint32_t ip)
{
	flow->away = false;
	random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP_PGE, random_flow_address(flow, ip));
	flow->enables++;
	FLOW_PUT(flow, PTL_PT_TSC, .tsc = {++flow->clock});
	while (!flow->away)
		if (!flow_happens(flow, &ip))
			ip = flow_step(flow, ip);
	return ip;
}

void random_flow_make_with(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges, unsigned features)
{
	random_flow_begin(flow, seed, ranges, features);
	random_flow_run(flow, steps);
}

void random_flow_make_apart(struct random_flow *flow, uint64_t seed, size_t steps, unsigned ranges)
{
	random_flow_make_with(flow, seed, steps, ranges, 0);
}

void random_flow_make(struct random_flow *flow, uint64_t seed, size_t steps)
{
	random_flow_make_with(flow, seed, steps, 1, FLOW_ALL);
}
