/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes lines of calls: without printf, and into room that is made once for a line. */
#include "dump/command/calls_line.h"

#include <string.h>

#include "common/digits.h"
#include "common/text.h"
#include "dump/call/call_mark.h"
#include "dump/session/command.h"

#define DURATION_WIDTH 10
#define COUNT_WIDTH 14
#define CHILDREN_WIDTH 7
#define INDENT_MAX 120 /* levels; deeper ones show their number */
#define INDENT_ROOM (2 * INDENT_MAX + COMMON_DIGITS_MAX + 3)
#define COLUMNS_ROOM                                                                                                   \
	(8 * COMMON_DIGITS_MAX) /* of all columns but the time; each is wider than it should be at most by this */
#define END_ROOM (COMMON_DIGITS_MAX + 5)

const char dump_calls_line_head[] = "       time ms    duration        self    instructions            self  calls";

/* ---- columns ------------------------------------------------------------------------------------- */

static void add_time(struct dump_calls_line *line, uint64_t time, struct ptl_bytes *text)
{
	const size_t start = text->size;

	if (line->time_size && line->time == time) {
		common_write_bytes(text, line->time_column, line->time_size);
		return;
	}
	common_text_time(text, time, ptl_trace_machine(line->session->trace)->start_time);
	common_text_add(text, "  ");
	line->time_size = 0;
	if (text->failed || text->size - start > sizeof(line->time_column))
		return;
	line->time = time;
	line->time_size = (uint32_t)(text->size - start);
	memcpy(line->time_column, text->data + start, line->time_size);
}

static inline char *put(char *at, const char *words, size_t size)
{
	memcpy(at, words, size);
	return at + size;
}

/* limit: 10 to the power of the width, which is that of the column. */
static inline char *put_right(char *at, uint64_t value, size_t width, uint64_t limit)
{
	char digits[COMMON_DIGITS_MAX];
	const char *start;

	if (__builtin_expect(value < limit, 1)) {
		memset(at, ' ', width);
		common_digits_before(at + width, value);
		return at + width;
	}
	start = common_digits_before(digits + sizeof(digits), value);
	return put(at, start, (size_t)(digits + sizeof(digits) - start));
}

/* Four digits, of which those behind the point are thousandths of the unit, not rounded. */
static inline char *put_parts(char *at, uint64_t value, unsigned thousandths, const char *unit)
{
	const char digits[] = {'.', (char)('0' + thousandths / 100), (char)('0' + thousandths / 10 % 10),
			       (char)('0' + thousandths % 10)};

	if (value < 10)
		at = put(put_right(at, value, DURATION_WIDTH - 7, 1000), digits, 4);
	else if (value < 100)
		at = put(put_right(at, value, DURATION_WIDTH - 6, 10000), digits, 3);
	else
		at = put(put_right(at, value, DURATION_WIDTH - 5, 100000), digits, 2);
	return put(at, unit, 3);
}

static inline char *put_duration(char *at, bool known, uint64_t nanoseconds)
{
	if (!known)
		return put(at, "         -", DURATION_WIDTH);
	if (!nanoseconds)
		return put(at, "      0 ns", DURATION_WIDTH);
	if (nanoseconds < 1000)
		return put(put_right(at, nanoseconds, DURATION_WIDTH - 3, 10000000), " ns", 3);
	if (nanoseconds < 1000000)
		return put_parts(at, nanoseconds / 1000, (unsigned)(nanoseconds % 1000), " us");
	if (nanoseconds < 1000000000)
		return put_parts(at, nanoseconds / 1000000, (unsigned)(nanoseconds / 1000 % 1000), " ms");
	return put_parts(at, nanoseconds / 1000000000, (unsigned)(nanoseconds / 1000000 % 1000), " s ");
}

static char *put_columns(char *at, const struct dump_call_record *record)
{
	at = put(put_duration(at, record->start, record->wall), "  ", 2);
	at = put(put_duration(at, record->start, record->self_time), "  ", 2);
	at = put(put_right(at, record->instructions, COUNT_WIDTH, 100000000000000), "  ", 2);
	at = put_right(at, record->self_instructions, COUNT_WIDTH, 100000000000000);
	return put(put_right(at, record->children, CHILDREN_WIDTH, 10000000), "  ", 2);
}

/* ---- the call ------------------------------------------------------------------------------------ */

static inline char *put_indent(char *at, size_t level)
{
	const size_t columns = 2 * (level < INDENT_MAX ? level : INDENT_MAX);

	memset(at, ' ', columns);
	at += columns;
	if (__builtin_expect(level <= INDENT_MAX, 1))
		return at;
	*at++ = '[';
	return put(put_right(at, level, 0, 0), "] ", 2);
}

void dump_calls_line_indent(struct ptl_bytes *text, size_t level)
{
	char *at = (char *)common_bytes_grow(text, INDENT_ROOM);

	if (at)
		text->size = (size_t)(put_indent(at, level) - (char *)text->data);
}

static char *put_repeats(char *at, uint64_t repeats)
{
	return repeats > 1 ? put_right(put(at, "  x ", 4), repeats, 0, 0) : at;
}

static void add_marks(const struct dump_session *session, unsigned flags, struct ptl_bytes *text)
{
	common_text_add(text, dump_dim(session));
	common_text_add(text, "  [");
	dump_call_marks_text(flags, ", ", text);
	common_text_add(text, "]");
	common_text_add(text, dump_plain(session));
	common_text_add(text, "\n");
}

void dump_calls_line_add(struct dump_calls_line *line, const struct dump_call_record *record, const char *name,
			 size_t name_size, size_t level, struct ptl_bytes *text)
{
	const unsigned marks = record->flags & DUMP_CALL_SHOWN;
	char *at;

	add_time(line, record->start, text);
	at = (char *)common_bytes_grow(text, COLUMNS_ROOM + INDENT_ROOM + name_size + END_ROOM);
	if (!at)
		return;
	at = put_indent(put_columns(at, record), level);
	at = put_repeats(put(at, name, name_size), record->repeats);
	if (!marks)
		*at++ = '\n';
	text->size = (size_t)(at - (char *)text->data);
	if (marks)
		add_marks(line->session, marks, text);
}
