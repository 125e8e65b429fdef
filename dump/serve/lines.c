/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"

#define READ_SIZE 65536u

bool dump_serve_lines_wanted(const struct dump_serve_lines *lines)
{
	return !lines->ended && lines->bytes < DUMP_SERVE_QUEUE_MAX && lines->count < DUMP_SERVE_WAITING_MAX;
}

/* Ends the partial line. */
static int end_line(struct dump_serve_lines *lines)
{
	struct dump_serve_line line = {.size = lines->partial.size};

	if (COMMON_VECTOR_RESERVE(lines->waiting, lines->capacity, lines->count + 1, "requests"))
		return PTL_NO_MEMORY;
	if (!lines->skipping) {
		line.text = malloc(line.size + 1);
		if (!line.text || lines->partial.failed)
			return free(line.text), common_fail_memory("a request", line.size);
		if (line.size)
			memcpy(line.text, lines->partial.data, line.size);
		line.text[line.size] = 0;
	}
	lines->waiting[lines->count++] = line;
	lines->bytes += line.size;
	lines->partial.size = 0;
	lines->skipping = false;
	return 0;
}

static void add_piece(struct dump_serve_lines *lines, const char *piece, size_t size)
{
	if (lines->skipping)
		return;
	if (lines->partial.size + size <= DUMP_SERVE_LINE_MAX) {
		common_write_bytes(&lines->partial, piece, size);
		return;
	}
	common_bytes_free(&lines->partial);
	lines->skipping = true;
}

int dump_serve_lines_read(struct dump_serve_lines *lines)
{
	char piece[READ_SIZE];
	const ssize_t size = read(lines->fd, piece, sizeof(piece));
	const char *at = piece;
	int status = 0;

	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : common_fail_errno("cannot read requests");
	lines->ended = size == 0;
	for (const char *end; !status && (end = memchr(at, '\n', (size_t)(piece + size - at))); at = end + 1) {
		add_piece(lines, at, (size_t)(end - at));
		status = end_line(lines);
	}
	add_piece(lines, at, (size_t)(piece + size - at));
	/* The last line may lack its end. */
	if (!status && lines->ended && (lines->partial.size || lines->skipping))
		status = end_line(lines);
	return status;
}

struct dump_serve_line dump_serve_lines_take(struct dump_serve_lines *lines, size_t index)
{
	const struct dump_serve_line line = lines->waiting[index];

	lines->count--;
	memmove(lines->waiting + index, lines->waiting + index + 1, (lines->count - index) * sizeof(line));
	lines->bytes -= line.size;
	return line;
}

void dump_serve_lines_free(struct dump_serve_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->waiting[i].text);
	free(lines->waiting);
	common_bytes_free(&lines->partial);
	*lines = (struct dump_serve_lines){.fd = -1};
}
