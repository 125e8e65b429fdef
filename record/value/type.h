/* SPDX-License-Identifier: BSD-2-Clause */
/* Types, and the fields that are made of values. */
#ifndef RECORD_VALUE_TYPE_H
#define RECORD_VALUE_TYPE_H

#include <ptl/event.h>

#include "record/value/location.h"
#include "record/value/spec.h"

/* A located value with its type. */
struct value_object {
	struct value_location location;
	Dwarf_Die type;
	bool has_type;
};

#define VALUE_UNITS_MAX 100000u /* units of a file that are searched */

/* bytes of a reason in angle brackets */
#define VALUE_WHY_SIZE 136

/* A field of an event. */
struct value_field {
	char *name;
	uint8_t kind; /* enum channel_value_kind; CHANNEL_VALUE_NOTHING: for the reason `why` */
	uint8_t type; /* enum ptl_type */
	uint8_t format;
	uint8_t size;
	char why[VALUE_WHY_SIZE];
	struct value_steps steps, length;
	Dwarf_Die map; /* enumeration type, if has_map */
	bool has_map;
};

struct value_fields {
	struct value_field list[CHANNEL_VALUE_PLAN_FIELDS_MAX];
	size_t count;
	size_t left_out; /* fields beyond the maximum */
};

/* Sets the type of a variable, or of a function's result. False: no type. */
bool value_type_of(Dwarf_Die *die, Dwarf_Die *type);
/* Sets the type without names and qualifiers. A declaration becomes the definition, if the unit has one. */
void value_type_plain(Dwarf_Die *type);

/* Returns the encoding of a base type, DW_ATE_*; 0: unknown. */
unsigned value_encoding_of(Dwarf_Die *type);
/* Whether numbers of the type, or of the enumeration, may be negative. */
bool value_is_signed(Dwarf_Die *type);

/* Adds the fields of an object: one, or one for each member of a structure. PTL_NO_MEMORY. */
int value_fields_add(struct value_fields *fields, const char *name, struct value_object *object);
void value_fields_free(struct value_fields *fields);

/* Locates the result of a function at its return. */
struct value_object value_result(Dwarf_Die *function);
/* Returns whether a parameter of this type is passed in one general register, or in one vector register (*vector). */
bool value_is_scalar(Dwarf_Die *type, bool *vector);

#endif
