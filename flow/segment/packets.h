/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a segment's flow begins and ends, as its packets tell. */
#ifndef FLOW_SEGMENT_PACKETS_H
#define FLOW_SEGMENT_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/segment/errata.h"

/* PSB+: the packets from PSB to PSBEND (SDM, section "PSB+"). */
struct flow_psb_plus {
	bool complete; /* ends with PSBEND: decoding can start here */
	/*
	 * PSB+ has a FUP, and flow_psb_plus_enables does not reject the FUP: packets are enabled, and the next
	 * instruction is at ip
	 */
	bool has_ip;
	bool has_mode;   /* PSB+ has a MODE.Exec */
	bool overflow;   /* an OVF ends PSB+, without PSBEND */
	bool cut;        /* the bytes end within PSB+ */
	bool has_tsc;    /* PSB+ has a TSC packet */
	bool has_paging; /* PSB+ has a PIP */
	bool guest;      /* the PIP has NR */
	uint64_t ip;
	uint64_t tsc; /* 56 bits */
	uint64_t cr3; /* of the PIP */
	size_t size;  /* bytes up to and including PSBEND, or up to the first wrong packet */
};

/* Reads PSB+. bytes begins with a PSB. FLOW_PSB_PLUS_MAX bytes are enough for the PSB+ of any CPU. */
void flow_psb_plus_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			struct flow_psb_plus *psb_plus);

/*
 * Checks whether only state and TIP.PGE follow a FUP of PSB+. bytes: the bytes behind the FUP. Then packets were
 * disabled, and the FUP is wrong: erratum BDM70, which most CPUs have under some name. Correct packets never look like
 * this.
 */
bool flow_psb_plus_enables(const uint8_t *bytes, size_t size, const struct flow_errata *errata);

#define FLOW_PSB_PLUS_MAX 512

/* The end of a segment's packets. */
struct flow_segment_end {
	/*
	 * End of the last packet with flow. Packets of time and power, and padding, are no flow. Bytes that are no
	 * packet count as flow: the decoder reports such bytes.
	 */
	size_t flow;
	bool fup; /* the last flow packet is a FUP whose TIP is missing */
	/* packets are enabled at the end, according to PSB+, TIP.PGE, TIP.PGD and the packets after an OVF */
	bool enabled;
	bool overflowed; /* after an OVF, no packet gives the place where flow continues */
	/* Begin and end of the FUP after an OVF, if no later packet continues or stops the flow. 0: no such FUP. */
	size_t resume, resume_end;
	/*
	 * End of the complete packets. Below the segment's size if the last packet is cut off, or if a TIP within the
	 * flow has no address. The flow behind `whole` is unknown; libipt 2.0.5 runs the previous block again, if its
	 * cache has that block.
	 */
	size_t whole;
};

void flow_segment_end_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			   struct flow_segment_end *end);

#endif
