/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of rule files and expressions: man/ptl-rules.5, WORDS. */
#ifndef QUERY_LEXER_H
#define QUERY_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"

/* A position in a text. Both count from 1; columns count characters. */
struct query_place {
	uint32_t line;
	uint32_t column;
};

/* Returns PTL_CORRUPT with a text for a place in a file. */
int query_fail_at(const char *name, struct query_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

enum query_token_kind {
	QUERY_TOKEN_END,
	QUERY_TOKEN_NAME,   /* may be a keyword unless quoted */
	QUERY_TOKEN_NUMBER, /* a whole number; nanoseconds with a unit of time */
	QUERY_TOKEN_REAL,
	QUERY_TOKEN_STRING,
	QUERY_TOKEN_SYMBOL,
	QUERY_TOKEN_WRONG, /* bytes that are no token; used if conditions are allowed, which may begin with any byte */
};

struct query_token {
	enum query_token_kind kind;
	struct query_place at;
	bool quoted;      /* the name has back quotes */
	const char *text; /* NAME, STRING: without quotes, zero-terminated, in the arena; SYMBOL: static text */
	size_t size;      /* size of text */
	uint64_t number;
	double real;
	const char *source; /* token as in the file, for messages */
	size_t source_size;
};

struct query_lexer {
	const char *name; /* file name for messages */
	const char *text;
	size_t size;
	size_t at;
	struct query_place place;
	struct common_arena *arena;
	bool without_comments;
	const char *end; /* description of the end in messages; NULL: "the end of the file" */
};

/*
 * Reads the next token. Returns PTL_CORRUPT with "FILE:LINE:COLUMN: expected ..., found ..." for bytes that are no
 * token; PTL_NO_MEMORY.
 */
int query_next_token(struct query_lexer *lexer, struct query_token *token);
/* Moves the lexer to `bytes` bytes behind the start of a token. */
void query_move(struct query_lexer *lexer, const struct query_token *from, size_t bytes);

/* Maximum bytes of a token in a message. */
#define QUERY_SHOWN_MAX 32
/* Formats a token for a message: "'word'", truncated, without control characters; or the description of the end. */
const char *query_token_shown(const struct query_lexer *lexer, const struct query_token *token,
			      char shown[QUERY_SHOWN_MAX + 8]);

#endif
