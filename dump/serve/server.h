/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves a trace: answers requests of JSON-RPC 2.0 as the Model Context Protocol (revision 2025-06-18) has them, a
 * message a line, until the client closes its end.
 */
#ifndef DUMP_SERVE_SERVER_H
#define DUMP_SERVE_SERVER_H

#include "dump/serve/tool.h"

#define DUMP_SERVE_PROTOCOL "2025-06-18"

struct dump_serve_server {
	struct dump_run *run; /* writes answers to run->out */
	struct dump_prepared *prepared;
	const struct dump_serve_tool *tools;
	uint64_t timeout; /* nanoseconds of a call */
	int requests;     /* descriptor */
};

/* Returns 0 at the end of requests; PTL_CANCELLED if the client has gone; PTL_SYSTEM, PTL_NO_MEMORY. */
int dump_serve(const struct dump_serve_server *server);

#endif
