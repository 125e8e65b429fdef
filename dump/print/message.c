/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills in messages of events: an author's text with placeholders for fields. */
#include <stdlib.h>
#include <string.h>

#include "common/text/text.h"
#include "dump/print/payload.h"

#define DIGITS_MAX 64 /* maximum digits of a placeholder */
/*
 * Maximum growth of a message by its placeholders, except the last: many placeholders of one long field would exhaust
 * memory. The limit is the maximum size of an ETW event with all values.
 */
#define FILLED_MAX ((size_t)64 << 10)

struct message {
	struct ptl_bytes *out;
	struct analysis_values *values;
	const struct ptl_bytes *text;
	const struct dump_places *places;
};

/* Reads decimal digits. Returns false for no digits or a number above `limit`. */
static bool read_number(const char **at, size_t limit, size_t *number)
{
	const char *start = *at;

	*number = 0;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		*number = *number * 10 + (size_t)(**at - '0');
		if (*number > limit)
			return false;
	}
	return *at > start;
}

/* Appends a number in the form after the placeholder's colon. */
static void add_number(struct message *message, const struct ptl_value *value, char form, size_t digits)
{
	struct ptl_bytes number = {0};

	if (form == 'd' || form == 'D') {
		const bool is_negative = value->field->type <= PTL_TYPE_I64 && value->field->type % 2 == 0 &&
					 value->i < 0;

		common_text_add(message->out, is_negative ? "-" : "");
		common_text_decimal(&number, is_negative ? 0 - value->u : value->u);
	} else {
		common_text_hex(&number, common_load_le(value->bytes, value->size <= 8 ? value->size : 8));
	}
	for (size_t i = number.size; i < digits; i++)
		common_text_add(message->out, "0");
	for (size_t i = 0; i < number.size; i++)
		if (form == 'X' && number.data[i] >= 'a')
			number.data[i] = (uint8_t)(number.data[i] - 'a' + 'A');
	common_write_bytes(message->out, number.data, number.size);
	common_bytes_free(&number);
}

static bool is_number(const struct ptl_value *value)
{
	const uint8_t type = value->field ? value->field->type : 0;

	return (type >= PTL_TYPE_U8 && type <= PTL_TYPE_I64) || (type >= PTL_TYPE_BOOL8 && type <= PTL_TYPE_WALL_TIME);
}

static void add_place_value(struct message *message, const struct dump_place *place, char form, size_t digits)
{
	if (strchr("xXdD", form) && form && is_number(&place->value))
		add_number(message, &place->value, form, digits);
	else if (place->value.field && place->value.field->type != PTL_TYPE_STRUCT)
		analysis_text_value(message->out, message->values, &place->value, false);
	else if (place->to > place->from)
		common_write_bytes(message->out, message->text->data + place->from, place->to - place->from);
}

/* Handles a placeholder at text ("{1:x}"): appends its value and returns its length; 0: no placeholder. */
static size_t add_placeholder(struct message *message, const char *text)
{
	const char *at = text + 1;
	size_t number, digits = 0;
	char form = 0;

	if (!read_number(&at, SIZE_MAX / 16, &number))
		return 0;
	if (*at == ':') {
		form = *++at;
		at += form && form != '}';
		if (*at != '}' && !read_number(&at, DIGITS_MAX, &digits))
			return 0;
	}
	if (*at != '}' || number >= message->places->count)
		return 0;
	add_place_value(message, &message->places->places[number], form, digits);
	return (size_t)(at + 1 - text);
}

static void add_words(struct message *message, const char *words, size_t size)
{
	if (message->values->raw)
		common_write_bytes(message->out, words, size);
	else
		common_text_safe_n(message->out, words, size);
}

void dump_text_message(struct ptl_bytes *out, struct analysis_values *values, const char *words,
		       const struct ptl_bytes *text, const struct dump_places *places)
{
	struct message message = {out, values, text, places};
	const char *plain = words, *at = words;
	const size_t start = out->size;

	while (*at) {
		size_t length = 0;

		if (*at != '{' && *at != '}') {
			at++;
			continue;
		}
		add_words(&message, plain, (size_t)(at - plain));
		if (at[1] == at[0]) {
			common_write_bytes(out, at, 1);
			length = 2;
		} else if (*at == '{' && out->size - start < FILLED_MAX) {
			length = add_placeholder(&message, at);
		}
		plain = at + length;
		at += length ? length : 1;
	}
	add_words(&message, plain, (size_t)(at - plain));
}
