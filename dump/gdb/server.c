/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to gdb. */
#include "dump/gdb/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "dump/gdb/file_request.h"
#include "dump/gdb/request.h"

/* A client that sends this number of damaged packets is not gdb. */
#define DAMAGED_MAX 100

/* gdb repeats a request without an answer after 2 seconds, which pass while the trace is decoded. A repetition has no reply of its own. */
static bool is_repetition(const struct dump_gdb_server *server)
{
	return server->request.size && server->request.size == server->parser.size &&
	       memcmp(server->request.data, server->parser.data, server->parser.size) == 0;
}

static int server_answer(struct dump_gdb_server *server, struct ptl_bytes *out)
{
	const bool acks = !server->no_acks;
	struct ptl_bytes reply = {0};

	if (acks)
		common_write_le(out, '+', 1);
	if (is_repetition(server))
		return 0;
	dump_gdb_request_answer(server, (const char *)server->parser.data, &reply);
	server->request.size = 0;
	if (!server->no_acks)
		common_write_bytes(&server->request, server->parser.data, server->parser.size);
	server->reply.size = 0;
	dump_gdb_packet_write(reply.data, reply.size, &server->reply);
	common_write_bytes(out, server->reply.data, server->reply.size);
	out->failed |= reply.failed || server->reply.failed || server->request.failed;
	common_bytes_free(&reply);
	return out->failed ? common_fail_memory("a reply", out->size) : 0;
}

int dump_gdb_server_take(struct dump_gdb_server *server, const uint8_t *bytes, size_t size, struct ptl_bytes *out)
{
	int status = 0;

	for (size_t at = 0; status == 0 && at < size && !server->ended;) {
		size_t used;

		switch (dump_gdb_parse(&server->parser, bytes + at, size - at, &used)) {
		case DUMP_GDB_PACKET:
			server->damaged = 0;
			status = server_answer(server, out);
			break;
		case DUMP_GDB_RESEND:
			common_write_bytes(out, server->reply.data, server->reply.size);
			break;
		case DUMP_GDB_RECEIVED:
			server->request.size = 0;
			break;
		case DUMP_GDB_DAMAGED:
			common_write_le(out, '-', 1);
			if (++server->damaged > DAMAGED_MAX)
				status = common_fail(PTL_CORRUPT, "the packets are not those of gdb");
			break;
		case DUMP_GDB_INTERRUPT: /* The program is always stopped. */
		case DUMP_GDB_NOTHING:
			break;
		}
		at += used;
	}
	return status;
}

int dump_gdb_server_run(struct dump_gdb_server *server, int in, int out)
{
	uint8_t bytes[4096];
	struct ptl_bytes replies = {0};
	int status = 0;

	while (status == 0 && !server->ended) {
		const ssize_t count = read(in, bytes, sizeof(bytes));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			status = common_fail_errno("cannot read from gdb");
		if (count <= 0)
			break;
		replies.size = 0;
		status = dump_gdb_server_take(server, bytes, (size_t)count, &replies);
		if (status == 0 && replies.size)
			status = common_write_all(out, replies.data, replies.size);
	}
	common_bytes_free(&replies);
	return status;
}

void dump_gdb_server_free(struct dump_gdb_server *server)
{
	dump_gdb_files_close(server);
	common_bytes_free(&server->xml);
	common_bytes_free(&server->reply);
	common_bytes_free(&server->request);
	free(server->shown);
	server->shown = NULL;
	server->shown_count = 0;
}
