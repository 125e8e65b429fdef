/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's state of the process and its threads. Functions on the path of writing events are safe in signal
 * handlers: no malloc, no stdio, no mutex; memory comes from mmap.
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

/* Data that a forked child needs to report its providers again. */
struct provider_entry {
	struct ptl_provider *provider; /* NULL: unregistered */
	uint32_t flags;
	struct ptl_guid guid;
	struct ptl_guid group; /* all zero: no group */
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE];
	size_t chunk; /* offset and size of the first definitions in the heap */
	size_t chunk_size;
};

/* State of the process for the session of a slot. */
struct provider_process_session {
	uint64_t session; /* id of the session with a rings file; 0: none */
	uint64_t ring_size;
	uint32_t ring_count;
	uint32_t burst_rings; /* as in the session file */
	uint32_t closed;      /* number of rings that were left and not taken over */
	uint32_t next;        /* where the next search for such a ring starts */
};

struct provider_this_process {
	uint32_t lock; /* see provider_process_lock */
	bool prepared; /* environment variables were read */
	char folder[256];
	uint64_t sessions[PTL_SESSIONS_MAX]; /* ids from PTL_SESSIONS */
	uint32_t session_count;

	uint8_t *map; /* struct provider_shm_process and all entries; NULL: not made yet */
	uint64_t id;
	uint32_t pid;
	bool made_rings;
	uint8_t *heap; /* copy of the file's heap, which a forked child writes to its own file */
	size_t heap_size;
	size_t heap_capacity;
	uint32_t entry_count;
	struct provider_entry entries[PROVIDER_SHM_PROVIDERS_MAX];

	uint8_t *first_pages; /* first pages of the rings files, by slot */
	struct provider_process_session slots[PTL_SESSIONS_MAX];
	struct provider_shm_session_file file; /* buffer for reading session files */
};

extern PROVIDER_PRIVATE struct provider_this_process provider_this_process;

/*
 * Identifies a life of the process: a random number. 0 before the first provider is registered, and after a fork until
 * the child has its own file. In memory that the kernel wipes on fork.
 */
extern PROVIDER_PRIVATE uint64_t *provider_instance;

static inline uint64_t provider_this_instance(void)
{
	return __atomic_load_n(provider_instance, __ATOMIC_ACQUIRE);
}

/*
 * The lock of the slow paths. The holder is not cancelled, and its signals are blocked except for fault signals.
 * provider_process_lock returns false in a fault handler of the holder.
 */
struct provider_guard {
	sigset_t signals;
	int cancellation;
};
PROVIDER_PRIVATE bool provider_process_lock(struct provider_guard *before);
PROVIDER_PRIVATE void provider_process_unlock(const struct provider_guard *before);

/*
 * Makes the file of the process if this life has none. Caller holds the lock. Returns false on failure; a forked child
 * then has all providers disabled.
 */
PROVIDER_PRIVATE bool provider_process_make(void);

/* Looks for sessions that want the entry's provider. map: mapping with the entry's page. Caller holds the lock. */
PROVIDER_PRIVATE void provider_process_look(uint8_t *map, uint32_t number);

/* Return entry n in shared memory, and the header. */
static inline struct provider_shm_provider *provider_shared_entry(uint32_t number)
{
	return (void *)(provider_this_process.map + PROVIDER_SHM_PROVIDER_OFFSET(number));
}

static inline struct provider_shm_process *provider_shared_header(void)
{
	return (void *)provider_this_process.map;
}

/* Writes the heap from `from` on to the file, and publishes the new end. Caller holds the lock. */
PROVIDER_PRIVATE bool provider_process_write_heap(size_t from);

/* Returns an unpredictable number, never 0. */
PROVIDER_PRIVATE uint64_t provider_random(void);

PROVIDER_PRIVATE uint32_t provider_thread_id(void);

/* ---- the folder: provider/folder.c ---- */

/* Makes the session folder if missing. *made: the folder was made. Returns false with errno. */
PROVIDER_PRIVATE bool provider_folder_make(const char *path, bool *made);
/* Opens the session folder. Returns -1 with errno; EACCES if other users have access. */
PROVIDER_PRIVATE int provider_folder_open(const char *path);
/* Reads session.NN into *file. Returns false if the slot has no living session. */
PROVIDER_PRIVATE bool provider_folder_session(int folder, unsigned slot, struct provider_shm_session_file *file);
/* Tells the session that its rules match a provider. file: the session's file as just read. */
PROVIDER_PRIVATE void provider_folder_answer(int folder, const struct provider_shm_session_file *file,
					     const struct provider_shm_identity *provider);
/* Makes a file under a temporary name, returned in `name`, for reading and writing. Returns -1 with errno. */
PROVIDER_PRIVATE int provider_folder_new_file(int folder, char name[PROVIDER_SHM_NAME_SIZE]);
/* Writes all bytes at the offset. Returns false with errno. */
PROVIDER_PRIVATE bool provider_write_at(int file, const void *bytes, size_t size, uint64_t offset);

/* ---- threads: provider/thread.c ---- */

/* A thread's access to a session, at one level of nested writes. */
struct provider_ring_view {
	uint64_t session;               /* id; 0: none */
	struct provider_shm_ring *ring; /* NULL: no ring available */
	uint8_t *data;                  /* mapped twice in a row, so that each record is contiguous */
	uint64_t size;
	uint64_t tail;  /* last known value; never beyond the true tail */
	uint64_t *lost; /* counters by provider */
	bool fixed;     /* the session never has another ring for a full one */
	bool stuck;     /* no other ring was available; do not ask again before the reader has made progress */
};

#define PROVIDER_ACTIVITIES_MAX 32

/* A signal handler may interrupt a write and write itself, and so on. Each level has rings of its own. */
#define PROVIDER_LEVELS_MAX 4

struct provider_activity_frame {
	struct ptl_guid id;
	uint64_t key; /* shared by a Start and its Stop */
	bool detachable;
};

struct provider_thread {
	uint64_t instance;
	uint32_t tid;
	volatile uint32_t level;                                                 /* number of nested writes */
	volatile uintptr_t frames_of_writes[PROVIDER_LEVELS_MAX];                /* stack frames of the writes */
	struct provider_ring_view views[PROVIDER_LEVELS_MAX * PTL_SESSIONS_MAX]; /* indexed by flow_view */
	struct ptl_guid base; /* activity set by ptl_activity_set, below all frames */
	uint32_t frame_count;
	struct provider_activity_frame frames[PROVIDER_ACTIVITIES_MAX];
};

static inline struct provider_ring_view *flow_view(struct provider_thread *thread, uint32_t level, unsigned slot)
{
	return &thread->views[level * PTL_SESSIONS_MAX + slot];
}

extern PROVIDER_PRIVATE __thread struct provider_thread *provider_thread_self
	__attribute__((tls_model("initial-exec")));

/* Returns the thread's state, and makes it if needed. NULL on failure. */
PROVIDER_PRIVATE struct provider_thread *provider_thread_make(void);

static inline struct provider_thread *provider_thread_get(void)
{
	struct provider_thread *thread = provider_thread_self;

	if (__builtin_expect(thread && thread->instance && thread->instance == provider_this_instance(), 1))
		return thread;
	return provider_thread_make();
}

/* Call once, when the first provider is registered. */
PROVIDER_PRIVATE void provider_thread_prepare(void);

/* Finds a ring for the session of the slot. Without a ring, the view's ring is NULL. */
PROVIDER_PRIVATE void provider_ring_open(struct provider_thread *thread, uint32_t level, unsigned slot,
					 uint64_t session);

/* Replaces the view's full ring by another ring. Returns false, and keeps the view, if no other ring is available. */
PROVIDER_PRIVATE bool provider_ring_change(struct provider_thread *thread, uint32_t level, unsigned slot);

/* ---- activities: provider/activity.c ---- */

/*
 * Applies an event with opcode START or STOP to the thread's activities. Returns the ids that the event carries;
 * *related is all zero without a related activity.
 */
PROVIDER_PRIVATE void provider_activity_step(struct provider_thread *thread, const struct ptl_event_definition *event,
					     struct ptl_guid *activity, struct ptl_guid *related);

/* Returns the thread's current activity; all zero: none. */
static inline const struct ptl_guid *provider_activity_of(const struct provider_thread *thread)
{
	return thread->frame_count ? &thread->frames[thread->frame_count - 1].id : &thread->base;
}

/* ---- definitions of events: provider/definitions.c ---- */

/*
 * Notes the schema of an event. Returns PTL_MISUSE if the event (same provider, id, version and opcode) has another
 * schema; PTL_NO_MEMORY.
 */
PROVIDER_PRIVATE int provider_definition_add(const struct ptl_event_definition *event, const uint8_t *schema,
					     size_t size);
/* Return the number of definitions; remove definitions beyond this number. */
PROVIDER_PRIVATE size_t provider_definition_count(void);
PROVIDER_PRIVATE void provider_definition_forget(size_t count);

/* ---- callbacks: provider/listener.c ---- */

/* Notifies the provider of changes since the last notification. */
PROVIDER_PRIVATE void provider_listener_report(uint32_t number);
/* Starts the listening thread unless it is running. */
PROVIDER_PRIVATE void provider_listener_start(void);
/* Forgets the provider after its running callback has returned. */
PROVIDER_PRIVATE void provider_listener_forget(uint32_t number);
/* Called before and after fork. */
PROVIDER_PRIVATE void provider_listener_lock(void);
PROVIDER_PRIVATE void provider_listener_unlock(void);
PROVIDER_PRIVATE void provider_listener_child(void);

#endif
