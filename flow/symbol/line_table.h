/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines of an ELF file's code: its DWARF line programs are gone through once, and rows are made of those units alone in which
 * an address is looked up.
 */
#ifndef FLOW_SYMBOL_LINE_TABLE_H
#define FLOW_SYMBOL_LINE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/jitdump.h"

struct flow_line_table;

/*
 * Does not keep elf; sections that it needs are unpacked there. NULL where there are no lines, or no memory. What needs the folders that
 * units were compiled in (before DWARF 5) takes them from .debug_info, once, before any line is looked up.
 */
struct flow_line_table *flow_lines_make(Elf *elf);
bool flow_lines_need_folders(const struct flow_line_table *table);
void flow_lines_take_folders(struct flow_line_table *table, Dwarf *dwarf);
/* Of lines that somebody else read, in any order. */
struct flow_line_table *flow_lines_of(const struct elf_line *lines, size_t count);
void flow_lines_free(struct flow_line_table *table);

/* What follows may be called from several threads. Lines that there is no memory for are not known. */

/* address is in the file's own address space. *file lives as long as table. */
bool flow_lines_find(struct flow_line_table *table, uint64_t address, const char **file, uint32_t *line);

/*
 * Whether the first row of an address is of this line: a compiler says so of the bracket of a function that begins there, and then
 * what code is really left there.
 */
bool flow_lines_begins(struct flow_line_table *table, uint64_t address, uint32_t line);

/* Code of a line: addresses of the file, from first up to end. Ends the walk with what it returns, if that is not 0. */
typedef int flow_lines_visit(void *context, uint64_t first, uint64_t end, const char *file, uint32_t line);
/* All lines that have code, in order of their addresses. */
int flow_lines_walk(struct flow_line_table *table, flow_lines_visit *visit, void *context);

#endif
