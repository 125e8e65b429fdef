/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/nearest.h"

#include <string.h>

#define WORD_MAX 32
#define NEAR 2

/* Levenshtein's distance. */
static size_t distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; i < a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			const size_t changed = diagonal + (a[i] != b[j]);
			const size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];

			diagonal = row[j + 1];
			row[j + 1] = changed < shorter + 1 ? changed : shorter + 1;
		}
	}
	return row[b_length];
}

void common_nearest_look(struct common_nearest *nearest, const char *known)
{
	const size_t length = strlen(nearest->word), other = strlen(known);
	size_t distance;

	if (length > WORD_MAX || other > WORD_MAX)
		return;
	distance = distance_of(nearest->word, length, known, other);
	if (distance > NEAR || distance * 2 > length || (nearest->best && distance >= nearest->least))
		return;
	nearest->best = known;
	nearest->least = distance;
}
