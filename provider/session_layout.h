/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that programs with providers and recorders share: docs/providers.md is the authority.
 *
 * Three kinds of files in the session folder:
 *
 *     session.NN                 made by a recorder: who it is and what it wants; read by programs, never mapped
 *     process.PID.ID             made by a program: its providers, and which session wants what of them
 *     rings.PID.ID.SESSION       made by a program: the events of its threads for one session
 *
 * Numbers are in the byte order of the machine: these files never leave it. A reader trusts
 * nothing in it.
 */
#ifndef PROVIDER_SESSION_LAYOUT_H
#define PROVIDER_SESSION_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>
#include <ptl/provider.h>

#define PROVIDER_SHM_VERSION 1u
#define PROVIDER_SHM_PAGE 4096u

#define PROVIDER_SHM_FOLDER_VARIABLE "PTL_SESSION_DIR"     /* another folder, for tests */
#define PROVIDER_SHM_SESSIONS_VARIABLE "PTL_SESSIONS"      /* ids of the sessions a program belongs to */
#define PROVIDER_SHM_SESSION_NAME "session.%02u"           /* slot */
#define PROVIDER_SHM_PROCESS_NAME "process.%u.%016llx"     /* pid, id of the process */
#define PROVIDER_SHM_RINGS_NAME "rings.%u.%016llx.%016llx" /* pid, id of the process, id of the session */
#define PROVIDER_SHM_NAME_SIZE 64                          /* any of these, and a zero */

#define PROVIDER_SHM_PROVIDERS_MAX 256u
#define PROVIDER_SHM_PROVIDER_NAME_SIZE 256u /* with the zero */
#define PROVIDER_SHM_RULES_MAX 128u
#define PROVIDER_SHM_RINGS_MAX 4096u
#define PROVIDER_SHM_RING_MIN 4096u
#define PROVIDER_SHM_RING_MAX (64u << 20)
#define PROVIDER_SHM_RINGS_MEMORY_MAX (4ull << 30) /* all rings of a process for one session */
#define PROVIDER_SHM_HEAP_MAX (64ull << 20)

/* ---- session.NN ---- */

#define PROVIDER_SHM_SESSION_MAGIC 0x31535345534c5450ull /* "PTLSESS1" */

enum provider_shm_match {
	PROVIDER_SHM_MATCH_ALL = 0,  /* every provider */
	PROVIDER_SHM_MATCH_NAME = 1, /* ASCII letters compare without case */
	PROVIDER_SHM_MATCH_GUID = 2, /* the provider's, or that of its group */
	/* As a name, with * for any text and ? for a byte. Programs with an older library take no part in such a session. */
	PROVIDER_SHM_MATCH_PATTERN = 3,
};

struct provider_shm_rule {
	uint32_t match;   /* enum provider_shm_match */
	uint8_t level;    /* this and lower ones; 255: all */
	uint8_t answered; /* programs write here: 1 when a provider of theirs matches; 0 at first */
	uint8_t reserved[2];
	uint64_t keywords; /* any of these; all bits: all */
	struct ptl_guid guid;
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE]; /* ends with a zero */
};

#define PROVIDER_SHM_SESSION_EVERYONE 1u /* every process of the user, not only those with the id in PTL_SESSIONS */

struct provider_shm_session {
	uint64_t magic;
	uint32_t version;
	uint32_t size;     /* of the file: this structure and its rules */
	uint64_t id;       /* random, not 0 */
	uint32_t slot;     /* as in the file's name */
	uint32_t recorder; /* pid */
	uint32_t flags;
	uint32_t clock;     /* of the trace, enum ptl_clock: PTL_CLOCK_MONOTONIC */
	uint64_t ring_size; /* of each thread, a power of two */
	uint32_t rule_count;
	uint32_t burst_rings; /* with fewer rings, a process adds one for a thread whose ring is full; 0: never */
	char name[64];        /* for people; ends with a zero */
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
	uint64_t start;          /* CLOCK_MONOTONIC, when the file was made */
	uint32_t clock;          /* of the records, enum ptl_clock */
	uint32_t parent;         /* pid of the process that forked this one, if the library saw it; else 0 */
	uint64_t heap_end;       /* atomic: offset in the file behind the last whole chunk */
	uint32_t provider_count; /* atomic: entries 0 to count - 1 are valid */
	uint32_t notify;         /* atomic, a futex: see docs/providers.md, "Callbacks" */
	char program[256];       /* name of the program, for people; ends with a zero */
};

enum provider_shm_state {
	PROVIDER_SHM_UNUSED = 0,
	PROVIDER_SHM_REGISTERED = 1,
	PROVIDER_SHM_UNREGISTERED = 2, /* its events may still be in rings */
};

#define PROVIDER_SHM_HAS_CALLBACK 1u /* the program wants to be notified, and can answer a request for capture */

/* Page 1 + n: provider n. */
struct provider_shm_provider {
	struct ptl_enabled enabled; /* recorders write here, and the program when it registers */
	uint32_t state;             /* atomic, enum provider_shm_state */
	uint32_t flags;
	struct ptl_guid guid;
	char name[PROVIDER_SHM_PROVIDER_NAME_SIZE]; /* UTF-8, ends with a zero */
	struct ptl_guid group; /* that it is a member of; all zero: of none, as in older libraries */
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

/* Heap: chunks, one after the other, each a multiple of 8 bytes long. Recorders read it with pread. */
struct provider_shm_chunk {
	uint32_t size;      /* with this header and the padding */
	uint32_t provider;  /* number of its entry */
	uint32_t data_size; /* bytes behind this header: metadata records of docs/format.md, section 5 */
	uint32_t reserved;
};

/* ---- rings.PID.ID.SESSION ---- */

#define PROVIDER_SHM_RINGS_MAGIC 0x31474e49524c5450ull /* "PTLRING1" */

/* Offset 0. */
struct provider_shm_rings {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint64_t id;      /* of the process */
	uint64_t session; /* id */
	uint64_t ring_size;
	uint32_t ring_count; /* atomic: rings 0 to count - 1 are valid */
	uint32_t reserved[5];
	uint64_t lost[PROVIDER_SHM_PROVIDERS_MAX]; /* atomic: events of each provider that were dropped */
};

_Static_assert(offsetof(struct provider_shm_rings, lost) == 64, "layout");
_Static_assert(sizeof(struct provider_shm_rings) <= PROVIDER_SHM_PAGE, "layout");

enum provider_shm_ring_state {
	PROVIDER_SHM_RING_ACTIVE = 1,    /* a thread writes */
	PROVIDER_SHM_RING_CLOSED = 2,    /* left by its thread; another may take the ring when all of it was read */
	PROVIDER_SHM_RING_RELEASING = 3, /* closed and read; the recorder gives its memory back */
	PROVIDER_SHM_RING_RELEASED = 4,  /* has no memory behind its first page; who takes it allocates it */
};

/* Ring n is at this offset: a page with this structure, then ring_size bytes of records. */
#define PROVIDER_SHM_RING_OFFSET(ring_size, n) (PROVIDER_SHM_PAGE + (uint64_t)(n) * (PROVIDER_SHM_PAGE + (ring_size)))

struct provider_shm_ring {
	/* Written by the thread. */
	uint64_t head;  /* atomic: bytes ever written; all below is complete */
	uint32_t state; /* atomic, enum provider_shm_ring_state; of a closed ring the recorder's, too */
	uint32_t tid;   /* who has the ring now; a record says whose it is */
	uint8_t reserved[48];
	/* Written by the recorder. */
	uint64_t tail; /* atomic: bytes ever read */
	uint8_t reserved_too[56];
};

_Static_assert(offsetof(struct provider_shm_ring, tail) == 64, "layout");
_Static_assert(sizeof(struct provider_shm_ring) == 128, "layout");

#define PROVIDER_SHM_HAS_ACTIVITY 1u /* 16 bytes behind the header */
#define PROVIDER_SHM_HAS_RELATED 2u  /* 16 bytes behind those */
#define PROVIDER_SHM_OWN_TIME 4u     /* the author gave the time: it need not be in order */

/* A record begins at a multiple of 8; it may go on at the start of the ring where the ring ends. */
struct provider_shm_record {
	uint32_t size;         /* multiple of 8: header, ids, payload, padding */
	uint32_t payload_size; /* the payload is behind the header and the ids */
	uint64_t time;         /* in the clock of the process */
	uint32_t tid;
	uint32_t cpu;
	uint16_t provider; /* number of its entry */
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
