/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regular expressions of redaction: POSIX extended ones over bytes, with GNU's \w \W \s \S \b \B \< \>. All states are
 * followed at once, so that memory goes with the size of the expression alone, and time with that of expression and text.
 * regcomp(3) bounds neither: small expressions take gigabytes and hours.
 */
#ifndef RELOG_SETTINGS_PATTERN_H
#define RELOG_SETTINGS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps of an expression whose repetitions are written out: each costs some nanoseconds a byte of text. */
#define RELOG_PATTERN_MAX 2000u

enum relog_step_type {
	RELOG_STEP_SET,      /* one byte of a set */
	RELOG_STEP_SPLIT,    /* goes on at next and at other */
	RELOG_STEP_START,    /* ^ */
	RELOG_STEP_END,      /* $ */
	RELOG_STEP_BOUNDARY, /* \b, or \B if inverse */
	RELOG_STEP_WORD,     /* \<, or \> if inverse */
	RELOG_STEP_MATCH,
};

struct relog_step {
	enum relog_step_type type;
	bool inverse;
	uint32_t set; /* which one */
	uint32_t next, other;
};

/* Bytes, a bit each. */
struct relog_byte_set {
	uint64_t bits[4];
};

struct relog_pattern {
	struct relog_step *steps; /* begins at the first */
	size_t count;
	struct relog_byte_set *sets;
	size_t set_count;
	struct relog_byte_set first; /* bytes that a match may begin with */
	struct relog_pattern_work *work;
};

/* PTL_MISUSE says what is wrong with the expression, or too large about it, and what to write instead. PTL_NO_MEMORY. */
int relog_pattern_compile(struct relog_pattern *pattern, const char *text);
void relog_pattern_free(struct relog_pattern *pattern);
/*
 * The first match at or behind `from`, and of those that begin there the longest; one of no bytes is none. size counts
 * the bytes of text. Not for two threads at once.
 */
bool relog_pattern_find(const struct relog_pattern *pattern, const char *text, size_t size, size_t from, size_t *first,
			size_t *length);
/* Whether the empty text matches. */
bool relog_pattern_is_empty(const struct relog_pattern *pattern);

/* pattern_parse.c: fills steps and sets. As relog_pattern_compile. */
int relog_pattern_parse(struct relog_pattern *pattern, const char *text);

static inline bool relog_set_has(const struct relog_byte_set *set, uint8_t byte)
{
	return set->bits[byte / 64] >> (byte % 64) & 1;
}

#endif
