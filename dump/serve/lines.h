/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of a client, read as they come, in bounded memory. */
#ifndef DUMP_SERVE_LINES_H
#define DUMP_SERVE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

#define DUMP_SERVE_LINE_MAX (1u << 20)  /* bytes of a line */
#define DUMP_SERVE_QUEUE_MAX (4u << 20) /* bytes of the lines that wait */
#define DUMP_SERVE_WAITING_MAX 256u     /* lines that wait */

struct dump_serve_line {
	char *text; /* owned; NULL: the line is longer than DUMP_SERVE_LINE_MAX, and was skipped */
	size_t size;
};

/* Zero-initialised, with the descriptor. */
struct dump_serve_lines {
	int fd;
	struct dump_serve_line *waiting; /* owned; in order */
	size_t count, capacity;
	size_t bytes;             /* of the lines that wait */
	struct ptl_bytes partial; /* a line without its end */
	bool skipping;            /* the line is too long */
	bool ended;               /* the client has closed its end */
};

/* Whether the queue has room for what one read may bring. */
bool dump_serve_lines_wanted(const struct dump_serve_lines *lines);
/* Reads once, which may wait. Returns PTL_SYSTEM for a failed read, PTL_NO_MEMORY. */
int dump_serve_lines_read(struct dump_serve_lines *lines);
/* Removes a line from the queue. The caller frees line.text. */
struct dump_serve_line dump_serve_lines_take(struct dump_serve_lines *lines, size_t index);
void dump_serve_lines_free(struct dump_serve_lines *lines);

#endif
