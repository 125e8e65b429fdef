/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial results of commands: what one shard of a command's work came to, and all shards together again. */
#ifndef DUMP_PARTIAL_PARTIAL_H
#define DUMP_PARTIAL_PARTIAL_H

#include <ptl/guid.h>
#include <ptl/reader.h>

#include "common/bytes.h"
#include "dump/partial/partial_file.h"
#include "flow/view/shard.h"

#define DUMP_PARTIAL_SHARDS_MAX 1000000
#define DUMP_PARTIAL_FILES_MAX 100000 /* traces that one command looks at */

/* "3/64": PTL_MISUSE with a text that says what was expected. */
int dump_shard_parse(const char *text, uint32_t *number, uint32_t *count);

/* Which file a trace is: a copy is the same. */
struct dump_trace_id {
	struct ptl_guid guid;
	int64_t wall_time;
	uint64_t size;
};

struct dump_trace_id dump_trace_id_of(const struct ptl_trace *trace);
bool dump_trace_id_equal(const struct dump_trace_id *a, const struct dump_trace_id *b);

/* What is the same in all shards of one piece of work, and which of them this is. Strings are owned. */
struct dump_description {
	char *version; /* of ptl-dump */
	char *command;
	char *operand;  /* what stands before the FILEs; "": nothing */
	char **options; /* as "--name=value", in their order */
	size_t option_count;
	uint32_t number, count; /* the shard */
	char **paths;           /* the FILEs, as they were given */
	char **places;          /* the same, absolute */
	size_t path_count;
	struct dump_trace_id *traces; /* all that were opened, in order */
	size_t trace_count;
};

void dump_description_free(struct dump_description *description);

/* ---- one shard ------------------------------------------------------------------------------------ */

struct dump_partial_saver;

/*
 * Begins a file of partial results. operand may be NULL; options are zero-ended texts one after the other. The shard is to be handed to views.
 * PTL_SYSTEM, PTL_NO_MEMORY.
 */
int dump_partial_save_open(const char *path, const char *command, const char *operand, const struct ptl_bytes *options,
			   uint32_t number, uint32_t count, struct dump_partial_saver **saver);
/* One of the FILEs; and a trace that was opened. */
int dump_partial_save_path(struct dump_partial_saver *saver, const char *path);
int dump_partial_save_trace(struct dump_partial_saver *saver, const struct ptl_trace *trace);
/* What could not be read of it so far. */
int dump_partial_save_damage(struct dump_partial_saver *saver, const struct ptl_trace *trace);
const struct flow_shard *dump_partial_save_shard(const struct dump_partial_saver *saver);
/* The file is complete, and gets its name. */
int dump_partial_save_commit(struct dump_partial_saver *saver);
void dump_partial_save_close(struct dump_partial_saver *saver);

/* ---- all shards ----------------------------------------------------------------------------------- */

struct dump_partial_set;

/*
 * Opens all files, and sees that they are the shards of one piece of work, each once: the same program, command and options;
 * of the same traces or, if adds_traces says so of the command, complete for each of several. PTL_MISUSE, with a text that
 * names the files, where they are not; what dump_partial_reader_open returns.
 */
int dump_partial_set_open(char *const *paths, size_t count, bool (*adds_traces)(const char *command),
			  struct dump_partial_set **set);
void dump_partial_set_close(struct dump_partial_set *set);
/* The command and its options; and the FILEs of all its traces, in one order whatever that of the shards was. */
const struct dump_description *dump_partial_set_description(const struct dump_partial_set *set);
size_t dump_partial_set_path_count(const struct dump_partial_set *set);
/* As it was given; and where it was then. */
const char *dump_partial_set_path(const struct dump_partial_set *set, size_t i);
const char *dump_partial_set_place(const struct dump_partial_set *set, size_t i);
/* A trace has been opened: PTL_MISUSE where it is not the next one of those that the shards are of. */
int dump_partial_set_trace(struct dump_partial_set *set, const struct ptl_trace *trace, const char *path);
/* To be handed to views. */
const struct flow_shard *dump_partial_set_shard(const struct dump_partial_set *set);

/* What a shard could not read. */
struct dump_partial_damage {
	struct dump_trace_id trace;
	uint64_t offset;
	char *text;
};

/* All that shards could not read, each once, by offset. Lives as long as the set. */
const struct dump_partial_damage *dump_partial_set_damage(const struct dump_partial_set *set, size_t *count);

#endif
