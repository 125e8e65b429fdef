/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans of values: what the runtime reads from registers and memory at functions of --values. The recorder writes plans
 * into the arena before it replies to the image of a file. Plans are never removed.
 */

#ifndef RECORD_CHANNEL_SHARED_VALUES_H
#define RECORD_CHANNEL_SHARED_VALUES_H

#include <stdint.h>

#define CHANNEL_VALUE_PLANS_MAX 256u
#define CHANNEL_VALUE_FIELDS_MAX 4096u
#define CHANNEL_VALUE_STEPS_MAX 16384u
#define CHANNEL_VALUE_PLAN_FIELDS_MAX 64u /* one bit each in channel_message_values.missing */
#define CHANNEL_VALUE_FIELD_STEPS_MAX 32u
#define CHANNEL_VALUE_STRING_MAX 256u /* longer strings are cut */
#define CHANNEL_VALUE_RANGES_MAX 4u

/* A step computes a number of 64 bits from the result of the step before. */
enum channel_value_op {
	CHANNEL_VALUE_REGISTER, /* general register `index`, plus operand */
	CHANNEL_VALUE_XMM,      /* 8 bytes of vector register `index`, from byte `operand` (0 or 8) on */
	CHANNEL_VALUE_CONSTANT, /* operand */
	CHANNEL_VALUE_IMAGE,    /* memory of the byte at offset 0 of the function's file, plus operand */
	CHANNEL_VALUE_ADD,      /* adds operand */
	CHANNEL_VALUE_LOAD,     /* `size` bytes (1 to 8) of memory at the address, zero-extended */
	CHANNEL_VALUE_LEFT,     /* shifts left by operand */
	CHANNEL_VALUE_RIGHT,    /* shifts right by operand, with zeros */
	CHANNEL_VALUE_SIGNED,   /* shifts right by operand, with the sign */
};

struct channel_value_step {
	uint8_t op; /* enum channel_value_op */
	uint8_t index;
	uint8_t size;
	uint8_t reserved[5];
	int64_t operand;
};

/* What a field takes into the message. */
enum channel_value_kind {
	CHANNEL_VALUE_NOTHING, /* the recorder knows why */
	CHANNEL_VALUE_NUMBER,  /* the lowest `size` bytes of the result */
	/* bytes at the address, as many as the steps of the length say; u16 length, then the bytes */
	CHANNEL_VALUE_COUNTED,
	CHANNEL_VALUE_STRING, /* the same up to a zero byte; the length is optional */
};

struct channel_value_field {
	uint8_t kind; /* enum channel_value_kind */
	uint8_t size;
	uint8_t step_count, length_count; /* steps of the number or address; behind these, steps of the length */
	uint32_t first_step;
};

enum channel_value_place {
	CHANNEL_VALUE_AT_ENTRY,  /* at the function's first instruction */
	CHANNEL_VALUE_AT_BODY,   /* at `offset`, if the function was entered by its first instruction */
	CHANNEL_VALUE_AT_RETURN, /* at each return instruction, and at jumps to other functions */
};

/* Offsets count bytes of the file. */
struct channel_value_plan {
	uint64_t device, inode;                       /* of the file, as in CHANNEL_MSG_IMAGE_MAP */
	uint64_t entry;                               /* the function's first instruction */
	uint64_t offset;                              /* the place; unused by CHANNEL_VALUE_AT_RETURN */
	uint64_t ranges[CHANNEL_VALUE_RANGES_MAX][2]; /* first byte and end of the function's code */
	uint32_t range_count;
	uint32_t faults; /* 1: a field may read memory that is not readable; 0: registers and the stack only */
	uint32_t place;  /* enum channel_value_place */
	uint32_t first_field, field_count;
	uint32_t reserved;
};

struct channel_values {
	uint32_t plan_count; /* atomic: stored after the plan */
	uint32_t field_count, step_count;
	uint32_t reserved;
	struct channel_value_plan plans[CHANNEL_VALUE_PLANS_MAX];
	struct channel_value_field fields[CHANNEL_VALUE_FIELDS_MAX];
	struct channel_value_step steps[CHANNEL_VALUE_STEPS_MAX];
};

#endif
