/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of trace contents: their columns, shared by all formats, and the rows of one trace. See docs/tables.md. */
#ifndef DUMP_EXPORT_TABLE_ROW_H
#define DUMP_EXPORT_TABLE_ROW_H

#include "dump/print/payload.h"
#include "dump/run/command.h"
#include "flow/timeline/timeline.h"

struct analysis_calls;
struct dump_row_table;
struct dump_row_trace;

enum dump_row_type {
	DUMP_ROW_TEXT,
	DUMP_ROW_UNSIGNED,
	DUMP_ROW_SIGNED,
	DUMP_ROW_ADDRESS, /* unsigned, 64 bits */
	DUMP_ROW_BOOLEAN,
	DUMP_ROW_WALL, /* nanoseconds since 1970 UTC */
	DUMP_ROW_JSON, /* JSON text */
};

struct dump_row_value {
	bool is_null;
	bool is_scratch;  /* the text is in the row's scratch, at offset `number` */
	uint64_t number;  /* signed numbers in two's complement */
	const char *text; /* `size` bytes, not zero-terminated */
	size_t size;
};

/* Input of getters: the trace, and the item that the row describes. */
struct dump_row {
	const struct dump_row_trace *trace;
	const void *item;
	struct ptl_bytes scratch;
};

struct dump_row_column {
	const char *name;
	enum dump_row_type type;
	bool can_be_null;
	uint8_t left_out_of; /* combination of DUMP_ROW_NOT_* */
	void (*get)(struct dump_row *row, struct dump_row_value *value);
};

/* Formats that omit a column, since another table has its contents, or since it refers to another table. */
#define DUMP_ROW_NOT_FLAT 1u     /* formats with independent rows */
#define DUMP_ROW_NOT_DATABASE 2u /* databases, which have all tables */

#define DUMP_ROW_COLUMNS_MAX 40
#define DUMP_ROW_IDENTITY 8 /* number of columns in dump_row_identity */

/*
 * Functions of calls, numbered in order of output: their own numbers depend on the order in which threads found them.
 */
struct dump_row_symbols {
	struct common_hash_map numbers; /* number by function */
	uint32_t *functions;            /* by number; owned */
	size_t count;
};

/* The trace that is being written. */
struct dump_row_trace {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	struct analysis_calls *calls; /* only for tables of calls */
	struct dump_row_symbols symbols;
	struct analysis_values *values;    /* for events */
	struct common_byte_map *build_ids; /* by path of an image: index in the timeline */
	FILE *json_file;                   /* for JSON columns: writes to json_text */
	char **json_text;
	size_t *json_size;
	const char *labels; /* JSON: labels of these traces by the user */
};

/* A receiver of rows, as a file or a database. Returns 0 or a negative ptl_status. */
struct dump_row_sink {
	/* values: for all columns of the table, even columns that the format omits. */
	int (*row)(struct dump_row_sink *sink, const struct dump_row_table *table, const struct dump_row_value *values);
};

/* Writes the rows of one table. */
struct dump_row_writer {
	struct dump_row_sink *sink;
	const struct dump_row_table *table;
	struct dump_row_trace *trace;
	struct dump_row row;
	uint64_t count;
	/* Values of the trace, equal in all rows. */
	struct dump_row_value identity[DUMP_ROW_IDENTITY];
	struct ptl_bytes identity_text;
};

struct dump_row_table {
	const char *name;
	const struct dump_row_column *columns; /* own columns, after those of dump_row_identity */
	size_t column_count;
	const char *key;     /* columns by which databases sort, for lookups */
	unsigned takes_flow; /* rows require decoding the flow */
	/* Writes all rows of the trace. */
	int (*rows)(struct dump_row_writer *writer, struct dump_row_trace *trace);
	const char *flat_key; /* key for formats with independent rows; NULL: as `key` */
};

/* Writes the row of an item. */
int dump_row_write(struct dump_row_writer *writer, const void *item);

/* Columns that identify a row: trace, machine, ..., and the row number last. Flat formats repeat them in each row. */
extern const struct dump_row_column dump_row_identity[DUMP_ROW_IDENTITY];

/* Returns column i of a row: first the columns of the identity, then the table's own. */
static inline const struct dump_row_column *dump_row_column(const struct dump_row_table *table, size_t i)
{
	return i < DUMP_ROW_IDENTITY ? &dump_row_identity[i] : &table->columns[i - DUMP_ROW_IDENTITY];
}

/* NULL-terminated. */
extern const struct dump_row_table *const dump_row_tables[];
extern const struct dump_row_table dump_row_traces, dump_row_processes, dump_row_threads, dump_row_images,
	dump_row_events, dump_row_calls, dump_row_symbols, dump_row_gaps, dump_row_losses, dump_row_profile,
	dump_row_coverage;

/* Opens the data for the tables, and writes their rows for the run's trace. labels: a JSON object. */
int dump_row_run(struct dump_run *run, const struct dump_row_table *const *tables, size_t count, const char *labels,
		 struct dump_row_sink *sink);

/* ---- for getters --------------------------------------------------------------------------------- */

void dump_row_null(struct dump_row_value *value);
void dump_row_number(struct dump_row_value *value, uint64_t number);
void dump_row_text(struct dump_row_value *value, const char *text);
/* Sets the value to the text appended to row->scratch since `start`. */
void dump_row_scratch(struct dump_row *row, struct dump_row_value *value, size_t start);
/* Sets the value to an id; PTL_NO_ID becomes null. */
void dump_row_id(struct dump_row_value *value, uint32_t id);
/*
 * Sets the value to a time in nanoseconds since the start of the trace, or to a time of day. Times 0 and FLOW_TIME_END
 * become null.
 */
void dump_row_time(const struct dump_row *row, struct dump_row_value *value, uint64_t time);
void dump_row_wall(const struct dump_row *row, struct dump_row_value *value, uint64_t time);
/* Set the value to the build id of an image of the timeline (FLOW_NONE: null), or of the first image with a path. */
void dump_row_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t image);
void dump_row_build_id_of(struct dump_row *row, struct dump_row_value *value, const char *path);
/* Sets the value to the build id of a process's program at a time. */
void dump_row_program_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t pid, uint64_t time);

#endif
