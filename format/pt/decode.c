/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes rare packets and packets within blocks. */
#include "format/pt/decode.h"

/* Second byte of a two-byte opcode. */
#define SECOND(kind) (FORMAT_PT_MATCH_##kind >> 8)

/* Returns the kind of an extended packet by its second byte; PTL_PT_NONE: unknown. All opcodes 02 C3 count as MNT. */
static enum ptl_pt_kind extended_kind(uint8_t second)
{
	switch (second) {
	case SECOND(PSB):
		return PTL_PT_PSB;
	case SECOND(PSBEND):
		return PTL_PT_PSBEND;
	case SECOND(OVF):
		return PTL_PT_OVF;
	case SECOND(TNT_64):
		return PTL_PT_TNT_64;
	case SECOND(CBR):
		return PTL_PT_CBR;
	case SECOND(TMA):
		return PTL_PT_TMA;
	case SECOND(PIP):
		return PTL_PT_PIP;
	case SECOND(VMCS):
		return PTL_PT_VMCS;
	case SECOND(TRACESTOP):
		return PTL_PT_TRACESTOP;
	case FORMAT_PT_EXTENDED_3:
		return PTL_PT_MNT;
	case SECOND(EXSTOP):
	case SECOND(EXSTOP) | FORMAT_PT_OPCODE_IP:
		return PTL_PT_EXSTOP;
	case SECOND(MWAIT):
		return PTL_PT_MWAIT;
	case SECOND(PWRE):
		return PTL_PT_PWRE;
	case SECOND(PWRX):
		return PTL_PT_PWRX;
	case SECOND(BBP):
		return PTL_PT_BBP;
	case SECOND(BEP):
	case SECOND(BEP) | FORMAT_PT_OPCODE_IP:
		return PTL_PT_BEP;
	case SECOND(CFE):
		return PTL_PT_CFE;
	case SECOND(EVD):
		return PTL_PT_EVD;
	default:
		return (second & FORMAT_PT_MASK_PTWRITE >> 8) == SECOND(PTWRITE) ? PTL_PT_PTWRITE : PTL_PT_NONE;
	}
}

static int decode_psb(const uint8_t *data)
{
	for (size_t i = 0; i < PTL_PT_PSB_SIZE; i += 2)
		if (common_load16(data + i) != FORMAT_PT_MATCH_PSB)
			return PTL_CORRUPT;
	return FORMAT_PT_SIZE_PSB;
}

static int decode_tnt_64(const uint8_t *data, struct ptl_pt_packet *packet)
{
	uint64_t branches = common_load64(data) >> 16;

	if (branches < 2) /* no stop bit, or no branch below the stop bit */
		return PTL_CORRUPT;
	packet->tnt.count = (uint8_t)format_pt_top_bit(branches);
	packet->tnt.bits = branches ^ 1ull << packet->tnt.count;
	return FORMAT_PT_SIZE_TNT_64;
}

static int decode_tma(const uint8_t *data, struct ptl_pt_packet *packet)
{
	packet->tma.ctc = common_load16(data + 2);
	packet->tma.fast = common_load16(data + 5);
	return data[4] || packet->tma.fast > 0x1ff ? PTL_CORRUPT : FORMAT_PT_SIZE_TMA;
}

static int decode_mnt(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	if (data[2] != FORMAT_PT_MATCH_MNT >> 16)
		return PTL_UNSUPPORTED;
	if (size < FORMAT_PT_SIZE_MNT)
		return PTL_TRUNCATED;
	packet->mnt.payload = common_load64(data + 3);
	return FORMAT_PT_SIZE_MNT;
}

static int decode_ptwrite(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	unsigned bytes = data[1] >> FORMAT_PT_PTW_BYTES_SHIFT & 3;

	if (bytes > 1)
		return PTL_CORRUPT;
	packet->ptwrite.bytes = bytes ? 8 : 4;
	if (size < 2u + packet->ptwrite.bytes)
		return PTL_TRUNCATED;
	packet->ptwrite.payload = common_load_le(data + 2, packet->ptwrite.bytes);
	packet->ptwrite.ip = !!(data[1] & FORMAT_PT_OPCODE_IP);
	return 2 + packet->ptwrite.bytes;
}

static int decode_power(const uint8_t *data, struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_MWAIT:
		packet->mwait.hints = common_load32(data + 2);
		packet->mwait.extensions = common_load32(data + 6);
		return FORMAT_PT_SIZE_MWAIT;
	case PTL_PT_PWRE:
		packet->pwre.state = data[3] >> 4;
		packet->pwre.sub_state = data[3] & 15;
		packet->pwre.hardware = data[2] >> 3 & 1;
		return FORMAT_PT_SIZE_PWRE;
	default:
		packet->pwrx.last = data[2] >> 4;
		packet->pwrx.deepest = data[2] & 15;
		packet->pwrx.wake = data[3] & 15;
		return FORMAT_PT_SIZE_PWRX;
	}
}

/* Decodes packets of blocks and events. */
static int decode_event(const uint8_t *data, struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_BBP:
		packet->bbp.type = data[2] & 0x1f;
		packet->bbp.bip_bytes = data[2] & FORMAT_PT_BBP_4_BYTES ? 4 : 8;
		return FORMAT_PT_SIZE_BBP;
	case PTL_PT_BEP:
		packet->bep.ip = !!(data[1] & FORMAT_PT_OPCODE_IP);
		return FORMAT_PT_SIZE_BEP;
	case PTL_PT_CFE:
		packet->cfe.type = data[2] & 0x1f;
		packet->cfe.vector = data[3];
		packet->cfe.ip = !!(data[2] & FORMAT_PT_OPCODE_IP);
		return FORMAT_PT_SIZE_CFE;
	default:
		packet->evd.type = data[2] & 0x3f;
		packet->evd.payload = common_load64(data + 3);
		return FORMAT_PT_SIZE_EVD;
	}
}

static int decode_extended(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	enum ptl_pt_kind kind;

	if (size < 2)
		return PTL_TRUNCATED;
	kind = extended_kind(data[1]);
	if (kind == PTL_PT_NONE)
		return PTL_UNSUPPORTED;
	packet->kind = (uint8_t)kind;
	if (kind == PTL_PT_PTWRITE)
		return decode_ptwrite(data, size, packet);
	if (kind == PTL_PT_MNT)
		return size < 3 ? PTL_TRUNCATED : decode_mnt(data, size, packet);
	if (size < format_pt_layouts[kind].least)
		return PTL_TRUNCATED;

	switch (kind) {
	case PTL_PT_TNT_64:
		return decode_tnt_64(data, packet);
	case PTL_PT_PSB:
		return decode_psb(data);
	case PTL_PT_TMA:
		return decode_tma(data, packet);
	case PTL_PT_CBR:
		packet->cbr.ratio = data[2];
		return FORMAT_PT_SIZE_CBR;
	case PTL_PT_PIP:
		packet->pip.cr3 = common_load64(data) >> 17 << 5;
		packet->pip.non_root = data[2] & 1;
		return FORMAT_PT_SIZE_PIP;
	case PTL_PT_VMCS:
		packet->vmcs.base = common_load_le(data + 2, 5) << 12;
		return FORMAT_PT_SIZE_VMCS;
	case PTL_PT_EXSTOP:
		packet->exstop.ip = !!(data[1] & FORMAT_PT_OPCODE_IP);
		return FORMAT_PT_SIZE_EXSTOP;
	case PTL_PT_MWAIT:
	case PTL_PT_PWRE:
	case PTL_PT_PWRX:
		return decode_power(data, packet);
	case PTL_PT_BBP:
	case PTL_PT_BEP:
	case PTL_PT_CFE:
	case PTL_PT_EVD:
		return decode_event(data, packet);
	default: /* PSBEND, OVF, TraceStop: no fields */
		return format_pt_layouts[kind].least;
	}
}

static int decode_cyc(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	uint64_t cycles = data[0] >> 3;
	bool more = data[0] & FORMAT_PT_CYC_MORE;
	unsigned shift = 5;
	size_t at = 1;

	for (; more; shift += 7) {
		if (at >= size)
			return PTL_TRUNCATED;
		if (1ull << shift >= FORMAT_PT_CYC_BITS)
			return PTL_CORRUPT;
		cycles |= (uint64_t)(data[at] >> 1) << shift;
		more = data[at++] & 1;
	}
	packet->kind = PTL_PT_CYC;
	packet->cyc.cycles = cycles;
	return (int)at;
}

static int decode_mode(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	if (size < FORMAT_PT_SIZE_MODE_EXEC)
		return PTL_TRUNCATED;
	switch (data[1] & 0xe0) {
	case SECOND(MODE_EXEC):
		packet->kind = PTL_PT_MODE_EXEC;
		packet->mode_exec.cs_l = !!(data[1] & FORMAT_PT_MODE_EXEC_L);
		packet->mode_exec.cs_d = !!(data[1] & FORMAT_PT_MODE_EXEC_D);
		packet->mode_exec.interrupt_flag = !!(data[1] & FORMAT_PT_MODE_EXEC_IF);
		return FORMAT_PT_SIZE_MODE_EXEC;
	case SECOND(MODE_TSX):
		packet->kind = PTL_PT_MODE_TSX;
		packet->mode_tsx.in_tx = !!(data[1] & FORMAT_PT_MODE_TSX_IN);
		packet->mode_tsx.abort = !!(data[1] & FORMAT_PT_MODE_TSX_ABORT);
		return FORMAT_PT_SIZE_MODE_TSX;
	default:
		return PTL_CORRUPT;
	}
}

static int decode_trig(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	int length = FORMAT_PT_SIZE_TRIG;

	if (size < FORMAT_PT_SIZE_TRIG)
		return PTL_TRUNCATED;
	packet->kind = PTL_PT_TRIG;
	packet->trig.ip = !!(data[1] & FORMAT_PT_OPCODE_IP);
	packet->trig.has_count = !!(data[1] & FORMAT_PT_TRIG_COUNT);
	packet->trig.multiple = !!(data[1] & FORMAT_PT_TRIG_MULTIPLE);
	packet->trig.triggers = data[2];
	packet->trig.count = 0;
	if (packet->trig.has_count) {
		length = format_pt_layouts[PTL_PT_TRIG].most;
		if (size < (size_t)length)
			return PTL_TRUNCATED;
		packet->trig.count = common_load16(data + 3);
	}
	return length;
}

static int decode_single(const uint8_t *data, size_t size, struct ptl_pt_packet *packet)
{
	switch (data[0]) {
	case FORMAT_PT_MATCH_PAD:
		packet->kind = PTL_PT_PAD;
		return FORMAT_PT_SIZE_PAD;
	case FORMAT_PT_EXTENDED:
		return decode_extended(data, size, packet);
	case FORMAT_PT_MATCH_TSC:
		if (size < FORMAT_PT_SIZE_TSC)
			return PTL_TRUNCATED;
		packet->kind = PTL_PT_TSC;
		packet->tsc.tsc = common_load64(data) >> 8;
		return FORMAT_PT_SIZE_TSC;
	case FORMAT_PT_MATCH_MTC:
		if (size < FORMAT_PT_SIZE_MTC)
			return PTL_TRUNCATED;
		packet->kind = PTL_PT_MTC;
		packet->mtc.ctc = data[1];
		return FORMAT_PT_SIZE_MTC;
	case FORMAT_PT_MATCH_MODE_EXEC & 0xff:
		return decode_mode(data, size, packet);
	case FORMAT_PT_MATCH_TRIG:
		return decode_trig(data, size, packet);
	default:
		if ((data[0] & 3) == FORMAT_PT_MATCH_CYC)
			return decode_cyc(data, size, packet);
		return PTL_UNSUPPORTED;
	}
}

int format_pt_decode_rare(const uint8_t *data, size_t size, struct ptl_pt_context *context,
			  struct ptl_pt_packet *packet)
{
	int status = decode_single(data, size, packet);

	if (status < 0)
		return status;
	packet->size = (uint8_t)status;
	if (packet->kind == PTL_PT_BBP)
		context->bip_bytes = packet->bbp.bip_bytes;
	return status;
}

/*
 * Whether a packet may stand between a block's BIPs: packets allowed by the SDM, section "Block Item Packet", and
 * packets bound to these.
 */
static bool stays_in_block(unsigned kind)
{
	switch (kind) {
	case PTL_PT_PAD:
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
	case PTL_PT_CBR:
	case PTL_PT_FUP:
	case PTL_PT_MNT:
	case PTL_PT_EXSTOP:
	case PTL_PT_PWRE:
	case PTL_PT_PWRX:
	case PTL_PT_BBP:
	case PTL_PT_BIP:
		return true;
	default:
		return false;
	}
}

static int decode_bip(const uint8_t *data, size_t size, unsigned bytes, struct ptl_pt_packet *packet)
{
	if (size < 1 + bytes)
		return PTL_TRUNCATED;
	packet->kind = PTL_PT_BIP;
	packet->size = (uint8_t)(1 + bytes);
	packet->bip.id = data[0] >> 3;
	packet->bip.bytes = (uint8_t)bytes;
	packet->bip.payload = common_load_le(data + 1, bytes);
	return packet->size;
}

int format_pt_decode_in_block(const uint8_t *data, size_t size, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet)
{
	struct ptl_pt_context outside = {0};
	int status;

	if ((data[0] & FORMAT_PT_BIP_MASK) == FORMAT_PT_BIP_MATCH)
		return decode_bip(data, size, context->bip_bytes, packet);
	status = format_pt_decode_inline(data, size, &outside, packet);
	if (status > 0 && (outside.bip_bytes || !stays_in_block(packet->kind)))
		*context = outside;
	return status;
}

int ptl_pt_decode(const uint8_t *data, size_t size, struct ptl_pt_context *context, struct ptl_pt_packet *packet)
{
	return format_pt_decode_inline(data, size, context, packet);
}

bool ptl_pt_ip_resolve(const struct ptl_pt_packet *packet, uint64_t *last_ip, uint64_t *ip)
{
	switch (packet->kind) {
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		if (packet->ip.form == PTL_PT_IP_NONE)
			return false;
		*last_ip = *ip = format_pt_ip_expand(*last_ip, packet->ip.form, packet->ip.payload);
		return true;
	case PTL_PT_PSB:
	case PTL_PT_OVF:
		*last_ip = 0;
		return false;
	default:
		return false;
	}
}
