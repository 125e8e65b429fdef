/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the kernel writes, as perf_event_open(2) orders the accesses. */
#include "record/perf/data_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int record_data_ring_map(struct record_data_ring *ring, int fd, size_t size)
{
	void *page;
	int error;

	*ring = (struct record_data_ring){.size = size, .record = malloc(RECORD_DATA_RING_RECORD_MAX)};
	if (!ring->record)
		return common_fail_memory("a record", RECORD_DATA_RING_RECORD_MAX);
	/* The first page, and the records behind it. */
	page = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		ring->page = page;
		return 0;
	}
	error = errno;
	common_fail_errno("memory for the kernel's records");
	record_data_ring_unmap(ring);
	errno = error;
	return PTL_SYSTEM;
}

void record_data_ring_unmap(struct record_data_ring *ring)
{
	if (ring->page)
		munmap(ring->page, page_size() + ring->size);
	free(ring->record);
	*ring = (struct record_data_ring){0};
}

uint64_t record_data_ring_head(const struct record_data_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void take(struct record_data_ring *ring, uint64_t position)
{
	__atomic_store_n(&ring->page->data_tail, position, __ATOMIC_RELEASE);
}

int record_data_ring_next(struct record_data_ring *ring, uint64_t head, const struct perf_event_header **record)
{
	const uint8_t *data = (const uint8_t *)ring->page + page_size();
	const uint64_t tail = ring->page->data_tail, left = head - tail;
	const size_t from = tail & (ring->size - 1);
	struct perf_event_header header;
	size_t first;

	if (!left)
		return 0;
	/* Records are aligned to 8, so that a header never passes the ring's end. */
	if (left > ring->size || left < sizeof(header) || from % 8)
		goto corrupt;
	memcpy(&header, data + from, sizeof(header));
	if (header.size < sizeof(header) || header.size > left || header.size % 8)
		goto corrupt;
	/* A copy: nobody else changes it, and what it says was checked. */
	first = header.size < ring->size - from ? header.size : ring->size - from;
	memcpy(ring->record, data + from, first);
	memcpy(ring->record + first, data, header.size - first);
	memcpy(ring->record, &header, sizeof(header));
	*record = (const struct perf_event_header *)(const void *)ring->record;
	return 1;
corrupt:
	take(ring, head);
	return common_fail(PTL_CORRUPT, "the ring of the kernel's records makes no sense at %llu of %llu",
			   (unsigned long long)tail, (unsigned long long)head);
}

void record_data_ring_taken(struct record_data_ring *ring, const struct perf_event_header *record)
{
	take(ring, ring->page->data_tail + record->size);
}
