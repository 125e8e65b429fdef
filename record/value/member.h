/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of structures, and the parts of values that lead to members. */
#ifndef RECORD_VALUE_MEMBER_H
#define RECORD_VALUE_MEMBER_H

#include "record/value/type.h"

#define VALUE_UNITS_MAX 100000u /* units of a file that are searched */

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

/* ---- type.c ---------------------------------------------------------------------------------- */

/* Becomes the member. */
void value_take_member(struct value_object *object, const char *name);
void value_take_found(struct value_object *object, const struct value_member *member);
/* Becomes what the pointer or reference leads to. */
void value_follow(struct value_object *object);
void value_follow_references(struct value_object *object);

/* ---- field.c --------------------------------------------------------------------------------- */

bool value_is_signed(Dwarf_Die *type);

#endif
