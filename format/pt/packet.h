/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of Intel PT opcodes and sizes, shared by encoder, decoder and tests. */
#ifndef FORMAT_PT_PACKET_H
#define FORMAT_PT_PACKET_H

#include <ptl/pt.h>

/*
 * X(kind, name, match, mask, least, most): a packet is of the kind if its first three bytes, as a little-endian number,
 * equal `match` in the bits of `mask`, and no row above matches. The packet has `least` to `most` bytes. Source: SDM
 * volume 3, chapter "Intel Processor Trace", section "Packet Definitions", one table per packet; TRIG is newer and
 * follows libipt's later releases.
 *
 * Two exceptions: a first byte of 02 that no other row matches is an unknown packet, not a TNT. BIP has no row, as it
 * shares its bytes with TNT and is recognised by context (see ptl_pt_context).
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

/* Low three bits of a BIP; the five bits above are its identifier. A BIP has 1 + 4 or 1 + 8 bytes. */
#define FORMAT_PT_BIP_MATCH 0x04
#define FORMAT_PT_BIP_MASK 0x07

/*
 * For each kind, such as TIP: FORMAT_PT_MATCH_TIP, FORMAT_PT_MASK_TIP, and FORMAT_PT_SIZE_TIP, the least size, which is
 * the only size of most packets.
 */
enum {
#define X(kind, name, match, mask, least, most)                                                                        \
	FORMAT_PT_MATCH_##kind = match, FORMAT_PT_MASK_##kind = mask, FORMAT_PT_SIZE_##kind = least,
	FORMAT_PT_PACKET_TABLE(X)
#undef X
};

/*
 * Whether a packet matches the row of the kind; bytes: its first bytes as a little-endian number. For loops that handle
 * only a few kinds. Rows above may match as well.
 */
#define FORMAT_PT_IS(bytes, kind) (((bytes)&FORMAT_PT_MASK_##kind) == FORMAT_PT_MATCH_##kind)

/* The bits of the first byte that distinguish TIP, TIP.PGE, TIP.PGD and FUP. */
#define FORMAT_PT_MASK_ADDRESS FORMAT_PT_MASK_TIP

/* First byte of all packets with two-byte and three-byte opcodes, and second byte of three-byte opcodes. */
#define FORMAT_PT_EXTENDED 0x02
#define FORMAT_PT_EXTENDED_3 0xc3

struct format_pt_layout {
	const char *name; /* NULL: no packet */
	uint32_t match;
	uint32_t mask;
	uint8_t least;
	uint8_t most;
};

/* Layouts by enum ptl_pt_kind. */
extern const struct format_pt_layout format_pt_layouts[PTL_PT_KINDS];

/* Bits within packets, from the same sections of the SDM. */
#define FORMAT_PT_TNT_8_MAX 6           /* branches in a TNT-8 */
#define FORMAT_PT_TNT_64_MAX 47         /* branches in a TNT-64 */
#define FORMAT_PT_IP_SHIFT 5            /* place of IPBytes in the first byte of TIP, TIP.PGE, TIP.PGD and FUP */
#define FORMAT_PT_CYC_MORE 0x04         /* Exp bit in the first byte of CYC: more bytes follow */
#define FORMAT_PT_CYC_BITS (1ull << 61) /* exclusive limit for nine bytes of CYC */
#define FORMAT_PT_MODE_EXEC_L 0x01
#define FORMAT_PT_MODE_EXEC_D 0x02
#define FORMAT_PT_MODE_EXEC_IF 0x04
#define FORMAT_PT_MODE_TSX_IN 0x01
#define FORMAT_PT_MODE_TSX_ABORT 0x02
/* IP bit: a FUP follows. In byte 1 of EXSTOP, PTW, BEP, TRIG and byte 2 of CFE. */
#define FORMAT_PT_OPCODE_IP 0x80
#define FORMAT_PT_PTW_BYTES_SHIFT 5 /* PayloadBytes: 0 means 4 bytes, 1 means 8; other values are reserved */
#define FORMAT_PT_BBP_4_BYTES 0x80  /* SZ: 1 means 4 bytes, 0 means 8 */
#define FORMAT_PT_TRIG_COUNT 0x40
#define FORMAT_PT_TRIG_MULTIPLE 0x20

/* Returns the payload bytes of an IPBytes form; 15 for the reserved forms. */
static inline unsigned format_pt_ip_size(unsigned form)
{
	return 0xf8f66420u >> 4 * (form & 7) & 15;
}

#endif
