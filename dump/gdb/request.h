/* SPDX-License-Identifier: BSD-2-Clause */
/* One request of gdb, and its reply. */
#ifndef DUMP_GDB_REQUEST_H
#define DUMP_GDB_REQUEST_H

#include "dump/gdb/server.h"

/* Appends the reply to a request, which ends with a zero byte. The reply to an unknown request is empty. */
void dump_gdb_request_answer(struct dump_gdb_server *server, const char *request, struct ptl_bytes *reply);

#endif
