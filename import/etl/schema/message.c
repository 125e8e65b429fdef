/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts messages of manifests: FormatMessage's placeholders become placeholders of the trace. */
#include "import/etl/schema/message.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 1000u

/*
 * Converts a placeholder: %1 or %1!s! is the first field. Returns the position behind the placeholder; NULL: no
 * placeholder.
 */
static const char *take_place(const char *text, struct ptl_bytes *out)
{
	char number[12];
	unsigned long field;
	char *rest;

	if (!isdigit((unsigned char)*text))
		return NULL;
	field = strtoul(text, &rest, 10);
	if (!field || field > NUMBER_MAX)
		return NULL;
	if (*rest == '!' && strchr(rest + 1, '!'))
		rest = strchr(rest + 1, '!') + 1;
	common_write_bytes(out, number, (size_t)snprintf(number, sizeof(number), "{%lu}", field - 1));
	return rest;
}

const char *etl_message(struct etl_schema *schema, const char *text)
{
	struct ptl_bytes out = {0};
	const char *made;

	while (*text) {
		const char *next = *text == '%' ? take_place(text + 1, &out) : NULL;

		if (next) {
			text = next;
			continue;
		}
		if (*text == '%' && (text[1] == 'n' || text[1] == 'r' || text[1] == 't')) {
			common_write_bytes(&out, " ", 1);
			text += 2;
			continue;
		}
		if (*text == '%' && text[1])
			text++;
		if (*text == '{' || *text == '}')
			common_write_bytes(&out, text, 1);
		common_write_bytes(&out, text++, 1);
	}
	made = out.failed ? NULL : etl_schema_text(schema, out.data ? (const char *)out.data : "", out.size);
	common_bytes_free(&out);
	return made;
}

const char *etl_event_name(struct etl_schema *schema)
{
	const struct ptl_schema *names = &schema->ptl;
	struct ptl_bytes out = {0};
	const char *made;

	common_write_bytes(&out, names->task_name, strlen(names->task_name));
	if (*names->opcode_name && strcmp(names->opcode_name, "Info") != 0) {
		common_write_bytes(&out, "/", 1);
		common_write_bytes(&out, names->opcode_name, strlen(names->opcode_name));
	}
	made = out.failed ? NULL : etl_schema_text(schema, out.data ? (const char *)out.data : "", out.size);
	common_bytes_free(&out);
	return made;
}
