/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes lines of flow quickly: what was written for a block once is copied when it is executed again. */
#ifndef DUMP_PRINT_FLOW_WRITER_H
#define DUMP_PRINT_FLOW_WRITER_H

#include <stddef.h>

#include "dump/print/flow.h"

/* For one thread at a time. */
struct dump_flow_writer;

/* print and format outlive it; NULL without memory. */
struct dump_flow_writer *dump_flow_writer_new(const struct dump_flow_print *print,
					      const struct dump_flow_format *format);
void dump_flow_writer_free(struct dump_flow_writer *writer);

/*
 * Appends the lines of a block (one, or one for each instruction, as the level is), each beginning with
 * head. Allocations that fail are left in text->failed.
 */
void dump_flow_write_block(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			   const struct flow_block *block, struct ptl_bytes *text);
void dump_flow_write_branch(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			    const struct dump_flow_branch *branch, struct ptl_bytes *text);

#endif
