/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a session that ended when nobody waited for its end: a file beside the sockets, until a session of its name
 * begins or stop has said it. There are at most as many as there can be sessions.
 */
#ifndef RECORD_CONTROL_ENDED_H
#define RECORD_CONTROL_ENDED_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_ENDED_MAX 12288u /* bytes of such a file; a path has at most 4096 */

struct record_ended {
	int64_t time; /* nanoseconds since 1970 */
	const char *why;
	const char *file;     /* absolute; "": there is none */
	const char *messages; /* what the recorder said, lines */
};

/* Where it cannot be written, nothing says that the session was there. */
void record_ended_write(int folder, const char *name, const struct record_ended *ended);
/* The texts are in `memory`. PTL_NOT_FOUND: there is none, or none that makes sense. */
int record_ended_read(int folder, const char *name, struct record_ended *ended, char memory[RECORD_ENDED_MAX]);
void record_ended_forget(int folder, const char *name);
/* Calls visit with the name of each, by name, until it fails. */
int record_ended_list(int folder, int (*visit)(void *context, const char *name), void *context);

#endif
