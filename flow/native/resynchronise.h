/* SPDX-License-Identifier: BSD-2-Clause */
/* Resynchronisation of the flow, and reading ahead for CPUs with errata. */
#ifndef FLOW_NATIVE_RESYNCHRONISE_H
#define FLOW_NATIVE_RESYNCHRONISE_H

#include "flow/native/decoder.h"

/* Handles a missing TIP or TIP.PGD after a FUP: flow is known up to the FUP's address, and lost there. */
void native_end_at_fup(struct native_decoder *decoder);

/* Resumes flow at ip. The calls before the gap are no longer on the return stack. */
void native_resume(struct native_decoder *decoder, uint64_t ip);

/* Checks whether only packets of time lie between `at` and the current packet. */
bool native_only_time(const struct native_decoder *decoder, const uint8_t *at);

/* Checks whether a FUP with an address follows `at`, possibly after packets of time. */
bool native_fup_follows(const struct native_decoder *decoder, const uint8_t *at);

/*
 * Finds the address where flow resumes after the current OVF. Returns false if packets are disabled there, or if the
 * address is unknown.
 */
bool native_resumes_at(const struct native_decoder *decoder, uint64_t *ip);

/* APL12: checks whether packets are disabled behind `at`, by the following packets or the next segment. */
bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at);

#endif
