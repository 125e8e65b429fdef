/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads .debug_line of DWARF 2 to 5: units, each with names of files and a program that makes rows. Unlike libdw it needs no entry of
 * .debug_info to find a unit, and keeps no row.
 */
#ifndef FLOW_SYMBOL_LINE_PROGRAM_H
#define FLOW_SYMBOL_LINE_PROGRAM_H

#include "common/bytes.h"

struct flow_line_unit {
	struct common_cursor names; /* tables of folders and files */
	struct common_cursor program;
	const uint8_t *operand_counts; /* of the standard opcodes, from 1 */
	uint16_t version;              /* 0: one that is not known, or a damaged header */
	uint8_t offset_size;           /* 4 or 8 */
	uint8_t minimum_length, maximum_operations, line_range, opcode_base;
	int8_t line_base;
};

/* The unit at the cursor, which moves to the next; false at the end, and where it is not known where the next is. */
bool flow_line_unit_read(struct common_cursor *section, struct flow_line_unit *unit);

struct flow_line_row {
	uint64_t address;
	uint64_t file; /* by its number in the unit */
	uint32_t line;
	bool ends; /* a sequence: its address is the first one behind it */
};

struct flow_line_program {
	const struct flow_line_unit *unit;
	struct common_cursor bytes; /* has failed: it is damaged */
	struct flow_line_row row;
	uint32_t operation; /* within an instruction of several */
};

void flow_line_program_start(const struct flow_line_unit *unit, struct flow_line_program *program);
/* The next row; false at the end. A row takes a byte at least. */
bool flow_line_program_next(struct flow_line_program *program, struct flow_line_row *row);

/* The sections that names lie in. */
struct flow_line_strings {
	struct common_cursor line_strings, strings;
};

struct flow_line_file {
	const char *name;   /* in a section */
	const char *folder; /* as it is said; NULL: the one of the compilation, where that is not said here */
};

struct flow_line_names {
	struct flow_line_file *files;
	size_t file_count;
	const char *folder; /* of the compilation; NULL: .debug_info has it, as before DWARF 5 */
	bool needs_folder;  /* some name counts from a folder that is not said here */
	bool in_strings;    /* some name is in .debug_str */
	const char **folders;
	size_t folder_count;
};

/* False where they are damaged, or without memory. Free in any case. */
bool flow_line_names_read(const struct flow_line_unit *unit, const struct flow_line_strings *strings,
			  struct flow_line_names *names);
void flow_line_names_free(struct flow_line_names *names);

#endif
