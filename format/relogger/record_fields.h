/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces numbers in the fields of a record. */
#ifndef FORMAT_RELOGGER_RECORD_FIELDS_H
#define FORMAT_RELOGGER_RECORD_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/bytes.h>
#include <ptl/relogger.h>

/* A field and its new number. */
struct format_replacement {
	unsigned tag;
	uint64_t number;
};

/*
 * Appends a record's body with the numbers of some fields replaced. Other fields, also unknown fields, are copied
 * unchanged.
 */
void format_record_replace(struct ptl_bytes *out, const struct ptl_record *record,
			   const struct format_replacement *replacements, size_t count);
/* Returns the number in the last field with this tag. The record was checked when it was read. */
uint64_t format_record_number(const struct ptl_record *record, unsigned tag);
/* Reads and converts an id. Records store an id plus one, so that a missing field means no id. */
int format_record_id(const struct ptl_relogger_input *input, const struct ptl_record *record,
		     struct format_replacement *id);
/* Writes a body and frees it. */
int format_record_write(struct ptl_relogger *relogger, uint64_t type, struct ptl_bytes *body);

#endif
