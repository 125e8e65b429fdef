/* SPDX-License-Identifier: BSD-2-Clause */
/* Output that is compressed as gzip does it, without a time or a name: the same bytes each time. */
#ifndef DUMP_EXPORT_GZIP_H
#define DUMP_EXPORT_GZIP_H

#include <zlib.h>

#include "dump/session/command.h"

struct dump_gzip {
	struct dump_session *session;
	z_stream stream;
	bool open;
};

/* PTL_NO_MEMORY. */
int dump_gzip_open(struct dump_gzip *gzip, struct dump_session *session);
/* What dump_output_check returns. */
int dump_gzip_write(struct dump_gzip *gzip, const void *data, size_t size, bool last);
void dump_gzip_close(struct dump_gzip *gzip);

#endif
