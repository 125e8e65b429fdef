/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of Intel PT opcodes and sizes: encoder, decoder and tests all stand on it. */
#ifndef FORMAT_PT_PACKET_H
#define FORMAT_PT_PACKET_H

#include <ptl/pt.h>

/*
 * X(kind, name, match, mask, least, most): a packet is of the kind if its first three bytes, as a
 * little-endian number, agree with match in the bits of mask, and no row above it does. It takes
 * least to most bytes. All facts: SDM volume 3, chapter "Intel Processor Trace", section "Packet
 * Definitions", one table per packet; TRIG, which is newer, as in libipt's later releases.
 *
 * Two exceptions: a first byte of 02 that no other row takes is no TNT but an unknown packet, and
 * BIP is not among them: it shares its bytes with TNT and is known by context (see ptl_pt_context).
 */
#define FORMAT_PT_PACKET_TABLE(X)                                                                                      \
	X(PAD, "PAD", 0x00, 0xff, 1, 1)                                                                                \
	X(PSB, "PSB", 0x8202, 0xffff, 16, 16)                                                                          \
	X(PSBEND, "PSBEND", 0x2302, 0xffff, 2, 2)                                                                      \
	X(OVF, "OVF", 0xf302, 0xffff, 2, 2)                                                                            \
	X(TNT_64, "TNT-64", 0xa302, 0xffff, 8, 8)                                                                      \
	X(CBR, "CBR", 0x0302, 0xffff, 4, 4)                                                                            \
	X(TMA, "TMA", 0x7302, 0xffff, 7, 7)                                                                            \
	X(PIP, "PIP", 0x4302, 0xffff, 8, 8)                                                                            \
	X(VMCS, "VMCS", 0xc802, 0xffff, 7, 7)                                                                          \
	X(TRACESTOP, "TraceStop", 0x8302, 0xffff, 2, 2)                                                                \
	X(MNT, "MNT", 0x88c302, 0xffffff, 11, 11)                                                                      \
	X(EXSTOP, "EXSTOP", 0x6202, 0x7fff, 2, 2)                                                                      \
	X(MWAIT, "MWAIT", 0xc202, 0xffff, 10, 10)                                                                      \
	X(PWRE, "PWRE", 0x2202, 0xffff, 4, 4)                                                                          \
	X(PWRX, "PWRX", 0xa202, 0xffff, 7, 7)                                                                          \
	X(PTWRITE, "PTW", 0x1202, 0x1fff, 6, 10)                                                                       \
	X(BBP, "BBP", 0x6302, 0xffff, 3, 3)                                                                            \
	X(BEP, "BEP", 0x3302, 0x7fff, 2, 2)                                                                            \
	X(CFE, "CFE", 0x1302, 0xffff, 4, 4)                                                                            \
	X(EVD, "EVD", 0x5302, 0xffff, 11, 11)                                                                          \
	X(MODE_EXEC, "MODE.Exec", 0x0099, 0xe0ff, 2, 2)                                                                \
	X(MODE_TSX, "MODE.TSX", 0x2099, 0xe0ff, 2, 2)                                                                  \
	X(TSC, "TSC", 0x19, 0xff, 8, 8)                                                                                \
	X(MTC, "MTC", 0x59, 0xff, 2, 2)                                                                                \
	X(TRIG, "TRIG", 0xd9, 0xff, 3, 5)                                                                              \
	X(TIP, "TIP", 0x0d, 0x1f, 1, 9)                                                                                \
	X(TIP_PGE, "TIP.PGE", 0x11, 0x1f, 1, 9)                                                                        \
	X(TIP_PGD, "TIP.PGD", 0x01, 0x1f, 1, 9)                                                                        \
	X(FUP, "FUP", 0x1d, 0x1f, 1, 9)                                                                                \
	X(CYC, "CYC", 0x03, 0x03, 1, 9)                                                                                \
	X(TNT_8, "TNT", 0x00, 0x01, 1, 1)

/* Low three bits of a BIP; the five above are its identifier. 1 + 4 or 1 + 8 bytes. */
#define FORMAT_PT_BIP_MATCH 0x04
#define FORMAT_PT_BIP_MASK 0x07

/*
 * FORMAT_PT_MATCH_TIP and FORMAT_PT_MASK_TIP and so on, and FORMAT_PT_SIZE_TIP: the least size, the only one of most
 * packets.
 */
enum {
#define X(kind, name, match, mask, least, most)                                                                        \
	FORMAT_PT_MATCH_##kind = match, FORMAT_PT_MASK_##kind = mask, FORMAT_PT_SIZE_##kind = least,
	FORMAT_PT_PACKET_TABLE(X)
#undef X
};

/*
 * Whether a packet that begins with these bytes, a little-endian number, matches the row of its kind: for loops that take a
 * few kinds only. Rows above it may match, too.
 */
#define FORMAT_PT_IS(bytes, kind) (((bytes)&FORMAT_PT_MASK_##kind) == FORMAT_PT_MATCH_##kind)

/* The bits of the first byte that distinguish TIP, TIP.PGE, TIP.PGD and FUP. */
#define FORMAT_PT_MASK_ADDRESS FORMAT_PT_MASK_TIP

/*
 * First byte of all packets with an opcode of two bytes or three, and first two bytes of the
 * latter.
 */
#define FORMAT_PT_EXTENDED 0x02
#define FORMAT_PT_EXTENDED_3 0xc3

struct format_pt_layout {
	const char *name; /* NULL for no packet */
	uint32_t match;
	uint32_t mask;
	uint8_t least;
	uint8_t most;
};

/* By enum ptl_pt_kind. */
extern const struct format_pt_layout format_pt_layouts[PTL_PT_KINDS];

/* Bits within packets; sections of the SDM as above. */
#define FORMAT_PT_TNT_8_MAX 6           /* branches in TNT-8 */
#define FORMAT_PT_TNT_64_MAX 47         /* branches in TNT-64 */
#define FORMAT_PT_IP_SHIFT 5            /* IPBytes in the first byte of TIP and its kin */
#define FORMAT_PT_CYC_MORE 0x04         /* Exp: more bytes follow, in the first byte of CYC */
#define FORMAT_PT_CYC_BITS (1ull << 61) /* what nine bytes of CYC hold */
#define FORMAT_PT_MODE_EXEC_L 0x01
#define FORMAT_PT_MODE_EXEC_D 0x02
#define FORMAT_PT_MODE_EXEC_IF 0x04
#define FORMAT_PT_MODE_TSX_IN 0x01
#define FORMAT_PT_MODE_TSX_ABORT 0x02
/* "IP": a FUP follows; in byte 1 of EXSTOP, PTW, BEP, TRIG and byte 2 of CFE. */
#define FORMAT_PT_OPCODE_IP 0x80
#define FORMAT_PT_PTW_BYTES_SHIFT 5 /* PayloadBytes: 0 is 4 bytes, 1 is 8, others reserved */
#define FORMAT_PT_BBP_4_BYTES 0x80  /* SZ: 1 is 4 bytes, 0 is 8 */
#define FORMAT_PT_TRIG_COUNT 0x40
#define FORMAT_PT_TRIG_MULTIPLE 0x20

/* Payload bytes of an IPBytes form; 15 for the reserved ones. */
static inline unsigned format_pt_ip_size(unsigned form)
{
	return 0xf8f66420u >> 4 * (form & 7) & 15;
}

#endif
