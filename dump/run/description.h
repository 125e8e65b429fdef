/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoding of descriptions, runs and damage in the blocks of partial results. */
#ifndef DUMP_RUN_DESCRIPTION_H
#define DUMP_RUN_DESCRIPTION_H

#include "dump/run/partial.h"

void dump_description_write(const struct dump_description *description, struct ptl_bytes *payload);
/* Returns PTL_CORRUPT with only "a description" as text, or PTL_NO_MEMORY. Free the description in any case. */
int dump_description_read(const struct ptl_bytes *payload, struct dump_description *description);

void dump_trace_id_write(const struct dump_trace_id *id, struct ptl_bytes *payload);
struct dump_trace_id dump_trace_id_read(struct common_cursor *payload);

/*
 * A text of up to 64 KiB after its size. dump_partial_read_text returns NULL and sets `failed` if the text is missing
 * or memory is short.
 */
void dump_partial_write_text(const char *text, struct ptl_bytes *payload);
char *dump_partial_read_text(struct common_cursor *payload);

#endif
