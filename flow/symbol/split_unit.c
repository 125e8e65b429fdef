/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of split DWARF: an entry of a .dwo file has an index into the skeleton's table of addresses. DWARF 5,
 * section 7.3.2.
 */
#include "flow/symbol/split_unit.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

#include "elf/dwarf_open.h"
#include "elf/split_search.h"
#include "flow/symbol/dwarf_section.h"

#define ADDRESS 8u             /* bytes of an address of x86-64 */
#define RANGES_HEADER 12u      /* header bytes of a table of range lists, DWARF 5 */
#define SELECT_BASE UINT64_MAX /* DWARF 4: the pair is no range, but sets the base of the following ranges */

static uint64_t read_at(struct common_cursor table, uint64_t offset, size_t size, bool *failed)
{
	uint64_t value = 0;

	if (offset > table.size || size > table.size - offset)
		*failed = true;
	else
		value = common_load_le(table.data + offset, size);
	return value;
}

static uint64_t address_at(const struct flow_split_unit *split, uint64_t index, bool *failed)
{
	return index < split->addresses.size / ADDRESS ? read_at(split->addresses, index * ADDRESS, ADDRESS, failed)
						       : read_at(split->addresses, UINT64_MAX, ADDRESS, failed);
}

/* ---- opening ------------------------------------------------------------------------------------- */

/*
 * Returns the section from the offset in either of the skeleton's attributes on; without these attributes, the whole
 * section.
 */
static struct common_cursor from_base(struct common_cursor section, Dwarf_Die *skeleton, unsigned name, unsigned old)
{
	Dwarf_Attribute attribute;
	Dwarf_Word base = 0;

	if ((dwarf_attr(skeleton, name, &attribute) || dwarf_attr(skeleton, old, &attribute)) &&
	    dwarf_formudata(&attribute, &base) != 0)
		base = 0;
	if (base > section.size)
		return common_cursor(NULL, 0);
	return common_cursor(section.data + base, section.size - base);
}

bool flow_split_open(Dwarf_Die *skeleton, uint64_t id, uint8_t *data, size_t size, struct flow_split_unit *split)
{
	Elf *const elf = dwarf_getelf(dwarf_cu_getdwarf(skeleton->cu));
	Dwarf_Half version = 0;
	uint8_t address_size = 0;
	Dwarf_Addr base;

	*split = (struct flow_split_unit){.elf = elf_memory((char *)data, size)};
	if (split->elf && elf_kind(split->elf) == ELF_K_ELF)
		split->dwarf = elf_dwarf_open(split->elf);
	if (!split->dwarf || !elf_split_find(split->dwarf, id, &split->die) ||
	    dwarf_cu_info(split->die.cu, &version, NULL, NULL, NULL, NULL, &address_size, NULL) != 0 ||
	    address_size != ADDRESS)
		return false;
	split->old = version < 5;
	split->entries = flow_dwarf_section(split->elf, "debug_info.dwo");
	split->addresses = from_base(flow_dwarf_section(elf, "debug_addr"), skeleton, DW_AT_addr_base,
				     DW_AT_GNU_addr_base);
	split->ranges = split->old ? from_base(flow_dwarf_section(elf, "debug_ranges"), skeleton, DW_AT_GNU_ranges_base,
					       DW_AT_GNU_ranges_base)
				   : flow_dwarf_section(split->elf, "debug_rnglists.dwo");
	split->base = dwarf_lowpc(skeleton, &base) == 0 ? base : 0;
	return true;
}

void flow_split_close(struct flow_split_unit *split)
{
	dwarf_end(split->dwarf);
	elf_end(split->elf);
}

/* ---- values of attributes ------------------------------------------------------------------------ */

/* Returns a cursor at an attribute's value. */
static struct common_cursor value_of(const struct flow_split_unit *split, const Dwarf_Attribute *attribute)
{
	struct common_cursor value = split->entries;

	if (attribute->valp < value.data || attribute->valp >= value.data + value.size)
		return common_cursor(NULL, 0);
	value.at = (size_t)(attribute->valp - value.data);
	return value;
}

/* Reads an index into the table of addresses. Returns false if the form is no index. */
static bool read_index(const struct flow_split_unit *split, const Dwarf_Attribute *attribute, uint64_t *index,
		       bool *failed)
{
	struct common_cursor value = value_of(split, attribute);

	switch (attribute->form) {
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*index = flow_dwarf_unsigned(&value);
		break;
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
		*index = common_read_le(&value, attribute->form - DW_FORM_addrx1 + 1);
		break;
	default:
		return false;
	}
	*failed |= value.failed;
	return true;
}

static uint64_t read_address(const struct flow_split_unit *split, Dwarf_Attribute *attribute, bool *failed)
{
	Dwarf_Addr address = 0;
	uint64_t index;

	if (read_index(split, attribute, &index, failed))
		return address_at(split, index, failed);
	*failed |= dwarf_formaddr(attribute, &address) != 0;
	return address;
}

/* ---- one range ----------------------------------------------------------------------------------- */

static bool single_range(const struct flow_split_unit *split, Dwarf_Die *die, uint64_t *first, uint64_t *end)
{
	Dwarf_Attribute low, high;
	bool failed = false;
	Dwarf_Word size;
	uint64_t index;

	if (!dwarf_attr(die, DW_AT_low_pc, &low) || !dwarf_attr(die, DW_AT_high_pc, &high))
		return false;
	*first = read_address(split, &low, &failed);
	if (high.form == DW_FORM_addr || read_index(split, &high, &index, &failed)) {
		*end = read_address(split, &high, &failed);
	} else {
		failed |= dwarf_formudata(&high, &size) != 0;
		*end = failed ? 0 : *first + size;
	}
	return !failed;
}

/* ---- lists of ranges ----------------------------------------------------------------------------- */

/* Finds the range list of an entry. */
static bool find_list(const struct flow_split_unit *split, Dwarf_Die *die, struct common_cursor *list)
{
	Dwarf_Attribute attribute;
	struct common_cursor value;
	bool failed = false;
	uint64_t offset;

	if (!dwarf_attr(die, DW_AT_ranges, &attribute))
		return false;
	value = value_of(split, &attribute);
	if (attribute.form == DW_FORM_rnglistx) {
		/* The offsets of lists follow the header, and count from the header's end. */
		const uint64_t index = flow_dwarf_unsigned(&value);

		failed = index >= split->ranges.size;
		offset = failed ? 0 : RANGES_HEADER + read_at(split->ranges, RANGES_HEADER + 4 * index, 4, &failed);
	} else {
		offset = common_read32(&value);
		failed = attribute.form != DW_FORM_sec_offset && attribute.form != DW_FORM_data4;
	}
	*list = split->ranges;
	if (failed || value.failed || offset > list->size)
		return false;
	list->at = (size_t)offset;
	return true;
}

/* Reads the next range of DWARF 4: pairs of addresses relative to the base. */
static bool next_pair(struct flow_split_walk *walk, uint64_t *first, uint64_t *end)
{
	while (!walk->list.failed) {
		*first = common_read64(&walk->list);
		*end = common_read64(&walk->list);
		if (!*first && !*end)
			return false;
		if (*first != SELECT_BASE) {
			*first += walk->base;
			*end += walk->base;
			return !walk->list.failed;
		}
		walk->base = *end;
	}
	return false;
}

/* Reads the next range of DWARF 5: each entry begins with its kind. */
static bool next_entry(const struct flow_split_unit *split, struct flow_split_walk *walk, uint64_t *first,
		       uint64_t *end)
{
	struct common_cursor *const list = &walk->list;
	bool failed = false;

	while (!list->failed && !failed) {
		switch (common_read8(list)) {
		case DW_RLE_base_addressx:
			walk->base = address_at(split, flow_dwarf_unsigned(list), &failed);
			continue;
		case DW_RLE_base_address:
			walk->base = common_read64(list);
			continue;
		case DW_RLE_startx_endx:
			*first = address_at(split, flow_dwarf_unsigned(list), &failed);
			*end = address_at(split, flow_dwarf_unsigned(list), &failed);
			break;
		case DW_RLE_startx_length:
			*first = address_at(split, flow_dwarf_unsigned(list), &failed);
			*end = *first + flow_dwarf_unsigned(list);
			break;
		case DW_RLE_offset_pair:
			*first = walk->base + flow_dwarf_unsigned(list);
			*end = walk->base + flow_dwarf_unsigned(list);
			break;
		case DW_RLE_start_end:
			*first = common_read64(list);
			*end = common_read64(list);
			break;
		case DW_RLE_start_length:
			*first = common_read64(list);
			*end = *first + flow_dwarf_unsigned(list);
			break;
		default: /* DW_RLE_end_of_list, or an unknown kind */
			return false;
		}
		return !list->failed && !failed;
	}
	return false;
}

bool flow_split_range(const struct flow_split_unit *split, Dwarf_Die *die, struct flow_split_walk *walk,
		      uint64_t *first, uint64_t *end)
{
	if (walk->state == FLOW_SPLIT_START) {
		walk->state = FLOW_SPLIT_END;
		if (single_range(split, die, first, end))
			return true;
		if (!find_list(split, die, &walk->list))
			return false;
		walk->state = FLOW_SPLIT_LIST;
		walk->base = split->base;
	}
	if (walk->state == FLOW_SPLIT_LIST &&
	    (split->old ? next_pair(walk, first, end) : next_entry(split, walk, first, end)))
		return true;
	walk->state = FLOW_SPLIT_END;
	return false;
}
