/* SPDX-License-Identifier: BSD-2-Clause */
/* Types without names and qualifiers, and encodings of numbers. */
#include "record/value/type.h"

#include <dwarf.h>
#include <string.h>

#include "elf/dwarf_text.h"

#define NAMES_MAX 32u /* names and qualifiers around a type */

bool value_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, type))
		return false;
	value_type_plain(type);
	return true;
}

/* Finds the definition of a declared structure among the children of a unit or namespace. */
static bool find_definition(Dwarf_Die *within, const char *name, int tag, unsigned depth, Dwarf_Die *found)
{
	Dwarf_Die child;
	int status = dwarf_child(within, &child);

	for (; status == 0; status = dwarf_siblingof(&child, &child)) {
		const char *own = elf_dwarf_name(&child);

		if (dwarf_tag(&child) == tag && own && !strcmp(own, name) &&
		    !dwarf_hasattr(&child, DW_AT_declaration)) {
			*found = child;
			return true;
		}
		if (dwarf_tag(&child) == DW_TAG_namespace && depth &&
		    find_definition(&child, name, tag, depth - 1, found))
			return true;
	}
	return false;
}

static bool define_in(Dwarf *dwarf, Dwarf_Die *type, const char *name)
{
	Dwarf_Off offset = 0, next;
	size_t header;
	Dwarf_Die unit, found;

	for (unsigned i = 0; i < VALUE_UNITS_MAX && dwarf_nextcu(dwarf, offset, &next, &header, NULL, NULL, NULL) == 0;
	     i++, offset = next)
		if (dwarf_offdie(dwarf, offset + header, &unit) &&
		    find_definition(&unit, name, dwarf_tag(type), 4, &found)) {
			*type = found;
			return true;
		}
	return false;
}

static void define(Dwarf_Die *type)
{
	const char *name = elf_dwarf_name(type);
	Dwarf_Attribute attribute;
	Dwarf_Die unit, found;

	if (dwarf_attr(type, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &found)) {
		*type = found;
		return;
	}
	if (!name || !dwarf_diecu(type, &unit, NULL, NULL))
		return;
	if (find_definition(&unit, name, dwarf_tag(type), 4, &found))
		*type = found;
	else
		(void)define_in(dwarf_cu_getdwarf(type->cu), type, name);
}

void value_type_plain(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			if (dwarf_hasattr(type, DW_AT_declaration))
				define(type);
			return;
		default:
			return;
		}
		if (!dwarf_attr(type, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, type))
			return;
	}
}

/* ---- numbers ---------------------------------------------------------------------------------- */

unsigned value_encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	return dwarf_attr(type, DW_AT_encoding, &attribute) && dwarf_formudata(&attribute, &encoding) == 0
		       ? (unsigned)encoding
		       : 0;
}

static bool has_negative(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;
	Dwarf_Sword number;
	int status = dwarf_child(type, &child);

	for (; status == 0; status = dwarf_siblingof(&child, &child))
		if (dwarf_attr(&child, DW_AT_const_value, &attribute) && dwarf_whatform(&attribute) == DW_FORM_sdata &&
		    dwarf_formsdata(&attribute, &number) == 0 && number < 0)
			return true;
	return false;
}

bool value_is_signed(Dwarf_Die *type)
{
	Dwarf_Die under;
	unsigned encoding;

	if (dwarf_tag(type) == DW_TAG_enumeration_type)
		return value_type_of(type, &under) ? value_is_signed(&under) : has_negative(type);
	encoding = value_encoding_of(type);
	return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}
