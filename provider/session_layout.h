/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory shared by programs with providers and recorders. docs/providers.md is the authoritative description.
 *
 * The session folder has three kinds of files:
 *
 *     session.NN            made by a recorder: its identity and rules; programs read the file, but never map it
 *     process.PID.ID        made by a program: its providers, and the sessions that want their events
 *     rings.PID.ID.SESSION  made by a program: events of its threads for a session
 *
 * Numbers are in the machine's byte order: the files never leave the machine. Readers must not trust any content.
 */
#ifndef PROVIDER_SESSION_LAYOUT_H
#define PROVIDER_SESSION_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>
#include <ptl/provider.h>

#define PROVIDER_SHM_VERSION 1u
#define PROVIDER_SHM_PAGE 4096u

#define PROVIDER_SHM_FOLDER_VARIABLE "PTL_SESSION_DIR"     /* overrides the folder, for tests */
#define PROVIDER_SHM_SESSIONS_VARIABLE "PTL_SESSIONS"      /* ids of the sessions that the program belongs to */
#define PROVIDER_SHM_SESSION_NAME "session.%02u"           /* slot */
#define PROVIDER_SHM_PROCESS_NAME "process.%u.%016llx"     /* pid, id of the process */
#define PROVIDER_SHM_RINGS_NAME "rings.%u.%016llx.%016llx" /* pid, id of the process, id of the session */
#define PROVIDER_SHM_NAME_SIZE 64                          /* size of any of these names, including the zero */

#define PROVIDER_SHM_PROVIDERS_MAX 256u
#define PROVIDER_SHM_PROVIDER_NAME_SIZE 256u /* including the zero */
#define PROVIDER_SHM_RULES_MAX 128u
#define PROVIDER_SHM_RINGS_MAX 4096u
#define PROVIDER_SHM_RING_MIN 4096u
#define PROVIDER_SHM_RING_MAX (64u << 20)
#define PROVIDER_SHM_RINGS_MEMORY_MAX (4ull << 30) /* all rings of a process for a session */
#define PROVIDER_SHM_HEAP_MAX (64ull << 20)

/* ---- session.NN ---- */

#define PROVIDER_SHM_SESSION_MAGIC 0x31535345534c5450ull /* "PTLSESS1" */

enum provider_shm_match {
	PROVIDER_SHM_MATCH_ALL = 0,  /* every provider */
	PROVIDER_SHM_MATCH_NAME = 1, /* compared without case of ASCII letters */
	PROVIDER_SHM_MATCH_GUID = 2, /* GUID of the provider, or of its group */
	/* As MATCH_NAME, with * for any text and ? for a byte. Programs with an older library ignore such a session. */
	PROVIDER_SHM_MATCH_PATTERN = 3,
};

struct provider_shm_rule {
	uint32_t match;   /* enum provider_shm_match */
	uint8_t level;    /* maximum level; 255: all levels */
	uint8_t answered; /* written by programs: 1 after a provider has matched; initially 0 */
	uint8_t reserved[2];
	uint64_t keywords; /* an event needs one of these; all bits set: all events */
	struct ptl_guid guid;
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE]; /* zero-terminated */
};

/* all processes of the user; else only processes with the id in PTL_SESSIONS */
#define PROVIDER_SHM_SESSION_EVERYONE 1u

struct provider_shm_session {
	uint64_t magic;
	uint32_t version;
	uint32_t size;     /* bytes of the file: this structure and its rules */
	uint64_t id;       /* random, not 0 */
	uint32_t slot;     /* as in the file name */
	uint32_t recorder; /* pid of the recorder */
	uint32_t flags;
	uint32_t clock;     /* clock of the trace, enum ptl_clock: PTL_CLOCK_MONOTONIC */
	uint64_t ring_size; /* per thread; a power of two */
	uint32_t rule_count;
	uint32_t burst_rings; /* a process with fewer rings may add a ring for a thread whose ring is full; 0: never */
	char name[64];        /* for display; zero-terminated */
};

_Static_assert(sizeof(struct provider_shm_rule) == 288, "layout");
_Static_assert(sizeof(struct provider_shm_session) == 120, "layout");

/* ---- process.PID.ID ---- */

#define PROVIDER_SHM_PROCESS_MAGIC 0x31434f52504c5450ull /* "PTLPROC1" */

/* Offset 0. */
struct provider_shm_process {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint64_t id;
	uint64_t pid_namespace;  /* inode number of /proc/self/ns/pid; 0: unknown */
	uint64_t start;          /* CLOCK_MONOTONIC when the file was made */
	uint32_t clock;          /* clock of the records, enum ptl_clock */
	uint32_t parent;         /* pid of the forking process, if the library noticed the fork; else 0 */
	uint64_t heap_end;       /* atomic: file offset of the end of the last complete chunk */
	uint32_t provider_count; /* atomic: number of valid entries */
	uint32_t notify;         /* atomic, a futex: see docs/providers.md, "Callbacks" */
	char program[256];       /* program name for display; zero-terminated */
};

enum provider_shm_state {
	PROVIDER_SHM_UNUSED = 0,
	PROVIDER_SHM_REGISTERED = 1,
	PROVIDER_SHM_UNREGISTERED = 2, /* events may remain in rings */
};

#define PROVIDER_SHM_HAS_CALLBACK 1u /* the program wants notifications, and can answer a request for capture */

/* Page 1 + n: provider n. */
struct provider_shm_provider {
	struct ptl_enabled enabled; /* written by recorders, and by the program while registering */
	uint32_t state;             /* atomic, enum provider_shm_state */
	uint32_t flags;
	struct ptl_guid guid;
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE]; /* UTF-8, zero-terminated */
	struct ptl_guid group; /* group of the provider; all zero: no group, as in older libraries */
};

_Static_assert(sizeof(struct ptl_enabled_session) == 32, "layout");
_Static_assert(offsetof(struct ptl_enabled, slots) == 64, "layout");
_Static_assert(offsetof(struct provider_shm_process, heap_end) == 48, "layout");
_Static_assert(offsetof(struct provider_shm_process, program) == 64, "layout");
_Static_assert(sizeof(struct provider_shm_process) <= PROVIDER_SHM_PAGE, "layout");
_Static_assert(offsetof(struct provider_shm_provider, state) == 1088, "layout");
_Static_assert(offsetof(struct provider_shm_provider, name) == 1112, "layout");
_Static_assert(offsetof(struct provider_shm_provider, group) == 1368, "layout");
_Static_assert(sizeof(struct provider_shm_provider) <= PROVIDER_SHM_PAGE, "layout");

#define PROVIDER_SHM_PROVIDER_OFFSET(n) ((1ull + (n)) * PROVIDER_SHM_PAGE)
#define PROVIDER_SHM_HEAP_OFFSET PROVIDER_SHM_PROVIDER_OFFSET(PROVIDER_SHM_PROVIDERS_MAX)

/* The heap: consecutive chunks, each a multiple of 8 bytes. Recorders read the heap with pread. */
struct provider_shm_chunk {
	uint32_t size;      /* bytes of the chunk, including header and padding */
	uint32_t provider;  /* number of the provider's entry */
	uint32_t data_size; /* bytes of metadata records behind this header: docs/format.md, section 5 */
	uint32_t reserved;
};

/* ---- rings.PID.ID.SESSION ---- */

#define PROVIDER_SHM_RINGS_MAGIC 0x31474e49524c5450ull /* "PTLRING1" */

/* Offset 0. */
struct provider_shm_rings {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint64_t id;      /* id of the process */
	uint64_t session; /* id of the session */
	uint64_t ring_size;
	uint32_t ring_count; /* atomic: number of valid rings */
	uint32_t reserved[5];
	uint64_t lost[PROVIDER_SHM_PROVIDERS_MAX]; /* atomic: dropped events of each provider */
};

_Static_assert(offsetof(struct provider_shm_rings, lost) == 64, "layout");
_Static_assert(sizeof(struct provider_shm_rings) <= PROVIDER_SHM_PAGE, "layout");

enum provider_shm_ring_state {
	PROVIDER_SHM_RING_ACTIVE = 1, /* a thread uses the ring */
	/* the thread has left; another thread may take the ring when all records were read */
	PROVIDER_SHM_RING_CLOSED = 2,
	PROVIDER_SHM_RING_RELEASING = 3, /* closed and read; the recorder is freeing the ring's memory */
	PROVIDER_SHM_RING_RELEASED = 4,  /* only the first page has memory; the next user must allocate the rest */
};

/* Offset of ring n: a page with struct provider_shm_ring, then ring_size bytes of records. */
#define PROVIDER_SHM_RING_OFFSET(ring_size, n) (PROVIDER_SHM_PAGE + (uint64_t)(n) * (PROVIDER_SHM_PAGE + (ring_size)))

struct provider_shm_ring {
	/* Written by the thread. */
	uint64_t head;  /* atomic: bytes written in total; records below head are complete */
	uint32_t state; /* atomic, enum provider_shm_ring_state; also changed by the recorder if closed */
	uint32_t tid;   /* current thread; each record has the tid of its writer */
	uint8_t reserved[48];
	/* Written by the recorder. */
	uint64_t tail; /* atomic: bytes read in total */
	uint8_t reserved_too[56];
};

_Static_assert(offsetof(struct provider_shm_ring, tail) == 64, "layout");
_Static_assert(sizeof(struct provider_shm_ring) == 128, "layout");

#define PROVIDER_SHM_HAS_ACTIVITY 1u /* 16 bytes behind the header */
#define PROVIDER_SHM_HAS_RELATED 2u  /* 16 bytes behind the activity */
#define PROVIDER_SHM_OWN_TIME 4u     /* the author set the time, which may be out of order */

/* A record begins at a multiple of 8, and may wrap around at the end of the ring. */
struct provider_shm_record {
	uint32_t size;         /* multiple of 8: header, ids, payload, padding */
	uint32_t payload_size; /* bytes of the payload, which follows header and ids */
	uint64_t time;         /* time in the clock of the process */
	uint32_t tid;
	uint32_t cpu;
	uint16_t provider; /* number of the provider's entry */
	uint16_t flags;
	uint16_t id;
	uint8_t version;
	uint8_t channel;
	uint8_t level;
	uint8_t opcode;
	uint16_t task;
	uint32_t reserved;
	uint64_t keyword;
};

_Static_assert(sizeof(struct provider_shm_record) == 48, "layout");
_Static_assert(offsetof(struct provider_shm_record, keyword) == 40, "layout");

#endif
