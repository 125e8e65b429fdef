/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "record/value/event.h"

#define LINE_MAX_SIZE 3500u /* bytes of arguments; the kernel takes lines of 4095 bytes */
#define END "end"

static const char *const registers[16] = {"%ax", "%cx", "%dx",  "%bx",  "%sp",  "%bp",  "%si",  "%di",
					  "%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r14", "%r15"};

int value_fetch_add(struct value_fetch *fetch, const char *text, uint8_t size)
{
	struct value_fetch_argument *argument = &fetch->list[fetch->count];

	for (unsigned i = 0; i < fetch->count; i++)
		if (!strcmp(fetch->list[i].text, text))
			return (int)i;
	/* " v123=" is before the text. */
	if (fetch->count == VALUE_FETCH_ARGUMENTS_MAX || fetch->text_size + strlen(text) + 6 > LINE_MAX_SIZE)
		return -1;
	*argument = (struct value_fetch_argument){.size = size};
	snprintf(argument->text, sizeof(argument->text), "%s", text);
	fetch->text_size += strlen(text) + 6;
	return (int)fetch->count++;
}

void value_fetch_print(const struct value_fetch *fetch, struct ptl_bytes *out)
{
	enum { NUMBERS, VALUES, SIGNS, ALL };

	for (int pass = NUMBERS; pass < ALL; pass++)
		for (unsigned i = 0; i < fetch->count; i++) {
			const struct value_fetch_argument *argument = &fetch->list[i];

			if ((argument->size ? NUMBERS : argument->is_value ? VALUES : SIGNS) == pass)
				common_text_format(out, " v%u=%s", i, argument->text);
		}
	common_text_add(out, " " END "=$comm:string");
}

/* Finds the offset of a field in a format of tracefs: "field:u64 v0;	offset:16;". */
static bool find_offset(const char *format, const char *name, uint32_t *offset)
{
	char line[40];
	const char *found;

	snprintf(line, sizeof(line), " %.16s;\toffset:", name);
	found = strstr(format, line);
	if (found)
		*offset = (uint32_t)strtoul(found + strlen(line), NULL, 10);
	return found != NULL;
}

bool value_fetch_format(struct value_fetch *fetch, const char *format)
{
	bool complete = find_offset(format, END, &fetch->end_offset);

	for (unsigned i = 0; i < fetch->count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "v%u", i);
		complete &= find_offset(format, name, &fetch->list[i].offset);
	}
	return complete;
}

/* ---- places in memory ------------------------------------------------------------------------ */

/* Where the value of steps so far is, in words of the kernel. */
struct place {
	enum { PLACE_NOWHERE, PLACE_VALUE, PLACE_IMAGE } kind;
	char base[VALUE_FETCH_TEXT]; /* PLACE_VALUE: argument that fetches the value, without the type */
	int64_t offset;              /* to add to the base, or offset in the file */
};

static bool print_memory(const struct place *place, char text[VALUE_FETCH_TEXT])
{
	int size;

	if (place->kind == PLACE_IMAGE)
		size = snprintf(text, VALUE_FETCH_TEXT, "@+%" PRId64, place->offset);
	else
		size = snprintf(text, VALUE_FETCH_TEXT, "%+" PRId64 "(%s)", place->offset, place->base);
	return place->kind != PLACE_NOWHERE && size < (int)VALUE_FETCH_TEXT &&
	       (place->kind != PLACE_IMAGE || place->offset >= 0);
}

/* Writes the argument for a type: "TEXT:u64". Returns false if the kernel's limit is exceeded. */
static bool print_typed(const char *text, const char *type, char typed[VALUE_FETCH_TEXT])
{
	return snprintf(typed, VALUE_FETCH_TEXT, "%s:%s", text, type) < (int)VALUE_FETCH_TEXT;
}

static bool print_number(const char *text, unsigned size, char typed[VALUE_FETCH_TEXT])
{
	char type[8];

	snprintf(type, sizeof(type), "u%u", 8 * size);
	return print_typed(text, type, typed);
}

static const char *const too_complex = "its location is too complex for uprobes";

/* Adds an argument, or says why not. */
static const char *add_value(struct value_fetch *fetch, const char *typed, unsigned size, uint8_t *index)
{
	const int added = value_fetch_add(fetch, typed, (uint8_t)size);

	*index = (uint8_t)added;
	return added < 0 ? "the probe has no room for more values" : NULL;
}

static const char *add_text(struct value_fetch *fetch, const struct place *place, uint8_t *index)
{
	char text[VALUE_FETCH_TEXT], typed[VALUE_FETCH_TEXT];

	return print_memory(place, text) && print_typed(text, "string", typed) ? add_value(fetch, typed, 0, index)
									       : too_complex;
}

/* Returns the bytes that the kernel reads for a number: a bit field may need 3, 5, 6 or 7 bytes. */
static unsigned fetched_size(unsigned size)
{
	return size > 4 ? 8 : size == 3 ? 4 : size;
}

/*
 * Adds the memory at the place. The text at the same address tells whether the memory is readable: the kernel has the
 * number 0 for memory that is not readable, and no text.
 */
static const char *add_load(struct value_fetch *fetch, struct place *place, unsigned size,
			    struct value_fetch_link *link)
{
	char text[VALUE_FETCH_TEXT], typed[VALUE_FETCH_TEXT];
	const char *why;

	if (!size || size > 8)
		return "uprobes read 8 bytes at most";
	if (!print_memory(place, text) || !print_number(text, fetched_size(size), typed))
		return too_complex;
	why = add_value(fetch, typed, fetched_size(size), &link->number);
	if (!why)
		why = add_text(fetch, place, &link->text);
	/* The kernel follows pointers of 8 bytes only. */
	place->kind = size == 8 ? PLACE_VALUE : PLACE_NOWHERE;
	place->offset = 0;
	snprintf(place->base, sizeof(place->base), "%s", text);
	return why;
}

static const char *add_register(struct value_fetch *fetch, struct place *place, const struct channel_value_step *step,
				struct value_fetch_link *link)
{
	char typed[VALUE_FETCH_TEXT];

	*place = (struct place){.kind = PLACE_VALUE, .offset = step->operand};
	snprintf(place->base, sizeof(place->base), "%s", registers[step->index % 16]);
	return print_number(place->base, 8, typed) ? add_value(fetch, typed, 8, &link->number) : too_complex;
}

static const char *add_step(struct value_fetch *fetch, struct place *place, const struct channel_value_step *step,
			    struct value_fetch_link *link)
{
	switch (step->op) {
	case CHANNEL_VALUE_REGISTER:
		return add_register(fetch, place, step, link);
	case CHANNEL_VALUE_XMM:
		return "uprobes do not read vector registers";
	case CHANNEL_VALUE_IMAGE:
		*place = (struct place){.kind = PLACE_IMAGE, .offset = step->operand};
		return NULL;
	case CHANNEL_VALUE_ADD:
		place->offset += step->operand;
		return NULL;
	case CHANNEL_VALUE_LOAD:
		return add_load(fetch, place, step->size, link);
	default:
		place->kind = PLACE_NOWHERE;
		return NULL;
	}
}

const char *value_fetch_steps(struct value_fetch *fetch, const struct channel_value_step *steps, unsigned count,
			      struct value_fetch_link *links, uint8_t *text)
{
	const unsigned before = fetch->count;
	const size_t text_size = fetch->text_size;
	struct place place = {.kind = PLACE_NOWHERE};
	const char *why = NULL;

	for (unsigned i = 0; !why && i < count; i++)
		why = add_step(fetch, &place, &steps[i], &links[i]);
	if (!why && text)
		why = add_text(fetch, &place, text);
	if (!why && text)
		fetch->list[*text].is_value = true;
	if (why) {
		fetch->count = before;
		fetch->text_size = text_size;
	}
	return why;
}

/* ---- samples --------------------------------------------------------------------------------- */

uint64_t value_fetch_number(const struct value_sample *sample, unsigned argument)
{
	const struct value_fetch_argument *fetched = &sample->fetch->list[argument];

	return fetched->offset + (size_t)fetched->size <= sample->size
		       ? common_load_le(sample->raw + fetched->offset, fetched->size)
		       : 0;
}

/* Reads where the text at an offset is. *size: with the zero byte; 0: no text. */
static size_t place_of(const struct value_sample *sample, uint32_t at, size_t *size)
{
	const bool inside = at + (size_t)4 <= sample->size;
	const size_t offset = inside ? common_load16(sample->raw + at) : 0;

	*size = inside ? common_load16(sample->raw + at + 2) : 0;
	if (offset + *size > sample->size)
		*size = 0;
	return offset;
}

/* Returns the end of the room for texts: the largest end of a text. */
static size_t end_of_room(const struct value_sample *sample)
{
	size_t room = 0, size;

	for (unsigned i = 0; i < sample->fetch->count; i++) {
		const struct value_fetch_argument *argument = &sample->fetch->list[i];
		const size_t at = argument->size ? 0 : place_of(sample, argument->offset, &size);

		if (!argument->size && at + size > room)
			room = at + size;
	}
	return room;
}

/*
 * Returns whether a text begins at the offset or behind, and ends before the end of the room. Else there may have been no
 * room: the kernel cuts a text that fills the room.
 */
static bool has_room_behind(const struct value_sample *sample, size_t offset)
{
	const size_t room = end_of_room(sample);
	size_t size;

	for (unsigned i = 0; i < sample->fetch->count; i++) {
		const struct value_fetch_argument *argument = &sample->fetch->list[i];
		const size_t at = argument->size ? 0 : place_of(sample, argument->offset, &size);

		if (!argument->size && size && at >= offset && at + size < room)
			return true;
	}
	return false;
}

const uint8_t *value_fetch_text(const struct value_sample *sample, unsigned argument, size_t *size, bool *cut)
{
	size_t whole, end;
	const size_t offset = place_of(sample, sample->fetch->list[argument].offset, &whole);

	(void)place_of(sample, sample->fetch->end_offset, &end);
	*cut = !end && (whole ? offset + whole >= end_of_room(sample) : !has_room_behind(sample, offset));
	*size = whole ? whole - 1 : 0;
	return whole ? sample->raw + offset : NULL;
}

/*
 * Reads a number in memory. The kernel clears all bytes from the first byte that it could not read. The text at the same
 * address tells whether a first byte of 0 was read. Nothing tells about the second page of a number in two pages.
 */
static bool take_load(struct value_sample *sample, const struct value_fetch_link *link, unsigned size, uint64_t *value)
{
	const uint64_t address = *value;
	size_t readable;
	bool cut;

	*value = value_fetch_number(sample, link->number) & UINT64_MAX >> (64 - 8 * size);
	if (*value >> 8 * (size - 1))
		return true;
	if ((address & 4095) + fetched_size(size) > 4096)
		sample->address = VALUE_MISSING_PAGE;
	else if (*value || value_fetch_text(sample, link->text, &readable, &cut))
		return true;
	else
		sample->address = cut ? CHANNEL_VALUE_NO_ROOM : address;
	return false;
}

bool value_fetch_compute(struct value_sample *sample, const struct channel_value_step *steps,
			 const struct value_fetch_link *links, unsigned count, uint64_t *result)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct channel_value_step *step = &steps[i];
		const uint64_t operand = (uint64_t)step->operand;

		switch (step->op) {
		case CHANNEL_VALUE_REGISTER:
			value = value_fetch_number(sample, links[i].number) + operand;
			break;
		case CHANNEL_VALUE_CONSTANT:
			value = operand;
			break;
		case CHANNEL_VALUE_IMAGE:
			value = sample->image + operand;
			break;
		case CHANNEL_VALUE_ADD:
			value += operand;
			break;
		case CHANNEL_VALUE_LOAD:
			if (!take_load(sample, &links[i], step->size, &value))
				return false;
			break;
		case CHANNEL_VALUE_LEFT:
			value <<= operand & 63;
			break;
		case CHANNEL_VALUE_RIGHT:
			value >>= operand & 63;
			break;
		case CHANNEL_VALUE_SIGNED:
			value = (uint64_t)((int64_t)value >> (operand & 63));
			break;
		default:
			return false;
		}
	}
	*result = value;
	return true;
}
