/* SPDX-License-Identifier: BSD-2-Clause */
/* The temporary folder that gdb gets files from. */
#ifndef DUMP_GDB_FOLDER_H
#define DUMP_GDB_FOLDER_H

/* Makes the folder in $TMPDIR or /tmp. *folder is its path. Returns PTL_SYSTEM or PTL_NO_MEMORY. */
int dump_gdb_folder_make(char **folder);
/* Removes the folder with its files, and frees the path. NULL does nothing. */
void dump_gdb_folder_remove(char *folder);

/*
 * Makes the folders of FOLDER/PART/PATH. PART and PATH begin with a slash, and PATH stays below PART. Returns the whole
 * path, which the caller frees; NULL without memory.
 */
char *dump_gdb_folder_entry(const char *folder, const char *part, const char *path);

#endif
