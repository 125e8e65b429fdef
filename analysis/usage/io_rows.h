/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of input and output by process, by object, and by both. */
#ifndef ANALYSIS_USAGE_IO_ROWS_H
#define ANALYSIS_USAGE_IO_ROWS_H

#include "analysis/usage/io.h"

enum usage_io_by { USAGE_BY_OBJECT, USAGE_BY_PROCESS, USAGE_BY_USE };

struct usage_io_row {
	uint32_t process, object; /* FLOW_NONE: all */
	struct usage_io_sum sum;
};

/* Rows of a medium: the most time first, then the most bytes. */
struct usage_io_rows {
	struct usage_io_row *rows; /* owned */
	size_t count;
	struct usage_io_sum sum; /* of all rows */
};

/* Makes the rows of the selected processes. Fails with PTL_NO_MEMORY. Call usage_io_rows_free in any case. */
int usage_io_rows_make(struct usage_io_rows *rows, const struct usage_io *io, const struct analysis_input *input,
		       enum usage_medium medium, enum usage_io_by by);
void usage_io_rows_free(struct usage_io_rows *rows);
/* Returns the bytes read and written. */
uint64_t usage_io_bytes(const struct usage_io_sum *sum);
/* Returns the name of a process of a row; "" unknown. Not safe for a terminal. */
const char *usage_io_process_name(const struct usage_io *io, const struct flow_timeline *timeline, uint32_t process);

#endif
