/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets belong to a guest (VMX non-root operation) whose code is not in the trace. */
#ifndef FLOW_NATIVE_GUEST_H
#define FLOW_NATIVE_GUEST_H

#include "flow/native/decoder.h"

/* Handles the NR bit of a PIP that has taken effect. */
void native_guest_paging(struct native_decoder *decoder, bool non_root);

/*
 * Looks ahead for the PIP of the PSB+ at the current place. The TSC comes first, and a guest's TSC has an offset to the
 * host's.
 */
void native_guest_psb(struct native_decoder *decoder);

/* Handles an overflow: a PIP of a guest may be lost. After a guest in this segment, only the next PIP tells. */
void native_guest_overflow(struct native_decoder *decoder);

#endif
