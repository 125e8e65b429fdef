/* SPDX-License-Identifier: BSD-2-Clause */
/* Line programs according to DWARF 5, section 6.2. */
#include "flow/symbol/line_program.h"

#include <dwarf.h>
#include <stdlib.h>

#include "common/vector.h"
#include "flow/symbol/dwarf_section.h"

#define LARGE_UNIT UINT32_MAX /* the following size has 8 bytes */
#define RESERVED 0xfffffff0u  /* first reserved value, which is no size */
#define OLDEST 2
#define NEWEST 5

/* ---- units --------------------------------------------------------------------------------------- */

/* Reads `size` bytes as a separate cursor. The result has failed if fewer bytes are left. */
static struct common_cursor take_cursor(struct common_cursor *from, uint64_t size)
{
	const uint8_t *bytes = common_read_bytes(from, size > SIZE_MAX ? SIZE_MAX : (size_t)size);
	struct common_cursor part = common_cursor(bytes, bytes ? (size_t)size : 0);

	part.failed = !bytes;
	return part;
}

static bool read_header(struct common_cursor bytes, struct flow_line_unit *unit)
{
	const uint16_t version = common_read16(&bytes);

	if (version < OLDEST || version > NEWEST)
		return false;
	if (version >= 5)
		(void)common_read16(&bytes); /* sizes of addresses and segment selectors */
	unit->names = take_cursor(&bytes, common_read_le(&bytes, unit->offset_size));
	unit->program = bytes;
	unit->program.data += bytes.at;
	unit->program.size -= bytes.at;
	unit->program.at = 0;
	unit->minimum_length = common_read8(&unit->names);
	unit->maximum_operations = version >= 4 ? common_read8(&unit->names) : 1;
	(void)common_read8(&unit->names); /* whether rows begin statements by default */
	unit->line_base = (int8_t)common_read8(&unit->names);
	unit->line_range = common_read8(&unit->names);
	unit->opcode_base = common_read8(&unit->names);
	unit->operand_counts = common_read_bytes(&unit->names, unit->opcode_base ? unit->opcode_base - 1u : 0);
	if (bytes.failed || unit->names.failed || !unit->line_range || !unit->opcode_base || !unit->maximum_operations)
		return false;
	unit->version = version;
	return true;
}

bool flow_line_unit_read(struct common_cursor *section, struct flow_line_unit *unit)
{
	uint64_t size = 0;

	*unit = (struct flow_line_unit){.offset_size = 4};
	/* Linkers may leave zeros between units. */
	while (!size && common_cursor_left(section) && !section->failed)
		size = common_read32(section);
	if (size == LARGE_UNIT) {
		unit->offset_size = 8;
		size = common_read64(section);
	} else if (size >= RESERVED) {
		return false;
	}
	if (!size || section->failed || size > common_cursor_left(section))
		return false;
	(void)read_header(take_cursor(section, size), unit);
	return true;
}

/* ---- programs ------------------------------------------------------------------------------------ */

static void reset(struct flow_line_program *program)
{
	program->row = (struct flow_line_row){.file = 1, .line = 1};
	program->operation = 0;
}

void flow_line_program_start(const struct flow_line_unit *unit, struct flow_line_program *program)
{
	program->unit = unit;
	program->bytes = unit->program;
	reset(program);
}

static void advance_address(struct flow_line_program *program, uint64_t operations)
{
	const struct flow_line_unit *const unit = program->unit;

	if (unit->maximum_operations > 1) {
		operations += program->operation;
		program->operation = (uint32_t)(operations % unit->maximum_operations);
		operations /= unit->maximum_operations;
	}
	program->row.address += unit->minimum_length * operations;
}

/* Runs an extended opcode. Returns true at the end of a sequence. */
static bool extended_opcode(struct flow_line_program *program)
{
	struct common_cursor operands = take_cursor(&program->bytes, flow_dwarf_unsigned(&program->bytes));
	uint8_t opcode;

	program->bytes.failed |= operands.failed;
	if (!common_cursor_left(&operands))
		return false;
	opcode = common_read8(&operands);
	if (opcode == DW_LNE_set_address) {
		const size_t size = common_cursor_left(&operands);

		program->bytes.failed |= !size || size > 8;
		program->row.address = size && size <= 8 ? common_read_le(&operands, size) : 0;
		program->operation = 0;
	} else if (opcode == DW_LNE_set_discriminator) {
		program->row.discriminator = (uint32_t)flow_dwarf_unsigned(&operands);
		program->bytes.failed |= operands.failed;
	}
	return opcode == DW_LNE_end_sequence;
}

/* Runs a standard opcode. Returns true if the opcode makes a row. */
static bool standard_opcode(struct flow_line_program *program, uint8_t opcode)
{
	struct common_cursor *const bytes = &program->bytes;

	switch (opcode) {
	case DW_LNS_copy:
		return true;
	case DW_LNS_advance_pc:
		advance_address(program, flow_dwarf_unsigned(bytes));
		break;
	case DW_LNS_advance_line:
		program->row.line += (uint32_t)flow_dwarf_signed(bytes);
		break;
	case DW_LNS_set_file:
		program->row.file = flow_dwarf_unsigned(bytes);
		break;
	case DW_LNS_const_add_pc:
		advance_address(program, (255u - program->unit->opcode_base) / program->unit->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		program->row.address += common_read16(bytes);
		program->operation = 0;
		break;
	default:
		for (unsigned i = 0; i < program->unit->operand_counts[opcode - 1]; i++)
			(void)flow_dwarf_unsigned(bytes);
	}
	return false;
}

bool flow_line_program_next(struct flow_line_program *program, struct flow_line_row *row)
{
	const struct flow_line_unit *const unit = program->unit;

	while (common_cursor_left(&program->bytes)) {
		const uint8_t opcode = common_read8(&program->bytes);
		bool ends = false, makes = true;

		if (opcode >= unit->opcode_base) {
			const unsigned special = opcode - unit->opcode_base;

			advance_address(program, special / unit->line_range);
			program->row.line += (uint32_t)(unit->line_base + (int)(special % unit->line_range));
		} else if (!opcode) {
			makes = ends = extended_opcode(program);
		} else {
			makes = standard_opcode(program, opcode);
		}
		if (program->bytes.failed)
			return false;
		if (!makes)
			continue;
		*row = program->row;
		row->ends = ends;
		program->row.discriminator = 0;
		if (ends)
			reset(program);
		return true;
	}
	return false;
}

/* ---- names --------------------------------------------------------------------------------------- */

struct reading {
	struct common_cursor bytes;
	const struct flow_line_strings *strings;
	uint8_t offset_size;
	struct flow_line_names *names;
};

/* Reads a text. For a text without an end, the cursor fails, and the result is "". */
static const char *read_text(struct common_cursor *bytes)
{
	const uint8_t *const text = bytes->data + bytes->at;
	const uint8_t *const end = common_cursor_left(bytes) ? memchr(text, 0, common_cursor_left(bytes)) : NULL;

	if (!end) {
		bytes->failed = true;
		return "";
	}
	bytes->at += (size_t)(end - text) + 1;
	return (const char *)text;
}

static const char *text_at(struct reading *reading, struct common_cursor section)
{
	const uint64_t offset = common_read_le(&reading->bytes, reading->offset_size);
	const char *text;

	section.at = offset < section.size ? (size_t)offset : section.size;
	text = read_text(&section);
	reading->bytes.failed |= section.failed;
	return text;
}

static bool add_folder(struct flow_line_names *names, const char *folder)
{
	if (!common_vector_room(&names->folders, names->folder_count, sizeof(*names->folders)))
		return false;
	names->folders[names->folder_count++] = folder;
	return true;
}

static bool add_file(struct flow_line_names *names, const char *name, uint64_t folder)
{
	if (!common_vector_room(&names->files, names->file_count, sizeof(*names->files)))
		return false;
	names->files[names->file_count++] = (struct flow_line_file){name, names->folders[folder]};
	return true;
}

/* Reads the names of DWARF 2 to 4. Each table ends with an empty text. */
static bool read_old(struct reading *reading)
{
	struct common_cursor *const bytes = &reading->bytes;
	struct flow_line_names *const names = reading->names;
	const char *text;

	/* Numbers begin with 1. Folder 0 is the compilation folder, and file 0 is not used. */
	if (!add_folder(names, NULL) || !add_file(names, "", 0))
		return false;
	while (*(text = read_text(bytes)))
		if (!add_folder(names, text))
			return false;
	while (*(text = read_text(bytes))) {
		const uint64_t folder = flow_dwarf_unsigned(bytes);

		(void)flow_dwarf_unsigned(bytes); /* time of the last change */
		(void)flow_dwarf_unsigned(bytes); /* size in bytes */
		if (bytes->failed || folder >= names->folder_count || !add_file(names, text, folder))
			return false;
		if (*text != '/' && (!folder || *names->folders[folder] != '/'))
			names->needs_folder = true;
	}
	return !bytes->failed;
}

/* Reads a value: a text or a number; other values are skipped. For an unknown form, the cursor fails. */
static void read_form(struct reading *reading, uint64_t form, const char **text, uint64_t *number)
{
	struct common_cursor *const bytes = &reading->bytes;

	switch (form) {
	case DW_FORM_string:
		*text = read_text(bytes);
		break;
	case DW_FORM_line_strp:
		*text = text_at(reading, reading->strings->line_strings);
		break;
	case DW_FORM_strp:
		*text = text_at(reading, reading->strings->strings);
		reading->names->in_strings = true;
		break;
	case DW_FORM_udata:
		*number = flow_dwarf_unsigned(bytes);
		break;
	case DW_FORM_data1:
		*number = common_read8(bytes);
		break;
	case DW_FORM_data2:
		*number = common_read16(bytes);
		break;
	case DW_FORM_data4:
		*number = common_read32(bytes);
		break;
	case DW_FORM_data8:
		*number = common_read64(bytes);
		break;
	case DW_FORM_data16: /* a checksum */
		(void)common_read_bytes(bytes, 16);
		break;
	case DW_FORM_block:
		(void)take_cursor(bytes, flow_dwarf_unsigned(bytes));
		break;
	default:
		bytes->failed = true;
	}
}

/* Content and form of a column in a DWARF 5 table. */
struct format {
	uint64_t content, form;
};

static bool read_table(struct reading *reading, bool files)
{
	struct common_cursor *const bytes = &reading->bytes;
	struct format formats[UINT8_MAX];
	const size_t format_count = common_read8(bytes);
	uint64_t count;

	for (size_t i = 0; i < format_count; i++) {
		formats[i].content = flow_dwarf_unsigned(bytes);
		formats[i].form = flow_dwarf_unsigned(bytes);
	}
	count = flow_dwarf_unsigned(bytes);
	/* An entry has at least one byte, so the table cannot be longer than the rest of the unit. */
	if (bytes->failed || (count && !format_count))
		return false;
	for (uint64_t entry = 0; entry < count; entry++) {
		const char *name = "";
		uint64_t folder = 0;

		for (size_t i = 0; i < format_count; i++) {
			const char *text = "";
			uint64_t number = 0;

			read_form(reading, formats[i].form, &text, &number);
			if (formats[i].content == DW_LNCT_path)
				name = text;
			else if (formats[i].content == DW_LNCT_directory_index)
				folder = number;
		}
		if (bytes->failed || (files && folder >= reading->names->folder_count))
			return false;
		if (files ? !add_file(reading->names, name, folder) : !add_folder(reading->names, name))
			return false;
	}
	return true;
}

bool flow_line_names_read(const struct flow_line_unit *unit, const struct flow_line_strings *strings,
			  struct flow_line_names *names)
{
	struct reading reading = {unit->names, strings, unit->offset_size, names};

	*names = (struct flow_line_names){0};
	if (unit->version < 5)
		return read_old(&reading);
	if (!read_table(&reading, false) || !read_table(&reading, true))
		return false;
	names->folder = names->folder_count ? names->folders[0] : NULL;
	return true;
}

void flow_line_names_free(struct flow_line_names *names)
{
	free(names->folders);
	free(names->files);
}
