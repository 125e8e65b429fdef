/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing arrays. */
#include "common/vector.h"

size_t common_vector_capacity(size_t capacity, size_t wanted, size_t most)
{
	size_t room = capacity > most / 2 ? most : 2 * capacity;

	if (wanted > most)
		return 0;
	if (room < COMMON_VECTOR_FIRST)
		room = COMMON_VECTOR_FIRST < most ? COMMON_VECTOR_FIRST : most;
	return room < wanted ? wanted : room;
}

void *common_vector_resize(void *array, size_t element, size_t room)
{
	return room && room <= PTRDIFF_MAX / element ? realloc(array, room * element) : NULL;
}

int common_vector_fail(const char *what, size_t wanted, size_t element)
{
	return common_fail_memory(what, wanted > SIZE_MAX / element ? SIZE_MAX : wanted * element);
}

bool common_vector_extend(void *array, size_t count, size_t element)
{
	void **place = array, *grown;

	if (count > PTRDIFF_MAX / 2 / element)
		return false;
	grown = realloc(*place, (count + common_vector_step(count)) * element);
	if (grown)
		*place = grown;
	return grown;
}
