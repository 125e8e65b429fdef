/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects events for encoding together. */
#include <stdlib.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "format/event/events_internal.h"

/*
 * Returns the index of `key` in `map`. A new key gets the next index, and *array gets room for it. UINT32_MAX without
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

/* Cheap and predictable hash. A collision costs only a look-up in the map. */
static unsigned mix_bits(uint64_t bits, unsigned places)
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

/* Bytes of a key, without a structure's padding. */
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

static uint32_t intern_descriptor(struct format_event_batch *batch, const struct ptl_descriptor *descriptor,
				  size_t payload_size)
{
	uint32_t *recent = &batch->guesses->descriptors[mix_bits(
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
			.value = *descriptor,
			.provider = provider,
			.size = (uint32_t)payload_size,
		};
	*recent = number + 1;
	return number;
}

static inline bool same_context(const struct format_event_context *a, const struct format_event_context *b)
{
	return a->tid == b->tid && a->pid == b->pid && a->cpu == b->cpu;
}

static uint32_t intern_context(struct format_event_batch *batch, struct format_event_context context)
{
	uint32_t *recent = &batch->guesses->contexts[mix_bits(
		(uint64_t)context.tid << 32 ^ context.pid ^ (uint64_t)context.cpu << 20, FORMAT_RECENT_CONTEXTS)];
	uint32_t number;

	if (*recent && same_context(&batch->contexts[*recent - 1], &context))
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

static int check_event(const struct ptl_event *event)
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

/* Appends an event's extra data. Interns the activities first: afterwards only appending can fail. */
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

/* Allocates room for slightly more events than in the preceding batch, since growing copies all data. */
static bool begin_batch(struct format_event_batch *batch)
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

/* Counts `count` more payloads of `size` bytes for a descriptor. */
static inline void count_payloads(struct format_batch_descriptor *entry, uint32_t size, size_t count)
{
	entry->varies |= entry->size != size;
	entry->events += count;
	entry->bytes += size * count;
	entry->size_bytes += common_varint_size(size) * count;
}

static inline void put_row(struct format_event_batch *batch, struct format_event_row *row, uint64_t time)
{
	if (!batch->count)
		batch->start = batch->first_time = batch->last_time = batch->time = time;
	row->step = common_zigzag((int64_t)(time - batch->time));
	batch->steps |= row->step;
	if (time < batch->first_time)
		batch->first_time = time;
	if (time > batch->last_time)
		batch->last_time = time;
	batch->time = time;
	batch->rows[batch->count++] = *row;
}

int format_event_batch_add(struct format_event_batch *batch, const struct ptl_event *event)
{
	const int status = check_event(event);
	struct format_event_row row = {.size = (uint32_t)event->payload_size};
	uint8_t *place;

	if (status)
		return status;
	if (!batch->guesses && !begin_batch(batch))
		return common_fail_memory("an event", sizeof(*batch->guesses));
	row.descriptor = intern_descriptor(batch, &event->descriptor, event->payload_size);
	row.context = intern_context(batch, (struct format_event_context){event->cpu, event->pid, event->tid});
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
	count_payloads(&batch->descriptors[row.descriptor], row.size, 1);
	put_row(batch, &row, event->time);
	return 0;
}

/* Copies a piece. Most pieces are whole words, and a call of memcpy for so few bytes takes longer than the copy. */
static inline void copy_piece(uint8_t *to, const uint8_t *from, size_t size)
{
	if (size % sizeof(uint64_t)) {
		memcpy(to, from, size);
		return;
	}
	for (size_t i = 0; i < size; i += sizeof(uint64_t))
		common_store64(to + i, common_load64(from + i));
}

static inline uint8_t *copy_pieces(uint8_t *to, const struct format_event_kind *kind, const uint8_t *record)
{
	for (size_t i = 0; i < kind->piece_count; i++) {
		copy_piece(to, record + kind->pieces[i].offset, kind->pieces[i].size);
		to += kind->pieces[i].size;
	}
	return to;
}

/*
 * Makes room for `count` records of one kind. Returns the address for the first payload; NULL without memory, and
 * nothing has changed then.
 */
static uint8_t *make_event_room(struct format_event_batch *batch, const struct format_event_kind *kind, size_t count)
{
	uint8_t *place = NULL;

	if (!COMMON_VECTOR_GROW(batch->rows, batch->capacity, batch->count + count))
		return NULL;
	place = common_bytes_grow(&batch->payloads, kind->payload_size * count);
	if (place)
		batch->payloads.size -= kind->payload_size * count;
	batch->payloads.failed = false;
	return place;
}

/* Adds records of one kind until the batch is full. Returns how many were added. */
static size_t add_run(struct format_event_batch *batch, const struct format_event_record *records, size_t count,
		      size_t size)
{
	const struct format_event_kind *kind = records->kind;
	struct format_event_row row = {.descriptor = intern_descriptor(batch, &kind->descriptor, kind->payload_size),
				       .size = (uint32_t)kind->payload_size};
	uint8_t *place = row.descriptor == UINT32_MAX ? NULL : make_event_room(batch, kind, count);
	size_t used = 0, i;

	for (i = 0; place && i < count && (!i || (used < size && batch->count < FORMAT_EVENTS_MAX)); i++) {
		/* Consecutive records of a ring mostly belong to the same thread. */
		if (!i || !same_context(&records[i].context, &records[i - 1].context)) {
			row.context = intern_context(batch, records[i].context);
			if (row.context == UINT32_MAX)
				break;
			used = format_event_batch_size(batch);
		}
		place = copy_pieces(place, kind, records[i].data);
		batch->payloads.size += kind->payload_size;
		put_row(batch, &row, records[i].time);
		used += kind->payload_size + FORMAT_EVENT_ROW_MAX;
	}
	if (i)
		count_payloads(&batch->descriptors[row.descriptor], row.size, i);
	return i;
}

size_t format_event_batch_add_records(struct format_event_batch *batch, const struct format_event_record *records,
				      size_t count, size_t size)
{
	size_t done = 0, added, run;

	if (!batch->guesses && !begin_batch(batch))
		return 0;
	do {
		for (run = 1; done + run < count && records[done + run].kind == records[done].kind;)
			run++;
		added = add_run(batch, records + done, run, size);
		done += added;
	} while (added == run && done < count && format_event_batch_size(batch) < size &&
		 batch->count < FORMAT_EVENTS_MAX);
	return done;
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
