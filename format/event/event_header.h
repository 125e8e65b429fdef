/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the EventHeader decoder: a description is converted to a schema and a plan; the plan converts payloads. */
#ifndef FORMAT_EVENT_EVENT_HEADER_H
#define FORMAT_EVENT_EVENT_HEADER_H

#include <ptl/event.h>

#include "common/bytes.h"

/* Conversion of a value. The plan's steps and the schema's fields have the same indexes. */
enum format_header_action {
	FORMAT_HEADER_COPY,    /* copies `unit` bytes */
	FORMAT_HEADER_NUMBER,  /* `unit` bytes as a number */
	FORMAT_HEADER_BOOL16,  /* 16-bit boolean, widened to 32 bits */
	FORMAT_HEADER_SECONDS, /* `unit` bytes of signed seconds, converted to nanoseconds */
	FORMAT_HEADER_UUID,
	FORMAT_HEADER_ZERO_ENDED, /* characters of `unit` bytes, up to a zero character */
	FORMAT_HEADER_COUNTED,    /* a 16-bit count, followed by `count` characters of `unit` bytes */
	FORMAT_HEADER_STRUCT,
	FORMAT_HEADER_REST, /* all remaining bytes */
};

struct format_header_step {
	uint8_t action; /* enum format_header_action */
	uint8_t unit;
	bool has_mark; /* the text may begin with a byte order mark */
	bool as_bytes; /* the characters are shown as bytes */
};

struct format_header_plan {
	struct format_header_step *steps;
	bool big_endian;
};

/*
 * Decodes a description (the metadata extension). Event name and fields go into `schema`, which then owns them, and
 * steps into `plan`. PTL_CORRUPT, PTL_NO_MEMORY: nothing needs to be freed.
 */
int format_header_describe(const uint8_t *data, size_t size, bool big_endian, struct ptl_schema *schema,
			   struct format_header_plan *plan);
/* Frees the results of format_header_describe. */
void format_header_forget(struct ptl_schema *schema, struct format_header_plan *plan);

/*
 * Converts a payload to the schema's layout and appends the result. Copies trailing bytes unchanged if there are at
 * least `alignment`. PTL_TRUNCATED: the payload ends within a field, and the preceding fields were appended.
 * PTL_UNSUPPORTED: a field is too long for the schema's layout. PTL_NO_MEMORY.
 */
int format_header_rewrite(const struct ptl_schema *schema, const struct format_header_plan *plan, const uint8_t *data,
			  size_t size, size_t alignment, struct ptl_bytes *out);

#endif
