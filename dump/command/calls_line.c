/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats lines of calls without printf, in memory that is reserved once per line. */
#include "dump/command/calls_line.h"

#include <string.h>

#include "analysis/call/call_mark.h"
#include "common/text/digits.h"
#include "common/text/text.h"
#include "dump/run/command.h"

#define DURATION_WIDTH 10
#define COUNT_WIDTH 14
#define CHILDREN_WIDTH 7
#define INDENT_MAX 120 /* maximum indented levels; deeper levels are shown as a number */
/* Short texts and indentations are copied in chunks, so a line needs this much room after its end. */
#define CHUNK DUMP_CALLS_LINE_SLACK
#define INDENT_ROOM (2 * INDENT_MAX + COMMON_DIGITS_MAX + 3 + CHUNK)
/* Room for all columns, including the maximum excess over their widths. */
#define COLUMNS_ROOM (8 * COMMON_DIGITS_MAX + DUMP_CALLS_PREPARED_MAX)
#define END_ROOM (COMMON_DIGITS_MAX + 5 + DUMP_CALLS_PREPARED_MAX + CHUNK)

const char dump_calls_line_head[] = "       time ms    duration        self    instructions            self  calls";

const char dump_calls_narrow_head[] = "       time ms    duration    instructions";

#define NARROW_TERMINAL 120 /* columns below which a terminal is narrow */

bool dump_calls_is_narrow(const struct dump_run *run)
{
	return run->width && run->width < NARROW_TERMINAL;
}

/* ---- columns ------------------------------------------------------------------------------------- */

static inline char *put_words(char *at, const char *words, size_t size)
{
	memcpy(at, words, size);
	return at + size;
}

/* Copies in chunks, without a call of memcpy. Reads and writes beyond the end must be harmless. */
static inline char *put_short(char *at, const char *words, size_t size)
{
	for (size_t i = 0; i < size; i += CHUNK)
		memcpy(at + i, words + i, CHUNK);
	return at + size;
}

/* Moves the text from `start` on to `prepared`. */
static void prepare_text(struct dump_calls_prepared *prepared, uint64_t value, struct ptl_bytes *text, size_t start)
{
	prepared->size = 0;
	if (text->failed || text->size - start > sizeof(prepared->text)) {
		text->failed = true;
		return;
	}
	prepared->value = value;
	prepared->size = (uint32_t)(text->size - start);
	memcpy(prepared->text, text->data + start, prepared->size);
	text->size = start;
}

static __attribute__((noinline)) void prepare_time(struct dump_calls_line *line, uint64_t time, struct ptl_bytes *text)
{
	const size_t start = text->size;

	common_text_time(text, time, ptl_trace_machine(line->run->trace)->start_time);
	common_text_add(text, "  ");
	prepare_text(&line->time, time, text, start);
}

static __attribute__((noinline)) void prepare_marks(struct dump_calls_line *line, unsigned flags,
						    struct ptl_bytes *text)
{
	const size_t start = text->size;

	common_text_add(text, dump_dim(line->run));
	common_text_add(text, "  [");
	analysis_call_marks_text(flags, ", ", text);
	common_text_add(text, "]");
	common_text_add(text, dump_plain(line->run));
	prepare_text(&line->marks, flags, text, start);
}

/* Writes a right-aligned number. limit: 10 to the power of the column's width. */
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
	return put_words(at, start, (size_t)(digits + sizeof(digits) - start));
}

/* Writes four digits: a number with decimals from thousandths, truncated. */
static inline char *put_parts(char *at, uint64_t value, unsigned thousandths, const char *unit)
{
	const char digits[] = {'.', (char)('0' + thousandths / 100), (char)('0' + thousandths / 10 % 10),
			       (char)('0' + thousandths % 10)};

	if (value < 10)
		at = put_words(put_right(at, value, DURATION_WIDTH - 7, 1000), digits, 4);
	else if (value < 100)
		at = put_words(put_right(at, value, DURATION_WIDTH - 6, 10000), digits, 3);
	else
		at = put_words(put_right(at, value, DURATION_WIDTH - 5, 100000), digits, 2);
	return put_words(at, unit, 3);
}

static inline char *put_duration(char *at, bool known, uint64_t nanoseconds)
{
	if (!known)
		return put_words(at, "         -", DURATION_WIDTH);
	if (!nanoseconds)
		return put_words(at, "      0 ns", DURATION_WIDTH);
	if (nanoseconds < 1000)
		return put_words(put_right(at, nanoseconds, DURATION_WIDTH - 3, 10000000), " ns", 3);
	if (nanoseconds < 1000000)
		return put_parts(at, nanoseconds / 1000, (unsigned)(nanoseconds % 1000), " us");
	if (nanoseconds < 1000000000)
		return put_parts(at, nanoseconds / 1000000, (unsigned)(nanoseconds / 1000 % 1000), " ms");
	return put_parts(at, nanoseconds / 1000000000, (unsigned)(nanoseconds / 1000000 % 1000), " s ");
}

static char *put_narrow_columns(char *at, const struct analysis_call_record *record)
{
	at = put_words(put_duration(at, record->start, record->wall), "  ", 2);
	return put_words(put_right(at, record->instructions, COUNT_WIDTH, 100000000000000), "  ", 2);
}

static char *put_columns(char *at, const struct analysis_call_record *record)
{
	at = put_words(put_duration(at, record->start, record->wall), "  ", 2);
	at = put_words(put_duration(at, record->start, record->self_time), "  ", 2);
	at = put_words(put_right(at, record->instructions, COUNT_WIDTH, 100000000000000), "  ", 2);
	at = put_right(at, record->self_instructions, COUNT_WIDTH, 100000000000000);
	return put_words(put_right(at, record->children, CHILDREN_WIDTH, 10000000), "  ", 2);
}

/* ---- the call ------------------------------------------------------------------------------------ */

static inline char *put_indent(char *at, size_t level)
{
	const size_t columns = 2 * (level < INDENT_MAX ? level : INDENT_MAX);

	for (size_t i = 0; i < columns; i += CHUNK)
		memset(at + i, ' ', CHUNK);
	at += columns;
	if (__builtin_expect(level <= INDENT_MAX, 1))
		return at;
	*at++ = '[';
	return put_words(put_right(at, level, 0, 0), "] ", 2);
}

void dump_calls_line_indent(struct ptl_bytes *text, size_t level)
{
	char *at = (char *)common_bytes_grow(text, INDENT_ROOM);

	if (at)
		text->size = (size_t)(put_indent(at, level) - (char *)text->data);
}

static char *put_repeats(char *at, uint64_t repeats)
{
	return repeats > 1 ? put_right(put_words(at, "  x ", 4), repeats, 0, 0) : at;
}

void dump_calls_line_add(struct dump_calls_line *line, const struct analysis_call_record *record, const char *name,
			 size_t name_size, size_t level, struct ptl_bytes *text)
{
	const unsigned marks = record->flags & ANALYSIS_CALL_SHOWN;
	char *at;

	if (line->time.value != record->start || !line->time.size)
		prepare_time(line, record->start, text);
	if (marks && (line->marks.value != marks || !line->marks.size))
		prepare_marks(line, marks, text);
	at = (char *)common_bytes_grow(text, COLUMNS_ROOM + INDENT_ROOM + name_size + END_ROOM);
	if (!at)
		return;
	at = put_short(at, line->time.text, line->time.size);
	at = put_indent(line->is_narrow ? put_narrow_columns(at, record) : put_columns(at, record), level);
	at = put_repeats(put_short(at, name, name_size), record->repeats);
	if (marks)
		at = put_short(at, line->marks.text, line->marks.size);
	*at++ = '\n';
	text->size = (size_t)(at - (char *)text->data);
}
