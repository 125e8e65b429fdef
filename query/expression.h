/* SPDX-License-Identifier: BSD-2-Clause */
/* An expression as a tree, and the fields that it names: man/ptl-rules.5, EXPRESSIONS. Everything is in one arena. */
#ifndef QUERY_EXPRESSION_H
#define QUERY_EXPRESSION_H

#include "query/lexer.h"

#define QUERY_STATEMENTS_MAX 65536u   /* statements, actions, fields and operators of a file */
#define QUERY_DEPTH_MAX 64u           /* nesting of expressions */
#define QUERY_LOOPS_MAX 4u            /* loops in loops */
#define QUERY_LOOP_STEPS_MAX 1048576u /* that the loops of a rule take together, for one event */
#define QUERY_CHAIN_MAX 1000u         /* depth of their trees: a + b + c is one of 2 */

/* 128 bits: sums and products of 64-bit numbers are exact. */
typedef __int128 query_number;

enum query_op {
	QUERY_NUMBER,
	QUERY_REAL,
	QUERY_TEXT,
	QUERY_BOOL,
	QUERY_FIELD,     /* index: of the fields that the expression is read with */
	QUERY_HEADER,    /* index: enum query_header */
	QUERY_PID,       /* of the process an image statement is applied to */
	QUERY_CALL,      /* index: enum query_function */
	QUERY_LOOP,      /* the number of the element that a loop is at */
	QUERY_CONDITION, /* index: of the conditions that the expression is read with */
	QUERY_ANY,       /* of an array's elements: its loop has the array; argument 0: what is asked of each */
	QUERY_ALL,
	QUERY_COUNT,
	QUERY_NOT,
	QUERY_NEGATE,
	QUERY_COMPLEMENT,
	QUERY_OR,
	QUERY_AND,
	QUERY_EQUAL,
	QUERY_UNEQUAL,
	QUERY_LESS,
	QUERY_LESS_EQUAL,
	QUERY_GREATER,
	QUERY_GREATER_EQUAL,
	QUERY_LIKE,
	QUERY_ADD,
	QUERY_SUBTRACT,
	QUERY_BIT_OR,
	QUERY_BIT_XOR,
	QUERY_MULTIPLY,
	QUERY_DIVIDE,
	QUERY_REMAINDER,
	QUERY_BIT_AND,
	QUERY_SHIFT_LEFT,
	QUERY_SHIFT_RIGHT,
};

/* event.NAME, in this order in query_header_names; those from PROCESS on cannot be set. */
enum query_header {
	QUERY_HEADER_PROVIDER,
	QUERY_HEADER_ID,
	QUERY_HEADER_VERSION,
	QUERY_HEADER_CHANNEL,
	QUERY_HEADER_LEVEL,
	QUERY_HEADER_OPCODE,
	QUERY_HEADER_TASK,
	QUERY_HEADER_KEYWORD,
	QUERY_HEADER_PID,
	QUERY_HEADER_TID,
	QUERY_HEADER_CPU,
	QUERY_HEADER_TIME,
	QUERY_HEADER_ACTIVITY,
	QUERY_HEADER_RELATED,
	QUERY_HEADER_PROCESS,
	QUERY_HEADER_PATH,
	QUERY_HEADER_SIZE,
	QUERY_HEADERS,
};
extern const char *const query_header_names[QUERY_HEADERS];

enum query_function {
	QUERY_HAS,
	QUERY_STR,
	QUERY_HEX,
	QUERY_LEN,
	QUERY_LOWER,
	QUERY_BASENAME,
	QUERY_DIRNAME,
	QUERY_REPLACE,
	QUERY_GUID,
	QUERY_U8,
	QUERY_U16,
	QUERY_U32,
	QUERY_U64,
	QUERY_FUNCTIONS,
};

#define QUERY_ARGUMENTS_MAX 3

/* A loop over an array. */
struct query_loop {
	struct query_place at;
	unsigned slot;  /* which of the loops around each other */
	unsigned array; /* index: of the fields */
};

struct query_expr {
	enum query_op op;
	struct query_place at;
	unsigned index;
	unsigned depth; /* of the tree below it */
	bool truth;     /* BOOL */
	query_number number;
	double real;
	const char *text;
	size_t text_size;
	struct query_loop loop;                           /* ANY, ALL, COUNT; LOOP: its slot */
	struct query_expr *argument[QUERY_ARGUMENTS_MAX]; /* operands, too */
};

/* One step of a field's name: a member, or an element. */
struct query_step {
	const char *name; /* NULL: the element `index` of what the step before names */
	uint32_t index;
	unsigned loop; /* instead of index: the slot of a loop plus one; 0: none */
};

struct query_field {
	struct query_place at;
	const char *text; /* as written */
	const struct query_step *steps;
	size_t step_count;
	bool condition; /* a condition names it outside of has(): a rule does not match without it */
	bool whole;     /* an array without an element may stand here */
};

/* The fields that expressions name, each once: their index stands in the trees. */
struct query_fields {
	struct query_field *list;
	size_t count, room;
};

#endif
