/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the kernel writes, as perf_event_open(2) orders the accesses. */
#include "record/intel_pt/ring.h"

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

/* The first page, and the records behind it. */
static int map_data(struct intel_pt_ring *ring, int fd)
{
	void *page = mmap(NULL, page_size() + ring->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return common_fail_errno("memory for the kernel's records");
	ring->page = page;
	return 0;
}

/* An area that is mapped for reading alone is written over and over. */
static int map_aux(struct intel_pt_ring *ring, int fd)
{
	const int protection = ring->overwrites ? PROT_READ : PROT_READ | PROT_WRITE;
	const uint64_t offset = page_size() + ring->data_size;
	void *aux;

	ring->page->aux_offset = offset;
	ring->page->aux_size = ring->aux_size;
	aux = mmap(NULL, ring->aux_size, protection, MAP_SHARED, fd, (off_t)offset);
	if (aux == MAP_FAILED)
		return common_fail_errno("memory for packets");
	ring->aux = aux;
	return 0;
}

int intel_pt_ring_map(struct intel_pt_ring *ring, int fd, size_t data_size, size_t aux_size, bool overwrites)
{
	int status, error;

	*ring = (struct intel_pt_ring){.data_size = data_size, .aux_size = aux_size, .overwrites = overwrites};
	ring->record = malloc(INTEL_PT_RECORD_MAX);
	if (!ring->record)
		return common_fail_memory("a record", INTEL_PT_RECORD_MAX);
	status = map_data(ring, fd);
	if (status == 0)
		status = map_aux(ring, fd);
	error = errno;
	if (status < 0)
		intel_pt_ring_unmap(ring);
	errno = error;
	return status;
}

void intel_pt_ring_unmap(struct intel_pt_ring *ring)
{
	/* The kernel gives the AUX area up when it is unmapped first. */
	if (ring->aux)
		munmap(ring->aux, ring->aux_size);
	if (ring->page)
		munmap(ring->page, page_size() + ring->data_size);
	free(ring->record);
	*ring = (struct intel_pt_ring){0};
}

uint64_t intel_pt_ring_aux_head(const struct intel_pt_ring *ring)
{
	return __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
}

uint64_t intel_pt_ring_data_head(const struct intel_pt_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void take_data(struct intel_pt_ring *ring, uint64_t position)
{
	__atomic_store_n(&ring->page->data_tail, position, __ATOMIC_RELEASE);
}

int intel_pt_ring_next(struct intel_pt_ring *ring, uint64_t head, const struct perf_event_header **record)
{
	const uint8_t *data = (const uint8_t *)ring->page + page_size();
	const uint64_t tail = ring->page->data_tail, left = head - tail;
	const size_t from = tail & (ring->data_size - 1);
	struct perf_event_header header;
	size_t first;

	if (!left)
		return 0;
	/* Records are aligned to 8, so that a header never passes the ring's end. */
	if (left > ring->data_size || left < sizeof(header) || from % 8)
		goto corrupt;
	memcpy(&header, data + from, sizeof(header));
	if (header.size < sizeof(header) || header.size > left || header.size % 8)
		goto corrupt;
	/* A copy: nobody else changes it, and what it says was checked. */
	first = header.size < ring->data_size - from ? header.size : ring->data_size - from;
	memcpy(ring->record, data + from, first);
	memcpy(ring->record + first, data, header.size - first);
	memcpy(ring->record, &header, sizeof(header));
	*record = (const struct perf_event_header *)(const void *)ring->record;
	return 1;
corrupt:
	take_data(ring, head);
	return common_fail(PTL_CORRUPT, "the ring of the kernel's records makes no sense at %llu of %llu",
			   (unsigned long long)tail, (unsigned long long)head);
}

void intel_pt_ring_taken(struct intel_pt_ring *ring, const struct perf_event_header *record)
{
	take_data(ring, ring->page->data_tail + record->size);
}

size_t intel_pt_ring_aux(const struct intel_pt_ring *ring, uint64_t position, uint64_t size, const uint8_t **bytes)
{
	const size_t from = position & (ring->aux_size - 1);

	*bytes = ring->aux + from;
	return size < ring->aux_size - from ? (size_t)size : ring->aux_size - from;
}

void intel_pt_ring_aux_taken(struct intel_pt_ring *ring, uint64_t position)
{
	__atomic_store_n(&ring->page->aux_tail, position, __ATOMIC_RELEASE);
}
