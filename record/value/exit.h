/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions by which a function ends. */
#ifndef RECORD_VALUE_EXIT_H
#define RECORD_VALUE_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/channel/shared/values.h"

#define VALUE_EXITS_MAX 200u

enum value_exit_kind {
	VALUE_EXIT_RETURN,
	VALUE_EXIT_JUMP,      /* to another function */
	VALUE_EXIT_CONDITION, /* to another function, if the condition holds */
	VALUE_EXIT_INDIRECT,  /* to the address that the steps compute, in this or another function */
};

struct value_exit {
	uint64_t offset; /* in the file */
	enum value_exit_kind kind;
	uint8_t condition; /* lowest four bits of the instruction's opcode */
	struct channel_value_step steps[2];
	unsigned step_count;
};

/* What the code of a function does. */
struct value_exits {
	struct value_exit list[VALUE_EXITS_MAX];
	size_t count;
	bool has_more;  /* more exits than the list takes, or code that is not understood */
	bool has_table; /* a jump through a table, to this or another function */
	bool has_loop;  /* a jump to `place` from within the function */
};

/* Reads the code of a plan's function from the file. place: offset. False: not readable. */
bool value_exits_find(int fd, const struct channel_value_plan *plan, uint64_t place, struct value_exits *exits);
/* Returns whether an offset of the file is in the function. */
bool value_exits_inside(const struct channel_value_plan *plan, uint64_t offset);
/* Returns whether a condition holds for the processor's flags. */
bool value_exit_is_taken(uint64_t flags, uint8_t condition);

#endif
