/* SPDX-License-Identifier: BSD-2-Clause */
/* From rings to the trace: schemas first, then events in order of time, and what was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "common/error.h"
#include "common/heap.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "format/metadata/metadata.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define SECOND 1000000000ull
/* A time further ahead than this is not when the event was written, whatever it is. */
#define AHEAD SECOND
/* Schemas of all programs together: a trace's metadata has room for twice that. */
#define SCHEMA_BYTES_MAX (8ull << 20)
/* A ring in which nothing has come for so long needs no memory. */
#define RELEASE_WAIT SECOND
#define LOSS_WAIT_MIN SECOND
#define LOSS_WAIT_MAX (64 * SECOND)

/* ---- losses ----------------------------------------------------------------------------------- */

static int lose(struct record_providers *providers, const struct record_writer *writer, uint64_t count, uint64_t bytes,
		const char *cause)
{
	const uint64_t now = record_now();
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = writer->shm.pid,
		.tid = PTL_NO_ID,
		.count = count,
		.bytes = bytes,
		.first_time = writer->lost_from ? writer->lost_from : providers->start,
		.last_time = now,
		.cause = cause,
	};

	return record_capture_loss(providers->capture, &loss);
}

static int lose_of(struct record_providers *providers, const struct record_writer *writer, uint32_t provider,
		   uint64_t count, const char *cause)
{
	const char *name = provider < writer->shm.provider_count ? writer->shm.providers[provider].name : "?";
	char text[PROVIDER_SHM_PROVIDER_NAME_SIZE + 160];

	snprintf(text, sizeof(text), "events of provider %s: %s", name, cause);
	return lose(providers, writer, count, 0, text);
}

static int tell(struct record_providers *providers, struct record_writer *writer, uint32_t n, uint64_t dropped)
{
	const unsigned slot = providers->session.file.session.slot;
	struct record_writer_loss *loss = &writer->losses[n];
	struct record_shm_entry entry;
	int status = 0;

	/* Less than before is no count of ours. */
	if (dropped > loss->seen)
		status = lose_of(providers, writer, n, dropped - loss->seen,
				 "they came faster than they were taken (--provider-buffer)");
	loss->seen = dropped;
	/* Who finds no session any more when it is at its end has not lost anything of it. */
	if (status == 0 && !providers->ending && n < writer->shm.provider_count &&
	    record_shm_process_entry(&writer->shm, n, &entry)) {
		const uint64_t no_ring = entry.enabled.slots[slot].lost;

		if (no_ring > loss->no_ring)
			status = lose_of(providers, writer, n, no_ring - loss->no_ring,
					 "there was no memory for them in the program");
		loss->no_ring = no_ring;
	}
	if (status == 0 && loss->refused) {
		status = lose_of(providers, writer, n, loss->refused, "it claims an identity that is the kernel's");
		loss->refused = 0;
	}
	return status;
}

int record_writer_report_losses(struct record_providers *providers, struct record_writer *writer, uint64_t now,
				bool always)
{
	const uint64_t before = providers->capture->loss_records;
	uint64_t dropped[PROVIDER_SHM_PROVIDERS_MAX] = {0};
	int status = 0;

	if (!always && now < writer->lost_due)
		return 0;
	if (writer->rings_name[0] && !record_shm_rings_lost(&writer->rings, dropped))
		return 0;
	for (uint32_t n = 0; status == 0 && n < writer->shm.provider_count; n++)
		status = tell(providers, writer, n, dropped[n]);
	/* A program that drops all the time is reported ever more rarely. */
	if (providers->capture->loss_records == before)
		writer->lost_wait = LOSS_WAIT_MIN;
	else if (writer->lost_wait < LOSS_WAIT_MAX)
		writer->lost_wait *= 2;
	writer->lost_from = now;
	writer->lost_due = now + (writer->lost_wait ? writer->lost_wait : LOSS_WAIT_MIN);
	return status;
}

/* ---- schemas ---------------------------------------------------------------------------------- */

struct schema_taker {
	struct record_providers *providers;
	const struct record_writer *writer;
};

/* A program explains its own providers' events alone. */
static bool is_own(const struct record_writer *writer, uint32_t provider, const struct ptl_guid *guid)
{
	return provider < writer->shm.provider_count && !writer->shm.providers[provider].refused &&
	       common_guid_equal(guid, &writer->shm.providers[provider].guid);
}

/* Whether the trace has room for one more schema or map; another user's must not take all of it. */
static int take_room(struct record_providers *providers, uint64_t size)
{
	struct record_share *share = &providers->common->schema_bytes;
	const bool fits = providers->is_other ? size <= record_share_left(share, providers->schema_bytes)
					      : providers->schema_bytes + size <= SCHEMA_BYTES_MAX;

	if (!fits)
		return common_fail(PTL_CORRUPT, "programs have more schemas than a trace has room for");
	providers->schema_bytes += size;
	share->used += providers->is_other ? size : 0;
	return 0;
}

/*
 * Two programs, or two versions of one, may explain the same event differently; a reader takes the
 * first explanation for both. *differs: this one is another than the first. PTL_NO_MEMORY, PTL_CORRUPT.
 */
static int compare_schema(struct record_providers *providers, const struct ptl_schema *schema,
			  struct common_cursor body, bool *differs)
{
	const uint64_t hash = XXH64(body.data, body.size, 0);
	int status;
	uint8_t key[sizeof(schema->provider) + 4];
	const uint64_t *first;

	memcpy(key, &schema->provider, sizeof(schema->provider));
	key[16] = (uint8_t)schema->id;
	key[17] = (uint8_t)(schema->id >> 8);
	key[18] = schema->version;
	key[19] = schema->opcode;
	first = common_byte_map_get(&providers->common->schemas, key, sizeof(key));
	*differs = first && *first != hash;
	status = first ? 0 : take_room(providers, body.size);
	return first || status < 0 ? status : common_byte_map_put(&providers->common->schemas, key, sizeof(key), hash);
}

static int report_difference(const struct schema_taker *taker, const struct ptl_schema *schema)
{
	char cause[512];

	snprintf(cause, sizeof(cause),
		 "event %u of provider %.255s is defined otherwise in another program, whose "
		 "definition came first: it may be shown wrongly",
		 schema->id, schema->provider_name);
	return lose(taker->providers, taker->writer, 0, 0, cause);
}

static int take_schema(const struct schema_taker *taker, uint32_t provider, struct common_cursor cursor)
{
	struct ptl_schema *schema;
	bool differs = false;
	int status = format_schema_decode(cursor, &schema);

	if (status < 0)
		return status;
	if (is_own(taker->writer, provider, &schema->provider)) {
		status = compare_schema(taker->providers, schema, cursor, &differs);
		if (status == 0)
			status = differs ? report_difference(taker, schema)
					 : record_capture_schema(taker->providers->capture, schema);
	}
	format_schema_free(schema);
	return status == PTL_MISUSE ? PTL_CORRUPT : status;
}

/* *is_new: no program had this map of values before. PTL_NO_MEMORY, PTL_CORRUPT. */
static int note_map(struct record_providers *providers, const struct ptl_map *map, struct common_cursor body,
		    bool *is_new)
{
	struct common_byte_map *known = &providers->common->schemas;
	const uint64_t hash = XXH64(body.data, body.size, 0);
	uint8_t key[sizeof(map->provider) + sizeof(hash)];
	int status = 0;

	memcpy(key, &map->provider, sizeof(map->provider));
	memcpy(key + sizeof(map->provider), &hash, sizeof(hash));
	*is_new = !common_byte_map_get(known, key, sizeof(key));
	if (*is_new)
		status = take_room(providers, body.size);
	return *is_new && status == 0 ? common_byte_map_put(known, key, sizeof(key), hash) : status;
}

static int take_map(const struct schema_taker *taker, uint32_t provider, struct common_cursor cursor)
{
	struct ptl_map *map;
	bool is_new = false;
	int status = format_map_decode(cursor, &map);

	if (status < 0)
		return status;
	if (is_own(taker->writer, provider, &map->provider))
		status = note_map(taker->providers, map, cursor, &is_new);
	if (status == 0 && is_new)
		status = record_capture_map(taker->providers->capture, map);
	format_map_free(map);
	return status == PTL_MISUSE ? PTL_CORRUPT : status;
}

static int take_record(void *context, uint32_t provider, uint64_t type, const uint8_t *body, size_t size)
{
	const struct schema_taker *taker = context;

	if (type == FORMAT_RECORD_SCHEMA)
		return take_schema(taker, provider, common_cursor(body, size));
	if (type == FORMAT_RECORD_MAP)
		return take_map(taker, provider, common_cursor(body, size));
	return 0;
}

static int take_chunks(struct record_providers *providers, struct record_writer *writer)
{
	struct schema_taker taker = {providers, writer};
	char cause[256];
	int status = record_shm_process_chunks(&writer->shm, take_record, &taker);

	if (status != PTL_CORRUPT || writer->schemas_bad)
		return status == PTL_CORRUPT ? 0 : status;
	writer->schemas_bad = true;
	snprintf(cause, sizeof(cause), "schemas of a program's providers: %s", ptl_error_text());
	return lose(providers, writer, 0, 0, cause);
}

/* ---- copying ---------------------------------------------------------------------------------- */

static void note_backlog(struct record_providers *providers, struct record_writer *writer, uint32_t n, uint64_t now)
{
	struct record_shm_ring *ring = &writer->rings.rings[n];

	if (ring->used > ring->at) {
		writer->moved = ring->moved = now;
		providers->idle = 0;
		providers->backlog += ring->used - ring->at;
	} else if (now - ring->moved >= RELEASE_WAIT) {
		ring->moved = now;
		record_shm_ring_release(&writer->rings, n);
	}
}

static int copy_ring(struct record_providers *providers, struct record_writer *writer, uint32_t n)
{
	unsigned share;
	uint64_t lost;
	int status = record_shm_ring_copy(&writer->rings, n, &lost, &share);

	if (share > providers->fullest)
		providers->fullest = share;
	if (status == 0 && lost)
		status = lose(providers, writer, 1, lost,
			      "the program overwrote the memory it shares with the recorder");
	return status;
}

/* Rings that are new; what is in those beyond another user's share is lost. */
static int look_at_rings(struct record_providers *providers, struct record_writer *writer)
{
	const uint32_t before = writer->rings.count;
	struct record_share *share = &providers->common->rings;
	const bool limited = writer->rings.limited;
	int status;

	if (providers->is_other) {
		const uint64_t left = record_share_left(share, providers->rings);

		writer->rings.limit = before + (uint32_t)(left < PROVIDER_SHM_RINGS_MAX - before
								  ? left
								  : PROVIDER_SHM_RINGS_MAX - before);
	}
	status = record_shm_rings_look(&writer->rings);
	providers->rings += writer->rings.count - before;
	share->used += providers->is_other ? writer->rings.count - before : 0;
	if (status == 0 && providers->is_other && writer->rings.limited && !limited)
		status = lose(providers, writer, 1, 0,
			      "the programs of its user have more threads that write events than are taken");
	return status;
}

int record_writer_copy(struct record_providers *providers, struct record_writer *writer, uint64_t now)
{
	int status = 0;

	if (!writer->rings_name[0])
		return 0;
	status = look_at_rings(providers, writer);
	for (uint32_t n = 0; status == 0 && n < writer->rings.count; n++) {
		/* What has no room stays in its ring. */
		if (record_providers_may_copy(providers))
			status = copy_ring(providers, writer, n);
		if (status == 0)
			note_backlog(providers, writer, n, now);
	}
	if (status == 0 && (writer->rings.broken || writer->shm.broken) && !writer->broken_reported) {
		writer->broken_reported = true;
		status = lose(providers, writer, 1, 0, "the program cut short the memory it shares with the recorder");
	}
	/* What explains a record was there before it. */
	record_shm_process_look(&writer->shm);
	return status == 0 ? take_chunks(providers, writer) : status;
}

/* ---- delivering ------------------------------------------------------------------------------- */

static int write_event(struct record_providers *providers, struct record_writer *writer,
		       const struct record_shm_event *record, bool ordered)
{
	const struct provider_shm_record *header = &record->header;
	const struct record_shm_provider *provider;
	struct ptl_event event = {
		.descriptor = {.id = header->id,
			       .version = header->version,
			       .channel = header->channel,
			       .level = header->level,
			       .opcode = header->opcode,
			       .task = header->task,
			       .keyword = header->keyword},
		.time = header->time,
		.cpu = header->cpu,
		.pid = writer->shm.pid,
		.tid = header->tid,
		.payload = record->payload,
		.payload_size = header->payload_size,
	};
	bool wanted;
	int status;

	if (header->provider >= writer->shm.provider_count)
		return lose(providers, writer, 1, header->size, "an event is of no provider of its program");
	provider = &writer->shm.providers[header->provider];
	if (provider->refused) {
		writer->losses[header->provider].refused++;
		return 0;
	}
	event.descriptor.provider = provider->guid;
	if (record->activity) {
		event.flags |= PTL_EVENT_HAS_ACTIVITY;
		memcpy(event.activity.bytes, record->activity, sizeof(event.activity.bytes));
	}
	if (record->related) {
		event.flags |= PTL_EVENT_HAS_RELATED;
		memcpy(event.related.bytes, record->related, sizeof(event.related.bytes));
	}
	status = record_capture_wants(
		providers->capture, &(struct record_origin){.program = writer->shm.program, .provider = provider->name},
		&event, &wanted);
	return status < 0 || !wanted ? status
				     : record_ordered_streams_write(&providers->common->ordered, &event, ordered);
}

/*
 * Finds the ring's next event that takes its turn by its time; those that do not are written.
 * PTL_NOT_FOUND: none that is older than `before`.
 */
static int advance(struct record_providers *providers, struct record_waiting *waiting, uint64_t before)
{
	uint64_t lost = 0;
	int status;

	for (;;) {
		const struct provider_shm_record *header = &waiting->event.header;

		status = record_shm_ring_next(waiting->ring, &waiting->event, &lost);
		if (status == PTL_CORRUPT)
			status = lose(providers, waiting->writer, 1, lost,
				      "the program overwrote events in the memory it shares with "
				      "the recorder");
		if (status < 0)
			return status;
		if (lost)
			return PTL_NOT_FOUND;
		waiting->event.header.time = record_clock_of_monotonic(header->time);
		if (!(header->flags & PROVIDER_SHM_OWN_TIME) && header->time <= providers->latest)
			return header->time < before ? 0 : PTL_NOT_FOUND;
		status = write_event(providers, waiting->writer, &waiting->event, false);
		if (status < 0)
			return status;
		record_shm_ring_taken(waiting->ring, &waiting->event);
	}
}

static bool is_before(const struct record_waiting *a, const struct record_waiting *b)
{
	return a->event.header.time < b->event.header.time;
}

COMMON_HEAP(waiting, struct record_waiting, is_before)

static int push(struct record_providers *providers, const struct record_waiting *waiting)
{
	size_t at = providers->heap_count;

	if (COMMON_VECTOR_RESERVE(providers->heap, providers->heap_capacity, at + 1, "events"))
		return PTL_NO_MEMORY;
	providers->heap[at] = *waiting;
	providers->heap_count++;
	waiting_rise(providers->heap, at);
	return 0;
}

static int push_all(struct record_providers *providers, struct record_writer *writer, uint64_t before)
{
	int status = 0;

	for (uint32_t n = 0; status == 0 && n < writer->rings.count; n++) {
		struct record_waiting waiting = {.writer = writer, .ring = &writer->rings.rings[n]};

		status = advance(providers, &waiting, before);
		if (status == 0)
			status = push(providers, &waiting);
		if (status == PTL_NOT_FOUND)
			status = 0;
	}
	return status;
}

int record_providers_deliver(struct record_providers *providers, uint64_t before, uint64_t most)
{
	int status = 0;

	providers->latest = record_now() + AHEAD;
	providers->heap_count = 0;
	for (size_t i = 0; status == 0 && i < providers->count; i++)
		status = push_all(providers, providers->writers[i], before);
	while (status == 0 && providers->heap_count && most--) {
		struct record_waiting *first = &providers->heap[0];

		status = write_event(providers, first->writer, &first->event, true);
		if (status < 0)
			break;
		record_shm_ring_taken(first->ring, &first->event);
		status = advance(providers, first, before);
		if (status == PTL_NOT_FOUND) {
			*first = providers->heap[--providers->heap_count];
			status = 0;
		}
		waiting_sink(providers->heap, providers->heap_count, 0);
	}
	return status;
}
