/* SPDX-License-Identifier: BSD-2-Clause */
/* gdb reads the files of program and libraries from the server. */
#ifndef DUMP_GDB_FILE_REQUEST_H
#define DUMP_GDB_FILE_REQUEST_H

#include "dump/gdb/server.h"

/*
 * Appends the reply to "vFile:" and text. Only files of the model can be opened, and only for reading. A path of the
 * trace opens the model's file of this path.
 */
void dump_gdb_file_answer(struct dump_gdb_server *server, const char *text, struct ptl_bytes *reply);
void dump_gdb_files_close(struct dump_gdb_server *server);

#endif
