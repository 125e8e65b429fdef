/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the checksums of a trace file right, so that a fuzzer gets behind them. */
#ifndef PTL_TESTS_FUZZ_MEND_H
#define PTL_TESTS_FUZZ_MEND_H

#include <stdint.h>
#include <string.h>

#include "common/bytes.h"
#include "format/container/layout.h"

/*
 * Makes the checksums of the buffer at data right, as far as it is there. Returns its size, or 0.
 */
static size_t mend_buffer(uint8_t *data, size_t size)
{
	const uint32_t side = size >= PTL_BUFFER_HEADER_SIZE ? ptl_load32(data + 32) : 0;
	const uint32_t stored = size >= PTL_BUFFER_HEADER_SIZE ? ptl_load32(data + 40) : 0;
	const size_t left = size - PTL_BUFFER_HEADER_SIZE;
	uint8_t *body = data + PTL_BUFFER_HEADER_SIZE;

	if (size < PTL_BUFFER_HEADER_SIZE || memcmp(data, "PTLB", 4) != 0)
		return 0;
	if (side <= left && side > 8)
		ptl_store64(body + side - 8, ptl_checksum(body, side - 8));
	if (side <= left && stored <= left - side)
		ptl_store64(data + 88, ptl_checksum(body + side, stored));
	ptl_store64(data + 96, ptl_checksum(data, 96));
	return side <= left && stored <= left - side
		       ? PTL_BUFFER_HEADER_SIZE + (size_t)side + stored
		       : 0;
}

static void mend(uint8_t *data, size_t size)
{
	if (size < PTL_FILE_HEADER_SIZE)
		return;
	ptl_store64(data + 56, ptl_checksum(data, 56));
	for (size_t at = PTL_FILE_HEADER_SIZE; at < size;) {
		const size_t buffer = mend_buffer(data + at, size - at);

		at += buffer ? buffer : 1;
	}
	if (size >= PTL_FILE_HEADER_SIZE + PTL_TRAILER_SIZE)
		ptl_store64(data + size - 8, ptl_checksum(data + size - PTL_TRAILER_SIZE, 32));
}

#endif
