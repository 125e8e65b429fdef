/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells a machine that hosts guests (VMX non-root operation) from a guest that was recorded from within. */
#ifndef FLOW_SEGMENT_GUEST_H
#define FLOW_SEGMENT_GUEST_H

#include <ptl/reader.h>

#include "flow/segment/errata.h"

/*
 * Checks whether the machine with this index ran as a host: a PIP has a clear NR bit. Then flow with a set NR bit
 * belongs to a guest, whose addresses mean other code. All PIPs of a machine recorded from within a guest have a set NR
 * bit, and that machine's code is the guest's. Reads PSB+ of up to 64 segments of a stream, and the first MiB of its
 * packets, until a PIP with a clear NR bit is found.
 * Returns PTL_NO_MEMORY or PTL_SYSTEM.
 */
int flow_guest_has_host(struct ptl_trace *trace, size_t machine, const struct flow_errata *errata, bool *host);

/*
 * Follows whether packets are of a guest: *guest is set at a PIP, and at a PSB whose PSB+ has a PIP, because the TSC of a PSB+
 * comes before the PIP. bytes: from the packet on.
 */
void flow_guest_follow(const struct ptl_pt_packet *packet, const uint8_t *bytes, size_t size,
		       const struct flow_errata *errata, bool *guest);

/*
 * Checks whether a guest's packets of a segment have an address in the kernel's half. Such an address is none of the code
 * that a guest shares with the process that runs the guest. bytes: the segment, from its PSB on.
 */
bool flow_guest_is_in_kernel(const uint8_t *bytes, size_t size, const struct flow_errata *errata);

#endif
