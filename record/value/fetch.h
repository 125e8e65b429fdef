/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of plans as fetch arguments of uprobes (Documentation/trace/uprobetracer.rst). The kernel fetches the registers
 * and the memory that the steps read; the recorder computes all else from the sample.
 */
#ifndef RECORD_VALUE_FETCH_H
#define RECORD_VALUE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "record/channel/shared/values.h"

#define VALUE_FETCH_ARGUMENTS_MAX 120u /* the kernel takes 128 */
#define VALUE_FETCH_TEXT 64u           /* bytes of an argument with its zero byte; the kernel takes 63 characters */

/* An argument of a probe: a number of 64 bits or less, or text up to a zero byte. */
struct value_fetch_argument {
	char text[VALUE_FETCH_TEXT]; /* with the type: "+8(%di):u32" */
	uint8_t size;                /* bytes of the number; 0: text */
	bool is_value;               /* the text is a value, not only a sign that memory is readable */
	uint32_t offset;             /* in a sample */
};

struct value_fetch {
	struct value_fetch_argument list[VALUE_FETCH_ARGUMENTS_MAX];
	unsigned count;
	uint32_t end_offset; /* of the last text, in a sample */
	size_t text_size;    /* bytes of all arguments in a line of uprobe_events */
};

/* The raw bytes of a probe's sample. */
struct value_sample {
	const struct value_fetch *fetch;
	const uint8_t *raw;
	size_t size;
	uint64_t image;   /* memory of the byte at offset 0 of the file */
	uint64_t address; /* of the byte that could not be read, or CHANNEL_VALUE_NO_ROOM */
};

/* Adds an argument, unless the list has the argument. Returns its index, or -1: no room. */
int value_fetch_add(struct value_fetch *fetch, const char *text, uint8_t size);

/* The arguments that a step reads. */
struct value_fetch_link {
	uint8_t number; /* index of the register, or of the number in memory */
	uint8_t text;   /* index of text at the same address */
};

/*
 * Adds the arguments for steps, and sets a link for each step. text: NULL, or the result is the address of text: set to
 * the index of the text. Returns NULL, or why uprobes do not read the value.
 */
const char *value_fetch_steps(struct value_fetch *fetch, const struct channel_value_step *steps, unsigned count,
			      struct value_fetch_link *links, uint8_t *text);
/*
 * Writes " v0=%di:u64 v1=+0(%di):string ...". Texts share the room of a sample in this order: values, then signs. The
 * last text is the name of the thread, which the sample lacks if there was no room.
 */
void value_fetch_print(const struct value_fetch *fetch, struct ptl_bytes *out);
/* Reads the arguments' offsets in samples from the event's format. Returns false if the format lacks an argument. */
bool value_fetch_format(struct value_fetch *fetch, const char *format);

/* Returns the number of an argument. */
uint64_t value_fetch_number(const struct value_sample *sample, unsigned argument);
/*
 * Returns the text of an argument. *size: bytes before the zero byte. NULL: the kernel could not read the text.
 * *cut: the kernel had no room for the text, or for all of it.
 */
const uint8_t *value_fetch_text(const struct value_sample *sample, unsigned argument, size_t *size, bool *cut);
/* Computes steps with their links. False: sample->address is not readable, or is CHANNEL_VALUE_NO_ROOM. */
bool value_fetch_compute(struct value_sample *sample, const struct channel_value_step *steps,
			 const struct value_fetch_link *links, unsigned count, uint64_t *result);

#endif
