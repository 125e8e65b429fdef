/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the words that exist was meant by one that does not. */
#ifndef COMMON_TEXT_NEAREST_H
#define COMMON_TEXT_NEAREST_H

#include <stddef.h>

/* The best so far. Zero-initialised but for the word. */
struct common_nearest {
	const char *word; /* what the user wrote */
	const char *best; /* the nearest one that is near enough; NULL: there is none */
	size_t least;     /* how many letters it takes to make it of the other */
	char question[64];
};

/*
 * Looks at one that exists, which has to live as long as the result is used. Near enough is one that takes at most
 * two letters added, removed, changed or swapped with the next one, and no more than half of the word; words beyond 32 letters never are.
 */
void common_nearest_look(struct common_nearest *nearest, const char *known);

/* " (did you mean 'BEST'?)", to go behind the word in a message; "" where none is near. It lives in *nearest. */
const char *common_nearest_question(struct common_nearest *nearest);

#endif
