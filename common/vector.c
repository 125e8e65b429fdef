/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing arrays. */
#include "common/vector.h"

size_t common_vector_capacity(size_t capacity, size_t wanted)
{
	const size_t twice = capacity > SIZE_MAX / 2 ? SIZE_MAX : 2 * capacity;

	if (wanted <= capacity)
		return capacity;
	if (wanted < twice)
		wanted = twice;
	return wanted < COMMON_VECTOR_FIRST ? COMMON_VECTOR_FIRST : wanted;
}

void *common_vector_grow(void *array, size_t element, size_t *capacity, size_t wanted, size_t most)
{
	size_t room = common_vector_capacity(*capacity, wanted);
	void *grown = NULL;

	if (room > most)
		room = most;
	if (wanted <= room && room <= PTRDIFF_MAX / element)
		grown = realloc(array, room * element);
	if (grown)
		*capacity = room;
	return grown;
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
