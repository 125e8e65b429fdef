/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches PSBs, where decoding can start, in complete bytes; psb_scan.c searches bytes that arrive in pieces. */
#include "format/pt/packet.h"

/*
 * A PSB is 02 82 eight times (SDM, section "Packet Stream Boundary (PSB) Packet"), and no other sequence of packets has
 * these 16 bytes. Any 16 consecutive bytes contain exactly one of every 16th byte of the stream. So the search checks
 * one byte in 16, and its neighbours only if the byte is 02 or 82.
 */
static bool pattern_byte(uint8_t byte, size_t from_start)
{
	return byte == (from_start & 1 ? FORMAT_PT_MATCH_PSB >> 8 : FORMAT_PT_MATCH_PSB & 0xff);
}

/* Returns the PSB that ends the run of the pattern around the byte `at`; `size` if the run is too short. */
static size_t psb_around(const uint8_t *data, size_t size, size_t from, size_t at)
{
	size_t phase = data[at] == (FORMAT_PT_MATCH_PSB & 0xff) ? at : at + 1;
	size_t start = at, end = at + 1;

	/* Goes back no further than a PSB with this byte could reach, since an earlier PSB would have been found. */
	while (start > from && at - start < PTL_PT_PSB_SIZE - 1 && pattern_byte(data[start - 1], start - 1 - phase))
		start--;
	start += (start - phase) & 1;
	while (end < size && pattern_byte(data[end], end - phase))
		end++;
	end -= (end - phase) & 1;
	return end >= start + PTL_PT_PSB_SIZE ? end - PTL_PT_PSB_SIZE : size;
}

size_t ptl_pt_find_psb(const uint8_t *data, size_t size, size_t from)
{
	if (from > size || size - from < PTL_PT_PSB_SIZE)
		return size;
	for (size_t at = from + PTL_PT_PSB_SIZE - 1; at < size; at += PTL_PT_PSB_SIZE) {
		size_t psb;

		if ((data[at] & 0x7f) != (FORMAT_PT_MATCH_PSB & 0xff))
			continue;
		psb = psb_around(data, size, from, at);
		if (psb < size)
			return psb;
	}
	return size;
}
