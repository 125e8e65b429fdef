/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes lines of flow quickly: lines of repeated blocks are copied from a cache. */
#ifndef DUMP_FLOW_FLOW_WRITER_H
#define DUMP_FLOW_FLOW_WRITER_H

#include <stddef.h>

#include "dump/flow/flow.h"

/* Not thread-safe. */
struct dump_flow_writer;

/* Creates a writer. print and format must outlive it. Returns NULL without memory. */
struct dump_flow_writer *dump_flow_writer_new(const struct dump_flow_print *print,
					      const struct dump_flow_format *format);
void dump_flow_writer_free(struct dump_flow_writer *writer);

/*
 * Appends the lines of a block (one line, or one per instruction, depending on the level), each after `head`. Sets
 * text->failed without memory.
 */
void dump_flow_write_block(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			   const struct flow_block *block, struct ptl_bytes *text);
void dump_flow_write_branch(struct dump_flow_writer *writer, const struct ptl_bytes *head,
			    const struct dump_flow_branch *branch, struct ptl_bytes *text);

#endif
