/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of borrowed strings. */
#include "common/text/string_list.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

int common_string_list_add(struct common_string_list *strings, const char *text)
{
	if (!common_vector_room(&strings->list, strings->count, sizeof(*strings->list)))
		return common_fail_memory("list of names", (strings->count + 1) * sizeof(*strings->list));
	strings->list[strings->count++] = text;
	return 0;
}

void common_string_list_free(struct common_string_list *strings)
{
	free(strings->list);
	*strings = (struct common_string_list){NULL, 0};
}
