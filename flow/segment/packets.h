/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment's packets say about where it begins, and where its flow ends. */
#ifndef FLOW_SEGMENT_PACKETS_H
#define FLOW_SEGMENT_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/segment/errata.h"

/* PSB+: the packets from PSB to PSBEND (SDM, section "PSB+"). */
struct flow_psb_plus {
	bool complete; /* ends with PSBEND: decoding can start here */
	bool has_ip; /* a FUP that flow_psb_plus_enables does not rule out: packets are enabled, the next instruction is at ip */
	bool has_mode; /* a MODE.Exec */
	bool overflow; /* an OVF ends it, and there is no PSBEND */
	uint64_t ip;
	size_t size; /* bytes up to and including PSBEND, or of the packets before what is wrong */
};

/* bytes begins with a PSB. FLOW_PSB_PLUS_MAX bytes are enough for what CPUs make. */
void flow_psb_plus_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			struct flow_psb_plus *psb_plus);

/*
 * Whether only state and TIP.PGE follow in the bytes behind a FUP of PSB+, so that packets were disabled and the FUP is
 * not to be there: erratum BDM70, which most CPUs have under one name or another, and which no right packets look like.
 */
bool flow_psb_plus_enables(const uint8_t *bytes, size_t size, const struct flow_errata *errata);

#define FLOW_PSB_PLUS_MAX 512

/* How a segment's packets end. */
struct flow_segment_end {
	/*
	 * Where the packets end that say something about the flow: those of time and of power, and
	 * padding, behind them do not count. Bytes that are no packet count as flow: what decodes
	 * them finds out.
	 */
	size_t flow;
	bool fup;        /* the last of these is a FUP of its own: its TIP is missing */
	bool enabled;    /* packets are, at the end: as TIP.PGE, TIP.PGD, PSB+ and what follows OVF say */
	bool overflowed; /* an OVF is not followed by a packet that says where flow goes on */
	/*
	 * The FUP behind an OVF, if no packet behind it says that flow goes on or stops: where it begins and ends.
	 * 0: there is none.
	 */
	size_t resume, resume_end;
	/*
	 * Where packets end that are whole: below the size if the last is cut off, or if a TIP within the flow has no address. From
	 * there on nothing is known; libipt 2.0.5 runs the block before once more, if its cache has that block.
	 */
	size_t whole;
};

void flow_segment_end_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			   struct flow_segment_end *end);

#endif
