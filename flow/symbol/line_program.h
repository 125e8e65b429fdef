/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads .debug_line of DWARF 2 to 5: units with names of files, and with a program that makes rows. Unlike libdw, the
 * reader finds units without .debug_info, and keeps no rows.
 */
#ifndef FLOW_SYMBOL_LINE_PROGRAM_H
#define FLOW_SYMBOL_LINE_PROGRAM_H

#include "common/bytes.h"

struct flow_line_unit {
	struct common_cursor names; /* tables of folders and files */
	struct common_cursor program;
	const uint8_t *operand_counts; /* numbers of operands of the standard opcodes, from 1 */
	uint16_t version;              /* 0: unknown version, or a damaged header */
	uint8_t offset_size;           /* 4 or 8 */
	uint8_t minimum_length, maximum_operations, line_range, opcode_base;
	int8_t line_base;
};

/*
 * Reads the unit at the cursor, and moves the cursor to the next unit. Returns false at the end, or if the place of the
 * next unit is unknown.
 */
bool flow_line_unit_read(struct common_cursor *section, struct flow_line_unit *unit);

struct flow_line_row {
	uint64_t address;
	uint64_t file; /* number of the file in the unit */
	uint32_t line;
	uint32_t discriminator; /* distinguishes blocks of one line; 0: none */
	bool ends;              /* the row ends a sequence; its address is the first address behind the sequence */
};

struct flow_line_program {
	const struct flow_line_unit *unit;
	struct common_cursor bytes; /* failed: the program is damaged */
	struct flow_line_row row;
	uint32_t operation; /* operation within an instruction of several operations (VLIW) */
};

void flow_line_program_start(const struct flow_line_unit *unit, struct flow_line_program *program);
/* Reads the next row. Returns false at the end. A row takes at least one byte. */
bool flow_line_program_next(struct flow_line_program *program, struct flow_line_row *row);

/* Sections of names. */
struct flow_line_strings {
	struct common_cursor line_strings, strings;
};

struct flow_line_file {
	const char *name;   /* in a section */
	const char *folder; /* as in the unit; NULL: the compilation folder, which the unit does not name */
};

struct flow_line_names {
	struct flow_line_file *files;
	size_t file_count;
	const char *folder; /* compilation folder; NULL: named in .debug_info (before DWARF 5) */
	bool needs_folder;  /* a name is relative to a folder that the unit does not name */
	bool in_strings;    /* a name is in .debug_str */
	const char **folders;
	size_t folder_count;
};

/*
 * Reads the names. Returns false if the names are damaged, or without memory. The caller frees the names in any case.
 */
bool flow_line_names_read(const struct flow_line_unit *unit, const struct flow_line_strings *strings,
			  struct flow_line_names *names);
void flow_line_names_free(struct flow_line_names *names);

#endif
