/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The format of a tracepoint's record, from the kernel's textual description (events/SYSTEM/NAME/format of tracefs):
 *
 *     name: sched_switch
 *     ID: 372
 *     format:
 *             field:char prev_comm[16]; offset:8; size:16; signed:0;
 *     print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 */
#ifndef PERF_TRACE_FORMAT_H
#define PERF_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"

/* Position of a field in the record. The schema field with the same index describes the type. */
struct perf_trace_field {
	uint32_t offset;
	uint32_t size;    /* 0: up to the end of the record */
	bool is_dynamic;  /* the field has the position of the bytes: 16 bits offset, 16 bits size */
	bool is_relative; /* as is_dynamic; the offset counts from the end of the field */
	bool is_signed;
};

/* A step of making a payload: bytes that are copied unchanged, or a field that is converted. */
struct perf_trace_step {
	uint32_t offset, size;
	uint32_t field; /* index of a field; PERF_TRACE_COPY: copy bytes */
};
#define PERF_TRACE_COPY UINT32_MAX

/* A parsed format. */
struct perf_trace_format {
	char *text;  /* memory of the fields' names */
	char *names; /* memory of the values' names */
	const char *name;
	uint32_t id;
	struct perf_trace_field *fields;
	struct ptl_field *described; /* fields for a schema */
	size_t field_count;
	struct perf_trace_step *steps; /* steps of perf_trace_format_payload */
	size_t step_count;
	struct perf_trace_map {
		size_t field;
		struct ptl_map map; /* provider is not set */
		char *name;
	} * maps;
	size_t map_count;
};

#define PERF_TRACE_FIELDS_MAX 512
/* maximum bytes of a format; the kernel's longest format has about 20 KiB */
#define PERF_TRACE_TEXT_MAX ((size_t)256 << 10)

/*
 * Parses a format of `size` bytes. Common fields come last; type and process are dropped, because samples have them.
 * Unknown parts of the print format are ignored. Returns PTL_CORRUPT, PTL_NO_MEMORY. Call perf_trace_format_free even
 * after a failure.
 */
int perf_trace_format_parse(const char *text, size_t size, struct perf_trace_format *format);
void perf_trace_format_free(struct perf_trace_format *format);

/*
 * Writes the payload of a record with the fields of the schema. Returns false, with a partial payload, if the record is
 * shorter than its format requires.
 */
bool perf_trace_format_payload(const struct perf_trace_format *format, const uint8_t *raw, size_t size,
			       struct ptl_bytes *payload);

/* ---- trace_print.c: print format of fields */

/*
 * Sets value names of fields, and display as hexadecimal number or address. Call once for a format. text may be freed
 * afterwards. Returns PTL_NO_MEMORY.
 */
int perf_trace_print_parse(const char *text, struct perf_trace_format *format);

/* ---- trace_number.c */

/*
 * Evaluates a constant C expression at *text, and moves *text behind the expression. Supports literals, ( ) ~ - + * <<
 * >> & ^ |, and casts. Returns false for anything else.
 */
bool perf_trace_number(const char **text, uint64_t *value);

#endif
