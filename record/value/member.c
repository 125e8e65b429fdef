/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/member.h"

#include <dwarf.h>
#include <string.h>

#include "elf/dwarf_text.h"

#define DEPTH_MAX 8u       /* base classes and structures without names within each other */
#define MEMBERS_MAX 65536u /* members of a structure that are searched */

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *number)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, number) == 0;
}

/* Describes a bit field by the offset of its lowest bit. */
static void describe_bits(Dwarf_Die *die, uint64_t size, struct value_member *member)
{
	uint64_t at, storage;

	if (!number_of(die, DW_AT_data_bit_offset, &at)) {
		/* The form of DWARF 2: bits from the highest bit of a storage unit. */
		if (!number_of(die, DW_AT_bit_offset, &at) || !number_of(die, DW_AT_byte_size, &storage) ||
		    storage > 8 || at + size > 8 * storage) {
			member->unknown = true;
			return;
		}
		at = 8 * member->offset + 8 * storage - at - size;
	}
	member->offset = at / 8;
	member->bit_at = (unsigned)(at % 8);
	member->bits = (unsigned)size;
	member->bit_bytes = (member->bit_at + member->bits + 7) / 8;
	member->unknown = !size || size > 64 || member->bit_bytes > 8;
}

bool value_member_of(Dwarf_Die *die, struct value_member *member)
{
	uint64_t size;

	*member = (struct value_member){0};
	if (!value_type_of(die, &member->type))
		return false;
	/* Members of unions have no location. */
	if (dwarf_hasattr(die, DW_AT_data_member_location))
		member->unknown = !number_of(die, DW_AT_data_member_location, &member->offset);
	if (member->offset > INT32_MAX)
		member->unknown = true;
	if (number_of(die, DW_AT_bit_size, &size))
		describe_bits(die, size, member);
	return true;
}

static bool find(Dwarf_Die *type, const char *name, unsigned depth, struct value_member *member)
{
	Dwarf_Die child;
	int status = dwarf_child(type, &child);

	for (unsigned i = 0; status == 0 && i < MEMBERS_MAX; i++, status = dwarf_siblingof(&child, &child)) {
		const int tag = dwarf_tag(&child);
		const char *own = elf_dwarf_name(&child);
		struct value_member outer;

		if (tag == DW_TAG_member && own && !strcmp(own, name))
			return !dwarf_hasattr(&child, DW_AT_external) && value_member_of(&child, member);
		if (!depth || !((tag == DW_TAG_member && (!own || !*own)) || tag == DW_TAG_inheritance) ||
		    !value_member_of(&child, &outer) || !find(&outer.type, name, depth - 1, member))
			continue;
		member->offset += outer.offset;
		member->unknown |= outer.unknown;
		return true;
	}
	return false;
}

bool value_member_find(Dwarf_Die *type, const char *name, struct value_member *member)
{
	return find(type, name, DEPTH_MAX, member);
}
