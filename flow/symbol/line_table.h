/* SPDX-License-Identifier: BSD-2-Clause */
/* All rows of an ELF file's DWARF line tables, sorted by address: built once, then only read. */
#ifndef FLOW_SYMBOL_LINE_TABLE_H
#define FLOW_SYMBOL_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_line_table;

/*
 * From an ELF file in memory (which is not kept) or open on disk; the file on disk counts only if its
 * build id is the given one, and is closed in any case (-1: there is none). NULL where there are no lines, for whatever reason.
 */
struct flow_line_table *flow_lines_from_memory(uint8_t *data, size_t size);
struct flow_line_table *flow_lines_from_file(int fd, const uint8_t *build_id, size_t build_id_size);
void flow_lines_free(struct flow_line_table *table);

/* address is in the file's own address space. *file lives as long as table. */
bool flow_lines_find(const struct flow_line_table *table, uint64_t address, const char **file, uint32_t *line);

#endif
