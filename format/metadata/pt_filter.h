/* SPDX-License-Identifier: BSD-2-Clause */
/* Address ranges that Intel PT was filtered by. */
#ifndef FORMAT_METADATA_PT_FILTER_H
#define FORMAT_METADATA_PT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

enum format_pt_filter_action {
	FORMAT_PT_FILTER_TRACE = 1, /* packets come from these ranges alone */
	FORMAT_PT_FILTER_STOP = 2,  /* flow that enters the range ends all packets (TraceStop) */
};

struct format_pt_filter {
	uint32_t action;
	uint64_t first; /* offset in the file; an address without a file */
	uint64_t size;
	const char *path; /* no 0 ends it if it comes from a text */
	size_t path_size; /* 0: no file */
};

/*
 * Reads the next range of a text as the kernel takes it: "filter 0x1000/0x200@/bin/ls,stop 0xffffffff81000000/0x10". Moves
 * *text behind the range. 1; 0 at the end; PTL_CORRUPT.
 */
int format_pt_filter_next(const char **text, struct format_pt_filter *filter);

/* Fills an attachment of machine 0; its name is path, which filter->path ends with a 0. */
void format_pt_filter_attach(const struct format_pt_filter *filter, const char *path,
			     struct ptl_attachment *attachment);
/* Reads the range of an attachment; false: the attachment is something else, or its range is empty. */
bool format_pt_filter_of(const struct ptl_attachment *attachment, struct format_pt_filter *filter);

#endif
