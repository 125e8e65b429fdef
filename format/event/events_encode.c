/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects events and encodes them as the payload of an EVENTS buffer. */
#include "format/event/events.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "format/event/planes.h"

#define FIXED_SIZE_MAX 512 /* larger payloads of one size are rather blobs than records */
/* Fewer bytes do not earn the entropy table of their own that a split costs. */
#define SPLIT_MIN 2048

struct format_event_row {
	uint64_t step; /* from the time of the row before, as in the file; of the first, 0 */
	uint32_t descriptor;
	uint32_t context;
	uint32_t size;
};

struct format_batch_descriptor {
	struct ptl_descriptor value;
	uint32_t provider; /* number of the GUID */
	uint32_t size;     /* of the first payload */
	bool varies;       /* others have other sizes */
	size_t events;
	size_t bytes;      /* of all payloads */
	size_t size_bytes; /* of all sizes as varints */
};

/*
 * The number of key in map, which is the next free one, with room for it in *array, if it is new; UINT32_MAX without
 * memory.
 */
static uint32_t intern(struct common_byte_map *map, const void *key, size_t size, size_t count, void *array,
		       size_t element)
{
	const uint64_t *known = common_byte_map_get(map, key, size);

	if (known)
		return (uint32_t)*known;
	if (!common_vector_room(array, count, element) || common_byte_map_put(map, key, size, count) < 0)
		return UINT32_MAX;
	return (uint32_t)count;
}

/* Cheap, and predictable: what all goes to one place costs a look into the map, no more. */
static unsigned mix(uint64_t bits, unsigned places)
{
	return (unsigned)(common_hash_mix(bits) >> 32) % places;
}

static uint32_t intern_guid(struct format_event_batch *batch, const struct ptl_guid *guid)
{
	const uint32_t number = intern(&batch->guid_map, guid, sizeof(*guid), batch->guid_count, &batch->guids,
				       sizeof(*guid));

	if (number == batch->guid_count)
		batch->guids[batch->guid_count++] = *guid;
	return number;
}

static bool same_descriptor(const struct ptl_descriptor *a, const struct ptl_descriptor *b)
{
	return a->opcode == b->opcode && a->id == b->id && a->version == b->version && a->channel == b->channel &&
	       a->level == b->level && a->task == b->task && a->keyword == b->keyword &&
	       memcmp(&a->provider, &b->provider, sizeof(a->provider)) == 0;
}

/* Without the padding that a structure may have. */
#define DESCRIPTOR_KEY_SIZE 32
static void descriptor_key(const struct ptl_descriptor *descriptor, uint8_t key[DESCRIPTOR_KEY_SIZE])
{
	memcpy(key, descriptor->provider.bytes, 16);
	common_store16(key + 16, descriptor->id);
	key[18] = descriptor->version;
	key[19] = descriptor->channel;
	key[20] = descriptor->level;
	key[21] = descriptor->opcode;
	common_store16(key + 22, descriptor->task);
	common_store64(key + 24, descriptor->keyword);
}

static uint32_t intern_descriptor(struct format_event_batch *batch, const struct ptl_event *event)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;
	uint32_t *recent = &batch->guesses->descriptors[mix(
		common_load64(descriptor->provider.bytes) ^ (uint64_t)descriptor->id << 32 ^
			(uint64_t)descriptor->version << 16 ^ (uint64_t)descriptor->level << 8 ^ descriptor->opcode ^
			descriptor->keyword,
		FORMAT_RECENT_DESCRIPTORS)];
	uint8_t key[DESCRIPTOR_KEY_SIZE];
	uint32_t number, provider;

	if (*recent && same_descriptor(&batch->descriptors[*recent - 1].value, descriptor))
		return *recent - 1;
	provider = intern_guid(batch, &descriptor->provider);
	if (provider == UINT32_MAX)
		return UINT32_MAX;
	descriptor_key(descriptor, key);
	number = intern(&batch->descriptor_map, key, sizeof(key), batch->descriptor_count, &batch->descriptors,
			sizeof(*batch->descriptors));
	if (number == UINT32_MAX)
		return UINT32_MAX;
	if (number == batch->descriptor_count)
		batch->descriptors[batch->descriptor_count++] = (struct format_batch_descriptor){
			.value = event->descriptor,
			.provider = provider,
			.size = (uint32_t)event->payload_size,
		};
	*recent = number + 1;
	return number;
}

static uint32_t intern_context(struct format_event_batch *batch, const struct ptl_event *event)
{
	const struct ptl_event_context context = {event->cpu, event->pid, event->tid};
	uint32_t *recent = &batch->guesses->contexts[mix(
		(uint64_t)context.tid << 32 ^ context.pid ^ (uint64_t)context.cpu << 20, FORMAT_RECENT_CONTEXTS)];
	uint32_t number;

	if (*recent && memcmp(&batch->contexts[*recent - 1], &context, sizeof(context)) == 0)
		return *recent - 1;
	number = intern(&batch->context_map, &context, sizeof(context), batch->context_count, &batch->contexts,
			sizeof(context));
	if (number == UINT32_MAX)
		return UINT32_MAX;
	if (number == batch->context_count)
		batch->contexts[batch->context_count++] = context;
	*recent = number + 1;
	return number;
}

static int check(const struct ptl_event *event)
{
	size_t total = 0;

	if (event->payload_size > PTL_PAYLOAD_MAX)
		return common_fail(PTL_MISUSE, "a payload of %zu bytes is larger than %u", event->payload_size,
				   PTL_PAYLOAD_MAX);
	if (event->flags & ~FORMAT_EVENT_FLAGS)
		return common_fail(PTL_MISUSE, "event flags 0x%x are not defined", event->flags);
	if (event->extended_count > FORMAT_EXTENDED_MAX)
		return common_fail(PTL_MISUSE, "%zu extended items are more than %u", event->extended_count,
				   FORMAT_EXTENDED_MAX);
	for (size_t i = 0; i < event->extended_count; i++)
		total += event->extended[i].size;
	if (total > FORMAT_EXTENDED_BYTES_MAX)
		return common_fail(PTL_MISUSE, "%zu bytes of extended items are more than %u", total,
				   FORMAT_EXTENDED_BYTES_MAX);
	return 0;
}

/*
 * The numbers of the activities are found first: after them nothing can fail but the vector itself.
 */
static int add_extra(struct format_event_batch *batch, const struct ptl_event *event)
{
	const size_t before = batch->extras.size;
	struct ptl_bytes *out = &batch->extras;
	uint32_t activity = 0, related = 0;

	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		activity = intern_guid(batch, &event->activity);
	if (event->flags & PTL_EVENT_HAS_RELATED)
		related = intern_guid(batch, &event->related);
	common_write_varint(out, batch->count - batch->last_extra);
	common_write_varint(out, event->flags);
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		common_write_varint(out, activity);
	if (event->flags & PTL_EVENT_HAS_RELATED)
		common_write_varint(out, related);
	common_write_varint(out, event->extended_count);
	for (size_t i = 0; i < event->extended_count; i++) {
		common_write_varint(out, event->extended[i].type);
		common_write_varint(out, event->extended[i].size);
		common_write_bytes(out, event->extended[i].data, event->extended[i].size);
	}
	if (activity == UINT32_MAX || related == UINT32_MAX || out->failed) {
		out->size = before;
		out->failed = false;
		return common_fail_memory("an event", event->payload_size);
	}
	batch->last_extra = batch->count;
	batch->extra_count++;
	return 0;
}

/* With room for a little more than came the last time: growing copies all that is there. */
static bool begin(struct format_event_batch *batch)
{
	const size_t rows = batch->expected_events + batch->expected_events / 8;
	const size_t bytes = batch->expected_bytes + batch->expected_bytes / 8;

	batch->guesses = calloc(1, sizeof(*batch->guesses));
	if (!batch->guesses || !COMMON_VECTOR_GROW(batch->rows, batch->capacity, rows) ||
	    !common_bytes_grow(&batch->payloads, bytes)) {
		free(batch->guesses);
		batch->guesses = NULL;
		batch->payloads.failed = false;
		return false;
	}
	batch->payloads.size = 0;
	return true;
}

int format_event_batch_add(struct format_event_batch *batch, const struct ptl_event *event)
{
	const int status = check(event);
	struct format_batch_descriptor *entry;
	struct format_event_row row = {.size = (uint32_t)event->payload_size};
	uint8_t *place;

	if (status)
		return status;
	if (!batch->guesses && !begin(batch))
		return common_fail_memory("an event", sizeof(*batch->guesses));
	row.descriptor = intern_descriptor(batch, event);
	row.context = intern_context(batch, event);
	if (row.descriptor == UINT32_MAX || row.context == UINT32_MAX ||
	    !COMMON_VECTOR_GROW(batch->rows, batch->capacity, batch->count + 1))
		return common_fail_memory("an event", event->payload_size);
	place = common_bytes_grow(&batch->payloads, event->payload_size);
	if (!place) {
		batch->payloads.failed = false;
		return common_fail_memory("an event", event->payload_size);
	}
	if (event->payload_size)
		memcpy(place, event->payload, event->payload_size);
	if ((event->flags || event->extended_count) && add_extra(batch, event) < 0) {
		batch->payloads.size -= event->payload_size;
		return PTL_NO_MEMORY;
	}
	entry = &batch->descriptors[row.descriptor];
	entry->varies |= entry->size != row.size;
	entry->events++;
	entry->bytes += row.size;
	entry->size_bytes += common_varint_size(row.size);
	if (!batch->count) {
		batch->start = batch->first_time = batch->last_time = event->time;
	} else {
		row.step = common_zigzag((int64_t)(event->time - batch->time));
		batch->steps |= row.step;
	}
	if (event->time < batch->first_time)
		batch->first_time = event->time;
	if (event->time > batch->last_time)
		batch->last_time = event->time;
	batch->time = event->time;
	batch->rows[batch->count++] = row;
	return 0;
}

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

static void split(struct format_event_splits *splits, const struct ptl_bytes *out, size_t start)
{
	format_event_splits_add(splits, out->size - start);
}

/* The first is counted from the time that the buffer's header has. */
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

/* Where the next payload of a descriptor goes, and the number that says its size. */
struct place {
	uint8_t *sizes; /* varying layout only */
	uint8_t *payload;
	size_t stride;             /* between bytes of a payload: 1 in rows, else the length of a plane */
	bool fixed;                /* it is the latter */
	const uint8_t *waiting[8]; /* payloads that go into planes together */
	unsigned waiting_count;
	const uint8_t *first; /* payload */
};

static uint8_t *write_varint(uint8_t *at, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Gives every descriptor its part of the output; to be freed. NULL without memory. */
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

/* Most bytes of most records are always the same: high ones of numbers, what is not used. They are filled in first, by the first. */
static void place_first(struct place *place, const uint8_t *payload, uint32_t size)
{
	place->first = payload;
	for (uint32_t k = 0; k < size; k++)
		memset(place->payload + k * place->stride, payload[k], place->stride);
}

/* Eight bytes of eight payloads. */
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

/* The payloads that wait, of this size, into their planes. */
static void place_waiting(struct place *place, uint32_t size)
{
	if (place->waiting_count == 8 && size >= 8) {
		for (uint32_t k = 0; k + 8 <= size; k += 8)
			place_eight(place, k);
		/* Some planes for a second time, the same: faster than single bytes. */
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

/* Gives the compressor the borders between payloads, which begin at `at`. */
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
	/* Room for all at once. */
	if (common_bytes_grow(out, format_event_batch_size(batch)))
		out->size = start;
	encode_tables(batch, out);
	common_write_le(out, width, 1);
	split(splits, out, start);
	encode_column(batch, COLUMN_DESCRIPTOR, format_column_width(batch->descriptor_count), out);
	split(splits, out, start);
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
	split(splits, out, start);
	common_write_varint(out, batch->extra_count);
	common_write_bytes(out, batch->extras.data, batch->extras.size);
}

void format_event_batch_free(struct format_event_batch *batch)
{
	free(batch->rows);
	free(batch->descriptors);
	free(batch->contexts);
	free(batch->guids);
	free(batch->guesses);
	common_byte_map_free(&batch->descriptor_map);
	common_byte_map_free(&batch->context_map);
	common_byte_map_free(&batch->guid_map);
	common_bytes_free(&batch->payloads);
	common_bytes_free(&batch->extras);
	*batch = (struct format_event_batch){0};
}
