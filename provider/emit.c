/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events: the fast path. See docs/providers.md, "Rings". */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "provider/state.h"

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif
#endif

static inline uint64_t session_clock_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Returns the current CPU: from rseq memory that glibc registers with the kernel, else from the vDSO. */
static inline uint32_t current_cpu(void)
{
#ifdef HAVE_RSEQ
	if (__builtin_expect(__rseq_size != 0, 1)) {
		const struct rseq *rseq = (const void *)((const char *)__builtin_thread_pointer() + __rseq_offset);

		return __atomic_load_n(&rseq->cpu_id, __ATOMIC_RELAXED);
	}
#endif
	return (uint32_t)sched_getcpu();
}

/* Data of an event, shared by all sessions. */
struct emission {
	struct provider_shm_record header;
	const struct ptl_guid *activity; /* NULL: no activity */
	const struct ptl_guid *related;
	const struct ptl_piece *pieces;
	size_t count;
};

static inline bool has_ring_room(struct provider_ring_view *view, uint64_t head, uint64_t size)
{
	uint64_t tail, used;

	if (__builtin_expect(head + size - view->tail <= view->size, 1))
		return true;
	tail = __atomic_load_n(&view->ring->tail, __ATOMIC_ACQUIRE);
	used = head - tail;
	if (used > view->size || size > view->size - used)
		return false;
	view->tail = tail;
	view->stuck = false;
	return true;
}

/* Copies bytes; `from` may be NULL if size is 0. */
static inline void copy_bytes(uint8_t *to, const void *from, size_t size)
{
	switch (size) {
	case 0:
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, size);
	}
}

static inline void fill_event(uint8_t *at, const struct emission *emission)
{
	memcpy(at, &emission->header, sizeof(emission->header));
	at += sizeof(emission->header);
	if (emission->activity) {
		memcpy(at, emission->activity, sizeof(*emission->activity));
		at += sizeof(*emission->activity);
	}
	if (emission->related) {
		memcpy(at, emission->related, sizeof(*emission->related));
		at += sizeof(*emission->related);
	}
	for (size_t i = 0; i < emission->count; i++) {
		copy_bytes(at, emission->pieces[i].data, emission->pieces[i].size);
		at += emission->pieces[i].size;
	}
}

/*
 * Writes a record to the ring. Returns false if the ring is full. No other code writes to this ring meanwhile, not even
 * a signal handler of this thread.
 */
static inline bool write_record(struct provider_ring_view *view, struct emission *emission)
{
	uint64_t head = view->ring->head, size = emission->header.size;

	if (__builtin_expect(!has_ring_room(view, head, size), 0))
		return false;
	if (!(emission->header.flags & PROVIDER_SHM_OWN_TIME))
		emission->header.time = session_clock_now();
	emission->header.cpu = current_cpu();
	fill_event(view->data + (head & (view->size - 1)), emission);
	__atomic_store_n(&view->ring->head, head + size, __ATOMIC_RELEASE);
	return true;
}

/* Handles a burst: the ring is full, so the thread continues in another ring, if the session allows more rings. */
static __attribute__((noinline)) bool write_elsewhere(struct provider_thread *thread, uint32_t level, unsigned slot,
						      struct emission *emission)
{
	struct provider_ring_view *view = flow_view(thread, level, slot);

	if (view->fixed || view->stuck || emission->header.size > view->size)
		return false;
	view->stuck = !provider_ring_change(thread, level, slot);
	return !view->stuck && write_record(view, emission);
}

static inline void write_to_session(struct provider_thread *thread, uint32_t level, struct ptl_enabled *enabled,
				    unsigned slot, struct emission *emission)
{
	struct provider_ring_view *view = flow_view(thread, level, slot);
	uint64_t session = __atomic_load_n(&enabled->slots[slot].session, __ATOMIC_ACQUIRE);

	if (__builtin_expect(view->session != session, 0))
		provider_ring_open(thread, level, slot, session);
	if (__builtin_expect(!view->ring || view->session != session, 0))
		__atomic_add_fetch(&enabled->slots[slot].lost, 1, __ATOMIC_RELAXED);
	else if (__builtin_expect(!write_record(view, emission), 0) && !write_elsewhere(thread, level, slot, emission))
		__atomic_add_fetch(&view->lost[emission->header.provider], 1, __ATOMIC_RELAXED);
}

static inline uint64_t payload_size(const struct ptl_piece *pieces, size_t count)
{
	uint64_t size = 0;

	for (size_t i = 0; i < count; i++) {
		if (pieces[i].size > PTL_PAYLOAD_MAX)
			return UINT64_MAX;
		size += pieces[i].size;
	}
	return size;
}

static bool is_zero(const struct ptl_guid *guid)
{
	uint64_t halves[2];

	memcpy(halves, guid, sizeof(halves));
	return !(halves[0] | halves[1]);
}

static bool begins_or_ends(const struct ptl_event_definition *event)
{
	return (event->opcode == PTL_OPCODE_START || event->opcode == PTL_OPCODE_STOP) &&
	       !(event->activity & PTL_ACTIVITY_DISABLE);
}

/*
 * Returns how many writes of this thread a signal handler has interrupted.
 * A handler left by siglongjmp never returns to the interrupted write. Such a write is detected by its stack frame: the
 * current frame is at the same address or above. This does not hold on a signal stack.
 */
static __attribute__((noinline)) uint32_t level_in_handler(struct provider_thread *thread, uintptr_t frame)
{
	uint32_t level = thread->level;
	stack_t stack;

	if (sigaltstack(NULL, &stack) || (stack.ss_flags & SS_ONSTACK))
		return level;
	while (level && level <= PROVIDER_LEVELS_MAX && frame >= thread->frames_of_writes[level - 1])
		level--;
	return level;
}

static void count_lost(struct ptl_enabled *enabled, uint32_t wanted)
{
	for (; wanted; wanted &= wanted - 1)
		__atomic_add_fetch(&enabled->slots[__builtin_ctz(wanted)].lost, 1, __ATOMIC_RELAXED);
}

static inline void set_header(struct provider_shm_record *header, const struct ptl_event_definition *event,
			      uint32_t tid, uint32_t size)
{
	header->payload_size = size;
	header->time = 0;
	header->tid = tid;
	header->provider = (uint16_t)event->provider->number;
	header->flags = 0;
	header->id = event->id;
	header->version = event->version;
	header->channel = event->channel;
	header->level = event->level;
	header->opcode = event->opcode;
	header->task = event->task;
	header->reserved = 0;
	header->keyword = event->keyword;
}

static inline void emit_event(const struct ptl_event_definition *event, const struct ptl_emit_options *options,
			      const struct ptl_piece *pieces, size_t count)
{
	struct ptl_enabled *enabled = __atomic_load_n(&event->provider->enabled, __ATOMIC_RELAXED);
	uint32_t sessions = __atomic_load_n(&enabled->sessions, __ATOMIC_ACQUIRE), wanted;
	struct emission emission;
	struct ptl_guid started, related;
	struct provider_thread *thread;
	uintptr_t frame;
	uint32_t level;
	uint64_t size;

	if (!sessions)
		return;
	/* Call this first: in a forked child the call may change the sessions. */
	thread = provider_thread_get();
	sessions = __atomic_load_n(&enabled->sessions, __ATOMIC_ACQUIRE);
	wanted = ptl_sessions_that_want(enabled, sessions, event->level, event->keyword);
	if (!wanted)
		return;
	size = payload_size(pieces, count);
	if (__builtin_expect(!thread || size > PTL_PAYLOAD_MAX, 0)) {
		count_lost(enabled, wanted);
		return;
	}
	set_header(&emission.header, event, thread->tid, (uint32_t)size);
	emission.pieces = pieces;
	emission.count = count;
	emission.activity = provider_activity_of(thread);
	emission.related = NULL;
	if (__builtin_expect(begins_or_ends(event), 0)) {
		provider_activity_step(thread, event, &started, &related);
		emission.activity = &started;
		emission.related = is_zero(&related) ? NULL : &related;
	}
	if (options) {
		emission.activity = options->activity ? options->activity : emission.activity;
		emission.related = options->related ? options->related : emission.related;
		if (options->time) {
			emission.header.time = *options->time;
			emission.header.flags |= PROVIDER_SHM_OWN_TIME;
		}
	}
	if (is_zero(emission.activity))
		emission.activity = NULL;
	if (emission.activity) {
		emission.header.flags |= PROVIDER_SHM_HAS_ACTIVITY;
		size += sizeof(*emission.activity);
	}
	if (emission.related) {
		emission.header.flags |= PROVIDER_SHM_HAS_RELATED;
		size += sizeof(*emission.related);
	}
	emission.header.size = (uint32_t)((sizeof(emission.header) + size + 7) & ~7ull);
	frame = (uintptr_t)__builtin_frame_address(0);
	level = __builtin_expect(thread->level != 0, 0) ? level_in_handler(thread, frame) : 0;
	if (__builtin_expect(level == PROVIDER_LEVELS_MAX, 0)) {
		count_lost(enabled, wanted);
		return;
	}
	thread->frames_of_writes[level] = frame;
	thread->level = level + 1;
	for (; wanted; wanted &= wanted - 1)
		write_to_session(thread, level, enabled, (unsigned)__builtin_ctz(wanted), &emission);
	thread->level = level;
}

void ptl_emit(const struct ptl_event_definition *event, const struct ptl_piece *pieces, size_t count)
{
	emit_event(event, NULL, pieces, count);
}

void ptl_emit_with(const struct ptl_event_definition *event, const struct ptl_emit_options *options,
		   const struct ptl_piece *pieces, size_t count)
{
	struct ptl_emit_options taken = {0};

	/* Ignore unknown members, and an unset size: ptl_emit_with cannot report errors. */
	if (options)
		memcpy(&taken, options, options->size < sizeof(taken) ? options->size : sizeof(taken));
	emit_event(event, options ? &taken : NULL, pieces, count);
}
