/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library knows of its process and threads. Whatever a function that writes events may call is
 * safe in signal handlers: no malloc, no stdio, no mutex; memory comes from mmap.
 */
#ifndef PTL_PROVIDER_STATE_H
#define PTL_PROVIDER_STATE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/provider.h>

#include "provider/session_layout.h"
#include "provider/session_rules.h"

#define PTL_PRIVATE __attribute__((visibility("hidden")))

/* ---- the process ---- */

/* What a forked child needs to tell again. */
struct ptl_provider_entry {
	struct ptl_provider *provider; /* NULL: not registered */
	uint32_t flags;
	struct ptl_guid guid;
	char name[PTL_SHARE_PROVIDER_NAME_SIZE];
	size_t chunk; /* its first definitions: where in the heap, and how many bytes */
	size_t chunk_size;
};

/* What the process has for the session of a slot. */
struct ptl_process_session {
	uint64_t session;   /* id of the session for which there is a rings file; 0: none */
	uint64_t ring_size;
	uint32_t ring_count;
	uint32_t closed;    /* rings that threads have left and nobody taken over */
	uint32_t next;      /* where to look for one */
};

struct ptl_this_process {
	uint32_t lock; /* ptl_process_lock */
	bool prepared; /* the variables of the environment were read */
	char folder[256];
	uint64_t sessions[PTL_SESSIONS_MAX]; /* ids in PTL_SESSIONS */
	uint32_t session_count;

	uint8_t *map; /* struct ptl_share_process and all entries; NULL: none yet */
	uint64_t id;
	uint32_t pid;
	bool made_rings;
	uint8_t *heap; /* the heap of the file: a forked child writes it into its own */
	size_t heap_size;
	size_t heap_capacity;
	uint32_t entry_count;
	struct ptl_provider_entry entries[PTL_SHARE_PROVIDERS_MAX];

	uint8_t *first_pages; /* of the rings files, a page for each slot */
	struct ptl_process_session slots[PTL_SESSIONS_MAX];
	struct ptl_share_session_file file; /* for reading session files */
};

extern PTL_PRIVATE struct ptl_this_process ptl_this_process;

/*
 * Which life of the process this is: a random number, 0 before the first provider is registered and
 * after a fork until the child has a file of its own. In memory that the kernel wipes on fork.
 */
extern PTL_PRIVATE uint64_t *ptl_instance;

static inline uint64_t ptl_this_instance(void)
{
	return __atomic_load_n(ptl_instance, __ATOMIC_ACQUIRE);
}

/*
 * The lock of the slow paths. While it is held, the thread is not cancelled, and signals are blocked, but for
 * those that tell of a fault: false if a handler of one asks for it in the thread that has it.
 */
struct ptl_guard {
	sigset_t signals;
	int cancellation;
};
PTL_PRIVATE bool ptl_process_lock(struct ptl_guard *before);
PTL_PRIVATE void ptl_process_unlock(const struct ptl_guard *before);

/*
 * Makes the process's file if this life has none; the lock is held. False: it cannot be; in a forked
 * child nothing is enabled then.
 */
PTL_PRIVATE bool ptl_process_make(void);

/* Looks for sessions that want the entry's provider, whose page is in this mapping; the lock is held. */
PTL_PRIVATE void ptl_process_look(uint8_t *map, uint32_t number);

/* Entry n in shared memory, and the header. */
static inline struct ptl_share_provider *ptl_shared_entry(uint32_t number)
{
	return (void *)(ptl_this_process.map + PTL_SHARE_PROVIDER_OFFSET(number));
}

static inline struct ptl_share_process *ptl_shared_header(void)
{
	return (void *)ptl_this_process.map;
}

/* Writes the part of the heap from `from` on to the file, and publishes it; the lock is held. */
PTL_PRIVATE bool ptl_process_write_heap(size_t from);

/* A number that nobody guesses; never 0. */
PTL_PRIVATE uint64_t ptl_random(void);

PTL_PRIVATE uint32_t ptl_thread_id(void);

/* ---- the folder: provider/folder.c ---- */

/* Makes the session folder where it is not there; false with errno. */
PTL_PRIVATE bool ptl_folder_make(const char *path);
/* Opens the session folder; -1 with errno, EACCES where it is not the user's alone. */
PTL_PRIVATE int ptl_folder_open(const char *path);
/* Reads session.NN into *file; false where there is no living session in that slot. */
PTL_PRIVATE bool ptl_folder_session(int folder, unsigned slot, struct ptl_share_session_file *file);
/* Makes a file under a name for the time being (put into name), for reading and writing; -1 with errno. */
PTL_PRIVATE int ptl_folder_new_file(int folder, char name[PTL_SHARE_NAME_SIZE]);
/* Writes all bytes at this place; false with errno. */
PTL_PRIVATE bool ptl_write_at(int file, const void *bytes, size_t size, uint64_t offset);

/* ---- threads: provider/thread.c ---- */

/* A thread's way to one session, at one level of writes within writes. */
struct ptl_ring_view {
	uint64_t session; /* id; 0: none */
	struct ptl_share_ring *ring; /* NULL: there could be none */
	uint8_t *data; /* mapped twice in a row, so that every record is in one piece */
	uint64_t size;
	uint64_t tail; /* as last seen; never beyond the true one */
	uint64_t *lost; /* by provider */
};

#define PTL_ACTIVITIES_MAX 32

/* A write can be interrupted by a handler that writes, and so on: each has rings of its own. */
#define PTL_LEVELS_MAX 4

struct ptl_activity_frame {
	struct ptl_guid id;
	uint64_t key; /* of the Start and its Stop */
	bool detachable;
};

struct ptl_thread {
	uint64_t instance;
	uint32_t tid;
	volatile uint32_t level; /* writes under way */
	volatile uintptr_t frames_of_writes[PTL_LEVELS_MAX]; /* where they have their stack frames */
	struct ptl_ring_view views[PTL_LEVELS_MAX * PTL_SESSIONS_MAX]; /* ptl_view */
	struct ptl_guid base;    /* activity that was set, below all frames */
	uint32_t frame_count;
	struct ptl_activity_frame frames[PTL_ACTIVITIES_MAX];
};

static inline struct ptl_ring_view *ptl_view(struct ptl_thread *thread, uint32_t level, unsigned slot)
{
	return &thread->views[level * PTL_SESSIONS_MAX + slot];
}

extern PTL_PRIVATE __thread struct ptl_thread *ptl_thread_self __attribute__((tls_model("initial-exec")));

/* What the calling thread has, made where it has nothing yet; NULL: it cannot be. */
PTL_PRIVATE struct ptl_thread *ptl_thread_make(void);

static inline struct ptl_thread *ptl_thread_get(void)
{
	struct ptl_thread *thread = ptl_thread_self;

	if (__builtin_expect(thread && thread->instance && thread->instance == ptl_this_instance(), 1))
		return thread;
	return ptl_thread_make();
}

/* Once, when the first provider is registered. */
PTL_PRIVATE void ptl_thread_prepare(void);

/* Finds the thread a ring for the session that has the slot now; where there can be none, the view has none. */
PTL_PRIVATE void ptl_ring_open(struct ptl_thread *thread, uint32_t level, unsigned slot, uint64_t session);

/* ---- activities: provider/activity.c ---- */

/*
 * What an event with opcode START or STOP does to the thread's activities; and the ids that it
 * carries: *related is all zero where there is none.
 */
PTL_PRIVATE void ptl_activity_step(struct ptl_thread *thread, const struct ptl_event_definition *event,
				   struct ptl_guid *activity, struct ptl_guid *related);

/* The thread's current activity; all zero: none. */
static inline const struct ptl_guid *ptl_activity_of(const struct ptl_thread *thread)
{
	return thread->frame_count ? &thread->frames[thread->frame_count - 1].id : &thread->base;
}

/* ---- callbacks: provider/listener.c ---- */

/* Tells the provider what has changed since it was told last. */
PTL_PRIVATE void ptl_listener_tell(uint32_t number);
/* Starts the thread that listens, where there is none. */
PTL_PRIVATE void ptl_listener_start(void);
/* Takes the provider out, when no callback of it runs. */
PTL_PRIVATE void ptl_listener_forget(uint32_t number);
/* Around fork. */
PTL_PRIVATE void ptl_listener_lock(void);
PTL_PRIVATE void ptl_listener_unlock(void);
PTL_PRIVATE void ptl_listener_child(void);

#endif
