/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes a packet of any kind, after checking its fields. */
#include "format/pt/encode.h"

#include "format/pt/fields.h"

static uint64_t stop_bit(const struct ptl_pt_packet *packet)
{
	return packet->tnt.bits | 1ull << packet->tnt.count;
}

static size_t put_ip(uint8_t *p, const struct ptl_pt_packet *packet)
{
	return format_pt_put_ip_form(p, format_pt_layouts[packet->kind].match, packet->ip.form, packet->ip.payload);
}

/* Encodes packets that report execution: flow, mode and address space. */
static size_t put_flow(uint8_t *p, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_PAD:
		return format_pt_put_pad(p);
	case PTL_PT_PSB:
		return format_pt_put_psb(p);
	case PTL_PT_PSBEND:
		return format_pt_put_psbend(p);
	case PTL_PT_OVF:
		return format_pt_put_ovf(p);
	case PTL_PT_TRACESTOP:
		return format_pt_put_tracestop(p);
	case PTL_PT_TNT_8:
		return format_pt_put_tnt_8(p, stop_bit(packet));
	case PTL_PT_TNT_64:
		return format_pt_put_tnt_64(p, stop_bit(packet));
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		return put_ip(p, packet);
	case PTL_PT_MODE_EXEC:
		return format_pt_put_mode_exec(p, packet->mode_exec.cs_l, packet->mode_exec.cs_d,
					       packet->mode_exec.interrupt_flag);
	case PTL_PT_MODE_TSX:
		return format_pt_put_mode_tsx(p, packet->mode_tsx.in_tx, packet->mode_tsx.abort);
	case PTL_PT_PIP:
		return format_pt_put_pip(p, packet->pip.cr3, packet->pip.non_root);
	case PTL_PT_VMCS:
		return format_pt_put_vmcs(p, packet->vmcs.base);
	default:
		return 0;
	}
}

/* Encodes packets that report time, power and events. */
static size_t put_other(uint8_t *p, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TSC:
		return format_pt_put_tsc(p, packet->tsc.tsc);
	case PTL_PT_CBR:
		return format_pt_put_cbr(p, packet->cbr.ratio);
	case PTL_PT_TMA:
		return format_pt_put_tma(p, packet->tma.ctc, packet->tma.fast);
	case PTL_PT_MTC:
		return format_pt_put_mtc(p, packet->mtc.ctc);
	case PTL_PT_CYC:
		return format_pt_put_cyc(p, packet->cyc.cycles);
	case PTL_PT_MNT:
		return format_pt_put_mnt(p, packet->mnt.payload);
	case PTL_PT_EXSTOP:
		return format_pt_put_exstop(p, packet->exstop.ip);
	case PTL_PT_MWAIT:
		return format_pt_put_mwait(p, packet->mwait.hints, packet->mwait.extensions);
	case PTL_PT_PWRE:
		return format_pt_put_pwre(p, packet->pwre.state, packet->pwre.sub_state, packet->pwre.hardware);
	case PTL_PT_PWRX:
		return format_pt_put_pwrx(p, packet->pwrx.last, packet->pwrx.deepest, packet->pwrx.wake);
	case PTL_PT_PTWRITE:
		return format_pt_put_ptwrite(p, packet->ptwrite.payload, packet->ptwrite.bytes, packet->ptwrite.ip);
	case PTL_PT_BBP:
		return format_pt_put_bbp(p, packet->bbp.type, packet->bbp.bip_bytes);
	case PTL_PT_BIP:
		return format_pt_put_bip(p, packet->bip.id, packet->bip.payload, packet->bip.bytes);
	case PTL_PT_BEP:
		return format_pt_put_bep(p, packet->bep.ip);
	case PTL_PT_CFE:
		return format_pt_put_cfe(p, packet->cfe.type, packet->cfe.vector, packet->cfe.ip);
	case PTL_PT_EVD:
		return format_pt_put_evd(p, packet->evd.type, packet->evd.payload);
	case PTL_PT_TRIG:
		return format_pt_put_trig(p, packet->trig.triggers, packet->trig.ip, packet->trig.multiple,
					  packet->trig.has_count, packet->trig.count);
	default:
		return 0;
	}
}

int ptl_pt_encode(const struct ptl_pt_packet *packet, uint8_t *data, size_t room)
{
	uint8_t bytes[PTL_PT_PACKET_MAX] = {0};
	size_t size;

	if (format_pt_packet_invalid(packet))
		return PTL_MISUSE;
	size = put_flow(bytes, packet);
	if (!size)
		size = put_other(bytes, packet);
	if (size > room)
		return PTL_NO_MEMORY;
	memcpy(data, bytes, size);
	return (int)size;
}
