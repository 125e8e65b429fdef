/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets with an address, which is suppressed in some (has_ip). */
#ifndef FLOW_NATIVE_ADDRESS_H
#define FLOW_NATIVE_ADDRESS_H

#include "flow/native/walk.h"

/* TIP. */
void native_on_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* TIP.PGE. */
void native_on_enable(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* TIP.PGD. */
void native_on_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip);
/* FUP, outside of PSB+. */
void native_on_fup(struct native_decoder *decoder, bool has_ip, uint64_t ip);

/* A PTWRITE was executed at ip: its event comes behind the instruction. */
void native_after_ptwrite(struct native_decoder *decoder, uint64_t ip);

/* Where flow resumes after packets were disabled: behind a call, or at the target of any other branch. 0: unknown. */
uint64_t native_resume_ip(const struct flow_block *last, bool has_ip, uint64_t ip);

#endif
