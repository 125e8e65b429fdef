/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells why a function of --values was found in no file. */
#ifndef RECORD_VALUE_CAUSE_H
#define RECORD_VALUE_CAUSE_H

#include "common/bytes.h"
#include "record/value/spec.h"

/* A searched file. */
struct value_known_file {
	uint64_t device, inode;
	char *path; /* owned */
};

/*
 * Appends the cause to text: no such file, only inlined copies, no such function with the names that are near, and files without
 * names of functions.
 */
void value_cause(const struct value_spec *spec, const struct value_known_file *files, size_t count,
		 struct ptl_bytes *text);

#endif
