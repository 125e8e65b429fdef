/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cuts packets into segments as flow/engine/segment_flow.c does with the bytes of a trace. A segment is decoded in place
 * once the next PSB+ is known. The rest of a piece is copied, and waits for the next piece.
 */
#include "flow/decoder/packets.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "format/pt/encode.h"
#include "flow/segment/packets.h"

#define AHEAD 256 /* bytes behind a packet that may matter to the packet */

/* The bytes at hand: the piece itself, or the waiting bytes. */
struct view {
	const uint8_t *bytes;
	size_t size;
	bool last;
};

/* ---- gaps ---------------------------------------------------------------------------------------------- */

static int put_gap(const struct decoder_packets *packets, enum flow_gap_cause cause, uint64_t offset, uint64_t size)
{
	const struct flow_event event = {
		.kind = FLOW_GAP,
		.cause = (uint8_t)cause,
		.offset = offset,
		.size = size,
	};
	const struct flow_batch batch = {.events = &event, .event_count = 1};

	return packets->sink->take(packets->sink->context, &batch);
}

/* Counts bytes that no PSB precedes. Many zeros at the beginning are the unwritten part of a ring, and no gap. */
static void skip_bytes(struct decoder_packets *packets, const uint8_t *bytes, size_t size)
{
	size_t zeros = 0;

	while (!packets->zeros_end && zeros < size && !bytes[zeros])
		zeros++;
	packets->zeros += zeros;
	packets->zeros_end |= zeros < size;
	packets->skipped += size;
}

/* Reports the skipped bytes, which end at `offset`. */
static int report_skipped(struct decoder_packets *packets, uint64_t offset)
{
	const uint64_t zeros = packets->zeros > PTL_PT_PACKET_MAX ? packets->zeros : 0;
	const uint64_t size = packets->skipped - zeros;

	packets->skipped = packets->zeros = 0;
	packets->zeros_end = false;
	return size ? put_gap(packets, FLOW_GAP_SYNC, offset - size, size) : 0;
}

/* ---- segments ------------------------------------------------------------------------------------------ */

/* Looks for the end of a segment's flow in the PSB+ behind the segment, of which `left` bytes are known. */
static void look_ahead(const struct decoder_packets *packets, const uint8_t *bytes, size_t left,
		       struct flow_engine_input *input)
{
	struct flow_psb_plus next;

	flow_psb_plus_read(bytes, left < FLOW_PSB_PLUS_MAX ? left : FLOW_PSB_PLUS_MAX, &packets->native->errata, &next);
	input->has_next = next.complete;
	input->next_ip_known = next.complete && next.has_ip;
	input->next_ip = next.ip;
}

static void begin_segment(struct decoder_packets *packets, const struct flow_engine_input *input)
{
	if (packets->between)
		packets->between(packets->context);
	native_code_trim(packets->native->code);
	native_decoder_begin(packets->native, input, packets->sink);
}

/* Reports the bytes behind a gap that was added to an open segment before these bytes came. */
static int end_open(struct decoder_packets *packets, const struct flow_engine_input *input, int status)
{
	const size_t counted = packets->failed_at;

	packets->open = false;
	packets->failed_at = 0;
	if (status < 0 || !counted || input->size <= counted)
		return status;
	return put_gap(packets, FLOW_GAP_PACKET, packets->offset + counted, input->size - counted);
}

/* Decodes a segment of `size` bytes; `left` bytes are known from the segment's beginning on. */
static int decode_segment(struct decoder_packets *packets, const uint8_t *bytes, size_t size, size_t left)
{
	const struct flow_segment segment = {.offset = packets->offset};
	struct flow_engine_input input = {
		.segment = &segment,
		.bytes = (uint8_t *)(uintptr_t)bytes, /* the native engine writes nothing there */
		.size = size < packets->limit ? size : packets->limit,
	};
	int status;

	if (left > size && input.size == size)
		look_ahead(packets, bytes + size, left - size, &input);
	if (packets->open)
		native_decoder_move(packets->native, bytes, input.size);
	else
		begin_segment(packets, &input);
	packets->native->next_disabled = input.has_next && !input.next_ip_known;
	native_decoder_read(packets->native, NULL);
	status = end_open(packets, &input, native_decoder_end(packets->native, &input));
	if (status < 0 || input.size == size)
		return status;
	return put_gap(packets, FLOW_GAP_SYNC, packets->offset + input.size, size - input.size);
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static void pass_bytes(struct decoder_packets *packets, struct view *view, size_t size)
{
	view->bytes += size;
	view->size -= size;
	packets->offset += size;
	packets->searched -= size < packets->searched ? size : packets->searched;
}

/* Looks for the first PSB. Returns whether it was found. */
static bool find_first(struct decoder_packets *packets, struct view *view)
{
	const size_t psb = ptl_pt_find_psb(view->bytes, view->size, 0);
	size_t skip = psb;

	packets->synced = psb < view->size;
	/* The last bytes may be the beginning of a PSB. */
	if (!packets->synced && !view->last)
		skip = view->size < PTL_PT_PSB_SIZE ? 0 : view->size - (PTL_PT_PSB_SIZE - 1);
	skip_bytes(packets, view->bytes, skip);
	packets->searched = 0;
	pass_bytes(packets, view, skip);
	return packets->synced;
}

/* Finds the end of the segment. Returns false if the end is not known yet. */
static bool find_end(struct decoder_packets *packets, const struct view *view, size_t *end)
{
	const size_t from = packets->searched > PTL_PT_PSB_SIZE ? packets->searched : PTL_PT_PSB_SIZE;

	*end = from < view->size ? ptl_pt_find_psb(view->bytes, view->size, from) : view->size;
	packets->searched = *end;
	if (*end == view->size && !view->last) {
		packets->searched = view->size < 2 * PTL_PT_PSB_SIZE ? PTL_PT_PSB_SIZE
								     : view->size - (PTL_PT_PSB_SIZE - 1);
		return false;
	}
	return view->last || view->size - *end >= FLOW_PSB_PLUS_MAX;
}

/*
 * Ends a segment that is too long: decodes the bytes up to the limit. The bytes up to the next PSB are skipped.
 */
static int end_long(struct decoder_packets *packets, struct view *view)
{
	const int status = decode_segment(packets, view->bytes, packets->limit, packets->limit);

	pass_bytes(packets, view, packets->limit);
	packets->synced = false;
	/* Zeros within a segment are not unwritten. */
	packets->zeros_end = true;
	return status;
}

/* Decodes all segments whose ends are known. Leaves the other bytes. */
static int take_view(struct decoder_packets *packets, struct view *view)
{
	int status = 0;

	while (!status && view->size) {
		size_t end;

		if (!packets->synced) {
			if (!find_first(packets, view))
				break;
			status = report_skipped(packets, packets->offset);
			continue;
		}
		if (find_end(packets, view, &end)) {
			status = decode_segment(packets, view->bytes, end, view->size);
			pass_bytes(packets, view, end);
		} else if (view->size - (PTL_PT_PSB_SIZE - 1) > packets->limit && packets->searched > packets->limit) {
			status = end_long(packets, view);
		} else {
			break;
		}
	}
	return status;
}

static void end_stream(struct decoder_packets *packets)
{
	packets->synced = false;
	packets->searched = 0;
}

static int take_last(struct decoder_packets *packets, struct view *view)
{
	int status = take_view(packets, view);

	if (!status)
		status = report_skipped(packets, packets->offset);
	end_stream(packets);
	packets->size = 0;
	return status;
}

static int keep_rest(struct decoder_packets *packets, const uint8_t *bytes, size_t size)
{
	int status = COMMON_VECTOR_RESERVE(packets->bytes, packets->capacity, packets->size + size, "packets");

	if (!status && size) {
		memcpy(packets->bytes + packets->size, bytes, size);
		packets->size += size;
	}
	return status;
}

/* Decodes the waiting bytes. */
static int take_waiting(struct decoder_packets *packets, bool last)
{
	struct view view = {packets->bytes, packets->size, last};
	int status = last ? take_last(packets, &view) : take_view(packets, &view);

	if (!last && view.size && view.bytes != packets->bytes)
		memmove(packets->bytes, view.bytes, view.size);
	packets->size = last ? 0 : view.size;
	return status;
}

/* Checks whether the bytes are no PSB, as far as the bytes tell. */
static bool is_no_psb(const uint8_t *bytes, size_t size, bool last)
{
	uint8_t psb[PTL_PT_PSB_SIZE];

	format_pt_put_psb(psb);
	if (size >= PTL_PT_PSB_SIZE || last)
		return size < PTL_PT_PSB_SIZE || memcmp(bytes, psb, PTL_PT_PSB_SIZE) != 0;
	return memcmp(bytes, psb, size) != 0;
}

static void resume_open(const struct decoder_packets *packets, bool last)
{
	size_t at = packets->decoded;

	if (!packets->open || !packets->resume)
		return;
	while (at < packets->size && !packets->bytes[at])
		at++;
	if (at < packets->size && is_no_psb(packets->bytes + at, packets->size - at, last))
		packets->resume(packets->context);
}

int decoder_packets_feed(struct decoder_packets *packets, const uint8_t *bytes, size_t size, bool last)
{
	struct view view = {bytes, size, last};
	int status;

	if (packets->size) {
		status = keep_rest(packets, bytes, size);
		if (status)
			return status;
		resume_open(packets, last);
		return take_waiting(packets, last);
	}
	if (last)
		return take_last(packets, &view);
	status = take_view(packets, &view);
	return status ? status : keep_rest(packets, view.bytes, view.size);
}

/* Decodes the whole packets of the waiting segment, whose first `size` bytes are known. */
static int read_open(struct decoder_packets *packets, size_t size, size_t ahead)
{
	const struct flow_segment segment = {.offset = packets->offset};
	struct flow_engine_input input = {.segment = &segment, .bytes = packets->bytes, .size = size};
	struct native_decoder *native = packets->native;

	if (packets->open)
		native_decoder_move(native, packets->bytes, size);
	else
		begin_segment(packets, &input);
	packets->open = true;
	native->next_disabled = false;
	native_decoder_read_whole(native, packets->bytes + size, ahead);
	packets->decoded = (size_t)(native->packets.at - packets->bytes);
	if (native->failed && !packets->failed_at)
		packets->failed_at = size;
	if (native->no_memory)
		return common_fail_memory("flow", native_code_size(native->code));
	return native->out.status;
}

/* Checks whether the PSB+ at the beginning of the bytes is known, with `behind` bytes behind the PSB+. */
static bool is_known_psb_plus(const struct decoder_packets *packets, const uint8_t *bytes, size_t size, size_t behind)
{
	struct flow_psb_plus psb_plus;

	flow_psb_plus_read(bytes, size, &packets->native->errata, &psb_plus);
	return size >= FLOW_PSB_PLUS_MAX ||
	       ((psb_plus.complete || psb_plus.overflow) && size - psb_plus.size >= behind);
}

/*
 * Decodes the waiting segments behind which a PSB+ is known. *size: waiting bytes before the first PSB whose PSB+ is not
 * known yet.
 */
static int end_segments(struct decoder_packets *packets, size_t *size, size_t behind)
{
	struct view view = {packets->bytes, packets->size, false};
	int status = 0;

	find_end(packets, &view, size);
	while (!status && *size < view.size &&
	       is_known_psb_plus(packets, view.bytes + *size, view.size - *size, behind)) {
		status = decode_segment(packets, view.bytes, *size, view.size);
		pass_bytes(packets, &view, *size);
		find_end(packets, &view, size);
	}
	if (view.bytes != packets->bytes)
		memmove(packets->bytes, view.bytes, view.size);
	packets->size = view.size;
	return status;
}

int decoder_packets_flush(struct decoder_packets *packets, bool change)
{
	/* BDM70: the packet behind PSB+ may tell that packets are disabled. A change cannot wait for that packet. */
	const size_t behind = change ? 0 : PTL_PT_PACKET_MAX;
	size_t size;
	int status;

	if (!packets->synced)
		return 0;
	resume_open(packets, false);
	status = end_segments(packets, &size, behind);
	if (status || (!packets->open && !is_known_psb_plus(packets, packets->bytes, size, behind)))
		return status;
	return read_open(packets, size < packets->limit ? size : packets->limit, change ? 0 : AHEAD);
}

int decoder_packets_lost(struct decoder_packets *packets, uint64_t lost)
{
	int status = take_waiting(packets, true);

	if (!status)
		status = put_gap(packets, FLOW_GAP_LOST, packets->offset, lost);
	packets->offset += lost;
	packets->zeros_end = true;
	return status;
}

void decoder_packets_reset(struct decoder_packets *packets)
{
	end_stream(packets);
	packets->open = packets->zeros_end = false;
	packets->size = packets->failed_at = 0;
	packets->offset = packets->skipped = packets->zeros = 0;
}

void decoder_packets_close(struct decoder_packets *packets)
{
	free(packets->bytes);
	packets->bytes = NULL;
	packets->size = packets->capacity = 0;
}
