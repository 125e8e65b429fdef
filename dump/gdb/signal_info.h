/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's structure siginfo_t of the signal that ended the process: $_siginfo of gdb. */
#ifndef DUMP_GDB_SIGNAL_INFO_H
#define DUMP_GDB_SIGNAL_INFO_H

#include "dump/gdb/model.h"

#define DUMP_GDB_SIGNAL_INFO_BYTES 128u

/* Writes the structure. Returns false if the trace does not tell the details of the thread's signal. */
bool dump_gdb_signal_info(const struct dump_gdb_thread *thread, uint8_t info[DUMP_GDB_SIGNAL_INFO_BYTES]);

#endif
