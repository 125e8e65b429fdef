/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in expressions: functions, quantifiers, members of event headers. */
#include "query/expression.h"

#include <string.h>

const char *const query_header_names[QUERY_HEADERS] = {
	"provider", "id",  "version", "channel",  "level",   "opcode",  "task", "keyword", "pid",
	"tid",      "cpu", "time",    "activity", "related", "process", "path", "size",
};

const struct query_function_form query_function_forms[QUERY_FUNCTIONS] = {
	[QUERY_HAS] = {"has", 1},         [QUERY_STR] = {"str", 1},         [QUERY_HEX] = {"hex", 1},
	[QUERY_LEN] = {"len", 1},         [QUERY_LOWER] = {"lower", 1},     [QUERY_BASENAME] = {"basename", 1},
	[QUERY_DIRNAME] = {"dirname", 1}, [QUERY_REPLACE] = {"replace", 3}, [QUERY_GUID] = {"guid", 1},
	[QUERY_U8] = {"u8", 2},           [QUERY_U16] = {"u16", 2},         [QUERY_U32] = {"u32", 2},
	[QUERY_U64] = {"u64", 2},
};

const char *const query_quantifier_names[QUERY_QUANTIFIERS] = {"any", "all", "count"};

bool query_is_function(const char *name, size_t size)
{
	for (size_t i = 0; i < QUERY_FUNCTIONS + QUERY_QUANTIFIERS; i++) {
		const char *known = i < QUERY_QUANTIFIERS ? query_quantifier_names[i]
							  : query_function_forms[i - QUERY_QUANTIFIERS].name;

		if (strlen(known) == size && !memcmp(known, name, size))
			return true;
	}
	return false;
}
