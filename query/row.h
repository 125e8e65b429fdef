/* SPDX-License-Identifier: BSD-2-Clause */
/* --where and --calls for calls and blocks: expressions of ptl-rules(5), and conditions, on the fields of a table. */
#ifndef QUERY_ROW_H
#define QUERY_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/text/string_list.h"
#include "query/condition.h"
#include "query/files.h"

enum query_row_kind {
	QUERY_ROW_TEXT,
	QUERY_ROW_FUNCTION, /* text: a function's name, which ==, != and ~ compare as in query/function_name.h */
	QUERY_ROW_NUMBER,
	QUERY_ROW_DURATION, /* nanoseconds; conditions may have units */
	QUERY_ROW_VALUE,    /* an event's value: a text, or a number with an optional name as text */
};

/* A field of the table. The table ends with a NULL name; the index is the position. */
struct query_row_field {
	const char *name;
	enum query_row_kind kind;
	bool varies; /* differs between executions of the same code */
};

/* The name of an event's value, which the table lacks. */
struct query_row_value {
	const char *name;
	struct query_place at;
};

/* Zero-initialised matches all rows. Constant once made; several threads may use it. */
struct query_row {
	struct common_arena arena;
	struct query_expr *expr; /* NULL: all rows match */
	struct query_fields fields;
	struct query_conditions conditions;
	const struct query_row_field *table;
	const char *option; /* name for messages; NULL: --where */
	unsigned *of_field; /* index in the table, by field and by condition of the expression */
	unsigned *of_condition;
	/* set by the caller: unknown names become `values`; index of a value: table_count + its position */
	bool takes_values;
	struct query_row_value *values; /* in the arena */
	unsigned value_count, table_count;
	bool varies;   /* the expression uses a field that varies */
	uint64_t used; /* bit i: the expression uses field i of the table, of the first 64 */
};

/* Makes a query that requires all texts. Returns PTL_MISUSE with a text that shows the position; PTL_NO_MEMORY. */
int query_row_make(struct query_row *query, const struct query_row_field *table,
		   const struct common_string_list *texts);
void query_row_free(struct query_row *query);

/*
 * Returns PTL_MISUSE with a text: neither the table nor an event has the name. The text proposes names of the table and of
 * `values`.
 */
int query_row_refuse_value(const struct query_row *query, unsigned value, const struct common_string_list *values);

/* Evaluates a query, in one thread at a time. Zero-initialise all members except the first three. */
struct query_row_asker {
	const struct query_row *query;
	/*
	 * Returns a field's value; NONE: unknown. A text must be zero-terminated, and live until query_row_matches
	 * returns.
	 */
	void (*get)(void *context, unsigned field, struct query_value *value);
	void *context;

	struct common_arena scratch;
	struct query_files files;
	uint64_t failures; /* rows for which the expression failed; such rows do not match */
	char *failure;     /* text of the first failure; owned */
};

/* Whether the row matches. A condition on an unknown field is false, and so is its negation. */
bool query_row_matches(struct query_row_asker *asker);
/* Frees the asker, and warns of failures. */
void query_row_asker_end(struct query_row_asker *asker);

#endif
