/* SPDX-License-Identifier: BSD-2-Clause */
/* Corrects the checksums of a trace file, so that a fuzzer reaches the code behind them. */
#ifndef TESTS_FUZZ_MEND_H
#define TESTS_FUZZ_MEND_H

#include <stdint.h>
#include <string.h>

#include "common/bytes.h"
#include "format/container/layout.h"

/* Corrects the checksums of the buffer at data, as far as the buffer is complete. Returns the buffer's size, or 0. */
static size_t mend_buffer(uint8_t *data, size_t size)
{
	const uint32_t side = size >= FORMAT_BUFFER_HEADER_SIZE ? common_load32(data + 32) : 0;
	const uint32_t stored = size >= FORMAT_BUFFER_HEADER_SIZE ? common_load32(data + 40) : 0;
	const size_t left = size - FORMAT_BUFFER_HEADER_SIZE;
	uint8_t *body = data + FORMAT_BUFFER_HEADER_SIZE;

	if (size < FORMAT_BUFFER_HEADER_SIZE || memcmp(data, "PTLB", 4) != 0)
		return 0;
	if (side <= left && side > 8)
		common_store64(body + side - 8, format_checksum(body, side - 8));
	if (side <= left && stored <= left - side)
		common_store64(data + 88, format_checksum(body + side, stored));
	common_store64(data + 96, format_checksum(data, 96));
	return side <= left && stored <= left - side ? FORMAT_BUFFER_HEADER_SIZE + (size_t)side + stored : 0;
}

static void mend(uint8_t *data, size_t size)
{
	if (size < FORMAT_FILE_HEADER_SIZE)
		return;
	common_store64(data + 56, format_checksum(data, 56));
	for (size_t at = FORMAT_FILE_HEADER_SIZE; at < size;) {
		const size_t buffer = mend_buffer(data + at, size - at);

		at += buffer ? buffer : 1;
	}
	if (size >= FORMAT_FILE_HEADER_SIZE + FORMAT_TRAILER_SIZE)
		common_store64(data + size - 8, format_checksum(data + size - FORMAT_TRAILER_SIZE, 32));
}

#endif
