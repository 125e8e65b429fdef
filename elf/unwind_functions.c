/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions of stripped files by .eh_frame, which describes each function for unwinding and is not stripped.
 * libdw walks the section. Pointer encodings: LSB core specification, section 10.5.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "elf/state.h"

#define EH_FRAME_MAX ((uint64_t)64 << 20) /* limit for .eh_frame, in bytes; a larger section is ignored */

/* Data of a CIE, the common part of several descriptions of functions (FDEs). */
struct common {
	Dwarf_Off offset;
	uint8_t encoding; /* DW_EH_PE_* encoding of addresses */
	bool sized;       /* FDEs have augmentation data, preceded by its size */
	bool understood;
	bool signal; /* functions are signal trampolines, whose described range starts before their entry */
};

struct unwind {
	const struct elf_file *elf;
	struct elf_symbol_list *symbols;
	struct common_hash_map known; /* start addresses of known functions */
	GElf_Shdr header;
	Elf_Data *data;
	struct common common;
};

/* ---- encodings ------------------------------------------------------------------------------- */

static size_t pointer_size(const struct unwind *unwind, uint8_t encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
		return gelf_getclass(unwind->elf->elf) == ELFCLASS64 ? 8 : 4;
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata8:
		return 8;
	default: /* LEB128, which is not used for addresses */
		return 0;
	}
}

/* Reads a number of this encoding, without adding the base of a relative encoding. */
static uint64_t read_pointer(const struct unwind *unwind, struct common_cursor *cursor, uint8_t encoding)
{
	const size_t size = pointer_size(unwind, encoding);
	const uint64_t value = common_read_le(cursor, (unsigned)size);
	const unsigned unused = 64 - 8 * (unsigned)size;

	return encoding & DW_EH_PE_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static bool is_readable(const struct unwind *unwind, uint8_t encoding)
{
	const unsigned base = encoding & 0x70;

	return encoding != DW_EH_PE_omit && !(encoding & DW_EH_PE_indirect) && pointer_size(unwind, encoding) &&
	       (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static struct common read_common(const struct unwind *unwind, Dwarf_Off offset, const Dwarf_CIE *cie)
{
	struct common common = {.offset = offset, .encoding = DW_EH_PE_absptr};
	struct common_cursor cursor = common_cursor(cie->augmentation_data, cie->augmentation_data_size);
	const char *augmentation = cie->augmentation;

	common.sized = *augmentation == 'z';
	for (augmentation += common.sized; *augmentation; augmentation++) {
		if (*augmentation == 'R') {
			common.encoding = common_read8(&cursor);
		} else if (*augmentation == 'L') {
			(void)common_read8(&cursor);
		} else if (*augmentation == 'P') {
			const uint8_t encoding = common_read8(&cursor);

			(void)common_read_bytes(&cursor, pointer_size(unwind, encoding));
		} else if (*augmentation == 'S') {
			common.signal = true;
		} else {
			return common;
		}
	}
	common.understood = !cursor.failed && is_readable(unwind, common.encoding);
	return common;
}

static bool find_common(struct unwind *unwind, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (unwind->common.offset == offset)
		return unwind->common.understood;
	unwind->common = (struct common){.offset = offset};
	if (dwarf_next_cfi(unwind->elf->header.e_ident, unwind->data, true, offset, &next, &entry) == 0 &&
	    dwarf_cfi_cie_p(&entry))
		unwind->common = read_common(unwind, offset, &entry.cie);
	return unwind->common.understood;
}

/*
 * Whether the stack is in the state after a call when the code starts. If not, the code is a fragment of a function, or
 * a PLT. Checks only the first instruction, where compilers state the difference.
 */
static bool is_as_called(struct common_cursor *instructions)
{
	const uint8_t first = common_cursor_left(instructions) ? common_read8(instructions) : DW_CFA_nop;

	return first != DW_CFA_def_cfa && first != DW_CFA_def_cfa_offset && first != DW_CFA_def_cfa_register &&
	       first != DW_CFA_def_cfa_expression;
}

static int add_function(struct unwind *unwind, uint64_t address, uint64_t size)
{
	const struct ptl_symbol symbol = {.address = address, .size = size, .type = 'u', .name = ""};
	int status;

	if (common_hash_map_get(&unwind->known, address) || !elf_symbol_list_wants(unwind->symbols, address))
		return 0;
	status = common_hash_map_put(&unwind->known, address, 0);
	return status < 0 ? status : elf_symbol_list_add(unwind->symbols, &symbol);
}

static int read_function(struct unwind *unwind, const Dwarf_FDE *fde)
{
	const uint8_t *start = fde->start;
	struct common_cursor cursor = common_cursor(start, (size_t)(fde->end - fde->start));
	uint64_t address, size;

	if (!find_common(unwind, fde->CIE_pointer) || unwind->common.signal)
		return 0;
	address = read_pointer(unwind, &cursor, unwind->common.encoding);
	if ((unwind->common.encoding & 0x70) == DW_EH_PE_pcrel)
		address += unwind->header.sh_addr + (uint64_t)(start - (const uint8_t *)unwind->data->d_buf);
	size = read_pointer(unwind, &cursor, unwind->common.encoding & 0x07);
	if (unwind->common.sized)
		(void)common_read_bytes(&cursor, common_read_varint(&cursor));
	if (cursor.failed || !size || size > UINT64_MAX - address || !is_as_called(&cursor))
		return 0;
	return add_function(unwind, address, size);
}

/* ---- the section ----------------------------------------------------------------------------- */

static int note_known(struct unwind *unwind)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < unwind->symbols->count; i++)
		status = common_hash_map_put(&unwind->known, unwind->symbols->list[i].address, 0);
	return status;
}

static int read_functions(struct unwind *unwind)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	int status = 0, found = 0;

	/* -1: a damaged entry, which is skipped if its length is known. */
	for (; status == 0 && found <= 0; offset = next) {
		next = offset;
		found = dwarf_next_cfi(unwind->elf->header.e_ident, unwind->data, true, offset, &next, &entry);
		if (found < 0 && (next <= offset || next == (Dwarf_Off)-1))
			break;
		if (found == 0 && !dwarf_cfi_cie_p(&entry))
			status = read_function(unwind, &entry.fde);
	}
	return status;
}

int elf_add_unwind_functions(const struct elf_file *elf, struct elf_symbol_list *symbols)
{
	struct unwind unwind = {.elf = elf, .symbols = symbols, .common.offset = (Dwarf_Off)-1};
	Elf_Scn *section = elf_section(elf, SHT_NULL, ".eh_frame", &unwind.header);
	int status;

	if (!section || unwind.header.sh_type == SHT_NOBITS || unwind.header.sh_size > EH_FRAME_MAX)
		return 0;
	unwind.data = elf_rawdata(section, NULL);
	if (!unwind.data || !unwind.data->d_buf)
		return 0;
	status = note_known(&unwind);
	if (status == 0)
		status = read_functions(&unwind);
	common_hash_map_free(&unwind.known);
	return status;
}
