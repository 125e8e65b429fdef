/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Syntax tree of an expression, and the fields that the expression names: man/ptl-rules.5, EXPRESSIONS. All nodes are
 * in one arena.
 */
#ifndef QUERY_EXPRESSION_H
#define QUERY_EXPRESSION_H

#include "query/lexer.h"

#define QUERY_STATEMENTS_MAX 65536u   /* statements, actions, fields and operators of a file */
#define QUERY_DEPTH_MAX 64u           /* nesting of expressions */
#define QUERY_LOOPS_MAX 4u            /* nesting of loops */
#define QUERY_LOOP_STEPS_MAX 1048576u /* limit for all loops of a rule, for an event */
#define QUERY_CHAIN_MAX 1000u         /* depth of the trees; a + b + c has depth 2 */

/* 128 bits, so that sums and products of 64-bit numbers are exact. */
typedef __int128 query_number;

enum query_op {
	QUERY_NUMBER,
	QUERY_REAL,
	QUERY_TEXT,
	QUERY_BOOL,
	QUERY_FIELD,     /* index: index in the parser's fields */
	QUERY_HEADER,    /* index: enum query_header */
	QUERY_PID,       /* pid of the process that an image statement is applied to */
	QUERY_CALL,      /* index: enum query_function */
	QUERY_LOOP,      /* index of a loop's current element */
	QUERY_CONDITION, /* index: index in the parser's conditions */
	QUERY_ANY,       /* over the array of its loop; argument 0: expression for each element */
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

/* event.NAME, in the order of query_header_names. From PROCESS on, names cannot be set. */
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

struct query_function_form {
	const char *name;
	uint8_t arguments; /* number of arguments */
};
extern const struct query_function_form query_function_forms[QUERY_FUNCTIONS];

#define QUERY_QUANTIFIERS 3
extern const char *const query_quantifier_names[QUERY_QUANTIFIERS]; /* in the order of QUERY_ANY */

/* Whether the name is a function's, or a quantifier: any, all, count. */
bool query_is_function(const char *name, size_t size);

#define QUERY_ARGUMENTS_MAX 3

/* A loop over an array. */
struct query_loop {
	struct query_place at;
	unsigned slot;  /* slot among nested loops */
	unsigned array; /* index in the fields */
};

struct query_expr {
	enum query_op op;
	struct query_place at;
	unsigned index;
	unsigned depth; /* depth of the tree below */
	bool truth;     /* BOOL */
	query_number number;
	double real;
	const char *text;
	size_t text_size;
	struct query_loop loop;                           /* ANY, ALL, COUNT; LOOP uses the slot */
	struct query_expr *argument[QUERY_ARGUMENTS_MAX]; /* arguments of a call, or operands */
};

/* A step of a field's path: a member, or an element. */
struct query_step {
	const char *name; /* NULL: element `index` of the array named by the previous step */
	uint32_t index;
	unsigned loop; /* slot of a loop plus one, instead of index; 0: no loop */
};

struct query_field {
	struct query_place at;
	const char *text; /* as written */
	const struct query_step *steps;
	size_t step_count;
	bool condition; /* used by a condition outside has(): a rule does not match events without this field */
	bool whole;     /* the field may be a whole array */
};

/* Fields that expressions name, without duplicates. Trees refer to fields by index. */
struct query_fields {
	struct query_field *list;
	size_t count;
};

#endif
