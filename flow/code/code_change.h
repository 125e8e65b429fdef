/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the code of two versions of an address space differs. */
#ifndef FLOW_CODE_CODE_CHANGE_H
#define FLOW_CODE_CODE_CHANGE_H

#include "flow/code/code.h"
#include "flow/code/range.h"

/* The range of the version at root that holds ip, with its bytes, or the hole around it: see native_source. */
void flow_code_range(const struct flow_code *code, flow_root root, uint64_t ip, struct flow_code_range *range);

#define FLOW_CODE_CHANGES 64

/*
 * Writes the ranges of addresses whose bytes, or where they come from (image, code event), are not the same in the versions at
 * the two roots, in order, and returns how many. FLOW_CODE_CHANGES + 1: so much differs that it is not listed. alike: see
 * flow_timeline_alike, such images are the same.
 */
size_t flow_code_changes(const struct flow_code *code, flow_root one, flow_root other, bool alike,
			 struct flow_code_span *changes);

/*
 * Whether all code that the version at `one` has is the same in the one at `other`, which may have more, and other names for
 * it: then the other may take its place while flow of the first is still under way.
 */
bool flow_code_keeps(const struct flow_code *code, flow_root one, flow_root other);

#endif
