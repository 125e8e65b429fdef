/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses records of the kernel: perf_event_open(2), "PERF_RECORD_SAMPLE" and "sample_id". */
#include "common/bytes.h"
#include "common/error.h"
#include "import/perf/attr.h"

/* Words of the trailer, in order. Each has 8 bytes; of two values in a word, the first is the lower half. */
static const uint64_t trailer_words[] = {
	PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER,
};

/* First words of a sample, in order. */
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
 * Finds the attribute of a record. With IDENTIFIER the id has a fixed position in all records; without IDENTIFIER, perf
 * requires the same layout for all events.
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

const struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id)
{
	const uint64_t *index = common_hash_map_get(&attrs->ids, id);

	return index ? &attrs->list[*index] : NULL;
}

/* Finds the attribute of a sample by ID, if the sample has no IDENTIFIER. */
static void find_by_id(const struct perf_attrs *attrs, struct perf_sample *sample)
{
	const struct perf_attr *attr = sample->id ? perf_attrs_find(attrs, sample->id) : NULL;

	if (attr)
		sample->attr = attr;
}

/* ---- fields behind the first words ----------------------------------------------------------- */

static struct perf_words read_words(struct common_cursor *cursor, uint64_t count, size_t each)
{
	struct perf_words words = {0};

	if (count > common_cursor_left(cursor) / 8 / each) {
		common_read_bytes(cursor, common_cursor_left(cursor) + 1); /* make the cursor fail */
		return words;
	}
	words.data = common_read_bytes(cursor, (size_t)count * each * 8);
	words.count = (size_t)count;
	return words;
}

static size_t counter_words(uint64_t format)
{
	return 1 + (format & PERF_FORMAT_ID ? 1 : 0) + (format & PERF_FORMAT_LOST ? 1 : 0);
}

/* Reads counters. In a group: number of counters, times, counters. Else: one value, times. */
static void read_counters(struct common_cursor *cursor, uint64_t format, struct perf_counters *counters)
{
	const bool group = format & PERF_FORMAT_GROUP;
	const uint64_t count = group ? common_read64(cursor) : 1;

	*counters = (struct perf_counters){.format = format};
	if (!group)
		counters->data = common_read_bytes(cursor, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		counters->time_enabled = common_read64(cursor);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		counters->time_running = common_read64(cursor);
	if (group) {
		const struct perf_words words = read_words(cursor, count, counter_words(format));

		counters->data = words.data;
		counters->count = words.count;
		return;
	}
	common_read_bytes(cursor, 8 * (counter_words(format) - 1));
	counters->count = 1;
}

struct perf_counter perf_counter_at(const struct perf_counters *counters, size_t i)
{
	const uint64_t format = counters->format;
	const uint8_t *at = counters->data + i * 8 * counter_words(format);
	struct perf_counter counter = {.value = common_load64(at)};

	if (!(format & PERF_FORMAT_GROUP))
		at += (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
		      (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	if (format & PERF_FORMAT_ID) {
		at += 8;
		counter.id = common_load64(at);
	}
	if (format & PERF_FORMAT_LOST)
		counter.lost = common_load64(at + 8);
	return counter;
}

static void read_branches(struct common_cursor *cursor, uint64_t which, struct perf_sample *sample)
{
	const uint64_t count = common_read64(cursor);

	if (which & PERF_BRANCH_HW_INDEX)
		sample->branch_index = common_read64(cursor);
	sample->branches = read_words(cursor, count, 3);
	if (which & PERF_BRANCH_COUNTERS)
		sample->branch_counters = read_words(cursor, count, 1);
}

static void read_registers(struct common_cursor *cursor, uint64_t mask, struct perf_registers *registers)
{
	registers->abi = common_read64(cursor);
	registers->mask = registers->abi ? mask : 0;
	if (registers->abi)
		registers->words = read_words(cursor, (uint64_t)__builtin_popcountll(mask), 1);
}

/* Reads the stack copy. If room is non-zero, the number of valid bytes follows the copy. */
static void read_stack(struct common_cursor *cursor, struct perf_sample *sample)
{
	const uint64_t room = common_read64(cursor);
	uint64_t filled;

	sample->has_stack = true;
	if (!room)
		return;
	if (room > common_cursor_left(cursor)) {
		common_read_bytes(cursor, common_cursor_left(cursor) + 1);
		return;
	}
	sample->stack = common_read_bytes(cursor, (size_t)room);
	filled = common_read64(cursor);
	sample->stack_size = (size_t)(filled < room ? filled : room);
}

static void read_packets(struct common_cursor *cursor, struct perf_sample *sample)
{
	const uint64_t size = common_read64(cursor);

	if (size > common_cursor_left(cursor)) {
		common_read_bytes(cursor, common_cursor_left(cursor) + 1);
		return;
	}
	sample->packets_size = (size_t)size;
	sample->packets = common_read_bytes(cursor, sample->packets_size);
}

static uint64_t read_if(struct common_cursor *cursor, uint64_t type, uint64_t bits)
{
	return type & bits ? common_read64(cursor) : 0;
}

/* Parses the fields behind the raw data, in order. */
static void parse_behind(struct common_cursor *cursor, struct perf_sample *sample)
{
	const struct perf_attr *attr = sample->attr;
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(cursor, attr->branches, sample);
	if (type & PERF_SAMPLE_REGS_USER)
		read_registers(cursor, attr->registers, &sample->registers);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(cursor, sample);
	sample->weight = read_if(cursor, type, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
	sample->data_source = read_if(cursor, type, PERF_SAMPLE_DATA_SRC);
	sample->transaction = read_if(cursor, type, PERF_SAMPLE_TRANSACTION);
	if (type & PERF_SAMPLE_REGS_INTR)
		read_registers(cursor, attr->interrupt_registers, &sample->interrupt_registers);
	sample->physical_address = read_if(cursor, type, PERF_SAMPLE_PHYS_ADDR);
	sample->cgroup = read_if(cursor, type, PERF_SAMPLE_CGROUP);
	sample->data_page_size = read_if(cursor, type, PERF_SAMPLE_DATA_PAGE_SIZE);
	sample->code_page_size = read_if(cursor, type, PERF_SAMPLE_CODE_PAGE_SIZE);
	if (type & PERF_SAMPLE_AUX)
		read_packets(cursor, sample);
}

static int parse_sample(const struct perf_attrs *attrs, const struct perf_record *record, struct perf_sample *sample)
{
	struct common_cursor cursor = common_cursor(record->body, record->size);
	const uint64_t type = sample->attr->sample_type;

	sample->user = (record->misc & PERF_MISC_CPUMODE_MASK) == PERF_MISC_USER;
	sample->guest = (record->misc & PERF_MISC_CPUMODE_MASK) == PERF_MISC_GUEST_KERNEL ||
			(record->misc & PERF_MISC_CPUMODE_MASK) == PERF_MISC_GUEST_USER;
	sample->exact = record->misc & PERF_MISC_EXACT_IP;
	for (size_t i = 0; i < COUNT(sample_words); i++)
		if (type & sample_words[i])
			take_word(sample, sample_words[i], common_read64(&cursor));
	find_by_id(attrs, sample);
	if (!(type & PERF_SAMPLE_PERIOD))
		sample->period = sample->attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		read_counters(&cursor, sample->attr->read_format, &sample->counters);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		const struct perf_words chain = read_words(&cursor, common_read64(&cursor), 1);

		sample->callchain = chain.data;
		sample->callchain_count = chain.count;
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->raw_size = common_read32(&cursor);
		sample->raw = common_read_bytes(&cursor, sample->raw_size);
	}
	parse_behind(&cursor, sample);
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
