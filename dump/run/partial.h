/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial results of commands: the result of one shard of a command's work, and the set of all shards. */
#ifndef DUMP_RUN_PARTIAL_H
#define DUMP_RUN_PARTIAL_H

#include <ptl/guid.h>
#include <ptl/reader.h>

#include "common/bytes.h"
#include "dump/run/partial_file.h"
#include "flow/view/shard.h"

#define DUMP_PARTIAL_SHARDS_MAX 1000000
#define DUMP_PARTIAL_FILES_MAX 100000 /* traces of one command */

/* Parses "3/64". Returns PTL_MISUSE with a text that gives the expected form. */
int dump_shard_parse(const char *text, uint32_t *number, uint32_t *count);

/* Identity of a trace file; a copy of the file has the same identity. */
struct dump_trace_id {
	struct ptl_guid guid;
	int64_t wall_time;
	uint64_t size;
};

struct dump_trace_id dump_trace_id_of(const struct ptl_trace *trace);
bool dump_trace_id_equal(const struct dump_trace_id *a, const struct dump_trace_id *b);

/* Description of a shard: its number, and facts that are equal in all shards of one work. Owns its strings. */
struct dump_description {
	char *version; /* of ptl-dump */
	char *command;
	char *operand;  /* operand before the FILEs; "": none */
	char **options; /* as "--name=value", in the order given */
	size_t option_count;
	uint32_t number, count; /* number of the shard (from 1), count of shards */
	char **paths;           /* the FILEs, as given */
	char **places;          /* absolute paths of the FILEs */
	size_t path_count;
	struct dump_trace_id *traces; /* all traces that were opened, in order */
	size_t trace_count;
};

void dump_description_free(struct dump_description *description);

/* ---- one shard ------------------------------------------------------------------------------------ */

struct dump_partial_saver;

/*
 * Begins a file of partial results. operand may be NULL. options: zero-terminated texts, one after the other. The
 * caller hands dump_partial_save_shard() to its views. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_partial_save_open(const char *path, const char *command, const char *operand, const struct ptl_bytes *options,
			   uint32_t number, uint32_t count, struct dump_partial_saver **saver);
/* dump_partial_save_path records a FILE; dump_partial_save_trace records an opened trace. */
int dump_partial_save_path(struct dump_partial_saver *saver, const char *path);
int dump_partial_save_trace(struct dump_partial_saver *saver, const struct ptl_trace *trace);
/* Records the damage that was found in the trace so far. */
int dump_partial_save_damage(struct dump_partial_saver *saver, const struct ptl_trace *trace);
const struct flow_shard *dump_partial_save_shard(const struct dump_partial_saver *saver);
/* Completes the file, and renames it to its final path. */
int dump_partial_save_commit(struct dump_partial_saver *saver);
void dump_partial_save_close(struct dump_partial_saver *saver);

/* ---- all shards ----------------------------------------------------------------------------------- */

struct dump_partial_set;

/*
 * Opens all files, and checks that they are the shards of one work, each once: same program version, command and
 * options. The shards must have the same traces or, if adds_traces(command), form a complete set for each of several
 * traces.
 * Errors: PTL_MISUSE, with a text that names the files that do not match, or a status of dump_partial_reader_open.
 */
int dump_partial_set_open(char *const *paths, size_t count, bool (*adds_traces)(const char *command),
			  struct dump_partial_set **set);
void dump_partial_set_close(struct dump_partial_set *set);
/*
 * The command, its options, and the FILEs of all traces. The order of FILEs does not depend on the order of the shards.
 */
const struct dump_description *dump_partial_set_description(const struct dump_partial_set *set);
size_t dump_partial_set_path_count(const struct dump_partial_set *set);
/* The path of FILE i as given, and its absolute path at that time. */
const char *dump_partial_set_path(const struct dump_partial_set *set, size_t i);
const char *dump_partial_set_place(const struct dump_partial_set *set, size_t i);
/* Checks that the trace just opened is the next one the shards were made from; else PTL_MISUSE. */
int dump_partial_set_trace(struct dump_partial_set *set, const struct ptl_trace *trace, const char *path);
/* For struct flow_view_options. */
const struct flow_shard *dump_partial_set_shard(const struct dump_partial_set *set);

/* Damage of a trace that a shard found. */
struct dump_partial_damage {
	struct dump_trace_id trace;
	uint64_t offset;
	char *text;
};

/* All damage that shards found, without duplicates, sorted by trace and offset. Lives as long as the set. */
const struct dump_partial_damage *dump_partial_set_damage(const struct dump_partial_set *set, size_t *count);

#endif
