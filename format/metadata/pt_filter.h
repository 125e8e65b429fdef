/* SPDX-License-Identifier: BSD-2-Clause */
/* Address ranges used as Intel PT filters. */
#ifndef FORMAT_METADATA_PT_FILTER_H
#define FORMAT_METADATA_PT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

enum format_pt_filter_action {
	FORMAT_PT_FILTER_TRACE = 1, /* only flow in these ranges generates packets */
	FORMAT_PT_FILTER_STOP = 2,  /* flow that enters the range ends all packets (TraceStop) */
};

struct format_pt_filter {
	uint32_t action;
	uint64_t first; /* offset in the file; without a file, an address */
	uint64_t size;
	const char *path; /* may lack a terminating zero if parsed from a text */
	size_t path_size; /* 0: no file */
};

/*
 * Parses the next range of a text in the kernel's syntax: "filter 0x1000/0x200@/bin/ls,stop 0xffffffff81000000/0x10".
 * Moves *text past the range. Returns 1; 0 at the end; PTL_CORRUPT.
 */
int format_pt_filter_next(const char **text, struct format_pt_filter *filter);

/* Makes an attachment of machine 0. path: filter->path with a terminating zero; becomes the attachment's name. */
void format_pt_filter_attach(const struct format_pt_filter *filter, const char *path,
			     struct ptl_attachment *attachment);
/* Reads the range of an attachment. Returns false if the attachment is of another kind or its range is empty. */
bool format_pt_filter_of(const struct ptl_attachment *attachment, struct format_pt_filter *filter);

#endif
