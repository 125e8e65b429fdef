/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a process for gdb: the mapped files themselves, or ELF files made of the code and symbols in the trace. */
#ifndef DUMP_GDB_SYMBOL_FILES_H
#define DUMP_GDB_SYMBOL_FILES_H

#include "common/arena.h"
#include "dump/gdb/process.h"

struct dump_gdb_files {
	char *folder; /* owned; temporary folder: root/PATH leads to the file of PATH */
	struct common_arena texts;
	struct dump_gdb_library *libraries; /* owned */
	size_t count;
	size_t missing; /* images without code in the trace or on this machine */
	size_t sources; /* source files in FOLDER/source */
};

/*
 * Makes a temporary folder, and the files of the images of the process in this folder. A file of this machine with the
 * image's build id is used as it is. Sets program and libraries of the model. Close in any case, before the process.
 * Returns PTL_SYSTEM or PTL_NO_MEMORY.
 */
int dump_gdb_files_make(struct dump_gdb_files *files, struct dump_gdb_process *process);
/* Removes the folder. */
void dump_gdb_files_remove(struct dump_gdb_files *files);

#endif
