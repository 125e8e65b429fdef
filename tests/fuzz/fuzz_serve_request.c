/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes messages of a client of ptl-dump serve: the JSON reader, and the request in the text. A value that was read must
 * be within the text, and reading the value alone must give the same value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "dump/serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AGAIN_MAX 64 /* values of a text that are read again */

static void check_value(const char *text, size_t size, const struct common_json_value *value, unsigned depth,
			unsigned *again)
{
	struct common_arena arena = {0};
	struct common_json_value *alone;
	int64_t integer;

	if (value->raw < text || value->raw + value->raw_size > text + size || !value->raw_size ||
	    depth > COMMON_JSON_READ_DEPTH)
		abort();
	if ((value->kind == COMMON_JSON_STRING) != (value->text != NULL) || (value->text && value->text[value->size]) ||
	    (value->key && value->key[value->key_size]))
		abort();
	if (common_json_integer(value, &integer) && value->kind != COMMON_JSON_NUMBER)
		abort();
	if ((*again)++ < AGAIN_MAX) {
		if (common_json_read(value->raw, value->raw_size, &arena, &alone) || alone->kind != value->kind ||
		    alone->raw_size != value->raw_size || alone->size != value->size ||
		    (value->size && memcmp(alone->text, value->text, value->size) != 0))
			abort();
		common_arena_free(&arena);
	}
	for (const struct common_json_value *child = value->first; child; child = child->next)
		check_value(text, size, child, depth + 1, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_arena arena = {0};
	struct dump_serve_request request;
	struct common_json_value *value;
	char *text = malloc(size + 1);
	unsigned again = 0;
	int error;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	if (common_json_read(text, size, &arena, &value) == 0)
		check_value(text, size, value, 0, &again);
	common_arena_free(&arena);
	error = dump_serve_request_read(text, size, &arena, &request);
	if (!error && request.method && request.id &&
	    (request.id < text || request.id + request.id_size > text + size || request.id_size > DUMP_SERVE_ID_MAX ||
	     (*request.id != '"' && strspn(request.id, "-0123456789") < request.id_size)))
		abort();
	if (error && !*ptl_error_text())
		abort();
	ptl_error_clear();
	common_arena_free(&arena);
	free(text);
	return 0;
}
