/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses, damage and ids of a trace as JSON. */
#ifndef DUMP_PRINT_TRACE_JSON_H
#define DUMP_PRINT_TRACE_JSON_H

#include "dump/run/command.h"

/* Adds the id of a process, thread, CPU or stream; no member for PTL_NO_ID. */
void dump_json_id(struct common_json *json, const char *key, uint32_t id);
/* As dump_json_id, with null for PTL_NO_ID: for array elements and mandatory members. */
void dump_json_id_or_null(struct common_json *json, const char *key, uint32_t id);
/* Adds a hash or build id as hexadecimal text; null if size is 0. */
void dump_json_bytes(struct common_json *json, const char *key, const uint8_t *bytes, size_t size);

/* Limits output: `has` tells whether an object with texts of so many bytes still fits. */
struct dump_json_room {
	bool (*has)(void *context, size_t bytes);
	void *context;
};

/*
 * Add the arrays "losses" and "damage" of the run's trace to json_out. room: NULL for no limit. Return how many
 * objects did not fit.
 */
uint64_t dump_json_losses(struct dump_run *run, const struct dump_json_room *room);
uint64_t dump_json_damage(struct dump_run *run, const struct dump_json_room *room);

#endif
