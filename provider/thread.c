/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings of threads: made at a thread's first event for a session, given back when the thread ends. Safe in signal
 * handlers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "provider/names.h"
#include "provider/state.h"

#define PAGE PROVIDER_SHM_PAGE
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* maximum abandoned rings examined for taking one over */
#define LOOKS_MAX 64

__thread struct provider_thread *provider_thread_self __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static bool have_key;

/* ---- views ---- */

static void close_view(struct provider_ring_view *view)
{
	struct provider_shm_ring *ring = view->ring;
	uint64_t size = view->size;

	view->session = 0;
	view->ring = NULL;
	__asm__ volatile("" ::: "memory");
	if (ring)
		munmap(ring, PAGE + 2 * size);
}

/* Rings of an earlier life of the process belong to the parent. */
static void start_life(struct provider_thread *thread, uint64_t instance)
{
	for (unsigned i = 0; i < PROVIDER_LEVELS_MAX * PTL_SESSIONS_MAX; i++)
		close_view(&thread->views[i]);
	thread->tid = provider_thread_id();
	thread->level = 0;
	__atomic_store_n(&thread->instance, instance, __ATOMIC_RELAXED);
}

struct provider_thread *provider_thread_make(void)
{
	struct provider_thread *thread;
	int error = errno;
	struct provider_guard before;

	if (!provider_this_process.map || !provider_process_lock(&before))
		return NULL;
	if (!provider_this_instance())
		provider_process_make();
	thread = provider_thread_self;
	if (!thread) {
		void *memory = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		thread = memory == MAP_FAILED ? NULL : memory;
	}
	if (thread) {
		start_life(thread, provider_this_instance());
		provider_thread_self = thread;
		/*
		 * pthread_setspecific would allocate memory for keys from 32 on. The rings of such a thread are found
		 * by checking whether the thread exists.
		 */
		if (have_key)
			pthread_setspecific(key, thread);
	}
	provider_process_unlock(&before);
	errno = error;
	return thread;
}

static void end_thread(void *context)
{
	struct provider_thread *thread = context;
	bool same_life = thread->instance == provider_this_instance();
	struct provider_guard before;

	if (!provider_process_lock(&before))
		return;
	for (unsigned i = 0; i < PROVIDER_LEVELS_MAX * PTL_SESSIONS_MAX; i++) {
		struct provider_ring_view *view = &thread->views[i];
		struct provider_process_session *session = &provider_this_process.slots[i % PTL_SESSIONS_MAX];

		if (view->ring && same_life) {
			__atomic_store_n(&view->ring->state, PROVIDER_SHM_RING_CLOSED, __ATOMIC_RELEASE);
			if (session->session == view->session)
				session->closed++;
		}
		close_view(view);
	}
	provider_thread_self = NULL;
	munmap(thread, sizeof(*thread));
	provider_process_unlock(&before);
}

void provider_thread_prepare(void)
{
	if (pthread_key_create(&key, end_thread))
		return;
	have_key = key < 32;
	if (!have_key)
		pthread_key_delete(key);
}

/* ---- the file of a session ---- */

static struct provider_shm_rings *first_page(unsigned slot)
{
	return (void *)(provider_this_process.first_pages + (size_t)slot * PAGE);
}

/* Maps the first page over the page of the slot's previous session, in which other threads may be counting. */
static bool map_first_page(int file, unsigned slot)
{
	if (!provider_this_process.first_pages) {
		void *pages = mmap(NULL, (size_t)PTL_SESSIONS_MAX * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (pages == MAP_FAILED)
			return false;
		provider_this_process.first_pages = pages;
	}
	return mmap(first_page(slot), PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
}

static int make_rings(int folder, unsigned slot, const struct provider_shm_session *wanted)
{
	struct provider_process_session *mine = &provider_this_process.slots[slot];
	char new_name[PROVIDER_SHM_NAME_SIZE], name[PROVIDER_SHM_NAME_SIZE];
	struct provider_shm_rings header = {
		.magic = PROVIDER_SHM_RINGS_MAGIC,
		.version = PROVIDER_SHM_VERSION,
		.pid = provider_this_process.pid,
		.id = provider_this_process.id,
		.session = wanted->id,
		.ring_size = wanted->ring_size,
	};
	uint64_t session = wanted->id;
	int file = provider_folder_new_file(folder, new_name);

	if (file < 0)
		return -1;
	provider_name_rings(name, provider_this_process.pid, provider_this_process.id, session);
	if (fallocate(file, 0, 0, PAGE) || !provider_write_at(file, &header, sizeof(header), 0) ||
	    !map_first_page(file, slot) || renameat(folder, new_name, folder, name)) {
		unlinkat(folder, new_name, 0);
		close(file);
		return -1;
	}
	*mine = (struct provider_process_session){
		.session = session, .ring_size = wanted->ring_size, .burst_rings = wanted->burst_rings};
	provider_this_process.made_rings = true;
	/* The session may have ended meanwhile, and its recorder may have removed our files. */
	if (!provider_folder_session(folder, slot, &provider_this_process.file) ||
	    provider_this_process.file.session.id != session) {
		unlinkat(folder, name, 0);
		mine->session = 0;
		close(file);
		return -1;
	}
	return file;
}

static int open_rings(int folder, unsigned slot, uint64_t session)
{
	char name[PROVIDER_SHM_NAME_SIZE];

	if (provider_this_process.slots[slot].session != session) {
		if (!provider_folder_session(folder, slot, &provider_this_process.file) ||
		    provider_this_process.file.session.id != session)
			return -1;
		return make_rings(folder, slot, &provider_this_process.file.session);
	}
	provider_name_rings(name, provider_this_process.pid, provider_this_process.id, session);
	return openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- rings ---- */

static bool map_ring(int file, struct provider_ring_view *view, uint64_t ring_size, uint32_t number)
{
	uint64_t offset = PROVIDER_SHM_RING_OFFSET(ring_size, number);
	int flags = MAP_SHARED | MAP_FIXED;
	uint8_t *base = mmap(NULL, PAGE + 2 * ring_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return false;
	if (mmap(base, PAGE + ring_size, PROT_READ | PROT_WRITE, flags, file, (off_t)offset) == MAP_FAILED ||
	    mmap(base + PAGE + ring_size, ring_size, PROT_READ | PROT_WRITE, flags, file, (off_t)(offset + PAGE)) ==
		    MAP_FAILED) {
		munmap(base, PAGE + 2 * ring_size);
		return false;
	}
	view->ring = (void *)base;
	view->data = base + PAGE;
	view->size = ring_size;
	return true;
}

static bool thread_is_gone(uint32_t tid)
{
	return syscall(SYS_tgkill, provider_this_process.pid, tid, 0) < 0 && errno == ESRCH;
}

/* Whether the ring's thread has left, and all of the ring was read. */
static bool can_take_over(int file, uint64_t ring_size, uint32_t number, bool look_for_thread)
{
	struct provider_shm_ring ring;

	if (pread(file, &ring, sizeof(ring), (off_t)PROVIDER_SHM_RING_OFFSET(ring_size, number)) != sizeof(ring))
		return false;
	if (ring.head != ring.tail)
		return false;
	return ring.state == PROVIDER_SHM_RING_CLOSED || ring.state == PROVIDER_SHM_RING_RELEASED ||
	       (look_for_thread && ring.state == PROVIDER_SHM_RING_ACTIVE && thread_is_gone(ring.tid));
}

static bool find_old(int file, struct provider_process_session *mine, uint32_t *number)
{
	bool closed = mine->closed != 0;
	/* Now and then check for threads that ended unnoticed: see provider_thread_make. */
	bool look_for_threads = !closed && mine->ring_count && mine->ring_count % LOOKS_MAX == 0;

	if (!closed && !look_for_threads)
		return false;
	for (uint32_t i = 0; i < LOOKS_MAX && i < mine->ring_count; i++) {
		*number = mine->next++ % mine->ring_count;
		if (can_take_over(file, mine->ring_size, *number, look_for_threads))
			return true;
	}
	return false;
}

/* Allocates all pages in advance: a full file system would cause SIGBUS later. Respects the file size limit. */
static bool allocate(int file, uint64_t ring_size, uint32_t number)
{
	uint64_t offset = PROVIDER_SHM_RING_OFFSET(ring_size, number), whole = PAGE + ring_size;
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && offset + whole <= limit.rlim_cur &&
	       fallocate(file, 0, (off_t)offset, (off_t)whole) == 0;
}

static bool can_add(const struct provider_process_session *mine)
{
	return mine->ring_count < PROVIDER_SHM_RINGS_MAX &&
	       (mine->ring_count + 1) * (PAGE + mine->ring_size) <= PROVIDER_SHM_RINGS_MEMORY_MAX;
}

/* Bursts leave half of the shared memory to others. */
static bool can_add_for_burst(int file, const struct provider_process_session *mine)
{
	struct statfs info;

	return mine->ring_count < mine->burst_rings && fstatfs(file, &info) == 0 && info.f_bavail >= info.f_blocks / 2;
}

/* Claims a closed ring, unless the recorder is freeing the ring's memory. */
static bool claim(struct provider_shm_ring *ring)
{
	uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_RELAXED);

	return state != PROVIDER_SHM_RING_RELEASING &&
	       __atomic_compare_exchange_n(&ring->state, &state, PROVIDER_SHM_RING_ACTIVE, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static void leave_ring(struct provider_process_session *mine, struct provider_shm_ring *ring)
{
	__atomic_store_n(&ring->state, PROVIDER_SHM_RING_CLOSED, __ATOMIC_RELEASE);
	mine->closed++;
}

static bool take_over(int file, struct provider_process_session *mine, struct provider_ring_view *view)
{
	uint32_t number;

	if (!find_old(file, mine, &number) || !map_ring(file, view, mine->ring_size, number))
		return false;
	if (claim(view->ring)) {
		mine->closed -= mine->closed != 0;
		if (allocate(file, mine->ring_size, number))
			return true;
		leave_ring(mine, view->ring);
	}
	close_view(view);
	return false;
}

static bool add_ring(int file, struct provider_process_session *mine, struct provider_ring_view *view)
{
	return can_add(mine) && allocate(file, mine->ring_size, mine->ring_count) &&
	       map_ring(file, view, mine->ring_size, mine->ring_count);
}

/* Finds a ring for a view without a ring. */
static bool find_ring(int file, uint32_t tid, unsigned slot, bool burst, struct provider_ring_view *view)
{
	struct provider_process_session *mine = &provider_this_process.slots[slot];
	bool old = take_over(file, mine, view);

	if (!old && ((burst && !can_add_for_burst(file, mine)) || !add_ring(file, mine, view)))
		return false;
	/* Populate all pages now, instead of one page fault per event; kernels before 5.14 lack this. */
	(void)madvise(view->ring, PAGE + view->size, MADV_POPULATE_WRITE);
	__atomic_store_n(&view->ring->tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&view->ring->state, PROVIDER_SHM_RING_ACTIVE, __ATOMIC_RELEASE);
	view->tail = __atomic_load_n(&view->ring->tail, __ATOMIC_ACQUIRE);
	view->lost = first_page(slot)->lost;
	view->fixed = !mine->burst_rings;
	view->stuck = false;
	if (!old) {
		mine->ring_count++;
		__atomic_store_n(&first_page(slot)->ring_count, mine->ring_count, __ATOMIC_RELEASE);
	}
	return true;
}

void provider_ring_open(struct provider_thread *thread, uint32_t level, unsigned slot, uint64_t session)
{
	struct provider_ring_view *view = flow_view(thread, level, slot);
	int error = errno, folder, file = -1;
	struct provider_guard before;

	if (!provider_process_lock(&before))
		return;
	close_view(view);
	folder = provider_folder_open(provider_this_process.folder);
	if (folder >= 0) {
		file = open_rings(folder, slot, session);
		close(folder);
	}
	if (file >= 0) {
		(void)find_ring(file, thread->tid, slot, false, view);
		close(file);
	}
	/* After a failure there is no second attempt for this session. */
	view->session = session;
	provider_process_unlock(&before);
	errno = error;
}

/* Opens the rings file, unless the recorder was killed: then nobody would read the events. */
static int open_for_burst(unsigned slot, uint64_t session)
{
	int folder, file = -1;

	if (provider_this_process.slots[slot].session != session)
		return -1;
	folder = provider_folder_open(provider_this_process.folder);
	if (folder < 0)
		return -1;
	if (provider_folder_session(folder, slot, &provider_this_process.file) &&
	    provider_this_process.file.session.id == session)
		file = open_rings(folder, slot, session);
	close(folder);
	return file;
}

bool provider_ring_change(struct provider_thread *thread, uint32_t level, unsigned slot)
{
	struct provider_ring_view *view = flow_view(thread, level, slot), fresh = {0};
	struct provider_guard before;
	int error = errno, file;
	bool found = false;

	if (!provider_process_lock(&before))
		return false;
	file = open_for_burst(slot, view->session);
	if (file >= 0) {
		found = find_ring(file, thread->tid, slot, true, &fresh);
		close(file);
	}
	if (found) {
		leave_ring(&provider_this_process.slots[slot], view->ring);
		fresh.session = view->session;
		close_view(view);
		*view = fresh;
	}
	provider_process_unlock(&before);
	errno = error;
	return found;
}
