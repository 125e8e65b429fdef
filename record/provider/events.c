/* SPDX-License-Identifier: BSD-2-Clause */
/* From rings to the trace: schemas, then events in the order of time. */
#include <string.h>

#include "common/heap.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define SECOND 1000000000ull
/* A time further ahead cannot be the time of writing. */
#define AHEAD SECOND
/* Idle time after which the memory of a ring is released. */
#define RELEASE_WAIT SECOND
/* Maximum bytes that wait for writing; beyond, the rings wait. */
#define BACKLOG_MAX (768ull << 20)
#define BACKLOG_OTHER_MAX (16ull << 20)

/* ---- copying ---------------------------------------------------------------------------------- */

bool record_providers_may_copy(const struct record_providers *providers)
{
	return providers->backlog <= (providers->is_other ? BACKLOG_OTHER_MAX : BACKLOG_MAX);
}

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
		status = record_writer_lose(providers, writer, 1, lost,
					    "the program overwrote the memory it shares with the recorder");
	return status;
}

/* Finds new rings. Events in rings beyond another user's share are lost. */
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
		status = record_writer_lose(
			providers, writer, 1, 0,
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
		/* Without room in memory, events stay in their ring. */
		if (record_providers_may_copy(providers))
			status = copy_ring(providers, writer, n);
		if (status == 0)
			note_backlog(providers, writer, n, now);
	}
	if (status == 0 && (writer->rings.broken || writer->shm.broken) && !writer->broken_reported) {
		writer->broken_reported = true;
		status = record_writer_lose(providers, writer, 1, 0,
					    "the program cut short the memory it shares with the recorder");
	}
	/* A program describes a provider before it writes records of the provider. */
	record_shm_process_look(&writer->shm);
	return status == 0 ? record_writer_take_schemas(providers, writer) : status;
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
		return record_writer_lose(providers, writer, 1, header->size,
					  "an event is of no provider of its program");
	provider = &writer->shm.providers[header->provider];
	if (provider->refused) {
		writer->losses[header->provider].refused++;
		return 0;
	}
	event.descriptor.provider = provider->guid;
	record_writer_give_version(writer, &event.descriptor);
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
 * Finds the ring's next event that is sorted by time, and writes events with other times at once. Returns PTL_NOT_FOUND
 * without an event before `before`.
 */
static int find_next_event(struct record_providers *providers, struct record_waiting *waiting, uint64_t before)
{
	uint64_t lost = 0;
	int status;

	for (;;) {
		const struct provider_shm_record *header = &waiting->event.header;

		status = record_shm_ring_next(waiting->ring, &waiting->event, &lost);
		if (status == PTL_CORRUPT)
			status = record_writer_lose(providers, waiting->writer, 1, lost,
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

static bool is_event_before(const struct record_waiting *a, const struct record_waiting *b)
{
	return a->event.header.time < b->event.header.time;
}

COMMON_HEAP(waiting, struct record_waiting, is_event_before)

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

		status = find_next_event(providers, &waiting, before);
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
		status = find_next_event(providers, first, before);
		if (status == PTL_NOT_FOUND) {
			*first = providers->heap[--providers->heap_count];
			status = 0;
		}
		waiting_sink(providers->heap, providers->heap_count, 0);
	}
	return status;
}
