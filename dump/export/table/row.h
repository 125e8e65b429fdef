/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of what a trace has: their columns, once for all formats, and the rows of one trace. docs/tables.md. */
#ifndef DUMP_EXPORT_TABLE_ROW_H
#define DUMP_EXPORT_TABLE_ROW_H

#include "dump/session/command.h"
#include "flow/timeline/timeline.h"
#include "dump/print/payload.h"

struct dump_call_session;
struct dump_row_table;
struct dump_row_trace;

enum dump_row_type {
	DUMP_ROW_TEXT,
	DUMP_ROW_UNSIGNED,
	DUMP_ROW_SIGNED,
	DUMP_ROW_ADDRESS, /* unsigned, of 64 bits */
	DUMP_ROW_BOOLEAN,
	DUMP_ROW_WALL, /* nanoseconds since 1970 UTC */
	DUMP_ROW_JSON, /* text that is JSON */
};

struct dump_row_value {
	bool is_null;
	bool is_scratch;  /* the text is in the row's scratch, from number on */
	uint64_t number;  /* of signed ones in two's complement */
	const char *text; /* size bytes; need not end with a zero */
	size_t size;
};

/* What getters see: the trace, and the thing that the row is of. */
struct dump_row {
	const struct dump_row_trace *trace;
	const void *item;
	struct ptl_bytes scratch;
};

struct dump_row_column {
	const char *name;
	enum dump_row_type type;
	bool can_be_null;
	uint8_t left_out_of; /* DUMP_ROW_* below */
	void (*get)(struct dump_row *row, struct dump_row_value *value);
};

/* Formats in which a column is not: it says what another table says, or joins it with that. */
#define DUMP_ROW_NOT_FLAT 1u     /* rows that stand for themselves */
#define DUMP_ROW_NOT_DATABASE 2u /* tables beside each other */

#define DUMP_ROW_COLUMNS_MAX 40
#define DUMP_ROW_IDENTITY 8 /* columns of dump_row_identity */

/* The functions of calls, numbered as they come: their own numbers depend on which thread met them first. */
struct dump_row_symbols {
	struct common_hash_map numbers; /* of functions */
	uint32_t *functions;            /* by number; owned */
	size_t count;
};

/* One trace at work. */
struct dump_row_trace {
	struct dump_session *session;
	const struct flow_timeline *timeline;
	struct dump_call_session *calls; /* while there are calls */
	struct dump_row_symbols symbols;
	struct dump_values *values;        /* of events */
	struct common_byte_map *build_ids; /* path of an image: its index in the timeline */
	FILE *json_file;                   /* for columns of JSON: what is written there is in json_text */
	char **json_text;
	size_t *json_size;
	const char *labels; /* JSON: what the user says of these traces */
};

/* Takes rows: a file, a database. Returns 0 or a negative ptl_status. */
struct dump_row_sink {
	/* values: as many as the table has columns, those that are left out of the format too. */
	int (*row)(struct dump_row_sink *sink, const struct dump_row_table *table, const struct dump_row_value *values);
};

/* Rows on their way. */
struct dump_row_writer {
	struct dump_row_sink *sink;
	const struct dump_row_table *table;
	struct dump_row_trace *trace;
	struct dump_row row;
	uint64_t count;
	/* Of the trace, the same in all rows. */
	struct dump_row_value identity[DUMP_ROW_IDENTITY];
	struct ptl_bytes identity_text;
};

struct dump_row_table {
	const char *name;
	const struct dump_row_column *columns; /* its own, behind those of its trace */
	size_t column_count;
	const char *key;     /* columns that databases sort by: what rows are looked up with */
	unsigned takes_flow; /* the flow has to be decoded */
	/* All rows of the trace, which the writer has. */
	int (*rows)(struct dump_row_writer *writer, struct dump_row_trace *trace);
	const char *flat_key; /* the key of rows that stand for themselves; NULL: the same */
};

/* Writes a row of the item. */
int dump_row_write(struct dump_row_writer *writer, const void *item);

/* What says whose a row is: the trace, its machine; the number of the row comes last. Flat formats have it in each row. */
extern const struct dump_row_column dump_row_identity[DUMP_ROW_IDENTITY];

/* Column i of a row: first those of the identity, then the table's own. */
static inline const struct dump_row_column *dump_row_column(const struct dump_row_table *table, size_t i)
{
	return i < DUMP_ROW_IDENTITY ? &dump_row_identity[i] : &table->columns[i - DUMP_ROW_IDENTITY];
}

/* NULL-ended. */
extern const struct dump_row_table *const dump_row_tables[];
extern const struct dump_row_table dump_row_traces, dump_row_processes, dump_row_threads, dump_row_images,
	dump_row_events, dump_row_calls, dump_row_symbols, dump_row_gaps, dump_row_losses, dump_row_profile,
	dump_row_coverage;

/* Opens what rows of any table need, of the session's trace, and writes the rows of these tables. labels: a JSON object. */
int dump_row_run(struct dump_session *session, const struct dump_row_table *const *tables, size_t count,
		 const char *labels, struct dump_row_sink *sink);

/* ---- for getters --------------------------------------------------------------------------------- */

void dump_row_null(struct dump_row_value *value);
void dump_row_number(struct dump_row_value *value, uint64_t number);
void dump_row_text(struct dump_row_value *value, const char *text);
/* What was appended to the row's scratch since start. */
void dump_row_scratch(struct dump_row *row, struct dump_row_value *value, size_t start);
/* PTL_NO_ID is null. */
void dump_row_id(struct dump_row_value *value, uint32_t id);
/* A time of the trace's clock as nanoseconds since its start; 0 and FLOW_TIME_END are null. */
void dump_row_time(const struct dump_row *row, struct dump_row_value *value, uint64_t time);
void dump_row_wall(const struct dump_row *row, struct dump_row_value *value, uint64_t time);
/* Of an image of the timeline (FLOW_NONE: null), and of the first image of a path. */
void dump_row_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t image);
void dump_row_build_id_of(struct dump_row *row, struct dump_row_value *value, const char *path);
/* Of the program that a process ran at a time. */
void dump_row_program_build_id(struct dump_row *row, struct dump_row_value *value, uint32_t pid, uint64_t time);

#endif
