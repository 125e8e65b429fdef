/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT packets made of a thread's blocks: gdb reads packets faster than blocks. */
#ifndef DUMP_GDB_PACKETS_H
#define DUMP_GDB_PACKETS_H

#include "dump/gdb/model.h"

/*
 * Appends packets from which libipt decodes the thread's blocks, and then the instruction at thread->next. Returns false if the blocks
 * stay blocks: between them is a gap, memory has other code, or memory of this program is short.
 */
bool dump_gdb_packets_make(const struct dump_gdb_model *model, const struct dump_gdb_thread *thread,
			   struct ptl_bytes *packets);

#endif
