/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the branch by which flow left the traced code. */
#ifndef FLOW_NATIVE_WALK_OUT_H
#define FLOW_NATIVE_WALK_OUT_H

#include "flow/native/decoder.h"

/* Handles a TIP.PGD without a FUP. ip: target of the flow, if has_ip. Returns false after a gap. */
bool native_walk_out(struct native_decoder *decoder, bool has_ip, uint64_t ip);

/*
 * Returns the address where flow resumes after packets were disabled: behind a call, or at the target of any other
 * branch. 0: unknown.
 */
uint64_t native_resume_ip(const struct flow_block *last, bool has_ip, uint64_t ip);

#endif
