/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes fields of located values by their types. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "elf/dwarf_text.h"
#include "format/event/integer_type.h"
#include "record/value/access.h"

#define MEMBERS_MAX 32u /* fields of a structure */
#define DEPTH_MAX 8u    /* structures within each other */

void value_fields_free(struct value_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		free(fields->list[i].name);
	*fields = (struct value_fields){0};
}

/* ---- numbers --------------------------------------------------------------------------------- */

static unsigned size_of(Dwarf_Die *type)
{
	Dwarf_Word size;

	if (dwarf_tag(type) == DW_TAG_pointer_type || dwarf_tag(type) == DW_TAG_unspecified_type)
		return 8;
	return dwarf_aggregate_size(type, &size) == 0 && size <= UINT32_MAX ? (unsigned)size : 0;
}

static bool is_named(Dwarf_Die *type, const char *name)
{
	const char *own = elf_dwarf_name(type);

	return own && !strcmp(own, name);
}

static bool is_character(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_base_type && size_of(type) == 1 &&
	       (is_named(type, "char") || is_named(type, "char8_t"));
}

/* Returns the type of a field for a number of this base type; 0: none. */
static uint8_t number_type(Dwarf_Die *type, unsigned size, uint8_t *format)
{
	switch (value_encoding_of(type)) {
	case DW_ATE_boolean:
		return size == 1 ? PTL_TYPE_BOOL8 : format_integer_type(size, false);
	case DW_ATE_float:
		return size == 4 ? PTL_TYPE_F32 : size == 8 ? PTL_TYPE_F64 : 0;
	case DW_ATE_UTF:
		*format = PTL_FORMAT_STRING;
		return format_integer_type(size, false);
	case DW_ATE_signed:
	case DW_ATE_unsigned:
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		*format = is_character(type) ? PTL_FORMAT_STRING : PTL_FORMAT_DEFAULT;
		return format_integer_type(size, value_is_signed(type));
	case DW_ATE_address:
		return size == 8 ? PTL_TYPE_POINTER : 0;
	default:
		return 0;
	}
}

bool value_is_scalar(Dwarf_Die *type, bool *vector)
{
	const int tag = dwarf_tag(type);
	const unsigned size = size_of(type);

	*vector = tag == DW_TAG_base_type && value_encoding_of(type) == DW_ATE_float;
	if (tag == DW_TAG_base_type)
		return *vector ? size == 4 || size == 8
			       : size && size <= 8 && value_encoding_of(type) != DW_ATE_complex_float;
	return tag == DW_TAG_enumeration_type || tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static struct value_field *add_field(struct value_fields *fields, const char *name)
{
	struct value_field *field = &fields->list[fields->count];
	char *copy = strdup(name);

	if (!copy)
		return NULL;
	*field = (struct value_field){.name = copy, .type = PTL_TYPE_UTF8};
	fields->count++;
	return field;
}

static void set_absent(struct value_field *field, const char *why)
{
	*field = (struct value_field){.name = field->name, .type = PTL_TYPE_UTF8};
	snprintf(field->why, sizeof(field->why), "<%s>", why);
}

/* Sets the steps that compute a number of `size` bytes, or the address in a pointer. */
static bool set_steps(struct value_object *object, unsigned size, struct value_steps *steps)
{
	struct value_location *location = &object->location;

	if (location->where == VALUE_ABSENT || location->part_count != 1)
		return false;
	if (location->where == VALUE_MEMORY)
		value_step_load(&location->parts[0].steps, size);
	location->where = VALUE_REGISTER;
	*steps = location->parts[0].steps;
	return !steps->overflow;
}

static void set_number(struct value_field *field, struct value_object *object, uint8_t type, unsigned size)
{
	if (!type) {
		set_absent(field, "values of this type are not read");
		return;
	}
	if (!set_steps(object, size, &field->steps)) {
		set_absent(field, object->location.where == VALUE_ABSENT ? object->location.why
									 : "its location is too complex");
		return;
	}
	field->kind = CHANNEL_VALUE_NUMBER;
	field->type = type;
	field->size = (uint8_t)size;
}

static void set_text(struct value_field *field, uint8_t kind)
{
	field->kind = kind;
	field->type = PTL_TYPE_UTF8_COUNTED;
}

static void set_pointer(struct value_field *field, struct value_object *object)
{
	Dwarf_Die target;

	set_number(field, object, PTL_TYPE_POINTER, 8);
	if (field->kind == CHANNEL_VALUE_NUMBER && value_type_of(&object->type, &target) && is_character(&target))
		set_text(field, CHANNEL_VALUE_STRING);
}

/* An array of characters: a string that fills the array, or ends before. */
static void set_array(struct value_field *field, struct value_object *object)
{
	const unsigned size = size_of(&object->type);
	Dwarf_Die element;

	if (!value_type_of(&object->type, &element) || !is_character(&element) || !size ||
	    object->location.where != VALUE_MEMORY || object->location.parts[0].steps.overflow) {
		set_absent(field, "an array: name an element, such as [0]");
		return;
	}
	set_text(field, CHANNEL_VALUE_STRING);
	field->steps = object->location.parts[0].steps;
	value_step(&field->length, CHANNEL_VALUE_CONSTANT, 0, size);
}

/* ---- text in structures ---------------------------------------------------------------------- */

/* Descends to the first pointer in a structure. */
static void take_first_pointer(struct value_object *object)
{
	for (unsigned i = 0; i < DEPTH_MAX && object->has_type && dwarf_tag(&object->type) != DW_TAG_pointer_type;
	     i++) {
		struct value_member member;
		Dwarf_Die child;
		int status = dwarf_child(&object->type, &child);

		while (status == 0 && (dwarf_tag(&child) != DW_TAG_member || !value_member_of(&child, &member) ||
				       (dwarf_tag(&member.type) != DW_TAG_pointer_type &&
					dwarf_tag(&member.type) != DW_TAG_structure_type)))
			status = dwarf_siblingof(&child, &child);
		if (status != 0)
			break;
		value_take_found(object, &member);
	}
}

static const struct {
	const char *type;      /* beginning of the type's name */
	const char *text[3];   /* path of members to the pointer; of the last, the first pointer */
	const char *length[2]; /* path of members to the length */
} text_types[] = {
	/* Clang may describe the structure of the pointer without members. */
	{"basic_string<char,", {"_M_dataplus"}, {"_M_string_length"}},
	{"basic_string_view<char,", {"_M_str"}, {"_M_len"}},
	{"&str", {"data_ptr"}, {"length"}},
	{"&mut str", {"data_ptr"}, {"length"}},
	{"String", {"vec", "buf"}, {"vec", "len"}},
	{"string", {"str"}, {"len"}},
};

/* Makes a field of a structure that holds text: a string of C++'s standard library, of Rust or of Go. */
static bool set_structure_text(struct value_field *field, const struct value_object *object)
{
	const char *name = elf_dwarf_name(&((struct value_object *)(uintptr_t)object)->type);

	for (size_t i = 0; name && i < sizeof(text_types) / sizeof(text_types[0]); i++) {
		struct value_object text = *object, length = *object;

		if (strncmp(name, text_types[i].type, strlen(text_types[i].type)) != 0)
			continue;
		for (unsigned j = 0; j < 3 && text_types[i].text[j]; j++)
			value_take_member(&text, text_types[i].text[j]);
		take_first_pointer(&text);
		for (unsigned j = 0; j < 2 && text_types[i].length[j]; j++)
			value_take_member(&length, text_types[i].length[j]);
		if (dwarf_tag(&length.type) == DW_TAG_structure_type)
			return false;
		if (!set_steps(&text, 8, &field->steps) || !set_steps(&length, 8, &field->length))
			return false;
		set_text(field, CHANNEL_VALUE_COUNTED);
		return true;
	}
	return false;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool has_child(Dwarf_Die *type, int tag)
{
	Dwarf_Die child;
	int status = dwarf_child(type, &child);

	while (status == 0 && dwarf_tag(&child) != tag)
		status = dwarf_siblingof(&child, &child);
	return status == 0;
}

static int add_object(struct value_fields *fields, const char *name, struct value_object *object, unsigned depth);

/* Adds a field for each member. */
static int add_members(struct value_fields *fields, const char *name, const struct value_object *object, unsigned depth)
{
	Dwarf_Die child, *type = &((struct value_object *)(uintptr_t)object)->type;
	int found = dwarf_child(type, &child), status = 0;
	unsigned count = 0;

	for (; status == 0 && found == 0; found = dwarf_siblingof(&child, &child)) {
		const int tag = dwarf_tag(&child);
		const char *own = elf_dwarf_name(&child);
		struct value_object part = *object;
		struct value_member member;
		char *whole = NULL;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(&child, DW_AT_external) ||
		    !value_member_of(&child, &member))
			continue;
		if (count++ == MEMBERS_MAX) {
			fields->left_out++;
			count--;
			continue;
		}
		value_take_found(&part, &member);
		if (tag == DW_TAG_member && own && *own && asprintf(&whole, "%s.%s", name, own) < 0)
			return common_fail_memory("a field", strlen(name));
		status = add_object(fields, whole ? whole : name, &part, depth - 1);
		free(whole);
	}
	return status;
}

static const char *why_no_structure(Dwarf_Die *type, unsigned depth)
{
	if (has_child(type, DW_TAG_variant_part))
		return "a value with variants: name a member";
	if (dwarf_hasattr(type, DW_AT_declaration))
		return "a structure without a definition";
	return depth ? NULL : "a structure: name a member";
}

static void set_field(struct value_field *field, struct value_object *object)
{
	const int tag = dwarf_tag(&object->type);
	const unsigned size = size_of(&object->type);

	switch (tag) {
	case DW_TAG_base_type:
		set_number(field, object, number_type(&object->type, size, &field->format), size);
		break;
	case DW_TAG_enumeration_type:
		field->map = object->type;
		field->has_map = true;
		set_number(field, object, format_integer_type(size, value_is_signed(&object->type)), size);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_unspecified_type:
		set_pointer(field, object);
		break;
	case DW_TAG_array_type:
		set_array(field, object);
		break;
	default:
		set_absent(field, "values of this type are not read");
		break;
	}
}

static bool holds_text(Dwarf_Die *type)
{
	const char *name = elf_dwarf_name(type);

	for (size_t i = 0; name && i < sizeof(text_types) / sizeof(text_types[0]); i++)
		if (!strncmp(name, text_types[i].type, strlen(text_types[i].type)))
			return true;
	return false;
}

static bool is_rust_reference(Dwarf_Die *type)
{
	const char *name = dwarf_tag(type) == DW_TAG_pointer_type ? elf_dwarf_name(type) : NULL;

	return name && *name == '&';
}

/*
 * Follows the references of Rust, which are pointers, to a number, an enumeration or text. A reference to another
 * structure, as of self, stays an address.
 */
static void follow_rust_references(struct value_object *object)
{
	Dwarf_Die target = object->type;
	unsigned count = 0;

	while (count < DEPTH_MAX && is_rust_reference(&target) && value_type_of(&target, &target))
		count++;
	if (!count || is_rust_reference(&target) ||
	    (dwarf_tag(&target) != DW_TAG_base_type && dwarf_tag(&target) != DW_TAG_enumeration_type &&
	     !holds_text(&target)))
		return;
	while (count--)
		value_follow(object);
}

static int add_object(struct value_fields *fields, const char *name, struct value_object *object, unsigned depth)
{
	struct value_field *field;
	const char *why = NULL;

	value_follow_references(object);
	if (object->has_type)
		follow_rust_references(object);
	if (fields->count == CHANNEL_VALUE_PLAN_FIELDS_MAX) {
		fields->left_out++;
		return 0;
	}
	field = add_field(fields, name);
	if (!field)
		return common_fail_memory("a field", strlen(name));
	if (object->location.where == VALUE_ABSENT || !object->has_type) {
		set_absent(field, object->location.where == VALUE_ABSENT ? object->location.why : "it has no type");
	} else if (!is_structure(dwarf_tag(&object->type))) {
		set_field(field, object);
	} else if (!set_structure_text(field, object)) {
		why = why_no_structure(&object->type, depth);
		if (why) {
			set_absent(field, why);
			return 0;
		}
		free(field->name);
		fields->count--;
		return add_members(fields, name, object, depth);
	}
	return 0;
}

int value_fields_add(struct value_fields *fields, const char *name, struct value_object *object)
{
	const size_t before = fields->count;
	const int status = add_object(fields, name, object, 2);

	/* A structure without members. */
	if (status == 0 && fields->count == before && before < CHANNEL_VALUE_PLAN_FIELDS_MAX && !fields->left_out) {
		struct value_field *field = add_field(fields, name);

		if (!field)
			return common_fail_memory("a field", strlen(name));
		set_absent(field, "a structure without members");
	}
	return status;
}

/* ---- results --------------------------------------------------------------------------------- */

enum { CLASS_NONE, CLASS_VECTOR, CLASS_GENERAL, CLASS_MEMORY };

static void classify_one(Dwarf_Die *type, uint64_t offset, unsigned classes[2])
{
	bool vector = false;

	if (offset >= 16 || (!value_is_scalar(type, &vector) && dwarf_tag(type) != DW_TAG_unspecified_type)) {
		classes[0] = CLASS_MEMORY;
		return;
	}
	if (classes[offset / 8] < (vector ? CLASS_VECTOR : CLASS_GENERAL))
		classes[offset / 8] = vector ? CLASS_VECTOR : CLASS_GENERAL;
}

/* Classifies the eight-byte parts of a structure, as the System V ABI does. */
static void classify(Dwarf_Die *type, uint64_t offset, unsigned depth, unsigned classes[2])
{
	Dwarf_Die child, element;
	int status;

	if (!depth || offset >= 16) {
		classes[0] = CLASS_MEMORY;
	} else if (dwarf_tag(type) == DW_TAG_array_type) {
		const unsigned size = size_of(type);
		unsigned part;

		if (!value_type_of(type, &element) || !(part = size_of(&element)))
			classes[0] = CLASS_MEMORY;
		else
			for (unsigned at = 0; at < size && classes[0] != CLASS_MEMORY; at += part)
				classify(&element, offset + at, depth - 1, classes);
	} else if (is_structure(dwarf_tag(type))) {
		for (status = dwarf_child(type, &child); status == 0; status = dwarf_siblingof(&child, &child)) {
			struct value_member member;

			if ((dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance) ||
			    dwarf_hasattr(&child, DW_AT_external) || !value_member_of(&child, &member))
				continue;
			if (member.unknown || has_child(type, DW_TAG_variant_part))
				classes[0] = CLASS_MEMORY;
			else
				classify(&member.type, offset + member.offset, depth - 1, classes);
		}
	} else {
		classify_one(type, offset, classes);
	}
}

static bool is_written_in(Dwarf_Die *die, int language)
{
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) && dwarf_srclang(&unit) == language;
}

static bool passes_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	return dwarf_attr(type, DW_AT_calling_convention, &attribute) &&
	       dwarf_formudata(&attribute, &convention) == 0 && convention == DW_CC_pass_by_reference;
}

static struct value_location result_structure(Dwarf_Die *function, Dwarf_Die *type)
{
	static const uint8_t general[] = {0, 2}; /* RAX, RDX */
	const unsigned size = size_of(type);
	struct value_location location = {.where = VALUE_REGISTER};
	unsigned classes[2] = {CLASS_NONE, CLASS_NONE}, generals = 0, vectors = 0;

	if (size <= 16 && !passes_by_reference(type))
		classify(type, 0, DEPTH_MAX, classes);
	if (size > 16 || passes_by_reference(type) ||
	    (classes[0] == CLASS_MEMORY && !is_written_in(function, DW_LANG_Rust)))
		return value_in_register(0, VALUE_MEMORY);
	if (is_written_in(function, DW_LANG_Rust) && (classes[0] != CLASS_GENERAL || classes[1] == CLASS_VECTOR))
		return value_absent("Rust does not define where such a result is");
	for (unsigned i = 0; 8 * i < size; i++) {
		struct value_part *part = &location.parts[location.part_count++];

		part->size = 8;
		if (classes[i] == CLASS_VECTOR)
			value_step(&part->steps, CHANNEL_VALUE_XMM, vectors++, 0);
		else
			value_step(&part->steps, CHANNEL_VALUE_REGISTER, general[generals++], 0);
	}
	return location;
}

struct value_object value_result(Dwarf_Die *function)
{
	struct value_object object = {.location = value_absent("the function has no result")};
	bool vector;

	object.has_type = value_type_of(function, &object.type);
	if (is_written_in(function, DW_LANG_Go))
		object.location = value_absent("results of Go functions are not read");
	if (!object.has_type || is_written_in(function, DW_LANG_Go))
		return object;
	if (value_is_scalar(&object.type, &vector))
		object.location = vector ? value_in_vector(0) : value_in_register(0, VALUE_REGISTER);
	else if (is_structure(dwarf_tag(&object.type)))
		object.location = result_structure(function, &object.type);
	else
		object.location = value_absent("results of this type are not read");
	return object;
}
