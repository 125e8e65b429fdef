/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes Intel PT address filters, one attachment per range. */
#include "format/writer/pt_filter.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/metadata/pt_filter.h"

/* Checks all ranges first, as only some of the ranges would have another meaning. */
static int check_filters(const char *text)
{
	struct format_pt_filter filter;
	int status;

	do
		status = format_pt_filter_next(&text, &filter);
	while (status > 0);
	return status;
}

int format_writer_pt_filters(struct ptl_writer *writer, const char *text)
{
	struct format_pt_filter filter;
	int status = check_filters(text);

	if (status < 0)
		return status;
	while ((status = format_pt_filter_next(&text, &filter)) > 0) {
		char *path = strndup(filter.path, filter.path_size);
		struct ptl_attachment attachment;

		if (!path)
			return common_fail_memory("an address filter", filter.path_size);
		format_pt_filter_attach(&filter, path, &attachment);
		status = ptl_writer_attachment(writer, &attachment);
		free(path);
		if (status < 0)
			return status;
	}
	return status;
}
