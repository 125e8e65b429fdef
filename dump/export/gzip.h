/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes gzip-compressed output without time and name, so equal data gives equal bytes. */
#ifndef DUMP_EXPORT_GZIP_H
#define DUMP_EXPORT_GZIP_H

#include <zlib.h>

#include "dump/run/command.h"

struct dump_gzip {
	struct dump_run *run;
	z_stream stream;
	bool open;
};

/* Begins the output. Returns 0 or PTL_NO_MEMORY. */
int dump_gzip_open(struct dump_gzip *gzip, struct dump_run *run);
/* Writes data. last: ends the output. Returns the status of dump_output_check. */
int dump_gzip_write(struct dump_gzip *gzip, const void *data, size_t size, bool last);
void dump_gzip_close(struct dump_gzip *gzip);

#endif
