/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes from whoever connects to the server of ptl-dump gdb: packets, requests, and the bounds of replies. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dump/gdb/server.h"

#define REPLY_MAX ((size_t)1 << 17) /* bytes of a reply to a request of a small model */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_memory(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
	(void)context;
	if (address < 0x1000 || address >= 0x2000)
		return 0;
	size = size < 0x2000 - address ? size : (size_t)(0x2000 - address);
	memset(bytes, 0x90, size);
	return size;
}

static void monitor(void *context, const char *command, struct ptl_bytes *text)
{
	(void)context;
	common_write_bytes(text, command, strlen(command));
}

/* Reads all packets of the replies: each is sound. */
static void check_replies(const struct ptl_bytes *out)
{
	struct dump_gdb_parser *parser = calloc(1, sizeof(*parser));
	size_t used;

	if (!parser)
		abort();
	for (size_t at = 0; at < out->size; at += used) {
		const enum dump_gdb_input input = dump_gdb_parse(parser, out->data + at, out->size - at, &used);

		/* A reply may be longer than a request: binary data needs escapes. */
		if (input == DUMP_GDB_DAMAGED && parser->size < DUMP_GDB_PACKET_MAX)
			abort();
	}
	free(parser);
}

/* An input that begins with '!' is a request a line: a fuzzer rarely finds checksums. Appends the packets. */
static void make_packets(const uint8_t *data, size_t size, struct ptl_bytes *packets)
{
	if (!size || data[0] != '!') {
		common_write_bytes(packets, data, size);
		return;
	}
	for (size_t at = 1; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		const size_t part = end ? (size_t)(end - data) - at : size - at;

		dump_gdb_packet_write(data + at, part, packets);
		at += part + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump_gdb_block blocks[] = {{0x1000, 0x1010, 1, 4, 0}, {0, 0, 2, 0, 1}, {0x1800, 0x1800, 3, 1, 0}};
	struct dump_gdb_block plain = {0x1000, 0x1003, 1, 4, 0};
	struct dump_gdb_thread threads[] = {{.tid = 17,
					     .name = "<main>",
					     .blocks = blocks,
					     .count = 3,
					     .next = 0x1900,
					     .signal = 11,
					     .fatal = {.signal = 11, .has_address = true, .address = 0x7d232a24}},
					    {.tid = 18, .signal = 11, .blocks = &plain, .count = 1, .next = 0x1002}};
	const struct dump_gdb_library library = {.path = "/lib/a&b.so", .file = "/dev/null", .bias = 0x1000};
	struct dump_gdb_model model = {
		.pid = 17,
		.threads = threads,
		.thread_count = 2,
		.generation = 1,
		.program = {.path = "/bin/program", .file = "/dev/null"},
		.libraries = &library,
		.library_count = 1,
		.read_memory = read_memory,
		.monitor = monitor,
	};
	struct dump_gdb_server *server = calloc(1, sizeof(*server));
	struct ptl_bytes out = {0}, in = {0};
	size_t packets = 0;

	if (!server)
		abort();
	server->model = &model;
	make_packets(data, size, &in);
	for (size_t i = 0; i < in.size; i++)
		packets += in.data[i] == '#' || in.data[i] == '-';
	if (dump_gdb_server_take(server, in.data, in.size, &out) == 0 && out.size > (packets + 1) * REPLY_MAX)
		abort();
	check_replies(&out);
	dump_gdb_server_free(server);
	common_bytes_free(&out);
	common_bytes_free(&in);
	free(server);
	return 0;
}
