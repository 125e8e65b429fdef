/* SPDX-License-Identifier: BSD-2-Clause */
/* --live: the trace of a named session of ptl-record, from file to file. */
#ifndef DUMP_SESSION_LIVE_H
#define DUMP_SESSION_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/hash_map.h"

struct dump_live {
	const char *session;
	uint64_t number; /* of the file that was given last; 0: none */
	uint64_t files;  /* that were given */
	unsigned gone;   /* of them, the last ones, which were gone when they were to be opened */
	uint64_t missed; /* events that were gone before they were read, so far */
	/* Events of processes that the file before and this one have: the next one has some of them again. */
	struct common_hash_map before, seen;
};

/*
 * The file that the session writes now, or, the next times, the one behind the last one, in fresh memory. *path is NULL where there
 * is none any more: the session is over, or has one file. PTL_NOT_FOUND: there is no such session; PTL_MISUSE, PTL_SYSTEM, PTL_NO_MEMORY.
 */
int dump_live_next(struct dump_live *live, char **path);
void dump_live_free(struct dump_live *live);

/* Whether the event is in a file that was read before: 1 or 0. PTL_NO_MEMORY. */
int dump_live_is_repeated(struct dump_live *live, const struct ptl_event *event);

#endif
