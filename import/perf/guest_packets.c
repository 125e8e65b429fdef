/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps a window of a ring's bytes, and decodes packets in the window. */
#include "import/perf/guest_packets.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/partition.h"
#include "flow/segment/packets.h"

#define WINDOW ((size_t)256 << 10)
#define AHEAD ((size_t)FLOW_PSB_PLUS_MAX) /* bytes in the window behind each packet, unless the bytes end */

int perf_guest_reader_open(struct perf_guest_reader *reader, const struct perf_guest_ring *ring,
			   const struct flow_errata *errata)
{
	*reader = (struct perf_guest_reader){.ring = ring, .errata = *errata, .searching = true};
	reader->window = malloc(WINDOW);
	return reader->window ? 0 : common_fail_memory("packets", WINDOW);
}

void perf_guest_reader_close(struct perf_guest_reader *reader)
{
	free(reader->window);
	*reader = (struct perf_guest_reader){0};
}

void perf_guest_reader_go(struct perf_guest_reader *reader, uint64_t position, uint64_t last_ip)
{
	const size_t have = reader->end - reader->begin;

	if (position >= reader->position && position - reader->position <= have)
		reader->begin += (size_t)(position - reader->position);
	else
		reader->begin = reader->end = 0;
	reader->position = position;
	reader->last_ip = last_ip;
	reader->context = (struct ptl_pt_context){0};
	reader->searching = !position;
	reader->lost = false;
}

/* Returns the piece with the byte at a position, or the next piece. NULL: no more bytes. */
static const struct perf_guest_piece *find_piece(const struct perf_guest_ring *ring, uint64_t position)
{
	const size_t at = COMMON_PARTITION(ring->count, i, ring->pieces[i].position + ring->pieces[i].size <= position);

	return at < ring->count ? &ring->pieces[at] : NULL;
}

/* Discards the window's bytes, and goes on behind a hole. */
static void pass_hole(struct perf_guest_reader *reader, uint64_t position)
{
	reader->position = position;
	reader->begin = reader->end = 0;
	reader->searching = reader->lost = true;
}

/* Fills the window up to the next hole. */
static int fill(struct perf_guest_reader *reader)
{
	int status = 0;

	if (reader->end - reader->begin > AHEAD)
		return 0;
	memmove(reader->window, reader->window + reader->begin, reader->end - reader->begin);
	reader->end -= reader->begin;
	reader->begin = 0;
	while (!status && reader->end < WINDOW) {
		const uint64_t at = reader->position + reader->end;
		const struct perf_guest_piece *piece = find_piece(reader->ring, at);
		uint64_t size;

		if (!piece || (piece->position > at && reader->end))
			break;
		if (piece->position > at) {
			pass_hole(reader, piece->position);
			continue;
		}
		size = piece->size - (at - piece->position);
		if (size > WINDOW - reader->end)
			size = WINDOW - reader->end;
		status = common_read_at(piece->fd, reader->window + reader->end, (size_t)size,
					piece->offset + (at - piece->position));
		reader->end += status ? 0 : (size_t)size;
	}
	return status;
}

static void consume(struct perf_guest_reader *reader, size_t size)
{
	reader->begin += size;
	reader->position += size;
}

/* Goes to the next PSB in the window. Returns false if the window has no PSB. */
static bool find_psb(struct perf_guest_reader *reader)
{
	const size_t at = ptl_pt_find_psb(reader->window, reader->end, reader->begin);
	const size_t left = reader->end - at;

	if (left) {
		consume(reader, at - reader->begin);
		reader->searching = false;
		reader->context = (struct ptl_pt_context){0};
		return true;
	}
	/* Keep the last bytes, which may begin a PSB. */
	if (reader->end - reader->begin >= PTL_PT_PSB_SIZE)
		consume(reader, reader->end - reader->begin - (PTL_PT_PSB_SIZE - 1));
	return false;
}

/* Goes behind the window's bytes, which are no packet. Returns false at the end of all bytes. */
static bool pass_rest(struct perf_guest_reader *reader)
{
	const uint64_t end = reader->position + (reader->end - reader->begin);
	const struct perf_guest_piece *piece = find_piece(reader->ring, end);

	if (!piece)
		return false;
	if (piece->position > end)
		pass_hole(reader, piece->position);
	return true;
}

int perf_guest_reader_next(struct perf_guest_reader *reader, struct perf_guest_packet *packet)
{
	for (;;) {
		const int status = fill(reader);
		int size;

		if (status)
			return status;
		if (reader->searching && !find_psb(reader)) {
			if (!pass_rest(reader))
				return 0;
			continue;
		}
		packet->bytes = reader->window + reader->begin;
		size = reader->begin == reader->end
			       ? PTL_TRUNCATED
			       : flow_errata_read(&reader->errata, packet->bytes, reader->end - reader->begin,
						  &reader->context, &packet->packet);
		if (size > 0) {
			packet->position = reader->position;
			packet->lost = reader->lost;
			packet->has_ip = ptl_pt_ip_resolve(&packet->packet, &reader->last_ip, &packet->ip);
			packet->packet.size = (uint8_t)size;
			reader->lost = false;
			consume(reader, (size_t)size);
			return 1;
		}
		if (size == PTL_TRUNCATED && !pass_rest(reader))
			return 0;
		if (size != PTL_TRUNCATED)
			consume(reader, 1);
		reader->searching = reader->lost = true;
	}
}

void perf_guest_reader_psb_plus(const struct perf_guest_reader *reader, struct flow_psb_plus *psb_plus)
{
	const uint8_t *psb = reader->window + reader->begin - PTL_PT_PSB_SIZE;

	flow_psb_plus_read(psb, reader->end - reader->begin + PTL_PT_PSB_SIZE, &reader->errata, psb_plus);
}
