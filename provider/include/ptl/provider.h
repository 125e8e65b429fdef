/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that write typed events of their own: libptl-provider(3).
 *
 * A provider is a named source of events. Nothing is recorded until a recorder (ptl-record --provider)
 * turns it on; the program neither knows nor waits for one. An event that nobody wants costs a load
 * and a branch; one that is wanted is copied into shared memory, without a lock or a system call.
 *
 * C11 and C++17. Nothing but libc is needed.
 */
#ifndef PTL_PROVIDER_H
#define PTL_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ptl/event.h>
#include <ptl/guid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Levels, as ETW has them. A session that asks for a level gets it and all lower ones. */
enum ptl_level {
	PTL_LEVEL_ALWAYS = 0, /* whatever level a session asked for */
	PTL_LEVEL_CRITICAL = 1,
	PTL_LEVEL_ERROR = 2,
	PTL_LEVEL_WARNING = 3,
	PTL_LEVEL_INFORMATIONAL = 4,
	PTL_LEVEL_VERBOSE = 5,
};

#define PTL_SESSIONS_MAX 32

/*
 * Which sessions have turned a provider on. Recorders write it, in memory that they share with the
 * program; it is here because the question "is it on?" is answered in the caller. Read it with the
 * functions below only.
 */
struct ptl_enabled_session {
	uint64_t session;  /* its id */
	uint64_t keywords; /* any of these */
	uint8_t level;     /* this level and lower ones */
	uint8_t reserved[7];
	uint64_t lost; /* events for which there was no ring to be dropped from */
};

struct ptl_enabled {
	uint32_t sessions; /* bit n: session slot n has turned the provider on */
	uint32_t capture;  /* bit n: session slot n asks for a capture of state */
	uint8_t reserved[56];
	struct ptl_enabled_session slots[PTL_SESSIONS_MAX];
};

extern struct ptl_enabled ptl_nothing_enabled;

#ifdef __cplusplus
}
#endif

#endif
