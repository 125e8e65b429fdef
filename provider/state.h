/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library knows of its process and threads. Whatever a function that writes events may call is
 * safe in signal handlers: no malloc, no stdio, no mutex; memory comes from mmap.
 */
#ifndef PROVIDER_STATE_H
#define PROVIDER_STATE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/provider.h>

#include "provider/session_layout.h"
#include "provider/session_rules.h"

#define PROVIDER_PRIVATE __attribute__((visibility("hidden")))

/* ---- the process ---- */

/* What a forked child needs to report again. */
struct provider_entry {
	struct ptl_provider *provider; /* NULL: not registered */
	uint32_t flags;
	struct ptl_guid guid;
	struct ptl_guid group; /* all zero: none */
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE];
	size_t chunk; /* its first definitions: where in the heap, and how many bytes */
	size_t chunk_size;
};

/* What the process has for the session of a slot. */
struct provider_process_session {
	uint64_t session; /* id of the session for which there is a rings file; 0: none */
	uint64_t ring_size;
	uint32_t ring_count;
	uint32_t burst_rings; /* as in the session's file */
	uint32_t closed;      /* rings that threads have left and nobody taken over */
	uint32_t next;        /* where to look for one */
};

struct provider_this_process {
	uint32_t lock; /* provider_process_lock */
	bool prepared; /* the variables of the environment were read */
	char folder[256];
	uint64_t sessions[PTL_SESSIONS_MAX]; /* ids in PTL_SESSIONS */
	uint32_t session_count;

	uint8_t *map; /* struct provider_shm_process and all entries; NULL: none yet */
	uint64_t id;
	uint32_t pid;
	bool made_rings;
	uint8_t *heap; /* the heap of the file: a forked child writes it into its own */
	size_t heap_size;
	size_t heap_capacity;
	uint32_t entry_count;
	struct provider_entry entries[PROVIDER_SHM_PROVIDERS_MAX];

	uint8_t *first_pages; /* of the rings files, a page for each slot */
	struct provider_process_session slots[PTL_SESSIONS_MAX];
	struct provider_shm_session_file file; /* for reading session files */
};

extern PROVIDER_PRIVATE struct provider_this_process provider_this_process;

/*
 * Which life of the process this is: a random number, 0 before the first provider is registered and
 * after a fork until the child has a file of its own. In memory that the kernel wipes on fork.
 */
extern PROVIDER_PRIVATE uint64_t *provider_instance;

static inline uint64_t provider_this_instance(void)
{
	return __atomic_load_n(provider_instance, __ATOMIC_ACQUIRE);
}

/*
 * The lock of the slow paths. While it is held, the thread is not cancelled, and signals are blocked, but for
 * those that report a fault: false if a handler of one asks for it in the thread that has it.
 */
struct provider_guard {
	sigset_t signals;
	int cancellation;
};
PROVIDER_PRIVATE bool provider_process_lock(struct provider_guard *before);
PROVIDER_PRIVATE void provider_process_unlock(const struct provider_guard *before);

/*
 * Makes the process's file if this life has none; the lock is held. False: it cannot be; in a forked
 * child nothing is enabled then.
 */
PROVIDER_PRIVATE bool provider_process_make(void);

/* Looks for sessions that want the entry's provider, whose page is in this mapping; the lock is held. */
PROVIDER_PRIVATE void provider_process_look(uint8_t *map, uint32_t number);

/* Entry n in shared memory, and the header. */
static inline struct provider_shm_provider *provider_shared_entry(uint32_t number)
{
	return (void *)(provider_this_process.map + PROVIDER_SHM_PROVIDER_OFFSET(number));
}

static inline struct provider_shm_process *provider_shared_header(void)
{
	return (void *)provider_this_process.map;
}

/* Writes the part of the heap from `from` on to the file, and publishes it; the lock is held. */
PROVIDER_PRIVATE bool provider_process_write_heap(size_t from);

/* A number that nobody guesses; never 0. */
PROVIDER_PRIVATE uint64_t provider_random(void);

PROVIDER_PRIVATE uint32_t provider_thread_id(void);

/* ---- the folder: provider/folder.c ---- */

/* Makes the session folder where it is not there, and says whether it did; false with errno. */
PROVIDER_PRIVATE bool provider_folder_make(const char *path, bool *made);
/* Opens the session folder; -1 with errno, EACCES where it is not the user's alone. */
PROVIDER_PRIVATE int provider_folder_open(const char *path);
/* Reads session.NN into *file; false where there is no living session in that slot. */
PROVIDER_PRIVATE bool provider_folder_session(int folder, unsigned slot, struct provider_shm_session_file *file);
/* Tells the session, as just read from its file, that a provider is what its rules are about. */
PROVIDER_PRIVATE void provider_folder_answer(int folder, const struct provider_shm_session_file *file,
					     const struct provider_shm_identity *provider);
/* Makes a file under a name for the time being (put into name), for reading and writing; -1 with errno. */
PROVIDER_PRIVATE int provider_folder_new_file(int folder, char name[PROVIDER_SHM_NAME_SIZE]);
/* Writes all bytes at this place; false with errno. */
PROVIDER_PRIVATE bool provider_write_at(int file, const void *bytes, size_t size, uint64_t offset);

/* ---- threads: provider/thread.c ---- */

/* A thread's way to one session, at one level of writes within writes. */
struct provider_ring_view {
	uint64_t session;               /* id; 0: none */
	struct provider_shm_ring *ring; /* NULL: there could be none */
	uint8_t *data;                  /* mapped twice in a row, so that every record is in one piece */
	uint64_t size;
	uint64_t tail;  /* as last seen; never beyond the true one */
	uint64_t *lost; /* by provider */
	bool fixed;     /* the session has no other rings for a thread whose ring is full */
	bool stuck;     /* there was none; no use in asking again before the reader has moved on */
};

#define PROVIDER_ACTIVITIES_MAX 32

/* A write can be interrupted by a handler that writes, and so on: each has rings of its own. */
#define PROVIDER_LEVELS_MAX 4

struct provider_activity_frame {
	struct ptl_guid id;
	uint64_t key; /* of the Start and its Stop */
	bool detachable;
};

struct provider_thread {
	uint64_t instance;
	uint32_t tid;
	volatile uint32_t level;                                  /* writes under way */
	volatile uintptr_t frames_of_writes[PROVIDER_LEVELS_MAX]; /* where they have their stack frames */
	struct provider_ring_view views[PROVIDER_LEVELS_MAX * PTL_SESSIONS_MAX]; /* flow_view */
	struct ptl_guid base; /* activity that was set, below all frames */
	uint32_t frame_count;
	struct provider_activity_frame frames[PROVIDER_ACTIVITIES_MAX];
};

static inline struct provider_ring_view *flow_view(struct provider_thread *thread, uint32_t level, unsigned slot)
{
	return &thread->views[level * PTL_SESSIONS_MAX + slot];
}

extern PROVIDER_PRIVATE __thread struct provider_thread *provider_thread_self
	__attribute__((tls_model("initial-exec")));

/* What the calling thread has, made where it has nothing yet; NULL: it cannot be. */
PROVIDER_PRIVATE struct provider_thread *provider_thread_make(void);

static inline struct provider_thread *provider_thread_get(void)
{
	struct provider_thread *thread = provider_thread_self;

	if (__builtin_expect(thread && thread->instance && thread->instance == provider_this_instance(), 1))
		return thread;
	return provider_thread_make();
}

/* Once, when the first provider is registered. */
PROVIDER_PRIVATE void provider_thread_prepare(void);

/* Finds the thread a ring for the session that has the slot now; where there can be none, the view has none. */
PROVIDER_PRIVATE void provider_ring_open(struct provider_thread *thread, uint32_t level, unsigned slot,
					 uint64_t session);

/* Leaves the view's ring, which is full, for another one; false: there is none, and the view is as it was. */
PROVIDER_PRIVATE bool provider_ring_change(struct provider_thread *thread, uint32_t level, unsigned slot);

/* ---- activities: provider/activity.c ---- */

/*
 * What an event with opcode START or STOP does to the thread's activities; and the ids that it
 * carries: *related is all zero where there is none.
 */
PROVIDER_PRIVATE void provider_activity_step(struct provider_thread *thread, const struct ptl_event_definition *event,
					     struct ptl_guid *activity, struct ptl_guid *related);

/* The thread's current activity; all zero: none. */
static inline const struct ptl_guid *provider_activity_of(const struct provider_thread *thread)
{
	return thread->frame_count ? &thread->frames[thread->frame_count - 1].id : &thread->base;
}

/* ---- events that were defined: provider/definitions.c ---- */

/*
 * Notes that the event is explained by this schema. PTL_MISUSE where another schema explains the same provider's
 * id, version and opcode; PTL_NO_MEMORY.
 */
PROVIDER_PRIVATE int provider_definition_add(const struct ptl_event_definition *event, const uint8_t *schema,
					     size_t size);
/* Takes back what was added since there were so many. */
PROVIDER_PRIVATE size_t provider_definition_count(void);
PROVIDER_PRIVATE void provider_definition_forget(size_t count);

/* ---- callbacks: provider/listener.c ---- */

/* Notifies the provider of what has changed since the last notification. */
PROVIDER_PRIVATE void provider_listener_report(uint32_t number);
/* Starts the thread that listens, where there is none. */
PROVIDER_PRIVATE void provider_listener_start(void);
/* Takes the provider out, when no callback of it runs. */
PROVIDER_PRIVATE void provider_listener_forget(uint32_t number);
/* Around fork. */
PROVIDER_PRIVATE void provider_listener_lock(void);
PROVIDER_PRIVATE void provider_listener_unlock(void);
PROVIDER_PRIVATE void provider_listener_child(void);

#endif
