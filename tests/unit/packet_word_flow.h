/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes PT packet by packet and by packet words: the flow must be the same. */
#ifndef TESTS_UNIT_PACKET_WORD_FLOW_H
#define TESTS_UNIT_PACKET_WORD_FLOW_H

#include "flow/native/decoder.h"

/* For code that changes: called before the segment at `at`, the first one of a round included. */
struct word_changes {
	void (*before)(struct word_changes *changes, struct native_decoder *decoder, size_t at);
};

/*
 * Decodes pt `rounds` times by a decoder that caches packet words from the first packet on; whether the flow is
 * always that of one without. `changes`: NULL where the code stays the same. `known`: how many words are cached at
 * the end.
 */
bool word_flows_equal_changing(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
			       struct word_changes *changes, uint32_t *known);
bool word_flows_equal(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
		      uint32_t *known);

#endif
