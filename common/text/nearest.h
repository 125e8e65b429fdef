/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the known word that a user most likely meant by an unknown word. */
#ifndef COMMON_TEXT_NEAREST_H
#define COMMON_TEXT_NEAREST_H

#include <stddef.h>

#define COMMON_DISTANCE_MAX 127 /* longest word of common_word_distance, in bytes */

/*
 * Returns how many edits lead from one word to the other: a letter added, removed, changed or swapped with its
 * neighbour. Both words have at most COMMON_DISTANCE_MAX bytes.
 */
size_t common_word_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* State of a search. Set `word`; zero-initialise the rest. */
struct common_nearest {
	const char *word; /* word that the user wrote */
	const char *best; /* nearest known word that is near enough; NULL: no known word is */
	size_t least;     /* edits between `word` and `best` */
	char question[64];
};

/*
 * Compares a known word, which must outlive the use of the result. A word is near enough if at most two edits, and
 * no more than half of the letters, lead to the known word. Words of more than 32 letters never are.
 */
void common_nearest_look(struct common_nearest *nearest, const char *known);

/*
 * Returns " (did you mean 'BEST'?)" to append to the word in a message; "" without a near word. The text is stored in
 * *nearest.
 */
const char *common_nearest_question(struct common_nearest *nearest);

#endif
