/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads packets of the kernel, with accesses ordered as perf_event_open(2) demands. */
#include "record/intel_pt/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"

/* The kernel overwrites an area that is mapped read-only. */
static int map_aux(struct intel_pt_ring *ring, int fd)
{
	const int protection = ring->overwrites ? PROT_READ : PROT_READ | PROT_WRITE;
	const uint64_t offset = (size_t)sysconf(_SC_PAGESIZE) + ring->data.size;
	void *aux;

	ring->data.page->aux_offset = offset;
	ring->data.page->aux_size = ring->aux_size;
	aux = mmap(NULL, ring->aux_size, protection, MAP_SHARED, fd, (off_t)offset);
	if (aux == MAP_FAILED)
		return common_fail_errno("memory for packets");
	ring->aux = aux;
	return 0;
}

int intel_pt_ring_map(struct intel_pt_ring *ring, int fd, size_t data_size, size_t aux_size, bool overwrites)
{
	int status, error;

	*ring = (struct intel_pt_ring){.aux_size = aux_size, .overwrites = overwrites};
	status = record_data_ring_map(&ring->data, fd, data_size);
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
	/* The kernel releases the AUX area only if the area is unmapped first. */
	if (ring->aux)
		munmap(ring->aux, ring->aux_size);
	record_data_ring_unmap(&ring->data);
	*ring = (struct intel_pt_ring){0};
}

uint64_t intel_pt_ring_aux_head(const struct intel_pt_ring *ring)
{
	return __atomic_load_n(&ring->data.page->aux_head, __ATOMIC_ACQUIRE);
}

size_t intel_pt_ring_aux(const struct intel_pt_ring *ring, uint64_t position, uint64_t size, const uint8_t **bytes)
{
	const size_t from = position & (ring->aux_size - 1);

	*bytes = ring->aux + from;
	return size < ring->aux_size - from ? (size_t)size : ring->aux_size - from;
}

void intel_pt_ring_aux_taken(struct intel_pt_ring *ring, uint64_t position)
{
	__atomic_store_n(&ring->data.page->aux_tail, position, __ATOMIC_RELEASE);
}
