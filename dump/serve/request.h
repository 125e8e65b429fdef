/* SPDX-License-Identifier: BSD-2-Clause */
/* A message of a client: JSON-RPC 2.0, as the Model Context Protocol restricts it. */
#ifndef DUMP_SERVE_REQUEST_H
#define DUMP_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/text/json_read.h"

enum dump_serve_error {
	DUMP_SERVE_PARSE_ERROR = -32700,
	DUMP_SERVE_INVALID_REQUEST = -32600,
	DUMP_SERVE_UNKNOWN_METHOD = -32601,
	DUMP_SERVE_INVALID_PARAMS = -32602,
	DUMP_SERVE_INTERNAL_ERROR = -32603,
};

#define DUMP_SERVE_ID_MAX 1024u /* bytes of an id */

struct dump_serve_request {
	const char *method; /* NULL: no request, no answer (a response, which this server never asks for) */
	const char *id;     /* as written; NULL: a notification, which gets no answer */
	size_t id_size;
	const struct common_json_value *params; /* an object; NULL: none */
};

/*
 * Reads a message. The request lives in the arena, and `line` must live as long. Returns 0, or an enum dump_serve_error,
 * whose text is ptl_error_text(); request->id is then the id for the answer, NULL: null.
 */
int dump_serve_request_read(const char *line, size_t size, struct common_arena *arena,
			    struct dump_serve_request *request);

#endif
