/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/access.h"

#include <dwarf.h>
#include <stdio.h>

#define REFERENCES_MAX 32u /* references to references */

static void lose(struct value_object *object, const char *why)
{
	object->location = value_absent(why);
}

/* Turns the address of the object in memory, or the object in a register, into a number. */
static void load(struct value_object *object, unsigned size)
{
	struct value_location *location = &object->location;

	if (location->where == VALUE_MEMORY)
		value_step_load(&location->parts[0].steps, size);
	location->where = VALUE_REGISTER;
}

void value_follow(struct value_object *object)
{
	struct value_location *location = &object->location;

	if (location->where == VALUE_ABSENT)
		return;
	if (location->where == VALUE_REGISTER && location->part_count > 1) {
		lose(object, "its location is too complex");
		return;
	}
	load(object, 8);
	location->where = VALUE_MEMORY;
	location->in_frame = location->in_caller = false;
	object->has_type = value_type_of(&object->type, &object->type);
	if (!object->has_type)
		lose(object, "a pointer without a type");
}

void value_follow_references(struct value_object *object)
{
	for (unsigned i = 0; i < REFERENCES_MAX && object->has_type &&
			     (dwarf_tag(&object->type) == DW_TAG_reference_type ||
			      dwarf_tag(&object->type) == DW_TAG_rvalue_reference_type);
	     i++)
		value_follow(object);
}

/* Selects bytes of an object that is in registers, from `offset` on. */
static void select_bytes(struct value_object *object, uint64_t offset)
{
	struct value_location *location = &object->location;
	unsigned part = 0;

	while (part < location->part_count && location->parts[part].size && offset >= location->parts[part].size)
		offset -= location->parts[part++].size;
	if (part == location->part_count || offset >= 8) {
		lose(object, "a part of it is optimized out");
		return;
	}
	location->parts[0] = location->parts[part];
	location->parts[0].size = 0;
	location->part_count = 1;
	if (offset)
		value_step(&location->parts[0].steps, CHANNEL_VALUE_RIGHT, 0, (int64_t)(8 * offset));
}

/* Selects a part of the object at an offset in bytes. */
static void advance(struct value_object *object, uint64_t offset)
{
	if (object->location.where == VALUE_MEMORY)
		value_step(&object->location.parts[0].steps, CHANNEL_VALUE_ADD, 0, (int64_t)offset);
	else if (object->location.where == VALUE_REGISTER && (offset || object->location.part_count > 1))
		select_bytes(object, offset);
}

void value_take_member(struct value_object *object, const char *name)
{
	struct value_member member;
	char why[sizeof(object->location.why)];

	value_follow_references(object);
	if (object->has_type && dwarf_tag(&object->type) == DW_TAG_pointer_type)
		value_follow(object);
	if (object->location.where == VALUE_ABSENT)
		return;
	if (!value_member_find(&object->type, name, &member)) {
		snprintf(why, sizeof(why), "its type has no member '%s'", name);
		lose(object, why);
		return;
	}
	value_take_found(object, &member);
}

void value_take_found(struct value_object *object, const struct value_member *member)
{
	if (member->unknown) {
		lose(object, "a member of a virtual base class, or of unknown place");
		return;
	}
	advance(object, member->offset);
	object->type = member->type;
	if (!member->bits || object->location.where == VALUE_ABSENT)
		return;
	/* A bit field: the bytes that contain it are read, and the bits moved. */
	load(object, member->bit_bytes);
	value_step(&object->location.parts[0].steps, CHANNEL_VALUE_LEFT, 0,
		   64 - (int64_t)member->bits - (int64_t)member->bit_at);
	value_step(&object->location.parts[0].steps,
		   value_is_signed(&object->type) ? CHANNEL_VALUE_SIGNED : CHANNEL_VALUE_RIGHT, 0,
		   64 - (int64_t)member->bits);
}

static void take_element(struct value_object *object, uint64_t index)
{
	const bool is_pointer = object->has_type && dwarf_tag(&object->type) == DW_TAG_pointer_type;
	Dwarf_Word size;

	value_follow_references(object);
	if (is_pointer)
		value_follow(object);
	if (object->location.where == VALUE_ABSENT)
		return;
	if (!is_pointer &&
	    (dwarf_tag(&object->type) != DW_TAG_array_type || !value_type_of(&object->type, &object->type))) {
		lose(object, "it has no elements: it is no array and no pointer");
		return;
	}
	if (dwarf_aggregate_size(&object->type, &size) != 0 || (size && index > INT32_MAX / size))
		lose(object, "the size of its elements is unknown");
	else
		advance(object, index * size);
}

void value_access(struct value_object *object, const struct value_expression *expression)
{
	for (unsigned i = 0; i < expression->access_count && object->location.where != VALUE_ABSENT; i++) {
		const struct value_access *access = &expression->accesses[i];

		switch (access->kind) {
		case VALUE_MEMBER:
			value_take_member(object, access->name);
			break;
		case VALUE_INDEX:
			take_element(object, access->index);
			break;
		case VALUE_TARGET:
			value_follow_references(object);
			if (object->has_type && dwarf_tag(&object->type) == DW_TAG_pointer_type)
				value_follow(object);
			else if (object->has_type && dwarf_tag(&object->type) == DW_TAG_array_type)
				take_element(object, 0);
			else
				lose(object, "it is no pointer");
			break;
		}
	}
}
