/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes Intel PT packets: one small inline function per packet, for writers of streams. */
#ifndef FORMAT_PT_ENCODE_H
#define FORMAT_PT_ENCODE_H

#include <string.h>

#include "common/bytes.h"
#include "format/pt/last_ip.h"
#include "format/pt/packet.h"

/*
 * Each function writes one packet at p and returns the packet's size. p must have room for PTL_PT_PACKET_MAX bytes, as
 * bytes after a shorter packet may be overwritten. Arguments must be in the range of their fields (ptl/pt.h); excess
 * bits are cut. The functions use no memory but p and never fail, so they can be called in any context. A caller that
 * cannot guarantee the range of an argument uses ptl_pt_encode.
 */

/* Stores eight bytes in one instruction, even if the compiler would not combine the stores of common_store64. */
static inline void format_pt_store(uint8_t *p, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(p, &value, 8);
#else
	common_store64(p, value);
#endif
}

static inline size_t format_pt_put_pad(uint8_t *p)
{
	*p = FORMAT_PT_MATCH_PAD;
	return FORMAT_PT_SIZE_PAD;
}

static inline size_t format_pt_put_psb(uint8_t *p)
{
	format_pt_store(p, FORMAT_PT_MATCH_PSB * 0x0001000100010001ull);
	format_pt_store(p + 8, FORMAT_PT_MATCH_PSB * 0x0001000100010001ull);
	return FORMAT_PT_SIZE_PSB;
}

static inline size_t format_pt_put_psbend(uint8_t *p)
{
	common_store16(p, FORMAT_PT_MATCH_PSBEND);
	return FORMAT_PT_SIZE_PSBEND;
}

static inline size_t format_pt_put_ovf(uint8_t *p)
{
	common_store16(p, FORMAT_PT_MATCH_OVF);
	return FORMAT_PT_SIZE_OVF;
}

static inline size_t format_pt_put_tracestop(uint8_t *p)
{
	common_store16(p, FORMAT_PT_MATCH_TRACESTOP);
	return FORMAT_PT_SIZE_TRACESTOP;
}

/* branches: below 2^7, at least 2: the branches below a stop bit, the oldest branch highest, 1 for taken. */
static inline size_t format_pt_put_tnt_8(uint8_t *p, uint64_t branches)
{
	*p = (uint8_t)(branches << 1);
	return FORMAT_PT_SIZE_TNT_8;
}

/* As format_pt_put_tnt_8, with branches below 2^48. */
static inline size_t format_pt_put_tnt_64(uint8_t *p, uint64_t branches)
{
	format_pt_store(p, branches << 16 | FORMAT_PT_MATCH_TNT_64);
	return FORMAT_PT_SIZE_TNT_64;
}

/* Writes the shorter TNT packet that holds `branches` (2 to 2^48 - 1). */
static inline size_t format_pt_put_tnt(uint8_t *p, uint64_t branches)
{
	return branches >> (FORMAT_PT_TNT_8_MAX + 1) ? format_pt_put_tnt_64(p, branches)
						     : format_pt_put_tnt_8(p, branches);
}

/* match: FORMAT_PT_MATCH_TIP, _TIP_PGE, _TIP_PGD or _FUP; payload: as in the packet. */
static inline size_t format_pt_put_ip_form(uint8_t *p, unsigned match, unsigned form, uint64_t payload)
{
	*p = (uint8_t)(match | form << FORMAT_PT_IP_SHIFT);
	format_pt_store(p + 1, payload);
	return 1 + format_pt_ip_size(form);
}

static inline size_t format_pt_put_ip(uint8_t *p, unsigned match, uint64_t *last_ip, uint64_t ip)
{
	unsigned form = format_pt_ip_compress(*last_ip, ip);

	*last_ip = ip;
	return format_pt_put_ip_form(p, match, form, ip);
}

/* The four packets with an address, compressed against *last_ip, which is updated. */
static inline size_t format_pt_put_tip(uint8_t *p, uint64_t *last_ip, uint64_t ip)
{
	return format_pt_put_ip(p, FORMAT_PT_MATCH_TIP, last_ip, ip);
}

static inline size_t format_pt_put_tip_pge(uint8_t *p, uint64_t *last_ip, uint64_t ip)
{
	return format_pt_put_ip(p, FORMAT_PT_MATCH_TIP_PGE, last_ip, ip);
}

static inline size_t format_pt_put_tip_pgd(uint8_t *p, uint64_t *last_ip, uint64_t ip)
{
	return format_pt_put_ip(p, FORMAT_PT_MATCH_TIP_PGD, last_ip, ip);
}

static inline size_t format_pt_put_fup(uint8_t *p, uint64_t *last_ip, uint64_t ip)
{
	return format_pt_put_ip(p, FORMAT_PT_MATCH_FUP, last_ip, ip);
}

/* TIP.PGD with the address out of context, as for a system call in user-only tracing. */
static inline size_t format_pt_put_tip_pgd_no_ip(uint8_t *p)
{
	*p = FORMAT_PT_MATCH_TIP_PGD;
	return FORMAT_PT_SIZE_TIP_PGD;
}

static inline size_t format_pt_put_mode_exec(uint8_t *p, bool cs_l, bool cs_d, bool interrupt_flag)
{
	common_store16(p, (uint16_t)(FORMAT_PT_MATCH_MODE_EXEC | (cs_l ? FORMAT_PT_MODE_EXEC_L << 8 : 0) |
				     (cs_d ? FORMAT_PT_MODE_EXEC_D << 8 : 0) |
				     (interrupt_flag ? FORMAT_PT_MODE_EXEC_IF << 8 : 0)));
	return FORMAT_PT_SIZE_MODE_EXEC;
}

static inline size_t format_pt_put_mode_tsx(uint8_t *p, bool in_tx, bool abort)
{
	common_store16(p, (uint16_t)(FORMAT_PT_MATCH_MODE_TSX | (in_tx ? FORMAT_PT_MODE_TSX_IN << 8 : 0) |
				     (abort ? FORMAT_PT_MODE_TSX_ABORT << 8 : 0)));
	return FORMAT_PT_SIZE_MODE_TSX;
}

static inline size_t format_pt_put_tsc(uint8_t *p, uint64_t tsc)
{
	format_pt_store(p, tsc << 8 | FORMAT_PT_MATCH_TSC);
	return FORMAT_PT_SIZE_TSC;
}

static inline size_t format_pt_put_cbr(uint8_t *p, uint8_t ratio)
{
	common_store32(p, (uint32_t)ratio << 16 | FORMAT_PT_MATCH_CBR);
	return FORMAT_PT_SIZE_CBR;
}

/* Byte 4 and the upper bits of byte 6 are reserved. */
static inline size_t format_pt_put_tma(uint8_t *p, uint16_t ctc, uint16_t fast)
{
	format_pt_store(p, (uint64_t)(fast & 0x1ff) << 40 | (uint64_t)ctc << 16 | FORMAT_PT_MATCH_TMA);
	return FORMAT_PT_SIZE_TMA;
}

static inline size_t format_pt_put_mtc(uint8_t *p, uint8_t ctc)
{
	common_store16(p, (uint16_t)(ctc << 8 | FORMAT_PT_MATCH_MTC));
	return FORMAT_PT_SIZE_MTC;
}

/* Five bits are in the first byte, seven bits in each further byte, low bits first. */
static inline size_t format_pt_put_cyc(uint8_t *p, uint64_t cycles)
{
	size_t size = 1;

	p[0] = (uint8_t)(cycles << 3 | FORMAT_PT_MATCH_CYC);
	cycles >>= 5;
	if (cycles)
		p[0] |= FORMAT_PT_CYC_MORE;
	while (cycles) {
		p[size] = (uint8_t)(cycles << 1);
		cycles >>= 7;
		p[size++] |= cycles != 0;
	}
	return size;
}

static inline size_t format_pt_put_pip(uint8_t *p, uint64_t cr3, bool non_root)
{
	format_pt_store(p, cr3 >> 5 << 17 | (uint64_t)non_root << 16 | FORMAT_PT_MATCH_PIP);
	return FORMAT_PT_SIZE_PIP;
}

static inline size_t format_pt_put_vmcs(uint8_t *p, uint64_t base)
{
	format_pt_store(p, base >> 12 << 16 | FORMAT_PT_MATCH_VMCS);
	return FORMAT_PT_SIZE_VMCS;
}

static inline size_t format_pt_put_mnt(uint8_t *p, uint64_t payload)
{
	common_store32(p, FORMAT_PT_MATCH_MNT);
	format_pt_store(p + 3, payload);
	return FORMAT_PT_SIZE_MNT;
}

static inline size_t format_pt_put_exstop(uint8_t *p, bool ip)
{
	common_store16(p, (uint16_t)(FORMAT_PT_MATCH_EXSTOP | (ip ? FORMAT_PT_OPCODE_IP << 8 : 0)));
	return FORMAT_PT_SIZE_EXSTOP;
}

static inline size_t format_pt_put_mwait(uint8_t *p, uint32_t hints, uint32_t extensions)
{
	common_store16(p, FORMAT_PT_MATCH_MWAIT);
	format_pt_store(p + 2, (uint64_t)extensions << 32 | hints);
	return FORMAT_PT_SIZE_MWAIT;
}

static inline size_t format_pt_put_pwre(uint8_t *p, unsigned state, unsigned sub_state, bool hardware)
{
	common_store16(p, FORMAT_PT_MATCH_PWRE);
	common_store16(p + 2, (uint16_t)(state << 12 | (sub_state & 15) << 8 | (unsigned)hardware << 3));
	return FORMAT_PT_SIZE_PWRE;
}

static inline size_t format_pt_put_pwrx(uint8_t *p, unsigned last, unsigned deepest, unsigned wake)
{
	format_pt_store(p,
			(uint64_t)((wake & 15) << 8 | (last & 15) << 4 | (deepest & 15)) << 16 | FORMAT_PT_MATCH_PWRX);
	return FORMAT_PT_SIZE_PWRX;
}

/* bytes: 4 or 8. */
static inline size_t format_pt_put_ptwrite(uint8_t *p, uint64_t payload, unsigned bytes, bool ip)
{
	common_store16(p, (uint16_t)(FORMAT_PT_MATCH_PTWRITE | (bytes == 8 ? 1 << (8 + FORMAT_PT_PTW_BYTES_SHIFT) : 0) |
				     (ip ? FORMAT_PT_OPCODE_IP << 8 : 0)));
	format_pt_store(p + 2, payload);
	return 2 + bytes;
}

/* bip_bytes: 4 or 8. */
static inline size_t format_pt_put_bbp(uint8_t *p, unsigned type, unsigned bip_bytes)
{
	common_store16(p, FORMAT_PT_MATCH_BBP);
	p[2] = (uint8_t)((bip_bytes == 4 ? FORMAT_PT_BBP_4_BYTES : 0) | (type & 0x1f));
	return FORMAT_PT_SIZE_BBP;
}

/* bytes: 4 or 8, as given by the preceding BBP. */
static inline size_t format_pt_put_bip(uint8_t *p, unsigned id, uint64_t payload, unsigned bytes)
{
	*p = (uint8_t)(id << 3 | FORMAT_PT_BIP_MATCH);
	format_pt_store(p + 1, payload);
	return 1 + bytes;
}

static inline size_t format_pt_put_bep(uint8_t *p, bool ip)
{
	common_store16(p, (uint16_t)(FORMAT_PT_MATCH_BEP | (ip ? FORMAT_PT_OPCODE_IP << 8 : 0)));
	return FORMAT_PT_SIZE_BEP;
}

static inline size_t format_pt_put_cfe(uint8_t *p, unsigned type, uint8_t vector, bool ip)
{
	common_store16(p, FORMAT_PT_MATCH_CFE);
	p[2] = (uint8_t)((type & 0x1f) | (ip ? FORMAT_PT_OPCODE_IP : 0));
	p[3] = vector;
	return FORMAT_PT_SIZE_CFE;
}

static inline size_t format_pt_put_evd(uint8_t *p, unsigned type, uint64_t payload)
{
	common_store16(p, FORMAT_PT_MATCH_EVD);
	p[2] = (uint8_t)(type & 0x3f);
	format_pt_store(p + 3, payload);
	return FORMAT_PT_SIZE_EVD;
}

/* count: written only with has_count. */
static inline size_t format_pt_put_trig(uint8_t *p, uint8_t triggers, bool ip, bool multiple, bool has_count,
					uint16_t count)
{
	p[0] = FORMAT_PT_MATCH_TRIG;
	p[1] = (uint8_t)((ip ? FORMAT_PT_OPCODE_IP : 0) | (has_count ? FORMAT_PT_TRIG_COUNT : 0) |
			 (multiple ? FORMAT_PT_TRIG_MULTIPLE : 0));
	p[2] = triggers;
	common_store16(p + 3, count);
	return has_count ? 5 : FORMAT_PT_SIZE_TRIG;
}

#endif
