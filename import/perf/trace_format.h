/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format of a tracepoint's record, as the kernel describes it in text (events/SYSTEM/NAME/format of tracefs):
 *
 *     name: sched_switch
 *     ID: 372
 *     format:
 *         field:char prev_comm[16];  offset:8;  size:16;  signed:0;
 *     print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 */
#ifndef IMPORT_PERF_TRACE_FORMAT_H
#define IMPORT_PERF_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/* A field of the record: where its bytes are; what they are is in the field of the schema with the same number. */
struct perf_trace_field {
	uint32_t offset;
	uint32_t size;    /* 0: up to the record's end */
	bool is_dynamic;  /* a word there says where the bytes are, and how many: 16 bits each */
	bool is_relative; /* as is_dynamic, counted from behind that word */
	bool is_signed;
};

/* Bytes of a record that become bytes of the payload as they are, or one field that does not. */
struct perf_trace_step {
	uint32_t offset, size;
	uint32_t field; /* PERF_TRACE_COPY: bytes */
};
#define PERF_TRACE_COPY UINT32_MAX

/* A format that was understood. */
struct perf_trace_format {
	char *text;  /* names of fields point into it */
	char *names; /* names of numbers point into it */
	const char *name;
	uint32_t id;
	struct perf_trace_field *fields;
	struct ptl_field *described; /* for a schema */
	size_t field_count;
	struct perf_trace_step *steps; /* of perf_trace_format_payload */
	size_t step_count;
	struct perf_trace_map {
		size_t field;
		struct ptl_map map; /* without provider */
		char *name;
	} * maps;
	size_t map_count;
};

#define PERF_TRACE_FIELDS_MAX 512
#define PERF_TRACE_TEXT_MAX ((size_t)256 << 10) /* of a format: the kernel's longest has some 20 KiB */

/*
 * Reads a format of size bytes. Fields that all tracepoints have come last, without those that say what a sample says itself
 * (type and process). PTL_CORRUPT, PTL_NO_MEMORY; what the print format has that is not understood is left out.
 * Free with perf_trace_format_free, also what failed.
 */
int perf_trace_format_parse(const char *text, size_t size, struct perf_trace_format *format);
void perf_trace_format_free(struct perf_trace_format *format);

/*
 * Writes the payload of a record: its fields as the schema has them. False, with some of it written, where the record
 * has fewer bytes than its format says.
 */
bool perf_trace_format_payload(const struct perf_trace_format *format, const uint8_t *raw, size_t size,
			       struct ptl_bytes *payload);

/* ---- trace_print.c: what the print format says of fields */

/*
 * Gives fields their names of numbers, and says which are hexadecimal, or addresses. Once for a format; text need not
 * live on. PTL_NO_MEMORY.
 */
int perf_trace_print_parse(const char *text, struct perf_trace_format *format);

/* ---- trace_number.c */

/*
 * The value of a constant expression of C at *text, which is moved behind it: literals, ( ) ~ - + * << >> & ^ |, and casts.
 * False where there is anything else.
 */
bool perf_trace_number(const char **text, uint64_t *value);

#endif
