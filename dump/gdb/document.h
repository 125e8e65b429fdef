/* SPDX-License-Identifier: BSD-2-Clause */
/* The XML documents of gdb's remote protocol. */
#ifndef DUMP_GDB_DOCUMENT_H
#define DUMP_GDB_DOCUMENT_H

#include "dump/gdb/model.h"

/* Appends "p12.34", or "34" without processes: ids of threads in hexadecimal digits. */
void dump_gdb_add_thread_id(const struct dump_gdb_model *model, bool processes, uint32_t tid, struct ptl_bytes *text);

/* All append a document. */
void dump_gdb_target_document(struct ptl_bytes *xml);
void dump_gdb_threads_document(const struct dump_gdb_model *model, bool processes, struct ptl_bytes *xml);
void dump_gdb_libraries_document(const struct dump_gdb_model *model, struct ptl_bytes *xml);
/* The blocks of a thread, from the last to the first; NULL: no blocks. */
void dump_gdb_blocks_document(const struct dump_gdb_thread *thread, struct ptl_bytes *xml);
/* The blocks of a thread as Intel PT packets; NULL: no packets. xml->failed: packets cannot tell the blocks. */
void dump_gdb_packets_document(const struct dump_gdb_model *model, const struct dump_gdb_thread *thread,
			       struct ptl_bytes *xml);
/* packets: gdb gets packets, not blocks. */
void dump_gdb_trace_settings_document(bool packets, struct ptl_bytes *xml);

#endif
