/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular expressions of redaction: POSIX extended expressions over bytes, with GNU's \w \W \s \S \b \B \< \>. Matching
 * follows all states in parallel: memory grows with the expression's size only, time with the sizes of expression and
 * text. regcomp(3) bounds neither: small expressions can take gigabytes and hours. PCRE2 does not bound time: its match
 * limit holds for each start and does not count loops over one byte, so "[a-z]+@[a-z]+" took 2, 7 and 29 s for 20, 40
 * and 80 kB of letters, below the limit. pcre2_dfa_match took 8 times as long.
 */
#ifndef RELOG_SETTINGS_PATTERN_H
#define RELOG_SETTINGS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum steps of an expression with its repetitions written out. A step costs some nanoseconds per byte of text. */
#define RELOG_PATTERN_MAX 2000u

enum relog_step_type {
	RELOG_STEP_SET,      /* matches a byte of a set */
	RELOG_STEP_SPLIT,    /* continues at both next and other */
	RELOG_STEP_START,    /* ^ */
	RELOG_STEP_END,      /* $ */
	RELOG_STEP_BOUNDARY, /* \b, or \B if inverse */
	RELOG_STEP_WORD,     /* \<, or \> if inverse */
	RELOG_STEP_MATCH,
};

struct relog_step {
	enum relog_step_type type;
	bool inverse;
	uint32_t set; /* index of the set */
	uint32_t next, other;
};

/* A set of bytes, one bit for each byte value. */
struct relog_byte_set {
	uint64_t bits[4];
};

struct relog_pattern {
	struct relog_step *steps; /* the first step is the start */
	size_t count;
	struct relog_byte_set *sets;
	size_t set_count;
	struct relog_byte_set first; /* bytes that can begin a match */
	struct relog_pattern_work *work;
};

/*
 * Compiles an expression. Returns PTL_MISUSE for an invalid or too large expression, with advice in the error text;
 * PTL_NO_MEMORY.
 */
int relog_pattern_compile(struct relog_pattern *pattern, const char *text);
void relog_pattern_free(struct relog_pattern *pattern);
/*
 * Finds the leftmost match at or behind `from`; of matches with the same start the longest. A match has at least one
 * byte. size: bytes of text. Two threads must not use a pattern at the same time.
 */
bool relog_pattern_find(const struct relog_pattern *pattern, const char *text, size_t size, size_t from, size_t *first,
			size_t *length);
/* Whether the pattern matches the empty text. */
bool relog_pattern_is_empty(const struct relog_pattern *pattern);

/* pattern_parse.c: fills steps and sets of the pattern. Returns as relog_pattern_compile. */
int relog_pattern_parse(struct relog_pattern *pattern, const char *text);

static inline bool relog_set_has(const struct relog_byte_set *set, uint8_t byte)
{
	return set->bits[byte / 64] >> (byte % 64) & 1;
}

#endif
