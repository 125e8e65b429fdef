/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes sample fields besides address, period, calls and raw data as an additional event. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "perf/schemas.h"

#define LIST_MAX UINT16_MAX /* maximum elements of a field */

#define DATA_SOURCE_NONE 0x5080021u  /* PERF_MEM_NA: no memory access */
#define DATA_SOURCE_BITS 0xffffffffu /* bits of PERF_MEM_NA; newer kernels use further bits */

/*
 * Whether the sample has fields that the event of the sample lacks. Registers with a stack copy do not count: they
 * become the calls.
 */
static bool has_detail(const struct perf_sample *sample)
{
	const bool accesses = sample->data_source && (sample->data_source & DATA_SOURCE_BITS) != DATA_SOURCE_NONE;

	return sample->attr && (sample->counters.count || sample->branches.count || sample->weight || accesses ||
				sample->transaction || sample->interrupt_registers.abi || sample->physical_address ||
				sample->cgroup || sample->data_page_size || sample->code_page_size ||
				sample->rest_size || (sample->registers.abi && !sample->has_stack));
}

static size_t put_count(struct ptl_bytes *out, size_t count)
{
	const size_t put = count < LIST_MAX ? count : LIST_MAX;

	common_write_le(out, put, 2);
	return put;
}

static void put_words(struct ptl_bytes *out, const struct perf_words *words)
{
	common_write_bytes(out, words->data, 8 * put_count(out, words->count));
}

static void put_counters(struct perf_import *import, const struct perf_sample *sample)
{
	struct ptl_bytes *out = &import->storage;
	const size_t count = put_count(out, sample->counters.count);

	for (size_t i = 0; i < count; i++) {
		const struct perf_counter counter = perf_counter_at(&sample->counters, i);
		const struct perf_attr *attr = perf_attrs_find(&import->attrs, counter.id ? counter.id : sample->id);
		const char *name = attr ? attr->name : counter.id ? "" : sample->attr->name;

		common_write_bytes(out, name, strlen(name) + 1);
		common_write_le(out, counter.value, 8);
		common_write_le(out, counter.lost, 8);
	}
}

static void put_registers(struct ptl_bytes *out, const struct perf_registers *registers)
{
	common_write_le(out, registers->abi, 8);
	common_write_le(out, registers->mask, 8);
	put_words(out, &registers->words);
}

int perf_detail_write(struct perf_import *import, const struct perf_sample *sample)
{
	struct ptl_event event = perf_event_of(import, PERF_EVENT_SAMPLE_DETAIL, sample);
	struct ptl_bytes *out = &import->storage;
	const uint64_t words[] = {sample->weight,           sample->data_source, sample->transaction,
				  sample->physical_address, sample->cgroup,      sample->data_page_size,
				  sample->code_page_size};

	if (!has_detail(sample))
		return 0;
	out->size = 0;
	common_write_bytes(out, sample->attr->name, strlen(sample->attr->name) + 1);
	common_write_le(out, sample->counters.time_enabled, 8);
	common_write_le(out, sample->counters.time_running, 8);
	put_counters(import, sample);
	common_write_bytes(out, sample->branches.data, 24 * put_count(out, sample->branches.count));
	common_write_le(out, sample->branch_index, 8);
	put_words(out, &sample->branch_counters);
	put_registers(out, &sample->registers);
	put_registers(out, &sample->interrupt_registers);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		common_write_le(out, words[i], 8);
	common_write_bytes(out, sample->rest, sample->rest_size);
	return perf_event_write_storage(import, &event);
}
