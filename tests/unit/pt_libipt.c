/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates packets between PTL and libipt, the judge of the packet tests. */
#include "tests/unit/pt_libipt.h"

enum pt_packet_type pt_libipt_type(unsigned kind)
{
	switch (kind) {
#define X(ours, theirs)                                                                                                \
	case ours:                                                                                                     \
		return theirs;
		PT_LIBIPT_KINDS(X)
#undef X
	default:
		return ppt_invalid;
	}
}

bool pt_to_libipt(const struct ptl_pt_packet *ours, struct pt_packet *theirs)
{
	*theirs = (struct pt_packet){.type = pt_libipt_type(ours->kind)};
	switch (theirs->type) {
	case ppt_invalid:
		return false;
	case ppt_tnt_8:
	case ppt_tnt_64:
		theirs->payload.tnt.bit_size = ours->tnt.count;
		theirs->payload.tnt.payload = ours->tnt.bits;
		break;
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		theirs->payload.ip.ipc = (enum pt_ip_compression)ours->ip.form;
		theirs->payload.ip.ip = ours->ip.payload;
		break;
	case ppt_mode:
		if (ours->kind == PTL_PT_MODE_EXEC) {
			theirs->payload.mode.leaf = pt_mol_exec;
			theirs->payload.mode.bits.exec.csl = ours->mode_exec.cs_l;
			theirs->payload.mode.bits.exec.csd = ours->mode_exec.cs_d;
		} else {
			theirs->payload.mode.leaf = pt_mol_tsx;
			theirs->payload.mode.bits.tsx.intx = ours->mode_tsx.in_tx;
			theirs->payload.mode.bits.tsx.abrt = ours->mode_tsx.abort;
		}
		break;
	case ppt_tsc:
		theirs->payload.tsc.tsc = ours->tsc.tsc;
		break;
	case ppt_cbr:
		theirs->payload.cbr.ratio = ours->cbr.ratio;
		break;
	case ppt_tma:
		theirs->payload.tma.ctc = ours->tma.ctc;
		theirs->payload.tma.fc = ours->tma.fast;
		break;
	case ppt_mtc:
		theirs->payload.mtc.ctc = ours->mtc.ctc;
		break;
	case ppt_cyc:
		theirs->payload.cyc.value = ours->cyc.cycles;
		break;
	case ppt_pip:
		theirs->payload.pip.cr3 = ours->pip.cr3;
		theirs->payload.pip.nr = ours->pip.non_root;
		break;
	case ppt_vmcs:
		theirs->payload.vmcs.base = ours->vmcs.base;
		break;
	case ppt_mnt:
		theirs->payload.mnt.payload = ours->mnt.payload;
		break;
	case ppt_exstop:
		theirs->payload.exstop.ip = ours->exstop.ip;
		break;
	case ppt_mwait:
		theirs->payload.mwait.hints = ours->mwait.hints;
		theirs->payload.mwait.ext = ours->mwait.extensions;
		break;
	case ppt_pwre:
		theirs->payload.pwre.state = ours->pwre.state;
		theirs->payload.pwre.sub_state = ours->pwre.sub_state;
		theirs->payload.pwre.hw = ours->pwre.hardware;
		break;
	case ppt_pwrx:
		theirs->payload.pwrx.last = ours->pwrx.last;
		theirs->payload.pwrx.deepest = ours->pwrx.deepest;
		theirs->payload.pwrx.interrupt = ours->pwrx.wake & 1;
		theirs->payload.pwrx.store = ours->pwrx.wake >> 2 & 1;
		theirs->payload.pwrx.autonomous = ours->pwrx.wake >> 3 & 1;
		break;
	case ppt_ptw:
		theirs->payload.ptw.payload = ours->ptwrite.payload;
		theirs->payload.ptw.plc = ours->ptwrite.bytes == 8;
		theirs->payload.ptw.ip = ours->ptwrite.ip;
		break;
	default: /* packets without fields */
		break;
	}
	return true;
}

bool pt_same_as_libipt(const struct ptl_pt_packet *ours, const struct pt_packet *theirs)
{
	struct pt_packet want;

	if (!pt_to_libipt(ours, &want) || want.type != theirs->type || ours->size != theirs->size)
		return false;
#define SAME(member) (want.payload.member == theirs->payload.member)
	switch (want.type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
		return SAME(tnt.bit_size) && SAME(tnt.payload);
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		return SAME(ip.ipc) && SAME(ip.ip);
	case ppt_mode:
		if (!SAME(mode.leaf))
			return false;
		if (want.payload.mode.leaf == pt_mol_exec)
			return SAME(mode.bits.exec.csl) && SAME(mode.bits.exec.csd);
		return SAME(mode.bits.tsx.intx) && SAME(mode.bits.tsx.abrt);
	case ppt_tsc:
		return SAME(tsc.tsc);
	case ppt_cbr:
		return SAME(cbr.ratio);
	case ppt_tma:
		return SAME(tma.ctc) && SAME(tma.fc);
	case ppt_mtc:
		return SAME(mtc.ctc);
	case ppt_cyc:
		return SAME(cyc.value);
	case ppt_pip:
		return SAME(pip.cr3) && SAME(pip.nr);
	case ppt_vmcs:
		return SAME(vmcs.base);
	case ppt_mnt:
		return SAME(mnt.payload);
	case ppt_exstop:
		return SAME(exstop.ip);
	case ppt_mwait:
		return SAME(mwait.hints) && SAME(mwait.ext);
	case ppt_pwre:
		return SAME(pwre.state) && SAME(pwre.sub_state) && SAME(pwre.hw);
	case ppt_pwrx:
		return SAME(pwrx.last) && SAME(pwrx.deepest) && SAME(pwrx.interrupt) && SAME(pwrx.store) &&
		       SAME(pwrx.autonomous);
	case ppt_ptw:
		return SAME(ptw.payload) && SAME(ptw.plc) && SAME(ptw.ip);
	default:
		return true;
	}
#undef SAME
}

struct pt_packet_decoder *pt_libipt_decoder(const uint8_t *data, size_t size)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)data;
	config.end = config.begin + size;
	decoder = pt_pkt_alloc_decoder(&config);
	if (decoder && pt_pkt_sync_set(decoder, 0) < 0)
		abort();
	return decoder;
}

bool pt_same_failure(int ours, int theirs)
{
	switch (pt_errcode(theirs)) {
	case pte_eos:
		return ours == PTL_TRUNCATED;
	case pte_bad_opc:
		return ours == PTL_UNSUPPORTED;
	case pte_bad_packet:
		return ours == PTL_CORRUPT;
	default:
		return false;
	}
}
