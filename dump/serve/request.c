/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/request.h"

#include <string.h>

#include "common/error.h"

static int fail_request(int error, const char *text)
{
	(void)common_fail(PTL_CORRUPT, "%s", text);
	return error;
}

/* An id is a string or an integer. */
static int read_id(const struct common_json_value *id, struct dump_serve_request *request)
{
	if (!id)
		return 0;
	if (id->kind != COMMON_JSON_STRING && !common_json_is_integer(id))
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "id: expected a string or an integer");
	if (id->raw_size > DUMP_SERVE_ID_MAX)
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "id: too long");
	request->id = id->raw;
	request->id_size = id->raw_size;
	return 0;
}

static int read_params(const struct common_json_value *params, struct dump_serve_request *request)
{
	if (params && params->kind != COMMON_JSON_OBJECT)
		return fail_request(DUMP_SERVE_INVALID_PARAMS, "params: expected an object");
	request->params = params;
	return 0;
}

static int read_message(const struct common_json_value *message, struct dump_serve_request *request)
{
	const struct common_json_value *method = common_json_member(message, "method");
	int error;

	if (message->kind == COMMON_JSON_ARRAY)
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "a batch: send one message a line");
	if (message->kind != COMMON_JSON_OBJECT)
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "expected an object");
	error = read_id(common_json_member(message, "id"), request);
	if (error)
		return error;
	if (!common_json_is(common_json_member(message, "jsonrpc"), "2.0"))
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "jsonrpc: expected \"2.0\"");
	if (!method && (common_json_member(message, "result") || common_json_member(message, "error")))
		return 0;
	if (!method || method->kind != COMMON_JSON_STRING)
		return fail_request(DUMP_SERVE_INVALID_REQUEST, "method: expected a string");
	if (strlen(method->text) != method->size)
		return fail_request(DUMP_SERVE_UNKNOWN_METHOD, "method: there is none with a zero");
	request->method = method->text;
	return read_params(common_json_member(message, "params"), request);
}

int dump_serve_request_read(const char *line, size_t size, struct common_arena *arena,
			    struct dump_serve_request *request)
{
	struct common_json_value *message;
	const int status = common_json_read(line, size, arena, &message);

	*request = (struct dump_serve_request){0};
	if (status)
		return status == PTL_NO_MEMORY ? DUMP_SERVE_INTERNAL_ERROR : DUMP_SERVE_PARSE_ERROR;
	return read_message(message, request);
}
