/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the EventHeader decoder: a description becomes a schema and a plan, a plan rewrites payloads. */
#ifndef FORMAT_EVENT_EVENT_HEADER_H
#define FORMAT_EVENT_EVENT_HEADER_H

#include <ptl/event.h>

#include "common/bytes.h"

/* What is done with a value; the plan's entries and the schema's fields have the same numbers. */
enum format_header_action {
	FORMAT_HEADER_COPY,    /* `unit` bytes as they are */
	FORMAT_HEADER_NUMBER,  /* `unit` bytes as a number */
	FORMAT_HEADER_BOOL16,  /* widened to 32 bits */
	FORMAT_HEADER_SECONDS, /* `unit` bytes, signed; to nanoseconds */
	FORMAT_HEADER_UUID,
	FORMAT_HEADER_ZERO_ENDED, /* characters of `unit` bytes up to a zero one */
	FORMAT_HEADER_COUNTED,    /* a 16-bit count, and so many characters of `unit` bytes */
	FORMAT_HEADER_STRUCT,
	FORMAT_HEADER_REST, /* all that is left */
};

struct format_header_step {
	uint8_t action; /* enum format_header_action */
	uint8_t unit;
	bool has_mark; /* a byte order mark may come first */
	bool as_bytes; /* characters are shown as bytes */
};

struct format_header_plan {
	struct format_header_step *steps;
	bool big_endian;
};

/*
 * Reads a description (the metadata extension): event name and fields go into schema, which owns them then, steps into
 * plan. PTL_CORRUPT, PTL_NO_MEMORY: nothing is owned.
 */
int format_header_describe(const uint8_t *data, size_t size, bool big_endian, struct ptl_schema *schema,
			   struct format_header_plan *plan);
/* Frees what format_header_describe made. */
void format_header_forget(struct ptl_schema *schema, struct format_header_plan *plan);

/*
 * Appends a payload as the schema has it; bytes behind the last field as they are, if they are at least
 * `alignment`. PTL_TRUNCATED where it ends within
 * a field (what was before it has been appended), PTL_UNSUPPORTED where a field cannot be put into the schema's form
 * (it is too long), PTL_NO_MEMORY.
 */
int format_header_rewrite(const struct ptl_schema *schema, const struct format_header_plan *plan, const uint8_t *data,
			  size_t size, size_t alignment, struct ptl_bytes *out);

#endif
