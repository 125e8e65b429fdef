/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a value is at a place of the program: steps of a plan, made from DWARF location expressions. */
#ifndef RECORD_VALUE_LOCATION_H
#define RECORD_VALUE_LOCATION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/channel/shared/values.h"

#define VALUE_PARTS_MAX 4u

struct value_steps {
	struct channel_value_step list[CHANNEL_VALUE_FIELD_STEPS_MAX];
	unsigned count;
	bool overflow; /* more steps than a field may have */
};

/* Bytes of a value in a register. */
struct value_part {
	uint32_t size; /* 0: all bytes */
	struct value_steps steps;
};

enum value_where {
	VALUE_ABSENT,   /* for the reason `why` */
	VALUE_MEMORY,   /* part 0 computes the address */
	VALUE_REGISTER, /* each part computes bytes of the value, in the order of memory */
};

struct value_location {
	enum value_where where;
	char why[128];
	bool in_frame;  /* memory of the function's own frame, which the function's first instructions write */
	bool in_caller; /* memory of the caller's frame: arguments on the stack */
	struct value_part parts[VALUE_PARTS_MAX];
	unsigned part_count;
};

/* Where the code of a function is. */
struct value_scope {
	Dwarf_Die *function;
	Dwarf_CFI *frames[2]; /* .eh_frame and .debug_frame; NULL: none */
	uint64_t pc;          /* address of the place */
	uint64_t entry;       /* address of the function's first instruction */
	uint64_t body;        /* address behind the instructions that make the frame; 0: unknown */
};

void value_step(struct value_steps *steps, enum channel_value_op op, unsigned index, int64_t operand);
void value_step_load(struct value_steps *steps, unsigned size);

struct value_location value_absent(const char *why);
/* A value, or the address of a value, in a general register, by the register's number in the CPU's encoding. */
struct value_location value_in_register(unsigned number, enum value_where where);
/* The low bytes of a vector register. */
struct value_location value_in_vector(unsigned number);

/* Returns whether a location is a list: one expression covers all addresses otherwise. */
bool value_is_list(Dwarf_Attribute *attribute);

/* Locates the variable or parameter `die`. *listed: set if the location changes within the function. */
struct value_location value_locate(const struct value_scope *scope, Dwarf_Die *die, bool *listed);

#endif
