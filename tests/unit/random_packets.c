/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of random runs. */
#include "tests/unit/random_flow_parts.h"

#include "format/pt/last_ip.h"

uint8_t *random_flow_at(struct random_flow *flow)
{
	return flow->pt + flow->pt_size;
}

void random_flow_put_ip(struct random_flow *flow, unsigned match, uint64_t ip)
{
	static const uint8_t forms[] = {PTL_PT_IP_UPDATE_16, PTL_PT_IP_UPDATE_32, PTL_PT_IP_SIGN_48,
					PTL_PT_IP_UPDATE_48, PTL_PT_IP_FULL};
	unsigned form = forms[random_flow_has(flow, FLOW_FORMS) ? pt_random_below(&flow->more, sizeof(forms)) : 0];
	uint64_t payload = ip & ~0ull >> (64 - 8 * format_pt_ip_size(form));

	if (!random_flow_has(flow, FLOW_FORMS) || format_pt_ip_expand(flow->last_ip, form, payload) != ip) {
		flow->pt_size += format_pt_put_ip(random_flow_at(flow), match, &flow->last_ip, ip);
		return;
	}
	flow->pt_size += format_pt_put_ip_form(random_flow_at(flow), match, form, payload);
	flow->last_ip = ip;
}

void random_flow_put_fup(struct random_flow *flow, uint32_t ip)
{
	random_flow_put_ip(flow, FORMAT_PT_MATCH_FUP, random_flow_address(flow, ip));
}

void random_flow_flush(struct random_flow *flow)
{
	if (flow->tnt > 1)
		flow->pt_size += format_pt_put_tnt(random_flow_at(flow), flow->tnt);
	flow->tnt = 1;
	for (unsigned i = 0; i < flow->deferred_count; i++)
		random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP, random_flow_address(flow, flow->deferred[i]));
	if (flow->deferred_count && flow->proven < flow->deferred_proven)
		flow->proven = flow->deferred_proven;
	flow->deferred_count = 0;
}

void random_flow_put(struct random_flow *flow, const struct ptl_pt_packet *packet)
{
	int size = ptl_pt_encode(packet, random_flow_at(flow), PTL_PT_PACKET_MAX);

	if (size < 0)
		abort();
	flow->pt_size += (size_t)size;
}

uint64_t random_flow_value(struct random_flow *flow, unsigned bits)
{
	return pt_random_bits(&flow->more, bits);
}

void random_flow_put_power(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_PWRE, .pwre = {.state = (uint8_t)random_flow_value(flow, 4)});
	FLOW_PUT(flow, PTL_PT_PWRX, .pwrx = {.last = (uint8_t)random_flow_value(flow, 4), .wake = 1});
	flow->counts.powers += 2;
}

void random_flow_noise(struct random_flow *flow)
{
	switch (pt_random_below(&flow->more, 8)) {
	case 0:
		for (uint64_t count = pt_random_below(&flow->more, 20); count; count--)
			FLOW_PUT(flow, PTL_PT_PAD);
		break;
	case 1:
		FLOW_PUT(flow, PTL_PT_TSC,
			 .tsc = {random_flow_has(flow, FLOW_CLOCK) ? flow->clock : random_flow_value(flow, 40)});
		FLOW_PUT(flow, PTL_PT_TMA, .tma = {.ctc = (uint16_t)random_flow_value(flow, 16), .fast = 3});
		break;
	case 2:
		FLOW_PUT(flow, PTL_PT_TSC,
			 .tsc = {random_flow_has(flow, FLOW_CLOCK) ? flow->clock : random_flow_value(flow, 40)});
		break;
	case 3:
		FLOW_PUT(flow, PTL_PT_MTC, .mtc = {(uint8_t)random_flow_value(flow, 8)});
		break;
	case 4:
		FLOW_PUT(flow, PTL_PT_CYC, .cyc = {random_flow_value(flow, 20)});
		break;
	case 5:
		FLOW_PUT(flow, PTL_PT_MNT, .mnt = {random_flow_value(flow, 64)});
		break;
	case 6:
		FLOW_PUT(flow, PTL_PT_CBR, .cbr = {(uint8_t)(1 + random_flow_value(flow, 7))});
		flow->counts.cbrs++;
		break;
	default:
		if (random_flow_has(flow, FLOW_EVENTS))
			random_flow_put_power(flow);
	}
}

void random_flow_bit(struct random_flow *flow, bool taken)
{
	unsigned limit = flow->long_tnt ? FORMAT_PT_TNT_64_MAX : FORMAT_PT_TNT_8_MAX;

	flow->tnt = flow->tnt << 1 | taken;
	flow->proven = flow->truth_count;
	if (flow->tnt >> limit || pt_random_below(&flow->random, 40) == 0)
		random_flow_flush(flow);
}

void random_flow_psb(struct random_flow *flow, bool enabled, uint32_t ip)
{
	random_flow_flush(flow);
	if (flow->segments < RANDOM_FLOW_SEGMENTS)
		flow->segment_clock[flow->segments] = flow->clock;
	flow->pt_size += format_pt_put_psb(random_flow_at(flow));
	flow->last_ip = 0;
	flow->cpu_count = 0;
	flow->pt_size += format_pt_put_cbr(random_flow_at(flow), 10);
	flow->pt_size += format_pt_put_mode_exec(random_flow_at(flow), flow->mode == 64, flow->mode == 32, true);
	if (random_flow_has(flow, FLOW_CLOCK))
		FLOW_PUT(flow, PTL_PT_TSC, .tsc = {flow->clock});
	if (random_flow_has(flow, FLOW_EVENTS))
		flow->pt_size += format_pt_put_mode_tsx(random_flow_at(flow), flow->in_transaction, false);
	if (enabled)
		random_flow_put_fup(flow, ip);
	flow->pt_size += format_pt_put_psbend(random_flow_at(flow));
	flow->proven = flow->truth_count;
	flow->segments++;
}

void random_flow_tip(struct random_flow *flow, uint32_t ip)
{
	if (flow->tnt > 1 && flow->deferred_count < FLOW_DEFERRED_MAX && random_flow_chance(flow, FLOW_DEFERRED, 2)) {
		flow->deferred[flow->deferred_count++] = ip;
		flow->deferred_proven = flow->truth_count;
		return;
	}
	random_flow_flush(flow);
	random_flow_put_ip(flow, FORMAT_PT_MATCH_TIP, random_flow_address(flow, ip));
	flow->proven = flow->truth_count;
}

void random_flow_put_paging(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_PIP, .pip = {.cr3 = random_flow_value(flow, 40) << 12});
	flow->counts.pagings++;
}

void random_flow_put_vmcs(struct random_flow *flow)
{
	FLOW_PUT(flow, PTL_PT_VMCS, .vmcs = {random_flow_value(flow, 40) << 12});
	flow->counts.vmcs++;
}

void random_flow_put_mode(struct random_flow *flow)
{
	flow->pt_size += format_pt_put_mode_exec(random_flow_at(flow), flow->mode == 64, flow->mode == 32, false);
	flow->counts.modes++;
}

void random_flow_put_exstop(struct random_flow *flow, uint32_t ip)
{
	FLOW_PUT(flow, PTL_PT_EXSTOP, .exstop = {.ip = 1});
	random_flow_put_fup(flow, ip);
	flow->counts.exstops++;
}

void random_flow_put_ptwrite(struct random_flow *flow, bool fup, uint32_t ip)
{
	FLOW_PUT(flow, PTL_PT_PTWRITE, .ptwrite = {.payload = random_flow_value(flow, 32), .bytes = 4, .ip = fup});
	if (fup)
		random_flow_put_fup(flow, ip);
	flow->counts.ptwrites++;
}

void random_flow_put_transaction(struct random_flow *flow, bool in_transaction, bool abort)
{
	flow->pt_size += format_pt_put_mode_tsx(random_flow_at(flow), in_transaction, abort);
	flow->in_transaction = in_transaction;
	flow->counts.transactions++;
}

bool random_flow_modern(struct random_flow *flow, uint32_t ip)
{
	bool fup = pt_random_below(&flow->more, 2);
	unsigned items = 0;

	random_flow_flush(flow);
	switch (pt_random_below(&flow->more, 3)) {
	case 0: /* an event without address, or followed by its FUP */
		FLOW_PUT(flow, PTL_PT_EVD, .evd = {.payload = random_flow_value(flow, 64), .type = 2});
		FLOW_PUT(flow, PTL_PT_CFE, .cfe = {.type = FLOW_CONTROL_VM_ENTRY, .ip = fup});
		flow->counts.modern += 2;
		break;
	case 1:
		FLOW_PUT(flow, PTL_PT_BBP, .bbp = {.type = 4, .bip_bytes = 8});
		for (items = 1 + (unsigned)pt_random_below(&flow->more, 6); items; items--) {
			FLOW_PUT(flow, PTL_PT_BIP,
				 .bip = {.payload = random_flow_value(flow, 64), .id = 3, .bytes = 8});
			flow->counts.modern++;
		}
		FLOW_PUT(flow, PTL_PT_BEP, .bep = {.ip = fup});
		break;
	default:
		FLOW_PUT(flow, PTL_PT_TRIG, .trig = {.triggers = 1, .ip = fup, .has_count = fup});
		flow->counts.modern++;
	}
	if (fup)
		random_flow_put_fup(flow, ip);
	return fup;
}

void random_flow_disabled(struct random_flow *flow, uint32_t ip)
{
	switch (pt_random_below(&flow->more, 6)) {
	case 0:
		random_flow_put_transaction(flow, !flow->in_transaction, false);
		break;
	case 1:
		random_flow_put_vmcs(flow);
		random_flow_put_paging(flow);
		break;
	case 2:
		random_flow_put_exstop(flow, ip);
		break;
	case 3:
		random_flow_put_ptwrite(flow, pt_random_below(&flow->more, 2), ip);
		break;
	case 4:
		random_flow_put_mode(flow);
		break;
	default:
		random_flow_noise(flow);
		if (random_flow_has(flow, FLOW_MODERN))
			random_flow_modern(flow, ip);
	}
}
