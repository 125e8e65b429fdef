/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a rule file: man/ptl-rules.5, WORDS. */
#ifndef RELOG_RULES_LEXER_H
#define RELOG_RULES_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relog/rules/arena.h"

/* Where something stands; both count from 1, columns in characters. */
struct rules_place {
	uint32_t line;
	uint32_t column;
};

enum rules_token_kind {
	RULES_TOKEN_END,
	RULES_TOKEN_NAME,   /* may be a word of the language unless quoted */
	RULES_TOKEN_NUMBER, /* whole; one with a unit of time is nanoseconds */
	RULES_TOKEN_REAL,
	RULES_TOKEN_STRING,
	RULES_TOKEN_SYMBOL,
};

struct rules_token {
	enum rules_token_kind kind;
	struct rules_place at;
	bool quoted;      /* a name in back quotes */
	const char *text; /* NAME, STRING: without quotes, zero-terminated, in the arena; SYMBOL */
	size_t size;      /* of text */
	uint64_t number;
	double real;
	const char *source; /* as it stands in the file, for messages */
	size_t source_size;
};

struct rules_lexer {
	const char *name; /* of the file, for messages */
	const char *text;
	size_t size;
	size_t at;
	struct rules_place place;
	struct rules_arena *arena;
};

/*
 * The next word. PTL_CORRUPT with "FILE:LINE:COLUMN: expected ..., found ..." for bytes that are no
 * word, PTL_NO_MEMORY.
 */
int rules_next_token(struct rules_lexer *lexer, struct rules_token *token);

/* Bytes of a word that a message repeats. */
#define RULES_SHOWN_MAX 32
/* "'word'", cut and without control characters, or "the end of the file". */
const char *rules_token_shown(const struct rules_token *token, char shown[RULES_SHOWN_MAX + 8]);

#endif
