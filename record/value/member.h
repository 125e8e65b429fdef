/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of structures. */
#ifndef RECORD_VALUE_MEMBER_H
#define RECORD_VALUE_MEMBER_H

#include "record/value/type.h"

struct value_member {
	Dwarf_Die type;
	uint64_t offset; /* in bytes from the structure's start */
	bool unknown;    /* the offset is not a constant */
	/* A bit field; bits is 0 otherwise. */
	unsigned bits;
	unsigned bit_at;    /* lowest bit, from `offset` on */
	unsigned bit_bytes; /* bytes to read at `offset` */
};

/* Finds a member by name, also in base classes and in structures without names. */
bool value_member_find(Dwarf_Die *type, const char *name, struct value_member *member);
/* Describes the member of this entry. */
bool value_member_of(Dwarf_Die *die, struct value_member *member);

#endif
