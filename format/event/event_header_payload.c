/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts EventHeader payloads to the layout of their schemas. */
#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/utf8.h"
#include "format/event/event_header.h"

#define NANOSECONDS 1000000000
#define COUNT_MAX 0xffffu

struct rewriting {
	const struct ptl_schema *schema;
	const struct format_header_plan *plan;
	struct common_cursor in;
	struct ptl_bytes *out;
	int status;
};

/* ---- numbers --------------------------------------------------------------------------------------- */

/* Reads a number of `unit` bytes in the event's byte order; 0 past the end. */
static uint64_t take_number(struct rewriting *work, unsigned unit)
{
	const uint8_t *bytes = common_read_bytes(&work->in, unit);
	uint64_t value = bytes ? common_load_le(bytes, unit) : 0;

	return work->plan->big_endian ? __builtin_bswap64(value) >> (64 - 8 * unit) : value;
}

/* Converts seconds to nanoseconds. Saturates: a time beyond the year 2262 becomes the last time. */
static void take_seconds(struct rewriting *work, unsigned unit)
{
	const uint64_t bits = take_number(work, unit);
	const int64_t seconds = unit == 4 ? (int32_t)bits : (int64_t)bits;
	int64_t nanoseconds;

	if (__builtin_mul_overflow(seconds, NANOSECONDS, &nanoseconds))
		nanoseconds = seconds < 0 ? INT64_MIN : INT64_MAX;
	if (!work->in.failed)
		common_write_le(work->out, (uint64_t)nanoseconds, 8);
}

static void take_uuid(struct rewriting *work)
{
	const uint8_t *bytes = common_read_bytes(&work->in, sizeof(struct ptl_guid));
	struct ptl_guid guid;

	if (!bytes)
		return;
	common_guid_from_uuid(&guid, bytes);
	common_write_bytes(work->out, guid.bytes, sizeof(guid.bytes));
}

/* ---- characters ------------------------------------------------------------------------------------ */

static uint32_t load_unit(const uint8_t *at, unsigned unit, bool big_endian)
{
	const uint32_t value = (uint32_t)common_load_le(at, unit);

	if (!big_endian || unit == 1)
		return value;
	return unit == 2 ? __builtin_bswap16((uint16_t)value) : __builtin_bswap32(value);
}

/* Skips a byte order mark, if any. Returns the byte order of the following text: big-endian or not. */
static bool take_mark(const uint8_t **text, size_t *count, unsigned unit, bool big_endian)
{
	uint32_t first;

	if (unit == 1) {
		if (*count >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) {
			*text += 3;
			*count -= 3;
		}
		return big_endian;
	}
	first = *count ? load_unit(*text, unit, big_endian) : 0;
	if (first != 0xfeff && first != (unit == 2 ? 0xfffeu : 0xfffe0000u))
		return big_endian;
	*text += unit;
	--*count;
	return first == 0xfeff ? big_endian : !big_endian;
}

/* Writes `count` characters of `unit` bytes in the schema's form: unchanged, or UTF-32 converted to UTF-8. */
static void write_characters(struct rewriting *work, const struct format_header_step *step, const uint8_t *text,
			     size_t count)
{
	bool big_endian = work->plan->big_endian;

	if (step->has_mark)
		big_endian = take_mark(&text, &count, step->unit, big_endian);
	if (step->unit == 1) {
		if (count)
			common_write_bytes(work->out, text, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const uint32_t character = load_unit(text + i * step->unit, step->unit, big_endian);

		if (step->unit == 2)
			common_write_le(work->out, character, 2);
		else
			common_utf8_write(work->out, character);
	}
}

/* Stores at `start` the count of the characters written after the count's place. */
static void set_count(struct rewriting *work, size_t start, size_t unit)
{
	const size_t count = work->out->failed ? 0 : (work->out->size - start - 2) / unit;

	if (count > COUNT_MAX)
		work->status = common_fail(PTL_UNSUPPORTED, "a string of %zu bytes is too long", count);
	else if (!work->out->failed)
		common_store16(work->out->data + start, (uint16_t)count);
}

static void write_text(struct rewriting *work, const struct ptl_field *field, const struct format_header_step *step,
		       const uint8_t *text, size_t count)
{
	const size_t start = work->out->size;

	if (field->type == PTL_TYPE_BYTES_COUNTED) {
		common_write_le(work->out, 0, 2);
		if (count)
			common_write_bytes(work->out, text, count * step->unit);
		set_count(work, start, 1);
	} else if (step->action == FORMAT_HEADER_COUNTED) {
		common_write_le(work->out, 0, 2);
		write_characters(work, step, text, count);
		set_count(work, start, step->unit == 2 ? 2 : 1);
	} else {
		write_characters(work, step, text, count);
		common_write_le(work->out, 0, step->unit == 2 ? 2 : 1);
	}
}

static void take_zero_ended(struct rewriting *work, const struct ptl_field *field,
			    const struct format_header_step *step)
{
	const uint8_t *text = work->in.data + work->in.at;
	const size_t most = common_cursor_left(&work->in) / step->unit;
	size_t count = 0;

	while (count < most && common_load_le(text + count * step->unit, step->unit))
		count++;
	if (common_read_bytes(&work->in, (count + 1) * step->unit))
		write_text(work, field, step, text, count);
}

static void take_counted(struct rewriting *work, const struct ptl_field *field, const struct format_header_step *step)
{
	const size_t count = (size_t)take_number(work, 2);
	const uint8_t *text = common_read_bytes(&work->in, count * step->unit);

	if (text)
		write_text(work, field, step, text, count);
}

/* ---- fields ---------------------------------------------------------------------------------------- */

static void take_bytes(struct rewriting *work, size_t size)
{
	const uint8_t *bytes = common_read_bytes(&work->in, size);

	if (bytes && size)
		common_write_bytes(work->out, bytes, size);
}

/* Reads a number of `unit` bytes and writes it in `size` bytes. */
static void put_number(struct rewriting *work, unsigned unit, unsigned size)
{
	const uint64_t value = take_number(work, unit);

	if (!work->in.failed)
		common_write_le(work->out, value, size);
}

static void take_value(struct rewriting *work, size_t number)
{
	const struct ptl_field *field = &work->schema->fields[number];
	const struct format_header_step *step = &work->plan->steps[number];

	switch (step->action) {
	case FORMAT_HEADER_COPY:
		take_bytes(work, step->unit);
		break;
	case FORMAT_HEADER_NUMBER:
		put_number(work, step->unit, step->unit);
		break;
	case FORMAT_HEADER_BOOL16:
		put_number(work, 2, 4);
		break;
	case FORMAT_HEADER_SECONDS:
		take_seconds(work, step->unit);
		break;
	case FORMAT_HEADER_UUID:
		take_uuid(work);
		break;
	case FORMAT_HEADER_ZERO_ENDED:
		take_zero_ended(work, field, step);
		break;
	case FORMAT_HEADER_COUNTED:
		take_counted(work, field, step);
		break;
	case FORMAT_HEADER_REST:
		take_bytes(work, common_cursor_left(&work->in));
		break;
	}
}

/* Whether conversion can continue: false at the end of the payload, or if the converted payload is too long. */
static bool goes_on(struct rewriting *work)
{
	if (!work->status && work->out->size > PTL_PAYLOAD_MAX)
		work->status = common_fail(PTL_UNSUPPORTED, "the payload is longer than %u bytes", PTL_PAYLOAD_MAX);
	return !work->status && !work->in.failed && !work->out->failed;
}

static void take_fields(struct rewriting *work, size_t from, size_t to);

static void take_field(struct rewriting *work, size_t number)
{
	const struct ptl_field *field = &work->schema->fields[number];
	const bool is_struct = work->plan->steps[number].action == FORMAT_HEADER_STRUCT;
	size_t count = 1;

	if (field->array == PTL_ARRAY_FIXED)
		count = field->array_length;
	if (field->array == PTL_ARRAY_COUNTED) {
		count = (size_t)take_number(work, 2);
		if (!work->in.failed)
			common_write_le(work->out, count, 2);
	}
	for (size_t i = 0; i < count && goes_on(work); i++) {
		if (is_struct)
			take_fields(work, number + 1, number + 1 + field->length);
		else
			take_value(work, number);
	}
}

static void take_fields(struct rewriting *work, size_t from, size_t to)
{
	for (size_t at = from; at < to && goes_on(work); at++) {
		take_field(work, at);
		if (work->plan->steps[at].action == FORMAT_HEADER_STRUCT)
			at += work->schema->fields[at].length;
	}
}

int format_header_rewrite(const struct ptl_schema *schema, const struct format_header_plan *plan, const uint8_t *data,
			  size_t size, size_t alignment, struct ptl_bytes *out)
{
	struct rewriting work = {.schema = schema, .plan = plan, .in = common_cursor(data, size), .out = out};

	take_fields(&work, 0, schema->field_count);
	if (goes_on(&work) && common_cursor_left(&work.in) >= alignment)
		take_bytes(&work, common_cursor_left(&work.in));
	goes_on(&work);
	if (work.status)
		return work.status;
	if (out->failed)
		return common_fail_memory("a payload", size);
	return work.in.failed ? common_fail(PTL_TRUNCATED, "the payload ends within a field") : 0;
}
