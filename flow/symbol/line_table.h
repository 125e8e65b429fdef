/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines of an ELF file's code. All DWARF line programs are scanned once; rows are made only for units with
 * requested addresses.
 */
#ifndef FLOW_SYMBOL_LINE_TABLE_H
#define FLOW_SYMBOL_LINE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/jitdump.h"

struct flow_line_table;

/*
 * flow_lines_make: does not keep elf, but unpacks the needed sections in elf. Returns NULL if elf has no lines, or
 * without memory.
 * flow_lines_need_folders: checks whether units refer to their compilation folders (before DWARF 5).
 * flow_lines_take_folders: reads these folders from .debug_info. Must be called once, before any line is looked up.
 */
struct flow_line_table *flow_lines_make(Elf *elf);
bool flow_lines_need_folders(const struct flow_line_table *table);
void flow_lines_take_folders(struct flow_line_table *table, Dwarf *dwarf);
/* Makes a table from lines read elsewhere, in any order. */
struct flow_line_table *flow_lines_of(const struct elf_line *lines, size_t count);
void flow_lines_free(struct flow_line_table *table);

/* The following functions may be called from several threads. Without memory, lines are unknown. */

/* A source line. */
struct flow_line {
	const char *file; /* valid as long as the table */
	uint32_t line;
	uint32_t discriminator; /* distinguishes blocks of one line, as the compiler numbers blocks; 0: none */
};

/* Finds the line of an address in the file's own address space. Returns false if the line is unknown. */
bool flow_lines_find(struct flow_line_table *table, uint64_t address, struct flow_line *line);

/*
 * Checks whether the first row of an address has this line. Compilers emit such a row for the opening brace of a
 * function, followed by a row for the code at the same address.
 */
bool flow_lines_begins(struct flow_line_table *table, uint64_t address, uint32_t line);

/* Callback for the code of a line: addresses of the file, from first up to end. A result other than 0 ends the walk. */
typedef int flow_lines_visit(void *context, uint64_t first, uint64_t end, const char *file, uint32_t line);
/* Visits all lines with code, in order of address. Returns the result of the last visit. */
int flow_lines_walk(struct flow_line_table *table, flow_lines_visit *visit, void *context);

/* Callback for a file. The path is valid as long as the table. A result other than 0 ends the walk. */
typedef int flow_lines_file_visit(void *context, const char *path);
/*
 * Visits the files of all lines, in the order of the units; files of several units repeatedly. Keeps no rows. For a table
 * of flow_lines_make, used by one thread. Returns the result of the last visit.
 */
int flow_lines_files(struct flow_line_table *table, flow_lines_file_visit *visit, void *context);

#endif
