/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers the packets of gdb's remote protocol from a model. */
#ifndef DUMP_GDB_SERVER_H
#define DUMP_GDB_SERVER_H

#include "dump/gdb/model.h"
#include "dump/gdb/packet.h"

/* Files that gdb has opened at the same time. */
#define DUMP_GDB_FILES 16

/* Zero-initialised except the model. */
struct dump_gdb_server {
	struct dump_gdb_model *model;
	bool no_acks;         /* gdb and server have agreed to send no '+' */
	bool processes;       /* gdb takes ids of threads with their process */
	bool ended;           /* gdb has disconnected */
	bool packets;         /* gdb asked for Intel PT packets instead of blocks */
	unsigned damaged;     /* damaged packets since the last sound packet */
	uint32_t tid;         /* thread of requests; 0: the current thread of the model */
	struct ptl_bytes xml; /* the document that gdb reads part by part */
	uint64_t xml_key;     /* identifies the document */
	uint64_t *shown;      /* by thread: generation of the blocks that gdb has; owned */
	size_t shown_count;
	int files[DUMP_GDB_FILES]; /* by number: file descriptor + 1; 0: not open */
	struct dump_gdb_parser parser;
	struct ptl_bytes reply;   /* last reply, for a repetition */
	struct ptl_bytes request; /* the request of this reply; empty: gdb has the reply */
};

/*
 * Reads bytes from gdb, and appends the replies to out. Returns 0, PTL_NO_MEMORY, or PTL_CORRUPT, if the bytes are no
 * packets at all.
 */
int dump_gdb_server_take(struct dump_gdb_server *server, const uint8_t *bytes, size_t size, struct ptl_bytes *out);
/* Serves the connection until gdb disconnects. Returns 0, PTL_SYSTEM or PTL_NO_MEMORY. */
int dump_gdb_server_run(struct dump_gdb_server *server, int in, int out);
/* Closes all files and frees memory. */
void dump_gdb_server_free(struct dump_gdb_server *server);

#endif
