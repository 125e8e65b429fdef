/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes records of the kernel apart: perf_event_open(2), "PERF_RECORD_SAMPLE" and "sample_id". */
#include "common/bytes.h"
#include "common/error.h"
#include "import/perf/attr.h"

/* A word of the trailer. All of them have 8 bytes; where two share one, the first is the lower. */
static const uint64_t trailer_words[] = {
	PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER,
};

/* Words before the instruction pointer's, in the order in which samples have them. */
static const uint64_t sample_words[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,        PERF_SAMPLE_TID, PERF_SAMPLE_TIME,   PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID,         PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
};

static void take_word(struct perf_sample *sample, uint64_t which, uint64_t word)
{
	switch (which) {
	case PERF_SAMPLE_IP:
		sample->has_ip = true;
		sample->ip = word;
		break;
	case PERF_SAMPLE_TID:
		sample->pid = (uint32_t)word;
		sample->tid = (uint32_t)(word >> 32);
		break;
	case PERF_SAMPLE_TIME:
		sample->has_time = true;
		sample->time = word;
		break;
	case PERF_SAMPLE_ADDR:
		sample->address = word;
		break;
	case PERF_SAMPLE_ID:
	case PERF_SAMPLE_IDENTIFIER:
		sample->id = word;
		break;
	case PERF_SAMPLE_CPU:
		sample->cpu = (uint32_t)word;
		break;
	case PERF_SAMPLE_PERIOD:
		sample->period = word;
		break;
	default:
		break;
	}
}

static int short_record(const struct perf_record *record)
{
	return common_fail(PTL_CORRUPT, "offset %llu: a record of %zu bytes and type %u is too short for its event",
			   (unsigned long long)record->offset, record->size, record->type);
}

static size_t count_words(const uint64_t *words, size_t count, uint64_t sample_type)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += (sample_type & words[i]) != 0;
	return found;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Whose record it is. With IDENTIFIER the id stands in a fixed place for all events of a file; without, perf
 * demands that all have the same layout.
 */
static const struct perf_attr *find_attr(const struct perf_attrs *attrs, const struct perf_record *record)
{
	const struct perf_attr *first = attrs->count ? &attrs->list[0] : NULL;
	const uint64_t *index;
	uint64_t id;

	if (!first || attrs->count == 1 || !(first->sample_type & PERF_SAMPLE_IDENTIFIER) || record->size < 8)
		return first;
	id = record->type == PERF_RECORD_SAMPLE ? common_load64(record->body)
						: common_load64(record->body + record->size - 8);
	index = common_hash_map_get(&attrs->ids, id);
	return index ? &attrs->list[*index] : first;
}

/* Without IDENTIFIER, samples of several events are distinguished by ID. */
static void find_by_id(const struct perf_attrs *attrs, struct perf_sample *sample)
{
	const uint64_t *index = sample->id ? common_hash_map_get(&attrs->ids, sample->id) : NULL;

	if (index)
		sample->attr = &attrs->list[*index];
}

/* Counters that came with the sample: skipped, as they have no counterpart. */
static void skip_counters(struct common_cursor *cursor, uint64_t format)
{
	const bool group = format & PERF_FORMAT_GROUP;
	const uint64_t count = group ? common_read64(cursor) : 1;
	const size_t times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
			     (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	const size_t each = 8 + (format & PERF_FORMAT_ID ? 8 : 0) + (format & PERF_FORMAT_LOST ? 8 : 0);

	if (count > common_cursor_left(cursor) / each) {
		common_read_bytes(cursor, common_cursor_left(cursor) + 1); /* fails the cursor */
		return;
	}
	common_read_bytes(cursor, times + (size_t)count * each);
}

static int parse_sample(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample)
{
	struct common_cursor cursor = common_cursor(record->body, record->size);
	const uint64_t type = sample->attr->sample_type;

	for (size_t i = 0; i < COUNT(sample_words); i++)
		if (type & sample_words[i])
			take_word(sample, sample_words[i], common_read64(&cursor));
	find_by_id(attrs, sample);
	if (!(type & PERF_SAMPLE_PERIOD))
		sample->period = sample->attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		skip_counters(&cursor, sample->attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		const uint64_t count = common_read64(&cursor);

		sample->callchain_count = count > common_cursor_left(&cursor) / 8 ? SIZE_MAX / 8 : (size_t)count;
		sample->callchain = common_read_bytes(&cursor, sample->callchain_count * 8);
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->raw_size = common_read32(&cursor);
		sample->raw = common_read_bytes(&cursor, sample->raw_size);
	}
	if (cursor.failed)
		return short_record(record);
	sample->rest_size = common_cursor_left(&cursor);
	sample->rest = common_read_bytes(&cursor, sample->rest_size);
	return 0;
}

static int parse_trailer(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample,
			 size_t *body)
{
	const uint64_t type = sample->attr->sample_type;
	const size_t size = 8 * count_words(trailer_words, COUNT(trailer_words), type);
	const uint8_t *at;

	if (!(sample->attr->flags & PERF_ATTR_FLAG_SAMPLE_ID_ALL))
		return 0;
	if (size > record->size)
		return short_record(record);
	*body = record->size - size;
	at = record->body + *body;
	for (size_t i = 0; i < COUNT(trailer_words); i++) {
		if (!(type & trailer_words[i]))
			continue;
		take_word(sample, trailer_words[i], common_load64(at));
		at += 8;
	}
	find_by_id(attrs, sample);
	return 0;
}

int perf_sample_parse(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample,
		      size_t *body)
{
	*sample = (struct perf_sample){
		.pid = PTL_NO_ID, .tid = PTL_NO_ID, .cpu = PTL_NO_CPU, .attr = find_attr(attrs, record)};
	*body = record->size;
	if (!sample->attr || record->type >= PERF_RECORD_KERNEL_END)
		return 0;
	return record->type == PERF_RECORD_SAMPLE ? parse_sample(attrs, record, sample)
						  : parse_trailer(attrs, record, sample, body);
}
