/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace lacks, and the ids of its processes and threads, as JSON. */
#ifndef DUMP_PRINT_TRACE_JSON_H
#define DUMP_PRINT_TRACE_JSON_H

#include "dump/session/command.h"

/* A process, thread, CPU or stream; the member is left out where it is PTL_NO_ID. */
void dump_json_id(struct common_json *json, const char *key, uint32_t id);
/* The same, null where it is PTL_NO_ID: for elements of an array, and members that are always there. */
void dump_json_id_or_null(struct common_json *json, const char *key, uint32_t id);
/* A hash or a build id, in hexadecimal digits; null where size is 0. */
void dump_json_bytes(struct common_json *json, const char *key, const uint8_t *bytes, size_t size);

/* Whether an object whose texts have so many bytes in all is still wanted. */
struct dump_json_room {
	bool (*has)(void *context, size_t bytes);
	void *context;
};

/*
 * Arrays "losses" and "damage" of the session's trace, to json_out. room: NULL for all. They return how many were left out for
 * want of room.
 */
uint64_t dump_json_losses(struct dump_session *session, const struct dump_json_room *room);
uint64_t dump_json_damage(struct dump_session *session, const struct dump_json_room *room);

#endif
