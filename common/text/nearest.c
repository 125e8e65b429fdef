/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/text/nearest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32
#define NEAR 2

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t common_word_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][COMMON_DISTANCE_MAX + 1];

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		const size_t *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = least_of(above[j - 1] + (a[i - 1] != b[j - 1]), least_of(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least_of(row[j], before[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void common_nearest_look(struct common_nearest *nearest, const char *known)
{
	const size_t length = strlen(nearest->word), other = strlen(known);
	size_t distance;

	if (length > WORD_MAX || other > WORD_MAX)
		return;
	distance = common_word_distance(nearest->word, length, known, other);
	if (distance > NEAR || distance * 2 > length || (nearest->best && distance >= nearest->least))
		return;
	nearest->best = known;
	nearest->least = distance;
}

const char *common_nearest_question(struct common_nearest *nearest)
{
	if (nearest->best)
		snprintf(nearest->question, sizeof(nearest->question), " (did you mean '%s'?)", nearest->best);
	return nearest->question;
}
