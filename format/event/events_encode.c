/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes a batch of events as the payload of an EVENTS buffer. */
#include <stdlib.h>

#include "format/event/events_internal.h"
#include "format/event/planes.h"

#define FIXED_SIZE_MAX 512 /* bytes; larger payloads are more likely blobs than records */
/* Least bytes between splits. A smaller part does not repay the entropy table that a split costs. */
#define SPLIT_MIN 2048

static bool is_fixed(const struct format_batch_descriptor *entry)
{
	return !entry->varies && entry->size <= FIXED_SIZE_MAX;
}

static void encode_tables(const struct format_event_batch *batch, struct ptl_bytes *out)
{
	common_write_varint(out, batch->guid_count);
	for (size_t i = 0; i < batch->guid_count; i++)
		common_write_bytes(out, batch->guids[i].bytes, 16);
	common_write_varint(out, batch->descriptor_count);
	for (size_t i = 0; i < batch->descriptor_count; i++) {
		const struct format_batch_descriptor *entry = &batch->descriptors[i];

		common_write_varint(out, entry->provider);
		common_write_varint(out, entry->value.id);
		common_write_le(out, entry->value.version, 1);
		common_write_le(out, entry->value.channel, 1);
		common_write_le(out, entry->value.level, 1);
		common_write_le(out, entry->value.opcode, 1);
		common_write_varint(out, entry->value.task);
		common_write_varint(out, entry->value.keyword);
		common_write_varint(out, is_fixed(entry) ? (uint64_t)entry->size + 1 : 0);
	}
	common_write_varint(out, batch->context_count);
	for (size_t i = 0; i < batch->context_count; i++) {
		common_write_varint(out, (uint32_t)(batch->contexts[i].cpu + 1));
		common_write_varint(out, (uint32_t)(batch->contexts[i].pid + 1));
		common_write_varint(out, (uint32_t)(batch->contexts[i].tid + 1));
	}
}

void format_event_splits_add(struct format_event_splits *splits, size_t here)
{
	const size_t last = splits->count ? splits->at[splits->count - 1] : 0;

	if (splits->count < FORMAT_EVENT_SPLITS_MAX && here >= last + SPLIT_MIN)
		splits->at[splits->count++] = here;
}

void format_event_splits_plane(struct format_event_splits *splits, const uint8_t *raw, size_t at, size_t size)
{
	const bool was_level = splits->is_level;

	splits->is_level = size && memcmp(raw + at, raw + at + 1, size - 1) == 0;
	if (!was_level || !splits->is_level)
		format_event_splits_add(splits, at);
}

static void split_columns(struct format_event_splits *splits, const struct ptl_bytes *out, size_t start)
{
	format_event_splits_add(splits, out->size - start);
}

/* Returns the time step of row i. The first step is relative to the first time in the buffer's header. */
static uint64_t time_step(const struct format_event_batch *batch, size_t i)
{
	return i ? batch->rows[i].step : common_zigzag((int64_t)(batch->start - batch->first_time));
}

static unsigned time_width(const struct format_event_batch *batch)
{
	const uint64_t all = batch->steps | time_step(batch, 0);
	unsigned width = 1;

	while (width < 8 && all >> 8 * width)
		width++;
	return width;
}

enum column { COLUMN_DESCRIPTOR, COLUMN_CONTEXT };

static void encode_column(const struct format_event_batch *batch, enum column column, unsigned width,
			  struct ptl_bytes *out)
{
	uint8_t *planes = width ? common_bytes_grow(out, width * batch->count) : NULL;

	for (size_t i = 0; planes && i < batch->count; i++) {
		const struct format_event_row *row = &batch->rows[i];
		const uint32_t value = column == COLUMN_DESCRIPTOR ? row->descriptor : row->context;

		for (unsigned k = 0; k < width; k++)
			planes[k * batch->count + i] = (uint8_t)(value >> 8 * k);
	}
}

static void encode_eight_times(const struct format_event_batch *batch, size_t first, unsigned width, uint8_t *planes)
{
	uint8_t steps[8][8], turned[8][8];
	const uint8_t *in[8];

	for (size_t i = 0; i < 8; i++) {
		common_store64(steps[i], time_step(batch, first + i));
		in[i] = steps[i];
	}
	format_transpose_8x8(in, 0, turned[0], 8);
	for (unsigned k = 0; k < width; k++)
		memcpy(planes + k * batch->count, turned[k], 8);
}

static void encode_times(const struct format_event_batch *batch, unsigned width, struct ptl_bytes *out,
			 struct format_event_splits *splits, size_t start)
{
	uint8_t *planes = common_bytes_grow(out, width * batch->count);
	size_t i = 0;

	for (unsigned k = 0; k < width; k++)
		format_event_splits_add(splits, out->size - start - (width - k) * batch->count);
	for (; planes && i + 8 <= batch->count; i += 8)
		encode_eight_times(batch, i, width, planes + i);
	for (; planes && i < batch->count; i++) {
		const uint64_t step = time_step(batch, i);

		for (unsigned k = 0; k < width; k++)
			planes[k * batch->count + i] = (uint8_t)(step >> 8 * k);
	}
}

/* Where the next payload of a descriptor goes, and where its size goes. */
struct place {
	uint8_t *sizes; /* for varying sizes only */
	uint8_t *payload;
	size_t stride;             /* distance between bytes of a payload: 1 in rows; the length of a plane in planes */
	bool fixed;                /* payloads of a fixed size, in planes */
	const uint8_t *waiting[8]; /* payloads to be transposed together */
	unsigned waiting_count;
	const uint8_t *first; /* first payload */
};

static uint8_t *write_varint(uint8_t *at, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Assigns each descriptor its part of the output. The caller frees the array. NULL without memory. */
static struct place *lay_out(const struct format_event_batch *batch, struct ptl_bytes *out)
{
	size_t total = 0;
	struct place *places;
	uint8_t *at;

	for (size_t d = 0; d < batch->descriptor_count; d++) {
		const struct format_batch_descriptor *entry = &batch->descriptors[d];

		total += entry->bytes + (is_fixed(entry) ? 0 : entry->size_bytes);
	}
	at = common_bytes_grow(out, total);
	places = at ? calloc(batch->descriptor_count, sizeof(*places)) : NULL;
	if (!places)
		return NULL;
	for (size_t d = 0; d < batch->descriptor_count; d++) {
		const struct format_batch_descriptor *entry = &batch->descriptors[d];
		const size_t sizes = is_fixed(entry) ? 0 : entry->size_bytes;

		places[d] = (struct place){
			.sizes = at,
			.payload = at + sizes,
			.stride = is_fixed(entry) ? entry->events : 1,
			.fixed = is_fixed(entry),
		};
		at += sizes + entry->bytes;
	}
	return places;
}

/*
 * Fills the planes with the bytes of the first payload. Most bytes of most records never change: high bytes of numbers,
 * unused fields. Unchanged bytes are then not written again.
 */
static void place_first(struct place *place, const uint8_t *payload, uint32_t size)
{
	place->first = payload;
	for (uint32_t k = 0; k < size; k++)
		memset(place->payload + k * place->stride, payload[k], place->stride);
}

/* Transposes eight bytes of eight payloads, unless all equal the first payload's. */
static void place_eight(const struct place *place, uint32_t from)
{
	uint64_t first, other, differs = 0;

	memcpy(&first, place->first + from, sizeof(first));
	for (unsigned i = 0; i < 8; i++) {
		memcpy(&other, place->waiting[i] + from, sizeof(other));
		differs |= other ^ first;
	}
	if (differs)
		format_transpose_8x8(place->waiting, from, place->payload + from * place->stride, place->stride);
}

/* Writes the waiting payloads, of `size` bytes, to their planes. */
static void place_waiting(struct place *place, uint32_t size)
{
	if (place->waiting_count == 8 && size >= 8) {
		for (uint32_t k = 0; k + 8 <= size; k += 8)
			place_eight(place, k);
		/* Writes some planes twice, with the same bytes: faster than single bytes. */
		if (size % 8)
			place_eight(place, size - 8);
	} else {
		for (uint32_t k = 0; k < size; k++)
			for (unsigned i = 0; i < place->waiting_count; i++)
				place->payload[k * place->stride + i] = place->waiting[i][k];
	}
	place->payload += place->waiting_count;
	place->waiting_count = 0;
}

static void place_varying(struct place *place, const uint8_t *payload, uint32_t size)
{
	place->sizes = write_varint(place->sizes, size);
	memcpy(place->payload, payload, size);
	place->payload += size;
}

static void encode_payloads(const struct format_event_batch *batch, struct place *places)
{
	const uint8_t *payload = batch->payloads.data;

	for (size_t i = 0; i < batch->count; payload += batch->rows[i++].size) {
		const uint32_t size = batch->rows[i].size;
		struct place *place = &places[batch->rows[i].descriptor];

		if (!place->fixed) {
			place_varying(place, payload, size);
		} else if (size) {
			if (!place->first)
				place_first(place, payload, size);
			place->waiting[place->waiting_count++] = payload;
			if (place->waiting_count == 8)
				place_waiting(place, size);
		}
	}
	for (size_t d = 0; d < batch->descriptor_count; d++)
		place_waiting(&places[d], batch->descriptors[d].size);
}

/* Marks the borders between payloads, which begin at `at`, for the compressor. */
static void split_payloads(const struct format_event_batch *batch, const struct ptl_bytes *out, size_t start, size_t at,
			   struct format_event_splits *splits)
{
	for (size_t d = 0; d < batch->descriptor_count; d++) {
		const struct format_batch_descriptor *entry = &batch->descriptors[d];

		if (!is_fixed(entry))
			format_event_splits_add(splits, at += entry->size_bytes);
		for (uint32_t k = 0; is_fixed(entry) && k < entry->size; k++)
			format_event_splits_plane(splits, out->data + start, at + k * entry->events, entry->events);
		at += entry->bytes;
	}
}

void format_event_batch_encode(const struct format_event_batch *batch, struct ptl_bytes *out,
			       struct format_event_splits *splits)
{
	const unsigned width = time_width(batch);
	const size_t start = out->size;
	struct place *places;
	size_t payloads;

	*splits = (struct format_event_splits){.count = 0};
	/* Reserves room for the whole payload at once. */
	if (common_bytes_grow(out, format_event_batch_size(batch)))
		out->size = start;
	encode_tables(batch, out);
	common_write_le(out, width, 1);
	split_columns(splits, out, start);
	encode_column(batch, COLUMN_DESCRIPTOR, format_column_width(batch->descriptor_count), out);
	split_columns(splits, out, start);
	encode_column(batch, COLUMN_CONTEXT, format_column_width(batch->context_count), out);
	encode_times(batch, width, out, splits, start);
	payloads = out->size - start;
	places = lay_out(batch, out);
	if (places)
		encode_payloads(batch, places);
	else
		out->failed = true;
	free(places);
	if (!out->failed)
		split_payloads(batch, out, start, payloads, splits);
	split_columns(splits, out, start);
	common_write_varint(out, batch->extra_count);
	common_write_bytes(out, batch->extras.data, batch->extras.size);
}
