/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways in which gdb reaches the server: a socket of this machine, or a gdb that is started. */
#ifndef DUMP_GDB_CONNECTION_H
#define DUMP_GDB_CONNECTION_H

#include "common/text/string_list.h"
#include "dump/gdb/symbol_files.h"

/* Serves one connection. Returns what dump_gdb_server_run returns. */
int dump_gdb_serve(struct dump_gdb_process *process, int in, int out);

/*
 * Waits for connections at "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT", and serves one connection after the other.
 * Without an address, only programs of this machine can connect. Port 0 is a free port. Prints the address to out.
 * Returns PTL_MISUSE for an address that cannot be read, or PTL_SYSTEM.
 */
int dump_gdb_listen(struct dump_gdb_process *process, const char *address, FILE *out);

struct dump_gdb_start {
	const char *program;                       /* gdb's program; NULL: "gdb" */
	const struct common_string_list *commands; /* commands that gdb runs at its start */
	bool batch;                                /* gdb ends behind these commands */
};

/*
 * Starts gdb, connected to the server, and serves until gdb ends. *exit_status: gdb's exit status. Returns PTL_SYSTEM,
 * if gdb cannot be started.
 */
int dump_gdb_start(struct dump_gdb_process *process, const struct dump_gdb_files *files,
		   const struct dump_gdb_start *start, int *exit_status);

#endif
