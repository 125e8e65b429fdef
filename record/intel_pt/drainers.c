/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of threads, each with an epoll descriptor and buffers. */
#include "record/intel_pt/drainers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"
#include "common/vector.h"
#include "record/intel_pt/intel_pt_state.h"

#define EVENTS 16
#define LATE_SHARE 2 /* 1 / share of an area in use: the recorder is late */
#define FULL_SHARE 8 /* 1 / share of an area free: the event may have stopped */

struct drainer {
	struct intel_pt_drainers *all;
	pthread_t thread;
	bool started;
	int epoll;
	pthread_mutex_t lock; /* protects the members below */
	struct intel_pt_buffer **buffers;
	size_t count, capacity;
};

struct intel_pt_drainers {
	const struct intel_pt *pt;
	struct intel_pt_pool *pool;
	int wake;   /* eventfd of the recorder */
	int ending; /* eventfd of all threads */
	bool ends;
	unsigned count;
	struct drainer list[];
};

/* ---- work of a thread ------------------------------------------------------------------------ */

/* Copies the area's bytes from `at` to `head`, as far as the pool has memory. */
static void copy_area(struct intel_pt_pool *pool, struct intel_pt_buffer *buffer, uint64_t at, uint64_t head)
{
	size_t size, copied;

	do {
		const uint8_t *bytes;

		size = intel_pt_ring_aux(&buffer->ring, at, head - at, &bytes);
		copied = intel_pt_queue_add(&buffer->queue, pool, bytes, size);
		at += copied;
	} while (copied == size && at < head);
	intel_pt_ring_aux_taken(&buffer->ring, at);
}

/*
 * Makes room in the area, with the buffer's lock held. Restarts the event if the area was full: an event without room
 * stops, and a restart does not disturb a running event. An event might stop while room is made; the wake-up of the
 * stop then leads to another restart (was_full).
 */
static void relieve(const struct intel_pt_drainers *all, struct intel_pt_buffer *buffer)
{
	const uint64_t head = intel_pt_ring_aux_head(&buffer->ring), area = buffer->ring.aux_size;
	const uint64_t at = buffer->taken + buffer->queue.size, there = head - at;
	const bool was_full = buffer->full;

	/* The recorder reports impossible positions. */
	if (there > area)
		return;
	buffer->full = there > area - area / FULL_SHARE;
	if (there >= area / LATE_SHARE)
		copy_area(all->pool, buffer, at, head);
	if ((buffer->full || was_full) && intel_pt_events_may_start(all->pt))
		intel_pt_buffer_control(buffer, PERF_EVENT_IOC_ENABLE);
}

static void relieve_all(struct drainer *drainer)
{
	pthread_mutex_lock(&drainer->lock);
	for (size_t i = 0; i < drainer->count; i++) {
		struct intel_pt_buffer *buffer = drainer->buffers[i];

		/* The lock's owner sees `missed` after unlocking, and looks again. */
		__atomic_store_n(&buffer->missed, true, __ATOMIC_SEQ_CST);
		if (pthread_mutex_trylock(&buffer->lock))
			continue;
		__atomic_store_n(&buffer->missed, false, __ATOMIC_SEQ_CST);
		relieve(drainer->all, buffer);
		pthread_mutex_unlock(&buffer->lock);
	}
	pthread_mutex_unlock(&drainer->lock);
}

static void *stand_by(void *context)
{
	struct drainer *drainer = context;
	const uint64_t one = 1;
	struct epoll_event events[EVENTS];

	while (!__atomic_load_n(&drainer->all->ends, __ATOMIC_ACQUIRE)) {
		if (epoll_wait(drainer->epoll, events, EVENTS, -1) <= 0)
			continue;
		/* The write cannot fail: the counter is far below the limit of an eventfd. */
		(void)!write(drainer->all->wake, &one, sizeof(one));
		relieve_all(drainer);
	}
	return NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int watch(const struct drainer *drainer, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	return epoll_ctl(drainer->epoll, EPOLL_CTL_ADD, fd, &event) < 0
		       ? common_fail_errno("cannot wait for a descriptor")
		       : 0;
}

static int start_drainer(struct drainer *drainer)
{
	int status, error;

	drainer->epoll = epoll_create1(EPOLL_CLOEXEC);
	status = drainer->epoll < 0 ? common_fail_errno("cannot wait for descriptors")
				    : watch(drainer, drainer->all->ending);
	if (status < 0)
		return status;
	error = common_thread_start(&drainer->thread, NULL, stand_by, drainer);
	drainer->started = !error;
	errno = error;
	return error ? common_fail_errno("cannot start a thread") : 0;
}

int intel_pt_drainers_start(const struct intel_pt *pt, unsigned threads, uint64_t memory,
			    struct intel_pt_drainers **drainers)
{
	struct intel_pt_drainers *made = calloc(1, sizeof(*made) + threads * sizeof(made->list[0]));
	int status;

	if (!made)
		return common_fail_memory("threads", threads * sizeof(made->list[0]));
	made->pt = pt;
	made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	made->ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = made->wake < 0 || made->ending < 0 ? common_fail_errno("cannot wait for descriptors")
						    : record_wait_descriptor(&pt->session->wait, made->wake);
	if (status == 0)
		status = intel_pt_pool_new((size_t)memory, &made->pool);
	for (unsigned i = 0; status == 0 && i < threads; i++) {
		made->list[i] = (struct drainer){.all = made};
		pthread_mutex_init(&made->list[i].lock, NULL);
		made->count++;
		status = start_drainer(&made->list[i]);
	}
	if (status < 0)
		intel_pt_drainers_stop(made);
	else
		*drainers = made;
	return status;
}

void intel_pt_drainers_stop(struct intel_pt_drainers *drainers)
{
	const uint64_t one = 1;

	if (!drainers)
		return;
	__atomic_store_n(&drainers->ends, true, __ATOMIC_RELEASE);
	if (drainers->ending >= 0)
		(void)!write(drainers->ending, &one, sizeof(one));
	for (unsigned i = 0; i < drainers->count; i++) {
		struct drainer *drainer = &drainers->list[i];

		if (drainer->started)
			pthread_join(drainer->thread, NULL);
		if (drainer->epoll >= 0)
			close(drainer->epoll);
		pthread_mutex_destroy(&drainer->lock);
		free(drainer->buffers);
	}
	intel_pt_pool_free(drainers->pool);
	if (drainers->wake >= 0)
		close(drainers->wake);
	if (drainers->ending >= 0)
		close(drainers->ending);
	free(drainers);
}

/* ---- buffers --------------------------------------------------------------------------------- */

int intel_pt_drainers_add(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd)
{
	struct drainer *drainer = &drainers->list[0];
	int status;

	/* Only the recorder changes the counts, so no lock is needed. */
	for (unsigned i = 1; i < drainers->count; i++)
		if (drainers->list[i].count < drainer->count)
			drainer = &drainers->list[i];
	pthread_mutex_lock(&drainer->lock);
	status = COMMON_VECTOR_RESERVE(drainer->buffers, drainer->capacity, drainer->count + 1, "buffers");
	if (status == 0)
		drainer->buffers[drainer->count++] = buffer;
	pthread_mutex_unlock(&drainer->lock);
	return status < 0 ? status : watch(drainer, fd);
}

static bool forget_buffer(struct drainer *drainer, const struct intel_pt_buffer *buffer)
{
	bool found = false;

	pthread_mutex_lock(&drainer->lock);
	for (size_t i = 0; !found && i < drainer->count; i++) {
		found = drainer->buffers[i] == buffer;
		if (found)
			drainer->buffers[i] = drainer->buffers[--drainer->count];
	}
	pthread_mutex_unlock(&drainer->lock);
	return found;
}

void intel_pt_drainers_remove(struct intel_pt_drainers *drainers, struct intel_pt_buffer *buffer, int fd)
{
	for (unsigned i = 0; i < drainers->count; i++)
		if (forget_buffer(&drainers->list[i], buffer))
			(void)epoll_ctl(drainers->list[i].epoll, EPOLL_CTL_DEL, fd, NULL);
	while (buffer->queue.size) {
		const uint8_t *bytes;

		intel_pt_queue_drop(&buffer->queue, intel_pt_queue_bytes(&buffer->queue, buffer->queue.size, &bytes));
	}
}
