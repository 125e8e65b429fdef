/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads kernel records, with accesses ordered as perf_event_open(2) demands. */
#include "record/perf/data_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"

#define GIVE_BACK_SHARE 16 /* the kernel gets room back after 1 / share of the ring */

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
	/* The control page, followed by the records. */
	page = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		ring->page = page;
		ring->data = (const uint8_t *)page + page_size();
		ring->tail = ring->given = ring->page->data_tail;
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

void record_data_ring_give_back(struct record_data_ring *ring, bool all)
{
	/* Not after each record: the kernel's CPU reads data_tail, and each write delays that CPU. */
	if (!all && ring->tail - ring->given < ring->size / GIVE_BACK_SHARE)
		return;
	/* The kernel may overwrite everything before tail. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	ring->given = ring->tail;
}

static void give_back(struct record_data_ring *ring, bool all)
{
	if (!ring->manual_release)
		record_data_ring_give_back(ring, all);
}

/* Returns a copy of the record at `from`, which wraps at the ring's end. */
static const void *join_wrapped(struct record_data_ring *ring, size_t from, size_t size)
{
	memcpy(ring->record, ring->data + from, ring->size - from);
	memcpy(ring->record + (ring->size - from), ring->data, size - (ring->size - from));
	return ring->record;
}

/* Prefetches records: another CPU wrote the records, and each cache miss stalls the reader. */
#define AHEAD 512 /* bytes, a few records */

static void fetch_ahead(const struct record_data_ring *ring, size_t at)
{
	__builtin_prefetch(ring->data + (at & (ring->size - 1)));
}

int record_data_ring_next(struct record_data_ring *ring, uint64_t head, const struct perf_event_header **record)
{
	const uint64_t left = head - ring->tail;
	const size_t from = ring->tail & (ring->size - 1);
	struct perf_event_header header;

	if (!left) {
		give_back(ring, true);
		return 0;
	}
	/* Records are aligned to 8: a header never wraps. */
	if (left > ring->size || left < sizeof(header) || from % 8)
		goto corrupt;
	fetch_ahead(ring, from + AHEAD);
	fetch_ahead(ring, from + AHEAD + 64);
	memcpy(&header, ring->data + from, sizeof(header));
	if (header.size < sizeof(header) || header.size > left || header.size % 8)
		goto corrupt;
	/* The record stays in the ring: the kernel overwrites nothing behind data_tail. */
	*record = header.size <= ring->size - from ? (const void *)(ring->data + from)
						   : join_wrapped(ring, from, header.size);
	return 1;
corrupt:
	ring->tail = head;
	give_back(ring, true);
	return common_fail(PTL_CORRUPT, "the ring of the kernel's records makes no sense at %llu of %llu",
			   (unsigned long long)(head - left), (unsigned long long)head);
}

void record_data_ring_taken(struct record_data_ring *ring, const struct perf_event_header *record)
{
	ring->tail += record->size;
	give_back(ring, false);
}
