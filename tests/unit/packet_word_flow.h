/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes PT packet by packet and by packet words, and compares the flow. */
#ifndef TESTS_UNIT_PACKET_WORD_FLOW_H
#define TESTS_UNIT_PACKET_WORD_FLOW_H

#include "flow/native/decoder.h"

/* For changing code: called before the segment at `at`, including the first segment of a round. */
struct word_changes {
	void (*before)(struct word_changes *changes, struct native_decoder *decoder, size_t at);
};

/*
 * Decodes pt `rounds` times with caching of packet words from the first packet on. Returns whether the flow always
 * equals the flow of a decoder without a cache.
 * changes: NULL for constant code. known: receives the number of cached words.
 */
bool word_flows_equal_changing(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
			       struct word_changes *changes, uint32_t *known);
bool word_flows_equal(struct native_source source, unsigned mode, uint8_t *pt, size_t size, unsigned rounds,
		      uint32_t *known);

#endif
