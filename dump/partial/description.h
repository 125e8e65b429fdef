/* SPDX-License-Identifier: BSD-2-Clause */
/* How descriptions, runs and damage stand in the blocks of partial results. */
#ifndef DUMP_PARTIAL_DESCRIPTION_H
#define DUMP_PARTIAL_DESCRIPTION_H

#include "dump/partial/partial.h"

void dump_description_write(const struct dump_description *description, struct ptl_bytes *payload);
/* PTL_CORRUPT, with no more than "a description"; PTL_NO_MEMORY. To be freed in any case. */
int dump_description_read(const struct ptl_bytes *payload, struct dump_description *description);

void dump_trace_id_write(const struct dump_trace_id *id, struct ptl_bytes *payload);
struct dump_trace_id dump_trace_id_read(struct common_cursor *payload);

/* A text of up to 64 KiB, with its size before it; NULL (and `failed`) where there is none, or no memory. */
void dump_partial_write_text(const char *text, struct ptl_bytes *payload);
char *dump_partial_read_text(struct common_cursor *payload);

#endif
