/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drains packets of the AUX area together with the records that describe the packets. The kernel writes the record of a
 * stretch before moving aux_head past the stretch. Bytes before an earlier reading of aux_head therefore have a record,
 * or the record was lost.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/intel_pt/intel_pt_state.h"

#define ROUNDS_MAX 4 /* looks at a buffer per drain */

/* Flags of missing packets behind a stretch, with causes. */
static const struct {
	uint64_t flag;
	const char *cause;
} flaws[] = {
	{PERF_AUX_FLAG_TRUNCATED, "their buffer was full (--aux-buffer makes it larger)"},
	{PERF_AUX_FLAG_PARTIAL, "they have gaps: a virtual machine ran, or Intel PT was stopped otherwise"},
	{PERF_AUX_FLAG_COLLISION, "they collided with others"},
};

/* Returns the position up to which the AUX area has been read. The kernel may write before this position. */
static uint64_t read_until(const struct intel_pt_buffer *buffer)
{
	return buffer->taken + buffer->queue.size;
}

/* Drains everything up to this position of the AUX area. The amount is at most the content of queue and area. */
static int take_until(struct intel_pt_buffer *buffer, uint64_t position)
{
	int status = 0;

	while (status == 0 && buffer->taken < position) {
		const uint64_t left = position - buffer->taken;
		const uint8_t *bytes;
		const size_t queued = intel_pt_queue_bytes(&buffer->queue, left, &bytes);
		const size_t size = queued ? queued : intel_pt_ring_aux(&buffer->ring, buffer->taken, left, &bytes);

		status = intel_pt_stream_bytes(&buffer->stream, bytes, size);
		if (queued)
			intel_pt_queue_drop(&buffer->queue, queued);
		buffer->taken += size;
	}
	return status;
}

static int report_flaws(struct intel_pt_buffer *buffer, uint64_t flags)
{
	char name[32], cause[160];
	int status = 0;

	intel_pt_buffer_name(buffer, name);
	for (size_t i = 0; status == 0 && i < sizeof(flaws) / sizeof(flaws[0]); i++) {
		if (!(flags & flaws[i].flag))
			continue;
		snprintf(cause, sizeof(cause), "packets of %s: %s", name, flaws[i].cause);
		status = intel_pt_stream_interrupt(&buffer->stream, 0, cause);
	}
	return status;
}

struct aux {
	uint64_t offset, size, flags;
};

static bool read_aux(const struct perf_event_header *record, struct aux *aux)
{
	struct intel_pt_ids ids;

	if (record->type != PERF_RECORD_AUX || record->size < sizeof(*record) + sizeof(*aux) ||
	    !intel_pt_record_ids(record, &ids))
		return false;
	memcpy(aux, record + 1, sizeof(*aux));
	return true;
}

/* Checks whether a record describes bytes beyond aux_head, which the kernel is about to advance. */
static bool is_ahead(const struct intel_pt_buffer *buffer, const struct aux *aux, uint64_t aux_head)
{
	return !buffer->ring.overwrites && aux->size <= buffer->ring.aux_size && aux->offset + aux->size > aux_head &&
	       aux->offset + aux->size - aux_head <= buffer->ring.aux_size;
}

static int take_aux(struct intel_pt_buffer *buffer, const struct aux *aux, uint64_t aux_head)
{
	int status = 0;

	/*
	 * Positions in a snapshot's area do not tell about missing packets. A stretch in the past was drained without
	 * its record before.
	 */
	if (!buffer->ring.overwrites && aux->offset <= aux_head && aux->size <= aux_head - aux->offset)
		status = take_until(buffer, aux->offset + aux->size);
	if (status == 0)
		status = report_flaws(buffer, aux->flags);
	buffer->stopped |= (aux->flags & PERF_AUX_FLAG_TRUNCATED) != 0;
	return status;
}

/* Skips an impossible amount: aux_head moved farther than the area has room. */
static int skip_to(struct intel_pt_buffer *buffer, uint64_t head)
{
	int status = take_until(buffer, read_until(buffer));
	const uint64_t skipped = head - buffer->taken;

	buffer->taken = head;
	if (status < 0 || skipped >> 63)
		return status;
	return intel_pt_stream_interrupt(&buffer->stream, skipped, "the ring for packets made no sense");
}

static int take_record(const struct intel_pt *pt, struct intel_pt_buffer *buffer,
		       const struct perf_event_header *record, uint64_t aux_head)
{
	struct intel_pt_ids ids;
	struct aux aux;
	int status = intel_pt_between_record(pt, buffer, record);

	if (status < 0 || record->type == PERF_RECORD_SAMPLE)
		return status;
	if (read_aux(record, &aux)) {
		if (intel_pt_record_ids(record, &ids) && ids.time > buffer->stream.time)
			buffer->stream.time = ids.time;
		status = take_aux(buffer, &aux, aux_head);
	}
	return status < 0 ? status : intel_pt_record(buffer, record);
}

/* Handles the records. *aux_head: may be updated to a later value. */
static int take_records(const struct intel_pt *pt, struct intel_pt_buffer *buffer, uint64_t *aux_head, bool *work)
{
	const uint64_t head = record_data_ring_head(&buffer->ring.data);
	const struct perf_event_header *record;
	struct aux aux;
	int status = 0, found;

	while (status == 0 && (found = record_data_ring_next(&buffer->ring.data, head, &record)) != 0) {
		*work = true;
		if (found < 0)
			return intel_pt_stream_lose(&buffer->stream, PTL_LOSS_EVENTS, 0, 0, ptl_error_text());
		if (read_aux(record, &aux) && is_ahead(buffer, &aux, *aux_head)) {
			const uint64_t later = intel_pt_ring_aux_head(&buffer->ring);

			if (later - read_until(buffer) <= buffer->ring.aux_size)
				*aux_head = later;
			if (is_ahead(buffer, &aux, *aux_head) && !pt->finishing)
				return 0;
		}
		status = take_record(pt, buffer, record, *aux_head);
		record_data_ring_taken(&buffer->ring.data, record);
	}
	return status;
}

static int drain_buffer(const struct intel_pt *pt, struct intel_pt_buffer *buffer, bool *work)
{
	uint64_t aux_head = intel_pt_ring_aux_head(&buffer->ring);
	int status = 0;

	if (!buffer->ring.overwrites && aux_head - read_until(buffer) > buffer->ring.aux_size)
		status = skip_to(buffer, aux_head);
	if (status == 0)
		status = take_records(pt, buffer, &aux_head, work);
	if (status < 0 || buffer->ring.overwrites)
		return status;
	*work |= buffer->taken != aux_head;
	/* Bytes beyond the last record belong to a lost record, or to a record that is_ahead has postponed. */
	status = take_until(buffer, aux_head);
	intel_pt_ring_aux_taken(&buffer->ring, read_until(buffer));
	/* The kernel has stopped the event for lack of room: restarts the event. */
	if (buffer->stopped && intel_pt_events_may_start(pt))
		intel_pt_buffer_control(buffer, PERF_EVENT_IOC_ENABLE);
	buffer->stopped = false;
	return status;
}

int intel_pt_drain(const struct intel_pt *pt, struct intel_pt_buffer *buffer, bool *work)
{
	int status = 0;

	/* Limits the rounds, to let other buffers take turns. */
	for (unsigned i = 0; status == 0 && i < ROUNDS_MAX; i++) {
		__atomic_store_n(&buffer->missed, false, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&buffer->lock);
		status = drain_buffer(pt, buffer, work);
		pthread_mutex_unlock(&buffer->lock);
		if (!__atomic_load_n(&buffer->missed, __ATOMIC_SEQ_CST))
			break;
	}
	return status;
}
