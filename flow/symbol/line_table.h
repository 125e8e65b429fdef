/* SPDX-License-Identifier: BSD-2-Clause */
/* All rows of an ELF file's DWARF line tables, sorted by address: built once, then only read. */
#ifndef FLOW_SYMBOL_LINE_TABLE_H
#define FLOW_SYMBOL_LINE_TABLE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/jitdump.h"

struct flow_line_table;

/* Neither takes nor keeps dwarf. NULL where there are no lines, or no memory. */
struct flow_line_table *flow_lines_make(Dwarf *dwarf);
/* Of lines that somebody else read, in any order. */
struct flow_line_table *flow_lines_of(const struct elf_line *lines, size_t count);
void flow_lines_free(struct flow_line_table *table);

/* address is in the file's own address space. *file lives as long as table. */
bool flow_lines_find(const struct flow_line_table *table, uint64_t address, const char **file, uint32_t *line);

/*
 * Whether the first row of an address is of this line: a compiler says so of the bracket of a function that begins there, and then
 * what code is really left there.
 */
bool flow_lines_begins(const struct flow_line_table *table, uint64_t address, uint32_t line);

/* Code of a line: addresses of the file, from first up to end. Ends the walk with what it returns, if that is not 0. */
typedef int flow_lines_visit(void *context, uint64_t first, uint64_t end, const char *file, uint32_t line);
/* All lines that have code, in order of their addresses. */
int flow_lines_walk(const struct flow_line_table *table, flow_lines_visit *visit, void *context);

#endif
