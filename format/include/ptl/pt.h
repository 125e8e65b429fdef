/* SPDX-License-Identifier: BSD-2-Clause */
/* Single Intel PT packets: kinds, fields, decoding, encoding, and the search for PSBs. */
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
 * Kinds of packets. Names and layouts are from the Intel 64 and IA-32 Architectures Software Developer's Manual, volume
 * 3, chapter "Intel Processor Trace", section "Trace Packets and Data Types" (below: SDM).
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
	PTL_PT_KINDS, /* number of the last kind plus one */
};

/* Most bytes of a packet; a decoder never needs more bytes. */
#define PTL_PT_PACKET_MAX 16
#define PTL_PT_PSB_SIZE 16

/*
 * IPBytes of TIP, TIP.PGE, TIP.PGD and FUP: how many bytes of the address the packet contains, and how these bytes and
 * the last IP form an address (SDM, section "IP Compression"). 5 and 7 are reserved.
 */
enum ptl_pt_ip_form {
	PTL_PT_IP_NONE = 0,      /* no address: IP is out of context */
	PTL_PT_IP_UPDATE_16 = 1, /* bits 15:0; higher bits from the last IP */
	PTL_PT_IP_UPDATE_32 = 2, /* bits 31:0; higher bits from the last IP */
	PTL_PT_IP_SIGN_48 = 3,   /* bits 47:0, sign-extended from bit 47 */
	PTL_PT_IP_UPDATE_48 = 4, /* bits 47:0; higher bits from the last IP */
	PTL_PT_IP_FULL = 6,      /* all 64 bits */
};

/* A packet. Flags are 0 or 1. Bits reserved by the SDM are dropped. */
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
		/* CS.L and CS.D (64-bit mode: 1 and 0; 32-bit: 0 and 1; 16-bit: 0 and 0), EFLAGS.IF. */
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
			uint64_t cr3; /* bits 51:5; other bits are 0 */
			uint8_t non_root;
		} pip;
		struct {
			uint64_t base; /* bits 51:12; other bits are 0 */
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
			uint8_t hardware; /* entered by the hardware autonomously */
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
			uint8_t bip_bytes; /* payload bytes of the following BIPs: 4 or 8 */
		} bbp;
		struct {
			uint64_t payload;
			uint8_t id;    /* 5 bits */
			uint8_t bytes; /* 4 or 8, given by the BBP */
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
			uint16_t count;   /* number of instructions; valid only with has_count */
			uint8_t triggers; /* one bit per trigger */
			uint8_t ip;       /* a FUP with the address follows */
			uint8_t has_count;
			uint8_t multiple;
		} trig;
	};
};

/*
 * Context for decoding. Between BBP and the end of its block, bytes with the low bits 100 begin BIP packets, not TNT.
 * Zero at the start of a stream and at each PSB.
 */
struct ptl_pt_context {
	uint8_t bip_bytes; /* 4 or 8; 0 outside a block */
};

/* Returns the kind's name as in the SDM, such as "TIP.PGE"; never NULL. */
const char *ptl_pt_kind_name(unsigned kind);

/*
 * Decodes the packet at `data` and updates `context`. Returns the packet's size, 1 to PTL_PT_PACKET_MAX. PTL_TRUNCATED:
 * `size` bytes are not a whole packet (also for size 0). PTL_UNSUPPORTED: the bytes begin no known packet. PTL_CORRUPT:
 * a known packet has a reserved value. Sets no error text; see ptl_pt_explain. On failure, `context` is unchanged and
 * the content of *packet is unspecified.
 *
 * Accepts and rejects the same bytes as libipt 2.0.5, which ignores reserved bits that it does not rely on (in CBR,
 * PIP, MODE, MWAIT, PWRE, PWRX). Also accepts BBP, BIP, BEP, CFE, EVD, TRIG, the interrupt flag of MODE.Exec and bit 1
 * of PWRX's wake, which libipt does not know.
 */
int ptl_pt_decode(const uint8_t *data, size_t size, struct ptl_pt_context *context, struct ptl_pt_packet *packet);

/*
 * Explains why ptl_pt_decode returned `status` for these bytes: writes a phrase such as "reserved IPBytes 5 in TIP" to
 * `text`, of `room` bytes.
 */
void ptl_pt_explain(const uint8_t *data, size_t size, int status, char *text, size_t room);

/*
 * Encodes a packet into `room` bytes at `data`. Returns its size. PTL_MISUSE: unknown kind, or a field out of range.
 * PTL_NO_MEMORY: `room` is too small. Writes nothing on failure.
 */
int ptl_pt_encode(const struct ptl_pt_packet *packet, uint8_t *data, size_t room);

/*
 * Computes the address of a packet with an IP. *last_ip: the last IP, initially 0; updated. Returns false if the packet
 * has no address (PTL_PT_IP_NONE, or another kind): then nothing changes, except that PSB and OVF set *last_ip to 0. So
 * all packets of a stream may be passed to this function.
 */
bool ptl_pt_ip_resolve(const struct ptl_pt_packet *packet, uint64_t *last_ip, uint64_t *ip);

/*
 * Returns the offset of the first PSB at or after `from` in `size` bytes at `data`; `size` if not found.
 *
 * The packet before a PSB may end in 02 82 like a PSB (a TIP to ...8202), while only a PSB begins with 02 82. So if the
 * pattern is longer than a PSB, the PSB is its last 16 bytes. If the pattern reaches the end of the data and the stream
 * continues, the following bytes may move the PSB on by an even number of bytes.
 */
size_t ptl_pt_find_psb(const uint8_t *data, size_t size, size_t from);

#ifdef __cplusplus
}
#endif

#endif
