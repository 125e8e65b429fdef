/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT packets one at a time: kinds, fields, decoding, encoding, and the search for PSBs. */
#ifndef PTL_PT_H
#define PTL_PT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Names and layouts are those of the Intel 64 and IA-32 Architectures Software Developer's Manual,
 * volume 3, chapter "Intel Processor Trace", section "Trace Packets and Data Types" (below: SDM).
 */
enum ptl_pt_kind {
	PTL_PT_NONE = 0, /* no packet */
	PTL_PT_PAD,
	PTL_PT_PSB,
	PTL_PT_PSBEND,
	PTL_PT_OVF,
	PTL_PT_TNT_8,
	PTL_PT_TNT_64,
	PTL_PT_TIP,
	PTL_PT_TIP_PGE,
	PTL_PT_TIP_PGD,
	PTL_PT_FUP,
	PTL_PT_MODE_EXEC,
	PTL_PT_MODE_TSX,
	PTL_PT_TSC,
	PTL_PT_CBR,
	PTL_PT_TMA,
	PTL_PT_MTC,
	PTL_PT_CYC,
	PTL_PT_PIP,
	PTL_PT_VMCS,
	PTL_PT_TRACESTOP,
	PTL_PT_MNT,
	PTL_PT_EXSTOP,
	PTL_PT_MWAIT,
	PTL_PT_PWRE,
	PTL_PT_PWRX,
	PTL_PT_PTWRITE,
	PTL_PT_BBP,
	PTL_PT_BIP,
	PTL_PT_BEP,
	PTL_PT_CFE,
	PTL_PT_EVD,
	PTL_PT_TRIG,
	PTL_PT_KINDS, /* one more than the last kind */
};

/* No packet is longer; a decoder that has this many bytes never needs more. */
#define PTL_PT_PACKET_MAX 16
#define PTL_PT_PSB_SIZE 16

/*
 * IPBytes of TIP, TIP.PGE, TIP.PGD and FUP: how many bytes of the address the packet holds, and how
 * they make an address with the last one (SDM, section "IP Compression"). 5 and 7 are reserved.
 */
enum ptl_pt_ip_form {
	PTL_PT_IP_NONE = 0,      /* no address: it is out of context */
	PTL_PT_IP_UPDATE_16 = 1, /* bits 15:0; the others are those of the last IP */
	PTL_PT_IP_UPDATE_32 = 2, /* bits 31:0; the others are those of the last IP */
	PTL_PT_IP_SIGN_48 = 3,   /* bits 47:0; bit 47 is repeated above */
	PTL_PT_IP_UPDATE_48 = 4, /* bits 47:0; the others are those of the last IP */
	PTL_PT_IP_FULL = 6,      /* all 64 bits */
};

/* One packet. Flags are 0 or 1. Bits of a packet that the SDM reserves are not kept. */
struct ptl_pt_packet {
	uint8_t kind; /* enum ptl_pt_kind */
	uint8_t size; /* bytes in the stream; set by decoding, ignored by encoding */
	union {
		/*
		 * TNT_8 (1 to 6 branches), TNT_64 (1 to 47): bit count-1 is the oldest branch; 1
		 * means taken.
		 */
		struct {
			uint64_t bits;
			uint8_t count;
		} tnt;
		/* TIP, TIP_PGE, TIP_PGD, FUP; see ptl_pt_ip_resolve. */
		struct {
			uint64_t payload; /* as in the packet, zero-extended */
			uint8_t form;     /* enum ptl_pt_ip_form */
		} ip;
		/*
		 * CS.L and CS.D (64-bit mode: 1 and 0; 32-bit: 0 and 1; 16-bit: 0 and 0), EFLAGS.IF
		 */
		struct {
			uint8_t cs_l;
			uint8_t cs_d;
			uint8_t interrupt_flag;
		} mode_exec;
		struct {
			uint8_t in_tx;
			uint8_t abort;
		} mode_tsx;
		struct {
			uint64_t tsc; /* 56 bits */
		} tsc;
		struct {
			uint8_t ratio; /* core to bus clock */
		} cbr;
		struct {
			uint16_t ctc;  /* CTC[15:0] */
			uint16_t fast; /* FastCounter[8:0] */
		} tma;
		struct {
			uint8_t ctc; /* CTC[N+7:N], N is IA32_RTIT_CTL.MTCFreq */
		} mtc;
		struct {
			uint64_t cycles; /* since the last CYC; below 2^61 */
		} cyc;
		struct {
			uint64_t cr3; /* bits 51:5; the others are 0 */
			uint8_t non_root;
		} pip;
		struct {
			uint64_t base; /* bits 51:12; the others are 0 */
		} vmcs;
		struct {
			uint64_t payload;
		} mnt;
		struct {
			uint8_t ip; /* a FUP with the address follows */
		} exstop;
		struct {
			uint32_t hints;      /* EAX */
			uint32_t extensions; /* ECX */
		} mwait;
		struct {
			uint8_t state; /* 4 bits each */
			uint8_t sub_state;
			uint8_t hardware; /* entered by the hardware on its own */
		} pwre;
		struct {
			uint8_t last; /* 4 bits each */
			uint8_t deepest;
			uint8_t wake; /* bit 0 interrupt, 2 store to monitored line, 3 hardware */
		} pwrx;
		struct {
			uint64_t payload;
			uint8_t bytes; /* 4 or 8 */
			uint8_t ip;    /* a FUP with the address follows */
		} ptwrite;
		struct {
			uint8_t type;      /* 5 bits */
			uint8_t bip_bytes; /* payload of the BIPs that follow: 4 or 8 */
		} bbp;
		struct {
			uint64_t payload;
			uint8_t id;    /* 5 bits */
			uint8_t bytes; /* 4 or 8, as the BBP said */
		} bip;
		struct {
			uint8_t ip; /* a FUP with the address follows */
		} bep;
		struct {
			uint8_t type; /* 5 bits */
			uint8_t vector;
			uint8_t ip; /* a FUP with the address follows */
		} cfe;
		struct {
			uint64_t payload;
			uint8_t type; /* 6 bits */
		} evd;
		struct {
			uint16_t count;   /* instructions; only with has_count */
			uint8_t triggers; /* one bit for each trigger */
			uint8_t ip;       /* a FUP with the address follows */
			uint8_t has_count;
			uint8_t multiple;
		} trig;
	};
};

/*
 * What the meaning of a byte depends on: between BBP and the end of its block, bytes whose low bits
 * are 100 begin BIP packets, not TNT. Zero at the start of a stream and at each PSB.
 */
struct ptl_pt_context {
	uint8_t bip_bytes; /* 0 outside a block, or 4 or 8 */
};

/* "TIP.PGE" and so on, as the SDM writes it; never NULL. */
const char *ptl_pt_kind_name(unsigned kind);

/*
 * Decodes the packet at data and moves context on. Returns its size, 1 to PTL_PT_PACKET_MAX, or
 * PTL_TRUNCATED (size bytes are not the whole packet; also for size 0), PTL_UNSUPPORTED (no packet
 * that this decoder knows starts so) or PTL_CORRUPT (a known packet with a reserved value). No
 * error text is left: ask ptl_pt_explain. On failure packet's contents are unspecified and context
 * stays.
 *
 * Accepts and refuses what libipt 2.0.5 does, which ignores reserved bits where it does not rely on
 * them (in CBR, PIP, MODE, MWAIT, PWRE, PWRX), and besides what it does not know: BBP, BIP, BEP,
 * CFE, EVD, TRIG, the interrupt flag of MODE.Exec, bit 1 of PWRX's wake.
 */
int ptl_pt_decode(const uint8_t *data, size_t size, struct ptl_pt_context *context, struct ptl_pt_packet *packet);

/*
 * Why ptl_pt_decode refused these bytes with status: a sentence such as "reserved IPBytes 5 in
 * TIP", in text, which has room for room bytes.
 */
void ptl_pt_explain(const uint8_t *data, size_t size, int status, char *text, size_t room);

/*
 * Encodes packet into the room bytes at data. Returns its size, or PTL_MISUSE (no such kind, or a
 * field out of its range) or PTL_NO_MEMORY (it does not fit). Nothing is written on failure.
 */
int ptl_pt_encode(const struct ptl_pt_packet *packet, uint8_t *data, size_t room);

/*
 * The address that a packet with an IP stands for. *last_ip is the last IP, 0 at the start, and is
 * moved on. False where the packet has no address (PTL_PT_IP_NONE, or another kind): nothing is
 * changed, but that PSB and OVF set *last_ip to 0, so that a stream's packets may all go through
 * here.
 */
bool ptl_pt_ip_resolve(const struct ptl_pt_packet *packet, uint64_t *last_ip, uint64_t *ip);

/*
 * The offset of the first PSB in size bytes at data that lies at or after from; size if there is
 * none.
 *
 * The packet before a PSB may end in 02 82 as a PSB does (a TIP to ...8202), and no packet but a
 * PSB begins so: where the pattern is longer than a PSB, the PSB is its last 16 bytes. If it
 * reaches the end of the data, and the stream goes on, what follows may move the PSB on by an even
 * number of bytes.
 */
size_t ptl_pt_find_psb(const uint8_t *data, size_t size, size_t from);

#ifdef __cplusplus
}
#endif

#endif
