/* SPDX-License-Identifier: BSD-2-Clause */
/* What calls and blocks are asked by --where: expressions of ptl-rules(5), and conditions, on fields that a table names. */
#ifndef QUERY_ROW_H
#define QUERY_ROW_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/text/string_list.h"
#include "query/condition.h"
#include "query/files.h"

enum query_row_kind {
	QUERY_ROW_TEXT,
	QUERY_ROW_NUMBER,
	QUERY_ROW_DURATION, /* nanoseconds; conditions may have units */
};

/* Ends with a NULL name. The index of a field is its place. */
struct query_row_field {
	const char *name;
	enum query_row_kind kind;
	bool varies; /* not the same each time the same code is executed */
};

/* Zero-initialised asks nothing. Once made it does not change, and may be used by several threads. */
struct query_row {
	struct common_arena arena;
	struct query_expr *expr; /* NULL: nothing is asked */
	struct query_fields fields;
	struct query_conditions conditions;
	const struct query_row_field *table;
	unsigned *of_field; /* index in the table, by field and by condition of the expression */
	unsigned *of_condition;
	bool varies; /* what is asked does */
};

/* All of the texts have to hold. PTL_MISUSE with a text that shows the place; PTL_NO_MEMORY. */
int query_row_make(struct query_row *query, const struct query_row_field *table,
		   const struct common_string_list *texts);
void query_row_free(struct query_row *query);

/* Asks. For one thread at a time; zero-initialised but for the first three. */
struct query_row_asker {
	const struct query_row *query;
	/* Text has to live until the question is answered, and ends with a zero byte. NONE: it is not known. */
	void (*get)(void *context, unsigned field, struct query_value *value);
	void *context;

	struct common_arena scratch;
	struct query_files files;
	uint64_t failures; /* rows that the expression cannot be computed of: they will not do */
	char *failure;     /* why, of the first; owned */
};

/* Whether what `get` tells will do. What is asked of a field that is not known is not so, nor is its opposite. */
bool query_row_matches(struct query_row_asker *asker);
/* Warns of failures. */
void query_row_asker_end(struct query_row_asker *asker);

#endif
