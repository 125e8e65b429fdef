/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies records from rings, and checks the copies. */
#include "record/provider/shm_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/event.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/provider/shm_folder.h"
#include "record/provider/shm_guard.h"

#define RECORD_ALIGN 8u
/* Size from which huge pages pay off: first touches of memory cost more than the copy. */
#define HUGE ((size_t)4 << 20)

/* ---- opening --------------------------------------------------------------------------------- */

static int check_first(struct record_shm_rings *rings, const struct record_shm_name *name)
{
	struct provider_shm_rings first;

	if (!record_guard_copy(&first, rings->first, sizeof(first)))
		return common_fail(PTL_TRUNCATED, "the file was cut short");
	if (first.magic != PROVIDER_SHM_RINGS_MAGIC || first.version != PROVIDER_SHM_VERSION ||
	    first.pid != name->pid || first.id != name->process || first.session != name->session ||
	    first.ring_size != rings->ring_size)
		return common_fail(PTL_CORRUPT, "it is no file of this session's rings");
	return 0;
}

int record_shm_rings_open(int folder, const char *text, uint64_t ring_size, struct record_shm_rings *rings)
{
	struct record_shm_name name;
	struct stat info;
	int status;

	*rings = (struct record_shm_rings){.ring_size = ring_size, .limit = PROVIDER_SHM_RINGS_MAX};
	record_guard_start();
	record_shm_parse(text, &name);
	rings->file = record_shm_open_file(folder, text, O_RDWR, &info);
	if (rings->file < 0)
		return errno == ENOENT ? common_fail(PTL_NOT_FOUND, "%s", text) : common_fail_errno("%s", text);
	rings->first = mmap(NULL, PROVIDER_SHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rings->file, 0);
	if (rings->first == MAP_FAILED) {
		rings->first = NULL;
		status = common_fail_errno("cannot map it");
	} else {
		status = check_first(rings, &name);
	}
	if (status == 0)
		return 0;
	record_shm_rings_close(rings);
	return common_fail_in(status, "%s", text);
}

void record_shm_rings_close(struct record_shm_rings *rings)
{
	for (uint32_t i = 0; i < rings->count; i++) {
		if (rings->rings[i].page)
			munmap(rings->rings[i].page, PROVIDER_SHM_PAGE + rings->ring_size);
		free(rings->rings[i].bytes);
	}
	free(rings->rings);
	if (rings->first)
		munmap(rings->first, PROVIDER_SHM_PAGE);
	if (rings->file >= 0)
		close(rings->file);
	*rings = (struct record_shm_rings){.file = -1};
}

static int add_ring(struct record_shm_rings *rings)
{
	void *page;

	if (COMMON_VECTOR_RESERVE(rings->rings, rings->capacity, (size_t)rings->count + 1, "rings"))
		return PTL_NO_MEMORY;
	page = mmap(NULL, PROVIDER_SHM_PAGE + rings->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, rings->file,
		    (off_t)PROVIDER_SHM_RING_OFFSET(rings->ring_size, rings->count));
	if (page == MAP_FAILED)
		return common_fail_memory("ring", rings->ring_size);
	rings->rings[rings->count++] = (struct record_shm_ring){.page = page};
	return 0;
}

static bool load_count(struct record_shm_rings *rings, uint32_t *count)
{
	struct provider_shm_rings first;

	if (rings->broken || !record_guard_copy(&first, rings->first, sizeof(first))) {
		rings->broken = true;
		return false;
	}
	*count = first.ring_count;
	return true;
}

int record_shm_rings_look(struct record_shm_rings *rings)
{
	uint32_t count;
	int status = 0;

	if (!load_count(rings, &count))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	rings->limited = count > rings->limit;
	if (rings->limited)
		count = rings->limit;
	while (status == 0 && rings->count < count &&
	       (rings->count + 1ull) * (PROVIDER_SHM_PAGE + rings->ring_size) <=
		       PROVIDER_SHM_RINGS_MEMORY_MAX + PROVIDER_SHM_PAGE + rings->ring_size)
		status = add_ring(rings);
	return status;
}

bool record_shm_rings_lost(struct record_shm_rings *rings, uint64_t lost[PROVIDER_SHM_PROVIDERS_MAX])
{
	return !rings->broken &&
	       record_guard_copy(lost, rings->first->lost, PROVIDER_SHM_PROVIDERS_MAX * sizeof(*lost));
}

/* ---- copying --------------------------------------------------------------------------------- */

struct copy {
	struct provider_shm_ring *page;
	uint64_t ring_size;
	uint64_t head;
	uint64_t tail;
	uint8_t *to;
};

static void load_head(void *context)
{
	struct copy *copy = context;

	copy->head = __atomic_load_n(&copy->page->head, __ATOMIC_ACQUIRE);
}

/* Copies the bytes, in two pieces if they wrap, and then gives the room to the writer. */
static void take_ring_bytes(void *context)
{
	const struct copy *copy = context;
	const uint8_t *ring = (const uint8_t *)copy->page + PROVIDER_SHM_PAGE;
	const uint64_t size = copy->head - copy->tail, from = copy->tail & (copy->ring_size - 1);
	const uint64_t first = size < copy->ring_size - from ? size : copy->ring_size - from;

	memcpy(copy->to, ring + from, first);
	memcpy(copy->to + first, ring, size - first);
	__atomic_store_n(&copy->page->tail, copy->head, __ATOMIC_RELEASE);
}

static void skip_ring_bytes(void *context)
{
	const struct copy *copy = context;

	__atomic_store_n(&copy->page->tail, copy->head, __ATOMIC_RELEASE);
}

/* Makes room behind the copied records. */
static int make_copy_room(struct record_shm_ring *ring, size_t size)
{
	/* Moves the waiting records only if fewer than the consumed records: a backlog may be large. */
	if (ring->at && ring->used - ring->at <= ring->at) {
		memmove(ring->bytes, ring->bytes + ring->at, ring->used - ring->at);
		ring->used -= ring->at;
		ring->at = 0;
	}
	if (ring->capacity - ring->used < size) {
		if (COMMON_VECTOR_RESERVE(ring->bytes, ring->capacity, ring->used + size, "events"))
			return PTL_NO_MEMORY;
		if (ring->capacity >= HUGE)
			(void)madvise((void *)(((uintptr_t)ring->bytes + PROVIDER_SHM_PAGE - 1) &
					       -(uintptr_t)PROVIDER_SHM_PAGE),
				      ring->capacity - PROVIDER_SHM_PAGE, MADV_HUGEPAGE);
	}
	return 0;
}

int record_shm_ring_copy(struct record_shm_rings *rings, uint32_t n, uint64_t *lost, unsigned *share)
{
	struct record_shm_ring *ring = &rings->rings[n];
	struct copy copy = {.page = ring->page, .ring_size = rings->ring_size, .tail = ring->tail};
	uint64_t size;
	int status;

	*lost = 0;
	*share = 0;
	if (rings->broken || !record_guard(load_head, &copy)) {
		rings->broken = true;
		return 0;
	}
	size = copy.head - copy.tail;
	if (!size)
		return 0;
	if (size > rings->ring_size || size % RECORD_ALIGN) {
		*lost = size < rings->ring_size ? size : rings->ring_size;
		/* Records begin at multiples of 8, whatever a program has done to head. */
		copy.head = ring->tail = copy.head & ~(uint64_t)(RECORD_ALIGN - 1);
		rings->broken = !record_guard(skip_ring_bytes, &copy);
		return 0;
	}
	*share = (unsigned)(size * 100 / rings->ring_size);
	status = make_copy_room(ring, size);
	if (status < 0)
		return status;
	copy.to = ring->bytes + ring->used;
	if (!record_guard(take_ring_bytes, &copy)) {
		rings->broken = true;
		return 0;
	}
	ring->tail = copy.head;
	ring->used += size;
	return 0;
}

/* ---- releasing ------------------------------------------------------------------------------- */

struct handover {
	struct provider_shm_ring *page;
	uint64_t tail;
	uint32_t from;
	uint32_t to;
	bool done;
};

static void hand_over(void *context)
{
	struct handover *handover = context;

	handover->done = __atomic_load_n(&handover->page->head, __ATOMIC_ACQUIRE) == handover->tail &&
			 __atomic_compare_exchange_n(&handover->page->state, &handover->from, handover->to, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool change_state(struct record_shm_rings *rings, uint32_t n, uint32_t from, uint32_t to)
{
	struct handover handover = {rings->rings[n].page, rings->rings[n].tail, from, to, false};

	if (!rings->broken && !record_guard(hand_over, &handover))
		rings->broken = true;
	return !rings->broken && handover.done;
}

/* Releases the memory of a ring. The state keeps threads from taking the ring meanwhile. */
void record_shm_ring_release(struct record_shm_rings *rings, uint32_t n)
{
	struct record_shm_ring *ring = &rings->rings[n];
	const uint64_t bytes = PROVIDER_SHM_RING_OFFSET(rings->ring_size, n) + PROVIDER_SHM_PAGE;

	free(ring->bytes);
	ring->bytes = NULL;
	ring->at = ring->used = ring->capacity = 0;
	if (!change_state(rings, n, PROVIDER_SHM_RING_CLOSED, PROVIDER_SHM_RING_RELEASING))
		return;
	(void)fallocate(rings->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)bytes, (off_t)rings->ring_size);
	(void)change_state(rings, n, PROVIDER_SHM_RING_RELEASING, PROVIDER_SHM_RING_RELEASED);
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_sound(const struct provider_shm_record *header, size_t left)
{
	const uint32_t ids = (header->flags & PROVIDER_SHM_HAS_ACTIVITY ? 16u : 0) +
			     (header->flags & PROVIDER_SHM_HAS_RELATED ? 16u : 0);

	return header->size % RECORD_ALIGN == 0 && header->size >= sizeof(*header) + ids && header->size <= left &&
	       header->payload_size <= PTL_PAYLOAD_MAX &&
	       header->payload_size <= header->size - sizeof(*header) - ids &&
	       header->provider < PROVIDER_SHM_PROVIDERS_MAX;
}

int record_shm_ring_next(struct record_shm_ring *ring, struct record_shm_event *event, uint64_t *lost)
{
	const size_t left = ring->used - ring->at;
	const uint8_t *at;

	if (!left)
		return PTL_NOT_FOUND;
	at = ring->bytes + ring->at;
	if (left >= sizeof(event->header))
		memcpy(&event->header, at, sizeof(event->header));
	if (left < sizeof(event->header) || !is_sound(&event->header, left)) {
		*lost = left;
		ring->at = ring->used = 0;
		return PTL_CORRUPT;
	}
	at += sizeof(event->header);
	event->activity = event->header.flags & PROVIDER_SHM_HAS_ACTIVITY ? at : NULL;
	at += event->activity ? 16 : 0;
	event->related = event->header.flags & PROVIDER_SHM_HAS_RELATED ? at : NULL;
	at += event->related ? 16 : 0;
	event->payload = at;
	return 0;
}

void record_shm_ring_taken(struct record_shm_ring *ring, const struct record_shm_event *event)
{
	ring->at += event->header.size;
}
