/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of rule files and expressions: man/ptl-rules.5, WORDS. */
#ifndef QUERY_LEXER_H
#define QUERY_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"

/* Where something stands; both count from 1, columns in characters. */
struct query_place {
	uint32_t line;
	uint32_t column;
};

enum query_token_kind {
	QUERY_TOKEN_END,
	QUERY_TOKEN_NAME,   /* may be a word of the language unless quoted */
	QUERY_TOKEN_NUMBER, /* whole; one with a unit of time is nanoseconds */
	QUERY_TOKEN_REAL,
	QUERY_TOKEN_STRING,
	QUERY_TOKEN_SYMBOL,
	QUERY_TOKEN_WRONG, /* bytes that are no word, where conditions may begin with any */
};

struct query_token {
	enum query_token_kind kind;
	struct query_place at;
	bool quoted;      /* a name in back quotes */
	const char *text; /* NAME, STRING: without quotes, zero-terminated, in the arena; SYMBOL */
	size_t size;      /* of text */
	uint64_t number;
	double real;
	const char *source; /* as it stands in the file, for messages */
	size_t source_size;
};

struct query_lexer {
	const char *name; /* of the file, for messages */
	const char *text;
	size_t size;
	size_t at;
	struct query_place place;
	struct common_arena *arena;
	bool without_comments;
	const char *end; /* what messages call the end; NULL: "the end of the file" */
};

/*
 * The next word. PTL_CORRUPT with "FILE:LINE:COLUMN: expected ..., found ..." for bytes that are no
 * word, PTL_NO_MEMORY.
 */
int query_next_token(struct query_lexer *lexer, struct query_token *token);
/* Goes to so many bytes behind where a word begins. */
void query_move(struct query_lexer *lexer, const struct query_token *from, size_t bytes);

/* Bytes of a word that a message repeats. */
#define QUERY_SHOWN_MAX 32
/* "'word'", cut and without control characters, or what the lexer calls the end. */
const char *query_token_shown(const struct query_lexer *lexer, const struct query_token *token,
			      char shown[QUERY_SHOWN_MAX + 8]);

#endif
