/* SPDX-License-Identifier: BSD-2-Clause */
/* From rings to the trace: schemas, then events in the order of time, and losses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/heap.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define SECOND 1000000000ull
/* A time further ahead cannot be the time of writing. */
#define AHEAD SECOND
/* Idle time after which the memory of a ring is released. */
#define RELEASE_WAIT SECOND
#define LOSS_WAIT_MIN SECOND
#define LOSS_WAIT_MAX (64 * SECOND)

/* ---- losses ----------------------------------------------------------------------------------- */

int record_writer_lose(struct record_providers *providers, const struct record_writer *writer, uint64_t count,
		       uint64_t bytes, const char *cause)
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
	return record_writer_lose(providers, writer, count, 0, text);
}

static int report_dropped(struct record_providers *providers, struct record_writer *writer, uint32_t n,
			  uint64_t dropped)
{
	const unsigned slot = providers->session.file.session.slot;
	struct record_writer_loss *loss = &writer->losses[n];
	struct record_shm_entry entry;
	int status = 0;

	/* A lower number than before is invalid. */
	if (dropped > loss->seen)
		status = lose_of(providers, writer, n, dropped - loss->seen,
				 "they came faster than they were taken (--provider-buffer)");
	loss->seen = dropped;
	/* At the end of the session, a program without a ring has lost nothing. */
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
	const uint64_t before = providers->capture->losses.records;
	uint64_t dropped[PROVIDER_SHM_PROVIDERS_MAX] = {0};
	int status = 0;

	if (!always && now < writer->lost_due)
		return 0;
	if (writer->rings_name[0] && !record_shm_rings_lost(&writer->rings, dropped))
		return 0;
	for (uint32_t n = 0; status == 0 && n < writer->shm.provider_count; n++)
		status = report_dropped(providers, writer, n, dropped[n]);
	/* Reports a program with continuous losses at growing intervals. */
	if (providers->capture->losses.records == before)
		writer->lost_wait = LOSS_WAIT_MIN;
	else if (writer->lost_wait < LOSS_WAIT_MAX)
		writer->lost_wait *= 2;
	writer->lost_from = now;
	writer->lost_due = now + (writer->lost_wait ? writer->lost_wait : LOSS_WAIT_MIN);
	return status;
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
