/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences between the code of two versions of an address space. */
#ifndef FLOW_CODE_CODE_CHANGE_H
#define FLOW_CODE_CODE_CHANGE_H

#include "flow/code/code.h"
#include "flow/code/range.h"

/* Finds the range of the version at root that contains ip, with its bytes, or the hole around ip. */
void flow_code_range(const struct flow_code *code, flow_root root, uint64_t ip, struct flow_code_range *range);

#define FLOW_CODE_CHANGES 64

/*
 * Writes the ranges of addresses whose bytes or origin (image, code event) differ between the versions at two roots, in
 * order. Returns the number of ranges; FLOW_CODE_CHANGES + 1: too many differences, and the list is incomplete. alike:
 * images that are equal by flow_timeline_alike count as equal.
 */
size_t flow_code_changes(const struct flow_code *code, flow_root one, flow_root other, bool alike,
			 struct flow_code_span *changes);

/*
 * Checks whether version `other` has all code of version `one` unchanged. `other` may have more code and other names
 * for the code. If so, `other` may replace `one` while flow of `one` is still being decoded.
 */
bool flow_code_keeps(const struct flow_code *code, flow_root one, flow_root other);

#endif
